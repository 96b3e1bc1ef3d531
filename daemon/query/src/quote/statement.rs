//! Statement: one sentence of a text, in a form that shows whether another says the same.
//!
//! In: text. Out: its sentences, with the stems of their content words, their numbers, and whether
//! they are denials. Whether two exclude each other is for `claim.rs` to say.

use std::collections::BTreeSet;
use std::ops::Range;

use extract::chunk::sentences;
use index::words::Indexer;

use crate::is_stop_word;

/// Fewest words and most characters of a sentence that may answer.
const MIN_WORDS: usize = 3;
const MAX_CHARS: usize = 500;

/// Most sentences of one text that are considered.
const MAX_OF_TEXT: usize = 200;

/// Share of common words from which on two sentences are the same.
const THE_SAME: f64 = 0.8;

/// Words of denial.
const DENIALS: [&str; 8] = ["not", "no", "never", "cannot", "without", "neither", "nor", "none"];

/// A sentence.
#[derive(Debug, Clone)]
pub(crate) struct Statement {
    /// Its words, on one line.
    pub text: String,
    /// Its bytes in the text.
    pub range: Range<usize>,
    pub words: BTreeSet<String>,
    numbers: BTreeSet<String>,
    denials: usize,
}

impl Statement {
    /// Returns the sentences of a text that are long enough to be meaningful and short enough to
    /// quote.
    pub(crate) fn all_of(text: &str) -> Vec<Statement> {
        let ranges = sentences(text).flat_map(|range| by_line(text, range));
        let found = ranges.filter_map(|range| {
            let sentence = without_id(text.get(range.clone())?);
            let sentence = sentence.split_whitespace().collect::<Vec<_>>().join(" ");
            let words = sentence.split(' ').filter(|it| it.chars().any(char::is_alphabetic));
            let is_short = words.count() < MIN_WORDS;
            (!is_short && sentence.chars().count() <= MAX_CHARS)
                .then(|| Statement::new(without_marks(&sentence).to_string(), range))
        });
        found.take(MAX_OF_TEXT).collect()
    }

    /// Parses a sentence.
    pub(crate) fn new(text: String, range: Range<usize>) -> Self {
        let lower = text.to_lowercase();
        let plain = lower.split(|c: char| !c.is_alphanumeric() && c != '\'' && c != '’');
        let is_denial =
            |it: &&str| DENIALS.contains(it) || it.ends_with("n't") || it.ends_with("n’t");
        let denials = plain.filter(is_denial).count();
        Statement {
            words: words_of(&without_numerals(&text)),
            numbers: numbers_of(&text),
            text,
            range,
            denials,
        }
    }

    /// Returns the share of two statements' words that they have in common, 0 to 1.
    pub(crate) fn likeness(&self, other: &Statement) -> f64 {
        let both = self.words.intersection(&other.words).count();
        both as f64 / (self.words.len() + other.words.len() - both).max(1) as f64
    }

    /// Returns whether two statements say the same.
    pub(crate) fn repeats(&self, other: &Statement) -> bool {
        self.likeness(other) >= THE_SAME
            && self.numbers == other.numbers
            && self.denials == other.denials
    }
}

/// Numbers as words: 0 to 19, then 20 to 90.
const UNITS: &str = "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen \
                     sixteen seventeen eighteen nineteen";
const TENS: &str = "twenty thirty forty fifty sixty seventy eighty ninety";
const MULTIPLES: [(&str, u64); 2] = [("hundred", 100), ("thousand", 1_000)];

/// Returns what a word adds to a number that is written as words.
pub(super) fn numeral(word: &str) -> Option<u64> {
    let at = |list: &str| list.split(' ').position(|it| it == word).map(|at| at as u64);
    at(UNITS).or_else(|| Some(20 + 10 * at(TENS)?))
}

fn is_numeral(word: &str) -> bool {
    let lower = word.to_lowercase();
    numeral(&lower).is_some() || MULTIPLES.iter().any(|it| it.0 == lower)
}

fn without_numerals(text: &str) -> String {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|it| !is_numeral(it));
    words.collect::<Vec<_>>().join(" ")
}

/// Returns the numbers of a sentence, as digits: `seventy-two` is 72.
fn numbers_of(text: &str) -> BTreeSet<String> {
    let lower = text.to_lowercase();
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '.' | ':' | '%');
    let mut numbers = BTreeSet::new();
    let mut spelled: Option<u64> = None;
    for word in lower.split(|c: char| !is_part(c)).chain([""]) {
        let word = word.trim_end_matches(['.', ':']);
        if let Some(n) = numeral(word) {
            spelled = Some(spelled.unwrap_or(0) + n);
            continue;
        }
        if let (Some(n), Some(it)) = (spelled, MULTIPLES.iter().find(|it| it.0 == word)) {
            spelled = Some(n.saturating_mul(it.1));
            continue;
        }
        // `one` is more often a pronoun.
        numbers.extend(spelled.take().filter(|n| *n != 1).map(|n| n.to_string()));
        if word.starts_with(|c: char| c.is_ascii_digit()) {
            numbers.insert(word.to_string());
        }
    }
    numbers
}

/// Splits a sentence at line ends, which normalized text has only between blocks, items and rows.
fn by_line(text: &str, range: Range<usize>) -> Vec<Range<usize>> {
    let mut start = range.start;
    let lines = text.get(range).unwrap_or("").split_inclusive('\n');
    let parts = lines.map(|line| {
        let part = start..start + line.len();
        start += line.len();
        part
    });
    parts.collect()
}

/// Strips the number that notes give to a fact: ` ^o12`.
pub(crate) fn without_id(text: &str) -> &str {
    let text = text.trim_end();
    match text.rsplit_once(" ^") {
        Some((words, id))
            if !id.is_empty() && id.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-') =>
        {
            words
        }
        _ => text,
    }
}

/// Returns the stems of the content words of a text.
pub(crate) fn words_of(text: &str) -> BTreeSet<String> {
    let mut indexer = Indexer::new();
    let mut out = String::new();
    let is_content = |word: &&str| {
        let lower = word.to_lowercase();
        let is_word = lower.starts_with(char::is_alphabetic);
        is_word && !is_stop_word(&lower) && !DENIALS.contains(&lower.as_str())
    };
    let plain = text.split(|c: char| !c.is_alphanumeric()).filter(is_content);
    let plain: Vec<&str> = plain.collect();
    indexer.index(&plain.join(" "), true, &mut out);
    out.split_whitespace().map(str::to_string).collect()
}

/// Strips the list marker and category of an observation: `- [fact] likes teal` becomes `likes
/// teal`.
pub(crate) fn without_marks(sentence: &str) -> &str {
    let Some(item) = ["- ", "* ", "+ "].iter().find_map(|mark| sentence.strip_prefix(mark)) else {
        return sentence;
    };
    let category = item.strip_prefix('[').and_then(|rest| rest.split_once("] "));
    match category {
        Some((name, rest)) if !name.is_empty() && !name.contains(['[', ']']) => rest,
        _ => item,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn statements_of(text: &str) -> Vec<String> {
        Statement::all_of(text).into_iter().map(|it| it.text).collect()
    }

    #[test]
    fn items_are_statements() {
        let list =
            "Bob\n[preference] Bob likes tea ^o1\n[preference] Bob likes coffee, not tea ^o2";
        assert_eq!(
            statements_of(list),
            ["[preference] Bob likes tea", "[preference] Bob likes coffee, not tea"]
        );
        let written = "- [preference] Bob likes tea\n- Bob likes [coffee] too";
        assert_eq!(statements_of(written), ["Bob likes tea", "Bob likes [coffee] too"]);
    }
}
