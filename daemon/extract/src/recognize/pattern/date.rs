//! Date: `2024-03-12`, `12 March 2024`, `March 12, 2024`, `March 2024`, `Q3 2024`.
//!
//! In: a word. Out: a date that begins there, named in ISO form (`2024-03-12`, `2024-03`,
//! `2024-Q3`), so each day has one name.
//! Invariants: days are in range; a year has four digits, 1000 to 2999; looks at most three words
//! ahead.

use notes::date::english_month;

use super::Hit;
use crate::recognize::token::{Shape, View};
use model::terms::EntityType;

const SCORE: f32 = 0.95;

pub(super) fn read(view: View<'_>, i: usize) -> Option<Hit> {
    if view.shape(i).has(Shape::DIGIT) && !view.shape(i).has(Shape::CAPITAL) {
        return iso(view, i).or_else(|| day_first(view, i));
    }
    quarter(view, i).or_else(|| month_first(view, i))
}

fn iso(view: View<'_>, i: usize) -> Option<Hit> {
    let is_joined = view.gap_is(i, "-") && view.gap_is(i + 1, "-");
    if !is_joined || view.is_glued(i, i + 2) || view.word(i + 1).len() != 2 {
        return None;
    }
    let year = year(view, i)?;
    let month = number(view, i + 1, 12)?;
    // `2024-03-12T10:00` is the day, with a time.
    let day = view.word(i + 2).get(..2)?;
    let rest = view.word(i + 2).get(2..)?;
    let day: u32 = day.parse().ok().filter(|d| (1..=31).contains(d))?;
    (rest.is_empty() || rest.starts_with('T')).then(|| full(i, i + 2, year, month, day))
}

fn day_first(view: View<'_>, i: usize) -> Option<Hit> {
    if view.gap(i) != Some(" ") {
        return None;
    }
    let day = day(view, i)?;
    let month = month(view, i + 1)?;
    let is_parted = matches!(view.gap(i + 1), Some(" " | ", "));
    let year = if is_parted { year(view, i + 2)? } else { return None };
    Some(full(i, i + 2, year, month, day))
}

fn month_first(view: View<'_>, i: usize) -> Option<Hit> {
    if !view.shape(i + 1).is_number() && day(view, i + 1).is_none() {
        return None;
    }
    let month = month(view, i)?;
    if !matches!(view.gap(i), Some(" " | ". " | ", ")) {
        return None;
    }
    if let Some(year) = year(view, i + 1) {
        return Some(named(i, i + 1, format!("{year:04}-{month:02}")));
    }
    let day = day(view, i + 1)?;
    let is_parted = matches!(view.gap(i + 1), Some(" " | ", "));
    let year = if is_parted { year(view, i + 2)? } else { return None };
    Some(full(i, i + 2, year, month, day))
}

fn quarter(view: View<'_>, i: usize) -> Option<Hit> {
    let is_quarter = matches!(view.word(i), "Q1" | "Q2" | "Q3" | "Q4") && view.gap_is(i, " ");
    let year = if is_quarter { year(view, i + 1)? } else { return None };
    Some(named(i, i + 1, format!("{year:04}-{}", view.word(i))))
}

fn full(from: usize, to: usize, year: u32, month: u32, day: u32) -> Hit {
    named(from, to, format!("{year:04}-{month:02}-{day:02}"))
}

fn named(from: usize, to: usize, name: String) -> Hit {
    Hit { name: Some(name), ..Hit::firm(from, to, EntityType::Date, SCORE) }
}

fn number(view: View<'_>, i: usize, max: u32) -> Option<u32> {
    let is_short = view.shape(i).is_number() && view.word(i).len() <= 2;
    if !is_short {
        return None;
    }
    view.word(i).parse().ok().filter(|n| (1..=max).contains(n))
}

/// Returns a day of the month, written with or without `st`, `nd`, `rd` or `th`.
fn day(view: View<'_>, i: usize) -> Option<u32> {
    let word = view.word(i);
    let bare = word.strip_suffix("st").or_else(|| word.strip_suffix("nd"));
    let bare = bare.or_else(|| word.strip_suffix("rd")).or_else(|| word.strip_suffix("th"));
    let digits = bare.unwrap_or(word);
    let is_short = (1..=2).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_digit());
    if !is_short {
        return None;
    }
    digits.parse().ok().filter(|d| (1..=31).contains(d))
}

fn year(view: View<'_>, i: usize) -> Option<u32> {
    let is_year = view.shape(i).is_number() && view.word(i).len() == 4;
    if !is_year {
        return None;
    }
    view.word(i).parse().ok().filter(|y| (1000..3000).contains(y))
}

/// Returns the number of a capitalized month, written out or short.
fn month(view: View<'_>, i: usize) -> Option<u32> {
    let word = view.word(i);
    if !view.shape(i).has(Shape::CAPITAL) || !(3..=9).contains(&word.len()) {
        return None;
    }
    english_month(&word.to_ascii_lowercase()).map(|month| month as u32)
}
