//! lopdf: text of each page.

fn main() {
    candidates::run(|path| {
        let mut document = lopdf::Document::load(path).ok()?;
        if document.is_encrypted() {
            document.decrypt("").ok()?;
        }
        let pages = document.get_pages();
        let texts = pages.keys().map(|page| document.extract_text(&[*page]).unwrap_or_default());
        Some(texts.collect::<Vec<_>>().join("\n"))
    });
}
