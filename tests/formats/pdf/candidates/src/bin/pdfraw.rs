//! pdfraw: text of each page, with its layout.

use pdfraw::prelude::{Document, TextOptions};

fn main() {
    candidates::run(|path| {
        let document = Document::open(path).ok()?;
        let mut text = String::new();
        for page in document.pages() {
            let Ok(page) = page else { continue };
            text += &page.extract_text_layout(&TextOptions::pdfplumber_defaults()).unwrap_or_default();
            text.push('\n');
        }
        Some(text)
    });
}
