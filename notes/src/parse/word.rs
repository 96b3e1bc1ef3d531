//! Word: whether words are a category of an observation or a type of a relation.
//!
//! In: the words in brackets, or before a link. Out: whether they are a category, and the type.
//! The rules check the shape first, then short lists; what neither rejects is read as stated (`review_links` may
//! reject it).

use std::sync::LazyLock;

use crate::date;
use crate::lists::WordLists;

static LISTS: LazyLock<WordLists> = LazyLock::new(|| WordLists::parse(include_str!("words.tsv")));

/// Most words of a relation's type and of a category.
const MAX_TYPE_WORDS: usize = 3;
/// Longest type and category, in bytes.
const MAX_TYPE_BYTES: usize = 60;

/// True for a word for a kind of fact: one word, or up to three in lowercase; not a name (`[Ada Lovelace] said`), a
/// number or a date.
pub(super) fn is_category(text: &str) -> bool {
    let words: Vec<&str> = text.split_whitespace().collect();
    let is_word = |word: &&str| word.chars().all(|c| c.is_alphanumeric() || "_-/.&+".contains(c));
    let is_small = |word: &&str| !word.chars().any(char::is_uppercase);
    let letters: Vec<bool> = text.chars().map(char::is_alphabetic).collect();
    text.len() <= MAX_TYPE_BYTES
        // Not `[a-z]`, nor the single character of a task's box.
        && letters.windows(2).any(|pair| pair.iter().all(|is_letter| *is_letter))
        && !text.starts_with(char::is_whitespace)
        && text.chars().next().is_some_and(char::is_alphabetic)
        && (1..=MAX_TYPE_WORDS).contains(&words.len())
        && words.iter().all(is_word)
        && (words.len() == 1 || words.iter().all(is_small))
        && words.first().is_some_and(|word| !LISTS.has("no_category", &word.to_lowercase()))
        && !is_mark(text)
        && !is_roman_number(text)
        && !is_day_or_month(text)
        // Not `[Ctrl+C]`, nor `[Smith2020]`.
        && (words.iter().all(is_small) || !text.contains('+') && !is_citation(text))
}

/// True for marks of ordinary lists that are not kinds of facts: a language, a country, a type of values, whether a
/// value is required, an admonition, a log level.
fn is_mark(text: &str) -> bool {
    let is_capital = text.starts_with(char::is_uppercase);
    let lower = text.to_lowercase();
    let is_in = |list: &str| LISTS.has(list, &lower);
    let is_large = text == text.to_uppercase();
    match is_capital {
        _ if matches!(&*lower, "optional" | "required") => true,
        true => {
            is_in("admonition")
                || is_large && is_in("level")
                || is_large && text != "IT" && (is_in("language") || is_in("country"))
        }
        false => is_in("language") || is_in("value_type"),
    }
}

/// True for `ii`, `IV`: the number of a list item.
fn is_roman_number(text: &str) -> bool {
    ["ivx", "IVX"].iter().any(|digits| text.chars().all(|c| digits.contains(c)))
}

/// True for a day or month, in full or short, but not for lowercase words such as `sun` and
/// `may`.
fn is_day_or_month(text: &str) -> bool {
    let lower = text.to_lowercase();
    let is_capital = text.starts_with(char::is_uppercase);
    let is_day = date::LISTS.has("weekday.en", &lower);
    match is_capital {
        true => is_day || date::english_month(&lower).is_some(),
        false => is_day && lower.ends_with("day"),
    }
}

/// True for `Smith2020`, `Smith2020a`.
fn is_citation(text: &str) -> bool {
    let text = text.strip_suffix(|c: char| c.is_ascii_lowercase()).unwrap_or(text);
    let name = text.trim_end_matches(|c: char| c.is_ascii_digit());
    text.len() - name.len() == 4 && name.chars().all(char::is_alphabetic)
}

/// True for a common category, which is no name even when capitalized.
pub(super) fn is_filing_word(category: &str) -> bool {
    LISTS.has("filing_word", &category.to_lowercase())
}

/// True for a word that heads a list of those who attend or speak.
pub(super) fn is_roll_word(word: &str) -> bool {
    LISTS.has("roll", &word.to_lowercase())
}

/// Returns a relation's type: one to three words, without markup, quotation marks and colons. `is_step`: in a
/// numbered list, where most verbs say what to do (`1. open [[X]]`).
pub(super) fn relation_type(text: &str, is_step: bool) -> Option<String> {
    let is_label = text.trim_end_matches([' ', '\t', '*', '_']).ends_with(':');
    let is_edge = |c: char| c.is_whitespace() || matches!(c, '*' | '_' | ':');
    let text = text.trim_matches(is_edge);
    let quoted = [('"', '"'), ('“', '”')]
        .iter()
        .find_map(|(open, close)| text.strip_prefix(*open)?.strip_suffix(*close).map(str::trim));
    let text = quoted.unwrap_or(text);
    let words: Vec<&str> = text.split_whitespace().collect();
    let is_type = text.len() <= MAX_TYPE_BYTES
        && (1..=MAX_TYPE_WORDS).contains(&words.len())
        && text.chars().next().is_some_and(char::is_alphabetic)
        && text
            .chars()
            .all(|c| c.is_alphanumeric() || matches!(c, ' ' | '\t' | '_' | '-' | '/' | '\''));
    // A colon marks a label, so only headings of lines are excluded; without it, the words must be about a relation.
    let is_meant = match is_label {
        true => !is_heading_of_a_line(&words) && !words.iter().any(is_number),
        false => quoted.is_some() || names_a_relation(&words, is_step),
    };
    (is_type && is_meant).then(|| words.join(" "))
}

/// False for words that begin a sentence or an instruction (`Create [[templates]]`, `the [[Task class]]`). In a
/// numbered list, or with a capital, only words in the form of a relation's name, verbs that relate (`Depends on`,
/// `Inspired by`) and such nouns are accepted: without a colon, nothing else distinguishes them from an instruction.
fn names_a_relation(words: &[&str], is_step: bool) -> bool {
    let Some(first) = words.first() else { return false };
    let lower = first.to_lowercase();
    let is_bare = words.len() == 1 && LISTS.has("no_type_alone", &lower);
    if LISTS.has("no_type", &lower) || is_bare || words.iter().any(is_number) {
        return false;
    }
    let is_capital = first.chars().next().is_some_and(char::is_uppercase);
    !is_capital && !is_step
        || first.contains(['_', '-'])
        || lower.len() > 3 && (lower.ends_with('s') || lower.ends_with("ed"))
        || LISTS.has("relating_noun", &lower)
}

/// True for the number of a chapter or version: `3`, `v2`.
fn is_number(word: &&str) -> bool {
    let digits = word.strip_prefix(['v', 'V']).unwrap_or(word);
    !digits.is_empty() && digits.chars().all(|c| c.is_ascii_digit())
}

/// True for words that head a line of prose or navigate pages: `Example: [[Foo]]`, `Next: [[Chapter 4]]`,
/// `Tuesday: [[Foo]]`; in lowercase they are types.
fn is_heading_of_a_line(words: &[&str]) -> bool {
    let [word] = words else { return false };
    let is_head = || LISTS.has("line_head", &word.to_lowercase()) || is_day_or_month(word);
    word.starts_with(char::is_uppercase) && is_head()
}
