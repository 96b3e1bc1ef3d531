//! Text: the chunks that answer by their words.
//!
//! In: the terms of a question, any of which may match. Out: the best chunks by BM25, and how the
//! question was interpreted.
//! A word of six letters or more that no document has is replaced by the nearest one, with one
//! typo, or two in a long word; if no word of the question exists, the last one is taken as a
//! prefix.
//! Invariants: the same commit and question give the same answer; the cost of looking up a word is
//! bounded.

use std::cmp::Reverse;

use super::abbreviation::other_forms;
use super::naming::SearchTerm;
use crate::plan::question::Question;
use crate::plan::within::Among;
use crate::{AskError, QueryContext};
use index::postings::{Postings, Scorer, Unread};
use index::store::StoreError;
use index::words::{ENDINGS, Phrase, beginnings, phrases_in, terms_of};

/// Shortest word that is corrected, and shortest one that may have two typos, letters.
const MIN_SLIPPED: usize = 6;
const MIN_TWO_SLIPS: usize = 10;

/// Letters at the start of a word that are assumed to be right; most words compared; most words
/// corrected per question.
const N_SURE: usize = 2;
const MAX_COMPARED: usize = 4_000;
const MAX_CORRECTED: usize = 3;

/// Worth of a corrected word relative to one as typed: the question may mean another word.
const CORRECTED: f32 = 0.5;

/// Shortest word that is taken as a prefix, letters.
const MIN_BEGINNING: usize = 3;

/// The result of a search by words.
#[derive(Default)]
pub(crate) struct ByText {
    /// Best first.
    pub best: Vec<(i64, f32)>,
    /// Scores any other chunk.
    pub scorer: Option<Scorer>,
    /// How the question was interpreted, where that differs from its wording.
    pub readings: Vec<String>,
    /// The worth of each term of the question; rare terms are worth more: ln(1 + chunks / (1 +
    /// chunks with it)); for a corrected term, a share of that.
    pub worth: Vec<f32>,
}

/// Returns the best chunks by BM25 over the terms of a question, any of which may match, and over
/// `more`.
pub(crate) fn by_text(
    ctx: &QueryContext<'_>,
    question: &Question,
    depth: usize,
    more: &[SearchTerm],
    among: &Among,
) -> Result<ByText, AskError> {
    let own = question.terms.iter().enumerate();
    let own = own.map(|(at, fts)| SearchTerm { fts: fts.clone(), words: bit(at) });
    let terms: Vec<SearchTerm> = own.chain(more.iter().cloned()).collect();
    if terms.is_empty() {
        return Ok(ByText::default());
    }
    match scored(ctx, question, depth, &terms, among) {
        Ok(found) => Ok(found),
        Err(Unread::Sql(error)) => Err(StoreError::from(error).into()),
        Err(Unread::Shape(why)) => {
            tracing::warn!(why, "reading the text index through SQLite, which is slower");
            let terms: Vec<&str> = terms.iter().map(|it| it.fts.as_str()).collect();
            let mut best = ctx.snapshot.full_text().scored(&terms.join(" OR "))?;
            best.retain(|(chunk, _)| among.as_ref().is_none_or(|among| among.contains(chunk)));
            best.truncate(depth);
            Ok(ByText { best, ..ByText::default() })
        }
    }
}

fn bit(at: usize) -> u64 {
    1_u64.checked_shl(at as u32).unwrap_or(0)
}

fn scored(
    ctx: &QueryContext<'_>,
    question: &Question,
    depth: usize,
    terms: &[SearchTerm],
    among: &Among,
) -> Result<ByText, Unread> {
    let postings = ctx.snapshot.full_text().postings()?;
    let mut readings = Vec::new();
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
    // Unless a misspelled name was found as a whole, which leaves nothing to correct.
    if terms.len() == question.terms.len() {
        for (at, phrases) in unknown.iter().take(MAX_CORRECTED) {
            let shown = question.words.get(*at).map_or("", String::as_str);
            let forms = other_forms(shown).flat_map(terms_of);
            let phrases_of_forms: Vec<Phrase> =
                forms.flat_map(|term| phrases_in(&term.fts)).collect();
            let n_found = scorer.add_all(&postings, &phrases_of_forms, bit(*at))?;
            if n_found > 0 {
                worth[*at] = CORRECTED * worth_of(n_found);
                let forms = other_forms(shown).collect::<Vec<_>>().join("` or `");
                readings.push(format!("`{shown}` read as `{forms}`"));
                continue;
            }
            let Some((word, as_written, meant)) = nearest(&postings, phrases)? else { continue };
            // `builder`, which no document has, shares its stem with the indexed `build`: not a
            // correction.
            let meant = if meant == as_written { word.clone() } else { meant };
            let phrase = Phrase { words: vec![word], is_prefix: false };
            let n_found = scorer.add_all(&postings, &[phrase], bit(*at))?;
            worth[*at] = CORRECTED * worth_of(n_found);
            if meant != as_written {
                readings.push(format!("`{as_written}` read as `{meant}`"));
            }
        }
    }
    if scorer.is_empty()
        && let Some(last) = question.words.last().filter(|it| it.chars().count() >= MIN_BEGINNING)
    {
        let phrases: Vec<Phrase> = beginnings(last).iter().flat_map(|it| phrases_in(it)).collect();
        // If other words are missing, too, a guess alone must not count as an answer
        // (`present/floor.rs`).
        let is_alone = question.words.len() == 1;
        if scorer.add_all(&postings, &phrases, u64::from(is_alone))? > 0 {
            readings.push(format!("`{last}` read as the beginning of a word"));
        }
    }
    let best = ctx.snapshot.full_text().best(&scorer, depth, among.as_ref())?;
    worth.truncate(question.terms.len());
    Ok(ByText { best, scorer: Some(scorer), readings, worth })
}

/// Returns the indexed word for which a missing one is most likely a typo, the word asked for, and
/// the whole word that was meant.
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

/// Most equally near words that are compared by their number of chunks.
const MAX_TIED: usize = 8;

/// Returns the number of typos between an indexed word, which may be a stem, and the one asked for,
/// and the whole word; `None` for more than `most`.
fn slips(asked: &str, word: &str, most: usize) -> Option<(usize, String)> {
    let n_asked = asked.chars().count();
    let n_word = word.chars().count();
    if n_word + 1 < MIN_SLIPPED.min(n_asked) / 2 {
        return None;
    }
    let whole = ENDINGS.iter().filter(|ending| (n_word + ending.len()).abs_diff(n_asked) <= most);
    // A typo changes at most two letters of the set; for most words this spares the distance.
    let asked_letters = letters(asked);
    let n_other = |whole: &str| (letters(whole) ^ asked_letters).count_ones() as usize;
    let compared = whole.map(|ending| format!("{word}{ending}"));
    let compared = compared
        .filter(|whole| n_other(whole) <= 2 * most)
        .map(|whole| (strsim::osa_distance(asked, &whole), whole));
    // Of equally near endings the longest one: `rotation`, not `rotaton`.
    let nearest = compared.min_by_key(|(distance, whole)| (*distance, Reverse(whole.len())));
    nearest.filter(|(distance, _)| *distance <= most)
}

/// Returns the set of a word's letters, one bit each; some share a bit.
fn letters(word: &str) -> u64 {
    word.chars().fold(0, |set, letter| set | 1 << (u32::from(letter) % u64::BITS))
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
            ("pxanqtarium", "planetarium", Some("planetarium")),
            ("pxanqtarivm", "planetarium", None),
            ("protean", "protocol", None),
            ("signing", "singer", None),
        ] {
            let most = if asked.len() < MIN_TWO_SLIPS { 1 } else { 2 };
            assert_eq!(slips(asked, word, most).map(|it| it.1).as_deref(), meant, "{asked} {word}");
        }
    }
}
