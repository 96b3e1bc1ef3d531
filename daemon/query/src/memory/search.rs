//! Search: facts as passages.
//!
//! In: a question. Out: the notes whose facts, names or other text answer it, with the matching
//! facts.
//! A fact is a chunk of its own (`extract/chunk`), so the read path of documents recalls and ranks
//! it; a name that the question contains as a whole, or a type, adds to the score.
//! A node is as relevant as its most relevant passage (`present/floor.rs`); a node that is named
//! has the greatest relevance. Lines that state relations name other nodes: they count half by
//! meaning, and nothing by words, which search what is said (S1): there, nodes whose facts hold the
//! words come before those of which only the name or other text does.
//! A question may use the operators of document questions (`"a phrase"`, `begin*`, `-word`), and
//! demand facts of a category (`[duty]`).
//! Invariants: no question is an error; ties are broken by row id.
//! An instruction in front of a text shifts all texts alike and does not improve the ranking,
//! neither with static vectors nor with MiniLM's (`tests/it/memory_reference.rs`), so there is one
//! perspective, [`GENERAL`].

use std::collections::BTreeMap;

use config::settings::Formula;
use notes::resolve::{fold, name_key};
use proto::error::ErrorView;
use proto::tool::core::HybridQuery;

use crate::expand::expand;
use crate::graph::lookup;
use crate::plan::{Filter, MAX_QUESTION_CHARS, OfNotes, Plan};
use crate::present::ChunkText;
use crate::present::floor::{WeakFloor, descending, weak_last};
use crate::quote::matched::matched;
use crate::rank::{ScoredChunk, rank};
use crate::recall::{Recalled, recall};
use crate::{AskError, QueryContext};
use index::read::{Fact, Node};
use index::store::Snapshot;
use model::terms::is_unspaced;

/// The perspective of a node found by its text.
pub const GENERAL: &str = "general";

/// The perspective of a node whose name matches.
pub const NAME: &str = "name";

/// Bonus for a node whose name equals the question, contains it, or whose type contains it: such a
/// question asks for that node.
const NAMED: [f32; 3] = [1.0, 0.9, 0.8];

/// Share of its score that a passage of relations gives to its node.
const OF_RELATIONS: f32 = 0.5;

/// Most passages recalled: a caller may want those of a thousand facts.
const MAX_PASSAGES: usize = 4_000;

/// Passages recalled per requested node: a node has several.
const PASSAGES: usize = 4;

/// Most facts returned per node.
const MAX_MATCHING: usize = 20;

/// How a question is matched.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Comparison {
    /// As for documents: by words, meaning and names.
    #[default]
    Usual,
    /// By words alone.
    Words,
}

/// A question, and which facts may answer it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FactQuery {
    /// The question.
    pub question: String,
    /// How it is matched.
    pub comparison: Comparison,
    /// Only facts of nodes of this type.
    pub node_type: Option<String>,
    /// Only facts of nodes with all of these tags.
    pub tags: Vec<String>,
    /// Only facts that mention this entity, by name or id, or belong to its own note.
    pub entity: Option<String>,
    /// Only facts of this day or later, `YYYY-MM-DD`: the first day that a fact names, else the day
    /// of its note.
    pub after: Option<String>,
    /// Only facts before this day.
    pub before: Option<String>,
}

/// A fact that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct FactHit {
    /// The fact.
    pub fact: Fact,
    /// Score of its passage.
    pub score: f32,
    /// How likely its passage is relevant to the question, 0 to 1.
    pub relevance: f32,
    /// Whether that is below the floor.
    pub is_weak: bool,
}

/// A node with its matches.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// The node.
    pub node: Node,
    /// The matching facts, best first; empty if only the name or other text matches.
    pub facts: Vec<FactHit>,
    /// Score of its best passage, plus the bonus for its name.
    pub score: f32,
    /// What matched: [`GENERAL`] or [`NAME`].
    pub perspective: &'static str,
    /// How likely it is relevant to the question, 0 to 1.
    pub relevance: f32,
    /// Whether that is below the floor.
    pub is_weak: bool,
}

/// Returns the matching facts of one note, best first.
///
/// # Errors
/// When the index cannot be read.
pub fn facts_of(
    ctx: &QueryContext<'_>,
    doc: i64,
    query: &FactQuery,
    most: usize,
) -> Result<Vec<FactHit>, ErrorView> {
    let Some(passages) = Passages::read(ctx, Some(vec![doc]), query, most)? else {
        return Ok(vec![]);
    };
    let node = ctx.snapshot.memory().get(doc).map_err(AskError::from)?;
    let Some(node) = node else { return Ok(vec![]) };
    let mut found = Vec::new();
    for hit in &passages.hits {
        add(&mut found, passages.judged(ctx, &node, hit)?.0);
        if found.len() >= most {
            break;
        }
    }
    in_order(&mut found);
    Ok(found)
}

/// Brings facts into the order in which they are shown.
fn in_order(facts: &mut [FactHit]) {
    weak_last(facts, |it| (it.is_weak, it.relevance));
    descending(facts.iter_mut().map(|it| &mut it.score));
}

/// Returns nodes by their names and facts, best first; skips the first `skip`.
///
/// # Errors
/// As [`facts_of`].
pub fn nodes(
    ctx: &QueryContext<'_>,
    query: &FactQuery,
    skip: usize,
    most: usize,
) -> Result<Vec<Found>, ErrorView> {
    let wanted = (skip + most).saturating_mul(PASSAGES);
    let docs = node_docs(ctx.snapshot, query)?;
    if docs.as_ref().is_some_and(Vec::is_empty) {
        return Ok(vec![]);
    }
    let passages = Passages::read(ctx, docs, query, wanted)?;
    let mut scored: BTreeMap<i64, Scored<'_>> = BTreeMap::new();
    let chunks = passages.iter().flat_map(|it| &it.hits).map(|it| it.chunk);
    let of_relations = ctx.snapshot.memory().stating_relations(chunks).map_err(AskError::from)?;
    let by_words = query.comparison == Comparison::Words;
    let said_by = passages.as_ref().and_then(Passages::said_by);
    for hit in passages.iter().flat_map(|it| &it.hits) {
        let is_of_relations = of_relations.contains(&hit.chunk);
        let doc = ctx.snapshot.chunks().doc(hit.chunk).map_err(AskError::from)?;
        let Some(doc) = doc.filter(|_| !(by_words && is_of_relations)) else { continue };
        let of = scored.entry(doc).or_default();
        of.score = of.score.max(hit.score * if is_of_relations { OF_RELATIONS } else { 1.0 });
        of.is_said |= by_words && !facts_in(ctx.snapshot, hit, said_by.as_ref())?.is_empty();
        of.hits.push(hit);
    }
    let named = if by_words { vec![] } else { named(ctx.snapshot, &query.question)? };
    for (doc, score, is_typed) in named {
        if passages.as_ref().is_none_or(|it| it.may_answer(doc)) {
            let of = scored.entry(doc).or_default();
            (of.score, of.is_named, of.is_typed) = (of.score + score, true, is_typed);
        }
    }
    let mut order: Vec<(i64, Scored<'_>)> = scored.into_iter().collect();
    order.sort_by(|(a, of), (b, other)| {
        let class = |it: &Scored<'_>| (it.is_typed, it.is_said);
        class(other).cmp(&class(of)).then(other.score.total_cmp(&of.score)).then(a.cmp(b))
    });
    let mut found = Vec::new();
    for (doc, scored) in order.into_iter().skip(skip).take(most) {
        let node = ctx.snapshot.memory().get(doc).map_err(AskError::from)?;
        let Some(node) = node else { continue };
        let (mut facts, mut best) = (Vec::new(), f32::from(u8::from(scored.is_named)));
        for hit in &scored.hits {
            let Some(passages) = &passages else { break };
            let (more, relevance) = passages.judged(ctx, &node, hit)?;
            best = best.max(relevance);
            if facts.len() < MAX_MATCHING {
                add(&mut facts, more);
            }
        }
        in_order(&mut facts);
        let perspective = if scored.is_named { NAME } else { GENERAL };
        let is_weak = best < ctx.settings.retrieval.floor.relevance;
        found.push(Found {
            node,
            facts,
            score: scored.score,
            perspective,
            relevance: best,
            is_weak,
        });
    }
    Ok(found)
}

/// The matches of a node.
#[derive(Default)]
struct Scored<'p> {
    score: f32,
    hits: Vec<&'p ScoredChunk>,
    is_named: bool,
    /// Whether its name or type is what was typed.
    is_typed: bool,
    /// Whether, in a search by words, a fact holds some.
    is_said: bool,
}

/// The results of the first four steps of the read path in some notes.
struct Passages {
    plan: Plan,
    recalled: Recalled,
    /// Best first.
    hits: Vec<ScoredChunk>,
}

impl Passages {
    /// Runs the steps; `None` if the question has no words. `docs` is `None` for all notes.
    fn read(
        ctx: &QueryContext<'_>,
        docs: Option<Vec<i64>>,
        query: &FactQuery,
        wanted: usize,
    ) -> Result<Option<Passages>, ErrorView> {
        let (categories, q) = categories_of(&query.question);
        let q: String = q.chars().take(MAX_QUESTION_CHARS).collect();
        if q.trim().is_empty() || docs.as_ref().is_some_and(Vec::is_empty) {
            return Ok(None);
        }
        let FactQuery { tags, entity, after, before, .. } = query.clone();
        let request = HybridQuery { q, tags: Some(tags), after, before, ..Default::default() };
        let draft = Plan::draft(&request, &ctx.settings.retrieval)?;
        if draft.question.is_empty() {
            return Ok(None);
        }
        let entity = entity.map(|it| lookup::given(ctx, "entity", &it)).transpose()?;
        let of_notes = OfNotes { docs, ..OfNotes::default() };
        // The days filter facts, not their documents.
        let (after, before) = (draft.filter.after, draft.filter.before);
        let filter = Filter { of_notes, entity, after: None, before: None, ..draft.filter };
        let formula = match query.comparison {
            Comparison::Usual => Formula::Hybrid,
            Comparison::Words => Formula::Text,
        };
        let depth = wanted.clamp(draft.depth, MAX_PASSAGES);
        let mut plan = Plan { formula, filter, depth, ..draft };
        // Many facts of one node are no reason to lower their scores.
        plan.weights.same_document = 0.0;
        let mut plan = plan.resolve(ctx)?;
        let memory = ctx.snapshot.memory();
        if after.is_some() || before.is_some() {
            let dated = memory.chunks_of_days(after.as_deref(), before.as_deref());
            let dated = dated.map_err(AskError::from)?;
            plan.within.narrow(ctx, dated)?;
        }
        for category in &categories {
            let filed = memory.chunks_beginning(&fold(&format!("[{category}]")));
            let filed = filed.map_err(AskError::from)?;
            // If there is no such category, the brackets are ordinary punctuation.
            if !filed.is_empty() {
                plan.within.narrow(ctx, filed)?;
            }
        }
        let recalled = recall(ctx, &plan, depth)?;
        let expanded = expand(ctx, &plan, &recalled)?;
        let hits = rank(ctx, &plan, &recalled, &expanded)?.hits;
        Ok(Some(Passages { plan, recalled, hits }))
    }

    /// Returns what tells whether a fact, or a name, holds words of the question; `None` unless it is a search by
    /// words.
    fn said_by(&self) -> Option<impl Fn(&str) -> bool + '_> {
        let words = &self.plan.question.words;
        (self.plan.formula == Formula::Text).then_some(|text: &str| matched(text, words) != 0)
    }

    /// Returns whether a node may answer by its name.
    fn may_answer(&self, doc: i64) -> bool {
        let is_of_facts = self.plan.within.mentioning.is_some();
        !is_of_facts && self.plan.within.holds(doc)
    }

    /// Returns the facts in a hit, and how likely it is relevant to the question, 0 to 1.
    fn judged(
        &self,
        ctx: &QueryContext<'_>,
        node: &Node,
        hit: &ScoredChunk,
    ) -> Result<(Vec<FactHit>, f32), AskError> {
        let mut facts = facts_in(ctx.snapshot, hit, self.said_by().as_ref())?;
        let Some(passage) = ChunkText::load(ctx, hit.chunk)? else { return Ok((facts, 0.0)) };
        let floor = WeakFloor::of(&self.plan, &self.recalled);
        let floor = if facts.is_empty() { floor } else { floor.of_facts() };
        let relevance =
            floor.judge(hit, [&node.name, &passage.chunk.section, passage.words()]).relevance;
        for fact in &mut facts {
            (fact.relevance, fact.is_weak) = (relevance, self.is_weak(relevance));
        }
        Ok((facts, relevance))
    }

    fn is_weak(&self, relevance: f32) -> bool {
        relevance < self.plan.floor.relevance
    }
}

/// Returns the notes that are nodes of the wanted type, or in which a memory tool has numbered a
/// fact, in ascending order; `None` if that is every document.
fn node_docs(snapshot: &Snapshot, query: &FactQuery) -> Result<Option<Vec<i64>>, AskError> {
    let docs = snapshot.memory().docs(query.node_type.as_deref())?;
    let is_all = docs.len() as u64 == snapshot.documents().count()?;
    Ok((!is_all || docs.is_empty()).then_some(docs))
}

/// Returns the categories that a question names, `[duty]`, and the question with these as plain
/// words.
fn categories_of(question: &str) -> (Vec<&str>, String) {
    fn of(word: &str) -> Option<&str> {
        word.strip_prefix('[')?.strip_suffix(']').filter(|it| !it.is_empty())
    }
    let words: Vec<&str> = question.split_whitespace().collect();
    let plain: Vec<&str> = words.iter().map(|word| of(word).unwrap_or(word)).collect();
    (words.iter().filter_map(|word| of(word)).collect(), plain.join(" "))
}

/// Returns the fact in a passage; empty for other text of a note, and for a passage that was found by the name of its
/// note alone, if `holds` tells which texts hold the words.
fn facts_in(
    snapshot: &Snapshot,
    hit: &ScoredChunk,
    holds: Option<&impl Fn(&str) -> bool>,
) -> Result<Vec<FactHit>, AskError> {
    let fact = |fact| FactHit { fact, score: hit.score, relevance: 0.0, is_weak: true };
    let facts = snapshot.memory().facts_of([hit.chunk])?.remove(&hit.chunk).unwrap_or_default();
    let name = match facts.first() {
        Some(fact) if holds.is_some() => snapshot.memory().get(fact.doc)?.map(|node| node.name),
        _ => None,
    };
    let is_said = |content: &str| match (holds, &name) {
        (Some(holds), Some(name)) => holds(content) || !holds(name),
        _ => true,
    };
    Ok(facts.into_iter().filter(|it| is_said(&it.content)).map(fact).collect())
}

/// Adds facts that are not there yet: a fact longer than a chunk has several passages.
fn add(found: &mut Vec<FactHit>, more: Vec<FactHit>) {
    for hit in more {
        if !found.iter().any(|it| it.fact.seq == hit.fact.seq) {
            found.push(hit);
        }
    }
}

/// Returns the nodes that the question names, with their bonus, and whether their name or type is all of it.
fn named(snapshot: &Snapshot, question: &str) -> Result<Vec<(i64, f32, bool)>, AskError> {
    let (key, folded) = (name_key(question), fold(question.trim()));
    if key.is_empty() || folded.is_empty() {
        return Ok(vec![]);
    }
    let mut found = Vec::new();
    for (doc, name, of_type) in snapshot.memory().containing(&key, &folded)? {
        let class = if name == key {
            0
        } else if begins_word(&name, &key) {
            1
        } else if begins_word(&of_type, &folded) {
            2
        } else {
            continue;
        };
        let is_typed = name == key || of_type == folded;
        found.push((doc, NAMED.get(class).copied().unwrap_or(0.0), is_typed));
    }
    Ok(found)
}

/// Returns whether some words start at a word boundary in a text: `bo` in `uncle bob`, not in
/// `harbor`. In a script without spaces every character is a boundary.
fn begins_word(text: &str, words: &str) -> bool {
    let is_within = |c: char| c.is_alphanumeric() && !is_unspaced(c);
    text.match_indices(words).any(|(at, _)| !text[..at].chars().next_back().is_some_and(is_within))
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
