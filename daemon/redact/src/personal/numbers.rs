//! Numbers of cards, bank accounts and telephones.

use std::ops::Range;
use std::sync::LazyLock;

use notes::lists::WordLists;

use super::check::{luhn, mod97};
use super::{Pattern, digits_of, is_announced, matches, pattern, stands_alone};

static LISTS: LazyLock<WordLists> = LazyLock::new(|| WordLists::parse(include_str!("numbers.tsv")));
static CARD: Pattern = LazyLock::new(|| pattern(r"[1-6][0-9]{3}(?:[ -]?[0-9]{2,6}){2,4}"));
static IBAN: Pattern =
    LazyLock::new(|| pattern(r"(?i)[A-Z]{2}[0-9]{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,4})?"));
/// A plus sign or parentheses, or groups of digits.
static PHONE: Pattern = LazyLock::new(|| {
    pattern(concat!(
        r"(?:(?:\+|\b00)[1-9][0-9]{0,2}[ .\-/]?)?(?:\(\+?[0-9]{1,5}\)[ .\-/]?)?[0-9]{1,5}(?:[ .\-/]?[0-9]{1,5}",
        r"){1,6}(?: ?(?:x|ext\.?|#) ?[0-9]{1,6})?",
    ))
});

/// Returns payment cards: 12 to 19 digits with a valid check digit, of a known issuer or after a word for a card.
pub(super) fn cards(text: &str) -> Vec<Range<usize>> {
    let is_card = |text: &str, range: &Range<usize>| {
        let digits = digits_of(text.get(range.clone()).unwrap_or(""));
        let is_known = || {
            let is_announced_so = is_announced(text, range.start, LISTS.words("card"));
            is_issuer(&digits) || (digits.len() >= 12 && is_announced_so)
        };
        (12..=19).contains(&digits.len())
            && stands_alone(text, range, b"-.")
            && luhn(&digits)
            && is_known()
    };
    matches(text, &CARD, is_card).collect()
}

/// True for the first digits of the card networks, with the lengths that they use.
fn is_issuer(digits: &[u8]) -> bool {
    let head = digits.iter().take(4).fold(0_u32, |sum, digit| sum * 10 + u32::from(*digit));
    matches!(
        (head, digits.len()),
        (4000..=4999, 13 | 16 | 19)
            | (5100..=5599 | 2221..=2720, 16)
            | (3400..=3499 | 3700..=3799, 15)
            | (3000..=3059 | 3600..=3699 | 3800..=3999, 14..=19)
            | (6011 | 6440..=6599, 16..=19)
            | (3528..=3589, 16..=19)
            | (1800 | 2131, 15)
            | (5000..=5099 | 5600..=5899 | 6000..=6999, 13..=19)
            | (2200..=2204, 16)
    )
}

/// Returns IBANs of the right length for their country with valid check digits.
pub(super) fn ibans(text: &str) -> Vec<Range<usize>> {
    let mut out = Vec::new();
    for found in matches(text, &IBAN, |_, _| true) {
        let shown = text.get(found.clone()).unwrap_or("");
        let compact: Vec<u8> = shown.bytes().filter(|byte| *byte != b' ').collect();
        let country = shown.get(..2).unwrap_or_default().to_ascii_uppercase();
        let length = LISTS.words("iban").iter().find_map(|it| it.strip_prefix(&country));
        let Some(length) = length.and_then(|it| it.parse().ok()) else { continue };
        // The pattern allows blanks, so it may have included the next word: cut at the country's length.
        let mut n_seen = 0;
        let cut = shown.bytes().position(|byte| {
            n_seen += usize::from(byte != b' ');
            n_seen == length
        });
        let Some(end) = cut.map(|at| found.start + at + 1) else { continue };
        let range = found.start..end;
        if compact.get(..length).is_some_and(mod97) && stands_alone(text, &range, b"") {
            out.push(range);
        }
    }
    out
}

/// Returns telephone numbers: with a country code or an area code in parentheses, in the form of North America, in
/// groups that begin with 0, or after a word for a telephone.
pub(super) fn phones(text: &str) -> Vec<Range<usize>> {
    let is_phone = |text: &str, range: &Range<usize>| {
        let shown = text.get(range.clone()).unwrap_or("");
        let n_digits = shown.bytes().filter(u8::is_ascii_digit).count();
        let core = shown.split(['x', '#', 'e']).next().unwrap_or(shown).trim_end();
        let groups: Vec<usize> = core
            .split(|c: char| !c.is_ascii_digit())
            .filter(|it| !it.is_empty())
            .map(str::len)
            .collect();
        if !(6..=21).contains(&n_digits)
            || !stands_alone(text, range, b".-/:,")
            || is_like_date(core)
        {
            return false;
        }
        // Digits alone are numbers of many kinds, so the last two cases consider the words before them.
        let has_sign = shown.starts_with('+') || preceded_by_plus(text, range);
        let is_nanp = matches!(groups.as_slice(), [3, 3, 4] | [1, 3, 3, 4]) && !core.contains('/');
        let is_trunk = core.starts_with('0') && groups.len() >= 3 && (9..=12).contains(&n_digits);
        let is_announced_so = || is_announced(text, range.start, LISTS.words("phone"));
        let is_other = || is_announced(text, range.start, LISTS.words("other"));
        (has_sign && n_digits >= 8)
            || (shown.contains('(') && n_digits >= 8 && groups.len() >= 2)
            || is_nanp
            || (is_trunk && !is_other())
            || ((7..=15).contains(&n_digits) && is_announced_so())
    };
    matches(text, &PHONE, is_phone).map(|range| with_plus(text, range)).collect()
}

fn preceded_by_plus(text: &str, range: &Range<usize>) -> bool {
    text.get(..range.start).is_some_and(|before| before.ends_with('+'))
}

fn with_plus(text: &str, range: Range<usize>) -> Range<usize> {
    if preceded_by_plus(text, &range) { range.start - 1..range.end } else { range }
}

/// `2024-01-31`, `31.01.2024`, `12.30.59`, and ranges of years.
fn is_like_date(core: &str) -> bool {
    let groups: Vec<&str> = core.split(['-', '.', '/', ' ']).collect();
    let is_year = |it: &str| it.len() == 4 && (it.starts_with("19") || it.starts_with("20"));
    match groups.as_slice() {
        [year, month, day, ..] if is_year(year) => month.len() == 2 && day.len() == 2,
        [day, month, year] if is_year(year) => day.len() <= 2 && month.len() <= 2,
        [first, second] => is_year(first) && is_year(second),
        _ => false,
    }
}
