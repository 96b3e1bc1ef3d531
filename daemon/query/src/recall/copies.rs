//! Copies: a passage that repeats another one is indexed with that, its first; this module restores it.
//!
//! In: candidates. Out: the same candidates, except that a passage whose words are indexed elsewhere is scored as if
//! they were indexed here, a passage outside the filter is replaced by its copies inside, and one that adds nothing to
//! the passage that it repeats is dropped, to be named as a further source.
//! Invariant: each step reads a bounded number of passages a candidate; to find the first of its copies, these are
//! sorted.

use std::collections::{BTreeMap, BTreeSet};

use index::read::Chunk;
use proto::shape::{AlsoIn, PlaceView};
use rustc_hash::{FxHashMap, FxHashSet};

use super::Candidates;
use super::nearness::{self, QuestionVectors};
use crate::plan::Plan;
use crate::plan::within::Within;
use crate::quote::matched::matched;
use crate::{AskError, QueryContext};

/// Most further sources named with a hit.
const MAX_ALSO_IN: usize = 3;

/// Most copies of one passage that are considered.
const MAX_PLACES: usize = 64;

/// Most copies that replace one passage outside the filter.
const MAX_STAND_INS: usize = 8;

/// Returns the passages that those inside the filter repeat.
pub(crate) fn firsts(ctx: &QueryContext<'_>, plan: &Plan) -> Result<FxHashSet<i64>, AskError> {
    if let Some(mentioning) = &plan.within.mentioning {
        let sorted = mentioning.iter().copied().collect::<BTreeSet<i64>>();
        let repeats = ctx.snapshot.chunks().repeats(sorted)?;
        return Ok(repeats.into_iter().filter_map(|chunk| chunk.repeats).collect());
    }
    let Some(docs) = &plan.within.docs else { return Ok(FxHashSet::default()) };
    Ok(ctx.snapshot.chunks().repeated_in(docs)?)
}

/// Moves every score to a passage that may answer: inside the filter, and completed if its words are indexed elsewhere.
pub(crate) fn bring_back(
    ctx: &QueryContext<'_>,
    plan: &Plan,
    candidates: Candidates,
    question: Option<&QuestionVectors>,
) -> Result<Candidates, AskError> {
    let mut candidates = stage!("copies", stand_in(ctx, plan, candidates, question))?;
    stage!("copies", complete_texts(ctx, plan, &mut candidates.text))?;
    candidates.text.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    candidates.vector.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    Ok(candidates)
}

/// Replaces candidates outside the filter with their copies inside.
fn stand_in(
    ctx: &QueryContext<'_>,
    plan: &Plan,
    candidates: Candidates,
    question: Option<&QuestionVectors>,
) -> Result<Candidates, AskError> {
    if plan.within.docs.is_none() && plan.within.mentioning.is_none() {
        return Ok(candidates);
    }
    let chunks = ctx.snapshot.chunks().many(candidates.chunks())?;
    // Those that may answer stay; the others are replaced.
    let stays = |chunk: &i64| chunks.get(chunk).is_some_and(|it| plan.within.lets_through(it));
    let Candidates { text, vector, mut better } = candidates;
    let mut texts: BTreeMap<i64, f32> = BTreeMap::new();
    for (first, score) in text {
        if stays(&first) {
            *texts.entry(first).or_default() += score;
            continue;
        }
        let Some(indexed) = chunks.get(&first) else { continue };
        for copy in copies_within(ctx, &plan.within, indexed)? {
            *texts.entry(copy.id).or_default() += score * share(ctx, plan, indexed, &copy)?;
        }
    }
    let mut vectors: BTreeMap<i64, f32> = BTreeMap::new();
    for (first, cosine) in vector {
        if stays(&first) {
            vectors.insert(first, cosine);
            continue;
        }
        let (Some(indexed), Some(question)) = (chunks.get(&first), question) else { continue };
        let copies = copies_within(ctx, &plan.within, indexed)?;
        let copies: Vec<i64> = copies.iter().map(|chunk| chunk.id).collect();
        for copy in nearness::of_chunks(ctx, &copies, question)? {
            vectors.insert(copy.chunk, copy.nearness);
            better.extend(Some(copy.chunk).filter(|_| copy.is_better));
        }
    }
    let text = texts.into_iter().filter(|(_, score)| *score > 0.0).collect();
    Ok(Candidates { text, vector: vectors.into_iter().collect(), better })
}

/// Adds, to passages that were found by the words that only they have, the score of those that are indexed with their
/// first. Drops those whose words their first has, too.
fn complete_texts(
    ctx: &QueryContext<'_>,
    plan: &Plan,
    text: &mut Vec<(i64, f32)>,
) -> Result<(), AskError> {
    let scores: FxHashMap<i64, f32> = text.iter().copied().collect();
    let repeats = ctx.snapshot.chunks().repeats(text.iter().map(|(chunk, _)| *chunk))?;
    let repeats: FxHashMap<i64, Chunk> = repeats.into_iter().map(|it| (it.id, it)).collect();
    let mut dropped = BTreeSet::new();
    for (chunk, score) in text.iter_mut() {
        let Some(copy) = repeats.get(chunk) else { continue };
        let first = copy.repeats.and_then(|first| Some((first, scores.get(&first)?)));
        let Some((first, first_score)) = first else { continue };
        let Some(first) = ctx.snapshot.chunks().get(first)? else { continue };
        let words = &plan.question.words;
        let (own, theirs) =
            (matched(&words_of(ctx, copy)?, words), matched(&words_of(ctx, &first)?, words));
        if own & !theirs == 0 && plan.within.lets_through(&first) {
            dropped.insert(*chunk);
        }
        let n_shared = (own & theirs).count_ones();
        *score += first_score * n_shared as f32 / theirs.count_ones().max(1) as f32;
    }
    text.retain(|(chunk, _)| !dropped.contains(chunk));
    Ok(())
}

/// Returns which share of the question's words in a passage its copy has, too.
fn share(
    ctx: &QueryContext<'_>,
    plan: &Plan,
    first: &Chunk,
    copy: &Chunk,
) -> Result<f32, AskError> {
    let words = &plan.question.words;
    let theirs = matched(&words_of(ctx, first)?, words);
    let own = matched(&words_of(ctx, copy)?, words);
    Ok((theirs & own).count_ones() as f32 / theirs.count_ones().max(1) as f32)
}

/// Returns all the text that would find a passage if nothing were left out: title, headings, text.
fn words_of(ctx: &QueryContext<'_>, chunk: &Chunk) -> Result<String, AskError> {
    let label = ctx.snapshot.documents().labels([chunk.doc])?.remove(&chunk.doc);
    let title = label.map(|it| it.title).unwrap_or_default();
    Ok(format!("{title}\n{}\n{}", chunk.section, ctx.snapshot.chunks().text(chunk)?))
}

/// Returns the passage that this one repeats; the passage itself if there is none, or it must not answer.
pub(crate) fn indexed_at(
    ctx: &QueryContext<'_>,
    within: &Within,
    chunk: Chunk,
) -> Result<Chunk, AskError> {
    let Some(first) = chunk.repeats else { return Ok(chunk) };
    let first = ctx.snapshot.chunks().get(first)?.filter(|it| within.lets_through(it));
    Ok(first.unwrap_or(chunk))
}

/// Returns the passages inside the filter that repeat one outside.
fn copies_within(
    ctx: &QueryContext<'_>,
    within: &Within,
    first: &Chunk,
) -> Result<Vec<Chunk>, AskError> {
    let is_meant = |doc| within.holds(doc);
    let mut copies = ctx.snapshot.chunks().repeating(first.id, MAX_STAND_INS, is_meant)?;
    copies.retain(|copy| within.lets_through(copy));
    Ok(copies)
}

/// Returns the other documents that contain a passage; `None` for most.
pub(crate) fn also_in(
    ctx: &QueryContext<'_>,
    plan: &Plan,
    chunk: &Chunk,
) -> Result<Option<AlsoIn>, AskError> {
    let chunks = ctx.snapshot.chunks();
    let is_other = |doc| doc != chunk.doc && plan.within.holds(doc);
    let first = match chunk.repeats {
        Some(first) => chunks.get(first)?.filter(|it| is_other(it.doc)),
        None => None,
    };
    let first_id = chunk.repeats.unwrap_or(chunk.id);
    let copies = chunks.repeating(first_id, MAX_PLACES, is_other)?;
    let is_cut = copies.len() >= MAX_PLACES && plan.within.docs.is_none();
    let mut others: Vec<Chunk> = first.into_iter().chain(copies).collect();
    // The passages of a document follow each other.
    others.dedup_by_key(|it| it.doc);
    let n_more = if is_cut { chunks.n_documents_repeating(first_id)? } else { 0 };
    let n = n_more.max(others.len() as u64);
    let documents = ctx.snapshot.documents();
    let mut places = Vec::new();
    for other in others.iter().take(MAX_ALSO_IN) {
        let Some((path, at)) = documents.path(other.doc)?.zip(documents.places(other.doc)?) else {
            continue;
        };
        let (line, page) = (at.lines.line_at(other.start), at.pages.page_at(other.start));
        places.push(PlaceView { path, line, page });
    }
    Ok((n > 0).then_some(AlsoIn { places, n }))
}
