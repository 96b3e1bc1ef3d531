//! Explain: the best candidates as cited passages, with why they were chosen, within the caller's budget.

use std::collections::BTreeMap;

use proto::shape::{EdgeView, EntityView};
use proto::tool::core::{HitView, HybridReply};
use rusqlite::OptionalExtension;

use super::expand::Expanded;
use super::floor::{self, Floor};
use super::graph::name_of;
use super::plan::{MAX_RECALL, Plan};
use super::rank::Ranked;
use super::recall::Recalled;
use super::{AskError, Desk, copies, cursor, fit, passage, snippet};
use index::store::lines::{HeadingMap, LineMap, PageMap};
use model::terms::EntityType;

/// Characters of a hit beside its snippet, in the text form: number, path, lines, section, score.
const HIT_OVERHEAD: usize = 130;

/// Shortest and longest snippet, characters.
const SNIPPET_CHARS: (usize, usize) = (70, 2_000);

/// The first hits, which are read, have longer snippets than those behind, which are looked at: how many, how much.
pub(super) const LEADING: usize = 5;
const LEAD: f32 = 2.5;

/// Length of a snippet that stands for a note, characters.
const PASSAGE_SNIPPET_CHARS: usize = 240;

/// Between a name and the file whose passage led on by it.
pub(super) const AS_IN: &str = " as in ";

/// Entities and relations told beside the hits.
const MAX_ENTITIES: usize = 5;
const MAX_EDGES: usize = 6;

/// Fills in the hits and what belongs to them.
pub(super) fn explain(
    (desk, plan): (&Desk<'_>, &Plan),
    (recalled, expanded): (&Recalled, &Expanded),
    ranked: Vec<Ranked>,
    mut reply: HybridReply,
) -> Result<HybridReply, AskError> {
    let (mut marks, mut strengths, mut has_more) = (Vec::new(), Vec::new(), false);
    let floor = Floor::of(plan, recalled);
    for candidate in ranked {
        let Some(passage) = Passage::load(desk, candidate.chunk)? else { continue };
        let mark = cursor::mark(&passage.uid, passage.words());
        // Which of its places tells a text may change between two pages.
        let told = match copies::is_held_once(desk, passage.doc_id, passage.start)? {
            true => cursor::mark("", passage.words()),
            false => mark,
        };
        if plan.cursor.has_told(told) {
            continue;
        }
        if marks.len() == plan.k {
            has_more = true;
            break;
        }
        let texts = [passage.path.as_str(), passage.section.as_str(), passage.words()];
        strengths.push(floor.strength(&candidate, texts));
        let n_chars = snippet_chars(plan, marks.len());
        let hit = hit_view((desk, plan), &candidate, (passage, mark), n_chars)?;
        reply.explanations.push(why(desk, expanded, &candidate)?);
        reply.chunks.push(hit);
        marks.push(told);
    }
    for entity in expanded.order.iter().take(MAX_ENTITIES) {
        reply.entities.extend(entity_view(
            desk,
            *entity,
            expanded.reached.get(entity).map(|r| r.confidence),
        )?);
    }
    for reached in
        expanded.order.iter().filter_map(|e| expanded.reached.get(e)?.by.as_ref()).take(MAX_EDGES)
    {
        reply.edges.push(EdgeView {
            src: reached.subject,
            dst: reached.object,
            rel: reached.predicate.clone(),
        });
    }
    floor::flag(&mut reply, &strengths);
    recalled.name_spaces(desk, &mut reply);
    let hint = reply.hint.clone();
    let is_last = plan.cursor.after(&marks).is_none();
    if is_last && (has_more || recalled.is_ended) && !marks.is_empty() {
        let end =
            format!("only the first {MAX_RECALL} hits are ranked: narrow the question for others");
        reply.hint = Some(hint.iter().cloned().chain([end]).collect::<Vec<_>>().join("; "));
    }
    // The longest that may be told: that of fewer hits, where no cursor leads behind all of them.
    let next = (1..=marks.len()).rev().find_map(|n| plan.cursor.after(marks.get(..n)?));
    fit::fit(&mut reply, plan.max_chars, next);
    has_more |= reply.chunks.len() < marks.len();
    if marks.len() > reply.chunks.len() {
        // It goes on, after all.
        reply.hint = hint;
    }
    marks.truncate(reply.chunks.len());
    reply.next_cursor = plan.cursor.after(&marks).filter(|_| has_more && !marks.is_empty());
    Ok(reply)
}

/// How long the snippet of the hit at a place may be, by what is left of the budget beside what every hit takes.
fn snippet_chars(plan: &Plan, at: usize) -> usize {
    let n_leading = plan.k.min(LEADING);
    let n_shares = n_leading as f32 * LEAD + (plan.k - n_leading) as f32;
    let share = plan.max_chars.saturating_sub(plan.k * HIT_OVERHEAD) as f32 / n_shares.max(1.0);
    let (own, least) = match at < n_leading {
        true => (share * LEAD, fit::MIN_LEADING_CHARS),
        false => (share, SNIPPET_CHARS.0),
    };
    (own as usize).clamp(least, SNIPPET_CHARS.1)
}

/// A chunk with its document.
struct Passage {
    doc_id: i64,
    uid: String,
    path: String,
    section: String,
    text: String,
    lines: Vec<u8>,
    pages: Option<Vec<u8>>,
    headings: Option<Vec<u8>>,
    start: usize,
    end: usize,
}

impl Passage {
    /// `None` when it is gone.
    fn load(desk: &Desk<'_>, chunk: i64) -> Result<Option<Passage>, AskError> {
        let mut statement = desk.snapshot.prepare_cached(
            "SELECT d.id, d.uid, d.path, c.section, d.text, d.lines, d.pages, d.headings, c.start, c.end
             FROM chunks c JOIN docs d ON d.id = c.doc_id WHERE c.id = ?1",
        )?;
        let passage = statement.query_row([chunk], |row| {
            Ok(Passage {
                doc_id: row.get(0)?,
                uid: row.get(1)?,
                path: row.get(2)?,
                section: row.get(3)?,
                text: row.get(4)?,
                lines: row.get(5)?,
                pages: row.get(6)?,
                headings: row.get(7)?,
                start: row.get::<_, i64>(8)? as usize,
                end: row.get::<_, i64>(9)? as usize,
            })
        });
        Ok(passage.optional()?)
    }

    fn words(&self) -> &str {
        self.text.get(self.start..self.end).unwrap_or("")
    }
}

/// The words of a chunk that answer best, and the line on which they begin; `None` when it is gone.
pub(super) fn passage_of(
    desk: &Desk<'_>,
    plan: &Plan,
    chunk: i64,
) -> Result<Option<(u32, String)>, AskError> {
    let Some(passage) = Passage::load(desk, chunk)? else { return Ok(None) };
    let body = passage.words();
    let range = snippet::choose(body, &plan.question.words, 0, PASSAGE_SNIPPET_CHARS);
    let line = LineMap::decode(&passage.lines).line_at(passage.start + range.start);
    Ok(Some((line, snippet::render(body, range))))
}

fn hit_view(
    (desk, plan): (&Desk<'_>, &Plan),
    candidate: &Ranked,
    (passage, mark): (Passage, u32),
    snippet_chars: usize,
) -> Result<HitView, AskError> {
    let body = passage.words();
    let range = snippet::choose(body, &plan.question.words, 0, snippet_chars);
    let lines = LineMap::decode(&passage.lines);
    let pages = PageMap::decode(passage.pages.as_deref());
    let (text, start, end) = (&passage.text, passage.start, passage.end);
    let shown = start + range.start..start + range.end;
    let span = (start as i64, end as i64);
    let also_in = copies::also_in(desk, plan, (passage.doc_id, span), (text, shown))?;
    let (start, end) = (start + range.start, (start + range.end).saturating_sub(1));
    // A chunk may hold several short sections: the heading above the words that are shown says more.
    let section = match HeadingMap::decode(passage.headings.as_deref()) {
        Some(headings) => headings.path_at(text, start),
        None => passage.section.clone(),
    };
    let (first, last) = (lines.line_at(start), lines.line_at(end.max(start)));
    let pages = pages.page_at(start).zip(pages.page_at(end.max(start)));
    let components: BTreeMap<String, f32> = candidate
        .components
        .iter()
        .map(|(name, value)| (name.to_string(), rounded(*value)))
        .collect();
    Ok(HitView {
        handle: passage::handle(&passage.uid, mark),
        id: candidate.chunk,
        doc_id: passage.doc_id,
        snippet: snippet::render(body, range),
        lines: [first, last.max(first)],
        pages: pages.map(|(first, last)| [first, last]),
        section: shorten(&section, 60),
        // What is told adds up to the last digit.
        // A sum of nothing is -0.
        score: rounded(components.values().sum()) + 0.0,
        components,
        weak: false,
        also_in,
        path: passage.path,
    })
}

/// Three digits are enough to compare, and keep the answer small. Through f64, so that JSON shows no more of them.
fn rounded(value: f32) -> f32 {
    (value * 1000.0).round() / 1000.0
}

fn shorten(text: &str, max_chars: usize) -> String {
    if text.chars().count() <= max_chars {
        return text.into();
    }
    let mut out: String = text.chars().take(max_chars - 1).collect();
    out.push('…');
    out
}

/// Why a candidate was chosen, for a person: `text + vector + 1 hop by depends_on to Key Store + Ada Moreno as in
/// teams.md`.
fn why(desk: &Desk<'_>, expanded: &Expanded, candidate: &Ranked) -> Result<String, AskError> {
    let mut parts: Vec<String> = candidate
        .components
        .keys()
        .filter(|name| {
            !matches!(
                **name,
                "graph"
                    | "stated"
                    | "hop"
                    | "relation"
                    | "names"
                    | "bridge"
                    | "same_document"
                    | "own_words"
            )
        })
        .map(ToString::to_string)
        .collect();
    let reached = candidate.graph.entity.and_then(|e| Some((e, expanded.reached.get(&e)?)));
    if let Some((entity, reached)) = reached {
        let name = short_name(desk, entity)?;
        parts.push(match &reached.by {
            None => format!("names {name}"),
            Some(by) => format!("{} hop by {} to {name}", reached.hop, by.predicate),
        });
    }
    let is_told =
        reached.is_some_and(|(entity, it)| it.hop == 0 && candidate.named.entity == Some(entity));
    if let Some(entity) = candidate.named.entity.filter(|_| !is_told) {
        parts.push(format!("names {}", short_name(desk, entity)?));
    }
    if let (Some(entity), Some(from)) = (candidate.bridge.entity, candidate.bridge.from) {
        let name = short_name(desk, entity)?;
        let path: Option<String> = desk
            .snapshot
            .prepare_cached(
                "SELECT d.path FROM chunks c JOIN docs d ON d.id = c.doc_id WHERE c.id = ?1",
            )?
            .query_row([from], |row| row.get(0))
            .optional()?;
        let path = path.unwrap_or_default();
        let file = shorten(path.rsplit('/').next().unwrap_or_default(), 30);
        parts.push(format!("{name}{AS_IN}{file}"));
    }
    Ok(parts.join(" + "))
}

fn short_name(desk: &Desk<'_>, entity: i64) -> Result<String, AskError> {
    Ok(shorten(&name_of(desk, entity)?.unwrap_or_default(), 40))
}

/// An entity in brief; `None` when it is gone.
pub(super) fn entity_view(
    desk: &Desk<'_>,
    entity: i64,
    score: Option<f32>,
) -> Result<Option<EntityView>, AskError> {
    let row: Option<(String, i64)> = desk
        .snapshot
        .prepare_cached("SELECT name, type FROM entities WHERE id = ?1")?
        .query_row([entity], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    Ok(row.map(|(name, code)| EntityView {
        id: entity,
        name,
        entity_type: EntityType::from_code(code).as_str().into(),
        score: score.map(rounded),
        ..EntityView::default()
    }))
}
