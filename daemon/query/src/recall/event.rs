//! Event: the days before or after an event that a question names: `before the trip`.
//!
//! In: the words of the event. Out: [`When`]: the days before or after the day stated by the best
//! passage that contains most of those words; empty if there is no such passage.

use super::share_of_worth;
use super::text::by_text;
use super::turn::Turns;
use crate::plan::Plan;
use crate::plan::when::When;
use crate::plan::within::Among;
use crate::{AskError, QueryContext};

/// Passages considered, and the least share of the event's words, by worth, that one must contain.
const DEPTH: usize = 10;
const LEAST: f32 = 0.6;

/// Returns the times that the event of a question allows.
pub(super) fn times(ctx: &QueryContext<'_>, plan: &Plan, among: &Among) -> Result<When, AskError> {
    let Some(event) = &plan.event else { return Ok(When::default()) };
    let found = by_text(ctx, &event.words, DEPTH, &[], among)?;
    let held = |chunk| found.scorer.as_ref().map_or(0, |scorer| scorer.held(chunk));
    let near = found.best.iter().map(|(chunk, _)| *chunk);
    let near = near.filter(|chunk| share_of_worth(&found.worth, held(*chunk)) >= LEAST);
    let near: Vec<i64> = near.collect();
    let passages = ctx.snapshot.chunks().many(near.iter().copied())?;
    let turns = Turns::read(ctx, passages.values(), true)?;
    for passage in near.iter().filter_map(|chunk| passages.get(chunk)) {
        let day = turns.stated_day(passage).and_then(|day| day.parse().ok());
        if let Some(times) = day.and_then(|day| When::beside(day, event.side)) {
            return Ok(times);
        }
    }
    Ok(When::default())
}
