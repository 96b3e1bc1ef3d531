//! Entries: notes that may be entries of the knowledge base (S2), with their texts.

use super::Read;
use crate::store::Snapshot;

/// Reads notes that may be entries.
#[derive(Clone, Copy)]
pub struct Entries<'s>(pub(super) &'s Snapshot);

record! {
    /// A note with its front matter and text.
    pub struct EntryNote {
        /// Row id of its document.
        pub doc: i64 = "d.id",
        /// Its path.
        pub path: String = "d.path",
        /// Its title.
        pub title: String = "d.title",
        /// When its file changed, milliseconds since 1970.
        pub mtime_ms: i64 = "d.mtime_ms",
        /// Hash of the file.
        pub hash: [u8; 16] = "d.hash",
        /// Its front matter, as JSON.
        pub metadata: String = "n.metadata",
        /// Its normalized text.
        pub text: String = "d.text",
    }
}

/// Selects notes whose front matter may have the id of an entry, or whose path begins with ?1 in any case.
fn select(rest: &str) -> String {
    format!(
        "SELECT {} FROM notes n JOIN docs d ON d.id = n.doc_id WHERE (n.metadata LIKE '%\"id\"%kb-%'
           OR substr(folded(d.path), 1, length(folded(?1))) = folded(?1)) {rest}",
        EntryNote::COLUMNS
    )
}

impl Entries<'_> {
    /// Calls `see` with each note that may be an entry; the paths of entries without an id begin with `prefix`.
    pub fn each(self, prefix: &str, see: impl FnMut(EntryNote)) -> Read<()> {
        self.0.every(&select(""), [prefix], see)
    }

    /// Returns the note of a document, if it may be an entry.
    pub fn of(self, doc: i64, prefix: &str) -> Read<Option<EntryNote>> {
        self.0.row(&select("AND d.id = ?2"), (prefix, doc))
    }
}
