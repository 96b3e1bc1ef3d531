//! Hint: how a question was interpreted, as far as the caller should know.
//!
//! In: a plan, the recalled candidates. Out: a reply that names the conditions that were dropped or
//! that no document meets.

use proto::tool::core::HybridReply;

use crate::plan::demand::Demand;
use crate::plan::expression::only_excludes;
use crate::plan::{Plan, unmet};
use crate::recall::Recalled;
use crate::{AskError, QueryContext};

/// Longest quotation of a question, characters.
const MAX_REPEATED: usize = 40;

/// Returns the reply to a question without letters or digits.
pub(crate) fn nothing_asked(plan: &Plan) -> HybridReply {
    let asked: String = plan.question.text.chars().take(MAX_REPEATED).collect();
    let hint = match asked.is_empty() {
        true => "the question has no word: give words or names that may stand in documents".into(),
        false => format!(
            "`{asked}` has no letter or digit: give words or names that may stand in documents"
        ),
    };
    HybridReply { nothing_relevant: true, hint: Some(hint), ..HybridReply::default() }
}

/// Returns a reply without hits, with hints about conditions and operators.
pub(super) fn reply(
    ctx: &QueryContext<'_>,
    plan: &Plan,
    recalled: &Recalled,
    has_hits: bool,
) -> Result<HybridReply, AskError> {
    let mut hints = plan.hints.clone();
    if plan.question.is_of_documents() && has_hits {
        hints.push("one passage of each document, newest first: no words are asked for".into());
    }
    if plan.question.demand.is_none() && only_excludes(&plan.question.text) {
        hints.push(
            "it only excludes words, so these were searched: add a word that is wanted".into(),
        );
    }
    if !has_hits && hints.is_empty() {
        let common = unmet::common_name(ctx, &plan.filter)?;
        let unmet = if common.is_some() { common } else { unmet::together(ctx, &plan.filter)? };
        hints.extend(unmet);
    }
    let relaxed = recalled.is_relaxed.then(|| relaxed(plan));
    let hint = (!hints.is_empty()).then(|| hints.join("; "));
    Ok(HybridReply { relaxed, hint, ..HybridReply::default() })
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
        [] => "nothing matches all of it, so any of its words may match".into(),
        kept => format!(
            "nothing matches all of it, so any of its words may match; {} still apply",
            kept.join(" and ")
        ),
    }
}
