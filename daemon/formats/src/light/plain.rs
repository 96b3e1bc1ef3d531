//! Plain text: the structure that people give to text without markup.
//!
//! Recognized: headings underlined with `===` or `---`, or short and all capitals; lists by `-`, `*`, `+`, `•`, `1.`
//! or `1)`; code: two or more indented lines. Lines of punctuation alone are dropped.

use super::inline::Inlines;
use super::{Found, Light, LightState, Lines};

pub(crate) static PLAIN: Light = Light {
    keys: &[],
    slack: SLACK,
    classify,
    define: |_| None,
    inlines: Inlines { starts: b"", pairs: &[], find: |_, _| None },
};

/// A difference of one column is alignment: ` 9.` above `10.`.
const SLACK: usize = 1;
/// Longest line that can be a heading because it is all capitals, in characters.
const MAX_CAPITALS_CHARS: usize = 60;
/// Indentation from which lines are code, in columns.
const CODE_INDENT: usize = 4;

fn classify(lines: &Lines<'_>, at: usize, state: &mut LightState) -> Found {
    let text = lines.text(at);
    if is_rule(text) {
        return Found::Drop(at + 1);
    }
    let item = lines.item(at, &['-', '*', '+', '•']);
    if !matches!(item, Found::Text) {
        return item;
    }
    let heading = |level, n_lines| Found::Heading { level, text: lines.place(at, text), n_lines };
    if let Some(level) = underline_level(text, lines.text(at + 1)) {
        return heading(level, 2);
    }
    // Otherwise the line goes on from the one above it.
    if at == 0 || lines.is_blank(at - 1) {
        if lines.indent(at) < CODE_INDENT && is_capitals_heading(text, lines.text(at + 1)) {
            return heading(2, 1);
        }
        // Text indented deeper than the marker of an item belongs to the item.
        let in_item = state.lists.first().is_some_and(|(it, _)| lines.indent(at) > it + SLACK);
        let end = if in_item { at } else { lines.end_of_indented(at, CODE_INDENT - 1) };
        // Code has at least two lines.
        if end > at + 1 {
            return Found::Code { language: String::new(), lines: at..end, end };
        }
    }
    Found::Text
}

/// Returns the level of a heading that the next line underlines.
fn underline_level(text: &str, under: &str) -> Option<u8> {
    let is_drawn = |byte| under.len() >= 3 && under.bytes().all(|it| it == byte);
    let level = if is_drawn(b'=') { 1 } else { is_drawn(b'-').then_some(2)? };
    // A line much longer than the line below it is the end of a paragraph above a rule.
    let is_fitting = text.len() <= 2 * under.len() + 8 && text.chars().any(char::is_alphanumeric);
    is_fitting.then_some(level)
}

/// True for a short line of capitals that is alone or directly above its text.
fn is_capitals_heading(text: &str, next: &str) -> bool {
    // A cheap bound first: a character has at most 4 bytes.
    if text.len() > 4 * MAX_CAPITALS_CHARS {
        return false;
    }
    let has_lower = |text: &str| text.chars().any(char::is_lowercase);
    text.chars().filter(|c| c.is_uppercase()).count() >= 3
        && !has_lower(text)
        && !text.ends_with(['.', ',', ';', '!', '?'])
        // A heading is a single line of capitals.
        && (next.is_empty() || has_lower(next))
        && text.chars().count() <= MAX_CAPITALS_CHARS
}

/// True for a line drawn with punctuation.
fn is_rule(text: &str) -> bool {
    text.len() >= 3 && text.bytes().all(|byte| b"-=*_~#+. \t".contains(&byte))
}

#[cfg(test)]
mod tests;
