//! Choose: selects the plan that answers a question, by rules.
//!
//! In: the question and what is known about the names in it. Out: the plan, the reason, and the
//! question without the words that selected the plan: `history of the Key Store` becomes a timeline
//! of `the Key Store`.
//! The first cue wins, with two conditions: a path needs two known names, and a summary needs a
//! known name that covers all or most of the question. If the condition fails, the next cue is tried;
//! the search comes last.

use proto::tool::core::AskPlan;

use crate::kb::graph::words_of;
use crate::kb::planner::{CONNECTION, DECISION, LISTING, TIMELINE, cues};
use crate::quote::statement;

/// Words that ask for everything about a subject.
const SUMMARY: &str = "summar, overview, what is known, what do we know, what do you know, tell me about, \
    everything about, all about, describe";

/// Words that ask what a thing is, unless they ask for an attribute: `what is the password of the
/// office`.
const IDENTITY: &str = "what is, what are, what was, who is, who was, who are";

/// Words that ask for steps: the first list only at the beginning, the second anywhere.
const STEPS_FIRST: &str = "how are, how is";
const STEPS: &str = "how do, how to, how can, how should, how does one, steps, procedure, instructions, \
    walk me through, checklist";

/// Words that ask for a decision without saying what it is about.
pub(super) const ASKING: &str = "decide decided decision choose chose chosen choice rationale reason reasons supersede \
    superseded instead switch switched change changed evolve evolved come came story history agree agreed";

/// Phrases of a sentence that states a decision.
const DECIDED: [&str; 13] = [
    "decided",
    "decision",
    "chose ",
    "chosen",
    "agreed",
    "adopted",
    "rejected",
    "supersede",
    "switched to",
    "settled on",
    "opted for",
    "we will ",
    "we go with",
];

/// Phrases of a sentence that gives a reason.
const REASONS: [&str; 6] = ["because", "since ", "so that", "in order to", "rationale", "reason"];

/// A plan, the reason for it, and what it has to answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Choice {
    pub plan: AskPlan,
    pub reason: String,
    /// The question without the words that ask for the plan; empty if nothing meaningful is left.
    pub rest: String,
}

impl Choice {
    /// A plan that the caller chose.
    pub(super) fn given(plan: AskPlan, question: &str) -> Choice {
        let words = Words::of(question);
        let lists: &[&'static str] = match plan {
            AskPlan::Decisions => &[DECISION],
            AskPlan::Timeline => &[TIMELINE],
            AskPlan::Summary => &[SUMMARY, IDENTITY],
            _ => &[],
        };
        let cue = lists.iter().find_map(|list| words.cue(list));
        Choice { plan, reason: "it was asked for".to_string(), rest: words.beside(plan, cue) }
    }
}

/// Returns whether a question asks how two things are related, provided it names two.
pub(crate) fn connects(question: &str) -> bool {
    Words::of(question).cue(CONNECTION).is_some()
}

/// Chooses a plan for a question with this many known names. `has_subject` returns whether one of
/// them covers the rest of a question, wholly or mostly.
pub(crate) fn choose(
    question: &str,
    n_names: usize,
    has_subject: impl Fn(&str, Share) -> bool,
) -> Choice {
    let words = Words::of(question);
    let whole = || question.to_string();
    if let Some(cue) = words.cue(CONNECTION).filter(|_| n_names > 1) {
        let reason = format!("`{}` with two names that are known", cue.text);
        return Choice { plan: AskPlan::Path, reason, rest: whole() };
    }
    let first = words.cue(STEPS_FIRST).filter(|cue| cue.at <= 1);
    let mut found: Vec<(Cue, AskPlan, Share)> = Vec::new();
    found.extend(first.or(words.cue(STEPS)).map(|cue| (cue, AskPlan::Search, Share::Most)));
    for (list, plan, share) in [
        (DECISION, AskPlan::Decisions, Share::Most),
        (TIMELINE, AskPlan::Timeline, Share::Most),
        (SUMMARY, AskPlan::Summary, Share::Most),
        (IDENTITY, AskPlan::Summary, Share::All),
    ] {
        found.extend(words.cue(list).map(|cue| (cue, plan, share)));
    }
    found.sort_by_key(|(cue, ..)| cue.at);
    for (cue, plan, share) in found {
        let rest = words.beside(plan, Some(cue));
        let reason = match plan {
            AskPlan::Search => format!("`{}` asks for steps", cue.text),
            AskPlan::Summary => format!("`{}` with a name that is known", cue.text),
            _ => format!("`{}`", cue.text),
        };
        match plan {
            AskPlan::Search => return Choice { plan, reason, rest: whole() },
            AskPlan::Summary if !has_subject(&rest, share) => continue,
            _ => return Choice { plan, reason, rest },
        }
    }
    Choice { plan: AskPlan::Search, reason: "no cue for another plan".to_string(), rest: whole() }
}

/// How much of a question its subject must cover.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Share {
    All,
    Most,
}

/// A cue found in a question.
#[derive(Debug, Clone, Copy)]
struct Cue {
    text: &'static str,
    /// Byte offset in the folded words.
    at: usize,
}

/// The words of a question, as written and folded.
struct Words<'q> {
    written: Vec<(&'q str, usize)>,
    folded: String,
    has_phrase: bool,
}

impl<'q> Words<'q> {
    fn of(question: &'q str) -> Self {
        let (mut written, mut folded) = (Vec::new(), " ".to_string());
        for word in question.split_whitespace() {
            written.push((word, folded.len()));
            words_of(word).iter().for_each(|it| folded += &format!("{it} "));
        }
        Words { written, folded, has_phrase: question.contains('"') }
    }

    /// Returns the first cue of a list in the question; a cue may be a prefix of a word.
    fn cue(&self, list: &'static str) -> Option<Cue> {
        let place = |text: &'static str| {
            let at = self.folded.find(&format!(" {text}"))? + 1;
            Some(Cue { text, at })
        };
        cues(list).filter_map(place).min_by_key(|cue| cue.at)
    }

    /// Returns the words that carry meaning: the question without the cue and the other words that
    /// only ask for a plan.
    fn beside(&self, plan: AskPlan, cue: Option<Cue>) -> String {
        let asking = statement::words_of(ASKING);
        let only_asks = |word: &str| {
            let lists = cues(LISTING).any(|it| words_of(word).iter().eq([it]));
            let words = statement::words_of(word);
            lists || plan == AskPlan::Decisions && !words.is_empty() && words.is_subset(&asking)
        };
        // A quoted phrase is a single condition, so nothing may be cut out of it.
        if matches!(plan, AskPlan::Search | AskPlan::Path) || self.has_phrase {
            return self.text(|_, _| true);
        }
        let of_cue = cue.map_or(0..0, |cue| cue.at..cue.at + cue.text.len());
        let rest = self.text(|word, at| !of_cue.contains(&at) && !only_asks(word));
        match statement::words_of(&rest).is_empty() && !rest.contains(|c: char| c.is_ascii_digit())
        {
            true => String::new(),
            false => rest,
        }
    }

    fn text(&self, keeps: impl Fn(&str, usize) -> bool) -> String {
        let kept = self.written.iter().filter(|(word, at)| keeps(word, *at)).map(|(word, _)| *word);
        kept.collect::<Vec<_>>().join(" ")
    }
}

/// Returns whether a text has no word that carries meaning.
pub(super) fn has_no_content(text: &str) -> bool {
    statement::words_of(text).is_empty() && !text.contains(|c: char| c.is_ascii_digit())
}

/// Returns whether a question asks how something is done.
pub(super) fn asks_how(question: &str) -> bool {
    let words = Words::of(question);
    words.cue(STEPS).is_some() || words.cue(STEPS_FIRST).is_some_and(|cue| cue.at <= 1)
}

/// Returns whether a question asks why.
pub(super) fn asks_why(question: &str) -> bool {
    Words::of(question).cue("why, rationale, reason").is_some()
}

/// Returns whether a sentence states that something was decided.
pub(super) fn decides(text: &str) -> bool {
    let lower = text.to_lowercase();
    DECIDED.iter().any(|cue| lower.contains(cue))
}

/// Returns whether a sentence gives a reason.
pub(super) fn gives_reason(text: &str) -> bool {
    let lower = text.to_lowercase();
    REASONS.iter().any(|cue| lower.contains(cue))
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
            ("what are the steps to rotate signing keys", 1, AskPlan::Search),
            ("what is the history of Billing", 1, AskPlan::Timeline),
            ("what did we decide about the steps of a release", 1, AskPlan::Decisions),
            ("how do we decide who is on call", 0, AskPlan::Search),
            ("what is the password of the Office", 1, AskPlan::Search),
        ] {
            let names = ["Ana Silva", "Billing", "the Office"];
            let is_all = |rest: &str| names.contains(&rest);
            let has = |rest: &str, share| n_names > 0 && (share == Share::Most || is_all(rest));
            assert_eq!(choose(question, n_names, has).plan, plan, "{question}");
        }
    }

    #[test]
    fn what_is_asked_is_left_without_the_words_that_ask_for_a_plan() {
        for (question, plan, rest) in [
            (
                "which decisions were made about the timeout?",
                AskPlan::Decisions,
                "which were about the timeout?",
            ),
            ("list all decisions", AskPlan::Decisions, ""),
            ("why did we choose SQLite", AskPlan::Decisions, "we SQLite"),
            ("history of the Key Store", AskPlan::Timeline, "the Key Store"),
            ("what happened on 2026-02-14", AskPlan::Timeline, "on 2026-02-14"),
            ("Summarize Billing", AskPlan::Summary, "Billing"),
            ("tell me about Billing", AskPlan::Summary, "Billing"),
            ("Billing", AskPlan::Summary, "Billing"),
            ("how are keys rotated", AskPlan::Search, "how are keys rotated"),
        ] {
            assert_eq!(Choice::given(plan, question).rest, rest, "{question}");
        }
    }
}
