//! Event: the days before or after what a question names: `before the trip`.
//!
//! In: the words of the event. Out: [`When`]: the days before or after that of the best passage by words that holds
//! most of them and states a day; none where no passage does.
//! Not here: which words are an event (`plan/event.rs`), how much a time counts (`rank/signals.rs`).

use super::share_of_worth;
use super::text::by_text;
use super::turn::stated_day;
use crate::plan::Plan;
use crate::plan::when::When;
use crate::plan::within::Among;
use crate::{AskError, QueryContext};

/// Passages that are looked at, and the least share of the event's words, by worth, that one must hold.
const DEPTH: usize = 10;
const LEAST: f32 = 0.6;

/// Returns the times that the event of a question leaves.
pub(super) fn times(ctx: &QueryContext<'_>, plan: &Plan, among: &Among) -> Result<When, AskError> {
    let Some(event) = &plan.event else { return Ok(When::default()) };
    let found = by_text(ctx, &event.words, DEPTH, &[], among)?;
    let held = |chunk| found.scorer.as_ref().map_or(0, |scorer| scorer.held(chunk));
    for (chunk, _) in &found.best {
        if share_of_worth(&found.worth, held(*chunk)) < LEAST {
            continue;
        }
        let day = stated_day(ctx, *chunk)?.and_then(|day| day.parse().ok());
        if let Some(times) = day.and_then(|day| When::beside(day, event.side)) {
            return Ok(times);
        }
    }
    Ok(When::default())
}
