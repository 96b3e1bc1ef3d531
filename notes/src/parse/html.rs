//! Raw HTML in a note: anchors, which a `#fragment` may name in addition to headings, and links.
//!
//! In: a tag, or a block of HTML. Out: ranges of it.
//! Invariants: time is linear; comments, scripts and styles are not read.

use std::ops::Range;

/// Longest name of an anchor, in bytes.
const MAX_ANCHOR_BYTES: usize = 200;
/// What is not read: from the one to the other, in lower case.
const SILENT: [(&str, &str); 4] =
    [("<!--", "-->"), ("<script", "</script"), ("<style", "</style"), ("<template", "</template")];

/// Adds the values of `id` and `name` in a piece of HTML.
pub(super) fn anchors(html: &str, out: &mut Vec<String>) {
    for attribute in ["id", "name"] {
        let names = values(html, attribute).filter_map(|it| html.get(it));
        out.extend(names.filter(|it| it.len() <= MAX_ANCHOR_BYTES).map(str::to_string));
    }
}

/// Returns the tags that begin a link, each with the place of its address, and those that end one.
pub(super) fn links(html: &str) -> Vec<(Range<usize>, Option<Range<usize>>)> {
    let lower = html.to_ascii_lowercase();
    let mut out = Vec::new();
    let mut at = 0;
    while let Some(start) = lower.get(at..).and_then(|it| it.find('<')).map(|it| at + it) {
        let rest = lower.get(start..).unwrap_or("");
        if let Some((_, close)) = SILENT.iter().find(|(open, _)| rest.starts_with(open)) {
            let Some(end) = rest.find(close) else { break };
            at = start + end + close.len();
            continue;
        }
        let is_tag = rest[1..].starts_with(|c: char| c.is_ascii_alphabetic() || c == '/');
        let Some(end) = is_tag.then(|| end_of_tag(rest)) else {
            at = start + 1;
            continue;
        };
        let Some(end) = end else { break };
        at = start + end;
        let tag = &rest[..end];
        if tag.starts_with("</a>") || tag.starts_with("</a ") {
            out.push((start..at, None));
        } else if tag[1..].starts_with('a') && tag[2..].starts_with(|c: char| c.is_whitespace()) {
            let address = values(tag, "href").next();
            out.extend(address.map(|it| (start..at, Some(start + it.start..start + it.end))));
        }
    }
    out
}

/// Returns the length of the tag that a text begins with; a `>` in quotes does not end it.
fn end_of_tag(text: &str) -> Option<usize> {
    let mut quote = None;
    let end = text.bytes().position(|byte| match (quote, byte) {
        (None, b'>') => true,
        (None, b'"' | b'\'') => {
            quote = Some(byte);
            false
        }
        (Some(open), _) if open == byte => {
            quote = None;
            false
        }
        _ => false,
    });
    end.map(|it| it + 1)
}

/// Returns the places of the values of an attribute that are not empty.
fn values<'h>(html: &'h str, attribute: &'h str) -> impl Iterator<Item = Range<usize>> + 'h {
    html.match_indices(attribute).filter_map(|(at, name)| {
        let is_start = html[..at].ends_with(|c: char| c.is_ascii_whitespace());
        let rest = html[at + name.len()..].trim_start();
        let value = rest.strip_prefix('=').map(str::trim_start).filter(|_| is_start)?;
        let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''));
        let value = &value[usize::from(quote.is_some())..];
        let end = match quote {
            Some(quote) => value.find(quote),
            None => value.find(|c: char| c.is_whitespace() || c == '>'),
        };
        let start = html.len() - value.len();
        Some(start..start + end.unwrap_or(value.len())).filter(|it| !it.is_empty())
    })
}
