//! oxidize-pdf: text of each page.

fn main() {
    candidates::run(|path| {
        let document = oxidize_pdf::parser::PdfReader::open_document(path).ok()?;
        let pages = document.extract_text().ok()?;
        Some(pages.into_iter().map(|page| page.text).collect::<Vec<_>>().join("\n"))
    });
}
