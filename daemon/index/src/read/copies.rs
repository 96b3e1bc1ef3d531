//! Copies: texts that occur several times: where they stand, and which place is indexed.
//!
//! A text is a row id: the hash of its words. One that another covers is indexed with that, its root.

use std::collections::BTreeSet;
use std::ops::Range;

use rustc_hash::FxHashSet;

use super::Read;
use crate::store::Snapshot;

/// Reads repeated texts.
#[derive(Clone, Copy)]
pub struct Copies<'s>(pub(super) &'s Snapshot);

record! {
    /// The fingerprint of a paragraph, or of a whole passage.
    pub struct Print {
        /// Its text.
        pub text: i64 = "text",
        /// First byte of the document's text.
        pub start: usize = "start",
        /// The byte after the last.
        pub end: usize = "end",
        /// Whether it is of a passage.
        pub is_chunk: bool = "kind = 2",
    }
}

impl Copies<'_> {
    /// Returns the prints of the paragraphs in a span of a document's text, then that of the passage which starts with
    /// it. Paragraphs are sorted and never overlap, so the last one that starts before the span is the first that may
    /// extend into it.
    pub fn prints(self, doc: i64, Range { start, end }: Range<usize>) -> Read<Vec<Print>> {
        let sql = format!(
            "SELECT {0} FROM prints WHERE doc_id = ?1 AND kind = 1 AND start < ?3 AND end > ?2
               AND start >= (SELECT coalesce(max(start), 0) FROM prints WHERE doc_id = ?1 AND kind = 1 AND start <= ?2)
             UNION ALL SELECT {0} FROM prints WHERE doc_id = ?1 AND kind = 2 AND start = ?2",
            Print::COLUMNS
        );
        self.0.rows(&sql, (doc, start as i64, end as i64))
    }

    /// Returns whether the passage that starts at a byte of a document's text has a print.
    pub fn has_print(self, doc: i64, start: usize) -> Read<bool> {
        let sql = "SELECT 1 FROM prints WHERE doc_id = ?1 AND kind = 2 AND start = ?2";
        self.0.has_row(sql, [doc, start as i64])
    }

    /// Returns the text that is indexed in place of this one: its root, or itself.
    fn root(self, text: i64) -> Read<i64> {
        Ok(self.0.row("SELECT root FROM alike WHERE text = ?1", [text])?.unwrap_or(text))
    }

    /// Returns where a text is indexed: document and byte.
    pub fn home(self, text: i64) -> Read<Option<(i64, usize)>> {
        let copied =
            "SELECT doc_id, start FROM copies WHERE text = ?1 ORDER BY rank, start LIMIT 1";
        match self.0.row(copied, [text])? {
            None => self.0.row("SELECT doc_id, start FROM prints WHERE text = ?1 LIMIT 1", [text]),
            home => Ok(home),
        }
    }

    /// Returns where a text, or the one in place of it, is indexed: document and byte.
    pub fn home_of_root(self, text: i64) -> Read<Option<(i64, usize)>> {
        self.home(self.root(text)?)
    }

    /// Returns the places of a text and of those with the same root, document and byte, in the documents that
    /// `is_meant` accepts, identical texts first: up to `most` of each, of the texts until there are so many. Of each
    /// the one that is indexed is the first.
    pub fn places(
        self,
        text: i64,
        most: usize,
        is_meant: impl Fn(i64) -> bool,
    ) -> Read<Vec<(i64, usize)>> {
        let root = self.root(text)?;
        let alike = "SELECT text FROM alike WHERE root = ?1 ORDER BY text LIMIT ?2";
        let alike: Vec<i64> = self.0.rows(alike, [root, most as i64])?;
        let listed = "SELECT doc_id, start FROM copies WHERE text = ?1 ORDER BY rank, start";
        let single = "SELECT doc_id, start FROM prints WHERE text = ?1";
        let mut all = Vec::new();
        for text in [root].into_iter().chain(alike) {
            let mut places: Vec<(i64, usize)> = Vec::new();
            for (sql, most) in [(listed, most), (single, 1)] {
                self.0.each(sql, [text], |place: (i64, usize)| {
                    places.extend(Some(place).filter(|(doc, _)| is_meant(*doc)));
                    places.len() < most
                })?;
                if !places.is_empty() {
                    break;
                }
            }
            all.append(&mut places);
            if all.len() >= most {
                break;
            }
        }
        Ok(all)
    }

    /// Returns the number of documents with a text that has several places.
    pub fn n_documents(self, text: i64) -> Read<u64> {
        self.0.only("SELECT count(DISTINCT doc_id) FROM copies WHERE text = ?1", [text])
    }

    /// Returns the passages that hold a part of a text at one of its places.
    pub fn chunks(self, text: i64, (doc, start): (i64, usize)) -> Read<Vec<i64>> {
        let sql = "SELECT k.id FROM prints p
                     JOIN chunks k ON k.doc_id = p.doc_id AND k.start < p.end AND k.end > p.start
                   WHERE p.doc_id = ?1 AND p.start = ?2 AND p.text = ?3";
        self.0.rows(sql, (doc, start as i64, text))
    }

    /// Returns the texts that some documents share with others, as they are indexed, by id.
    pub fn of_docs(self, docs: &FxHashSet<i64>) -> Read<BTreeSet<i64>> {
        let copied = "SELECT text FROM copies WHERE doc_id = ?1";
        let all_copied = "SELECT doc_id, text FROM copies";
        let alike =
            "SELECT a.root FROM prints p JOIN alike a ON a.text = p.text WHERE p.doc_id = ?1";
        let all_alike = "SELECT p.doc_id, a.root FROM alike a JOIN prints p ON p.text = a.text";
        let mut texts: FxHashSet<i64> = self.0.rows_of(docs, copied, all_copied)?;
        texts.extend(self.0.rows_of::<i64>(docs, alike, all_alike)?);
        Ok(texts.into_iter().collect())
    }
}
