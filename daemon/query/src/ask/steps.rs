//! Steps: the passage that says how something is done, whole and as its file has it.
//!
//! In: the hits of a question. Out: the one with steps, with all of its section where that is not too long.
//! Invariant: numbers, code fences and blank lines stay; what is too long ends with a whole line.
//! Not here: whether a question asks for steps (`choose.rs`).

use proto::shape::SourceView;

use super::found::Hit;
use crate::quote::written::{Cells, is_numbered, written};
use crate::{AskError, QueryContext};

/// Hits among which steps are looked for.
const MAX_TO_STEPS: usize = 6;

/// Fewest numbered lines that are steps.
const MIN_STEPS: usize = 2;

/// Most characters of steps: with what stands around them they fit the usual budget of an answer.
const MAX_CHARS: usize = 2_600;

/// Returns the best of the first hits that has steps: a passage that is a procedure before one that only shows the
/// steps of its neighbor.
pub(super) fn hit_with_steps(hits: &[Hit]) -> Option<&Hit> {
    let shows_steps =
        |hit: &&Hit| hit.source.text.lines().filter(|line| is_numbered(line)).count() >= MIN_STEPS;
    let mut hits = hits.iter().take(MAX_TO_STEPS).filter(|hit| !hit.is_weak);
    hits.clone().find(|hit| hit.is_procedure).or_else(|| hits.find(shows_steps))
}

/// The section of a hit as written, or as much of it as its passage has; what was found of it where the file is not
/// kept.
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

/// The lines of a passage.
struct Lines {
    first: u32,
    last: u32,
    is_own: bool,
}

/// The passages side by side below the same heading as a hit.
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
