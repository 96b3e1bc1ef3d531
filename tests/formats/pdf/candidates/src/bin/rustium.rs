//! rustium-pdf: text of each page.

fn main() {
    candidates::run(|path| {
        let document = rustium_pdf::Document::open(path).ok()?;
        let pages = (0..document.page_count()).filter_map(|page| document.page(page).ok());
        Some(pages.map(|page| page.text()).collect::<Vec<_>>().join("\n"))
    });
}
