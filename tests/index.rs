//! Index: the whole index as text, including what `dump` omits, such as vectors, the text index,
//! the gazetteer and why each name denotes its entity.

use std::path::Path;

/// Returns the index at `path` as sorted lines, each with the name of its part.
///
/// # Panics
/// If it cannot be read.
pub fn index_text(path: &Path) -> String {
    index::store::canon::text_at(path).expect("it can be read")
}
