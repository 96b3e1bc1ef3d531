//! Version: `v2.3`, `2.3.1`, `1.2.3-rc1`, and `2.3` after the word version.
//!
//! In: a word with a digit. Out: a version that begins there, named with its `v`, so `2.3.1` and
//! `v2.3.1` are one.
//! Invariants: two parts need a `v` or the word before them; four parts are an address; so neither
//! 3.14 nor 1.2.3.4 is a version.

use super::Hit;
use crate::recognize::token::{Shape, View};
use model::terms::EntityType;

const SCORE: f32 = 0.9;
/// Longest part, in digits; longer numbers are counts or addresses.
const MAX_DIGITS: usize = 5;

pub(super) fn read(view: View<'_>, i: usize) -> Option<Hit> {
    let word = view.word(i);
    let digits = word.strip_prefix(['v', 'V']).unwrap_or(word);
    let has_mark = digits.len() < word.len();
    let is_number = |part: &str| {
        (1..=MAX_DIGITS).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_digit())
    };
    if !is_number(digits)
        || matches!(view.byte_before(i), b'.' | b'-' | b'/' | b'_' | b'@' | b'$' | b'#')
    {
        return None;
    }
    let mut to = i;
    while to < i + 3 && view.gap_is(to, ".") && is_number(view.word(to + 1)) {
        to += 1;
    }
    let n_parts = to - i + 1;
    let follows_word = i > 0
        && view.gap_is(i - 1, " ")
        && matches!(view.word(i - 1), "version" | "Version" | "versions" | "v");
    if !(n_parts == 3 || (n_parts == 2 && (has_mark || follows_word))) {
        return None;
    }
    to = with_suffix(view, to);
    let (mut after, rest) = (view.after(to).bytes(), view.after(to));
    let goes_on = match after.next() {
        Some(b'.' | b'-') => after.next().is_some_and(|b| b.is_ascii_alphanumeric()),
        Some(b'%' | b'/' | b':') => !rest.starts_with(": "),
        _ => false,
    };
    let surface = view.run(i, to);
    let name = format!("v{}", surface.trim_start_matches(['v', 'V']));
    (!goes_on).then(|| Hit { name: Some(name), ..Hit::firm(i, to, EntityType::Version, SCORE) })
}

/// Extends a version by its suffix: `-rc1`, `-beta.2`.
fn with_suffix(view: View<'_>, mut to: usize) -> usize {
    let is_label = |at: usize| {
        let shape = view.shape(at);
        !shape.has(Shape::UPPER) && !shape.has(Shape::UNDERSCORE) && shape.has(Shape::LOWER)
    };
    if view.gap_is(to, "-") && is_label(to + 1) && view.word(to + 1).len() <= 10 {
        to += 1;
        if view.gap_is(to, ".") && view.shape(to + 1).is_number() {
            to += 1;
        }
    }
    to
}
