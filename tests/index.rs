//! The whole index as text: also what `dump` omits, such as vectors, the text index, the gazetteer and
//! why each name denotes what it does.

use std::path::Path;

/// The index at `path` as sorted lines, each with its part's name.
///
/// # Panics
/// When it cannot be read.
pub fn index_text(path: &Path) -> String {
    let db = index::store::open_for_reading(path).expect("the index opens");
    index::store::canon::text(&db).expect("it can be read")
}
