//! Text: the chunks that answer by their words.
//!
//! In: the terms of a question, any of which may match. Out: the best by BM25, and what a reader must be told of how
//! the question was read.
//! A word of six letters and more that stands nowhere is read as the nearest one that does, by one slip, or two in a
//! long one; where no word stands anywhere, the last one as the beginning of a longer one.
//! Invariants: the same commit and question give the same answer; what a word costs to look up is bounded.
//! Not here: what must be true of an answer's words (`demand.rs`), names (`naming.rs`), lists and scores (`postings/`).

use std::cmp::Reverse;

use rustc_hash::FxHashSet;

use super::abbreviation::other_forms;
use super::naming::OtherName;
use super::plan::Plan;
use super::{AskError, Desk, within};
use index::postings::{FIELDS, Postings, Scorer, Unread};
use index::words::{ENDINGS, Phrase, beginnings, phrases_in, terms_of};

/// Shortest word that is read as another one, and shortest one that may have two slips, letters.
const MIN_SLIPPED: usize = 6;
const MIN_TWO_SLIPS: usize = 10;

/// Letters at the beginning of a word that are taken to be right, words compared, words corrected in one question.
const N_SURE: usize = 2;
const MAX_COMPARED: usize = 4_000;
const MAX_CORRECTED: usize = 3;

/// What a corrected word tells of a passage that holds it, beside one as typed: the question may mean another word.
const CORRECTED: f32 = 0.5;

/// Shortest word that is read as a beginning.
const MIN_BEGINNING: usize = 3;

/// What the words of a question found.
#[derive(Default)]
pub(super) struct ByText {
    /// Best first.
    pub best: Vec<(i64, f32)>,
    /// Scores any other chunk.
    pub scorer: Option<Scorer>,
    /// How the question was read, where that is not as it stands.
    pub told: Vec<String>,
    /// One a term of the question, by how few chunks hold it: ln(1 + chunks / (1 + chunks with it)); for one that was
    /// read as another, a share of that one's.
    pub worth: Vec<f32>,
}

/// Chunks that an answer may be of; all where there is none.
pub(super) type Among = Option<FxHashSet<i64>>;

/// What is in both.
pub(super) fn both(one: Among, other: Among) -> Among {
    match (one, other) {
        (Some(mut one), Some(other)) => {
            one.retain(|chunk| other.contains(chunk));
            Some(one)
        }
        (one, other) => one.or(other),
    }
}

/// The chunks that a filter lets through, and those that tell what stands inside it.
pub(super) fn chunks_of(desk: &Desk<'_>, plan: &Plan, homes: &[i64]) -> Result<Among, AskError> {
    let mut chunks = match (plan.mentioning(desk)?, plan.docs(desk)?) {
        (Some(mentioning), _) => Some(FxHashSet::clone(&mentioning)),
        (None, Some(docs)) => Some(within::chunks(desk, &docs)?),
        (None, None) => None,
    };
    chunks.iter_mut().for_each(|chunks| chunks.extend(homes));
    Ok(chunks)
}

/// The best chunks by BM25 over some terms, any of which may match; `more` are terms that the question means.
pub(super) fn by_text(
    desk: &Desk<'_>,
    plan: &Plan,
    (more, among): (&[OtherName], &Among),
) -> Result<ByText, AskError> {
    let own = plan.question.terms.iter().enumerate();
    let own = own.map(|(at, fts)| Wanted { fts: fts.clone(), words: bit(at) });
    let more = more.iter().map(|it| Wanted { fts: it.fts.clone(), words: it.words });
    let terms: Vec<Wanted> = own.chain(more).collect();
    if terms.is_empty() {
        return Ok(ByText::default());
    }
    match scored(desk, plan, (&terms, among)) {
        Ok(found) => Ok(found),
        Err(Unread::Sql(error)) => Err(error.into()),
        Err(Unread::Shape(why)) => {
            tracing::warn!(why, "the text index is asked through SQLite, which takes longer");
            let terms: Vec<&str> = terms.iter().map(|it| it.fts.as_str()).collect();
            let best = by_fts5(desk, (&terms.join(" OR "), plan.recall_k), among)?;
            Ok(ByText { best, ..ByText::default() })
        }
    }
}

/// What is searched for: an FTS5 expression, and the question's words that it stands for, one bit each.
struct Wanted {
    fts: String,
    words: u64,
}

fn bit(at: usize) -> u64 {
    1_u64.checked_shl(at as u32).unwrap_or(0)
}

fn scored(
    desk: &Desk<'_>,
    plan: &Plan,
    (terms, among): (&[Wanted], &Among),
) -> Result<ByText, Unread> {
    let postings = Postings::open(desk.snapshot)?;
    let mut told = Vec::new();
    let mut scorer = Scorer::new(&postings);
    let mut unknown: Vec<(usize, Vec<Phrase>)> = Vec::new();
    let mut worth = Vec::with_capacity(terms.len());
    let worth_of = |n_found: usize| (postings.n_rows() as f32 / (1.0 + n_found as f32)).ln_1p();
    for (at, term) in terms.iter().enumerate() {
        let phrases = phrases_in(&term.fts);
        let n_found = scorer.add_all(&postings, &phrases, term.words)?;
        worth.push(worth_of(n_found));
        if n_found == 0 {
            unknown.push((at, phrases));
        }
    }
    // A misspelt name was found as a whole.
    if terms.len() == plan.question.terms.len() {
        for (at, phrases) in unknown.iter().take(MAX_CORRECTED) {
            let shown = plan.question.words.get(*at).map_or("", String::as_str);
            let forms = other_forms(shown).flat_map(terms_of);
            let phrases_of_forms: Vec<Phrase> =
                forms.flat_map(|term| phrases_in(&term.fts)).collect();
            let n_found = scorer.add_all(&postings, &phrases_of_forms, bit(*at))?;
            if n_found > 0 {
                if let Some(worth) = worth.get_mut(*at) {
                    *worth = CORRECTED * worth_of(n_found);
                }
                let forms = other_forms(shown).collect::<Vec<_>>().join("` or `");
                told.push(format!("`{shown}` read as `{forms}`"));
                continue;
            }
            let Some((word, as_written, meant)) = nearest(&postings, phrases)? else { continue };
            // Of `builder`, which stands nowhere, and `build`, which does, the ending is the same word's.
            let meant = if meant == as_written { word.clone() } else { meant };
            let phrase = Phrase { words: vec![word], is_prefix: false };
            let n_found = scorer.add_all(&postings, &[phrase], bit(*at))?;
            if let Some(worth) = worth.get_mut(*at) {
                *worth = CORRECTED * worth_of(n_found);
            }
            if meant != as_written {
                told.push(format!("`{as_written}` read as `{meant}`"));
            }
        }
    }
    if scorer.is_empty()
        && let Some(last) =
            plan.question.words.last().filter(|it| it.chars().count() >= MIN_BEGINNING)
    {
        let phrases: Vec<Phrase> = beginnings(last).iter().flat_map(|it| phrases_in(it)).collect();
        // Where there are other words, none of which stands anywhere, a guess makes no answer of it (`floor.rs`).
        let is_alone = plan.question.words.len() == 1;
        if scorer.add_all(&postings, &phrases, u64::from(is_alone))? > 0 {
            told.push(format!("`{last}` read as the beginning of a word"));
        }
    }
    let best = scorer.best(desk.snapshot, plan.recall_k, among.as_ref())?;
    worth.truncate(plan.question.terms.len());
    Ok(ByText { best, scorer: Some(scorer), told, worth })
}

/// The same from FTS5 itself.
fn by_fts5(
    desk: &Desk<'_>,
    (expression, wanted): (&str, usize),
    among: &Among,
) -> Result<Vec<(i64, f32)>, AskError> {
    let [title, headings, body] = FIELDS;
    let sql = format!(
        "SELECT rowid, -bm25(chunk_fts, {title:?}, {headings:?}, {body:?}) AS score FROM chunk_fts
         WHERE chunk_fts MATCH ?1 ORDER BY score DESC, rowid"
    );
    let mut statement = desk.snapshot.prepare_cached(&sql)?;
    let mut rows = statement.query([expression])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let id = row.get(0)?;
        if found.len() < wanted && among.as_ref().is_none_or(|among| among.contains(&id)) {
            found.push((id, row.get(1)?));
        }
    }
    Ok(found)
}

/// The index's word that one that stands nowhere is most likely a slip of, with the one asked for and the one meant as
/// they are written.
fn nearest(
    postings: &Postings<'_>,
    phrases: &[Phrase],
) -> Result<Option<(String, String, String)>, Unread> {
    let asked = phrases.iter().filter_map(|it| match it.words.as_slice() {
        [one] if !it.is_prefix => Some(one.as_str()),
        _ => None,
    });
    let Some(asked) = asked.max_by_key(|word| word.len()) else { return Ok(None) };
    let n_letters = asked.chars().count();
    if n_letters < MIN_SLIPPED || !asked.chars().all(char::is_alphabetic) {
        return Ok(None);
    }
    let most = if n_letters < MIN_TWO_SLIPS { 1 } else { 2 };
    let sure: String = asked.chars().take(N_SURE).collect();
    let mut near: Vec<(usize, String, String)> = Vec::new();
    for word in postings.words_with(&sure, MAX_COMPARED)? {
        if let Some((distance, meant)) = slips(asked, &word, most) {
            near.push((distance, word, meant));
        }
    }
    let Some(least) = near.iter().map(|(distance, ..)| *distance).min() else { return Ok(None) };
    near.retain(|(distance, ..)| *distance == least);
    let mut best: Option<(usize, String, String)> = None;
    for (_, word, meant) in near.into_iter().take(MAX_TIED) {
        let n = postings.of(&Phrase { words: vec![word.clone()], is_prefix: false })?.len();
        if best.as_ref().is_none_or(|(most, ..)| n > *most) {
            best = Some((n, word, meant));
        }
    }
    Ok(best.map(|(_, word, meant)| (word, asked.to_string(), meant)))
}

/// Equally near words of which the one in most chunks is taken.
const MAX_TIED: usize = 8;

/// How many slips turn a word of the index, which may be a stem, into the one asked for; none when more than `most`.
fn slips(asked: &str, word: &str, most: usize) -> Option<(usize, String)> {
    let n_asked = asked.chars().count();
    let n_word = word.chars().count();
    if n_word + 1 < MIN_SLIPPED.min(n_asked) / 2 {
        return None;
    }
    let whole = ENDINGS.iter().filter(|ending| (n_word + ending.len()).abs_diff(n_asked) <= most);
    let compared = whole.map(|ending| {
        let whole = format!("{word}{ending}");
        (strsim::osa_distance(asked, &whole), whole)
    });
    // Of endings that are equally near the longest: `rotation`, not `rotaton`.
    let nearest = compared.min_by_key(|(distance, whole)| (*distance, Reverse(whole.len())));
    nearest.filter(|(distance, _)| *distance <= most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_or_two_lead_to_a_word_also_where_its_stem_is_indexed() {
        for (asked, word, meant) in [
            ("rotatoin", "rotat", Some("rotation")),
            ("lightouse", "lighthous", Some("lighthouse")),
            ("protien", "protein", Some("protein")),
            ("infrastructrue", "infrastructur", Some("infrastructure")),
            ("protean", "protocol", None),
            ("signing", "singer", None),
        ] {
            let most = if asked.len() < MIN_TWO_SLIPS { 1 } else { 2 };
            assert_eq!(slips(asked, word, most).map(|it| it.1).as_deref(), meant, "{asked} {word}");
        }
    }
}
