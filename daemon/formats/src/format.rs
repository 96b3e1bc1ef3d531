//! Formats: what a file type must offer, and the table of those that are read.
//!
//! In: for formats that are text, the decoded text of a file, line ends already `\n`, secrets already replaced
//! by marks; for the others, the file's bytes. Out: a [`Parsed`] whose map leads back to the text that was
//! read, or to the text that was extracted.
//! Invariant: a format is a pure function of its source and limits; hostile text costs linear time and never
//! panics. To add a file type, write `impl Format` in a file of its own and add one line to [`READERS`].
//! Not here: bytes and encodings (`decode.rs`), secrets (`redact.rs`), titles by file name (`mod.rs`).

use super::code::LANGUAGES;
use super::docx::Docx;
use super::email::Email;
use super::html::Html;
use super::light::{ADOC, ORG, RST};
use super::markdown::Markdown;
use super::notebook::Notebook;
use super::pdf::Pdf;
use super::plain::Plain;
use model::parcel::Parsed;

/// Reads one file type, from its text (`Format<str>`) or from its bytes (`Format<[u8]>`).
pub(crate) trait Format<Source: ?Sized>: Sync {
    /// The extensions it reads, lowercase, without dot.
    fn extensions(&self) -> &'static [&'static str];

    /// True when the first heading of level 1 names a document that states no title.
    fn takes_title_from_heading(&self) -> bool {
        false
    }

    /// True when it is read in a worker process, which can do nothing else: what takes intricate code, or code of
    /// others, to read. A format over bytes is always confined.
    fn is_confined(&self) -> bool {
        false
    }

    /// Reads a document. The error is the reason for a lasting fault of this document; whatever can be read
    /// around is a warning instead.
    fn read(&self, source: &Source, limits: &FormatLimits) -> Result<Parsed, String>;
}

/// How far a format may go.
#[derive(Debug, Clone, Copy)]
pub struct FormatLimits {
    /// Longest normalized text, bytes; what lies beyond is cut with a warning
    /// ([`super::builder::TextBuilder`] does so by itself).
    pub(crate) max_output_bytes: usize,
    /// Deepest nesting followed (lists, quotes, elements, YAML); deeper structure is flattened.
    pub(crate) max_nesting: usize,
}

/// What kind of content a format takes.
#[derive(Clone, Copy)]
pub(crate) enum Reader {
    /// Takes decoded, redacted text.
    Text(&'static dyn Format<str>),
    /// Takes the file's bytes; what it extracts is redacted afterwards.
    Bytes(&'static dyn Format<[u8]>),
}

impl Reader {
    /// The extensions it reads, lowercase, without dot.
    pub(crate) fn extensions(self) -> &'static [&'static str] {
        match self {
            Reader::Text(format) => format.extensions(),
            Reader::Bytes(format) => format.extensions(),
        }
    }

    /// Reads a document: decoded text as its bytes, or the bytes of the file.
    pub(crate) fn read(self, source: &[u8], limits: &FormatLimits) -> Result<Parsed, String> {
        match self {
            Reader::Text(format) => {
                let text = std::str::from_utf8(source).map_err(|error| error.to_string())?;
                format.read(text, limits)
            }
            Reader::Bytes(format) => format.read(source, limits),
        }
    }

    /// True when documents are read in a worker process.
    pub(crate) fn is_confined(self) -> bool {
        match self {
            Reader::Text(format) => format.is_confined(),
            Reader::Bytes(_) => true,
        }
    }

    /// True when the first heading of level 1 names a document that states no title.
    pub(crate) fn takes_title_from_heading(self) -> bool {
        match self {
            Reader::Text(format) => format.takes_title_from_heading(),
            Reader::Bytes(format) => format.takes_title_from_heading(),
        }
    }
}

/// Every file type that is read, one line each; languages of code are in [`LANGUAGES`].
pub(crate) static READERS: &[Reader] = &[
    Reader::Text(&Markdown),
    Reader::Text(&Plain),
    Reader::Text(&Html),
    Reader::Bytes(&Docx),
    Reader::Bytes(&Pdf),
    Reader::Text(&RST),
    Reader::Text(&ORG),
    Reader::Text(&ADOC),
    Reader::Text(&Notebook),
    Reader::Bytes(&Email),
];

/// The reader for an extension (lowercase, without dot). An extension that no format claims is read as
/// plain text: it is only read at all because a user listed it.
pub(crate) fn reader_for(extension: &str) -> Reader {
    let claims = |reader: &&Reader| reader.extensions().contains(&extension);
    let code = || LANGUAGES.iter().find(|language| language.extensions().contains(&extension));
    match READERS.iter().find(claims) {
        Some(reader) => *reader,
        None => code().map_or(Reader::Text(&Plain), |language| Reader::Text(language)),
    }
}

#[cfg(test)]
mod tests {
    use super::{Format, LANGUAGES, READERS, reader_for};

    #[test]
    fn no_extension_is_claimed_twice() {
        let mut all: Vec<&str> =
            READERS.iter().flat_map(|reader| reader.extensions().iter().copied()).collect();
        all.extend(LANGUAGES.iter().flat_map(|language| language.extensions().iter().copied()));
        let n_all = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), n_all);
        assert!(
            all.iter().all(|e| e.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit()))
        );
    }

    #[test]
    fn formats_over_bytes_and_no_others_have_the_size_limit_of_documents() {
        for reader in READERS {
            let is_bytes = matches!(reader, super::Reader::Bytes(_));
            for extension in reader.extensions() {
                let is_document = config::limits::DOCUMENT_EXTENSIONS.contains(extension);
                assert_eq!(is_document, is_bytes, "{extension}");
            }
        }
    }

    #[test]
    fn each_extension_finds_its_format() {
        let rows = [
            ("md", "md"),
            ("htm", "html"),
            ("txt", "txt"),
            ("rst", "rst"),
            ("h", "c"),
            ("zzz", "txt"),
        ];
        for (extension, one_of_its_own) in rows {
            assert!(reader_for(extension).extensions().contains(&one_of_its_own), "{extension}");
        }
    }
}
