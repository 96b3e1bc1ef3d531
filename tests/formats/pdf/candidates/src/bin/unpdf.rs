//! unpdf: all text.

fn main() {
    candidates::run(|path| unpdf::extract_text(path).ok());
}
