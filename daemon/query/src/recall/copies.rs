//! Copies: a text that several documents contain is indexed at one place, its home; this module
//! restores the other places.
//!
//! In: candidates. Out: the same candidates, except that a chunk some of whose words are indexed
//! elsewhere is scored as if they were indexed here, a chunk outside the filter is replaced by its
//! copies inside, and a chunk that adds nothing to the one it repeats is dropped, to be named as a
//! further source.
//! Invariant: the cost of each step is bounded by the number of candidates, however many places a
//! text has.
//! Not here: which place is indexed (`store/duplicates/`).

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use proto::shape::{AlsoIn, PlaceView};
use rusqlite::{OptionalExtension, Row, params};
use rustc_hash::{FxHashMap, FxHashSet};

use super::Candidates;
use super::nearness::{self, QuestionVectors};
use crate::plan::Plan;
use crate::plan::within::{self, Within};
use crate::quote::matched::matched;
use crate::{AskError, QueryContext};
use index::store::lines::{LineMap, PageMap};

/// Most further sources named with a hit.
const MAX_ALSO_IN: usize = 3;

/// Most places of one text that are considered.
const MAX_PLACES: i64 = 64;

/// Most copies that replace one chunk outside the filter.
const MAX_STAND_INS: usize = 8;

/// Most chunks outside the filter that are searched because of their copies inside.
const MAX_HOMES: usize = 20_000;

/// A chunk, and the part of it that is indexed.
struct Part {
    id: i64,
    doc: i64,
    span: (i64, i64),
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
    let mut place = ctx.snapshot.prepare_cached(
        "SELECT k.id FROM prints p JOIN chunks k ON k.doc_id = p.doc_id AND k.start < p.end AND k.end > p.start
         WHERE p.doc_id = ?1 AND p.start = ?2 AND p.text = ?3",
    )?;
    let mut found = BTreeSet::new();
    for text in repeated_within(ctx, docs)? {
        let Some((doc, start)) = first_place(ctx, text)?.filter(|it| !docs.contains(&it.0)) else {
            continue;
        };
        let mut rows = place.query([doc, start, text])?;
        while let Some(row) = rows.next()? {
            found.insert(row.get(0)?);
        }
        if found.len() >= MAX_HOMES {
            break;
        }
    }
    Ok(found.into_iter().collect())
}

/// Returns the homes of texts that are repeated in some chunks.
fn homes_beside(ctx: &QueryContext<'_>, chunks: &FxHashSet<i64>) -> Result<Vec<i64>, AskError> {
    let mut partial = ctx.snapshot.prepare_cached(
        "SELECT doc_id, start, end FROM chunks WHERE id = ?1 AND own IS NOT NULL",
    )?;
    let mut found = BTreeSet::new();
    for chunk in chunks.iter().copied().collect::<BTreeSet<i64>>() {
        let place = partial.query_row([chunk], |row| Ok((row.get(0)?, (row.get(1)?, row.get(2)?))));
        let Some((doc, span)) = place.optional()? else { continue };
        for print in prints(ctx, doc, span)? {
            let Some((doc, start)) = home(ctx, print.text)? else { continue };
            found.extend(chunk_at(ctx, doc, start)?.filter(|home| !chunks.contains(home)));
        }
        if found.len() >= MAX_HOMES {
            break;
        }
    }
    Ok(found.into_iter().collect())
}

/// Returns the texts that some documents share with others, as they are indexed.
fn repeated_within(
    ctx: &QueryContext<'_>,
    docs: &FxHashSet<i64>,
) -> Result<BTreeSet<i64>, AskError> {
    let copied = "SELECT text FROM copies WHERE doc_id = ?1";
    let alike = "SELECT a.root FROM prints p JOIN alike a ON a.text = p.text WHERE p.doc_id = ?1";
    let all_copied = "SELECT doc_id, text FROM copies";
    let all_alike = "SELECT p.doc_id, a.root FROM alike a JOIN prints p ON p.text = a.text";
    let mut texts = within::rows_of(ctx, docs, copied, all_copied)?;
    texts.extend(within::rows_of(ctx, docs, alike, all_alike)?);
    Ok(texts.into_iter().collect())
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
    let Candidates { text, vector, mut better } = candidates;
    let mut texts: BTreeMap<i64, f32> = BTreeMap::new();
    for (home, score) in text {
        if plan.within.lets_through(ctx, home)? {
            texts.insert(home, score);
            continue;
        }
        let Some(indexed) = part(ctx, home)? else { continue };
        for copy in stand_ins(ctx, &plan.within, &indexed)? {
            let Some(copy) = part(ctx, copy)? else { continue };
            let share = share(plan, &indexed, matched(&copy.words, &plan.question.words));
            let best = texts.entry(copy.id).or_insert(0.0);
            *best = best.max(score * share);
        }
    }
    let mut vectors: BTreeMap<i64, f32> = BTreeMap::new();
    for (home, cosine) in vector {
        if plan.within.lets_through(ctx, home)? {
            vectors.insert(home, cosine);
            continue;
        }
        let (Some(indexed), Some(question)) = (part(ctx, home)?, question) else { continue };
        let copies = stand_ins(ctx, &plan.within, &indexed)?;
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
    for (chunk, score) in text.iter_mut() {
        if !is_partial(ctx, *chunk)? {
            continue;
        }
        let Some(copy) = part(ctx, *chunk)? else { continue };
        let words = &plan.question.words;
        let all = matched(&copy.words, words);
        for home in homes_of(ctx, &copy)? {
            let Some(home_score) = scores.get(&home).filter(|_| home != *chunk) else { continue };
            let Some(indexed) = part(ctx, home)? else { continue };
            let adds_nothing = all & !matched(&indexed.words, words) == 0;
            if copy.is_remainder && adds_nothing && plan.within.lets_through(ctx, home)? {
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
    chunk: i64,
) -> Result<i64, AskError> {
    if !is_partial(ctx, chunk)? {
        return Ok(chunk);
    }
    let Some(copy) = part(ctx, chunk)?.filter(|copy| copy.is_remainder) else { return Ok(chunk) };
    for home in homes_of(ctx, &copy)? {
        if home != chunk && within.lets_through(ctx, home)? {
            return Ok(home);
        }
    }
    Ok(chunk)
}

/// Returns whether the chunk that starts there is indexed once, however many documents contain it.
pub(crate) fn is_held_once(
    ctx: &QueryContext<'_>,
    doc: i64,
    start: usize,
) -> Result<bool, AskError> {
    let sql = "SELECT 1 FROM prints WHERE doc_id = ?1 AND kind = 2 AND start = ?2";
    Ok(ctx.snapshot.prepare_cached(sql)?.exists([doc, start as i64])?)
}

fn is_partial(ctx: &QueryContext<'_>, chunk: i64) -> Result<bool, AskError> {
    let mut statement =
        ctx.snapshot.prepare_cached("SELECT 1 FROM chunks WHERE id = ?1 AND own IS NOT NULL")?;
    Ok(statement.exists([chunk])?)
}

fn part(ctx: &QueryContext<'_>, id: i64) -> Result<Option<Part>, AskError> {
    type PartRow = (i64, (i64, i64), String, String, bool);
    let row: Option<PartRow> = ctx
        .snapshot
        .prepare_cached(
            "SELECT c.doc_id, c.start, c.end, d.title || char(10) || c.section || char(10), d.text,
               NOT EXISTS (SELECT 1 FROM chunk_vec_map m WHERE m.chunk_id = c.id AND m.aside IS NULL)
             FROM chunks c JOIN docs d ON d.id = c.doc_id WHERE c.id = ?1",
        )?
        .query_row([id], |row| {
            Ok((row.get(0)?, (row.get(1)?, row.get(2)?), row.get(3)?, row.get(4)?, row.get(5)?))
        })
        .optional()?;
    let Some((doc, span, mut words, text, is_remainder)) = row else { return Ok(None) };
    let between = |start: i64, end: i64| text.get(start as usize..end as usize).unwrap_or("");
    words.push_str(between(span.0, span.1));
    let mut left_out = String::new();
    for print in prints(ctx, doc, span)? {
        if !print.is_chunk && home(ctx, print.text)? != Some((doc, print.span.0)) {
            left_out.push_str(between(print.span.0.max(span.0), print.span.1.min(span.1)));
            left_out.push('\n');
        }
    }
    Ok(Some(Part { id, doc, span, words, left_out, is_remainder }))
}

/// A print (the fingerprint of a repeated text) within a chunk.
struct Print {
    text: i64,
    span: (i64, i64),
    is_chunk: bool,
}

/// Returns the prints of a chunk and of the paragraphs in it. Paragraphs are sorted and never
/// overlap, so the last one that starts before the chunk is the first that may extend into it.
fn prints(ctx: &QueryContext<'_>, doc: i64, span: (i64, i64)) -> Result<Vec<Print>, AskError> {
    let mut statement = ctx.snapshot.prepare_cached(
        "SELECT text, start, end, 0 FROM prints WHERE doc_id = ?1 AND kind = 1 AND start < ?3 AND end > ?2
           AND start >= (SELECT coalesce(max(start), 0) FROM prints WHERE doc_id = ?1 AND kind = 1 AND start <= ?2)
         UNION ALL SELECT text, start, end, 1 FROM prints WHERE doc_id = ?1 AND kind = 2 AND start = ?2",
    )?;
    let read = |row: &Row<'_>| {
        Ok(Print { text: row.get(0)?, span: (row.get(1)?, row.get(2)?), is_chunk: row.get(3)? })
    };
    let rows = statement.query_map([doc, span.0, span.1], read)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Returns the text that is indexed in place of this one: its root, or itself.
fn root_of(ctx: &QueryContext<'_>, text: i64) -> Result<i64, AskError> {
    let root: Option<i64> = ctx
        .snapshot
        .prepare_cached("SELECT root FROM alike WHERE text = ?1")?
        .query_row([text], |row| row.get(0))
        .optional()?;
    Ok(root.unwrap_or(text))
}

/// Returns where the root of a text is indexed.
fn home(ctx: &QueryContext<'_>, text: i64) -> Result<Option<(i64, i64)>, AskError> {
    first_place(ctx, root_of(ctx, text)?)
}

/// Returns where a text is indexed: document and byte.
fn first_place(ctx: &QueryContext<'_>, text: i64) -> Result<Option<(i64, i64)>, AskError> {
    for sql in [
        "SELECT doc_id, start FROM copies WHERE text = ?1 ORDER BY rank, start LIMIT 1",
        "SELECT doc_id, start FROM prints WHERE text = ?1 LIMIT 1",
    ] {
        let place = ctx
            .snapshot
            .prepare_cached(sql)?
            .query_row([text], |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()?;
        if place.is_some() {
            return Ok(place);
        }
    }
    Ok(None)
}

/// Returns the homes of the parts that are left out of a chunk, in the order of its text.
fn homes_of(ctx: &QueryContext<'_>, copy: &Part) -> Result<Vec<i64>, AskError> {
    let mut out = Vec::new();
    for print in prints(ctx, copy.doc, copy.span)? {
        let Some((doc, start)) = home(ctx, print.text)? else { continue };
        let own = doc == copy.doc && (copy.span.0..copy.span.1).contains(&start);
        if let Some(chunk) = chunk_at(ctx, doc, start)?.filter(|chunk| !own && !out.contains(chunk))
        {
            out.push(chunk);
        }
    }
    Ok(out)
}

fn chunk_at(ctx: &QueryContext<'_>, doc: i64, at: i64) -> Result<Option<i64>, AskError> {
    Ok(ctx
        .snapshot
        .prepare_cached(
            "SELECT id FROM chunks WHERE doc_id = ?1 AND start <= ?2 AND end > ?2 ORDER BY idx LIMIT 1",
        )?
        .query_row([doc, at], |row| row.get(0))
        .optional()?)
}

/// A place of a text: path, byte, document.
type TextPlace = (String, i64, i64);

/// Returns the places of a text and of those with the same root, in documents that may answer;
/// identical texts first.
fn places(ctx: &QueryContext<'_>, within: &Within, text: i64) -> Result<Vec<TextPlace>, AskError> {
    let root = root_of(ctx, text)?;
    let mut texts = vec![root];
    let mut statement = ctx
        .snapshot
        .prepare_cached("SELECT text FROM alike WHERE root = ?1 ORDER BY text LIMIT ?2")?;
    for other in statement.query_map(params![root, MAX_PLACES], |row| row.get(0))? {
        texts.push(other?);
    }
    let mut path = ctx.snapshot.prepare_cached("SELECT path FROM docs WHERE id = ?1")?;
    let mut listed = ctx
        .snapshot
        .prepare_cached("SELECT doc_id, start FROM copies WHERE text = ?1 ORDER BY rank, start")?;
    let mut single =
        ctx.snapshot.prepare_cached("SELECT doc_id, start FROM prints WHERE text = ?1")?;
    let mut out: Vec<TextPlace> = Vec::new();
    for text in &texts {
        let n_before = out.len();
        for (statement, most) in [(&mut listed, MAX_PLACES as usize), (&mut single, 1)] {
            let mut rows = statement.query([text])?;
            while let Some(row) = rows.next()?.filter(|_| out.len() < n_before + most) {
                let doc: i64 = row.get(0)?;
                if within.docs.as_ref().is_none_or(|docs| docs.contains(&doc)) {
                    out.push((path.query_row([doc], |row| row.get(0))?, row.get(1)?, doc));
                }
            }
            if out.len() > n_before {
                break;
            }
        }
        if out.len() >= MAX_PLACES as usize {
            break;
        }
    }
    Ok(out)
}

/// Returns the chunks inside the filter that repeat words of a chunk outside it.
fn stand_ins(
    ctx: &QueryContext<'_>,
    within: &Within,
    indexed: &Part,
) -> Result<Vec<i64>, AskError> {
    let mut out = Vec::new();
    let is_meant = |chunk: &i64| within.mentioning.as_ref().is_none_or(|it| it.contains(chunk));
    for print in prints(ctx, indexed.doc, indexed.span)? {
        for (_, start, doc) in places(ctx, within, print.text)? {
            if out.len() >= MAX_STAND_INS {
                return Ok(out);
            }
            let copy = chunk_at(ctx, doc, start)?.filter(is_meant);
            out.extend(copy.filter(|chunk| !out.contains(chunk)));
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
    span: (i64, i64),
    text: &str,
    shown: Range<usize>,
) -> Result<Option<AlsoIn>, AskError> {
    let mut first: BTreeMap<i64, (usize, String, i64)> = BTreeMap::new();
    let (mut n_most, mut n_seen) = (0_u64, 0);
    let mut texts = BTreeSet::new();
    for print in asked_for(plan, &prints(ctx, doc, span)?, text, shown) {
        if !texts.insert(print.text) {
            continue;
        }
        let found = places(ctx, &plan.within, print.text)?;
        if found.len() >= MAX_PLACES as usize && plan.within.docs.is_none() {
            n_most = n_most.max(count_documents(ctx, print.text)?.saturating_sub(1));
        }
        for (path, start, other) in found.into_iter().filter(|(_, _, other)| *other != doc) {
            // The print of a whole chunk starts before those of its paragraphs.
            let place = first.entry(other).or_insert((n_seen, path, start));
            place.2 = place.2.min(start);
            n_seen += 1;
        }
    }
    let n = n_most.max(first.len() as u64);
    let mut others: Vec<(i64, (usize, String, i64))> = first.into_iter().collect();
    others.sort_by_key(|(_, (order, ..))| *order);
    let mut places = Vec::new();
    for (other, (_, path, start)) in others.into_iter().take(MAX_ALSO_IN) {
        let (lines, pages): (Vec<u8>, Option<Vec<u8>>) = ctx
            .snapshot
            .prepare_cached("SELECT lines, pages FROM docs WHERE id = ?1")?
            .query_row([other], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let line = LineMap::decode(&lines).line_at(start as usize);
        let page = PageMap::decode(pages.as_deref()).page_at(start as usize);
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
    let overlap = |it: &Print| {
        let (start, end) = (it.span.0 as usize, it.span.1 as usize);
        text.get(start.max(shown.start)..end.min(shown.end)).unwrap_or("")
    };
    let n_words = |text: &str| matched(text, &plan.question.words).count_ones();
    let n_shown = n_words(text.get(shown.clone()).unwrap_or(""));
    let is_asked_for = |it: &&Print| match (overlap(it), n_shown) {
        ("", _) => false,
        (part, 0) => part.len() * 2 > shown.len(),
        (part, n_shown) => n_words(part) * 2 > n_shown,
    };
    prints.iter().filter(|it| it.is_chunk || is_asked_for(it)).collect()
}

fn count_documents(ctx: &QueryContext<'_>, text: i64) -> Result<u64, AskError> {
    let n: i64 = ctx
        .snapshot
        .prepare_cached("SELECT count(DISTINCT doc_id) FROM copies WHERE text = ?1")?
        .query_row([text], |row| row.get(0))?;
    Ok(n as u64)
}
