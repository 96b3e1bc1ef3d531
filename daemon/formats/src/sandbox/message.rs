//! Messages: the protocol between daemon and worker.
//!
//! ```text
//! daemon ► worker   Opening                  once
//! worker ► daemon   Reply::Ready             once
//! daemon ► worker   Job + descriptor         for each document
//! worker ► daemon   Reply                    for each document
//! ```
//! In: our own types. Out: frames of bytes (length, then postcard), and back.
//! Invariants: both ends are the same executable, so nothing here is versioned; [`decode`] guarantees the shape of a
//! message and nothing more, because its sender may be compromised: `check.rs` decides whether it is used.

use serde::{Deserialize, Serialize};

use super::restrict::Sandbox;
use crate::FormatLimits;
use model::document::{Block, BlockKind, DocMeta, Inline, InlineKind, Link, LinkKind, Parsed};
use model::terms::{Norm, Span};

/// Bytes of the length before each message.
pub(super) const HEAD_BYTES: usize = 4;

/// Longest message other than a [`Reply`] to a job, in bytes.
pub(super) const MAX_SMALL_BYTES: usize = 4096;

/// Settings of a worker, sent when it starts.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Opening {
    /// Memory it may use beyond its own program, in bytes.
    pub(super) max_memory_bytes: u64,
    /// Added to its nice value; 0 leaves it unchanged.
    pub(super) niceness: i32,
}

/// One document. Its bytes are in the descriptor sent with it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Job {
    /// Selects the format: lowercase, without dot.
    pub(super) extension: String,
    /// Number of bytes in the descriptor.
    pub(super) n_bytes: u64,
    /// See [`FormatLimits::max_output_bytes`].
    pub(super) max_output_bytes: u64,
    /// See [`FormatLimits::max_nesting`].
    pub(super) max_nesting: u64,
    /// Longest reply, in bytes.
    pub(super) max_reply_bytes: u64,
    /// True in tests: the document may tell the worker how to misbehave.
    pub(super) obeys: bool,
}

impl Job {
    /// Returns the limits for the format.
    pub(super) fn limits(&self) -> FormatLimits {
        let limit = |n| usize::try_from(n).unwrap_or(usize::MAX);
        FormatLimits {
            max_output_bytes: limit(self.max_output_bytes),
            max_nesting: limit(self.max_nesting),
        }
    }
}

/// A message of a worker.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Reply {
    /// It is confined and waits for documents.
    Ready(Sandbox),
    /// The document.
    Parsed(Box<WireParsed>),
    /// The format's reason for rejecting the document.
    Refused(String),
    /// The format panicked, with the location in our code; never the message.
    Panicked(String),
    /// The reply would exceed the limit.
    TooLarge,
}

/// A document as returned by a format.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct WireParsed {
    pub(super) title: Option<String>,
    pub(super) meta: WireMeta,
    pub(super) text: String,
    /// `to`, `to_len`, `from`, `from_len`.
    pub(super) map: Vec<[u32; 4]>,
    pub(super) blocks: Vec<WireBlock>,
    pub(super) inlines: Vec<WireInline>,
    pub(super) links: Vec<WireLink>,
    pub(super) pages: Vec<u32>,
    pub(super) warnings: Vec<String>,
}

/// What a document states about itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct WireMeta {
    pub(super) has_stated_title: bool,
    pub(super) aliases: Vec<String>,
    pub(super) ids: Vec<String>,
    pub(super) tags: Vec<String>,
    pub(super) doc_type: Option<String>,
    pub(super) author: Option<String>,
    pub(super) language: Option<String>,
    pub(super) date: Option<String>,
    pub(super) source_url: Option<String>,
    pub(super) security: Option<String>,
    /// A JSON object.
    pub(super) extra: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct WireBlock {
    pub(super) kind: WireBlockKind,
    pub(super) span: (u32, u32),
    pub(super) section: Option<u32>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) enum WireBlockKind {
    Heading(u8),
    Paragraph,
    ListItem { list: u32, depth: u8, ordinal: Option<u32> },
    TableRow { table: u32, is_header: bool },
    Code { language: String },
    Quote,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(super) enum WireInlineKind {
    Bold,
    Emphasis,
    Code,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct WireInline {
    pub(super) kind: WireInlineKind,
    pub(super) span: (u32, u32),
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct WireLink {
    pub(super) kind: WireLinkKind,
    pub(super) target: String,
    pub(super) fragment: Option<String>,
    pub(super) span: (u32, u32),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum WireLinkKind {
    Wiki,
    Embed,
    Path,
    Url,
}

/// A message is too long to be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TooLong;

/// Returns a message with its length before it.
pub(super) fn encode(message: &impl Serialize, max_bytes: usize) -> Result<Vec<u8>, TooLong> {
    // Leaves room for the length, so that the message is not copied.
    let framed = postcard::to_extend(message, vec![0; HEAD_BYTES]).map_err(|_| TooLong)?;
    let n_bytes = framed.len() - HEAD_BYTES;
    let head = u32::try_from(n_bytes).ok().filter(|_| n_bytes <= max_bytes).ok_or(TooLong)?;
    let mut framed = framed;
    if let Some(place) = framed.get_mut(..HEAD_BYTES) {
        place.copy_from_slice(&head.to_le_bytes());
    }
    Ok(framed)
}

/// Returns the message in a frame's bytes (without the length); `None` when they are anything else, or longer.
pub(super) fn decode<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Option<T> {
    let (message, rest) = postcard::take_from_bytes(bytes).ok()?;
    rest.is_empty().then_some(message)
}

impl From<Parsed> for WireParsed {
    fn from(parsed: Parsed) -> Self {
        // Without `..`, so that a new field must be considered here and in `check.rs`.
        let Parsed { title, meta, text, map, blocks, inlines, links, pages, warnings } = parsed;
        let segments = map.segments().iter();
        WireParsed {
            title,
            meta: meta.into(),
            text,
            map: segments.map(|it| [it.to, it.to_len, it.from, it.from_len]).collect(),
            blocks: blocks.into_iter().map(WireBlock::from).collect(),
            inlines: inlines.into_iter().map(WireInline::from).collect(),
            links: links.into_iter().map(WireLink::from).collect(),
            pages,
            warnings,
        }
    }
}

impl From<DocMeta> for WireMeta {
    fn from(meta: DocMeta) -> Self {
        let DocMeta {
            has_stated_title,
            aliases,
            ids,
            tags,
            doc_type,
            author,
            language,
            date,
            source_url,
            security,
            extra,
        } = meta;
        // Cannot fail: keys are text, and values are JSON's types.
        let extra = serde_json::to_string(&extra).unwrap_or_default();
        WireMeta {
            has_stated_title,
            aliases,
            ids,
            tags,
            doc_type,
            author,
            language,
            date,
            source_url,
            security,
            extra,
        }
    }
}

impl From<Block> for WireBlock {
    fn from(Block { kind, span, section }: Block) -> Self {
        let kind = match kind {
            BlockKind::Heading(level) => WireBlockKind::Heading(level),
            BlockKind::Paragraph => WireBlockKind::Paragraph,
            BlockKind::ListItem { list, depth, ordinal } => {
                WireBlockKind::ListItem { list, depth, ordinal }
            }
            BlockKind::TableRow { table, is_header } => {
                WireBlockKind::TableRow { table, is_header }
            }
            BlockKind::Code { language } => WireBlockKind::Code { language },
            BlockKind::Quote => WireBlockKind::Quote,
        };
        WireBlock { kind, span: wire_span(span), section }
    }
}

impl From<Inline> for WireInline {
    fn from(Inline { kind, span }: Inline) -> Self {
        let kind = match kind {
            InlineKind::Bold => WireInlineKind::Bold,
            InlineKind::Emphasis => WireInlineKind::Emphasis,
            InlineKind::Code => WireInlineKind::Code,
        };
        WireInline { kind, span: wire_span(span) }
    }
}

impl From<Link> for WireLink {
    fn from(Link { kind, target, fragment, span }: Link) -> Self {
        let kind = match kind {
            LinkKind::Wiki => WireLinkKind::Wiki,
            LinkKind::Embed => WireLinkKind::Embed,
            LinkKind::Path => WireLinkKind::Path,
            LinkKind::Url => WireLinkKind::Url,
        };
        WireLink { kind, target, fragment, span: wire_span(span) }
    }
}

fn wire_span(span: Span<Norm>) -> (u32, u32) {
    let n = |place| u32::try_from(place).unwrap_or(u32::MAX);
    (n(span.start()), n(span.end()))
}
