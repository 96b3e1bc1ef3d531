//! Steps: the passage that says how something is done, complete and as written in its file.
//!
//! In: the hits of a question. Out: the hit with steps, extended to its whole section unless that
//! is too long.
//! Invariant: numbers, code fences and blank lines are kept; long text is cut at the end of a line.
//! Not here: whether a question asks for steps (`choose.rs`).

use proto::shape::SourceView;

use super::found::Hit;
use crate::quote::written::{Cells, is_numbered, written};
use crate::{AskError, QueryContext};

/// Number of hits that are searched for steps.
const MAX_TO_STEPS: usize = 6;

/// Fewest numbered lines that count as steps.
const MIN_STEPS: usize = 2;

/// Most characters of steps: with the surrounding text they fit the default budget of an answer.
const MAX_CHARS: usize = 2_600;

/// Returns the best of the first hits that has steps: a procedure wins over a passage that only shows the steps of its
/// neighbor. Where the page of a procedure was hit at its introduction, its steps stand in for that.
pub(super) fn hit_with_steps(
    ctx: &QueryContext<'_>,
    hits: &[Hit],
) -> Result<Option<Hit>, AskError> {
    let hits = hits.iter().take(MAX_TO_STEPS).filter(|hit| !hit.is_weak);
    let procedures = || hits.clone().filter(|hit| hit.is_procedure);
    for hit in procedures() {
        if let Some(chunk) = chunk_with_steps(ctx, hit)? {
            return Ok(Some(Hit { chunk, ..hit.clone() }));
        }
    }
    let shown = hits.clone().find(|hit| has_steps(hit.source.text.lines()));
    Ok(shown.or_else(|| procedures().next()).cloned())
}

fn has_steps<'a>(lines: impl Iterator<Item = &'a str>) -> bool {
    lines.filter(|line| is_numbered(line)).count() >= MIN_STEPS
}

/// Returns the passage of a hit if it has steps, else the first of its document that has.
fn chunk_with_steps(ctx: &QueryContext<'_>, hit: &Hit) -> Result<Option<i64>, AskError> {
    let Some(file) = index::store::written(ctx.snapshot, hit.doc)? else { return Ok(None) };
    let mut statement = ctx.snapshot.prepare_cached(
        "SELECT id, line_start, line_end FROM chunks WHERE doc_id = ?1 ORDER BY id <> ?2, idx",
    )?;
    let rows = statement.query_map([hit.doc, hit.chunk], |row| {
        Ok((row.get::<_, i64>(0)?, row.get::<_, u32>(1)?, row.get::<_, u32>(2)?))
    })?;
    for row in rows {
        let (chunk, first, last) = row?;
        let n_lines = (last + 1).saturating_sub(first) as usize;
        if has_steps(file.lines().skip(first.saturating_sub(1) as usize).take(n_lines)) {
            return Ok(Some(chunk));
        }
    }
    Ok(None)
}

/// Returns the section of a hit as written, cut to fit; its passage if less than half of the section
/// fits; the hit's excerpt if the file is not kept.
pub(super) fn whole(ctx: &QueryContext<'_>, hit: &Hit) -> Result<SourceView, AskError> {
    let Some(file) = index::store::written(ctx.snapshot, hit.doc)? else {
        return Ok(hit.source.clone());
    };
    let lines = passages(ctx, hit)?;
    let own = lines.iter().find(|it| it.is_own).map(|it| (it.first, it.last));
    let (Some(first), Some(last), Some(own)) =
        (lines.first().map(|it| it.first), lines.last().map(|it| it.last), own)
    else {
        return Ok(hit.source.clone());
    };
    let shown = [(first, last), own].into_iter().find_map(|(first, last)| {
        written(&file, first..=last, first..=last, MAX_CHARS, Cells::AsWritten)
    });
    Ok(shown.map_or_else(
        || hit.source.clone(),
        |it| SourceView { text: it.text, line: it.lines[0], ..hit.source.clone() },
    ))
}

/// The line range of a passage.
struct Lines {
    first: u32,
    last: u32,
    is_own: bool,
}

/// Returns the consecutive passages around a hit below the same heading.
fn passages(ctx: &QueryContext<'_>, hit: &Hit) -> Result<Vec<Lines>, AskError> {
    let mut statement = ctx.snapshot.prepare_cached(
        "SELECT o.id, o.idx, o.line_start, o.line_end FROM chunks c
         JOIN chunks o ON o.doc_id = c.doc_id AND o.section = c.section WHERE c.id = ?1 ORDER BY o.idx",
    )?;
    type Row = (i64, i64, u32, u32);
    let rows = statement
        .query_map([hit.chunk], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))?;
    let rows: Vec<Row> = rows.collect::<Result<_, _>>()?;
    let Some(own) = rows.iter().position(|row| row.0 == hit.chunk) else { return Ok(vec![]) };
    let at = |n: usize| rows.get(n).map_or(0, |row| row.1);
    let is_beside = |n: &usize| at(*n) - at(own) == *n as i64 - own as i64;
    let beside = (0..rows.len()).filter(is_beside).filter_map(|n| rows.get(n));
    let lines = beside.map(|(id, _, first, last)| Lines {
        first: *first,
        last: *last,
        is_own: *id == hit.chunk,
    });
    Ok(lines.collect())
}
