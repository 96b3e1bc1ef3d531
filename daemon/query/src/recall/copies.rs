//! Copies: a text that several documents contain is indexed at one place, its home; this module
//! restores the other places.
//!
//! In: candidates. Out: the same candidates, except that a chunk some of whose words are indexed
//! elsewhere is scored as if they were indexed here, a chunk outside the filter is replaced by its
//! copies inside, and a chunk that adds nothing to the one it repeats is dropped, to be named as a
//! further source.
//! Invariant: the cost of each step is bounded by the number of candidates, however many places a
//! text has.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use index::read::{Chunk, Print};
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

/// Most places of one text that are considered.
const MAX_PLACES: usize = 64;

/// Most copies that replace one chunk outside the filter.
const MAX_STAND_INS: usize = 8;

/// Most chunks outside the filter that are searched because of their copies inside.
const MAX_HOMES: usize = 20_000;

/// A chunk, and the part of it that is indexed.
struct Part {
    chunk: Chunk,
    /// All the text that would find it if nothing were left out: title, headings, text.
    words: String,
    /// The words of it that are indexed elsewhere.
    left_out: String,
    /// Whether so little of it is indexed here that only its title and headings find it.
    is_remainder: bool,
}

/// Returns the homes, outside the filter, of texts that are repeated inside it.
pub(crate) fn homes(ctx: &QueryContext<'_>, plan: &Plan) -> Result<Vec<i64>, AskError> {
    if let Some(mentioning) = &plan.within.mentioning {
        return homes_beside(ctx, mentioning);
    }
    let Some(docs) = &plan.within.docs else { return Ok(Vec::new()) };
    let copies = ctx.snapshot.copies();
    let mut found = BTreeSet::new();
    for text in copies.of_docs(docs)? {
        let Some(home) = copies.home(text)?.filter(|it| !docs.contains(&it.0)) else { continue };
        found.extend(copies.chunks(text, home)?);
        if found.len() >= MAX_HOMES {
            break;
        }
    }
    Ok(found.into_iter().collect())
}

/// Returns the homes of texts that are repeated in some chunks.
fn homes_beside(ctx: &QueryContext<'_>, chunks: &FxHashSet<i64>) -> Result<Vec<i64>, AskError> {
    let mut found = BTreeSet::new();
    let sorted = chunks.iter().copied().collect::<BTreeSet<i64>>();
    for chunk in ctx.snapshot.chunks().partial(sorted)? {
        for print in ctx.snapshot.copies().prints(chunk.doc, chunk.start..chunk.end)? {
            let home = home(ctx, print.text)?.map(|(_, chunk)| chunk.id);
            found.extend(home.filter(|home| !chunks.contains(home)));
        }
        if found.len() >= MAX_HOMES {
            break;
        }
    }
    Ok(found.into_iter().collect())
}

/// Moves every score to a place that may answer: inside the filter, and completed if a part of a
/// chunk's words is indexed elsewhere.
pub(crate) fn bring_back(
    ctx: &QueryContext<'_>,
    plan: &Plan,
    candidates: Candidates,
    question: Option<&QuestionVectors>,
) -> Result<Candidates, AskError> {
    let mut candidates = match plan.within.docs {
        Some(_) => stage!("copies", stand_in(ctx, plan, candidates, question))?,
        None => candidates,
    };
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
    let chunks = ctx.snapshot.chunks().many(candidates.chunks())?;
    // Those that may answer stay; the others are replaced.
    let stays = |chunk: &i64| chunks.get(chunk).is_some_and(|it| plan.within.lets_through(it));
    let Candidates { text, vector, mut better } = candidates;
    let mut texts: BTreeMap<i64, f32> = BTreeMap::new();
    for (home, score) in text {
        if stays(&home) {
            texts.insert(home, score);
            continue;
        }
        let Some(indexed) = part(ctx, chunks.get(&home))? else { continue };
        for copy in stand_ins(ctx, &plan.within, &indexed.chunk)? {
            let Some(copy) = part(ctx, Some(&copy))? else { continue };
            let share = share(plan, &indexed, matched(&copy.words, &plan.question.words));
            let best = texts.entry(copy.chunk.id).or_insert(0.0);
            *best = best.max(score * share);
        }
    }
    let mut vectors: BTreeMap<i64, f32> = BTreeMap::new();
    for (home, cosine) in vector {
        if stays(&home) {
            vectors.insert(home, cosine);
            continue;
        }
        let (Some(indexed), Some(question)) = (chunks.get(&home), question) else { continue };
        let copies = stand_ins(ctx, &plan.within, indexed)?;
        let copies: Vec<i64> = copies.iter().map(|chunk| chunk.id).collect();
        for copy in nearness::of_chunks(ctx, &copies, question)? {
            vectors.insert(copy.chunk, copy.nearness);
            better.extend(Some(copy.chunk).filter(|_| copy.is_better));
        }
    }
    let text = texts.into_iter().filter(|(_, score)| *score > 0.0).collect();
    Ok(Candidates { text, vector: vectors.into_iter().collect(), better })
}

/// Adds, to chunks that were found by a part of their words, the score of the part that is indexed
/// elsewhere. Drops those that were found by no word beyond that part.
fn complete_texts(
    ctx: &QueryContext<'_>,
    plan: &Plan,
    text: &mut Vec<(i64, f32)>,
) -> Result<(), AskError> {
    let scores: FxHashMap<i64, f32> = text.iter().copied().collect();
    let mut dropped = BTreeSet::new();
    let partial = ctx.snapshot.chunks().partial(text.iter().map(|(chunk, _)| *chunk))?;
    let partial: FxHashMap<i64, Chunk> = partial.into_iter().map(|it| (it.id, it)).collect();
    for (chunk, score) in text.iter_mut() {
        let Some(copy) = part(ctx, partial.get(chunk))? else { continue };
        let words = &plan.question.words;
        let all = matched(&copy.words, words);
        for home in homes_of(ctx, &copy.chunk)? {
            let home_score = scores.get(&home.id).filter(|_| home.id != *chunk);
            let Some(home_score) = home_score else { continue };
            let Some(indexed) = part(ctx, Some(&home))? else { continue };
            let adds_nothing = all & !matched(&indexed.words, words) == 0;
            if copy.is_remainder && adds_nothing && plan.within.lets_through(&home) {
                dropped.insert(*chunk);
            }
            let own = all & !matched(&copy.left_out, words);
            *score += home_score * share(plan, &indexed, matched(&copy.left_out, words) & !own);
        }
    }
    text.retain(|(chunk, _)| !dropped.contains(chunk));
    Ok(())
}

/// Returns which share of the question's words in `indexed` is also among `words`.
fn share(plan: &Plan, indexed: &Part, words: u64) -> f32 {
    let theirs = matched(&indexed.words, &plan.question.words);
    (theirs & words).count_ones() as f32 / theirs.count_ones().max(1) as f32
}

/// Returns the home of a chunk none of which is indexed here; returns the chunk itself otherwise,
/// or if the home must not answer.
pub(crate) fn indexed_at(
    ctx: &QueryContext<'_>,
    within: &Within,
    chunk: Chunk,
) -> Result<Chunk, AskError> {
    if chunk.is_whole || !is_remainder(ctx, chunk.id)? {
        return Ok(chunk);
    }
    let mut homes = homes_of(ctx, &chunk)?.into_iter();
    Ok(homes.find(|it| it.id != chunk.id && within.lets_through(it)).unwrap_or(chunk))
}

/// Returns whether no window of a chunk is searched.
fn is_remainder(ctx: &QueryContext<'_>, chunk: i64) -> Result<bool, AskError> {
    Ok(ctx.snapshot.windows().of([chunk])?.iter().all(|window| window.aside.is_some()))
}

/// Reads which part of a chunk is indexed; `None` if it is gone.
fn part(ctx: &QueryContext<'_>, chunk: Option<&Chunk>) -> Result<Option<Part>, AskError> {
    let Some(chunk) = chunk.cloned() else { return Ok(None) };
    let label = ctx.snapshot.documents().labels([chunk.doc])?.remove(&chunk.doc);
    let Some(label) = label else { return Ok(None) };
    let text = ctx.snapshot.chunks().text(&chunk)?;
    let mut left_out = String::new();
    let copies = ctx.snapshot.copies();
    for print in copies.prints(chunk.doc, chunk.start..chunk.end)? {
        if !print.is_chunk && copies.home_of_root(print.text)? != Some((chunk.doc, print.start)) {
            let (start, end) = (print.start.max(chunk.start), print.end.min(chunk.end));
            left_out.push_str(text.get(start - chunk.start..end - chunk.start).unwrap_or(""));
            left_out.push('\n');
        }
    }
    let is_remainder = is_remainder(ctx, chunk.id)?;
    let words = format!("{}\n{}\n{text}", label.title, chunk.section);
    Ok(Some(Part { chunk, words, left_out, is_remainder }))
}

/// Returns where the root of a text is indexed: byte and chunk.
fn home(ctx: &QueryContext<'_>, text: i64) -> Result<Option<(usize, Chunk)>, AskError> {
    let Some((doc, start)) = ctx.snapshot.copies().home_of_root(text)? else { return Ok(None) };
    Ok(ctx.snapshot.chunks().at(doc, start)?.map(|chunk| (start, chunk)))
}

/// Returns the homes of the parts that are left out of a chunk, in the order of its text.
fn homes_of(ctx: &QueryContext<'_>, part: &Chunk) -> Result<Vec<Chunk>, AskError> {
    let (mut out, own) = (Vec::new(), part.start..part.end);
    for print in ctx.snapshot.copies().prints(part.doc, own.clone())? {
        let home = home(ctx, print.text)?;
        let home = home.filter(|(start, home)| home.doc != part.doc || !own.contains(start));
        out.extend(home.map(|(_, home)| home).filter(|home| !out.contains(home)));
    }
    Ok(out)
}

/// Returns the chunks inside the filter that repeat words of a chunk outside it.
fn stand_ins(
    ctx: &QueryContext<'_>,
    within: &Within,
    indexed: &Chunk,
) -> Result<Vec<Chunk>, AskError> {
    let mut out = Vec::new();
    let copies = ctx.snapshot.copies();
    for print in copies.prints(indexed.doc, indexed.start..indexed.end)? {
        for (doc, start) in copies.places(print.text, MAX_PLACES, |doc| within.holds(doc))? {
            if out.len() >= MAX_STAND_INS {
                return Ok(out);
            }
            let copy = ctx.snapshot.chunks().at(doc, start)?;
            out.extend(copy.filter(|it| within.lets_through(it) && !out.contains(it)));
        }
    }
    Ok(out)
}

/// Returns the other documents that contain what a hit shows; `None` for most hits. For a chunk of
/// several paragraphs, only those that match the question count.
pub(crate) fn also_in(
    ctx: &QueryContext<'_>,
    plan: &Plan,
    doc: i64,
    seen: Range<usize>,
    text: &str,
    shown: Range<usize>,
) -> Result<Option<AlsoIn>, AskError> {
    let mut first: BTreeMap<i64, (usize, usize)> = BTreeMap::new();
    let (mut n_most, mut n_seen) = (0_u64, 0);
    let mut texts = BTreeSet::new();
    let copies = ctx.snapshot.copies();
    let prints = copies.prints(doc, seen)?;
    for print in asked_for(plan, &prints, text, shown) {
        if !texts.insert(print.text) {
            continue;
        }
        let found = copies.places(print.text, MAX_PLACES, |doc| plan.within.holds(doc))?;
        if found.len() >= MAX_PLACES && plan.within.docs.is_none() {
            let n_documents = copies.n_documents(print.text)?;
            n_most = n_most.max(n_documents.saturating_sub(1));
        }
        for (other, start) in found.into_iter().filter(|(other, _)| *other != doc) {
            // The print of a whole chunk starts before those of its paragraphs.
            let place = first.entry(other).or_insert((n_seen, start));
            place.1 = place.1.min(start);
            n_seen += 1;
        }
    }
    let n = n_most.max(first.len() as u64);
    let mut others: Vec<(i64, (usize, usize))> = first.into_iter().collect();
    others.sort_by_key(|(_, (order, _))| *order);
    let mut places = Vec::new();
    for (other, (_, start)) in others.into_iter().take(MAX_ALSO_IN) {
        let documents = ctx.snapshot.documents();
        let Some((path, at)) = documents.path(other)?.zip(documents.places(other)?) else {
            continue;
        };
        let (line, page) = (at.lines.line_at(start), at.pages.page_at(start));
        places.push(PlaceView { path, line, page });
    }
    Ok((n > 0).then_some(AlsoIn { places, n }))
}

/// Returns the print of the whole chunk, and those of the shown paragraphs that contain most of the
/// matched words, or else most of the shown text.
fn asked_for<'a>(
    plan: &Plan,
    prints: &'a [Print],
    text: &str,
    shown: Range<usize>,
) -> Vec<&'a Print> {
    let overlap =
        |it: &Print| text.get(it.start.max(shown.start)..it.end.min(shown.end)).unwrap_or("");
    let n_words = |text: &str| matched(text, &plan.question.words).count_ones();
    let n_shown = n_words(text.get(shown.clone()).unwrap_or(""));
    let is_asked_for = |it: &&Print| match (overlap(it), n_shown) {
        ("", _) => false,
        (part, 0) => part.len() * 2 > shown.len(),
        (part, n_shown) => n_words(part) * 2 > n_shown,
    };
    prints.iter().filter(|it| it.is_chunk || is_asked_for(it)).collect()
}
