//! Steps: the passage that says how something is done, complete and as written in its file.
//!
//! In: the hits of a question. Out: the hit with steps, extended to its whole section unless that
//! is too long.
//! Invariant: numbers, code fences and blank lines are kept; long text is cut at the end of a line.

use proto::shape::SourceView;

use super::found::Hit;
use crate::quote::written::{Cells, is_numbered, written};
use crate::{AskError, QueryContext};
use index::read::Chunk;

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
    let mut chunks = ctx.snapshot.chunks().of(hit.doc)?;
    chunks.sort_by_key(|it| it.id != hit.chunk);
    let with_steps = chunks.iter().find(|it| {
        let n_lines = (it.line_end + 1).saturating_sub(it.line_start) as usize;
        has_steps(file.lines().skip(it.line_start.saturating_sub(1) as usize).take(n_lines))
    });
    Ok(with_steps.map(|it| it.id))
}

/// Returns the section of a hit as written, cut to fit; its passage if less than half of the section
/// fits; the hit's excerpt if the file is not kept.
pub(super) fn whole(ctx: &QueryContext<'_>, hit: &Hit) -> Result<SourceView, AskError> {
    let Some(file) = index::store::written(ctx.snapshot, hit.doc)? else {
        return Ok(hit.source.clone());
    };
    let beside = passages(ctx, hit)?;
    let own = beside.iter().find(|it| it.id == hit.chunk).map(|it| (it.line_start, it.line_end));
    let (Some(first), Some(last), Some(own)) = (beside.first(), beside.last(), own) else {
        return Ok(hit.source.clone());
    };
    let (first, last) = (first.line_start, last.line_end);
    let shown = [(first, last), own].into_iter().find_map(|(first, last)| {
        written(&file, first..=last, first..=last, MAX_CHARS, Cells::AsWritten)
    });
    Ok(shown.map_or_else(
        || hit.source.clone(),
        |it| SourceView { text: it.text, line: it.lines[0], ..hit.source.clone() },
    ))
}

/// Returns the consecutive passages around a hit below the same heading.
fn passages(ctx: &QueryContext<'_>, hit: &Hit) -> Result<Vec<Chunk>, AskError> {
    let all = ctx.snapshot.chunks().of(hit.doc)?;
    let Some((idx, section)) =
        all.iter().find(|it| it.id == hit.chunk).map(|it| (it.idx, it.section.clone()))
    else {
        return Ok(vec![]);
    };
    let below: Vec<Chunk> = all.into_iter().filter(|it| it.section == section).collect();
    let own = below.iter().position(|it| it.id == hit.chunk).unwrap_or_default() as i64;
    let beside = below.into_iter().zip(0..).filter(|(it, n)| it.idx - idx == n - own);
    Ok(beside.map(|it| it.0).collect())
}
