//! Date: days, months and years in a text, in any of the usual forms.
//!
//! In: words. Out: [`Named`]: `2023-05-07`, `2023/05/07`, `7 May 2023`, `May 7th, 2023`, `May 2023`, `7 May`, `May`,
//! `2023`.
//! Invariant: ambiguous words are not dates: `may` and `march` alone are months only after a word such as `in`.

use crate::parse::MONTHS;

/// Words before `may` or `march` that make it a month.
const BEFORE_MONTH: &[&str] = &[
    "in", "last", "since", "of", "this", "early", "late", "mid", "by", "until", "during", "next",
    "before", "after", "on", "previous",
];

/// A day, month or year. A missing part matches any.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Named {
    /// 1900 to 2099.
    pub year: Option<i16>,
    /// From 1.
    pub month: Option<i8>,
    /// From 1.
    pub day: Option<i8>,
}

/// Splits a lowercase text into words, in the form that [`read`] takes.
pub fn words(lower: &str) -> Vec<&str> {
    lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect()
}

/// Reads a date that begins with the first word. Also returns how many words it takes; at least one, even without a
/// date, so that a loop over the words advances.
pub fn read(words: &[&str], before: Option<&str>) -> (Option<Named>, usize) {
    let word = |at: usize| words.get(at).copied().unwrap_or_default();
    let named = |year, month, day| Some(Named { year, month, day });
    // Longer forms first: `May 2023` also begins with a month alone.
    if let (Some(year), Some(month), Some(day)) =
        (year(word(0)), number(word(1), 12), number(word(2), 31))
    {
        return (named(Some(year), Some(month), Some(day)), 3);
    }
    if let (Some(day), Some(month)) = (day(word(0)), month(word(1))) {
        return match year(word(2)) {
            Some(year) => (named(Some(year), Some(month), Some(day)), 3),
            None => (named(None, Some(month), Some(day)), 2),
        };
    }
    if let Some(month) = month(word(0)) {
        if let Some(year) = year(word(1)) {
            return (named(Some(year), Some(month), None), 2);
        }
        if let Some(day) = day(word(1)) {
            return match year(word(2)) {
                Some(year) => (named(Some(year), Some(month), Some(day)), 3),
                None => (named(None, Some(month), Some(day)), 2),
            };
        }
        let is_sure = !matches!(word(0), "may" | "march")
            || before.is_some_and(|before| BEFORE_MONTH.contains(&before));
        return (named(None, Some(month), None).filter(|_| is_sure), 1);
    }
    (year(word(0)).and_then(|year| named(Some(year), None, None)), 1)
}

/// Returns the first complete day in a text, in ISO form.
pub fn first_day(text: &str) -> Option<String> {
    if !may_have_year(text) {
        return None;
    }
    let lower = text.to_lowercase();
    let words = words(&lower);
    let mut rest = words.as_slice();
    while !rest.is_empty() {
        let (found, n_words) = read(rest, None);
        if let Some(Named { year: Some(year), month: Some(month), day: Some(day) }) = found {
            return Some(format!("{year:04}-{month:02}-{day:02}"));
        }
        rest = rest.get(n_words..).unwrap_or_default();
    }
    None
}

/// True if four digits in a row may be a year: most texts have none, and need not be split into words.
fn may_have_year(text: &str) -> bool {
    let is_year = |four: &[u8]| {
        matches!(four, [b'1', b'9', ..] | [b'2', b'0', ..]) && four.iter().all(u8::is_ascii_digit)
    };
    text.as_bytes().windows(4).any(is_year)
}

fn number(word: &str, most: i8) -> Option<i8> {
    let is_short = (1..=2).contains(&word.len()) && word.bytes().all(|it| it.is_ascii_digit());
    word.parse().ok().filter(|n| is_short && (1..=most).contains(n))
}

/// Reads a day of the month, with or without `st`, `nd`, `rd`, `th`.
fn day(word: &str) -> Option<i8> {
    let bare = ["st", "nd", "rd", "th"].iter().find_map(|ending| word.strip_suffix(ending));
    number(bare.unwrap_or(word), 31)
}

fn year(word: &str) -> Option<i16> {
    word.parse().ok().filter(|year| word.len() == 4 && (1900..2100).contains(year))
}

/// Reads a month, in full or by its first three letters.
fn month(word: &str) -> Option<i8> {
    let is_it = |name: &&str| *name == word || word.len() == 3 && name.starts_with(word);
    MONTHS.iter().position(is_it).map(|at| at as i8 + 1)
}

#[cfg(test)]
mod tests {
    use super::first_day;

    #[test]
    fn the_first_whole_date_is_the_day_of_a_text() {
        for (text, day) in [
            ("1:56 pm on 8 May, 2023", Some("2023-05-08")),
            ("2023/05/20 (Sat) 02:21", Some("2023-05-20")),
            ("In May 2023 we left, back on June 3rd, 2023", Some("2023-06-03")),
            ("2024-02-29T10:00", None),
            ("2024-02-29 10:00", Some("2024-02-29")),
            ("in May 2023", None),
            ("Port 8080, 12 of 30", None),
        ] {
            assert_eq!(first_day(text).as_deref(), day, "{text}");
        }
    }
}
