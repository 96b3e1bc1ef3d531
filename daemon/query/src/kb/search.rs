//! Search: entries by words and by meaning, fused by reciprocal rank (S2).
//!
//! In: a question, and the entries that may answer. Out: entries, best first, with score and
//! source.
//! Each list is three times as long as the limit; `score = Σ 1 / (60 + rank + 1)`, rank from 0.
//! Passages below `retrieval.floor` are in neither list: some vector is always near, so without a
//! floor no result would count as sparse.
//! Invariants: words only, no operators, so no question is an error; ties go to the smaller number.

use std::collections::HashMap;

use config::settings::Formula;
use index::read::Chunk;
use proto::error::ErrorView;
use proto::tool::core::HybridQuery;
use rustc_hash::{FxHashMap, FxHashSet};

use super::Library;
use super::entry_index::EntryRow;
use super::graph::{By, Neighbor};
use crate::plan::{Filter, MAX_RECALL, OfNotes, Plan};
use crate::present::floor::{WeakFloor, weak_last};
use crate::recall::{Candidates, Recalled, by_each_signal, complete, share_of_worth};
use crate::{AskError, QueryContext};

/// S2's constant of reciprocal rank fusion.
const K: f64 = 60.0;

/// Length of each list, in multiples of the limit.
const OVER_FETCH: usize = 3;

/// Passages recalled per entry: an entry may have several.
const PASSAGES: usize = 4;

/// With fewer results than this, neighbors in the graph are suggested, at most this many.
pub const SPARSE_UNDER: usize = 3;
const MAX_HINTS: usize = 3;

/// Most neighbors of one node that are considered.
const MAX_NEIGHBORS: usize = 10;

/// An entry with its score.
#[derive(Debug, Clone, PartialEq)]
pub struct EntryHit<'l> {
    /// The entry.
    pub row: &'l EntryRow,
    /// The sum of its reciprocal ranks.
    pub score: f64,
    /// How likely it is relevant to the question, 0 to 1.
    pub relevance: f32,
}

/// The result of a search.
#[derive(Debug, Clone, PartialEq)]
pub struct Searched<'l> {
    /// Best first.
    pub hits: Vec<EntryHit<'l>>,
    /// `hybrid`, `fts` or `vector`.
    pub source: &'static str,
    /// Entries that were found but are too stale to be shown.
    pub n_hidden: usize,
    /// How the question was interpreted, where that differs from its wording.
    pub readings: Vec<String>,
}

/// A question with its limits.
#[derive(Debug, Clone, Copy)]
pub struct EntryQuery<'q> {
    /// The question.
    pub question: &'q str,
    /// Most entries.
    pub limit: usize,
    /// Whether stale entries are included.
    pub with_stale: bool,
}

/// Searches the entries that `may` accepts.
///
/// # Errors
/// `invalid_params`; when the index cannot be read.
pub fn search<'l>(
    ctx: &QueryContext<'_>,
    library: &'l Library,
    wanted: EntryQuery<'_>,
    may: impl Fn(&EntryRow) -> bool,
) -> Result<Searched<'l>, ErrorView> {
    let may = |row: &&EntryRow| row.entry.is_active && may(row);
    let mut docs: Vec<i64> = library.entry_index.entries().filter(may).map(|row| row.doc).collect();
    docs.sort_unstable();
    let deep = wanted.limit * OVER_FETCH;
    let (mut text, mut vector, mut readings) = (vec![], vec![], vec![]);
    let mut relevance = FxHashMap::default();
    let words = plain(wanted.question);
    if !docs.is_empty() && !words.is_empty() {
        let question = HybridQuery { q: words, ..HybridQuery::default() };
        let draft = Plan::draft(&question, &ctx.settings.retrieval)?;
        let of_notes = OfNotes { docs: Some(docs), ..OfNotes::default() };
        let filter = Filter { of_notes, ..draft.filter };
        let plan = Plan { formula: Formula::Rrf, filter, ..draft }.resolve(ctx)?;
        let depth = (deep * PASSAGES).clamp(plan.depth, MAX_RECALL);
        let recalled = by_each_signal(ctx, &plan, depth)?;
        let candidates = complete(ctx, &plan, &recalled, &[])?;
        let passages = ctx.snapshot.chunks().many(candidates.chunks()).map_err(AskError::from)?;
        text = documents(&passages, above_floor_by_words(&plan, &recalled), deep);
        vector = documents(&passages, above_floor_by_meaning(&plan, &recalled), deep);
        relevance = relevance_of_documents(&plan, &recalled, &candidates, &passages);
        readings = recalled.readings;
    }
    let source = match (text.is_empty(), vector.is_empty()) {
        (false, true) | (true, true) => "fts",
        (true, false) => "vector",
        (false, false) => "hybrid",
    };
    let mut hits = Vec::new();
    let mut n_hidden = 0;
    for (doc, score) in fused(&[text, vector]) {
        let Some(row) = library.entry_index.of_doc(doc) else { continue };
        if hits.len() >= wanted.limit {
            break;
        }
        if !wanted.with_stale && library.is_hidden(row)? {
            n_hidden += 1;
            continue;
        }
        let relevance = relevance.get(&doc).copied().unwrap_or_default();
        hits.push(EntryHit { row, score, relevance });
    }
    hits.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.row.number.cmp(&b.row.number)));
    let floor = ctx.settings.retrieval.floor.relevance;
    weak_last(&mut hits, |it| (it.relevance < floor, it.relevance));
    let hits = behind_successors(library, hits, |hit| hit.row.number);
    Ok(Searched { hits, source, n_hidden, readings })
}

/// Reorders entries so that none precedes one that supersedes it.
pub fn behind_successors<T>(
    library: &Library,
    entries: Vec<T>,
    number_of: impl Fn(&T) -> u64,
) -> Vec<T> {
    let mut left: Vec<Option<T>> = entries.into_iter().map(Some).collect();
    let mut ordered = Vec::with_capacity(left.len());
    for at in 0..left.len() {
        let Some(entry) = left.get_mut(at).and_then(Option::take) else { continue };
        let own = number_of(&entry);
        // Newest first. The chain has each entry once, so this terminates even in a cycle.
        let chain = library.entry_index.graph.chain(own);
        for number in chain.iter().rev().take_while(|number| **number != own) {
            let is_it =
                |it: &&mut Option<T>| it.as_ref().is_some_and(|it| number_of(it) == *number);
            ordered.extend(left.iter_mut().find(is_it).and_then(Option::take));
        }
        ordered.push(entry);
    }
    ordered
}

/// The sums of reciprocal ranks, best first.
fn fused(lists: &[Vec<i64>]) -> Vec<(i64, f64)> {
    let mut scores: HashMap<i64, f64> = HashMap::new();
    for list in lists {
        for (rank, doc) in list.iter().enumerate() {
            *scores.entry(*doc).or_insert(0.0) += 1.0 / (K + rank as f64 + 1.0);
        }
    }
    let mut scores: Vec<(i64, f64)> = scores.into_iter().collect();
    scores.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    scores
}

/// Removes everything that could be an operator.
pub(crate) fn plain(question: &str) -> String {
    let signs = |c: char| matches!(c, '"' | '(' | ')' | '*' | ':' | '^' | '{' | '}' | '[' | ']');
    let words = question.split(|c: char| c.is_whitespace() || signs(c));
    let words =
        words.map(|word| word.trim_start_matches(['-', '+', '#'])).filter(|it| !it.is_empty());
    let quiet = |word: &str| match word {
        "AND" | "OR" | "NOT" | "NEAR" => word.to_lowercase(),
        word => word.to_string(),
    };
    words.map(quiet).collect::<Vec<_>>().join(" ")
}

fn above_floor_by_words(plan: &Plan, recalled: &Recalled) -> Vec<i64> {
    let held = |chunk: i64| recalled.scorer.as_ref().map(|scorer| scorer.held(chunk));
    let is_enough = |chunk: &i64| {
        held(*chunk).is_none_or(|held| share_of_worth(&recalled.worth, held) >= plan.floor.words)
    };
    recalled.candidates.text.iter().map(|it| it.0).filter(is_enough).collect()
}

fn above_floor_by_meaning(plan: &Plan, recalled: &Recalled) -> Vec<i64> {
    let near = recalled.candidates.vector.iter().filter(|(_, near)| *near >= plan.floor.similar);
    near.map(|it| it.0).collect()
}

/// Returns the documents of passages, each once, at most `most`.
fn documents(passages: &FxHashMap<i64, Chunk>, chunks: Vec<i64>, most: usize) -> Vec<i64> {
    let mut seen = FxHashSet::default();
    let docs = chunks.iter().filter_map(|chunk| passages.get(chunk)).map(|it| it.doc);
    docs.filter(|doc| seen.insert(*doc)).take(most).collect()
}

/// Returns the relevance of each document, which is that of its best passage.
fn relevance_of_documents(
    plan: &Plan,
    recalled: &Recalled,
    candidates: &Candidates,
    passages: &FxHashMap<i64, Chunk>,
) -> FxHashMap<i64, f32> {
    let floor = WeakFloor::of(plan, recalled);
    let near: FxHashMap<i64, f32> = candidates.vector.iter().copied().collect();
    let mut best: FxHashMap<i64, f32> = FxHashMap::default();
    for Chunk { id, doc, .. } in passages.values() {
        let known = best.entry(*doc).or_default();
        *known = known.max(floor.of_chunk(*id, near.get(id).copied()));
    }
    best
}

/// Returns hints to entries near a few results: `See also: [kb-00042] Title (via tag:security)`.
///
/// # Errors
/// When the ledger cannot be read.
pub fn hints(library: &Library, found: &[&EntryRow]) -> Result<Vec<String>, AskError> {
    use notes::entry::id_text;
    let graph = &library.entry_index.graph;
    let neighbors =
        |node: &str| -> Vec<Neighbor<'_>> { graph.neighbors(node).take(MAX_NEIGHBORS).collect() };
    let mut near = Vec::new();
    for row in found {
        for it in neighbors(&id_text(row.number)) {
            match it.node.contains(':') {
                true => near.extend(
                    neighbors(it.node).iter().map(|far| (far.node, it.node, far.by.max(it.by))),
                ),
                false => near.push((it.node, it.edge, it.by)),
            }
        }
    }
    let mut seen: FxHashSet<u64> = found.iter().map(|row| row.number).collect();
    let mut hints: Vec<String> = Vec::new();
    for (node, via, by) in near {
        let row = library.entry_index.of_node(node).filter(|row| row.entry.is_active);
        let Some(row) = row.filter(|row| !seen.contains(&row.number)) else { continue };
        if hints.len() < MAX_HINTS && !library.is_hidden(row)? {
            seen.insert(row.number);
            let via = if by == By::Llm { format!("{via}, llm") } else { via.to_string() };
            hints.push(format!("See also: [{}] {} (via {via})", id_text(row.number), row.title));
        }
    }
    Ok(hints)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_of_two_lists_add_up() {
        let found = fused(&[vec![1, 2, 3], vec![3, 4]]);
        let order: Vec<i64> = found.iter().map(|it| it.0).collect();
        assert_eq!(order, [3, 1, 2, 4]);
        assert!((found[0].1 - (1.0 / 63.0 + 1.0 / 61.0)).abs() < 1e-12);
        assert!((found[1].1 - 1.0 / 61.0).abs() < 1e-12);
    }

    #[test]
    fn operators_are_removed_from_a_question() {
        for (question, words) in [
            ("wal AND \"mode\" -x tag:db (a OR b)", "wal and mode x tag db a or b"),
            ("  -- * ", ""),
            ("std::fs C++ v1.2", "std fs C++ v1.2"),
        ] {
            assert_eq!(plain(question), words, "{question}");
        }
    }
}
