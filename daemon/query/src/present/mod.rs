//! Present, the last step: the best hits as cited passages with reasons, within the caller's
//! budget.
//!
//! In: a plan, and the results of the earlier steps. Out: the reply of `hybrid_query`.
//! `floor.rs` flags weak hits, `reasons.rs` explains why each was chosen, `hint.rs` how the
//! question was interpreted, `fit.rs` fits both forms of the reply into the budget.
//! Invariant: neither the hits nor their order change here; only the last ones may be left to the
//! next page.

mod fit;
pub(crate) mod floor;
mod hint;
mod reasons;

use std::collections::BTreeMap;
use std::ops::Range;

use proto::shape::{EdgeView, EntityView, OriginView};
use proto::tool::core::{HitView, HybridReply};

use self::floor::{Verdict, WeakFloor};
pub(crate) use self::hint::nothing_asked;
use crate::expand::Expanded;
use crate::graph::entity::{brief, rounded};
use crate::passage::{self, handle};
use crate::plan::cursor::mark;
use crate::plan::{MAX_RECALL, Plan};
use crate::quote::snippet::{choose, choose_around, render_lines, shorten};
use crate::quote::written::{Cells, beginning, written};
use crate::rank::{Ranked, ScoredChunk};
use crate::recall::{Recalled, copies};
use crate::relevance::Signals;
use crate::{AskError, QueryContext};
use index::read::{Chunk, Places, Whole};
use model::terms::EntityType;
use notes::turn::QUESTION_MARKS;

/// Characters of a hit besides its snippet in the text form: number, path, lines, section, score.
const HIT_OVERHEAD: usize = 115;

/// Shortest and longest snippet, characters.
const SNIPPET_CHARS: (usize, usize) = (70, 2_000);

/// Readers read the first hits and only skim the rest: shares of the budget for each of the first
/// hits, and for each of the others, of which [`SHOWN`] hits in all have to fit. No snippet is cut
/// to make room for later hits: those go to the next page.
const SHARES: [f32; 3] = [8.0, 6.0, 4.0];
const SHARE_BEHIND: f32 = 1.25;
const SHOWN: usize = 7;

/// Shortest snippet of one of the first hits, characters.
const MIN_LEADING_CHARS: usize = 150;

/// Passages on each side that are read for the text around a hit.
const MOST_BESIDE: i64 = 12;

/// Length of a snippet that represents a whole note, characters.
const NOTE_SNIPPET_CHARS: usize = 240;

/// Most entities and relations shown next to the hits.
const MAX_ENTITIES: usize = 5;
const MAX_EDGES: usize = 6;

/// Builds the reply.
pub(crate) fn present(
    ctx: &QueryContext<'_>,
    plan: &Plan,
    recalled: &Recalled,
    expanded: &Expanded,
    ranked: Ranked,
) -> Result<HybridReply, AskError> {
    let mut reply = hint::reply(ctx, plan, recalled, !ranked.hits.is_empty())?;
    let (mut marks, mut verdicts, mut has_more) = (Vec::new(), Vec::new(), false);
    let floor = WeakFloor::of(plan, recalled);
    // The ranges that leading hits show, and the length that each snippet keeps before later hits
    // are dropped.
    let (mut shown, mut least) = (Vec::<(i64, Range<usize>)>::new(), Vec::new());
    for candidate in &ranked.hits {
        let Some(passage) = ChunkText::load(ctx, candidate.chunk)? else { continue };
        let (chunk, document) = (&passage.chunk, &passage.whole.document);
        let own_mark = mark(&document.uid, passage.words());
        // A repeated text is marked without its document, because the next page may show another
        // place of it.
        let page_mark = if chunk.is_compared { mark("", passage.words()) } else { own_mark };
        if plan.cursor.has_seen(page_mark) {
            continue;
        }
        if marks.len() == plan.k {
            has_more = true;
            break;
        }
        verdicts.push(floor.judge(candidate, passage.texts()));
        let of_document = shown.iter().filter(|(of, _)| *of == chunk.doc);
        let is_shown = of_document.clone().any(|(_, bytes)| passage.is_within(bytes));
        let is_leading = shown.len() < SHARES.len() && !is_shown;
        // Paged documents are cited by page, so only the answering words are shown.
        let is_first =
            (of_document.count() == 0 || chunk.is_turn()) && passage.whole.places.pages.is_empty();
        let seen = match is_leading && is_first {
            true => passage.with_neighbors(ctx)?,
            false => passage.alone(),
        };
        let n_chars = match is_shown {
            true => SNIPPET_CHARS.0,
            false => snippet_chars(plan, shown.len()),
        };
        let (handle, room) = (handle(&document.uid, own_mark), Room { seen, n_chars });
        let (view, bytes) = hit_view(ctx, plan, recalled, candidate, &passage, handle, room)?;
        reply.chunks.push(view);
        least.push(if is_shown { fit::MIN_SNIPPET_CHARS } else { n_chars });
        if is_leading {
            shown.push((chunk.doc, bytes));
        }
        reply.explanations.push(reasons::reasons(ctx, recalled, expanded, candidate)?);
        marks.push(page_mark);
    }
    add_neighborhood(ctx, expanded, &mut reply)?;
    floor::flag(&mut reply, &verdicts);
    let hint = reply.hint.clone();
    let is_last = plan.cursor.after(&marks).is_none();
    if is_last && (has_more || ranked.is_ended) && !marks.is_empty() {
        let end =
            format!("only the first {MAX_RECALL} hits are ranked: narrow the question for others");
        reply.hint = Some(hint.iter().cloned().chain([end]).collect::<Vec<_>>().join("; "));
    }
    // Reserve room for the longest possible cursor: the one after fewer hits if there is none after
    // all of them.
    let next = (1..=marks.len()).rev().find_map(|n| plan.cursor.after(marks.get(..n)?));
    fit::fit(&mut reply, plan.max_chars, plan.structured_chars, &least, next);
    has_more |= reply.chunks.len() < marks.len();
    if marks.len() > reply.chunks.len() {
        // Hits were cut, so there is a next page after all.
        reply.hint = hint;
    }
    marks.truncate(reply.chunks.len());
    reply.next_cursor = plan.cursor.after(&marks).filter(|_| has_more && !marks.is_empty());
    // After fitting, so that the note on the interpretation never costs a hit.
    if let Some(first) = reply.explanations.first_mut().filter(|_| !recalled.readings.is_empty()) {
        *first = format!("{}: {first}", recalled.readings.join("; "));
    }
    Ok(reply)
}

/// Returns the signals of the hits of the first page.
pub(crate) fn signals(
    ctx: &QueryContext<'_>,
    plan: &Plan,
    recalled: &Recalled,
    ranked: &Ranked,
) -> Result<Vec<Signals>, AskError> {
    let floor = WeakFloor::of(plan, recalled);
    let mut signals = Vec::new();
    for hit in ranked.hits.iter().take(plan.k) {
        let Some(passage) = ChunkText::load(ctx, hit.chunk)? else { continue };
        signals.push(floor.signals(hit, passage.texts()));
    }
    Ok(signals)
}

/// Adds the first reached entities, and the relations that led to them.
fn add_neighborhood(
    ctx: &QueryContext<'_>,
    expanded: &Expanded,
    reply: &mut HybridReply,
) -> Result<(), AskError> {
    for entity in expanded.order.iter().take(MAX_ENTITIES) {
        let score = expanded.reached.get(entity).map(|it| rounded(it.confidence));
        let found = ctx.snapshot.entities().get(*entity)?;
        let thing = found.filter(|it| EntityType::is_shown(it.type_code));
        reply.entities.extend(thing.map(|it| EntityView { score, ..brief(&it) }));
    }
    let ways = expanded.order.iter().filter_map(|it| expanded.reached.get(it)?.by.as_ref());
    reply.edges.extend(ways.take(MAX_EDGES).map(|by| EdgeView {
        src: by.subject,
        dst: by.object,
        rel: by.predicate.clone(),
    }));
    Ok(())
}

/// Returns the snippet length of the hit at a position: its share of the budget after the overhead
/// of all hits.
fn snippet_chars(plan: &Plan, at: usize) -> usize {
    let share_of = |at: usize| SHARES.get(at).copied().unwrap_or(SHARE_BEHIND);
    let n_shown = plan.k.min(SHOWN);
    let shares: f32 = (0..n_shown).map(share_of).sum();
    let room = plan.max_chars.saturating_sub(n_shown * HIT_OVERHEAD) as f32;
    let least = if at < SHARES.len() { MIN_LEADING_CHARS } else { SNIPPET_CHARS.0 };
    ((room * share_of(at) / shares.max(1.0)) as usize).clamp(least, SNIPPET_CHARS.1)
}

/// A chunk with its document.
pub(crate) struct ChunkText {
    pub(crate) chunk: Chunk,
    whole: Whole,
}

/// The text that a hit may show, and how many characters of it.
struct Room {
    seen: Seen,
    n_chars: usize,
}

/// A range of a document's text, and its lines in the file.
struct Seen {
    bytes: Range<usize>,
    lines: [u32; 2],
}

impl ChunkText {
    /// Returns a chunk with its document; `None` if it is gone.
    pub(crate) fn load(ctx: &QueryContext<'_>, chunk: i64) -> Result<Option<ChunkText>, AskError> {
        let Some(chunk) = ctx.snapshot.chunks().get(chunk)? else { return Ok(None) };
        let whole = ctx.snapshot.documents().whole(chunk.doc)?;
        Ok(whole.map(|whole| ChunkText { chunk, whole }))
    }

    pub(crate) fn words(&self) -> &str {
        self.whole.text.get(self.chunk.start..self.chunk.end).unwrap_or("")
    }

    /// Returns its path, its headings and its words, by which it is judged.
    fn texts(&self) -> [&str; 3] {
        [&self.whole.document.path, &self.chunk.section, self.words()]
    }

    /// Returns whether a byte range of its document contains most of it.
    fn is_within(&self, bytes: &Range<usize>) -> bool {
        let Chunk { start, end, .. } = self.chunk;
        let both = end.min(bytes.end).saturating_sub(start.max(bytes.start));
        2 * both > end - start
    }

    fn alone(&self) -> Seen {
        let Chunk { start, end, line_start, line_end, .. } = self.chunk;
        Seen { bytes: start..end, lines: [line_start, line_end] }
    }

    /// Returns the passage with the text around it, as `read_passage` shows it; a turn of a dialogue
    /// with the one before, or one that asks with the one after.
    fn with_neighbors(&self, ctx: &QueryContext<'_>) -> Result<Seen, AskError> {
        let Chunk { doc, idx, .. } = self.chunk;
        let beside = match self.chunk.is_turn() {
            true if self.words().trim_end().ends_with(QUESTION_MARKS) => idx..idx + 2,
            true => idx - 1..idx + 1,
            false => idx - MOST_BESIDE..idx + MOST_BESIDE + 1,
        };
        let chunks = ctx.snapshot.chunks().within(doc, beside)?;
        let Some(own) = chunks.iter().position(|chunk| chunk.idx == idx) else {
            return Ok(self.alone());
        };
        let stretch = |first: usize, last: usize| {
            let (first, last) = (chunks.get(first)?, chunks.get(last)?);
            let bytes = first.start..last.end.max(first.start);
            Some(Seen { bytes, lines: [first.line_start, last.line_end] })
        };
        let n_chars = |first, last| {
            let bytes = stretch(first, last).map_or(0..0, |it| it.bytes);
            self.whole.text.get(bytes).map_or(usize::MAX, |text| text.chars().count())
        };
        let together = passage::together(own, chunks.len(), passage::SHORT_CHARS, n_chars);
        Ok(stretch(*together.start(), *together.end()).unwrap_or_else(|| self.alone()))
    }
}

/// Returns the words of a hit that answer best, as written, the line on which they start, and the
/// judgment; `None` if the hit is gone.
pub(crate) fn best_words(
    ctx: &QueryContext<'_>,
    plan: &Plan,
    floor: &WeakFloor<'_>,
    hit: &ScoredChunk,
) -> Result<Option<(u32, String, Verdict)>, AskError> {
    let Some(passage) = ChunkText::load(ctx, hit.chunk)? else { return Ok(None) };
    let body = passage.words();
    let range = choose(body, &plan.question.words, &[], 0, NOTE_SNIPPET_CHARS);
    let lines = &passage.whole.places.lines;
    let verdict = floor.judge(hit, passage.texts());
    let Chunk { doc, start, line_start: from, line_end: to, .. } = passage.chunk;
    let first = lines.line_at(start + range.start);
    let last = lines.line_at((start + range.end).saturating_sub(1)).max(first);
    let file = index::store::written(ctx.snapshot, doc)?;
    let room = NOTE_SNIPPET_CHARS + NOTE_SNIPPET_CHARS / 4;
    let (line, text) = match file
        .and_then(|file| written(&file, first..=last, from..=to, room, Cells::Unpadded))
    {
        Some(it) => (it.lines[0], it.text),
        None => (first, render_lines(body, range)),
    };
    Ok(Some((line, text, verdict)))
}

fn hit_view(
    ctx: &QueryContext<'_>,
    plan: &Plan,
    recalled: &Recalled,
    candidate: &ScoredChunk,
    passage: &ChunkText,
    handle: String,
    Room { seen, n_chars: snippet_chars }: Room,
) -> Result<(HitView, Range<usize>), AskError> {
    let ChunkText { chunk, whole: Whole { document, text, places } } = passage;
    let body = text.get(seen.bytes.clone()).unwrap_or("");
    let own = chunk.start - seen.bytes.start..chunk.end - seen.bytes.start;
    let (words, worth) = (&plan.question.words, &recalled.worth);
    let Places { lines, pages, headings } = places;
    let range = match pages.is_empty() {
        false => choose(body, words, worth, 0, snippet_chars),
        true => choose_around(body, own, words, worth, snippet_chars),
    };
    let start = seen.bytes.start;
    let shown = start + range.start..start + range.end;
    let also_in = copies::also_in(ctx, plan, chunk)?;
    let (start, end) = (start + range.start, (start + range.end).saturating_sub(1));
    // A chunk may contain several short sections, so show the heading above the displayed words.
    let section = match headings {
        Some(headings) => headings.path_at(text, start),
        None => chunk.section.clone(),
    };
    let (first, last) = (lines.line_at(start), lines.line_at(end.max(start)));
    let shown_pages = pages.page_at(start).zip(pages.page_at(end.max(start)));
    let components = candidate.components.iter();
    let components: BTreeMap<String, f32> =
        components.map(|(name, value)| (name.to_string(), rounded(*value))).collect();
    let [from, to] = seen.lines;
    let room = snippet_chars + snippet_chars / 4;
    let file = index::store::written(ctx.snapshot, chunk.doc)?;
    let as_written = file.and_then(|file| {
        let wanted = first..=last.max(first);
        written(&file, wanted.clone(), from..=to, room, Cells::Unpadded).or_else(|| {
            // Where the line begins shortly before the words that answer, it has list numbers and marks of code.
            let before = (0..start).rev().take(room / 4 + 1);
            let n_before = before.take_while(|at| lines.line_at(*at) == first).count();
            let is_near = n_before <= room / 4 && pages.is_empty();
            is_near.then(|| beginning(&file, wanted, room))?
        })
    });
    let (snippet, shown_lines) = match as_written {
        Some(it) => (it.text, it.lines),
        None => (render_lines(body, range), [first, last.max(first)]),
    };
    let view = HitView {
        handle,
        id: candidate.chunk,
        doc_id: chunk.doc,
        snippet,
        origin: OriginView {
            source_url: document.source_url.clone(),
            security: document.security.clone(),
        },
        lines: shown_lines,
        pages: shown_pages.map(|(first, last)| [first, last]),
        section: shorten(&section, 60),
        // Sum the rounded components, so that a reader who adds them up gets the same number; + 0
        // because the sum of nothing is -0.
        score: rounded(components.values().sum()) + 0.0,
        components,
        relevance: 0.0,
        weak: false,
        also_in,
        path: document.path.clone(),
    };
    Ok((view, shown))
}
