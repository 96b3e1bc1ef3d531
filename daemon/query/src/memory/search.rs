//! Search: facts by what they mean, or by their words.
//!
//! In: a question. Out: facts of each note with their scores.
//! A node is weak when neither its name nor the meaning or words of a fact match the question (`retrieval.floor`).
//! Invariants: by meaning, every vector is compared exactly: those of better models if they have all of them, on the
//! scale that they share, else all static ones, which are on another; by words, BM25 over the facts; ties are broken by row.
//! An instruction before a text moves all texts alike and does not rank them better, neither with static vectors nor
//! with MiniLM's (`tests/it/memory_reference.rs`), so there is one perspective, [`GENERAL`].

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use notes::resolve::{fold, name_key};
use proto::error::{Code, ErrorView};
use rusqlite::params;

use super::{NodeRow, node};
use crate::quote::statement::words_of as content_words;
use crate::recall::share_of_worth;
use crate::{AskError, QueryContext};
use index::store::Snapshot;
use index::vectors::Layer;
use index::words::Indexer;
use model::parcel::UnitVector;
use model::terms::ContentHash;

/// The perspective of static vectors.
pub const GENERAL: &str = "general";

/// The perspective of a node whose name matches.
pub const NAME: &str = "name";

/// BM25's usual constants.
const K1: f64 = 1.2;
const B: f64 = 0.75;

/// Scores of a node whose name equals the question, contains it, or whose type contains it: a typed name is meant.
const NAMED: [f32; 3] = [1.0, 0.9, 0.8];

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
    /// True when it has little to do with the question.
    pub is_weak: bool,
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
    let hit = |((doc, seq), score): ((i64, i64), f64)| FactHit { doc, seq, score: score as f32 };
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
    let mut found = Vec::new();
    for (doc, score, perspective) in order.into_iter().take(most) {
        let Some(node) = node(ctx.snapshot, doc)? else { continue };
        let fact = match best.get(&doc) {
            Some(hit) => content(ctx.snapshot, (doc, hit.seq))?,
            None => None,
        };
        found.push(Found { node, fact, score, perspective, is_weak: false });
    }
    let floor = ctx.settings.retrieval.floor.similar;
    let is_near = |it: &Found| it.perspective == NAME || it.score >= floor;
    flag_weak(ctx, question, &mut found, is_near)?;
    Ok(found)
}

/// Returns nodes by words: by their best fact.
pub fn nodes_by_words(
    ctx: &QueryContext<'_>,
    question: &str,
    most: usize,
) -> Result<Vec<Found>, AskError> {
    let snapshot = ctx.snapshot;
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    for hit in by_words(snapshot, None, question)? {
        if found.len() >= most || !seen.insert(hit.doc) {
            continue;
        }
        let Some(node) = node(snapshot, hit.doc)? else { continue };
        let fact = content(snapshot, (hit.doc, hit.seq))?;
        found.push(Found { node, fact, score: hit.score, perspective: "", is_weak: false });
    }
    flag_weak(ctx, question, &mut found, |_| false)?;
    Ok(found)
}

/// Flags nodes that are not near and contain few of the question's content words, rare ones counting more.
fn flag_weak(
    ctx: &QueryContext<'_>,
    question: &str,
    found: &mut [Found],
    is_near: impl Fn(&Found) -> bool,
) -> Result<(), AskError> {
    if found.iter().all(&is_near) {
        return Ok(());
    }
    let asked: Vec<String> = content_words(question).into_iter().take(MAX_WORDS).collect();
    let sql = "SELECT coalesce(sum(n_facts), 0) FROM memory_nodes";
    let n_facts: i64 = ctx.snapshot.query_row(sql, [], |row| row.get(0))?;
    let mut worth = Vec::new();
    for word in &asked {
        worth.push(idf(n_facts, n_facts_with(ctx.snapshot, word)?) as f32);
    }
    for it in found.iter_mut().filter(|it| !is_near(it)) {
        let said = format!("{} {}", it.node.name, it.fact.as_deref().unwrap_or_default());
        let said = content_words(&said);
        let held = asked.iter().enumerate().filter(|(_, word)| said.contains(*word));
        let held = held.fold(0_u64, |held, (at, _)| held | 1 << at);
        it.is_weak = share_of_worth(&worth, held) < ctx.settings.retrieval.floor.words;
    }
    Ok(())
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
        "SELECT doc_id, CASE WHEN key = ?1 THEN 0 WHEN instr(key, ?1) > 0 THEN 1 ELSE 2 END FROM memory_nodes
         WHERE is_node AND (instr(key, ?1) > 0 OR instr(lower(coalesce(type, '')), ?2) > 0)",
    )?;
    let rows = statement.query_map(params![key, folded], |row| {
        let class: usize = row.get::<_, i64>(1)?.max(0) as usize;
        Ok((row.get(0)?, NAMED.get(class).copied().unwrap_or(0.0)))
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
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
        if let Some(hits) = by_layers(ctx.snapshot, &layers, doc, question)? {
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
    snapshot: &Snapshot,
    layers: &[Arc<Layer>],
    doc: Option<i64>,
    question: &str,
) -> Result<Option<Vec<FactHit>>, AskError> {
    let sql = "SELECT f.doc_id, f.seq, f.hash FROM memory_facts f JOIN memory_nodes n ON n.doc_id = f.doc_id
               WHERE f.doc_id = ?1 OR ?1 IS NULL AND n.is_node";
    let mut statement = snapshot.prepare_cached(sql)?;
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
    let hits = facts.iter().zip(scores);
    Ok(Some(hits.map(|((doc, seq, _), score)| FactHit { doc: *doc, seq: *seq, score }).collect()))
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
            visit(FactHit { doc, seq: seq as i64, score });
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
