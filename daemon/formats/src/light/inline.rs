//! Inline marks: links, bold and code inside lines.

use std::collections::HashMap;
use std::ops::Range;

use crate::builder::TextBuilder;
use crate::target::Target;
use model::document::InlineKind;

/// How far ahead the end of a mark is searched, in bytes.
const MAX_BYTES: usize = 500;

/// The inline marks of a syntax.
pub(super) struct Inlines {
    /// Bytes at which a mark may begin; ASCII only.
    pub(super) starts: &'static [u8],
    /// Reads the mark at the start of the text; the second argument is the character before it.
    pub(super) find: fn(&str, Option<char>) -> Option<Inside>,
}

/// An inline mark.
pub(super) struct Inside {
    pub(super) n_bytes: usize,
    /// The part that is shown.
    pub(super) text: Range<usize>,
    pub(super) kind: InsideKind,
}

/// The kind of an inline mark.
pub(super) enum InsideKind {
    Plain,
    Mark(InlineKind),
    Link(Option<Target>),
    /// A name that a line defines; shown as written if none does.
    Name,
    /// As `Name`, for the address that is defined with `_` before its name.
    Named,
}

/// The names that the lines of a document define.
pub(super) type Defined<'a> = HashMap<&'a str, &'a str>;

impl Inlines {
    /// Writes a range of the source with its inline marks.
    pub(super) fn write(
        &self,
        out: &mut TextBuilder<'_>,
        source: &str,
        range: Range<usize>,
        defined: &Defined<'_>,
    ) {
        let Some(text) = source.get(range.clone()) else { return };
        // `shown` is where the text not yet written begins, `at` where the search continues.
        let (mut shown, mut at) = (0, 0);
        while at < text.len() {
            let rest = text.as_bytes().get(at..).unwrap_or(&[]);
            let Some(next) = rest.iter().position(|byte| self.starts.contains(byte)) else { break };
            at += next;
            let before = text.get(..at).and_then(|before| before.chars().next_back());
            let window = &text[at..];
            let window = window.get(..floor(window, MAX_BYTES)).unwrap_or(window);
            let Some(inside) = (self.find)(window, before) else {
                at += 1;
                // Also right where `at` is now inside a character: all starts are ASCII.
                continue;
            };
            out.flow(range.start + shown..range.start + at);
            let inner = range.start + at + inside.text.start..range.start + at + inside.text.end;
            let name = source.get(inner.clone()).unwrap_or("");
            match inside.kind {
                InsideKind::Plain => out.flow(inner),
                InsideKind::Name => match defined.get(name) {
                    Some(text) => {
                        out.replaced(text, range.start + at..range.start + at + inside.n_bytes)
                    }
                    None => out.flow(range.start + at..range.start + at + inside.n_bytes),
                },
                InsideKind::Named => {
                    let address = defined.get(format!("_{name}").as_str());
                    out.begin_link(address.and_then(|it| Target::of_address(it)));
                    out.flow(inner);
                    out.end_mark();
                }
                InsideKind::Mark(kind) => {
                    out.begin_inline(kind);
                    out.flow(inner);
                    out.end_mark();
                }
                InsideKind::Link(target) => {
                    out.begin_link(target);
                    out.flow(inner);
                    out.end_mark();
                }
            }
            at += inside.n_bytes.max(1);
            shown = at;
        }
        out.flow(range.start + shown..range.end);
    }
}

/// Returns the last character boundary up to `limit`.
fn floor(text: &str, limit: usize) -> usize {
    (0..=limit.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

/// Reads text between two equal marks, unless it begins or ends with white space.
pub(super) fn between(text: &str, mark: &str, kind: InlineKind) -> Option<Inside> {
    let inner = text.strip_prefix(mark)?;
    let end = inner.find(mark).filter(|end| *end > 0)?;
    let shown = inner.get(..end)?;
    let is_tight = !shown.starts_with(char::is_whitespace) && !shown.ends_with(char::is_whitespace);
    let start = mark.len();
    is_tight.then_some(Inside {
        n_bytes: start + end + start,
        text: start..start + end,
        kind: InsideKind::Mark(kind),
    })
}

/// True where a mark may open: at the start, after white space, an opening bracket, a quote or a hyphen.
pub(super) fn may_open(before: Option<char>) -> bool {
    before.is_none_or(|c| c.is_whitespace() || "([{'\"-".contains(c))
}
