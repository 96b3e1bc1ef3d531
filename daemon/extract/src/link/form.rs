//! Form: whether two surfaces are one name in two forms, or differ in what distinguishes things.
//!
//! In: two surfaces. Out: yes or no.
//! One name in two forms has the same words, in the same order: inflected (`thread`, `threads`), misspelt
//! (`Hartman`, `Hartmann`), joined (`WebWorkers`, `web worker`), with or without an article. Any other word, letter,
//! number or sign tells two things apart: `Appendix B` and `Appendix C`, `IntoIterator` and `FromIterator`, `C#` and
//! `C++`, `hash` and `hasher`.

use model::terms::{norm_of, tokens_of};
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use super::features::lemma;

/// Words that may be in one of the names only.
const ARTICLES: [&str; 7] = ["a", "an", "the", "our", "your", "this", "s"];

/// Words that turn the others around: `Report a Bug` is `Bug Report`.
const TURNS: [&str; 8] = ["a", "an", "the", "of", "for", "in", "to", "with"];

/// Fewest letters of a word that may be misspelt; in shorter words one letter makes another word.
const MIN_MISSPELT: usize = 7;

/// Most letters of an acronym.
const MAX_ACRONYM: usize = 5;

/// Fewest letters of a word that may have lost an ending of inflection.
const MIN_INFLECTED: usize = 3;

/// Returns whether the surfaces are one name in two forms.
pub(super) fn are_one_form(a: &str, b: &str) -> bool {
    if signs_of(a) != signs_of(b) {
        return false;
    }
    let (words_a, words_b) = (words(own_name(a)), words(own_name(b)));
    if words_a.len() == words_b.len() {
        let mut pairs = words_a.iter().zip(&words_b);
        if pairs.all(|(one, other)| one.is_form_of(other)) {
            return true;
        }
        if may_be_turned(a, b) && are_turned(&words_a, &words_b) {
            return true;
        }
    }
    // One word here, two there; an acronym's plural is split as well (`SD`, `Ks`).
    let (joined_a, joined_b) = (joined(&words_a), joined(&words_b));
    words_a.len().abs_diff(words_b.len()) == 1
        && joined_a.len().min(joined_b.len()) >= MIN_INFLECTED
        && (is_plural(&joined_a, &joined_b) || is_plural(&joined_b, &joined_a))
}

/// Returns the name of a note that is called like its folder: `Installation/Installation`.
fn own_name(surface: &str) -> &str {
    let (folder, name) = surface.rsplit_once('/').unwrap_or(("", surface));
    if folder.rsplit('/').next() == Some(name) { name } else { surface }
}

/// A word of a name.
struct Word<'a> {
    written: &'a str,
    folded: String,
}

impl Word<'_> {
    fn is_form_of(&self, other: &Word<'_>) -> bool {
        let (a, b) = (self.folded.as_str(), other.folded.as_str());
        // Constants in capitals (`WSAEAFNOSUPPORT`) are copied, not typed.
        let is_typed = |word: &Word<'_>| !word.written.chars().all(char::is_uppercase);
        let may_be_misspelt = is_typed(self) && is_typed(other);
        a == b || are_inflected(self, other) || may_be_misspelt && are_misspelt(a, b)
    }
}

fn words(surface: &str) -> Vec<Word<'_>> {
    let mut rest = surface;
    let mut found = Vec::new();
    for token in tokens_of(surface) {
        let Some(start) = rest.find(char::is_alphanumeric) else { break };
        let (before, tail) = rest.split_at(start);
        let end = tail.char_indices().nth(token.chars().count()).map_or(tail.len(), |(at, _)| at);
        let (written, after) = tail.split_at(end);
        let is_apart = (before.is_empty() && found.is_empty()) || before.ends_with(is_gap);
        rest = after;
        // Neither `aHash` and `a_Z` nor `Ctrl-A` and `Vitamin A` has an article.
        let is_article = ARTICLES.contains(&token.as_str())
            && is_apart
            && after.starts_with(char::is_whitespace);
        if !is_article {
            found.push(Word { written, folded: without_marks(token) });
        }
    }
    found
}

/// True for what stands between an article or a possessive `s` and the word before.
fn is_gap(c: char) -> bool {
    c.is_whitespace() || matches!(c, '\'' | '’')
}

/// Returns the signs that belong to a name: `c#`, `c++`.
fn signs_of(surface: &str) -> String {
    norm_of(surface).chars().filter(|c| matches!(c, '#' | '+')).collect()
}

/// True when the words of one surface may stand in another order: a comma, a dash or a preposition turned them.
fn may_be_turned(a: &str, b: &str) -> bool {
    let turns = |surface: &str| {
        surface.contains(", ")
            || surface.contains(" - ")
            || tokens_of(surface).iter().skip(1).any(|word| TURNS.contains(&word.as_str()))
    };
    turns(a) != turns(b)
}

/// True when each word has its form in the other name.
fn are_turned(a: &[Word<'_>], b: &[Word<'_>]) -> bool {
    let is_turn = |word: &&Word<'_>| !TURNS.contains(&word.folded.as_str());
    let mut left: Vec<&Word<'_>> = b.iter().filter(is_turn).collect();
    let all = a.iter().filter(is_turn).all(|word| {
        let at = left.iter().position(|other| word.is_form_of(other));
        at.map(|at| left.swap_remove(at)).is_some()
    });
    all && left.is_empty()
}

fn joined(words: &[Word<'_>]) -> String {
    words.iter().map(|word| word.folded.as_str()).collect()
}

/// True for two forms of one word by English inflection. A noun and its plural are one thing, and so are an activity
/// and its verb (`testing`, `tests`); an actor (`hasher`) and what something was made (`hashed`) are others.
fn are_inflected(one: &Word<'_>, other: &Word<'_>) -> bool {
    let (short, long) =
        if one.folded.len() < other.folded.len() { (one, other) } else { (other, one) };
    // The plural of an acronym is written `OCRs`: `Ocrs` is a name, and `HTTPS` is not several `HTTP`.
    let is_acronym = (2..=MAX_ACRONYM).contains(&short.written.len())
        && short.written.chars().all(char::is_uppercase);
    if is_acronym {
        return long.written.strip_suffix('s') == Some(short.written);
    }
    let (a, b) = (short.folded.as_str(), long.folded.as_str());
    // Letters without a vowel are initials: `https`, too, is not several `http`.
    if a.is_ascii() && !a.contains(['a', 'e', 'i', 'o', 'u', 'y']) {
        return false;
    }
    let has_activity = a.ends_with("ing") || b.ends_with("ing");
    let is_made = |word: &str| word.ends_with("ed") && !word.ends_with("eed");
    a.len() >= MIN_INFLECTED
        && (is_plural(a, b) || has_activity && !is_made(a) && !is_made(b) && lemma(a) == lemma(b))
}

/// True when a word is the plural of another.
fn is_plural(noun: &str, plural: &str) -> bool {
    let hisses = ["s", "x", "z", "ch", "sh"].iter().any(|ending| noun.ends_with(ending));
    let with = |ending: &str| plural.strip_suffix(ending);
    match noun.strip_suffix('y') {
        Some(stem) if with("ies") == Some(stem) => true,
        _ if hisses => with("es") == Some(noun),
        _ => with("s") == Some(noun) && plural != "news",
    }
}

/// True when one typing error turns one word into the other. An ending that makes another word is none:
/// `collect` and `collectd`, `template` and `templater`.
fn are_misspelt(a: &str, b: &str) -> bool {
    let (n_a, n_b) = (a.chars().count(), b.chars().count());
    if n_a.min(n_b) < MIN_MISSPELT
        || a.chars().next() != b.chars().next()
        // A digit distinguishes, and so does each sign of a script without letters.
        || !a.chars().chain(b.chars()).all(char::is_lowercase)
        || strsim::osa_distance(a, b) != 1
    {
        return false;
    }
    let (short, long) = if n_a < n_b { (a, b) } else { (b, a) };
    let last = |word: &str| word.chars().next_back().unwrap_or(' ');
    if long.starts_with(short) && n_a != n_b {
        return last(long) == last(short);
    }
    let is_ending = |c: char| matches!(c, 'd' | 'e' | 'r' | 's');
    last(a) == last(b) || !(is_ending(last(a)) && is_ending(last(b)))
}

/// Returns a word without accents: `Külekci` is written `Kulekci`, too.
fn without_marks(word: String) -> String {
    if word.is_ascii() { word } else { word.nfd().filter(|c| !is_combining_mark(*c)).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_many_forms() {
        let rows = [
            ("native histogram", "Native Histograms"),
            ("client library", "Client libraries"),
            ("word boundary", "word boundaries"),
            ("checkbox", "checkboxes"),
            ("the Rust Reference", "Rust Reference"),
            ("unit testing", "unit test"),
            ("Custom Filters", "custom filtering"),
            ("stopped tasks", "stopped task"),
            ("SDKs", "SDK"),
            ("OPERATING SYSTEMS", "operating system"),
            ("Richard Hartman", "Richard Hartmann"),
            ("PostgresSQL", "PostgreSQL"),
            ("Külekci", "Kulekci"),
            ("web worker", "WebWorkers"),
            ("Content Types", "Content-Type"),
            ("keyboard-shortcuts", "keyboard shortcut"),
            ("Theme - LYT Mode", "LYT Mode Theme"),
            ("Report a Bug", "Bug Reporting"),
            ("Zorn, Anna", "Anna Zorn"),
            ("Summary/Histogram", "Summaries/Histograms"),
            ("Installation", "Installation/Installation"),
            ("caches", "cache"),
            ("Ada's Theorem", "Ada Theorem"),
        ];
        for (a, b) in rows {
            assert!(are_one_form(a, b) && are_one_form(b, a), "{a} / {b}");
        }
    }

    #[test]
    fn what_distinguishes_things_makes_two_names() {
        let rows = [
            ("Appendix B", "Appendix C"),
            ("NonZeroU128", "NonZeroI128"),
            ("IntoIterator", "FromIterator"),
            ("feFuncR", "feFuncB"),
            ("C#", "C++"),
            ("UTF-16LE", "UTF-16"),
            ("https", "http"),
            ("MySQL server exporter", "MySQL router exporter"),
            ("Data Team", "Data Service"),
            ("hasher", "hash"),
            ("BufReader", "BufRead"),
            ("Templater", "templates"),
            ("Collectd", "collect"),
            ("Elephanta", "elephant"),
            ("Parsec", "parser"),
            ("scala", "scalar"),
            ("Ocrs", "OCR"),
            ("MIR", "Miri"),
            ("HTTPS", "HTTP"),
            ("release1candidate", "release2candidate"),
            ("北京市海淀区第一中学", "北京市海淀区第二中学"),
            ("WSAEPFNOSUPPORT", "WSAEAFNOSUPPORT"),
            ("assignee operand", "assigned operand"),
            ("aHash", "hash"),
            ("Ctrl-A", "Ctrl"),
            ("Vitamin A", "Vitamin"),
            ("Ganges", "Gang"),
            ("News", "New"),
            ("QNX", "ONNX"),
            ("blocked tasks", "blocking tasks"),
            ("Licensed", "LICENSE"),
            ("type errors", "error type"),
            ("data model", "model data"),
            ("CollectionAllocErr::AllocErr", "CollectionAllocErr"),
            ("Bytes/BytesMut", "BytesMut"),
            ("Z", "a_Z"),
            ("itoa-benchmark", "dtoa-benchmark"),
            ("Monday Meeting", "Sunday Meeting"),
            ("upstream", "downstream"),
        ];
        for (a, b) in rows {
            assert!(!are_one_form(a, b) && !are_one_form(b, a), "{a} / {b}");
        }
    }
}
