//! Copies: a text that stands in several places is indexed at one of them; here the others come back.
//!
//! In: what was recalled. Out: the same, in which a chunk whose words are partly indexed elsewhere counts as if they
//! were
//! indexed here, a chunk outside the filter is replaced by its copies inside, and a chunk that adds nothing to the one
//! that tells it is left to be named as a further source.
//! Invariant: each step is bounded by the number of candidates, however many places a text has.
//! Not here: which place is indexed (`store/duplicates/`).

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use proto::shape::{AlsoIn, PlaceView};
use rusqlite::{OptionalExtension, Row, params};
use rustc_hash::{FxHashMap, FxHashSet};

use super::plan::Plan;
use super::recall::Recalled;
use super::snippet::matched;
use super::{AskError, Desk, nearness, within};
use index::store::lines::{LineMap, PageMap};

/// Further sources told with a hit.
const MAX_TOLD: usize = 3;

/// Places of one text that are looked at.
const MAX_PLACES: i64 = 64;

/// Copies that may stand in for one chunk outside the filter.
const MAX_STAND_INS: usize = 8;

/// Chunks outside the filter that are searched for the sake of their copies inside.
const MAX_HOMES: usize = 20_000;

/// A chunk, as far as copies need it.
struct Part {
    id: i64,
    doc: i64,
    span: (i64, i64),
    /// All it is found by when it stands alone: title, headings, text.
    words: String,
    /// The words of it that are indexed elsewhere.
    left_out: String,
    /// True when so little of it is indexed here that it is only found by its title and headings.
    is_remainder: bool,
}

/// The chunks outside the filter that tell what stands inside it.
pub(super) fn homes(desk: &Desk<'_>, plan: &Plan) -> Result<Vec<i64>, AskError> {
    if let Some(mentioning) = plan.mentioning(desk)? {
        return homes_beside(desk, &mentioning);
    }
    let Some(docs) = plan.docs(desk)? else { return Ok(Vec::new()) };
    let mut place = desk.snapshot.prepare_cached(
        "SELECT k.id FROM prints p JOIN chunks k ON k.doc_id = p.doc_id AND k.start < p.end AND k.end > p.start
         WHERE p.doc_id = ?1 AND p.start = ?2 AND p.text = ?3",
    )?;
    let mut found = BTreeSet::new();
    for text in told_within(desk, &docs)? {
        let Some((doc, start)) = first_place(desk, text)?.filter(|it| !docs.contains(&it.0)) else {
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

/// The chunks that tell what stands in some others and is not indexed there.
fn homes_beside(desk: &Desk<'_>, chunks: &FxHashSet<i64>) -> Result<Vec<i64>, AskError> {
    let mut partial = desk.snapshot.prepare_cached(
        "SELECT doc_id, start, end FROM chunks WHERE id = ?1 AND own IS NOT NULL",
    )?;
    let mut found = BTreeSet::new();
    for chunk in chunks.iter().copied().collect::<BTreeSet<i64>>() {
        let place = partial.query_row([chunk], |row| Ok((row.get(0)?, (row.get(1)?, row.get(2)?))));
        let Some((doc, span)) = place.optional()? else { continue };
        for print in prints(desk, doc, span)? {
            let Some((doc, start)) = home(desk, print.text)? else { continue };
            found.extend(chunk_at(desk, doc, start)?.filter(|home| !chunks.contains(home)));
        }
        if found.len() >= MAX_HOMES {
            break;
        }
    }
    Ok(found.into_iter().collect())
}

/// The texts that tell what stands in some documents and elsewhere.
fn told_within(desk: &Desk<'_>, docs: &FxHashSet<i64>) -> Result<BTreeSet<i64>, AskError> {
    let copied = "SELECT text FROM copies WHERE doc_id = ?1";
    let alike = "SELECT a.root FROM prints p JOIN alike a ON a.text = p.text WHERE p.doc_id = ?1";
    let all_copied = "SELECT doc_id, text FROM copies";
    let all_alike = "SELECT p.doc_id, a.root FROM alike a JOIN prints p ON p.text = a.text";
    let mut texts = within::rows_of(desk, docs, (copied, all_copied))?;
    texts.extend(within::rows_of(desk, docs, (alike, all_alike))?);
    Ok(texts.into_iter().collect())
}

/// Brings what was recalled in line with where the words stand.
pub(super) fn bring_back(
    desk: &Desk<'_>,
    plan: &Plan,
    recalled: &mut Recalled,
) -> Result<(), AskError> {
    stage!("copies", stand_in(desk, plan, recalled))?;
    stage!("copies", complete_texts(desk, plan, recalled))?;
    recalled.text.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    recalled.vector.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    Ok(())
}

/// Replaces candidates outside the filter by their copies inside.
fn stand_in(desk: &Desk<'_>, plan: &Plan, recalled: &mut Recalled) -> Result<(), AskError> {
    if plan.docs(desk)?.is_none() {
        return Ok(());
    }
    let mut texts: BTreeMap<i64, f32> = BTreeMap::new();
    for (home, score) in std::mem::take(&mut recalled.text) {
        if passes(desk, plan, home)? {
            texts.insert(home, score);
            continue;
        }
        let Some(told) = part(desk, home)? else { continue };
        for copy in stand_ins(desk, plan, &told)? {
            let Some(copy) = part(desk, copy)? else { continue };
            let share = share(plan, &told, matched(&copy.words, &plan.question.words));
            let best = texts.entry(copy.id).or_insert(0.0);
            *best = best.max(score * share);
        }
    }
    recalled.text = texts.into_iter().filter(|(_, score)| *score > 0.0).collect();
    let mut vectors: BTreeMap<i64, f32> = BTreeMap::new();
    for (home, cosine) in std::mem::take(&mut recalled.vector) {
        if passes(desk, plan, home)? {
            vectors.insert(home, cosine);
            continue;
        }
        let (Some(told), Some(question)) = (part(desk, home)?, recalled.question.as_ref()) else {
            continue;
        };
        let copies = stand_ins(desk, plan, &told)?;
        for copy in nearness::of_chunks(desk, &copies, question)? {
            vectors.insert(copy.chunk, copy.nearness);
            recalled.windows.insert(copy.chunk, copy.window);
            if copy.is_better {
                recalled.better.insert(copy.chunk);
            }
        }
    }
    recalled.vector = vectors.into_iter().collect();
    Ok(())
}

/// Gives chunks that were found by a part of their words the score of the part that is indexed elsewhere; drops those
/// that
/// were found by no word that the other does not have.
fn complete_texts(desk: &Desk<'_>, plan: &Plan, recalled: &mut Recalled) -> Result<(), AskError> {
    let scores: FxHashMap<i64, f32> = recalled.text.iter().copied().collect();
    let mut dropped = BTreeSet::new();
    for (chunk, score) in &mut recalled.text {
        if !is_partial(desk, *chunk)? {
            continue;
        }
        let Some(copy) = part(desk, *chunk)? else { continue };
        let words = &plan.question.words;
        let all = matched(&copy.words, words);
        for home in homes_of(desk, &copy)? {
            let Some(home_score) = scores.get(&home).filter(|_| home != *chunk) else { continue };
            let Some(told) = part(desk, home)? else { continue };
            let adds_nothing = all & !matched(&told.words, words) == 0;
            if copy.is_remainder && adds_nothing && passes(desk, plan, home)? {
                dropped.insert(*chunk);
            }
            let own = all & !matched(&copy.left_out, words);
            *score += home_score * share(plan, &told, matched(&copy.left_out, words) & !own);
        }
    }
    recalled.text.retain(|(chunk, _)| !dropped.contains(chunk));
    Ok(())
}

/// How many of the question's words that the one has are among `words`.
fn share(plan: &Plan, told: &Part, words: u64) -> f32 {
    let theirs = matched(&told.words, &plan.question.words);
    (theirs & words).count_ones() as f32 / theirs.count_ones().max(1) as f32
}

/// The chunk that tells what one stands for of which nothing is indexed; itself otherwise, and where that one must not
/// answer.
pub(super) fn told_by(desk: &Desk<'_>, plan: &Plan, chunk: i64) -> Result<i64, AskError> {
    if !is_partial(desk, chunk)? {
        return Ok(chunk);
    }
    let Some(copy) = part(desk, chunk)?.filter(|copy| copy.is_remainder) else { return Ok(chunk) };
    for home in homes_of(desk, &copy)? {
        if home != chunk && passes(desk, plan, home)? {
            return Ok(home);
        }
    }
    Ok(chunk)
}

/// True when the chunk that begins there is held once however many documents have it.
pub(super) fn is_held_once(desk: &Desk<'_>, doc: i64, start: usize) -> Result<bool, AskError> {
    let sql = "SELECT 1 FROM prints WHERE doc_id = ?1 AND kind = 2 AND start = ?2";
    Ok(desk.snapshot.prepare_cached(sql)?.exists([doc, start as i64])?)
}

fn is_partial(desk: &Desk<'_>, chunk: i64) -> Result<bool, AskError> {
    let mut statement =
        desk.snapshot.prepare_cached("SELECT 1 FROM chunks WHERE id = ?1 AND own IS NOT NULL")?;
    Ok(statement.exists([chunk])?)
}

/// True when a chunk may answer.
pub(super) fn passes(desk: &Desk<'_>, plan: &Plan, chunk: i64) -> Result<bool, AskError> {
    if let Some(mentioning) = plan.mentioning(desk)? {
        return Ok(mentioning.contains(&chunk));
    }
    let Some(docs) = plan.docs(desk)? else { return Ok(true) };
    let mut statement = desk.snapshot.prepare_cached("SELECT doc_id FROM chunks WHERE id = ?1")?;
    let doc: Option<i64> = statement.query_row([chunk], |row| row.get(0)).optional()?;
    Ok(doc.is_some_and(|doc| docs.contains(&doc)))
}

fn part(desk: &Desk<'_>, id: i64) -> Result<Option<Part>, AskError> {
    type Found = (i64, (i64, i64), String, String, bool);
    let row: Option<Found> = desk
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
    for print in prints(desk, doc, span)? {
        if !print.is_chunk && home(desk, print.text)? != Some((doc, print.span.0)) {
            left_out.push_str(between(print.span.0.max(span.0), print.span.1.min(span.1)));
            left_out.push('\n');
        }
    }
    Ok(Some(Part { id, doc, span, words, left_out, is_remainder }))
}

/// A print that lies in a chunk.
struct Found {
    text: i64,
    span: (i64, i64),
    is_chunk: bool,
}

/// The prints of a chunk and of the paragraphs in it. Paragraphs are in order and never overlap, so that the last one
/// to
/// begin before the chunk is the first that may reach into it.
fn prints(desk: &Desk<'_>, doc: i64, (start, end): (i64, i64)) -> Result<Vec<Found>, AskError> {
    let mut statement = desk.snapshot.prepare_cached(
        "SELECT text, start, end, 0 FROM prints WHERE doc_id = ?1 AND kind = 1 AND start < ?3 AND end > ?2
           AND start >= (SELECT coalesce(max(start), 0) FROM prints WHERE doc_id = ?1 AND kind = 1 AND start <= ?2)
         UNION ALL SELECT text, start, end, 1 FROM prints WHERE doc_id = ?1 AND kind = 2 AND start = ?2",
    )?;
    let read = |row: &Row<'_>| {
        Ok(Found { text: row.get(0)?, span: (row.get(1)?, row.get(2)?), is_chunk: row.get(3)? })
    };
    let rows = statement.query_map([doc, start, end], read)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// The text that tells this one: its root, or itself.
fn teller(desk: &Desk<'_>, text: i64) -> Result<i64, AskError> {
    let root: Option<i64> = desk
        .snapshot
        .prepare_cached("SELECT root FROM alike WHERE text = ?1")?
        .query_row([text], |row| row.get(0))
        .optional()?;
    Ok(root.unwrap_or(text))
}

/// Where what tells a text is indexed.
fn home(desk: &Desk<'_>, text: i64) -> Result<Option<(i64, i64)>, AskError> {
    first_place(desk, teller(desk, text)?)
}

/// Where a text is indexed: document and byte.
fn first_place(desk: &Desk<'_>, text: i64) -> Result<Option<(i64, i64)>, AskError> {
    for sql in [
        "SELECT doc_id, start FROM copies WHERE text = ?1 ORDER BY rank, start LIMIT 1",
        "SELECT doc_id, start FROM prints WHERE text = ?1 LIMIT 1",
    ] {
        let place = desk
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

/// The chunks that tell what is left out of one, in the order of what they tell.
fn homes_of(desk: &Desk<'_>, copy: &Part) -> Result<Vec<i64>, AskError> {
    let mut out = Vec::new();
    for print in prints(desk, copy.doc, copy.span)? {
        let Some((doc, start)) = home(desk, print.text)? else { continue };
        let own = doc == copy.doc && (copy.span.0..copy.span.1).contains(&start);
        if let Some(chunk) =
            chunk_at(desk, doc, start)?.filter(|chunk| !own && !out.contains(chunk))
        {
            out.push(chunk);
        }
    }
    Ok(out)
}

fn chunk_at(desk: &Desk<'_>, doc: i64, at: i64) -> Result<Option<i64>, AskError> {
    Ok(desk
        .snapshot
        .prepare_cached(
            "SELECT id FROM chunks WHERE doc_id = ?1 AND start <= ?2 AND end > ?2 ORDER BY idx LIMIT 1",
        )?
        .query_row([doc, at], |row| row.get(0))
        .optional()?)
}

/// A place of a text: path, byte, document.
type Place = (String, i64, i64);

/// The places of a text and of those that are told with it, in documents that may answer; equal ones first.
fn places(desk: &Desk<'_>, plan: &Plan, text: i64) -> Result<Vec<Place>, AskError> {
    let teller = teller(desk, text)?;
    let mut texts = vec![teller];
    let mut statement = desk
        .snapshot
        .prepare_cached("SELECT text FROM alike WHERE root = ?1 ORDER BY text LIMIT ?2")?;
    for other in statement.query_map(params![teller, MAX_PLACES], |row| row.get(0))? {
        texts.push(other?);
    }
    let docs = plan.docs(desk)?;
    let mut path = desk.snapshot.prepare_cached("SELECT path FROM docs WHERE id = ?1")?;
    let mut listed = desk
        .snapshot
        .prepare_cached("SELECT doc_id, start FROM copies WHERE text = ?1 ORDER BY rank, start")?;
    let mut single =
        desk.snapshot.prepare_cached("SELECT doc_id, start FROM prints WHERE text = ?1")?;
    let mut out: Vec<Place> = Vec::new();
    for text in &texts {
        let n_before = out.len();
        for (statement, most) in [(&mut listed, MAX_PLACES as usize), (&mut single, 1)] {
            let mut rows = statement.query([text])?;
            while let Some(row) = rows.next()?.filter(|_| out.len() < n_before + most) {
                let doc: i64 = row.get(0)?;
                if docs.as_ref().is_none_or(|docs| docs.contains(&doc)) {
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

/// The chunks inside the filter where words of a chunk outside it stand.
fn stand_ins(desk: &Desk<'_>, plan: &Plan, told: &Part) -> Result<Vec<i64>, AskError> {
    let mut out = Vec::new();
    let mentioning = plan.mentioning(desk)?;
    let is_meant = |chunk: &i64| mentioning.as_ref().is_none_or(|it| it.contains(chunk));
    for print in prints(desk, told.doc, told.span)? {
        for (_, start, doc) in places(desk, plan, print.text)? {
            if out.len() >= MAX_STAND_INS {
                return Ok(out);
            }
            let copy = chunk_at(desk, doc, start)?.filter(is_meant);
            out.extend(copy.filter(|chunk| !out.contains(chunk)));
        }
    }
    Ok(out)
}

/// The other documents where what a hit shows stands; none for most. A chunk may hold several paragraphs: only what
/// was asked for is told.
pub(super) fn also_in(
    desk: &Desk<'_>,
    plan: &Plan,
    (doc, span): (i64, (i64, i64)),
    (text, shown): (&str, Range<usize>),
) -> Result<Option<AlsoIn>, AskError> {
    let mut first: BTreeMap<i64, (usize, String, i64)> = BTreeMap::new();
    let (mut n_most, mut n_seen) = (0_u64, 0);
    let mut texts = BTreeSet::new();
    let (docs, prints) = (plan.docs(desk)?, prints(desk, doc, span)?);
    for print in asked_for(plan, &prints, (text, shown)) {
        if !texts.insert(print.text) {
            continue;
        }
        let found = places(desk, plan, print.text)?;
        if found.len() >= MAX_PLACES as usize && docs.is_none() {
            n_most = n_most.max(count_documents(desk, print.text)?.saturating_sub(1));
        }
        for (path, start, other) in found.into_iter().filter(|(_, _, other)| *other != doc) {
            // A whole chunk begins before the paragraphs in it.
            let place = first.entry(other).or_insert((n_seen, path, start));
            place.2 = place.2.min(start);
            n_seen += 1;
        }
    }
    let n = n_most.max(first.len() as u64);
    let mut told: Vec<(i64, (usize, String, i64))> = first.into_iter().collect();
    told.sort_by_key(|(_, (order, ..))| *order);
    let mut places = Vec::new();
    for (other, (_, path, start)) in told.into_iter().take(MAX_TOLD) {
        let (lines, pages): (Vec<u8>, Option<Vec<u8>>) = desk
            .snapshot
            .prepare_cached("SELECT lines, pages FROM docs WHERE id = ?1")?
            .query_row([other], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let line = LineMap::decode(&lines).line_at(start as usize);
        let page = PageMap::decode(pages.as_deref()).page_at(start as usize);
        places.push(PlaceView { path, line, page });
    }
    Ok((n > 0).then_some(AlsoIn { places, n }))
}

/// The chunk as a whole, and those paragraphs shown that hold most of the words that were found, or else most of what
/// is shown.
fn asked_for<'a>(
    plan: &Plan,
    prints: &'a [Found],
    (text, shown): (&str, Range<usize>),
) -> Vec<&'a Found> {
    let overlap = |it: &Found| {
        let (start, end) = (it.span.0 as usize, it.span.1 as usize);
        text.get(start.max(shown.start)..end.min(shown.end)).unwrap_or("")
    };
    let n_words = |text: &str| matched(text, &plan.question.words).count_ones();
    let n_shown = n_words(text.get(shown.clone()).unwrap_or(""));
    let tells = |it: &&Found| match (overlap(it), n_shown) {
        ("", _) => false,
        (part, 0) => part.len() * 2 > shown.len(),
        (part, n_shown) => n_words(part) * 2 > n_shown,
    };
    prints.iter().filter(|it| it.is_chunk || tells(it)).collect()
}

fn count_documents(desk: &Desk<'_>, text: i64) -> Result<u64, AskError> {
    let n: i64 = desk
        .snapshot
        .prepare_cached("SELECT count(DISTINCT doc_id) FROM copies WHERE text = ?1")?
        .query_row([text], |row| row.get(0))?;
    Ok(n as u64)
}
