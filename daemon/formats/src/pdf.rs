//! PDF: converts pages of placed glyphs to normalized text with headings, lists, tables, code and links.
//!
//! In: the bytes of a file. Out: text in reading order, the start of each page, and the document's metadata.
//! ```text
//! bytes ► bound (bombs) ► interpret (glyphs) ► rows (words) ► columns (reading order) ► page
//!       ► furniture (headers and footers go) ► blocks (paragraphs, headings, …) ► TextBuilder
//! ```
//! Invariants: work and memory are bounded by the file's size and by fixed limits; only one page's glyphs are in
//! memory at a time; a document that cannot be opened is an error with a reason, a page that cannot be read is a
//! warning.

mod accent;
mod annotations;
mod bidi;
mod blocks;
mod bound;
mod cid;
mod columns;
mod font;
mod furniture;
mod glyph;
mod heading;
mod hyphen;
mod interpret;
mod item;
mod links;
mod marked;
mod meta;
mod outline;
mod page;
mod rows;
mod state;
mod table;
mod write;

#[cfg(test)]
mod tests;

use std::panic::{AssertUnwindSafe, catch_unwind};

use hayro_syntax::{DecryptionError, LoadPdfError};

use super::format::{Format, FormatLimits};
use heading::Headings;
use hyphen::Vocabulary;
use interpret::{Budget, Interpreter};
use model::document::Parsed;
use page::PageLines;

/// Most operators executed per document; a page of text has some 2,000, a map 500,000.
const MAX_OPERATORS: usize = 40_000_000;
/// Most bytes of unpacked page content per document.
const MAX_DRAWING_BYTES: usize = 1 << 30;
/// Most pages read.
const MAX_PAGES: usize = 50_000;
/// Share of unknown characters above which a warning is added, in percent.
const MAX_UNKNOWN_PERCENT: usize = 5;

/// Reads PDF.
pub(crate) struct Pdf;

impl Format<[u8]> for Pdf {
    fn takes_title_from_heading(&self) -> bool {
        true
    }

    fn read(&self, bytes: &[u8], limits: &FormatLimits) -> Result<Parsed, String> {
        // The library panics on some files; treat such a file as damaged and go on.
        catch_unwind(AssertUnwindSafe(|| read(bytes, limits))).unwrap_or_else(|_| {
            Err("damaged: the PDF reader failed on it; hint: save it anew".to_string())
        })
    }
}

fn read(bytes: &[u8], limits: &FormatLimits) -> Result<Parsed, String> {
    let pdf = open(bytes)?;
    let mut tally = Tally::default();
    let mut pages = read_pages(&pdf, limits, &mut tally);
    if tally.n_pages == 0 {
        return Err("damaged: no page of it can be found".to_string());
    }
    // Furniture goes first: it would separate the paragraphs that continue on the next page.
    furniture::drop_furniture(&mut pages);
    let headings = Headings::new(&pages, outline::read(&pdf));
    let vocabulary = Vocabulary::of_pages(&pages);
    let mut parsed = blocks::write(&pages, &headings, &vocabulary, limits);
    (parsed.title, parsed.meta) = meta::read(&pdf);
    tally.warn(&mut parsed.warnings);
    Ok(parsed)
}

fn open(bytes: &[u8]) -> Result<hayro_syntax::Pdf, String> {
    if !bound::tables_fit(bytes) {
        return Err("too large: its tables of objects unpack to more than 256 MB".to_string());
    }
    // The library tries an empty password first.
    hayro_syntax::Pdf::new(bytes.to_vec()).map_err(|error| match error {
        LoadPdfError::Decryption(DecryptionError::PasswordProtected) => {
            "encrypted: it needs a password; hint: save a copy without one".to_string()
        }
        LoadPdfError::Decryption(_) => {
            "encrypted: in a way that cannot be read; hint: save a copy without encryption"
                .to_string()
        }
        LoadPdfError::Invalid => {
            "damaged: not a PDF, or without pages that can be found".to_string()
        }
    })
}

/// Counts over all pages.
#[derive(Debug, Default)]
struct Tally {
    n_pages: usize,
    n_read: usize,
    /// Pages with pictures and no text.
    n_pictures: usize,
    n_glyphs: usize,
    n_unknown: usize,
}

fn read_pages(pdf: &hayro_syntax::Pdf, limits: &FormatLimits, tally: &mut Tally) -> Vec<PageLines> {
    let all = pdf.pages();
    tally.n_pages = all.len();
    let budget = Budget { n_operators: MAX_OPERATORS, n_bytes: MAX_DRAWING_BYTES };
    let mut interpreter = Interpreter::new(budget);
    let mut pages = Vec::new();
    for page in all.iter().take(MAX_PAGES) {
        // Each glyph becomes at least one byte of text, so more glyphs than that would be cut anyway.
        if interpreter.budget.is_spent() || tally.n_glyphs > limits.max_output_bytes {
            break;
        }
        let shown = interpreter.page(page);
        tally.n_read += 1;
        tally.n_glyphs += shown.glyphs.len() + shown.notes.iter().map(String::len).sum::<usize>();
        tally.n_unknown += shown.n_unknown;
        tally.n_pictures += usize::from(shown.glyphs.is_empty() && shown.n_images > 0);
        let (width, height) = page.render_dimensions();
        pages.push(page::page_lines(shown, width, height, links::links_of(page)));
    }
    pages
}

impl Tally {
    fn warn(&self, warnings: &mut Vec<String>) {
        let Tally { n_pages, n_read, n_pictures, n_glyphs, n_unknown } = self;
        if *n_pictures > 0 {
            warnings.push(format!(
                "no text layer on {n_pictures} of {n_pages} pages: they show pictures of text, if any; \
                 hint: make them searchable with an OCR program"
            ));
        }
        if n_read < n_pages {
            warnings.push(format!(
                "only {n_read} of {n_pages} pages are read: the document draws too much"
            ));
        }
        if n_unknown * 100 > (n_glyphs + n_unknown) * MAX_UNKNOWN_PERCENT {
            warnings.push(format!(
                "{n_unknown} characters could not be read: a font does not say what they are; \
                 hint: make it searchable with an OCR program"
            ));
        }
    }
}
