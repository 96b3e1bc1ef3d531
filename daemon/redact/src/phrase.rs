//! Phrases: the words of a wallet by BIP-39, 12 to 24 from a list of 2,048.
//!
//! In: a text. Out: the ranges of phrases with a valid checksum, and of those that a label announces.
//! Invariant: a bounded number of bytes around a place is read.

use std::ops::Range;
use std::sync::LazyLock;

use rustc_hash::FxHashMap;
use sha2::{Digest, Sha256};

const LIST: &str = include_str!("../../../config/bip39_english.txt");

/// Numbers of words that a phrase may have, the largest first.
const LENGTHS: [usize; 5] = [24, 21, 18, 15, 12];

/// Most white space, numbers and punctuation between two words of an announced phrase, in bytes.
const MAX_GAP_BYTES: usize = 6;

/// The words with their numbers.
static WORDS: LazyLock<FxHashMap<&'static str, u16>> =
    LazyLock::new(|| LIST.lines().filter(|line| !line.starts_with('#')).zip(0..).collect());

/// Returns the phrase that begins at `start`; its checksum is not verified, since a label announces it.
pub(super) fn announced(text: &str, start: usize) -> Option<Range<usize>> {
    let mut ends = Vec::new();
    let mut first = None;
    let mut at = start;
    while ends.len() < 24 {
        let rest = text.as_bytes().get(at..)?;
        let gap = rest
            .iter()
            .take(MAX_GAP_BYTES + 2)
            .take_while(|byte| !byte.is_ascii_alphabetic())
            .count();
        let word =
            rest.get(gap..)?.iter().take(9).take_while(|byte| byte.is_ascii_alphabetic()).count();
        let word = at + gap..at + gap + word;
        let known = text.get(word.clone()).map(str::to_ascii_lowercase);
        if gap > MAX_GAP_BYTES || !known.is_some_and(|it| WORDS.contains_key(it.as_str())) {
            break;
        }
        first.get_or_insert(word.start);
        ends.push(word.end);
        at = word.end;
    }
    let n = LENGTHS.into_iter().find(|n| *n <= ends.len())?;
    let range = first?..*ends.get(n - 1)?;
    (!is_example(text.get(range.clone())?)).then_some(range)
}

/// Returns phrases with a valid checksum around 32 bytes that may be inside one.
pub(super) fn phrases_around(text: &str, from: usize) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    if may_lie_inside(text, from)
        && let Some(stretch) = stretch_around(text, from)
    {
        look(text, stretch, &mut found);
    }
    found
}

/// Returns false when no phrase overlaps at least half of the 32 bytes from `from` on: otherwise the first or the
/// last whole word there would be in the list. (Even the shortest phrase overlaps one of the checked places by that
/// much.) This skips most prose, which would cost reading 720 bytes for every 32.
fn may_lie_inside(text: &str, from: usize) -> bool {
    let Some(bytes) = text.as_bytes().get(from..from + 32) else { return false };
    let mut words = bytes.split(|byte| matches!(byte, b' ' | b'\n'));
    // The first and the last may be parts of words.
    let _ = (words.next(), words.next_back());
    let first = words.next();
    [first, words.next_back().or(first)].into_iter().flatten().any(|word| {
        let bare = word.strip_suffix(b",").unwrap_or(word).to_ascii_lowercase();
        std::str::from_utf8(&bare).is_ok_and(|bare| WORDS.contains_key(bare))
    })
}

/// Returns the stretch of letters with single blanks, or commas and blanks, around 32 bytes from `from` on.
fn stretch_around(text: &str, from: usize) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let is_inside = |byte: &u8| byte.is_ascii_alphabetic() || matches!(byte, b' ' | b'\n' | b',');
    if !bytes.get(from..from + 32)?.iter().all(is_inside) {
        return None;
    }
    let n_before = bytes.get(..from)?.iter().rev().take(240).take_while(|it| is_inside(it)).count();
    let n_after = bytes.get(from..)?.iter().take(480).take_while(|it| is_inside(it)).count();
    Some(from - n_before..from + n_after)
}

/// Adds the phrases of a stretch.
fn look(text: &str, stretch: Range<usize>, found: &mut Vec<Range<usize>>) {
    let Some(words) = text.get(stretch.clone()) else { return };
    let mut at = stretch.start;
    let mut numbers: Vec<Option<(u16, Range<usize>)>> = Vec::new();
    for word in words.split([' ', '\n']) {
        let bare = word.strip_suffix(',').unwrap_or(word);
        let number = WORDS.get(bare.to_ascii_lowercase().as_str());
        numbers.push(number.map(|number| (*number, at..at + bare.len())));
        at += word.len() + 1;
    }
    // Only within runs of words that are all in the list; `None` separates runs.
    for run in numbers.split(Option::is_none) {
        let run: Vec<&(u16, Range<usize>)> = run.iter().flatten().collect();
        let mut from = 0;
        while let Some(rest) = run.get(from..).filter(|rest| rest.len() >= 12) {
            let sound = LENGTHS.into_iter().filter_map(|n| rest.get(..n)).find(|words| {
                let numbers: Vec<u16> = words.iter().map(|it| it.0).collect();
                holds(&numbers)
            });
            let range = sound.and_then(|words| Some(words.first()?.1.start..words.last()?.1.end));
            match range.filter(|range| text.get(range.clone()).is_some_and(|it| !is_example(it))) {
                Some(range) => {
                    found.push(range);
                    from += sound.map_or(1, <[_]>::len);
                }
                None => from += 1,
            }
        }
    }
}

/// True when the checksum of a phrase is valid: its last bits equal the first bits of the SHA-256 of the others
/// (BIP-39).
fn holds(numbers: &[u16]) -> bool {
    let n_check = numbers.len() * 11 / 33;
    let n_data = numbers.len() * 11 - n_check;
    let bit = |i: usize| numbers.get(i / 11).map_or(0, |number| number >> (10 - i % 11) & 1) as u8;
    let byte = |i: usize| (0..8).fold(0, |byte, n| byte << 1 | bit(i * 8 + n));
    let data: Vec<u8> = (0..n_data / 8).map(byte).collect();
    let first = Sha256::digest(&data).first().copied().unwrap_or(0);
    let check = (0..n_check).fold(0, |check, n| check << 1 | bit(n_data + n));
    first >> (8 - n_check) == check
}

/// True for examples with few different words, such as the standard's own `abandon abandon … about`.
fn is_example(phrase: &str) -> bool {
    let mut words: Vec<&str> =
        phrase.split(|c: char| !c.is_ascii_alphabetic()).filter(|it| !it.is_empty()).collect();
    let n = words.len();
    words.sort_unstable();
    words.dedup();
    words.len() * 2 < n
}

#[cfg(test)]
mod tests {
    use super::{LIST, WORDS, holds, is_example, phrases_around};

    #[test]
    fn the_list_is_whole() {
        assert_eq!(WORDS.len(), 2048);
        assert_eq!((WORDS["abandon"], WORDS["zoo"]), (0, 2047));
        assert!(WORDS.keys().all(|word| (3..=8).contains(&word.len())));
    }

    #[test]
    fn the_shortest_phrase_is_found_wherever_it_lies_in_prose() {
        let short: Vec<&str> = LIST.lines().filter(|word| word.len() == 3).collect();
        let mut phrase: Vec<&str> = short.iter().copied().step_by(7).take(12).collect();
        let is_sound =
            |phrase: &[&str]| holds(&phrase.iter().map(|it| WORDS[it]).collect::<Vec<_>>());
        phrase[11] = short
            .iter()
            .find(|last| is_sound(&[&phrase[..11], &[**last]].concat()))
            .expect("one word in sixteen fits");
        let phrase = phrase.join(" ");
        assert_eq!(phrase.len(), 47);
        for n_before in 0..64 {
            let before = "whom ".repeat(20);
            let text = format!("{} {phrase} whom it whom it whom it whom it", &before[n_before..]);
            let mut places = (0..text.len()).step_by(32);
            let is_found = places.any(|from| !phrases_around(&text, from).is_empty());
            assert!(is_found, "{n_before}: {text}");
        }
    }

    #[test]
    fn the_checksum_is_that_of_the_standard() {
        let numbers = |phrase: &str| phrase.split(' ').map(|word| WORDS[word]).collect::<Vec<_>>();
        let legal = "legal winner thank year wave sausage worth useful legal winner thank yellow";
        assert!(holds(&numbers(legal)));
        assert!(!holds(&numbers(&legal.replace("yellow", "year"))));
        assert!(is_example(&"abandon ".repeat(11)));
    }
}
