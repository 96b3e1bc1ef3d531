//! Words: where a word ends that may announce a secret.
//!
//! In: a text. Out: the places and meanings of such words: last words of labels (`label.rs`), programs (`command.rs`),
//! the first lines of key files (`key.rs`).
//!
//! A text has a word end about every six bytes. Those of 63 bytes are found with a few operations on machine words,
//! and the last three bytes before each are looked up in a bit set. Few are in it, and only those are compared.
//! Scripts without blanks between words are searched as a whole, where they occur.
//! Invariant: linear; a text without such words costs about a nanosecond a byte.

use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, MatchKind};
use rustc_hash::FxHashMap;

use super::command::{COMMANDS, Command};
use super::label::{LABELS, Label, is_ideographic};

/// Bytes classified at once, one bit each. The last only shows whether the one before ends a word.
const WINDOW_BYTES: usize = 64;

/// What a word may announce.
#[derive(Clone, Copy)]
pub(super) enum Meaning {
    /// The last word of these labels.
    Labels(&'static [Label]),
    /// `-----BEGIN`.
    KeyFile,
    /// A program.
    Command(&'static Command),
}

/// Every such word with its meaning; a program may occur several times.
pub(super) struct Words {
    words: Vec<(String, Meaning)>,
    /// Indexes of words by their last three bytes.
    by_end: FxHashMap<[u8; 3], Vec<usize>>,
    /// A bit set of the hashes of `by_end`'s keys.
    bits: Vec<u64>,
    /// Finds the words of scripts without blanks, whose indexes are in `ideographic`.
    finder: Option<AhoCorasick>,
    ideographic: Vec<usize>,
}

/// The words of the tables.
pub(super) static WORDS: LazyLock<Words> = LazyLock::new(|| {
    let mut words: Vec<(String, Meaning)> = vec![("begin".to_string(), Meaning::KeyFile)];
    words.extend(COMMANDS.iter().map(|it| (it.program.to_string(), Meaning::Command(it))));
    for (word, labels) in &LABELS.by_last_word {
        // Comparing ignores case by setting a bit, which is right for ASCII only; other words are listed in each
        // case.
        let mut letters = word.chars();
        let first = letters.next().into_iter().flat_map(char::to_uppercase);
        let capital: String = first.chain(letters).collect();
        let mut cases = vec![word.clone(), word.to_uppercase(), capital];
        cases.retain(|it| it == word || !word.is_ascii());
        cases.sort();
        cases.dedup();
        words.extend(cases.into_iter().map(|it| (it, Meaning::Labels(labels))));
    }
    Words::new(words)
});

impl Words {
    fn new(words: Vec<(String, Meaning)>) -> Words {
        let mut out = Words {
            words,
            by_end: FxHashMap::default(),
            bits: vec![0; 1 << 10],
            finder: None,
            ideographic: Vec::new(),
        };
        let mut texts = Vec::new();
        for (index, (word, _)) in out.words.iter().enumerate() {
            if word.ends_with(is_ideographic) {
                out.ideographic.push(index);
                texts.push(word.clone());
                continue;
            }
            for end in ends_of(word) {
                let hash = hash_of(end);
                if let Some(bits) = out.bits.get_mut(hash / 64) {
                    *bits |= 1 << (hash % 64);
                }
                out.by_end.entry(end).or_default().push(index);
            }
        }
        let finder = AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(texts);
        out.finder = finder.ok();
        out
    }

    /// Calls `look` with the place after every word of the table, and its meaning.
    pub(super) fn each(&self, text: &str, mut look: impl FnMut(usize, Meaning)) {
        let bytes = text.as_bytes();
        each_word_end(bytes, |end| {
            let last = last_three(bytes, end);
            let hash = hash_of(last);
            if self.bits.get(hash / 64).is_none_or(|bits| bits >> (hash % 64) & 1 == 0) {
                return;
            }
            let Some(indexes) = self.by_end.get(&last) else { return };
            for (word, meaning) in indexes.iter().filter_map(|i| self.words.get(*i)) {
                // The word end is that of the plural, one byte later.
                let is_plural = matches!(bytes.get(end - 1), Some(b's' | b'S'));
                if ends_with(bytes, end, word) {
                    look(end, *meaning);
                } else if is_plural && ends_with(bytes, end - 1, word) {
                    look(end - 1, *meaning);
                }
            }
        });
        let is_ideograph = |byte: &u8| (0xe3..=0xef).contains(byte);
        // Without an early exit, so that the compiler can vectorize the loop.
        if !bytes.iter().fold(false, |any, byte| any | is_ideograph(byte)) {
            return;
        }
        let hits = self.finder.iter().flat_map(|finder| finder.find_iter(text));
        for hit in hits {
            let index = self.ideographic.get(hit.pattern().as_usize());
            if let Some((_, meaning)) = index.and_then(|i| self.words.get(*i)) {
                look(hit.end(), *meaning);
            }
        }
    }
}

/// Returns the last three bytes, with the case bit set, that may precede the end of a word or of its plural.
fn ends_of(word: &str) -> Vec<[u8; 3]> {
    let bytes = word.as_bytes();
    let plural = [bytes, b"s"].concat();
    let mut ends = Vec::new();
    for word in [bytes, &plural] {
        match word.last_chunk::<3>() {
            Some(end) => ends.push(end.map(|byte| byte | 0x20)),
            // A word of two letters may follow any byte.
            None => ends.extend((0..=255_u8).map(|first| {
                let byte = |i: usize| word.get(i).copied().unwrap_or(b' ');
                [first | 0x20, byte(0) | 0x20, byte(1) | 0x20]
            })),
        }
    }
    ends.sort_unstable();
    ends.dedup();
    ends
}

fn last_three(bytes: &[u8], end: usize) -> [u8; 3] {
    let byte =
        |n: usize| end.checked_sub(n).and_then(|i| bytes.get(i)).map_or(b' ', |byte| byte | 0x20);
    [byte(3), byte(2), byte(1)]
}

fn hash_of(end: [u8; 3]) -> usize {
    let [a, b, c] = end.map(u32::from);
    ((a << 16 | b << 8 | c).wrapping_mul(0x9e37_79b1) >> 16) as usize
}

fn ends_with(bytes: &[u8], end: usize, word: &str) -> bool {
    let from = end.checked_sub(word.len());
    from.and_then(|from| bytes.get(from..end))
        .is_some_and(|it| it.eq_ignore_ascii_case(word.as_bytes()))
}

/// Calls `look` with every place after a letter that no letter follows, or where a capital follows a lowercase
/// letter.
fn each_word_end(bytes: &[u8], mut look: impl FnMut(usize)) {
    let mut at = 0;
    while at < bytes.len() {
        let (letters, capitals) = letters_in(bytes.get(at..).unwrap_or(&[]));
        let small = letters & !capitals;
        let mut ends = letters & !(letters >> 1) | small & (capitals >> 1);
        // The neighbor of the last byte is in the next window.
        ends &= !(1 << (WINDOW_BYTES - 1));
        while ends != 0 {
            look(at + ends.trailing_zeros() as usize + 1);
            // Clears the lowest set bit.
            ends &= ends - 1;
        }
        at += WINDOW_BYTES - 1;
    }
}

/// Returns which of the first 64 bytes are letters (all bytes beyond ASCII count as such) and which are capitals; the
/// first is the lowest bit.
fn letters_in(bytes: &[u8]) -> (u64, u64) {
    const ONES: u64 = u64::MAX / 255;
    const HIGH: u64 = ONES * 0x80;
    let mut padded = [b' '; WINDOW_BYTES];
    let window = bytes.first_chunk::<WINDOW_BYTES>().unwrap_or_else(|| {
        padded.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
        &padded
    });
    // The highest bit of each byte tells whether the other seven are at least some number.
    let at_least = |word: u64, least: u8| (word & !HIGH) + ONES * u64::from(0x80 - least);
    // The multiplication collects the eight bits in the highest byte, in order.
    let packed = |bits: u64| ((bits & HIGH) >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56;
    let (mut letters, mut capitals) = (0, 0);
    for (i, word) in window.as_chunks::<8>().0.iter().enumerate() {
        let word = u64::from_le_bytes(*word);
        let small = word | (ONES * 0x20);
        let mut letter = at_least(small, b'a') & !at_least(small, b'z' + 1) | word;
        // Blanks and punctuation beyond ASCII begin with one of these three bytes; letters hardly ever do.
        if word & HIGH != 0 {
            let is = |byte: u8| {
                let others = word ^ (ONES * u64::from(byte));
                !(((others & !HIGH) + (HIGH - ONES)) | others)
            };
            letter &= !(is(0xc2) | is(0xe2) | is(0xef));
        }
        let capital = at_least(word, b'A') & !at_least(word, b'Z' + 1) & !word;
        letters |= packed(letter) << (i * 8);
        capitals |= packed(capital) << (i * 8);
    }
    (letters, capitals)
}

#[cfg(test)]
mod tests {
    use super::{WORDS, each_word_end};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_end_of_a_word_is_found(text in "([a-z]{1,9}|[A-Z]{1,3}|[ _0-9:é：“\u{a0}\n]{1,2}){0,40}") {
            let bytes = text.as_bytes();
            let mut found = Vec::new();
            each_word_end(bytes, |end| found.push(end));
            let is_mark = |byte: &u8| matches!(byte, 0xc2 | 0xe2 | 0xef);
            let is_letter = |byte: &u8| byte.is_ascii_alphabetic() || !byte.is_ascii() && !is_mark(byte);
            let is_end = |end: &usize| {
                let (last, next) = (&bytes[end - 1], bytes.get(*end));
                is_letter(last)
                    && (!next.is_some_and(is_letter)
                        || !last.is_ascii_uppercase() && next.is_some_and(u8::is_ascii_uppercase))
            };
            prop_assert_eq!(found, (1..=bytes.len()).filter(is_end).collect::<Vec<_>>());
        }
    }

    #[test]
    fn words_are_found_in_any_case_and_number() {
        for text in [
            "password",
            "DB_PASSWORDS=",
            "adminPass ",
            "Пароль:",
            "ПАРОЛЬ",
            "密码是",
            "contraseña",
            "a_pw:",
            "Kennwörter passwörter",
        ] {
            let mut n = 0;
            WORDS.each(text, |_, _| n += 1);
            assert!(n > 0, "{text}");
        }
    }
}
