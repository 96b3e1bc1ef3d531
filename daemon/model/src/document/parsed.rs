//! Parsed: a document between its format and the stage that normalizes it, which removes secrets.

use super::{Block, DocMeta, Inline, Link};
use crate::terms::SpanMap;

/// The result of parsing a text in some format.
#[derive(Debug, Clone, Default)]
pub struct Parsed {
    /// The title the document states (frontmatter, `<title>`), if any.
    pub title: Option<String>,
    /// Metadata that the document states.
    pub meta: DocMeta,
    /// The normalized text; see [`Document::text`](super::Document::text).
    pub text: String,
    /// From the normalized text to the text that was read; for a format over bytes, to the text that it extracted
    /// (usually the identity).
    pub map: SpanMap,
    /// The outline, in order of place, without overlap.
    pub blocks: Vec<Block>,
    /// Inline marks, in order of place, each inside one block.
    pub inlines: Vec<Inline>,
    /// Links, in order of place. A target that begins with `./`, `../` or `/` is a path still to be resolved against
    /// the document's folder.
    pub links: Vec<Link>,
    /// Offset in the normalized text at which each page starts, first page first, ascending; empty if the format has
    /// no pages. A page without text starts where the next one does.
    pub pages: Vec<u32>,
    /// Problems that did not stop the document.
    pub warnings: Vec<String>,
}
