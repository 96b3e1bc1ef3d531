//! Sentences: where they end in one block of running text.
//!
//! In: the text of one block (paragraph, list item, quote). Out: the byte range of each sentence, trimmed.
//! Invariants: ranges are in order, do not overlap, lie on UTF-8 boundaries, and together hold every character that
//! is not whitespace; the time is linear in the text.
//! Rules are for English; other languages are split at their stops, and sometimes wrongly after an abbreviation.

use std::ops::Range;

/// Returns the sentences of one block of text, in order.
pub fn sentences(text: &str) -> Sentences<'_> {
    Sentences { text, at: 0 }
}

/// Iterator of [`sentences`].
#[derive(Debug, Clone)]
pub struct Sentences<'a> {
    text: &'a str,
    at: usize,
}

impl Iterator for Sentences<'_> {
    type Item = Range<usize>;

    fn next(&mut self) -> Option<Range<usize>> {
        let start = skip_whitespace(self.text, self.at);
        if start == self.text.len() {
            return None;
        }
        self.at = sentence_end(self.text, start);
        Some(start..start + self.text[start..self.at].trim_end().len())
    }
}

/// The kind of a run of stops, which decides what must follow for it to end a sentence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stop {
    /// One full stop, which may belong to an abbreviation.
    Period,
    /// Dots that may stand inside a sentence.
    Ellipsis,
    /// `!` or `?`.
    Mark,
    /// A stop of a script that writes no space after it, such as Chinese.
    Wide,
}

/// Returns the index after the last byte of the sentence that starts at `start`.
fn sentence_end(text: &str, start: usize) -> usize {
    let bytes = text.as_bytes();
    let mut at = start;
    while let Some(offset) = bytes[at..].iter().position(|&byte| MAY_STOP[usize::from(byte)]) {
        at += offset;
        if bytes[at] == b'\n' {
            // A line break inside a block is a wrapped line; two are a gap, which ends a sentence without a stop.
            let next = skip_whitespace(text, at);
            if bytes[at + 1..next].contains(&b'\n') {
                return at;
            }
            at = next;
            continue;
        }
        // Not a stop after all: the table knows only first bytes, and `’` begins like `…`.
        let Some((stops_end, stop)) = stop_run(text, at) else {
            at += char_at(text, at).map_or(1, char::len_utf8);
            continue;
        };
        let end = skip_while(text, stops_end, is_closer);
        if stop == Stop::Wide {
            return end;
        }
        let next = skip_whitespace(text, end);
        if next == text.len() {
            return end;
        }
        // A stop with no space after it is inside a word: `example.com`, `3.14`.
        if next > end
            && is_end(text, start, &Boundary { at, stop, end, is_closed: end > stops_end, next })
        {
            return end;
        }
        at = end;
    }
    text.len()
}

/// A place where a sentence may end.
struct Boundary {
    /// Where the stops begin.
    at: usize,
    stop: Stop,
    /// After the stops and the quotes and brackets that close with them.
    end: usize,
    /// True when there are such quotes and brackets.
    is_closed: bool,
    /// The next character that is not whitespace.
    next: usize,
}

fn is_end(text: &str, start: usize, boundary: &Boundary) -> bool {
    // A blank line after the stop always ends the sentence.
    if text.as_bytes()[boundary.end..boundary.next].iter().filter(|&&b| b == b'\n').count() > 1 {
        return true;
    }
    // A sentence does not begin with these: `(etc.), and`.
    if matches!(text.as_bytes()[boundary.next], b',' | b';' | b':' | b')' | b']' | b'}') {
        return false;
    }
    let rest = &text[skip_while(text, boundary.next, is_opener)..];
    let next_is_lower = rest.chars().next().is_some_and(char::is_lowercase);
    if (boundary.stop != Stop::Period || boundary.is_closed) && next_is_lower {
        // `"Stop!" he said`, `Wait... what`, `(ca.) ten`.
        return false;
    }
    boundary.stop != Stop::Period || period_ends(text, start, boundary.at, rest)
}

/// True when the single full stop at `at` ends the sentence that began at `start`; `rest` is the text after it.
fn period_ends(text: &str, start: usize, at: usize, rest: &str) -> bool {
    let bytes = text.as_bytes();
    let Some(word_start) = word_before(bytes, start, at) else { return true };
    let word = &text[word_start..at];
    let is_number = word.bytes().all(|byte| byte.is_ascii_digit());
    let is_letter = word.len() == 1 && !is_number;
    let stands_first = word_start == start || text[start..word_start].trim_end().ends_with(':');
    if stands_first && ((is_number && word.len() <= 3) || is_letter) {
        // `1. Install`, `Steps: 1. Install`, `a. Install`.
        return false;
    }
    // On the stack: every full stop comes here. `word_before` returns at most `MAX_ABBREVIATION_BYTES`.
    let mut lower = [0u8; MAX_ABBREVIATION_BYTES];
    let lower = &mut lower[..word.len()];
    lower.copy_from_slice(word.as_bytes());
    lower.make_ascii_lowercase();
    let is_in = |list: &[&str]| list.iter().any(|entry| entry.as_bytes() == lower);
    if is_in(&NEVER_LAST) {
        return false;
    }
    if is_in(&BEFORE_NUMBERS) {
        return !rest.starts_with(|c: char| c.is_ascii_digit());
    }
    if is_in(&SOMETIMES_LAST) {
        return rest.starts_with(char::is_uppercase);
    }
    let is_initial = is_letter && word.starts_with(|c: char| c.is_ascii_uppercase());
    if is_initial || is_dotted(word) {
        // `J. Smith`, `U.S. forces`: the stop ends a sentence only if a typical first word follows.
        let next_word = rest.split(|c: char| !c.is_alphanumeric()).next().unwrap_or("");
        return OPENING_WORDS.contains(&next_word);
    }
    true
}

/// Longest word that is looked up among the abbreviations, in bytes.
const MAX_ABBREVIATION_BYTES: usize = 12;

/// Returns where the word before the stop at `at` begins (ASCII letters, digits, dots). Returns `None` when there is
/// none, or when it cannot be an abbreviation: too long, or with other characters.
fn word_before(bytes: &[u8], start: usize, at: usize) -> Option<usize> {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'.';
    let floor = at.saturating_sub(MAX_ABBREVIATION_BYTES + 1).max(start);
    let length = bytes[floor..at].iter().rev().take_while(|&&byte| is_word(byte)).count();
    let word_start = at - length;
    // A byte that is not ASCII belongs to the same word: `año.` is not `o.`.
    let is_whole = word_start == start || bytes[word_start - 1].is_ascii();
    (length > 0 && length <= MAX_ABBREVIATION_BYTES && is_whole).then_some(word_start)
}

/// `U.S`, `a.m`, `Ph.D`: letters, one or two at a time, between dots.
fn is_dotted(word: &str) -> bool {
    word.contains('.')
        && word.split('.').all(|part| {
            (1..=2).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_alphabetic())
        })
}

/// Abbreviations that never end a sentence, lowercase, without their last stop.
const NEVER_LAST: [&str; 36] = [
    "e.g", "eg", "i.e", "ie", "cf", "vs", "viz", "ca", "approx", "resp", "incl", "excl", "esp",
    "dr", "mr", "mrs", "ms", "prof", "rev", "hon", "gen", "col", "capt", "lt", "sgt", "gov", "sen",
    "rep", "mt", "st", "ed", "eds", "est", "dept", "et", "aka",
];

/// Abbreviations when a number follows, ordinary words otherwise.
const BEFORE_NUMBERS: [&str; 31] = [
    "no", "nos", "nr", "fig", "figs", "sec", "sect", "ch", "chap", "vol", "p", "pp", "eq", "eqs",
    "art", "ver", "v", "tab", "jan", "feb", "mar", "apr", "jun", "jul", "aug", "sep", "sept",
    "oct", "nov", "dec", "par",
];

/// Abbreviations that end a sentence when a capital follows.
const SOMETIMES_LAST: [&str; 14] = [
    "etc", "inc", "ltd", "co", "corp", "jr", "sr", "al", "bros", "ave", "blvd", "llc", "min", "max",
];

/// Words that, capitalized after an initial or a dotted abbreviation, begin a new sentence.
const OPENING_WORDS: [&str; 48] = [
    "A", "After", "All", "Also", "An", "And", "As", "At", "Because", "Before", "But", "By", "Each",
    "Every", "For", "From", "He", "Her", "Here", "His", "How", "However", "If", "In", "It", "Its",
    "Most", "No", "Not", "On", "Our", "She", "Since", "So", "Some", "That", "The", "Their", "Then",
    "There", "These", "They", "This", "Those", "To", "We", "When", "You",
];

/// Bytes at which a sentence may end: ASCII stops, line feeds, and the first bytes of other stops.
static MAY_STOP: [bool; 256] = may_stop();

const fn may_stop() -> [bool; 256] {
    let mut table = [false; 256];
    let bytes = [b'.', b'!', b'?', b'\n', 0xd8, 0xe0, 0xe2, 0xe3, 0xef];
    let mut i = 0;
    while i < bytes.len() {
        table[bytes[i] as usize] = true;
        i += 1;
    }
    table
}

/// Returns the end and kind of the stops that begin at `at`; `None` when there are none.
fn stop_run(text: &str, at: usize) -> Option<(usize, Stop)> {
    let mut end = at;
    let mut weight = None;
    for character in text[at..].chars() {
        let stop = match character {
            '.' if weight.is_none() => Stop::Period,
            '.' | '…' => Stop::Ellipsis,
            '!' | '?' | '؟' | '।' | '‼' | '⁇' | '⁈' | '⁉' => Stop::Mark,
            '。' | '！' | '？' | '｡' | '．' => Stop::Wide,
            _ => break,
        };
        weight = Some(weight.map_or(stop, |so_far| heavier(so_far, stop)));
        end += character.len_utf8();
    }
    weight.map(|stop| (end, stop))
}

fn heavier(a: Stop, b: Stop) -> Stop {
    let rank = |stop| match stop {
        Stop::Period => 0,
        Stop::Ellipsis => 1,
        Stop::Mark => 2,
        Stop::Wide => 3,
    };
    if rank(a) >= rank(b) { a } else { b }
}

fn is_closer(character: char) -> bool {
    matches!(
        character,
        '"' | '\''
            | '”'
            | '’'
            | '»'
            | '›'
            | ')'
            | ']'
            | '}'
            | '」'
            | '』'
            | '）'
            | '*'
            | '_'
            | '`'
    )
}

fn is_opener(character: char) -> bool {
    matches!(
        character,
        '"' | '\'' | '“' | '‘' | '«' | '‹' | '(' | '[' | '{' | '*' | '_' | '`' | '¿' | '¡'
    )
}

fn char_at(text: &str, at: usize) -> Option<char> {
    text[at..].chars().next()
}

fn skip_while(text: &str, from: usize, is_skipped: impl Fn(char) -> bool) -> usize {
    text.len() - text[from..].trim_start_matches(is_skipped).len()
}

fn skip_whitespace(text: &str, from: usize) -> usize {
    skip_while(text, from, char::is_whitespace)
}

#[cfg(test)]
mod tests;
