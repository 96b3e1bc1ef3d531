//! Bound: removes excess attributes from tags, since the tokenizer compares each attribute with all others.
//!
//! In: a source. Out: the same text with spaces in place of excess attributes, so that all offsets stay.
//! Invariants: linear time; an ordinary page is not copied.

use std::borrow::Cow;

use super::place::{end_of_comment, end_of_tag};

/// Most attributes of a tag. Each is compared with all before it, so their number must be bounded; real tags have
/// some dozens at most.
pub(super) const MAX_ATTRIBUTES: usize = 500;

/// Returns the source with spaces in place of the attributes of tags that have too many.
pub(super) fn with_bounded_tags(source: &str) -> Cow<'_, str> {
    let bytes = source.as_bytes();
    let mut out = Cow::Borrowed(source);
    let mut at = 0;
    while let Some(start) = memchr::memchr(b'<', bytes.get(at..).unwrap_or(&[])).map(|i| at + i) {
        at = start + 1;
        let rest = &bytes[at..];
        if rest.starts_with(b"!--") {
            at = start + end_of_comment(&bytes[start..]);
        }
        if !rest.first().is_some_and(u8::is_ascii_alphabetic) {
            continue;
        }
        let name_len = rest.iter().take_while(|byte| byte.is_ascii_alphanumeric()).count();
        let (end, n_attributes) = end_of_tag(bytes, at);
        if n_attributes > MAX_ATTRIBUTES {
            let attributes = at + name_len..end.saturating_sub(1).max(at + name_len);
            let blank = " ".repeat(attributes.len());
            out.to_mut().replace_range(attributes, &blank);
        }
        at = end;
        if is_raw(&rest[..name_len]) {
            // A tag inside a script is text.
            at += end_of_raw(&bytes[end..], &rest[..name_len]);
        }
    }
    out
}

fn is_raw(name: &[u8]) -> bool {
    [&b"script"[..], b"style", b"textarea", b"title", b"xmp", b"iframe", b"noembed", b"noframes"]
        .iter()
        .any(|raw| name.eq_ignore_ascii_case(raw))
}

/// Returns where the end tag with this name begins.
fn end_of_raw(body: &[u8], name: &[u8]) -> usize {
    let is_end = |at: &usize| {
        let written = body.get(at + 2..at + 2 + name.len());
        written.is_some_and(|written| written.eq_ignore_ascii_case(name))
    };
    memchr::memmem::find_iter(body, b"</").find(is_end).unwrap_or(body.len())
}
