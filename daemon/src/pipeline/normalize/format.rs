//! Formats: what a file type must offer, and the table of those that are read.
//!
//! In: the decoded text of a file, line ends already `\n`, secrets already replaced by marks. Out: a
//! [`Parsed`] whose map leads back to that text.
//! Invariant: a format is a pure function of its text and limits; hostile text costs linear time and never
//! panics. To add a file type, write `impl Format` in a file of its own and add one line to [`READERS`].
//! Not here: bytes and encodings (`decode.rs`), secrets (`redact.rs`), titles by file name (`mod.rs`).

use super::html::Html;
use super::markdown::Markdown;
use super::plain::Plain;
use crate::pipeline::parcel::{Block, DocMeta, Inline, Link};
use crate::terms::SpanMap;

/// Reads one file type.
pub(crate) trait Format: Sync {
    /// The extensions it reads, lowercase, without dot.
    fn extensions(&self) -> &'static [&'static str];

    /// True when the first heading of level 1 names a document that states no title.
    fn takes_title_from_heading(&self) -> bool {
        false
    }

    /// Reads a text. The error is the reason for a lasting fault of this document; whatever can be read
    /// around is a warning instead.
    fn read(&self, text: &str, limits: &FormatLimits) -> Result<Parsed, String>;
}

/// How far a format may go.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FormatLimits {
    /// Longest normalized text, bytes; what lies beyond is cut with a warning
    /// ([`super::builder::TextBuilder`] does so by itself).
    pub(crate) max_output_bytes: usize,
    /// Deepest nesting followed (lists, quotes, elements, YAML); deeper structure is flattened.
    pub(crate) max_nesting: usize,
}

/// What a format makes of a text.
#[derive(Debug, Default)]
pub(crate) struct Parsed {
    /// The title the document states (frontmatter, `<title>`), if any.
    pub(crate) title: Option<String>,
    /// What the document says about itself.
    pub(crate) meta: DocMeta,
    /// The normalized text; see [`crate::pipeline::parcel::NormalDoc::text`].
    pub(crate) text: String,
    /// From the normalized text to the text that was read.
    pub(crate) map: SpanMap,
    /// The outline, in order of place, without overlap.
    pub(crate) blocks: Vec<Block>,
    /// Inline marks, in order of place, each inside one block.
    pub(crate) inlines: Vec<Inline>,
    /// Links, in order of place. A target that begins with `./`, `../` or `/` is a path still to be
    /// resolved against the document's folder; [`super::target::Target::of_address`] writes them so.
    pub(crate) links: Vec<Link>,
    /// Trouble that did not stop the document.
    pub(crate) warnings: Vec<String>,
}

/// What kind of content a format takes. Formats over bytes (PDF, DOCX) join here as a variant of their own.
#[derive(Clone, Copy)]
pub(crate) enum Reader {
    /// Takes decoded, redacted text.
    Text(&'static dyn Format),
}

/// Every file type that is read, one line each.
pub(crate) static READERS: &[Reader] =
    &[Reader::Text(&Markdown), Reader::Text(&Plain), Reader::Text(&Html)];

/// The reader for an extension (lowercase, without dot). An extension that no format claims is read as
/// plain text: it is only read at all because a user listed it.
pub(crate) fn reader_for(extension: &str) -> Reader {
    let claims = |reader: &&Reader| match reader {
        Reader::Text(format) => format.extensions().contains(&extension),
    };
    READERS.iter().find(claims).copied().unwrap_or(Reader::Text(&Plain))
}

#[cfg(test)]
mod tests {
    use super::{READERS, Reader, reader_for};

    #[test]
    fn no_extension_is_claimed_twice() {
        let mut all: Vec<&str> = READERS
            .iter()
            .flat_map(|Reader::Text(format)| format.extensions().iter().copied())
            .collect();
        let n_all = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), n_all);
        assert!(
            all.iter().all(|e| e.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit()))
        );
    }

    #[test]
    fn each_extension_finds_its_format() {
        let rows = [("md", "md"), ("htm", "html"), ("txt", "txt"), ("rst", "txt")];
        for (extension, one_of_its_own) in rows {
            let Reader::Text(format) = reader_for(extension);
            assert!(format.extensions().contains(&one_of_its_own), "{extension}");
        }
    }
}
