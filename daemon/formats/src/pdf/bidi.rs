//! Right to left: converts the visual order of the characters on a line to reading order.
//!
//! In: the characters of one line from left to right. Out: the same in reading order.
//! Invariants: linear time; a line without right-to-left letters is returned unchanged.

use std::ops::Range;

/// True for letters written from right to left: Hebrew, Arabic and related scripts, and their presentation forms.
pub(super) fn is_right_to_left(char: char) -> bool {
    matches!(char, '\u{0590}'..='\u{08ff}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{feff}'
        | '\u{10800}'..='\u{10fff}' | '\u{1e800}'..='\u{1efff}')
        // Arabic digits are written from left to right.
        && !char.is_numeric()
}

#[derive(Clone, Copy, PartialEq)]
enum Class {
    Right,
    Left,
    Digit,
    Other,
}

fn class_of(char: char) -> Class {
    match char {
        _ if is_right_to_left(char) => Class::Right,
        _ if char.is_numeric() => Class::Digit,
        _ if char.is_alphabetic() => Class::Left,
        _ => Class::Other,
    }
}

/// True if at least half of the letters are written from right to left.
pub(super) fn reads_leftwards(chars: impl Iterator<Item = char>) -> bool {
    let (mut n_right, mut n_left) = (0, 0);
    for char in chars {
        match class_of(char) {
            Class::Right => n_right += 1,
            Class::Left => n_left += 1,
            _ => {}
        }
    }
    n_right > 0 && n_right >= n_left
}

/// Puts items that go from left to right into reading order; `char_of` returns the character of an item.
pub(super) fn into_reading_order<T>(items: &mut [T], char_of: impl Fn(&T) -> char) {
    let classes =
        |items: &[T]| items.iter().map(|item| class_of(char_of(item))).collect::<Vec<_>>();
    if !items.iter().any(|item| is_right_to_left(char_of(item))) {
        return;
    }
    if reads_leftwards(items.iter().map(&char_of)) {
        // The line as a whole runs leftwards; numbers and foreign words in it do not, so turn them back.
        items.reverse();
        let classes = classes(items);
        for run in runs(&classes, |class| matches!(class, Class::Left | Class::Digit)) {
            items.get_mut(run).into_iter().for_each(<[T]>::reverse);
        }
    } else {
        // The line runs rightwards; turn only its right-to-left words.
        let classes = classes(items);
        for run in runs(&classes, |class| class == Class::Right) {
            items.get_mut(run).into_iter().for_each(<[T]>::reverse);
        }
    }
}

/// Returns runs that begin and end with a member and contain only members and neutral characters: at most one between
/// two digits, at most three otherwise.
fn runs(classes: &[Class], is_member: impl Fn(Class) -> bool) -> Vec<Range<usize>> {
    let mut runs: Vec<Range<usize>> = Vec::new();
    let mut last: Option<(usize, Class)> = None;
    for (at, class) in classes.iter().copied().enumerate() {
        if is_member(class) {
            let goes_on = last.is_some_and(|(before, kind)| {
                let n_between = at - before - 1;
                let are_numbers = kind == Class::Digit && class == Class::Digit;
                n_between == 0 || if are_numbers { n_between == 1 } else { n_between <= 3 }
            });
            match runs.last_mut().filter(|_| goes_on) {
                Some(run) => run.end = at + 1,
                None => runs.push(at..at + 1),
            }
            last = Some((at, class));
        } else if class != Class::Other {
            // A letter of the other direction ends the run; neutral characters are decided by what follows.
            last = None;
        }
    }
    runs
}

/// Returns the other bracket of a pair.
pub(super) fn mirrored(char: char) -> char {
    match char {
        '(' => ')',
        ')' => '(',
        '[' => ']',
        ']' => '[',
        '{' => '}',
        '}' => '{',
        '«' => '»',
        '»' => '«',
        '<' => '>',
        '>' => '<',
        _ => char,
    }
}

#[cfg(test)]
mod tests {
    use super::into_reading_order;

    #[test]
    fn numbers_and_foreign_words_keep_their_own_direction() {
        // Each row: visual order from left to right, and reading order.
        let rows = [
            ("abc def", "abc def"),
            ("םולש", "שלום"),
            ("42 םולש", "שלום 42"),
            ("Rust 1.5 םולש", "שלום Rust 1.5"),
            ("the word םולש is Hebrew", "the word שלום is Hebrew"),
        ];
        for (stands, read) in rows {
            let mut chars: Vec<char> = stands.chars().collect();
            into_reading_order(&mut chars, |char| *char);
            assert_eq!(chars.into_iter().collect::<String>(), read);
        }
    }
}
