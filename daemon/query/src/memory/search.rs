//! Search: facts by what they mean, or by their words.
//!
//! In: a question. Out: facts of each note with their scores.
//! A fact has a relevance (`relevance.rs`) by its words, those of its node's name and its nearness; a node that is
//! named has the greatest.
//! Invariants: by meaning, every vector is compared exactly: those of better models if they have all of them, on the
//! scale that they share, else all static ones, which are on another; by words, BM25 over the facts; ties are broken by
//! row.
//! An instruction before a text moves all texts alike and does not rank them better, neither with static vectors nor
//! with MiniLM's (`tests/it/memory_reference.rs`), so there is one perspective, [`GENERAL`].

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use config::settings::Floor;
use notes::resolve::{fold, name_key};
use proto::error::{Code, ErrorView};
use rusqlite::params;

use super::{NodeRow, node};
use crate::plan::question::Question;
use crate::quote::statement::words_of as content_words;
use crate::recall::nearness::has_better_model;
use crate::recall::share_of_worth;
use crate::relevance::{Signals, relevance};
use crate::{AskError, QueryContext};
use index::store::Snapshot;
use index::vectors::Layer;
use index::words::Indexer;
use model::parcel::UnitVector;
use model::terms::{ContentHash, is_unspaced};

/// The perspective of static vectors.
pub const GENERAL: &str = "general";

/// The perspective of a node whose name matches.
pub const NAME: &str = "name";

/// BM25's usual constants.
const K1: f64 = 1.2;
const B: f64 = 0.75;

/// Scores of a node whose name equals the question, contains it, or whose type contains it: a typed name is meant.
const NAMED: [f32; 3] = [1.0, 0.9, 0.8];

/// A fact is one sentence, and less near to a question than a passage: from `retrieval.floor.similar` on its meaning
/// alone suffices, which is so much above the cosine that speaks neither for nor against it.
const ENOUGH: f32 = 0.06;

/// Most content words of a question that count: the bits of a number.
const MAX_WORDS: usize = 64;

/// A fact with its score.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FactHit {
    /// Row of the document.
    pub doc: i64,
    /// Index among the facts of the document.
    pub seq: i64,
    /// Cosine, or BM25.
    pub score: f32,
    /// Whether the score is a cosine, and of the better model.
    pub is_better: Option<bool>,
}

impl FactHit {
    /// The cosine, and whether the better model gave it.
    pub fn near(&self) -> Option<(f32, bool)> {
        Some((self.score, self.is_better?))
    }
}

/// A node with its best fact.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// The node.
    pub node: NodeRow,
    /// The fact; `None` where only the name matches.
    pub fact: Option<String>,
    /// Cosine, BM25, or the score of a name.
    pub score: f32,
    /// What matched: [`GENERAL`] or [`NAME`]; empty for a search by words.
    pub perspective: &'static str,
    /// How probable it is that it has to do with the question, 0 to 1.
    pub relevance: f32,
}

/// Returns the facts of one note by meaning, the best first.
///
/// # Errors
/// When the question cannot be embedded, or the index not read.
pub fn by_meaning(
    ctx: &QueryContext<'_>,
    doc: i64,
    question: &str,
) -> Result<Vec<FactHit>, ErrorView> {
    let mut hits = Vec::new();
    each_by_meaning(ctx, Some(doc), question, |hit| hits.push(hit))?;
    Ok(ordered(hits))
}

/// Returns the facts of one note, or of all nodes, by words, the best first.
pub fn by_words(
    snapshot: &Snapshot,
    doc: Option<i64>,
    question: &str,
) -> Result<Vec<FactHit>, AskError> {
    let (n_facts, n_words): (i64, i64) = snapshot.query_row(
        "SELECT count(*), coalesce(sum(n_words), 0) FROM memory_facts",
        [],
        |row| Ok((row.get(0)?, row.get(1)?)),
    )?;
    let mean = (n_words as f64 / (n_facts as f64).max(1.0)).max(1.0);
    let mut scores: BTreeMap<(i64, i64), f64> = BTreeMap::new();
    for word in words_of(question) {
        let idf = idf(n_facts, n_facts_with(snapshot, &word)?);
        let mut statement = snapshot.prepare_cached(
            "SELECT w.doc_id, w.seq, w.n, f.n_words FROM memory_words w
             JOIN memory_facts f ON f.doc_id = w.doc_id AND f.seq = w.seq
             JOIN memory_nodes n ON n.doc_id = w.doc_id
             WHERE w.word = ?1 AND (w.doc_id = ?2 OR ?2 IS NULL AND n.is_node)",
        )?;
        let mut rows = statement.query(params![word, doc])?;
        while let Some(row) = rows.next()? {
            let n: f64 = row.get(2)?;
            let length: f64 = row.get(3)?;
            let weight = n * (K1 + 1.0) / (n + K1 * (1.0 - B + B * length / mean));
            *scores.entry((row.get(0)?, row.get(1)?)).or_insert(0.0) += idf * weight;
        }
    }
    let hit = |((doc, seq), score): ((i64, i64), f64)| FactHit {
        doc,
        seq,
        score: score as f32,
        is_better: None,
    };
    Ok(ordered(scores.into_iter().map(hit).collect()))
}

/// Returns nodes by meaning: by their best fact, or by name or type.
///
/// # Errors
/// As [`by_meaning`].
pub fn nodes_by_meaning(
    ctx: &QueryContext<'_>,
    question: &str,
    most: usize,
) -> Result<Vec<Found>, ErrorView> {
    let mut best: HashMap<i64, FactHit> = HashMap::new();
    each_by_meaning(ctx, None, question, |hit| {
        let known = best.entry(hit.doc).or_insert(hit);
        if hit.score > known.score {
            *known = hit;
        }
    })?;
    let mut scored: HashMap<i64, (f32, &'static str)> =
        best.iter().map(|(doc, hit)| (*doc, (hit.score, GENERAL))).collect();
    for (doc, score) in named(ctx.snapshot, question)? {
        let known = scored.entry(doc).or_insert((score, NAME));
        if score > known.0 {
            *known = (score, NAME);
        }
    }
    let mut order: Vec<(i64, f32, &'static str)> =
        scored.into_iter().map(|(doc, (score, why))| (doc, score, why)).collect();
    order.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    let asked = Asked::of(ctx, question)?;
    let mut found = Vec::new();
    for (doc, score, perspective) in order.into_iter().take(most) {
        let Some(node) = node(ctx.snapshot, doc)? else { continue };
        let hit = best.get(&doc);
        let fact = match hit {
            Some(hit) => content(ctx.snapshot, (doc, hit.seq))?,
            None => None,
        };
        let said = fact.as_deref().unwrap_or_default();
        let relevance = match perspective {
            NAME => 1.0,
            _ => asked.relevance(&node.name, said, hit.and_then(FactHit::near)),
        };
        found.push(Found { node, fact, score, perspective, relevance });
    }
    Ok(found)
}

/// Returns nodes by words: by their best fact.
pub fn nodes_by_words(
    ctx: &QueryContext<'_>,
    question: &str,
    most: usize,
) -> Result<Vec<Found>, AskError> {
    let snapshot = ctx.snapshot;
    let asked = Asked::of(ctx, question)?;
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    for hit in by_words(snapshot, None, question)? {
        if found.len() >= most || !seen.insert(hit.doc) {
            continue;
        }
        let Some(node) = node(snapshot, hit.doc)? else { continue };
        let fact = content(snapshot, (hit.doc, hit.seq))?;
        let relevance = asked.relevance(&node.name, fact.as_deref().unwrap_or_default(), None);
        found.push(Found { node, fact, score: hit.score, perspective: "", relevance });
    }
    Ok(found)
}

/// A question, with what its content words are worth among all facts.
pub struct Asked {
    floor: Floor,
    words: Vec<String>,
    worth: Vec<f32>,
    lacks_name: bool,
}

impl Asked {
    /// Looks up the words of a question.
    pub fn of(ctx: &QueryContext<'_>, question: &str) -> Result<Self, AskError> {
        let words: Vec<String> = content_words(question).into_iter().take(MAX_WORDS).collect();
        let sql = "SELECT coalesce(sum(n_facts), 0) FROM memory_nodes";
        let n_facts: i64 = ctx.snapshot.query_row(sql, [], |row| row.get(0))?;
        let mut worth = Vec::new();
        for word in &words {
            worth.push(idf(n_facts, n_facts_with(ctx.snapshot, word)?) as f32);
        }
        let mut lacks_name = false;
        for name in Question::new(question).name_words() {
            lacks_name |= !is_known(ctx.snapshot, name)?;
        }
        let floor = ctx.settings.retrieval.floor;
        let (vector, better) = (floor.similar - ENOUGH, floor.better_similar - ENOUGH);
        Ok(Asked { floor: Floor { vector, better, ..floor }, words, worth, lacks_name })
    }

    /// Returns the relevance of what is said of a node with this name.
    pub fn relevance(&self, name: &str, said: &str, near: Option<(f32, bool)>) -> f32 {
        let said = content_words(&format!("{name} {said}"));
        let held = self.words.iter().enumerate().filter(|(_, word)| said.contains(*word));
        let held = held.fold(0_u64, |held, (at, _)| held | 1 << at);
        let words = share_of_worth(&self.worth, held);
        relevance(&self.floor, Signals { words, near, lacks_name: self.lacks_name })
    }

    /// Returns whether a relevance is too small.
    pub fn is_weak(&self, relevance: f32) -> bool {
        relevance < self.floor.relevance
    }
}

/// Returns whether any fact or name of a node has a word.
fn is_known(snapshot: &Snapshot, word: &str) -> Result<bool, AskError> {
    for stem in words_of(word) {
        if n_facts_with(snapshot, &stem)? > 0 {
            return Ok(true);
        }
    }
    let sql = "SELECT EXISTS(SELECT 1 FROM memory_nodes WHERE instr(key, ?1) > 0)";
    Ok(snapshot.prepare_cached(sql)?.query_row([name_key(word)], |row| row.get(0))?)
}

fn n_facts_with(snapshot: &Snapshot, word: &str) -> Result<i64, AskError> {
    let sql = "SELECT count(*) FROM memory_words WHERE word = ?1";
    Ok(snapshot.prepare_cached(sql)?.query_row([word], |row| row.get(0))?)
}

/// The inverse document frequency of a word.
fn idf(n_facts: i64, n_with: i64) -> f64 {
    (((n_facts - n_with) as f64 + 0.5) / (n_with as f64 + 0.5) + 1.0).ln()
}

fn content(snapshot: &Snapshot, at: (i64, i64)) -> Result<Option<String>, AskError> {
    let sql = "SELECT content FROM memory_facts WHERE doc_id = ?1 AND seq = ?2";
    Ok(snapshot.prepare_cached(sql)?.query_row(params![at.0, at.1], |row| row.get(0)).ok())
}

fn named(snapshot: &Snapshot, question: &str) -> Result<Vec<(i64, f32)>, AskError> {
    let (key, folded) = (name_key(question), fold(question.trim()));
    if key.is_empty() || folded.is_empty() {
        return Ok(vec![]);
    }
    let mut statement = snapshot.prepare_cached(
        "SELECT doc_id, key, lower(coalesce(type, '')) FROM memory_nodes
         WHERE is_node AND (instr(key, ?1) > 0 OR instr(lower(coalesce(type, '')), ?2) > 0)",
    )?;
    let mut rows = statement.query(params![key, folded])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let (name, of_type) = (row.get_ref(1)?.as_str(), row.get_ref(2)?.as_str());
        let (name, of_type) = (name.unwrap_or_default(), of_type.unwrap_or_default());
        let class = if name == key {
            0
        } else if begins_word(name, &key) {
            1
        } else if begins_word(of_type, &folded) {
            2
        } else {
            continue;
        };
        found.push((row.get(0)?, NAMED.get(class).copied().unwrap_or(0.0)));
    }
    Ok(found)
}

/// Whether words begin somewhere in a text: `bo` in `uncle bob`, not in `harbor`. In a script without spaces every
/// sign may begin one.
fn begins_word(text: &str, words: &str) -> bool {
    let is_within = |c: char| c.is_alphanumeric() && !is_unspaced(c);
    text.match_indices(words).any(|(at, _)| !text[..at].chars().next_back().is_some_and(is_within))
}

fn embedded(ctx: &QueryContext<'_>, question: &str) -> Result<UnitVector, ErrorView> {
    ctx.embedder.try_question(question).map_err(|error| ErrorView {
        code: Code::Unavailable,
        message: format!("the question cannot be embedded: {error}"),
        hint: Some("`mode: text` needs no model".into()),
        conflict: None,
    })
}

/// Visits each fact of one note, or of all nodes, with its nearness to a question.
fn each_by_meaning(
    ctx: &QueryContext<'_>,
    doc: Option<i64>,
    question: &str,
    visit: impl FnMut(FactHit),
) -> Result<(), ErrorView> {
    for layers in ctx.snapshot.layers_of_facts() {
        if let Some(hits) = by_layers(ctx, &layers, doc, question)? {
            hits.into_iter().for_each(visit);
            return Ok(());
        }
    }
    let question = embedded(ctx, question)?;
    Ok(each_vector(ctx.snapshot, doc, &question, visit)?)
}

/// Returns the hits by better models; `None` where each lacks a fact, or one cannot embed the question now. A fact that
/// several have is as near as the nearest says.
fn by_layers(
    ctx: &QueryContext<'_>,
    layers: &[Arc<Layer>],
    doc: Option<i64>,
    question: &str,
) -> Result<Option<Vec<FactHit>>, AskError> {
    let sql = "SELECT f.doc_id, f.seq, f.hash FROM memory_facts f JOIN memory_nodes n ON n.doc_id = f.doc_id
               WHERE f.doc_id = ?1 OR ?1 IS NULL AND n.is_node";
    let mut statement = ctx.snapshot.prepare_cached(sql)?;
    let rows = statement.query_map([doc], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    let facts = rows.collect::<Result<Vec<(i64, i64, [u8; 16])>, _>>()?;
    let hash_of = |bytes: &[u8; 16]| ContentHash(u128::from_le_bytes(*bytes));
    // Embedding the question takes time, so this comes first; and a model without facts is not loaded for it.
    let mut vectors: Vec<Vec<(&Layer, UnitVector)>> = vec![Vec::new(); facts.len()];
    for layer in layers {
        layer.with_facts(|known| {
            for ((_, _, hash), vectors) in facts.iter().zip(&mut vectors) {
                vectors.extend(known.get(&hash_of(hash)).map(|it| (layer.as_ref(), it.clone())));
            }
        });
    }
    if facts.is_empty() || vectors.iter().any(Vec::is_empty) {
        return Ok(None);
    }
    let mut scores = vec![0.0f32; facts.len()];
    for layer in layers {
        let has = |(its, _): &&(&Layer, UnitVector)| std::ptr::eq(*its, layer.as_ref());
        if !vectors.iter().flatten().any(|it| has(&it)) {
            continue;
        }
        let Ok(question) = layer.question_of_facts(question) else { return Ok(None) };
        let asked = length(&question.0);
        for (score, vectors) in scores.iter_mut().zip(&vectors) {
            let Some((_, vector)) = vectors.iter().find(has) else { continue };
            let (dot, own) = product(&question.0, vector.0.iter().copied());
            let cosine = if asked * own > 0.0 { dot / (asked * own) } else { continue };
            let nearness = layer.embedder().nearness(cosine);
            let is_first = vectors.first().is_some_and(|it| has(&it));
            *score = if is_first { nearness } else { score.max(nearness) };
        }
    }
    let is_better = Some(has_better_model(ctx));
    let hits = facts.iter().zip(scores);
    let hit = |((doc, seq, _), score): (&(i64, i64, [u8; 16]), f32)| FactHit {
        doc: *doc,
        seq: *seq,
        score,
        is_better,
    };
    Ok(Some(hits.map(hit).collect()))
}

fn each_vector(
    snapshot: &Snapshot,
    doc: Option<i64>,
    question: &UnitVector,
    mut visit: impl FnMut(FactHit),
) -> Result<(), AskError> {
    let width = question.0.len().max(1);
    let mut statement = snapshot.prepare_cached(
        "SELECT v.doc_id, v.vectors FROM memory_vectors v JOIN memory_nodes n ON n.doc_id = v.doc_id
         WHERE v.doc_id = ?1 OR ?1 IS NULL AND n.is_node",
    )?;
    let mut rows = statement.query([doc])?;
    let asked = length(&question.0);
    while let Some(row) = rows.next()? {
        let (doc, bytes) = (row.get(0)?, row.get_ref(1)?.as_blob().map_err(rusqlite::Error::from)?);
        for (seq, vector) in bytes.chunks_exact(width).enumerate() {
            let (dot, own) = product(&question.0, vector.iter().map(|it| it.cast_signed()));
            let score = if asked * own > 0.0 { dot / (asked * own) } else { 0.0 };
            visit(FactHit { doc, seq: seq as i64, score, is_better: Some(false) });
        }
    }
    Ok(())
}

fn length(vector: &[i8]) -> f32 {
    vector.iter().map(|it| f32::from(*it) * f32::from(*it)).sum::<f32>().sqrt()
}

/// Returns the dot product of two vectors, and the length of the second.
fn product(one: &[i8], other: impl Iterator<Item = i8>) -> (f32, f32) {
    let (mut dot, mut square) = (0_i32, 0_i32);
    for (a, b) in one.iter().zip(other) {
        let (a, b) = (i32::from(*a), i32::from(b));
        dot += a * b;
        square += b * b;
    }
    (dot as f32, (square as f32).sqrt())
}

fn ordered(mut hits: Vec<FactHit>) -> Vec<FactHit> {
    hits.sort_by(|a, b| {
        b.score.total_cmp(&a.score).then(a.doc.cmp(&b.doc)).then(a.seq.cmp(&b.seq))
    });
    hits
}

/// The words of a question, stemmed and as they are, since facts may be indexed either way.
fn words_of(question: &str) -> BTreeSet<String> {
    let mut indexer = Indexer::new();
    let mut out = String::new();
    indexer.index(question, true, &mut out);
    indexer.index(question, false, &mut out);
    out.split_whitespace().map(str::to_string).collect()
}

#[cfg(test)]
mod tests {
    use super::begins_word;

    #[test]
    fn a_name_is_found_by_the_beginnings_of_its_words() {
        for (name, words, expected) in [
            ("harbor", "bo", false),
            ("uncle bob", "bo", true),
            ("jean-luc", "luc", true),
            ("bo", "bo", true),
            ("harbor of bo", "bo", true),
            ("東京大学", "大学", true),
        ] {
            assert_eq!(begins_word(name, words), expected, "{name} {words}");
        }
    }
}
