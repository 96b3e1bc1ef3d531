//! Choose: which plan answers a question, by rules.
//!
//! In: the question, how many things it names. Out: the plan, and why.
//! Invariants: a plan that needs names is chosen only if there are enough; otherwise it is the search.
//! Not here: a plan that was asked for (`mod.rs`).

use proto::tool::core::AskPlan;

use super::found::Picked;
use crate::kb::graph::words_of;
use crate::kb::planner::{CONNECTION, DECISION, TIMELINE, cues};

/// Words that ask for everything about a thing.
const SUMMARY: &str = "summar, overview, what is known, what do we know, what do you know, tell me about, \
    everything about, all about, who is, who was, who are, describe, what is, what are";

/// Words of a sentence that states a decision, or why.
const DECIDED: [&str; 16] = [
    "decid",
    "decision",
    "chose",
    "chosen",
    "agreed",
    "adopt",
    "reject",
    "instead of",
    "because",
    "rationale",
    "prefer",
    "supersed",
    "replaced",
    "switched to",
    "moved to",
    "settled on",
];

/// What a statement gains that says what was decided.
const BONUS: f64 = 0.3;

/// Chooses a plan for a question that names so many things.
pub(crate) fn choose(question: &str, n_names: usize) -> (AskPlan, String) {
    let folded = format!(" {} ", words_of(question).join(" "));
    // A cue may be the beginning of a word.
    let says = |list: &'static str| cues(list).find(|cue| folded.contains(&format!(" {cue}")));
    let because = |plan, cue: &str| (plan, format!("`{cue}`"));
    if let Some(cue) = says(CONNECTION).filter(|_| n_names > 1) {
        return (AskPlan::Path, format!("`{cue}` with two names that are known"));
    }
    if let Some(cue) = says(DECISION) {
        return because(AskPlan::Decisions, cue);
    }
    if let Some(cue) = says(TIMELINE) {
        return because(AskPlan::Timeline, cue);
    }
    if let Some(cue) = says(SUMMARY).filter(|_| n_names > 0) {
        return (AskPlan::Summary, format!("`{cue}` with a name that is known"));
    }
    (AskPlan::Search, "no cue for another plan".to_string())
}

/// Words that ask for steps.
const STEPS: [&str; 7] =
    ["how do ", "how to ", "how can ", "how are ", "how is ", "how should ", "steps "];

/// Whether a question asks how something is done.
pub(super) fn asks_how(question: &str) -> bool {
    let lower = question.trim_start().to_lowercase();
    STEPS.iter().any(|cue| lower.starts_with(cue))
}

/// What a statement gains in a question about decisions; 0 for one that states none.
pub(super) fn decides(it: &Picked) -> f64 {
    let lower = it.says.text.to_lowercase();
    let is_said = DECIDED.iter().any(|cue| lower.contains(cue));
    let is_headed = it.source.section.to_lowercase().contains("decision");
    if is_said || is_headed { BONUS } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_names_choose_the_plan() {
        for (question, n_names, plan) in [
            ("how are Ana and Billing related", 2, AskPlan::Path),
            ("how are Ana and Billing related", 1, AskPlan::Search),
            ("why did we choose SQLite", 0, AskPlan::Decisions),
            ("which decisions were made about keys", 1, AskPlan::Decisions),
            ("history of the billing service", 1, AskPlan::Timeline),
            ("who is Ana Silva", 1, AskPlan::Summary),
            ("who is responsible for keys", 0, AskPlan::Search),
            ("what do we know about Billing", 1, AskPlan::Summary),
            ("how do I rotate signing keys", 1, AskPlan::Search),
        ] {
            assert_eq!(choose(question, n_names).0, plan, "{question}");
        }
    }
}
