//! Windows: the parts of passages that have vectors.

use model::terms::ContentHash;
use rusqlite::Row;
use rustc_hash::FxHashSet;

use super::{FromRow, Read};
use crate::store::Snapshot;

/// Reads windows.
#[derive(Clone, Copy)]
pub struct Windows<'s>(pub(super) &'s Snapshot);

record! {
    /// A part of a passage with a vector of its own.
    pub struct Window {
        /// Row id, also of its vector.
        pub id: i64 = "w.id",
        /// Row id of its passage.
        pub chunk: i64 = "w.chunk_id",
        /// First byte of the document's text.
        pub start: usize = "w.start",
        /// The byte after the last.
        pub end: usize = "w.end",
        /// Its static vector, if that is not searched because its passage repeats another; empty if it has none.
        pub aside: Option<Vec<u8>> = "iif(w.is_aside, coalesce(w.vector, x''), NULL)",
    }
}

record! {
    /// A window that is searched, with what decides when it gets its better vector.
    pub struct SearchedWindow {
        /// Row id.
        pub id: i64 = "w.id",
        /// Hash of the text that a better model reads.
        pub hash: ContentHash = "w.hash",
        /// Whether its language is English or unknown.
        pub may_be_english: bool = "c.language IN ('', 'en')",
        /// Whether its passage is the first of its document.
        pub is_first: bool = "c.idx = 0",
        /// Whether its passage is a table or code.
        pub is_reference: bool = "c.profile IN ('reference', 'code')",
    }
}

impl FromRow for ContentHash {
    const WIDTH: usize = 1;
    fn from_row(row: &Row<'_>, at: usize) -> rusqlite::Result<Self> {
        row.get(at).map(|bytes| ContentHash(u128::from_le_bytes(bytes)))
    }
}

impl Windows<'_> {
    /// Returns a window.
    pub fn get(self, window: i64) -> Read<Option<Window>> {
        self.0.select_one("FROM windows w WHERE w.id = ?1", [window])
    }

    /// Returns the windows of passages: those of each in the order of its text, the passages in the given order.
    pub fn of(self, chunks: impl IntoIterator<Item = i64>) -> Read<Vec<Window>> {
        self.0.select_each("FROM windows w WHERE w.chunk_id = ?1 ORDER BY w.start", chunks)
    }

    /// Returns the ids of the windows of some passages.
    pub fn of_chunks(self, chunks: &FxHashSet<i64>) -> Read<FxHashSet<i64>> {
        let one = "SELECT id FROM windows WHERE chunk_id = ?1";
        self.0.rows_of(chunks, one, "SELECT chunk_id, id FROM windows")
    }

    /// Returns the windows of a document that are searched, each with the place of its passage among those of the
    /// document, in the order of its text.
    pub fn of_document(self, doc: i64) -> Read<Vec<(i64, i64)>> {
        let sql = "SELECT c.idx, w.id FROM chunks c JOIN windows w ON w.chunk_id = c.id
                   WHERE c.doc_id = ?1 AND w.is_aside = 0 ORDER BY c.idx, w.start";
        self.0.rows(sql, [doc])
    }

    /// Returns the windows that are searched, by id.
    pub fn searched(self) -> Read<Vec<SearchedWindow>> {
        let from =
            "FROM windows w JOIN chunks c ON c.id = w.chunk_id WHERE w.is_aside = 0 ORDER BY w.id";
        self.0.select(from, [])
    }

    /// Returns the hashes of the texts that a better model reads.
    pub fn hashes(self) -> Read<FxHashSet<ContentHash>> {
        self.0.rows("SELECT hash FROM windows", [])
    }
}
