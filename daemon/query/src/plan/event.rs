//! Event: a time given by an event: `before the trip to Rome`, `since she moved`.
//!
//! In: a question as typed. Out: [`Event`]: whether the time is before or after it, and its words.
//! Invariants: a date is not an event (`when.rs` reads those), nor is a word without meaning.

use super::question::Question;
use super::when::When;

/// Side of the event on which the time lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Before,
    After,
}

/// Words that introduce an event.
const SIDES: [(&str, Side); 4] = [
    ("before", Side::Before),
    ("until", Side::Before),
    ("after", Side::After),
    ("since", Side::After),
];

/// An event relative to which a time is given.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Event {
    pub side: Side,
    /// Its words, as a question.
    pub words: Question,
}

impl Event {
    /// Parses the last event of a question, up to the next period or comma.
    pub(crate) fn of(question: &str) -> Option<Event> {
        let word_at = |(at, word): (usize, &str)| {
            let side = SIDES.iter().find(|(it, _)| word.eq_ignore_ascii_case(it))?.1;
            Some((side, at + word.len()))
        };
        let (side, end) = words_of(question).filter_map(word_at).last()?;
        let rest = question.get(end..)?.split([',', ';', '?', '!']).next()?.trim();
        let words = Question::new(rest);
        let is_specific = !words.terms.is_empty() && words.typed.is_none();
        (is_specific && !words.is_foreign && When::of(rest).is_empty())
            .then_some(Event { side, words })
    }
}

/// Splits a text at whitespace; returns the words with their offsets.
fn words_of(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let parts = text.split_inclusive(char::is_whitespace).scan(0, |at, part| {
        let start = *at;
        *at += part.len();
        Some((start, part.trim_end()))
    });
    parts.filter(|(_, word)| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_what_stands_behind_a_word_of_time() {
        for (question, expected) in [
            ("What did Ann buy before the trip to Rome?", Some((Side::Before, "trip rome"))),
            ("After the audit, who had the keys?", Some((Side::After, "audit"))),
            ("what has changed since she moved", Some((Side::After, "moved"))),
            ("what did Ann buy before May 2023?", None),
            ("who was there before", None),
            ("who came after me", None),
            ("the aftermath of it", None),
        ] {
            let event = Event::of(question);
            let found = event.as_ref().map(|it| (it.side, it.words.words.join(" ")));
            let found = found.as_ref().map(|(side, words)| (*side, words.as_str()));
            assert_eq!(found, expected, "{question}");
        }
    }
}
