//! Question: its words, its terms in the text index, and the runs of words that may be names.
//!
//! In: a question as typed. Out: [`Question`].

use super::expression::{Expression, expression};
use formats::language;
use index::words::{Term, quoted_phrase, terms_of};
use model::terms::is_word_char;

/// Longest run of words tried as a name.
const MAX_NAME_WORDS: usize = 6;

/// Most terms of a question that are searched; more of a long paste adds cost, not meaning.
const MAX_TERMS: usize = 64;

/// English words without a topic of their own. A question that has no other words keeps them, and
/// so does one that is certainly in another language.
const STOP_WORDS: &[&str] = &[
    "a", "about", "after", "all", "also", "am", "an", "and", "any", "are", "as", "at", "be",
    "because", "been", "before", "being", "between", "both", "but", "by", "can", "could", "did",
    "do", "does", "doing", "done", "during", "each", "for", "from", "had", "has", "have", "having",
    "he", "her", "here", "hers", "him", "his", "how", "i", "if", "in", "into", "is", "it", "its",
    "just", "may", "me", "might", "more", "most", "must", "my", "no", "nor", "not", "of", "on",
    "one", "only", "or", "other", "our", "out", "over", "own", "same", "shall", "she", "should",
    "so", "some", "such", "tell", "than", "that", "the", "their", "them", "then", "there", "these",
    "they", "this", "those", "through", "to", "too", "under", "until", "up", "us", "very", "was",
    "we", "were", "what", "when", "where", "which", "while", "who", "whom", "whose", "why", "will",
    "with", "would", "you", "your",
];

/// A parsed question.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Question {
    /// As asked, trimmed, without operators.
    pub text: String,
    /// Its content words, folded, in order; snippets prefer them.
    pub words: Vec<String>,
    /// The full-text search as FTS5 expressions, any of which may match; empty if there are no
    /// words.
    pub terms: Vec<String>,
    /// Whether its language is certainly not English.
    pub is_foreign: bool,
    /// The demands of its operators.
    pub demand: Option<Expression>,
    /// The words written like names, one bit each: with a capital or a digit, and not the first
    /// one.
    pub names: u64,
    /// For a question of stop words only: the index in `terms` of all of them side by side, as
    /// typed.
    pub typed: Option<usize>,
}

impl Question {
    pub(crate) fn new(text: &str) -> Self {
        // As normalizing does with the texts that it is compared with.
        let text = &*names::seen(text);
        let demand = expression(text);
        let text = demand.as_ref().map_or(text, |demand| demand.plain.as_str()).trim();
        let is_foreign = language::is_foreign(text);
        let is_specific = |word: &&str| is_foreign || !is_stop_word(&word.to_lowercase());
        let mut terms = terms(runs(text).flat_map(parts).filter(is_specific));
        let mut as_typed = None;
        if terms.is_empty() {
            terms = self::terms(runs(text).flat_map(parts));
            as_typed = quoted_phrase(text).filter(|_| !terms.is_empty());
        }
        let beginnings = demand.iter().flat_map(|demand| &demand.beginnings);
        for (start, fts) in beginnings {
            terms.iter_mut().filter(|it| it.shown == *start).for_each(|it| it.fts = fts.clone());
        }
        let (mut terms, words): (Vec<String>, Vec<String>) =
            terms.into_iter().map(|term| (term.fts, term.shown)).unzip();
        for phrase in demand.iter().flat_map(|demand| &demand.phrases).chain(&as_typed) {
            if !terms.contains(phrase) {
                terms.push(phrase.clone());
            }
        }
        let typed = as_typed.and_then(|phrase| terms.iter().position(|it| *it == phrase));
        let names = if is_foreign { 0 } else { names(text, &words) };
        let text = text.to_string();
        let question = Question { text, words, terms, is_foreign, demand, names, typed };
        // `the tag:ops` does not ask for any word.
        let is_of_documents = |demand: &Expression| {
            let asks_no_phrase = demand.phrases.is_empty() && demand.beginnings.is_empty();
            asks_no_phrase && !(demand.tags.is_empty() && demand.paths.is_empty())
        };
        match typed.and(question.demand.as_ref()).is_some_and(is_of_documents) {
            true => Question { demand: question.demand, ..Question::of_documents() },
            false => question,
        }
    }

    /// A question that selects documents by conditions alone.
    pub(crate) fn of_documents() -> Self {
        Question { demand: Some(Expression::default()), ..Question::default() }
    }

    /// Returns whether it selects documents by conditions and asks for no word.
    pub(crate) fn is_of_documents(&self) -> bool {
        self.text.is_empty() && self.demand.is_some()
    }

    /// Returns whether it has no words that a document could contain.
    pub(crate) fn is_empty(&self) -> bool {
        self.terms.is_empty() && !self.is_of_documents()
    }

    /// Returns every run of words that may be a name, as written, the longest first for each start.
    pub(crate) fn name_runs(&self) -> Vec<(usize, usize, &str)> {
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

/// Returns the words, one bit each, that are written like names. If every word is capitalized, none
/// is.
fn names(text: &str, words: &[String]) -> u64 {
    let is_capital = |run: &&str| !run.starts_with(char::is_lowercase);
    if runs(text).all(|run| is_capital(&run)) {
        return 0;
    }
    let parts = runs(text).skip(1).flat_map(parts).filter(is_capital);
    let shown = parts.flat_map(terms_of).filter_map(|it| words.iter().position(|w| *w == it.shown));
    shown.fold(0, |names, at| names | 1_u64.checked_shl(at as u32).unwrap_or(0))
}

/// Returns whether a word carries no topic.
pub fn is_stop_word(word: &str) -> bool {
    STOP_WORDS.binary_search(&word).is_ok()
}

/// Returns the terms of some words, each once.
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

/// Returns the terms of a question, each an FTS5 expression.
pub fn text_terms(question: &str) -> Vec<String> {
    Question::new(question).terms
}

/// Splits a compound (`dose-dependent`, `src/store`, `error:upstream`) into its parts, any of which
/// may match; keeps numbers such as `2024-01-31` and paths such as `std::fs` whole.
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

/// Returns the byte ranges of words: runs of letters and digits, joined by inner punctuation as in
/// `rotate_keys`, `v1.2.3` or `a::b`, including the surrounding punctuation of names such as `C++`
/// and `.NET`.
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

/// Returns the length of the punctuation at the start that joins the words around it, or 0.
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
            ("builders vaul*", r#"("builder" OR "builders") OR ("vaul"* OR "vaul")"#),
            ("rotate_keys v1.2.3", r#"("rotat key" OR "rotate keys") OR "v1 2 3""#),
            (r#""quoted" AND NOT xy*"#, r#"("quot" OR "quoted")"#),
            // Not a valid expression: just its words.
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
            let found = Question::new(question).terms.join(" OR ");
            let is_it = if fts.ends_with(" OR") { found.starts_with(fts) } else { found == fts };
            assert!(is_it, "{question}: {found}");
        }
    }

    #[test]
    fn words_with_capitals_are_names_unless_all_or_the_first_have_one() {
        for (question, names) in [
            ("Who leads the Storage Team at Porto?", "storage team porto"),
            ("who leads the storage team", ""),
            ("ROTATE THE KEYS", ""),
            ("What changed in 2024", "2024"),
        ] {
            let question = Question::new(question);
            let words = question.words.iter().enumerate();
            let names_found = words.filter(|(at, _)| question.names >> at & 1 == 1);
            let found: Vec<&str> = names_found.map(|(_, word)| word.as_str()).collect();
            assert_eq!(found.join(" "), names, "{question:?}");
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
