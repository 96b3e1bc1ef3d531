//! Plain: any text as one line of Markdown that shows exactly that text and states nothing else.
//!
//! In: any text. Out: a line that can follow `- [note] `; or the text of such a line.
//! Invariants: `decoded(&encoded(text)) == text` for every text; a line has no white space except single blanks, none
//! at its ends, and is never empty; nothing in it is read as a link, tag, field, context, block id, comment, code or
//! HTML.
//! Facts of the format (CommonMark 0.31): a backslash before ASCII punctuation shows that character (§2.4), `&#10;`
//! shows the character with that number (§2.5), and neither begins any markup. Only characters that could be read as
//! markup are written so.

use std::fmt::Write;

/// Form of the empty text: an empty line would not be an item.
const NOTHING: &str = "<!-- -->";

/// Longest number of a character reference, in digits.
const MAX_DIGITS: usize = 7;

/// Returns a text as a line.
pub fn encoded(text: &str) -> String {
    written(text, false)
}

/// Returns a text as a line without parentheses, to be written between two.
pub fn encoded_inside(text: &str) -> String {
    written(text, true)
}

fn written(text: &str, is_inside: bool) -> String {
    if text.is_empty() {
        return NOTHING.to_string();
    }
    let ends_in_parenthesis = text.ends_with(')');
    let mut out = String::with_capacity(text.len() + 8);
    let mut before: Option<char> = None;
    for (at, c) in text.char_indices() {
        let after = text.get(at + c.len_utf8()..).unwrap_or("");
        let next = after.chars().next();
        // A blank is kept only between other characters: Markdown drops blanks at the ends and merges several.
        let is_kept_blank = c == ' ' && next.is_some() && !out.is_empty() && !out.ends_with(' ');
        if is_kept_blank {
            out.push(' ');
        } else if is_unseen(c) || (is_inside && matches!(c, '(' | ')')) {
            let _ = write!(out, "&#{};", u32::from(c));
        } else {
            let is_markup = match c {
                '\\' | '`' | '*' | '[' | ']' | '<' | '$' | '~' => true,
                '_' => !(is_word(before) && is_word(next)),
                '#' => !is_word(before),
                '^' => before.is_none_or(char::is_whitespace),
                '%' => before == Some('%') || next == Some('%'),
                ':' => before == Some(':') && next.is_none_or(|c| c == ':' || is_unseen(c)),
                '(' => ends_in_parenthesis && before == Some(' '),
                '&' => begins_reference(after),
                _ => false,
            };
            if is_markup {
                out.push('\\');
            }
            out.push(c);
        }
        before = Some(c);
    }
    out
}

/// Returns the text that a line shows. Markup other than escapes stays as written; nothing is decoded in code.
pub fn decoded(line: &str) -> String {
    if line == NOTHING {
        return String::new();
    }
    let mut out = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(c) = rest.chars().next() {
        let n_read = match c {
            '\\' => {
                let shown = rest.chars().nth(1).filter(char::is_ascii_punctuation);
                out.push(shown.unwrap_or('\\'));
                1 + shown.map_or(0, char::len_utf8)
            }
            '&' => {
                let (shown, n) = reference(rest).unwrap_or(('&', 1));
                out.push(shown);
                n
            }
            '`' => {
                let n = code_span(rest);
                out.push_str(rest.get(..n).unwrap_or(rest));
                n
            }
            c => {
                out.push(c);
                c.len_utf8()
            }
        };
        rest = rest.get(n_read..).unwrap_or("");
    }
    out
}

/// True for white space, control characters, and marks that a reader or editor may drop.
fn is_unseen(c: char) -> bool {
    c.is_whitespace() || c.is_control() || matches!(c, '\u{feff}' | '\u{fffe}' | '\u{ffff}')
}

fn is_word(c: Option<char>) -> bool {
    c.is_some_and(char::is_alphanumeric)
}

/// True when the text after a `&` makes it a character reference.
fn begins_reference(after: &str) -> bool {
    let name = after.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == '#');
    name.len() < after.len() && name.starts_with(';')
}

/// Returns the character of a reference at the start of a text, and the length of the reference.
fn reference(text: &str) -> Option<(char, usize)> {
    let end = text.bytes().take(MAX_DIGITS + 4).position(|byte| byte == b';')?;
    let name = text.get(1..end)?;
    let number = match name.strip_prefix('#') {
        Some(digits) => match digits.strip_prefix(['x', 'X']) {
            Some(digits) => u32::from_str_radix(digits, 16).ok()?,
            None => digits.parse().ok()?,
        },
        None => u32::from(match name {
            "amp" => '&',
            "lt" => '<',
            "gt" => '>',
            "quot" => '"',
            "apos" => '\'',
            "nbsp" => '\u{a0}',
            _ => return None,
        }),
    };
    Some((char::from_u32(number)?, end + 1))
}

/// Returns the length of the code span at the start of a text, including its backticks; that of the backticks if
/// nothing closes them.
fn code_span(text: &str) -> usize {
    let n_marks = text.len() - text.trim_start_matches('`').len();
    let mut at = n_marks;
    while let Some(found) = text.get(at..).and_then(|rest| rest.find('`')) {
        let start = at + found;
        let rest = text.get(start..).unwrap_or("");
        let n = rest.len() - rest.trim_start_matches('`').len();
        at = start + n;
        // CommonMark: a code span is closed by as many backticks as opened it.
        if n == n_marks {
            return at;
        }
    }
    n_marks
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::parse::parse;

    /// Checks that a text survives encoding, also as an observation read by the parser.
    fn check(text: &str) {
        let line = encoded(text);
        assert_eq!(decoded(&line), text, "{line}");
        assert_eq!(line, line.split_whitespace().collect::<Vec<_>>().join(" "), "{line:?}");
        let source = format!("## Observations\n\n- [note] {line} ^o7\n\n## Next\n");
        let note = parse(&source);
        let [fact] = note.observations.as_slice() else { panic!("{source} {note:?}") };
        assert_eq!((fact.category.as_str(), fact.content.as_str()), ("note", &*line), "{source}");
        assert_eq!(fact.block_id.as_deref(), Some("o7"), "{source}");
        assert_eq!(fact.context, None, "{source}");
        let is_nothing_else = note.links.is_empty()
            && note.tags.is_empty()
            && note.fields.is_empty()
            && note.footnotes.is_empty()
            && note.block_ids.len() == 1
            && note.headings.len() == 2
            && (note.verbatim.is_empty() || text.is_empty());
        assert!(is_nothing_else, "{source}{note:?}");
    }

    #[test]
    fn ordinary_text_stays_as_it_is() {
        for text in [
            "Likes snake_case, C++ & C# (not 'B'), too",
            "std::fmt at 50% of https://x.org/a_b?c=1&d=2, 3 > 2",
            "Ünïcode 日本 🎉 (really) yes",
            "R&D - a/b; 1.5",
        ] {
            assert_eq!(encoded(text), text);
            check(text);
        }
    }

    #[test]
    fn what_reads_as_something_else_is_escaped() {
        let rows = [
            ("a\nb", "a&#10;b"),
            (" a  b ", "&#32;a &#32;b&#32;"),
            ("", "<!-- -->"),
            ("<!-- -->", "\\<!-- -->"),
            ("see [[Note]] #tag", "see \\[\\[Note\\]\\] \\#tag"),
            ("it rains (today)", "it rains \\(today)"),
            ("key:: value", "key:\\: value"),
            ("ends ^here", "ends \\^here"),
            ("a %% b %%", "a \\%\\% b \\%\\%"),
            ("&amp; &#10; &x", "\\&amp; \\&\\#10; &x"),
            ("C:\\Users\\x", "C:\\\\Users\\\\x"),
        ];
        for (text, line) in rows {
            assert_eq!(encoded(text), line);
            check(text);
        }
    }

    #[test]
    fn every_kind_of_markup_comes_back() {
        for text in [
            "# head",
            "- [x] task",
            "> quote",
            "```rust",
            "~~~",
            "`code`",
            "``",
            "$x$ and $$y$$",
            "**b** _i_ __u__",
            "<div>",
            "<!--",
            "</script>",
            "![[embed]]",
            "[^1]: note",
            "[a](b)",
            "http://x",
            "|a|b|",
            "---",
            "===",
            "(a)",
            "a (b) (c)",
            "((",
            "))",
            "\u{0}\u{1}\u{7f}\u{85}\u{a0}\u{2028}\u{feff}",
            "\r\n\t",
            ":::",
            "a::",
            "^",
            "^^",
            "#",
            "##",
            "#1a",
            "&",
            "&;",
            "&#;",
            "&#x41;",
            "\\",
            "\\\\",
            "a\\",
            "- [note] x ^o1",
            "[note]",
            "%%",
            "[x] y",
            "\u{202e}abc",
            "e\u{301}",
            "[!note]",
            "x ^",
            "{#id}",
        ] {
            check(text);
        }
    }

    #[test]
    fn code_of_others_is_not_decoded() {
        assert_eq!(decoded("a `\\*` b \\* &lt; &unknown; `"), "a `\\*` b * < &unknown; `");
        assert_eq!(decoded("``a ` \\. ``\\."), "``a ` \\. ``.");
        assert_eq!(decoded("&#x110000; &#99999999999;"), "&#x110000; &#99999999999;");
    }

    proptest! {
        #[test]
        fn any_text_comes_back(
            text in r"[ -~]{0,40}|\PC{0,20}|[\x00-\x7f]{0,20}|[\[\]()#^&;:%`*_\\ \na1!<>$~-]{0,24}",
        ) {
            check(&text);
        }
    }
}
