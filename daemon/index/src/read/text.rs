//! Text: the full-text index: the passages that match an FTS5 expression, and posting lists.

use rustc_hash::FxHashSet;

use super::Read;
use crate::postings::{FIELDS, Postings, Scorer, Unread};
use crate::store::Snapshot;

/// Reads the full-text index.
#[derive(Clone, Copy)]
pub struct FullText<'s>(pub(super) &'s Snapshot);

impl<'s> FullText<'s> {
    /// Returns whether a passage matches.
    pub fn has(self, expression: &str) -> Read<bool> {
        let sql = "SELECT 1 FROM chunk_fts WHERE chunk_fts MATCH ?1 LIMIT 1";
        self.0.has_row(sql, [expression])
    }

    /// Returns the passages that match.
    pub fn matches(self, expression: &str) -> Read<FxHashSet<i64>> {
        self.0.rows("SELECT rowid FROM chunk_fts WHERE chunk_fts MATCH ?1", [expression])
    }

    /// Returns the passages that match with their BM25, negated so that larger is better; best first, equal ones by
    /// id.
    pub fn scored(self, expression: &str) -> Read<Vec<(i64, f32)>> {
        let [title, headings, body] = FIELDS;
        let sql = format!(
            "SELECT rowid, -bm25(chunk_fts, {title:?}, {headings:?}, {body:?}) AS score FROM chunk_fts
             WHERE chunk_fts MATCH ?1 ORDER BY score DESC, rowid"
        );
        self.0.rows(&sql, [expression])
    }

    /// Opens the posting lists.
    ///
    /// # Errors
    /// When they cannot be read, or their layout is unknown.
    pub fn postings(self) -> Result<Postings<'s>, Unread> {
        Postings::open(self.0.db())
    }

    /// Returns the best passages by the terms of a scorer, best first, equal ones by id; with `among`, of these only.
    ///
    /// # Errors
    /// As [`FullText::postings`].
    pub fn best(
        self,
        scorer: &Scorer,
        wanted: usize,
        among: Option<&FxHashSet<i64>>,
    ) -> Result<Vec<(i64, f32)>, Unread> {
        scorer.best(self.0.db(), wanted, among)
    }

    /// Returns the scores of these passages.
    ///
    /// # Errors
    /// As [`FullText::postings`].
    pub fn scores(self, scorer: &Scorer, chunks: Vec<i64>) -> Result<Vec<(i64, f64)>, Unread> {
        scorer.scores(self.0.db(), chunks)
    }
}
