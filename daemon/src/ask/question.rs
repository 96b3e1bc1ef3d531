//! A question: its words, what to look for in the text index, and which runs of words may be names.

use crate::terms::norm_of;

/// Longest run of words tried as a name.
const MAX_NAME_WORDS: usize = 6;

/// Most words of a question used for the text search; the rest of a long paste adds cost, not meaning.
const MAX_TEXT_WORDS: usize = 64;

/// Words that say nothing about the topic. A question made of nothing else is searched as it stands.
const STOP_WORDS: &[&str] = &[
    "a", "about", "after", "all", "also", "am", "an", "and", "any", "are", "as", "at", "be",
    "because", "been", "before", "being", "between", "both", "but", "by", "can", "could", "did",
    "do", "does", "doing", "done", "during", "each", "for", "from", "had", "has", "have", "having",
    "he", "her", "here", "hers", "him", "his", "how", "i", "if", "in", "into", "is", "it", "its",
    "just", "may", "me", "might", "more", "most", "must", "my", "no", "nor", "not", "of", "on",
    "one", "only", "or", "other", "our", "out", "over", "own", "same", "shall", "she", "should",
    "so", "some", "such", "than", "that", "the", "their", "them", "then", "there", "these", "they",
    "this", "those", "through", "to", "too", "under", "until", "up", "us", "very", "was", "we",
    "were", "what", "when", "where", "which", "while", "who", "whom", "whose", "why", "will",
    "with", "would", "you", "your",
];

/// A question, taken apart once.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Question {
    /// As asked, trimmed.
    pub text: String,
    /// Its content words, lowercase, in order.
    pub words: Vec<String>,
    /// The text search as an FTS5 expression; empty when there is no word at all.
    pub fts: String,
}

impl Question {
    pub(super) fn new(text: &str) -> Self {
        let text = text.trim();
        let all: Vec<String> = runs(text).flat_map(parts).map(str::to_lowercase).collect();
        let mut words: Vec<String> =
            all.iter().filter(|word| !is_stop_word(word)).take(MAX_TEXT_WORDS).cloned().collect();
        if words.is_empty() {
            words = all.into_iter().take(MAX_TEXT_WORDS).collect();
        }
        Question { text: text.into(), fts: fts_expression(&words), words }
    }

    /// Every run of words that may be a name, as written, longest first within each start.
    pub(super) fn name_runs(&self) -> Vec<(usize, usize, &str)> {
        let places: Vec<(usize, usize)> = run_places(&self.text).collect();
        let mut out = Vec::new();
        for (i, (start, _)) in places.iter().enumerate() {
            for (j, (_, end)) in places.iter().enumerate().skip(i).take(MAX_NAME_WORDS).rev() {
                if let Some(surface) = self.text.get(*start..*end) {
                    out.push((i, j + 1, surface));
                }
            }
        }
        out
    }
}

/// True for words that say nothing about the topic.
pub(super) fn is_stop_word(word: &str) -> bool {
    STOP_WORDS.binary_search(&word).is_ok()
}

/// Each word once, quoted (so that nothing in a question is an operator), any of them may match. A word with inner
/// signs (`rotate_keys`, `v1.2`) is a phrase of its parts.
fn fts_expression(words: &[String]) -> String {
    let mut seen: Vec<&str> = Vec::new();
    for word in words {
        if !seen.contains(&word.as_str()) && !norm_of(word).is_empty() {
            seen.push(word);
        }
    }
    seen.iter().map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(" OR ")
}

/// A compound (`dose-dependent`, `src/store`) is searched by its parts, any of which may match; a number such as
/// `2024-01-31` only as it stands.
fn parts(run: &str) -> impl Iterator<Item = &str> {
    let is_compound = run.contains(char::is_alphabetic);
    run.split(move |c: char| is_compound && matches!(c, '-' | '/'))
}

fn runs(text: &str) -> impl Iterator<Item = &str> {
    run_places(text).filter_map(|(start, end)| text.get(start..end))
}

/// Places of words: runs of letters and digits, joined by single inner signs as in `rotate_keys` or `v1.2.3`.
fn run_places(text: &str) -> impl Iterator<Item = (usize, usize)> {
    let mut chars = text.char_indices().peekable();
    std::iter::from_fn(move || {
        while chars.next_if(|(_, c)| !c.is_alphanumeric()).is_some() {}
        let (start, first) = chars.next()?;
        let mut end = start + first.len_utf8();
        while let Some((at, c)) = chars.peek().copied() {
            let next_is_word = || text.get(at + c.len_utf8()..).and_then(|t| t.chars().next());
            let joins = matches!(c, '_' | '.' | '-' | ':' | '/' | '+' | '#')
                && next_is_word().is_some_and(char::is_alphanumeric);
            let ends_name = matches!(c, '+' | '#');
            if !(c.is_alphanumeric() || joins || ends_name) {
                break;
            }
            end = at + c.len_utf8();
            chars.next();
        }
        Some((start, end))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stop_words_are_sorted() {
        assert!(STOP_WORDS.is_sorted());
    }

    #[test]
    fn questions_become_searches() {
        let rows = [
            ("How do we rotate the signing keys?", "\"rotate\" OR \"signing\" OR \"keys\""),
            ("who is who", "\"who\" OR \"is\""),
            ("rotate_keys v1.2.3", "\"rotate_keys\" OR \"v1.2.3\""),
            ("\"quoted\" AND NOT x*", "\"quoted\" OR \"x\""),
            ("???", ""),
            ("C++ or C#", "\"c++\" OR \"c#\""),
            (
                "dose-dependent since 2024-01-31",
                "\"dose\" OR \"dependent\" OR \"since\" OR \"2024-01-31\"",
            ),
        ];
        for (question, fts) in rows {
            assert_eq!(Question::new(question).fts, fts, "{question}");
        }
    }

    #[test]
    fn runs_of_words_are_tried_longest_first() {
        let question = Question::new("who owns Key Store");
        let runs: Vec<&str> = question.name_runs().into_iter().map(|(_, _, run)| run).collect();
        assert_eq!(runs[0], "who owns Key Store");
        assert!(runs.contains(&"Key Store") && runs.contains(&"Store"));
    }
}
