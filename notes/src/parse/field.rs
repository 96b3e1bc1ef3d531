//! Fields in the syntax of Dataview: `key:: value` on a line of its own, `[key:: value]` and `(key:: value)` in a
//! text.
//!
//! A blank or the line's end must follow the `::`, which excludes `std::fmt`; a key has at most four words.

use std::ops::Range;

/// Longest key, in bytes.
const MAX_KEY_BYTES: usize = 60;
/// Most words of a key.
const MAX_KEY_WORDS: usize = 4;
/// Longest value of an inline field, in bytes.
const MAX_INLINE_BYTES: usize = 1_000;

/// A field within one line; offsets are from the start of the line.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) key: String,
    pub(super) value: Range<usize>,
    pub(super) is_inline: bool,
    pub(super) span: Range<usize>,
}

/// Returns the fields of a line. `is_text` returns whether a place is text, not code.
pub(super) fn find(line: &str, is_text: impl Fn(usize) -> bool) -> Vec<Found> {
    let mut fields: Vec<Found> = Vec::new();
    for (at, _) in line.match_indices("::") {
        let (before, after) = (&line[..at], &line[at + 2..]);
        let is_parted = after.is_empty() || after.starts_with([' ', '\t']);
        let is_inside = fields.last().is_some_and(|field| at < field.span.end);
        if !is_parted || is_inside || before.ends_with(':') || !is_text(at) {
            continue;
        }
        // Markup around a key is short, so a long beginning of the line is not one.
        let is_near = before.len() <= 3 * MAX_KEY_BYTES;
        if let Some(key) = is_near.then(|| key_in(before)).flatten() {
            let value = trimmed(line, at + 2..line.len());
            let end = value.end.max(at + 2);
            let start = before.len() - before.trim_start().len();
            fields.push(Found { key, value, is_inline: false, span: start..end });
            continue;
        }
        fields.extend(inline(line, at));
    }
    fields
}

/// Returns the field in brackets or parentheses whose `::` is at a place.
fn inline(line: &str, at: usize) -> Option<Found> {
    let before = &line[..at];
    let nearest = before.floor_char_boundary(at.saturating_sub(MAX_KEY_BYTES));
    let open = nearest + before[nearest..].rfind(['[', '('])?;
    let key = key_in(&before[open + 1..])?;
    let (opening, closing) =
        if before[open..].starts_with('[') { (b'[', b']') } else { (b'(', b')') };
    // Brackets of the same kind inside the value must be balanced.
    let mut depth = 0;
    let mut close = None;
    for (offset, byte) in line.bytes().enumerate().skip(at + 2).take(MAX_INLINE_BYTES) {
        if byte == opening {
            depth += 1;
        } else if byte == closing && depth == 0 {
            close = Some(offset);
            break;
        } else if byte == closing {
            depth -= 1;
        }
    }
    let close = close?;
    let value = trimmed(line, at + 2..close);
    Some(Found { key, value, is_inline: true, span: open..close + 1 })
}

/// Returns a key without markup; `None` if it is not a key.
fn key_in(text: &str) -> Option<String> {
    let is_markup = |c: char| matches!(c, '*' | '_') || c.is_whitespace();
    let key = text.trim_matches(is_markup);
    let is_key = key.len() <= MAX_KEY_BYTES
        && key.chars().next().is_some_and(|c| c.is_alphabetic() || !c.is_ascii())
        && key.chars().all(|c| c.is_alphanumeric() || " _-/".contains(c) || !c.is_ascii())
        && key.split_whitespace().count() <= MAX_KEY_WORDS;
    is_key.then(|| key.to_string())
}

fn trimmed(line: &str, range: Range<usize>) -> Range<usize> {
    let text = &line[range.clone()];
    // Emphasis around the key may close after the `::`.
    let n_blank =
        text.len() - text.trim_start_matches(|c: char| c.is_whitespace() || c == '*').len();
    let start = range.start + n_blank;
    start..start + line[start..range.end].trim_end().len()
}

#[cfg(test)]
mod tests {
    #[test]
    fn fields_are_lines_of_their_own_or_in_brackets() {
        let rows = [
            ("status:: done", "status=done"),
            ("**Due Date**:: 2024-05-01 ", "Due Date=2024-05-01"),
            ("**Due**:: [[Friday]]", "Due=[[Friday]]"),
            ("empty::", "empty="),
            ("a [rating:: 5] and (mood:: [ok]) end", "rating=5 mood=[ok]"),
            ("std::fmt and Vec::new() and a :: b", ""),
            ("this is a sentence of more words:: no", ""),
            ("http:: x", "http=x"),
            ("::x :: y", ""),
            ("a::: b", ""),
            ("größe:: 3", "größe=3"),
        ];
        for (line, expected) in rows {
            let fields = super::find(line, |_| true);
            let shown: Vec<String> =
                fields.iter().map(|f| format!("{}={}", f.key, &line[f.value.clone()])).collect();
            assert_eq!(shown.join(" "), expected, "{line}");
        }
    }
}
