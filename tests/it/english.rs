//! English: comments read as an engineer writes them, and parameters have names.
//!
//! The words are those that a review counted against eight well-written Rust projects; each stands for a habit of
//! translated prose. `cargo bench -p tests --bench house` prints the counts.

use std::fmt::Write as _;

use tests::house::{count_told, functions, has_tuple_pattern};

use crate::tidy::sources;

/// Most uses of told, tell, tells and telling in 10,000 words of comments. Well-written projects have .8.
const MAX_TOLD: f64 = 5.0;

/// Most functions with a tuple pattern as a parameter, `(a, b): (A, B)`, which hides how many parameters there are.
const MAX_TUPLE_PATTERNS: usize = 25;

/// Phrases that no comment and no message may contain.
const BANNED: [&str; 10] = [
    "are told",
    "counts for nothing",
    "is no hit",
    "is told",
    "not be told",
    "stand alike",
    "takes nothing from",
    "was told",
    "were told",
    "whoever asks",
];

#[test]
fn comments_say_return_and_show_instead_of_tell() {
    let (mut n_words, mut n_told, mut by_file) = (0_usize, 0_usize, Vec::new());
    for (path, text) in sources() {
        let (all, found) = count_told(&text);
        n_words += all;
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

#[test]
fn parameters_have_names() {
    let mut found = Vec::new();
    for (path, text) in sources() {
        for function in functions(&text) {
            if has_tuple_pattern(function.parameters) {
                found.push(format!("{path}: {}", function.name));
            }
        }
    }
    assert!(found.len() <= MAX_TUPLE_PATTERNS, "{} functions: {found:?}", found.len());
}

#[test]
fn tuple_patterns_and_lengths_are_counted() {
    let text = "fn a((x, y): (u8, u8)) {}\nfn b<F: Fn(u8) -> u8>(f: F, (x, y): (u8, u8)) {}\n\
                fn c(x: (u8, u8), f: fn(u8)) {\n    // Why.\n    x();\n}\n\
                fn d(mut x: Vec<(u8, u8)>, y: [u8; 2]);\n";
    let found: Vec<(&str, bool, usize, usize)> = functions(text)
        .iter()
        .map(|it| (it.name, has_tuple_pattern(it.parameters), it.n_lines, it.n_comments))
        .collect();
    let expected = [("a", true, 1, 0), ("b", true, 1, 0), ("c", false, 4, 1), ("d", false, 1, 0)];
    assert_eq!(found, expected);
}
