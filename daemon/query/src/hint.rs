//! Hint: what a caller must know of how a question was read.
//!
//! In: a question, what it found. Out: a reply that says what was given up, what is not there and what was not asked.
//! Not here: words read as others (`text.rs`), which are told with the first hit.

use proto::tool::core::{HybridQuery, HybridReply};

use super::demand::Demand;
use super::expression::only_excludes;
use super::plan::Plan;
use super::recall::Recalled;
use super::{AskError, Desk, unmet};

/// Longest question that is repeated, characters.
const MAX_REPEATED: usize = 40;

/// The reply to a question of signs alone.
pub(super) fn nothing_asked(plan: &Plan) -> HybridReply {
    let asked: String = plan.question.text.chars().take(MAX_REPEATED).collect();
    let hint = match asked.is_empty() {
        true => "the question has no word: give words or names that may stand in documents".into(),
        false => format!(
            "`{asked}` has no letter or digit: give words or names that may stand in documents"
        ),
    };
    HybridReply { nothing_relevant: true, hint: Some(hint), ..HybridReply::default() }
}

/// Adds what is to be said of conditions and operators.
pub(super) fn add(
    desk: &Desk<'_>,
    (plan, request): (&Plan, &HybridQuery),
    has_hits: bool,
    hints: &mut Vec<String>,
) -> Result<(), AskError> {
    if plan.question.is_of_documents() && has_hits {
        hints.push("one passage of each document, newest first: no words are asked for".into());
    }
    if plan.question.demand.is_none() && only_excludes(&request.q) {
        hints.push(
            "it only says what is not wanted, so these are its words: add one that is".into(),
        );
    }
    if !has_hits && hints.is_empty() {
        let common = unmet::common_name(desk, &plan.filter)?;
        let unmet = if common.is_some() { common } else { unmet::together(desk, plan)? };
        hints.extend(unmet);
    }
    Ok(())
}

/// A reply without hits that says how the question was read.
pub(super) fn told(plan: &Plan, recalled: &Recalled, hints: Vec<String>) -> HybridReply {
    let relaxed = recalled.is_relaxed.then(|| relaxed(plan));
    let hint = (!hints.is_empty()).then(|| hints.join("; "));
    HybridReply { relaxed, hint, ..HybridReply::default() }
}

fn relaxed(plan: &Plan) -> String {
    let mut kept = Vec::new();
    let demand = plan.question.demand.as_ref();
    if demand.is_some_and(|it| !(it.tags.is_empty() && it.paths.is_empty())) {
        kept.push("its tags and paths");
    }
    let excludes =
        |demand: &Demand| matches!(demand, Demand::All { excluded, .. } if !excluded.is_empty());
    if demand.and_then(|it| it.demand.as_ref()).is_some_and(excludes) {
        kept.push("what it excludes");
    }
    match kept.as_slice() {
        [] => "nothing matches it all, so any of its words".into(),
        kept => format!(
            "nothing matches it all, so any of its words; {} still count",
            kept.join(" and ")
        ),
    }
}
