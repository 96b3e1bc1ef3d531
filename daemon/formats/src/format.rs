//! Format: the trait for readers of file types, and which reader belongs to which format.
//!
//! In: for text formats, the decoded text of a file, with `\n` as line end and secrets replaced by marks; for the
//! others, the file's bytes. Out: a [`Parsed`] whose map leads back to the text that was read or extracted.
//! Invariant: a format is a pure function of its source and limits; hostile text costs linear time and never panics.

use config::formats::Id;

use super::code::LANGUAGES;
use super::csv::Csv;
use super::docx::Docx;
use super::email::Email;
use super::html::Html;
use super::light::{ADOC, ORG, PLAIN, RST};
use super::markdown::Markdown;
use super::notebook::Notebook;
use super::pdf::Pdf;
use super::xlsx::Xlsx;
use model::document::Parsed;

/// Reads one file type, from its text (`Format<str>`) or from its bytes (`Format<[u8]>`).
pub(crate) trait Format<Source: ?Sized>: Sync {
    /// True when the first heading of level 1 is the title of a document that states none.
    fn takes_title_from_heading(&self) -> bool {
        false
    }

    /// Reads a document. The error is the reason for a lasting fault of this document. If only a part cannot be read,
    /// skip it and add a warning.
    fn read(&self, source: &Source, limits: &FormatLimits) -> Result<Parsed, String>;
}

/// Limits of one document.
#[derive(Debug, Clone, Copy)]
pub struct FormatLimits {
    /// Longest normalized text, in bytes; the rest is cut with a warning, which [`super::builder::TextBuilder`] does
    /// by itself.
    pub(crate) max_output_bytes: usize,
    /// Deepest nesting (lists, quotes, elements, YAML); deeper structure is flattened.
    pub(crate) max_nesting: usize,
}

/// A reader, by what it reads.
#[derive(Clone, Copy)]
pub(crate) enum Reader {
    /// Decoded text without secrets.
    Text(&'static dyn Format<str>),
    /// The file's bytes; the extracted text is redacted afterwards.
    Bytes(&'static dyn Format<[u8]>),
}

impl Reader {
    /// Reads a document, given the UTF-8 bytes of decoded text, or the bytes of the file.
    pub(crate) fn read(self, source: &[u8], limits: &FormatLimits) -> Result<Parsed, String> {
        match self {
            Reader::Text(format) => {
                let text = std::str::from_utf8(source).map_err(|error| error.to_string())?;
                format.read(text, limits)
            }
            Reader::Bytes(format) => format.read(source, limits),
        }
    }

    /// True when the first heading of level 1 is the title of a document that states none.
    pub(crate) fn takes_title_from_heading(self) -> bool {
        match self {
            Reader::Text(format) => format.takes_title_from_heading(),
            Reader::Bytes(format) => format.takes_title_from_heading(),
        }
    }
}

/// Returns the reader of a format.
fn reader_of(id: Id) -> Reader {
    match id {
        Id::Markdown => Reader::Text(&Markdown),
        Id::Text => Reader::Text(&PLAIN),
        Id::Html => Reader::Text(&Html),
        Id::Pdf => Reader::Bytes(&Pdf),
        Id::Docx => Reader::Bytes(&Docx),
        Id::Rst => Reader::Text(&RST),
        Id::Org => Reader::Text(&ORG),
        Id::Adoc => Reader::Text(&ADOC),
        Id::Notebook => Reader::Text(&Notebook),
        Id::Email => Reader::Bytes(&Email),
        Id::Csv => Reader::Text(&Csv),
        Id::Xlsx => Reader::Bytes(&Xlsx),
    }
}

/// Returns the reader for an extension (lowercase, without dot). Unknown extensions are read as plain text: such a
/// file is only read because a user listed it.
pub(crate) fn reader_for(extension: &str) -> Reader {
    if let Some(format) = config::formats::of(extension) {
        return reader_of(format.id);
    }
    let code = LANGUAGES.iter().find(|language| language.extensions.contains(&extension));
    code.map_or(Reader::Text(&PLAIN), |language| Reader::Text(language))
}

#[cfg(test)]
mod tests {
    use config::formats::{FORMATS, Source};

    use super::{LANGUAGES, Reader, reader_of};

    #[test]
    fn rows_and_readers_agree_on_what_is_text() {
        for format in FORMATS {
            let is_bytes = matches!(reader_of(format.id), Reader::Bytes(_));
            assert_eq!(format.source == Source::Bytes, is_bytes, "{}", format.name);
        }
    }

    #[test]
    fn no_extension_of_code_is_claimed_twice() {
        let mut all: Vec<&str> =
            LANGUAGES.iter().flat_map(|language| language.extensions.iter().copied()).collect();
        assert!(all.iter().all(|it| config::formats::of(it).is_none()));
        let n_all = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), n_all);
    }
}
