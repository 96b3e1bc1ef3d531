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
    /// Marks that stand before and after what they mark, longer ones first, and whether they may stand inside words.
    pub(super) pairs: &'static [(&'static str, InlineKind, bool)],
    /// Reads any other mark at the start of the text; the second argument is the character before it.
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
    Mark(InlineKind),
    /// A link; without a target, only its text is shown.
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
            let window = &window[..window.floor_char_boundary(MAX_BYTES)];
            let inside = self.pair(window, before).or_else(|| (self.find)(window, before));
            let Some(inside) = inside else {
                at += 1;
                // Also right where `at` is now inside a character: all starts are ASCII.
                continue;
            };
            out.flow(range.start + shown..range.start + at);
            let inner = range.start + at + inside.text.start..range.start + at + inside.text.end;
            let name = source.get(inner.clone()).unwrap_or("");
            let whole = range.start + at..range.start + at + inside.n_bytes;
            match (&inside.kind, defined.get(name)) {
                (InsideKind::Name, Some(text)) => out.replaced(text, whole),
                (InsideKind::Name, None) => out.flow(whole),
                _ => {
                    match inside.kind {
                        InsideKind::Mark(kind) => out.begin_inline(kind),
                        InsideKind::Link(target) => out.begin_link(target),
                        InsideKind::Name | InsideKind::Named => {
                            let address = defined.get(format!("_{name}").as_str());
                            out.begin_link(address.and_then(|it| Target::of_address(it)));
                        }
                    }
                    out.flow(inner);
                    out.end_mark();
                }
            }
            at += inside.n_bytes.max(1);
            shown = at;
        }
        out.flow(range.start + shown..range.end);
    }

    /// Reads text between two equal marks, unless it begins or ends with white space.
    fn pair(&self, text: &str, before: Option<char>) -> Option<Inside> {
        let is_at = |(mark, _, is_free): &&(&str, InlineKind, bool)| {
            text.starts_with(mark) && (*is_free || may_open(before))
        };
        let (mark, kind, _) = self.pairs.iter().find(is_at)?;
        let inner = text.get(mark.len()..)?;
        let shown = inner.get(..inner.find(mark)?)?;
        let is_tight = !shown.is_empty() && shown.trim() == shown;
        let text = mark.len()..mark.len() + shown.len();
        is_tight.then(|| Inside {
            n_bytes: text.end + mark.len(),
            text,
            kind: InsideKind::Mark(*kind),
        })
    }
}

/// True where a mark may open: at the start, after white space, an opening bracket, a quote or a hyphen.
pub(super) fn may_open(before: Option<char>) -> bool {
    before.is_none_or(|c| c.is_whitespace() || "([{'\"-".contains(c))
}
