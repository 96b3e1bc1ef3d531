//! A question: its words, what to look for in the text index, and which runs of words may be names.

use super::expression::{Expression, expression};
use formats::language;
use index::words::{Term, quoted_phrase, terms_of};
use model::terms::is_word_char;

/// Longest run of words tried as a name.
const MAX_NAME_WORDS: usize = 6;

/// Most terms of a question used for the text search; the rest of a long paste adds cost, not meaning.
const MAX_TERMS: usize = 64;

/// English words that say nothing about the topic. A question made of nothing else is searched as it stands, and so is
/// one that is surely in another language.
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
    /// As asked, trimmed, without operators.
    pub text: String,
    /// What a snippet should show: its content words, folded, in order.
    pub words: Vec<String>,
    /// The text search as FTS5 expressions, any of which may match; none when there is no word at all.
    pub terms: Vec<String>,
    /// True when it is surely in another language than English.
    pub is_foreign: bool,
    /// What its operators demand.
    pub demand: Option<Expression>,
    /// Where every word says nothing about a topic: the place among `terms` of all of them side by side, as typed.
    pub typed: Option<usize>,
}

impl Question {
    pub(super) fn new(text: &str) -> Self {
        let demand = expression(text);
        let text = demand.as_ref().map_or(text, |demand| demand.plain.as_str()).trim();
        let is_foreign = language::is_foreign(text);
        let says_something = |word: &&str| is_foreign || !is_stop_word(&word.to_lowercase());
        let mut terms = terms(runs(text).flat_map(parts).filter(says_something));
        let mut as_typed = None;
        if terms.is_empty() {
            terms = self::terms(runs(text).flat_map(parts));
            as_typed = quoted_phrase(text).filter(|_| !terms.is_empty());
        }
        let beginnings = demand.iter().flat_map(|demand| &demand.beginnings);
        for (start, fts) in beginnings {
            terms.iter_mut().filter(|it| it.shown == *start).for_each(|it| it.fts = fts.clone());
        }
        let (mut terms, words): (Vec<String>, _) =
            terms.into_iter().map(|term| (term.fts, term.shown)).unzip();
        for phrase in demand.iter().flat_map(|demand| &demand.phrases).chain(&as_typed) {
            if !terms.contains(phrase) {
                terms.push(phrase.clone());
            }
        }
        let typed = as_typed.and_then(|phrase| terms.iter().position(|it| *it == phrase));
        let question = Question { text: text.into(), words, terms, is_foreign, demand, typed };
        // `the tag:ops` asks for no word.
        let is_of_documents = |demand: &Expression| {
            let asks_no_phrase = demand.phrases.is_empty() && demand.beginnings.is_empty();
            asks_no_phrase && !(demand.tags.is_empty() && demand.paths.is_empty())
        };
        match typed.and(question.demand.as_ref()).is_some_and(is_of_documents) {
            true => Question {
                text: String::new(),
                words: vec![],
                terms: vec![],
                typed: None,
                ..question
            },
            false => question,
        }
    }

    /// True when it asks for documents by what they are, and for no word.
    pub(super) fn is_of_documents(&self) -> bool {
        self.text.is_empty() && self.demand.is_some()
    }

    /// True when it says nothing that could stand in a document's text.
    pub(super) fn is_empty(&self) -> bool {
        self.terms.is_empty() && !self.is_of_documents()
    }

    /// All terms as one FTS5 expression; empty when there is no word at all.
    pub(super) fn fts(&self) -> String {
        self.terms.join(" OR ")
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
pub fn is_stop_word(word: &str) -> bool {
    STOP_WORDS.binary_search(&word).is_ok()
}

/// The terms of some words, each once; any of them may match.
fn terms<'t>(words: impl Iterator<Item = &'t str>) -> Vec<Term> {
    let mut terms: Vec<Term> = Vec::new();
    for word in words {
        for term in terms_of(word) {
            if terms.len() < MAX_TERMS && !terms.iter().any(|known| known.fts == term.fts) {
                terms.push(term);
            }
        }
    }
    terms
}

/// A question as an FTS5 expression; empty when there is no word at all.
pub fn text_query(question: &str) -> String {
    Question::new(question).fts()
}

/// A compound (`dose-dependent`, `src/store`, `error:upstream`) is searched by its parts, any of which may match; a
/// number such as `2024-01-31` only as it stands, and so is `std::fs`.
fn parts(run: &str) -> impl Iterator<Item = &str> {
    let is_compound = run.contains(char::is_alphabetic);
    let has_single_colons = is_compound && !run.contains("::");
    run.split(move |c: char| match c {
        '-' | '/' => is_compound,
        ':' => has_single_colons,
        _ => false,
    })
}

fn runs(text: &str) -> impl Iterator<Item = &str> {
    run_places(text).filter_map(|(start, end)| text.get(start..end))
}

/// Places of words: runs of letters and digits, joined by inner signs as in `rotate_keys`, `v1.2.3` or `a::b`, with the
/// signs around them that make a name (`C++`, `.NET`).
fn run_places(text: &str) -> impl Iterator<Item = (usize, usize)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let rest = text.get(at..)?;
        let first = at + rest.find(is_word_char)?;
        let mut end = first;
        while let Some(c) = text.get(end..).and_then(|rest| rest.chars().next()) {
            let n_joining = n_joining(text.get(end..).unwrap_or(""));
            if !(is_word_char(c) || n_joining > 0 || matches!(c, '+' | '#')) {
                break;
            }
            end += n_joining.max(c.len_utf8());
        }
        let before = text.get(at..first).unwrap_or("");
        let has_dot =
            before.ends_with('.') && before.trim_end_matches('.').len() + 1 == before.len();
        let stands_alone =
            before.len() == 1 || before.trim_end_matches('.').ends_with(char::is_whitespace);
        at = end;
        Some((first - usize::from(has_dot && stands_alone), end))
    })
}

/// Length of the sign that joins a word before it with one after it; 0 when the text does not begin with such a sign.
fn n_joining(text: &str) -> usize {
    let Some(sign) = text.chars().next() else { return 0 };
    let length = match sign {
        '_' | '.' | '-' | '/' | '+' | '#' | '@' => 1,
        ':' if text.starts_with("::") => 2,
        ':' => 1,
        _ => return 0,
    };
    let after = text.get(length..).and_then(|rest| rest.chars().next());
    if after.is_some_and(is_word_char) { length } else { 0 }
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
            (
                "How do we rotate the signing keys?",
                r#"("rotat" OR "rotate") OR ("sign" OR "signing") OR ("key" OR "keys")"#,
            ),
            ("who is who", r#""who" OR "is" OR "who is who""#),
            ("error:upstream host:80", r#""error" OR "upstream" OR "host" OR "80""#),
            ("at 12:30", r#""12 30""#),
            ("builders vaul*", r#"("builder" OR "builders") OR "vaul"*"#),
            ("rotate_keys v1.2.3", r#"("rotat key" OR "rotate keys") OR "v1 2 3""#),
            (r#""quoted" AND NOT xy*"#, r#"("quot" OR "quoted")"#),
            // No expression: its words.
            (r#""quoted AND x*"#, r#"("quot" OR "quoted") OR "x""#),
            ("???", ""),
            ("C++ or C#", r#""c++" OR "c#""#),
            (".NET 8... net", r#"".net" OR "8" OR "net""#),
            ("std::fs", r#""std fs""#),
            ("署名鍵 x", r#""署名" OR "名鍵" OR "x""#),
            (
                "dose-dependent since 2024-01-31",
                r#""dose" OR ("depend" OR "dependent") OR ("sinc" OR "since") OR "2024 01 31""#,
            ),
            (
                "Wie oft wird der Schlüssel für die Unterschriften in der Zentrale ausgetauscht?",
                r#""wie" OR "oft" OR "wird" OR "der" OR "schlussel" OR "fur" OR "die" OR"#,
            ),
        ];
        for (question, fts) in rows {
            let found = Question::new(question).fts();
            let is_it = if fts.ends_with(" OR") { found.starts_with(fts) } else { found == fts };
            assert!(is_it, "{question}: {found}");
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
