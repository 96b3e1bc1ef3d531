//! pdfboss: text of each page in its geometric order.

use pdfboss_output::ReadingOrder;

fn main() {
    candidates::run(|path| {
        let document = pdfboss_core::Document::open(path).ok()?;
        let pages = (0..document.page_count()).filter_map(|page| document.page(page).ok());
        let texts = pages.map(|page| {
            pdfboss_output::extract_text(&document, &page, ReadingOrder::Geometric).unwrap_or_default()
        });
        Some(texts.collect::<Vec<_>>().join("\n"))
    });
}
