//! pdf_oxide: text of each page.

fn main() {
    candidates::run(|path| {
        let document = pdf_oxide::PdfDocument::open(path).ok()?;
        let pages = 0..document.page_count().ok()?;
        let texts = pages.map(|page| document.extract_text(page).unwrap_or_default());
        Some(texts.collect::<Vec<_>>().join("\n"))
    });
}
