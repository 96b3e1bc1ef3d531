//! Picked: the statements of hits that answer a question.
//!
//! A statement scores by the share of the question's words that it contains, its similarity in
//! meaning, and the rank of its passage. The score of a superseded entry is halved, and its
//! successor is read, too.
//! Invariants: no statement of an entry precedes one of its successors; headings are not
//! statements, nor are lines that only introduce the next one.

use embed::cosine;
use notes::entry::number_of;
use proto::shape::SourceView;

use super::dated::{Dated, Days};
use super::found::Found;
use crate::kb::Library;
use crate::kb::search::behind_successors;
use crate::present::ChunkText;
use crate::quote::matched::matched;
use crate::quote::outline::Outline;
use crate::quote::source::Source;
use crate::quote::statement::{Statement, words_of};
use crate::{AskError, QueryContext};

/// Weights of words, meaning, and rank of the passage.
const WEIGHTS: [f64; 3] = [0.5, 0.3, 0.2];

/// Least score of an answering statement.
const LEAST: f64 = 0.2;

/// Most statements compared with the question.
const MAX_STATEMENTS: usize = 300;

/// Most documents read for statements of a date.
const MAX_DOCS_OF_TIMES: usize = 30;

/// Weight of a question's word that occurs only above a statement, in its title or headings.
const ABOVE: f64 = 0.5;

/// Factor for statements of a superseded entry.
const REPLACED: f64 = 0.5;

/// A statement of a hit.
#[derive(Debug, Clone)]
pub(crate) struct Picked {
    pub chunk: i64,
    pub doc: i64,
    pub statement: Statement,
    pub source: SourceView,
    /// Other documents that say the same: row ids and places.
    pub also: Vec<(i64, SourceView)>,
    pub dated: Dated,
    /// The relevance of its passage.
    pub relevance: f32,
    /// The headings above it, innermost first, then the title.
    pub above: Vec<String>,
    /// How relevant it is to the question, by itself and its headings, 0 to 1.
    pub own: f32,
    /// The share of the question's words that it contains, 0 to 1; rare words weigh more.
    pub share: f32,
    /// The weight of its passage's rank, 0 to 1.
    pub rank: f64,
    pub score: f64,
}

/// How statements are chosen.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Choosing {
    /// Number of hits that are read.
    pub n_hits: usize,
    /// Whether words above a statement count: a list of decisions is about the subject of its note.
    pub is_above_read: bool,
    /// Whether the long title of an entry, which is a sentence, may answer.
    pub are_titles_read: bool,
    /// Bonus added to the score of a statement.
    pub bonus: fn(&Picked) -> f64,
}

impl Choosing {
    /// Chooses among the first hits by the statements' own words.
    pub(crate) fn among(n_hits: usize) -> Self {
        Choosing { n_hits, is_above_read: false, are_titles_read: false, bonus: |_| 0.0 }
    }
}

impl Found {
    /// Returns the statements of the first hits that answer, best first, without repetitions.
    pub(crate) fn statements(
        &self,
        ctx: &QueryContext<'_>,
        library: &Library,
        choosing: Choosing,
    ) -> Result<Vec<Picked>, AskError> {
        let mut picked: Vec<Picked> = Vec::new();
        let hits = self.hits.iter().take(choosing.n_hits).filter(|it| !it.is_weak);
        for (at, hit) in hits.enumerate() {
            let Some(source) = Source::load(ctx, hit.doc)? else { continue };
            let chunk = ChunkText::load(ctx, hit.chunk)?;
            let (start, words) = match &chunk {
                Some(it) => (it.chunk.start, it.words()),
                None => (0, source.text.as_str()),
            };
            let of =
                Of { chunk: hit.chunk, doc: hit.doc, relevance: hit.relevance, rank: rank(at) };
            let row = library.entry_index.of_doc(hit.doc).filter(|_| choosing.are_titles_read);
            if let Some(title) = row.and_then(|row| row.entry.long_title.as_deref()) {
                let days = Days::read(ctx, hit.doc)?;
                let titles = Statement::all_of(title).into_iter();
                picked.extend(titles.map(|it| {
                    let view = source.view(0, it.text.clone());
                    let dated = days.of(&it.text, (view.line, ""), std::iter::empty());
                    picked_from(of, it, view, dated, vec![])
                }));
            }
            picked.extend(self.statements_in(ctx, (&source, of), (start, words))?);
        }
        Ok(self.best(ctx, library, picked, choosing))
    }

    /// Returns statements of the dates that the question names, wherever they are, filtered by
    /// `topic` if that carries meaning.
    pub(super) fn of_times(
        &self,
        ctx: &QueryContext<'_>,
        topic: &str,
    ) -> Result<Vec<Picked>, AskError> {
        let spellings = self.asked.when.spellings();
        let docs = ctx.snapshot.documents().containing(&spellings, MAX_DOCS_OF_TIMES)?;
        let asked = words_of(topic);
        let mut all = Vec::new();
        for doc in docs {
            let Some(source) = Source::load(ctx, doc)? else { continue };
            let of = Of { chunk: 0, doc, relevance: 0.0, rank: 0.0 };
            for mut it in self.statements_in(ctx, (&source, of), (0, &source.text))? {
                let above = words_of(&it.above.join(" "));
                let is_held =
                    |word: &String| it.statement.words.contains(word) || above.contains(word);
                if self.asked.when.holds(&it.dated.day) && asked.iter().all(is_held) {
                    it.relevance = 1.0;
                    all.push(it);
                }
            }
        }
        all.sort_by_key(|it| !it.dated.is_own());
        Ok(all)
    }

    /// Returns the statements of a range of a document, without headings and lines that introduce
    /// the next one.
    pub(super) fn statements_in(
        &self,
        ctx: &QueryContext<'_>,
        (source, of): (&Source, Of),
        (start, words): (usize, &str),
    ) -> Result<Vec<Picked>, AskError> {
        let (outline, days) = (Outline::read(ctx, source)?, Days::read(ctx, of.doc)?);
        let mut picked = Vec::new();
        for statement in Statement::all_of(words) {
            let place = start + statement.range.start;
            if outline.is_heading(place) || statement.text.ends_with(':') {
                continue;
            }
            let view = source.view(place, statement.text.clone());
            let line = line_of(&source.text, place);
            let dated = days.of(&statement.text, (view.line, line), outline.above(place));
            let above = outline.above(place).chain([source.document.title.as_str()]);
            let above = above.map(String::from).collect();
            picked.push(picked_from(of, statement, view, dated, above));
        }
        Ok(picked)
    }

    /// Returns the statements that answer, best first, without repetitions.
    pub(super) fn best(
        &self,
        ctx: &QueryContext<'_>,
        library: &Library,
        mut picked: Vec<Picked>,
        choosing: Choosing,
    ) -> Vec<Picked> {
        let asked = words_of(&self.query);
        picked.truncate(MAX_STATEMENTS);
        let near = self.nearness(ctx, &picked);
        for (n, it) in picked.iter_mut().enumerate() {
            let title = it.above.join(" ");
            let above = if choosing.is_above_read { words_of(&title) } else { Default::default() };
            let count =
                |word: &String| match (it.statement.words.contains(word), above.contains(word)) {
                    (true, _) => 1.0,
                    (false, true) => ABOVE,
                    (false, false) => 0.0,
                };
            let share = asked.iter().map(count).sum::<f64>() / asked.len().max(1) as f64;
            let near = near.get(n).copied();
            // The rank of the passage alone does not make a sentence an answer.
            let fits = WEIGHTS[0] * share + WEIGHTS[1] * near.unwrap_or(0.0).max(0.0);
            let (words, rank) = (&self.asked.words, WEIGHTS[2] * it.rank);
            let held = matched(&it.statement.text, words) | matched(&title, words);
            it.share = self.asked.share(held);
            it.own = self.asked.relevance(held, near.map(|it| ctx.embedder.nearness(it as f32)));
            it.score = if fits >= LEAST * 0.5 { fits + rank + (choosing.bonus)(it) } else { 0.0 };
        }
        weigh_successors(&mut picked, library);
        picked.retain(|it| it.score >= LEAST);
        picked.sort_by(|a, b| b.score.total_cmp(&a.score));
        let merged = Found::merge_repeats(picked.into_iter());
        let number =
            |it: &Picked| library.entry_index.of_doc(it.doc).map_or(u64::MAX, |row| row.number);
        behind_successors(library, merged, number)
    }

    /// Merges statements that repeat an earlier one into its list of places.
    pub(super) fn merge_repeats(picked: impl Iterator<Item = Picked>) -> Vec<Picked> {
        let mut merged: Vec<Picked> = Vec::new();
        for it in picked {
            match merged.iter_mut().find(|one| one.statement.repeats(&it.statement)) {
                // Best first, so a repetition is never better than what it repeats.
                Some(one)
                    if one.doc == it.doc || one.also.iter().any(|(doc, _)| *doc == it.doc) => {}
                Some(one) => one.also.push((it.doc, it.source)),
                None => merged.push(it),
            }
        }
        merged
    }

    /// Returns the cosine of each statement with the question; empty if the model gives no vectors.
    fn nearness(&self, ctx: &QueryContext<'_>, picked: &[Picked]) -> Vec<f64> {
        let Ok(question) = ctx.embedder.try_question(&self.query) else { return vec![] };
        let texts: Vec<&str> = picked.iter().map(|it| it.statement.text.as_str()).collect();
        let vectors = ctx.embedder.try_embed(&texts).unwrap_or_default();
        vectors.iter().map(|it| f64::from(cosine(&question, it))).collect()
    }
}

/// The passage that a statement comes from.
#[derive(Debug, Clone, Copy)]
pub(super) struct Of {
    pub chunk: i64,
    pub doc: i64,
    pub relevance: f32,
    pub rank: f64,
}

/// Makes a statement that is not judged yet.
fn picked_from(
    of: Of,
    statement: Statement,
    source: SourceView,
    dated: Dated,
    above: Vec<String>,
) -> Picked {
    Picked {
        chunk: of.chunk,
        doc: of.doc,
        statement,
        source,
        also: vec![],
        dated,
        relevance: of.relevance,
        above,
        own: 0.0,
        share: 0.0,
        rank: of.rank,
        score: 0.0,
    }
}

/// Returns the weight of a passage's rank among the hits.
pub(super) fn rank(at: usize) -> f64 {
    1.0 / (1.0 + at as f64)
}

/// Returns the line of a text that contains an offset.
fn line_of(text: &str, place: usize) -> &str {
    let start = text.get(..place).and_then(|it| it.rfind('\n')).map_or(0, |at| at + 1);
    let rest = text.get(start..).unwrap_or("");
    rest.get(..rest.find('\n').unwrap_or(rest.len())).unwrap_or("")
}

/// Halves the scores of superseded entries. If such an entry still answers, its successor must
/// appear, whatever its words: the successor's best statement gets the score that the older one
/// would have if it were not superseded.
fn weigh_successors(picked: &mut [Picked], library: &Library) {
    let best = |picked: &[Picked], doc: i64| {
        let own = picked.iter().enumerate().filter(|(_, it)| it.doc == doc);
        let best = own.max_by(|a, b| a.1.score.total_cmp(&b.1.score).then(b.0.cmp(&a.0)));
        best.map(|(at, it)| (at, it.score))
    };
    let mut docs: Vec<i64> = picked.iter().map(|it| it.doc).collect();
    docs.sort_unstable();
    docs.dedup();
    for doc in docs {
        let Some(row) = library.entry_index.of_doc(doc) else { continue };
        let newer = library.superseded_by(row);
        if newer.is_empty() {
            continue;
        }
        picked.iter_mut().filter(|it| it.doc == doc).for_each(|it| it.score *= REPLACED);
        for newer in newer.iter().filter_map(|id| library.entry_index.get(number_of(id)?)) {
            let (Some((at, own)), Some((_, score))) = (best(picked, newer.doc), best(picked, doc))
            else {
                continue;
            };
            if let Some(it) = picked.get_mut(at).filter(|_| own < LEAST && score >= LEAST) {
                it.score = score / REPLACED;
            }
        }
    }
}
