//! Parsed: a document between its format and the stage that normalizes it; secrets are removed from it on this way.

use super::{Block, DocMeta, Inline, Link};
use crate::terms::SpanMap;

/// What a format makes of a text.
#[derive(Debug, Clone, Default)]
pub struct Parsed {
    /// The title the document states (frontmatter, `<title>`), if any.
    pub title: Option<String>,
    /// What the document says about itself.
    pub meta: DocMeta,
    /// The normalized text; see [`NormalDoc::text`](super::NormalDoc::text).
    pub text: String,
    /// From the normalized text to the text that was read; for a format over bytes, to the text that it
    /// extracted (as a rule the same: the identity).
    pub map: SpanMap,
    /// The outline, in order of place, without overlap.
    pub blocks: Vec<Block>,
    /// Inline marks, in order of place, each inside one block.
    pub inlines: Vec<Inline>,
    /// Links, in order of place. A target that begins with `./`, `../` or `/` is a path still to be
    /// resolved against the document's folder.
    pub links: Vec<Link>,
    /// Where each page begins in the normalized text, first page first, rising; empty where the format has no
    /// pages. A page without text begins where the next one does.
    pub pages: Vec<u32>,
    /// Trouble that did not stop the document.
    pub warnings: Vec<String>,
}
