//! Raw HTML: reduces HTML inside Markdown to its visible text.
//!
//! In: the source ranges of one HTML block, line by line. Out: text and block ends, written to the builder. Kept:
//! text, entities, headings, block boundaries. Dropped: tags, comments, scripts, styles.

use std::ops::Range;

use memchr::{memchr, memchr2, memmem};

use crate::builder::TextBuilder;

/// Longest entity that is recognized, in bytes, including `&` and `;`.
const MAX_ENTITY_BYTES: usize = 12;
/// Tags that end the block before them.
const BLOCK_TAGS: &[&str] = &[
    "address",
    "article",
    "aside",
    "blockquote",
    "body",
    "caption",
    "center",
    "dd",
    "details",
    "div",
    "dl",
    "dt",
    "figcaption",
    "figure",
    "footer",
    "form",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "head",
    "header",
    "hr",
    "html",
    "li",
    "main",
    "nav",
    "ol",
    "p",
    "pre",
    "section",
    "summary",
    "table",
    "tbody",
    "tfoot",
    "thead",
    "title",
    "tr",
    "ul",
];
/// Tags that separate words without ending a block.
const SPACE_TAGS: &[&str] = &["br", "td", "th", "img", "option"];
/// Elements whose content is not shown.
const SILENT_TAGS: &[&str] = &["script", "style", "template"];

/// The state at the end of the last line.
#[derive(Default)]
pub(super) enum RawHtml {
    /// In visible text.
    #[default]
    Text,
    /// In a tag, possibly inside a quoted value. `then` is the silent element that this tag opens, if any.
    Tag { quote: Option<u8>, then: Option<&'static str> },
    /// In a comment.
    Comment,
    /// In the content of a silent element.
    Silent(&'static str),
}

impl RawHtml {
    /// Reads the next range of the block.
    pub(super) fn feed(&mut self, source: &str, range: Range<usize>, out: &mut TextBuilder<'_>) {
        let end = range.end.min(source.len());
        let mut at = range.start;
        while at < end {
            let Some(rest) = source.get(at..end) else { return };
            let (n_read, next) = match self {
                RawHtml::Text => read_text(rest, at, out),
                RawHtml::Tag { quote, then } => read_tag(rest.as_bytes(), *quote, *then),
                RawHtml::Comment => read_until(rest, "-->", RawHtml::Comment),
                RawHtml::Silent(name) => read_silent(rest, name),
            };
            *self = next;
            // Always ends: `read_silent` may read 0 bytes, but then the state changes to `Text`, which reads at least
            // one.
            at += n_read;
        }
    }
}

/// True when an inline tag, such as `<br>`, separates the words around it.
pub(super) fn parts_words(tag: &str) -> bool {
    let name = name_of(tag);
    let is_in = |tags: &[&str]| tags.iter().any(|known| name.eq_ignore_ascii_case(known));
    is_in(SPACE_TAGS) || is_in(BLOCK_TAGS)
}

/// Reads up to the next tag or entity, or one of these. Returns the number of bytes read and the next state.
fn read_text(rest: &str, at: usize, out: &mut TextBuilder<'_>) -> (usize, RawHtml) {
    let stop = memchr2(b'<', b'&', rest.as_bytes()).unwrap_or(rest.len());
    if stop > 0 {
        out.flow(at..at + stop);
        return (stop, RawHtml::Text);
    }
    if rest.starts_with('&') {
        let n_read = match entity(rest) {
            Some((text, n_read)) => {
                out.replaced(text.encode_utf8(&mut [0; 4]), at..at + n_read);
                n_read
            }
            // Not an entity: `&` is text.
            None => {
                out.flow(at..at + 1);
                1
            }
        };
        return (n_read, RawHtml::Text);
    }
    if rest.starts_with("<!--") {
        return (4, RawHtml::Comment);
    }
    let name = name_of(rest);
    // Not a tag: `<` is text.
    if name.is_empty() && !rest.starts_with("<!") && !rest.starts_with("<?") {
        out.flow(at..at + 1);
        return (1, RawHtml::Text);
    }
    let is_open = !rest.starts_with("</");
    show_boundary(name, is_open, out);
    // Only the name is read here; `read_tag` reads the rest, which may continue on the next line.
    let then = SILENT_TAGS.iter().copied().find(|tag| is_open && name.eq_ignore_ascii_case(tag));
    (1 + name.len(), RawHtml::Tag { quote: None, then })
}

fn show_boundary(name: &str, is_open: bool, out: &mut TextBuilder<'_>) {
    let is_in = |tags: &[&str]| tags.iter().any(|known| name.eq_ignore_ascii_case(known));
    if is_in(SPACE_TAGS) {
        out.space_inserted();
    } else if is_in(BLOCK_TAGS) {
        out.end_block();
        let level = match name.as_bytes() {
            [b'h' | b'H', level @ b'1'..=b'6'] if is_open => Some(level - b'0'),
            _ => None,
        };
        if let Some(level) = level {
            out.begin_heading(level);
        }
    }
}

/// Reads to the end of a tag; a `>` in a quoted value does not end it.
fn read_tag(rest: &[u8], quote: Option<u8>, then: Option<&'static str>) -> (usize, RawHtml) {
    if let Some(mark) = quote {
        return match memchr(mark, rest) {
            Some(place) => (place + 1, RawHtml::Tag { quote: None, then }),
            None => (rest.len(), RawHtml::Tag { quote, then }),
        };
    }
    match rest.iter().position(|byte| b">\"'".contains(byte)) {
        None => (rest.len(), RawHtml::Tag { quote, then }),
        Some(place) => match rest.get(place) {
            Some(b'>') => (place + 1, then.map_or(RawHtml::Text, RawHtml::Silent)),
            mark => (place + 1, RawHtml::Tag { quote: mark.copied(), then }),
        },
    }
}

/// Reads up to and including `mark`, or everything, in which case the state stays `otherwise`.
fn read_until(rest: &str, mark: &str, otherwise: RawHtml) -> (usize, RawHtml) {
    match memmem::find(rest.as_bytes(), mark.as_bytes()) {
        Some(place) => (place + mark.len(), RawHtml::Text),
        None => (rest.len(), otherwise),
    }
}

/// Skips to the end tag of a silent element, which is not read.
fn read_silent(rest: &str, name: &'static str) -> (usize, RawHtml) {
    let is_end = |at: &usize| {
        let after = rest.get(at + 2..at + 2 + name.len());
        rest[*at..].starts_with("</") && after.is_some_and(|tag| tag.eq_ignore_ascii_case(name))
    };
    match memchr::memchr_iter(b'<', rest.as_bytes()).find(is_end) {
        Some(at) => (at, RawHtml::Text),
        None => (rest.len(), RawHtml::Silent(name)),
    }
}

/// Returns the name of the tag that `text` begins with; empty if there is none.
fn name_of(text: &str) -> &str {
    let Some(rest) = text.strip_prefix('<') else { return "" };
    let rest = rest.strip_prefix('/').unwrap_or(rest);
    let is_name = rest.starts_with(|c: char| c.is_ascii_alphabetic());
    let end = rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len());
    if is_name { rest.get(..end).unwrap_or("") } else { "" }
}

/// Returns the character of the entity that `text` begins with, and the entity's length in bytes.
fn entity(text: &str) -> Option<(char, usize)> {
    let end = text.bytes().take(MAX_ENTITY_BYTES).position(|byte| byte == b';')?;
    let name = text.get(1..end)?;
    let character = match name {
        "amp" => '&',
        "lt" => '<',
        "gt" => '>',
        "quot" => '"',
        "apos" => '\'',
        "nbsp" => ' ',
        "copy" => '©',
        "mdash" => '—',
        "ndash" => '–',
        "hellip" => '…',
        _ => {
            let digits = name.strip_prefix('#')?;
            let code = match digits.strip_prefix(['x', 'X']) {
                Some(digits) => u32::from_str_radix(digits, 16).ok()?,
                None => digits.parse().ok()?,
            };
            char::from_u32(code).filter(|c| !c.is_control())?
        }
    };
    Some((character, end + 1))
}
