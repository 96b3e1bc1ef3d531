//! Personal data: numbers, addresses and names of people.
//!
//! In: a text and the requested kinds. Out: places and kinds, in order, without overlap.
//! Invariants: numbers with a check digit are found only if it is right; other digits need a word before them that
//! says what they are; patterns do not backtrack, so that any text takes linear time.
//! There is no statistical model: names of people are found only by titles, introductions and common first names.

mod address;
mod check;
mod national;
mod network;
mod numbers;
mod person;

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

/// How far before a number a word may be that says what it is, in bytes.
const CONTEXT_BYTES: usize = 48;

/// A kind of personal data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// An e-mail address.
    Email,
    /// The number of a payment card.
    Card,
    /// The number of a bank account.
    Iban,
    /// A number that a state assigns to a person.
    NationalId,
    /// An IP address.
    Ip,
    /// A telephone number.
    Phone,
    /// A street with a number.
    Address,
    /// A postal code.
    Zip,
    /// A host or URL.
    Domain,
    /// A name.
    Person,
}

impl Kind {
    /// Every kind; where two overlap, the earlier one wins.
    pub const ALL: [Kind; 10] = [
        Kind::Email,
        Kind::Card,
        Kind::Iban,
        Kind::NationalId,
        Kind::Ip,
        Kind::Phone,
        Kind::Address,
        Kind::Zip,
        Kind::Domain,
        Kind::Person,
    ];

    /// Returns its name in settings, marks and counts.
    pub fn as_str(self) -> &'static str {
        match self {
            Kind::Email => "email",
            Kind::Card => "card",
            Kind::Iban => "iban",
            Kind::NationalId => "national_id",
            Kind::Ip => "ip",
            Kind::Phone => "phone",
            Kind::Address => "address",
            Kind::Zip => "zip",
            Kind::Domain => "domain",
            Kind::Person => "person",
        }
    }
}

/// A pattern, compiled at its first use. `None` cannot happen with a fixed pattern; tests verify it.
type Pattern = LazyLock<Option<Regex>>;

/// Compiles a pattern.
fn pattern(text: &str) -> Option<Regex> {
    Regex::new(text).ok()
}

/// Returns every match of a pattern that `is_one` accepts.
fn matches<'a>(
    text: &'a str,
    pattern: &'a Pattern,
    is_one: impl Fn(&str, &Range<usize>) -> bool + 'a,
) -> impl Iterator<Item = Range<usize>> + 'a {
    let found = pattern.as_ref().into_iter().flat_map(move |pattern| pattern.find_iter(text));
    found.map(|it| it.range()).filter(move |range| is_one(text, range))
}

/// Returns places and kinds of the personal data of `wanted` kinds.
pub fn personal_data_in(text: &str, wanted: impl Fn(Kind) -> bool) -> Vec<(Range<usize>, Kind)> {
    let mut all: Vec<(Range<usize>, Kind)> = Vec::new();
    for kind in Kind::ALL.into_iter().filter(|kind| wanted(*kind)) {
        let found = match kind {
            Kind::Email => network::emails(text),
            Kind::Ip => network::addresses(text),
            Kind::Domain => network::hosts(text),
            Kind::Card => numbers::cards(text),
            Kind::Iban => numbers::ibans(text),
            Kind::Phone => numbers::phones(text),
            Kind::NationalId => national::ids(text),
            Kind::Address => address::streets(text),
            Kind::Zip => address::postal_codes(text),
            Kind::Person => person::names(text),
        };
        all.extend(found.into_iter().map(|range| (range, kind)));
    }
    // By place; of overlapping finds the earlier kind wins, and within a kind the longer.
    all.sort_by_key(|(range, kind)| (range.start, *kind, std::cmp::Reverse(range.end)));
    let mut out: Vec<(Range<usize>, Kind)> = Vec::with_capacity(all.len());
    for next in all {
        match out.last() {
            Some((last, kind)) if next.0.start < last.end => {
                if next.1 < *kind {
                    out.pop();
                    out.push(next);
                }
            }
            _ => out.push(next),
        }
    }
    out
}

/// True when one of `words` (lowercase) is shortly before a place, as a whole word.
fn is_announced(text: &str, place: usize, words: &[&str]) -> bool {
    let from = text.ceil_char_boundary(place.saturating_sub(CONTEXT_BYTES));
    let before = text.get(from..place).unwrap_or("").to_lowercase();
    words.iter().any(|word| {
        before.match_indices(word).any(|(at, _)| {
            let is_letter = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
            let (head, tail) = (before.get(..at), before.get(at + word.len()..));
            !is_letter(head.and_then(|it| it.chars().next_back()))
                && !is_letter(tail.and_then(|it| it.chars().next()))
        })
    })
}

/// True when a range is not part of a longer word or number: no letter or digit touches it, nor one of `joints` that
/// connects it with another digit.
fn stands_alone(text: &str, range: &Range<usize>, joints: &[u8]) -> bool {
    let bytes = text.as_bytes();
    let is_word = |byte: Option<&u8>| {
        byte.is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'_' || *b >= 0x80)
    };
    let at = |i: Option<usize>| i.and_then(|i| bytes.get(i));
    let before = range.start.checked_sub(1);
    let is_joint = |byte: Option<&u8>| byte.is_some_and(|byte| joints.contains(byte));
    let led =
        is_joint(at(before)) && at(range.start.checked_sub(2)).is_some_and(u8::is_ascii_digit);
    let followed =
        is_joint(at(Some(range.end))) && at(Some(range.end + 1)).is_some_and(u8::is_ascii_digit);
    !is_word(at(before)) && !is_word(at(Some(range.end))) && !led && !followed
}

/// Returns the digits of a text as numbers.
fn digits_of(text: &str) -> Vec<u8> {
    text.bytes().filter(u8::is_ascii_digit).map(|byte| byte - b'0').collect()
}

#[cfg(test)]
mod tests;
