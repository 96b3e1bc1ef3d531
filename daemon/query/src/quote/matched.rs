//! Matched: which words of a question a text contains, and where.
//!
//! In: a text, the folded words of a question. Out: places, or one bit per word.

use rustc_hash::FxHashSet;

use index::words::{folded, humps};
use model::terms::{gram_length, is_word_char};

/// Returns the places where a word of the question starts, with its number. Words match by prefix,
/// so that `rotation` matches `rotate`; parts of a CamelCase word, too; in scripts without spaces,
/// words match anywhere.
pub(super) fn word_hits(text: &str, words: &[String]) -> Vec<(usize, usize)> {
    let asked: Vec<QuestionTerm> = words.iter().map(|word| QuestionTerm::of(word)).collect();
    let (mut hits, mut run, mut start) = (Vec::new(), Vec::new(), None);
    for (at, c) in text.char_indices().chain([(text.len(), ' ')]) {
        match (start, is_word_char(c)) {
            (None, true) => start = Some(at),
            (Some(from), false) => {
                let word = text.get(from..at).unwrap_or("");
                match gram_length(word) {
                    Some(_) => hits.extend(inner_hits(word, words).map(|(at, n)| (from + at, n))),
                    None => {
                        let parts: Vec<_> = humps(word).map(|part| (from, folded(part))).collect();
                        hits.extend(run_hits(&parts, &asked));
                        run.push((from, folded(word)));
                    }
                }
                start = None;
            }
            _ => {}
        }
    }
    hits.extend(run_hits(&run, &asked));
    // A compound that never occurs as a whole is found by its first specific word.
    let found: FxHashSet<usize> = hits.iter().map(|(_, n)| *n).collect();
    for (n, one) in asked.iter().enumerate().filter(|(n, _)| !found.contains(n)) {
        let Some(first) = one.first_specific() else { continue };
        hits.extend(run.iter().filter(|(_, word)| word.starts_with(first)).map(|(at, _)| (*at, n)));
    }
    hits.sort_unstable();
    hits
}

/// A word or compound of the question.
struct QuestionTerm {
    whole: String,
    /// The prefixes of its words; numbers are whole.
    parts: Vec<String>,
}

impl QuestionTerm {
    fn of(word: &str) -> Self {
        QuestionTerm { whole: word.into(), parts: word.split(' ').map(stem).collect() }
    }

    /// Returns whether a text continues with it: with its words in order, or with all of them
    /// joined.
    fn begins(&self, text: &[(usize, String)]) -> bool {
        let mut words = text.iter();
        let mut fits = |part: &String| {
            words.next().is_some_and(|(_, word)| match is_number(part) {
                true => word == part,
                false => word.starts_with(part.as_str()),
            })
        };
        self.parts.iter().all(&mut fits) || self.is_joined_of(text)
    }

    /// Matches `keyrotationjob` with `key-rotation job`.
    fn is_joined_of(&self, text: &[(usize, String)]) -> bool {
        let mut rest = self.whole.as_str();
        for (_, word) in text {
            match rest.strip_prefix(word.as_str()) {
                Some("") => return true,
                Some(left) => rest = left,
                None => return false,
            }
        }
        false
    }

    /// Returns the prefix of a compound's first word that is neither a number nor short.
    fn first_specific(&self) -> Option<&str> {
        let parts = self.parts.get(..).filter(|parts| parts.len() > 1)?;
        let mut specific = parts.iter().filter(|part| part.len() >= 3 && !is_number(part));
        specific.next().map(String::as_str)
    }
}

fn is_number(word: &str) -> bool {
    word.bytes().all(|byte| byte.is_ascii_digit())
}

/// Returns where words of the question start in consecutive words.
fn run_hits(run: &[(usize, String)], asked: &[QuestionTerm]) -> Vec<(usize, usize)> {
    let mut hits = Vec::new();
    for (i, (at, _)) in run.iter().enumerate() {
        let rest = run.get(i..).unwrap_or_default();
        hits.extend(asked.iter().position(|one| one.begins(rest)).map(|n| (*at, n)));
    }
    hits
}

/// Returns which of the question's words a text contains, one bit each; only the first 64 count.
pub(crate) fn matched(text: &str, words: &[String]) -> u64 {
    word_hits(text, words)
        .iter()
        .fold(0, |found, (_, n)| found | 1_u64.checked_shl(*n as u32).unwrap_or(0))
}

/// Returns the places of the question's grams in a run without spaces.
fn inner_hits(run: &str, words: &[String]) -> impl Iterator<Item = (usize, usize)> {
    let grams = words.iter().enumerate().filter(|(_, word)| gram_length(word).is_some());
    grams.flat_map(move |(n, gram)| run.match_indices(gram.as_str()).map(move |(at, _)| (at, n)))
}

/// Returns the prefix by which a word matches.
fn stem(word: &str) -> String {
    let n = word.chars().count();
    let is_whole = n <= 5 || is_number(word);
    word.chars().take(if is_whole { n } else { n - 2 }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_found_as_typed_by_part_and_joined() {
        let rows: &[(&str, &str, u64)] = &[
            ("in 2013 came 1.2.3 out", "1 2 3", 1),
            ("in 2013 came 1.2 out", "1 2 3", 0),
            ("the KeyRotationJob runs", "rotation", 1),
            ("the KeyRotationJob runs", "key rotation", 1),
            ("a key-rotation job", "keyrotationjob", 1),
            ("key rotations", "keyrotationjob", 0),
            ("call getUserById", "user id", 0),
            ("a dose that rises", "dose dependent", 1),
            ("version 10", "1", 0),
        ];
        for (text, word, held) in rows {
            assert_eq!(matched(text, &[(*word).to_string()]), *held, "{word} in {text}");
        }
    }
}
