//! English: comments read as an engineer writes them, and parameters have names.
//!
//! The words are those that a review counted against eight well-written Rust projects; each stands for a habit of
//! translated prose. `docs` and messages are read by `docs.rs` and by people.

use std::fmt::Write as _;

use crate::tidy::sources;

/// Most of told, tell, tells and telling in 10,000 words of comments. Well-written projects have .8.
const MAX_TOLD: f64 = 5.0;

/// Most functions with a tuple pattern as a parameter, `(a, b): (A, B)`, which hides how many parameters there are.
const MAX_TUPLE_PATTERNS: usize = 25;

/// Phrases that no comment and no message may contain.
const BANNED: [&str; 12] = [
    "are told",
    "as ever",
    "counts for nothing",
    "is no hit",
    "is told",
    "leads where",
    "not be told",
    "stand alike",
    "stands in for nothing",
    "takes nothing from",
    "was told",
    "whoever asks",
];

/// The comments of a source file, a line each.
fn comments(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter_map(|line| {
        let line = line.trim_start();
        // A comment behind code begins after a space; `http://` does not.
        let start = if line.starts_with("//") { 0 } else { line.find(" // ")? + 1 };
        Some(line.get(start..)?.trim_start_matches(['/', '!', ' ']))
    })
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_ascii_alphabetic() && c != '\'').filter(|word| !word.is_empty())
}

#[test]
fn comments_say_return_and_show_instead_of_tell() {
    let is_told = |word: &&str| {
        ["told", "tell", "tells", "telling"].iter().any(|told| word.eq_ignore_ascii_case(told))
    };
    let (mut n_words, mut n_told, mut by_file) = (0_usize, 0_usize, Vec::new());
    for (path, text) in sources() {
        let found = comments(&text).flat_map(words).filter(is_told).count();
        n_words += comments(&text).flat_map(words).count();
        n_told += found;
        if found > 0 {
            by_file.push((found, path));
        }
    }
    by_file.sort();
    let rate = n_told as f64 * 10_000.0 / n_words as f64;
    assert!(rate <= MAX_TOLD, "{n_told} in {n_words} words, {rate:.1} per 10,000: {by_file:?}");
}

#[test]
fn phrases_of_translated_prose_do_not_come_back() {
    let mut out = String::new();
    for (path, text) in sources().iter().filter(|(path, _)| path != "tests/it/english.rs") {
        for (i, line) in text.lines().enumerate() {
            for phrase in BANNED.iter().filter(|phrase| line.contains(*phrase)) {
                let _ = writeln!(out, "{path}:{}: `{phrase}`", i + 1);
            }
        }
    }
    assert_eq!(out, "");
}

/// Returns the parameter lists of the functions in a source file: the text between the parentheses.
fn parameter_lists(text: &str) -> Vec<&str> {
    let mut lists = Vec::new();
    for (at, _) in text.match_indices("fn ") {
        let is_word = at == 0 || !text.as_bytes()[at - 1].is_ascii_alphanumeric();
        let Some(start) = text[at..].find(['(', '<']).map(|offset| at + offset) else { continue };
        let name = &text[at + 3..start];
        if !is_word
            || name.is_empty()
            || !name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
        {
            continue;
        }
        let (mut depth, mut angles, mut open) = (0_usize, 0_usize, None);
        for (offset, byte) in text.as_bytes()[start..].iter().enumerate() {
            let (i, before) = (start + offset, text.as_bytes()[start + offset - 1]);
            match byte {
                b'<' if open.is_none() => angles += 1,
                b'>' if open.is_none() && before != b'-' => angles = angles.saturating_sub(1),
                // A parenthesis among the generics belongs to `Fn(A) -> B`.
                b'(' | b'[' if open.is_some() || angles == 0 => {
                    open.get_or_insert(i + 1);
                    depth += 1;
                }
                b')' | b']' if open.is_some() => {
                    depth -= 1;
                    if depth == 0 {
                        lists.push(&text[open.expect("an open list")..i]);
                        break;
                    }
                }
                _ => {}
            }
        }
    }
    lists
}

/// True when a parameter of the list is a tuple pattern.
fn has_tuple_pattern(list: &str) -> bool {
    let mut depth = 0_usize;
    let mut is_start = true;
    let mut bytes = list.trim_start_matches("mut ").bytes();
    bytes.any(|byte| match byte {
        b'(' if depth == 0 && is_start => true,
        b'(' | b'[' | b'<' => {
            depth += 1;
            is_start = false;
            false
        }
        b')' | b']' | b'>' => {
            depth = depth.saturating_sub(1);
            false
        }
        b',' if depth == 0 => {
            is_start = true;
            false
        }
        byte => {
            is_start = is_start && (byte.is_ascii_whitespace() || byte == b'&');
            false
        }
    })
}

#[test]
fn parameters_have_names() {
    let mut found = Vec::new();
    for (path, text) in sources() {
        let n = parameter_lists(&text).into_iter().filter(|list| has_tuple_pattern(list)).count();
        found.extend(std::iter::repeat_n(path, n));
    }
    assert!(found.len() <= MAX_TUPLE_PATTERNS, "{} functions: {found:?}", found.len());
}

#[test]
fn tuple_patterns_are_found() {
    let text = "fn a((x, y): (u8, u8)) {}\nfn b<F: Fn(u8) -> u8>(f: F, (x, y): (u8, u8)) {}\n\
                fn c(x: (u8, u8), f: fn(u8)) {}\nfn d(mut x: Vec<(u8, u8)>, y: [u8; 2]) {}\n";
    let found: Vec<bool> = parameter_lists(text).into_iter().map(has_tuple_pattern).collect();
    assert_eq!(found, [true, true, false, false]);
}
