//! Runs: neighboring capitalized words, the raw material of proper names.
//!
//! In: the words of a block. Out: its runs, without function words at either end.
//! Invariants: the words of a run are separated by one space, line break or ` & `; none is in code,
//! and no border lies between them; only the first may begin a sentence; linear in the words.

use super::token::{Shape, View};
use super::words;

/// Words `from..=to` of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Run {
    pub(super) from: usize,
    pub(super) to: usize,
    /// Whether the run begins a sentence, so that its first capital proves nothing.
    pub(super) is_first: bool,
}

impl Run {
    pub(super) fn n_words(self) -> usize {
        self.to + 1 - self.from
    }
}

/// Months and weekdays, which date the name after them (`January Rotation Day`).
const CALENDAR: &str = " January February March April May June July August September October \
     November December Monday Tuesday Wednesday Thursday Friday Saturday Sunday ";

/// Small words inside the names of people.
pub(super) const PARTICLES: [&str; 8] = ["de", "da", "di", "der", "van", "von", "la", "bin"];

fn is_calendar(word: &str) -> bool {
    CALENDAR.split(' ').any(|listed| !listed.is_empty() && listed == word)
}

/// Returns the run that begins at word `i`, and where to continue. There is no run if only function
/// words, months and weekdays are left.
pub(super) fn run_at(view: View<'_>, i: usize) -> (Option<Run>, usize) {
    let is_part = |at: usize| {
        let shape = view.shape(at);
        shape.has(Shape::CAPITAL) && !shape.has(Shape::CODE) && !shape.has(Shape::UNDERSCORE)
    };
    if !is_part(i) {
        return (None, i + 1);
    }
    let is_joined = |at: usize| {
        matches!(view.gap(at), Some(" " | "\n" | " & "))
            && !view.shape(at + 1).has(Shape::FIRST.or(Shape::PARTED))
    };
    let is_particle = |at: usize| view.shape(at).is_quiet() && PARTICLES.contains(&view.word(at));
    let mut to = i;
    loop {
        if is_joined(to) && is_part(to + 1) {
            to += 1;
        } else if is_joined(to) && is_particle(to + 1) && is_joined(to + 1) && is_part(to + 2) {
            to += 2;
        } else {
            break;
        }
    }
    let next = to + 1;
    let mut from = i;
    while from <= to && (words::is_function_word(view.word(from)) || is_calendar(view.word(from))) {
        from += 1;
    }
    while to > from && words::is_function_word(view.word(to)) {
        to -= 1;
    }
    let is_first = from == i && view.shape(i).has(Shape::FIRST);
    ((from <= to).then_some(Run { from, to, is_first }), next)
}
