//! Counts of the house: what the tests of English limit, and what `cargo bench -p tests --bench house` prints.
//!
//! In: source text. Out: comments, words, functions and parameter lists. Invariants: text is read
//! without a parser: macros and strings that look like code are counted as code, the same in every
//! version.

use std::fs;
use std::path::{Path, PathBuf};

/// Returns the source files below a folder: relative path and text. Build folders and hidden
/// folders are skipped.
///
/// # Panics
/// When a file cannot be read.
pub fn sources(root: &Path) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut open: Vec<PathBuf> = vec![root.to_path_buf()];
    while let Some(folder) = open.pop() {
        for path in fs::read_dir(&folder).expect("a folder").flatten().map(|entry| entry.path()) {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if path.is_dir() {
                if !name.starts_with('.') && name != "target" {
                    open.push(path);
                }
            } else if name.ends_with(".rs") {
                let name = path.strip_prefix(root).expect("inside").display().to_string();
                found.push((name, fs::read_to_string(&path).expect("text")));
            }
        }
    }
    found.sort();
    found
}

/// Returns whether a file contains only tests, benches or what they share.
pub fn is_test(path: &str) -> bool {
    path.starts_with("tests/") || path.ends_with("/tests.rs") || path.contains("/tests/")
}

/// Returns the part of a file before `#[cfg(test)] mod tests`.
pub fn production(text: &str) -> &str {
    text.split("#[cfg(test)]\nmod tests").next().unwrap_or(text)
}

/// Returns the number of lines with code and of lines that are comments; blank lines are neither.
pub fn count_lines(text: &str) -> (usize, usize) {
    let (mut n_code, mut n_comments) = (0, 0);
    for line in text.lines().map(str::trim_start).filter(|line| !line.is_empty()) {
        *(if line.starts_with("//") { &mut n_comments } else { &mut n_code }) += 1;
    }
    (n_code, n_comments)
}

/// Returns the comments of a source file, one per line, without their slashes.
pub fn comments(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter_map(|line| {
        let line = line.trim_start();
        // A comment behind code begins after a space; `http://` does not.
        let start = if line.starts_with("//") { 0 } else { line.find(" // ")? + 1 };
        Some(line.get(start..)?.trim_start_matches(['/', '!', ' ']))
    })
}

/// Returns the words of a text: runs of ASCII letters and apostrophes.
pub fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_ascii_alphabetic() && c != '\'').filter(|word| !word.is_empty())
}

/// Returns the words of comments in a source file, and how many of them are forms of "tell".
pub fn count_told(text: &str) -> (usize, usize) {
    let is_form = |word: &&str| {
        ["told", "tell", "tells", "telling"].iter().any(|form| word.eq_ignore_ascii_case(form))
    };
    let n_told = comments(text).flat_map(words).filter(is_form).count();
    (comments(text).flat_map(words).count(), n_told)
}

/// One function with a body.
#[derive(Debug, Clone, Copy)]
pub struct Function<'a> {
    /// Its name.
    pub name: &'a str,
    /// The text between the parentheses of its parameters.
    pub parameters: &'a str,
    /// Lines from `fn` to the closing brace; 1 for a declaration.
    pub n_lines: usize,
    /// Lines of its body that are comments.
    pub n_comments: usize,
}

/// Returns the functions of a source file. A body ends at the first `}` that is indented like its
/// `fn`, as rustfmt writes it.
pub fn functions(text: &str) -> Vec<Function<'_>> {
    let mut found = Vec::new();
    for (at, _) in text.match_indices("fn ") {
        let line_start = text[..at].rfind('\n').map_or(0, |end| end + 1);
        let before = &text[line_start..at];
        let is_word = !before.ends_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
        let Some(start) = text[at..].find(['(', '<']).map(|offset| at + offset) else { continue };
        let name = &text[at + 3..start];
        let is_name =
            !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
        if before.contains("//") || !is_word || !is_name {
            continue;
        }
        let Some((parameters, end)) = parenthesized(text, start) else { continue };
        let indent = before.len() - before.trim_start().len();
        let closing = format!("\n{}}}", &before[..indent]);
        let head = text[end..].find(['{', ';']).map_or(text.len(), |offset| end + offset);
        let has_body = text[head..].starts_with('{');
        let is_short = text[head..].lines().next().is_some_and(|line| line.ends_with('}'));
        let body = match text[head..].find(&closing) {
            Some(offset) if has_body && !is_short => &text[head..head + offset],
            _ => "",
        };
        let n_lines = text[at..head].matches('\n').count() + body.matches('\n').count() + 1;
        let n_comments = body.lines().filter(|line| line.trim_start().starts_with("//")).count();
        found.push(Function {
            name,
            parameters,
            n_lines: n_lines + usize::from(!body.is_empty()),
            n_comments,
        });
    }
    found
}

/// Returns the text between the parentheses that follow the generics at `start`, and where it ends.
fn parenthesized(text: &str, start: usize) -> Option<(&str, usize)> {
    let (mut depth, mut angles, mut open) = (0_usize, 0_usize, None);
    let mut before = b' ';
    for (offset, byte) in text.as_bytes().get(start..)?.iter().enumerate() {
        match byte {
            b'<' if open.is_none() => angles += 1,
            b'>' if open.is_none() && before != b'-' => angles = angles.saturating_sub(1),
            // A parenthesis among the generics belongs to `Fn(A) -> B`.
            b'(' | b'[' if open.is_some() || angles == 0 => {
                open.get_or_insert(start + offset + 1);
                depth += 1;
            }
            b')' | b']' if open.is_some() => {
                depth -= 1;
                if depth == 0 {
                    return Some((text.get(open?..start + offset)?, start + offset));
                }
            }
            _ => {}
        }
        before = *byte;
    }
    None
}

/// Returns whether one of the parameters is a tuple pattern, `(a, b): (A, B)`.
pub fn has_tuple_pattern(parameters: &str) -> bool {
    let (mut depth, mut is_start) = (0_usize, true);
    for byte in parameters.trim_start().trim_start_matches("mut ").bytes() {
        match byte {
            b'(' if depth == 0 && is_start => return true,
            b'(' | b'[' | b'<' => depth += 1,
            b')' | b']' | b'>' => depth = depth.saturating_sub(1),
            _ => {}
        }
        is_start = depth == 0
            && (byte == b',' || (is_start && (byte.is_ascii_whitespace() || byte == b'&')));
    }
    false
}
