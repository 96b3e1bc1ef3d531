//! Chunks: the passages of documents, in the order of the text.

use std::collections::BTreeMap;
use std::ops::Range;

use rustc_hash::{FxHashMap, FxHashSet};

use super::Read;
use crate::store::Snapshot;
use model::document::Profile;

/// Reads passages.
#[derive(Clone, Copy)]
pub struct Chunks<'s>(pub(super) &'s Snapshot);

record! {
    /// A passage: a span of its document's text.
    pub struct Chunk {
        /// Row id.
        pub id: i64 = "c.id",
        /// Row id of its document.
        pub doc: i64 = "c.doc_id",
        /// Its place among the passages of the document, from 0.
        pub idx: i64 = "c.idx",
        /// First byte of the document's text.
        pub start: usize = "c.start",
        /// The byte after the last.
        pub end: usize = "c.end",
        /// First byte of the file.
        pub raw_start: i64 = "c.raw_start",
        /// The byte after the last.
        pub raw_end: i64 = "c.raw_end",
        /// First line of the file; 0 if it has none.
        pub line_start: u32 = "c.line_start",
        /// Last line.
        pub line_end: u32 = "c.line_end",
        /// Tokens; 0 for a title without text.
        pub n_tokens: i64 = "c.n_tokens",
        /// The two innermost headings above it, with ` › ` between.
        pub section: String = "c.section",
        /// Language; empty if unknown.
        pub language: String = "c.language",
        /// Kind of text, such as `procedure`.
        pub profile: String = "c.profile",
        /// Whether it is compared with others.
        pub is_compared: bool = "c.print IS NOT NULL",
        /// The passage that it repeats, which alone is indexed; `None` for most, and while that is decided again.
        pub repeats: Option<i64> = "iif(c.same_as <> c.id AND c.same_as > 0, c.same_as, NULL)",
    }
}

impl Chunk {
    /// Returns whether it is a turn of a dialogue.
    pub fn is_turn(&self) -> bool {
        self.profile == Profile::Dialogue.as_str()
    }
}

impl Chunks<'_> {
    /// Returns a passage.
    pub fn get(self, chunk: i64) -> Read<Option<Chunk>> {
        self.0.select_one("FROM chunks c WHERE c.id = ?1", [chunk])
    }

    /// Returns passages by id; those that are gone are left out.
    pub fn many(self, chunks: impl IntoIterator<Item = i64>) -> Read<FxHashMap<i64, Chunk>> {
        let found: Vec<Chunk> = self.0.select_each("FROM chunks c WHERE c.id = ?1", chunks)?;
        Ok(found.into_iter().map(|chunk| (chunk.id, chunk)).collect())
    }

    /// Returns the documents of passages by id; those that are gone are left out.
    pub fn docs(self, chunks: impl IntoIterator<Item = i64>) -> Read<FxHashMap<i64, i64>> {
        self.0.rows_of_each::<(i64, i64), _>("SELECT id, doc_id FROM chunks WHERE id = ?1", chunks)
    }

    /// Returns those of some passages that repeat another, in the given order.
    pub fn repeats(self, chunks: impl IntoIterator<Item = i64>) -> Read<Vec<Chunk>> {
        self.0.select_each(
            "FROM chunks c WHERE c.id = ?1 AND c.same_as <> c.id AND c.same_as > 0",
            chunks,
        )
    }

    /// Returns the passages that repeat one, in the order of documents, which paths closer to the top begin; those that
    /// `is_meant` accepts by their documents, at most `most`.
    pub fn repeating(
        self,
        chunk: i64,
        most: usize,
        is_meant: impl Fn(i64) -> bool,
    ) -> Read<Vec<Chunk>> {
        let sql = format!(
            "SELECT {} FROM chunks c JOIN docs d ON d.id = c.doc_id WHERE c.same_as = ?1 AND c.same_as <> c.id
             ORDER BY d.depth, d.path, c.start",
            Chunk::COLUMNS
        );
        let mut found = Vec::new();
        self.0.each(&sql, [chunk], |it: Chunk| {
            found.extend(Some(it).filter(|it| is_meant(it.doc)));
            found.len() < most
        })?;
        Ok(found)
    }

    /// Returns the number of documents with a passage that repeats this one.
    pub fn n_documents_repeating(self, chunk: i64) -> Read<u64> {
        let sql = "SELECT count(DISTINCT doc_id) FROM chunks WHERE same_as = ?1 AND same_as <> id";
        self.0.only(sql, [chunk])
    }

    /// Returns the passages that those of some documents repeat.
    pub fn repeated_in(self, docs: &FxHashSet<i64>) -> Read<FxHashSet<i64>> {
        let one = "SELECT same_as FROM chunks WHERE doc_id = ?1 AND same_as <> id";
        self.0.rows_of(docs, one, "SELECT doc_id, same_as FROM chunks WHERE same_as <> id")
    }

    /// Returns the passages of a document.
    pub fn of(self, doc: i64) -> Read<Vec<Chunk>> {
        self.0.select("FROM chunks c WHERE c.doc_id = ?1 ORDER BY c.idx", [doc])
    }

    /// Returns the passages of a document in a range of places among its passages.
    pub fn within(self, doc: i64, places: Range<i64>) -> Read<Vec<Chunk>> {
        let from =
            "FROM chunks c WHERE c.doc_id = ?1 AND c.idx >= ?2 AND c.idx < ?3 ORDER BY c.idx";
        self.0.select(from, (doc, places.start, places.end))
    }

    /// Returns the passage that holds a byte of a document's text.
    pub fn at(self, doc: i64, byte: usize) -> Read<Option<Chunk>> {
        let from = "FROM chunks c WHERE c.doc_id = ?1 AND c.start <= ?2 AND c.end > ?2
                    ORDER BY c.idx LIMIT 1";
        self.0.select_one(from, (doc, byte as i64))
    }

    /// Returns the first passage of a document that ends after a byte of its text.
    pub fn after(self, doc: i64, byte: usize) -> Read<Option<Chunk>> {
        let from = "FROM chunks c WHERE c.doc_id = ?1 AND c.end > ?2 ORDER BY c.idx LIMIT 1";
        self.0.select_one(from, (doc, byte as i64))
    }

    /// Returns the ids of the passages of a document, in order. Reads an index only.
    pub fn ids_of(self, doc: i64) -> Read<Vec<i64>> {
        self.0.rows("SELECT id FROM chunks WHERE doc_id = ?1 ORDER BY idx", [doc])
    }

    /// Returns the ids of the passages of some documents.
    pub fn of_docs(self, docs: &FxHashSet<i64>) -> Read<FxHashSet<i64>> {
        let one = "SELECT id FROM chunks WHERE doc_id = ?1";
        self.0.rows_of(docs, one, "SELECT doc_id, id FROM chunks")
    }

    /// Returns the ids of all passages.
    pub fn ids(self) -> Read<FxHashSet<i64>> {
        self.0.rows("SELECT id FROM chunks", [])
    }

    /// Returns the document of a passage.
    pub fn doc(self, chunk: i64) -> Read<Option<i64>> {
        self.0.row("SELECT doc_id FROM chunks WHERE id = ?1", [chunk])
    }

    /// Returns the text of a passage; empty if its document is gone.
    pub fn text(self, chunk: &Chunk) -> Read<String> {
        Ok(self.texts([chunk])?.remove(&chunk.id).unwrap_or_default())
    }

    /// Returns the texts of passages by id, reading each document once.
    pub fn texts<'c>(
        self,
        chunks: impl IntoIterator<Item = &'c Chunk>,
    ) -> Read<FxHashMap<i64, String>> {
        let mut by_doc: BTreeMap<i64, Vec<&Chunk>> = BTreeMap::new();
        for chunk in chunks {
            by_doc.entry(chunk.doc).or_default().push(chunk);
        }
        let mut texts = FxHashMap::default();
        let mut statement = self.0.db().prepare_cached("SELECT text FROM docs WHERE id = ?1")?;
        for (doc, chunks) in by_doc {
            let mut rows = statement.query([doc])?;
            let Some(row) = rows.next()? else { continue };
            // Borrowed: a document may be a thousand times as long as a passage.
            let text = row.get_ref(0)?.as_str().unwrap_or_default();
            let words = |chunk: &Chunk| text.get(chunk.start..chunk.end).unwrap_or_default();
            texts.extend(chunks.iter().map(|chunk| (chunk.id, words(chunk).to_string())));
        }
        Ok(texts)
    }
}
