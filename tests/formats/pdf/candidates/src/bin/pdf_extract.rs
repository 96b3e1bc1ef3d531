//! pdf-extract: all text.

fn main() {
    candidates::run(|path| pdf_extract::extract_text(path).ok());
}
