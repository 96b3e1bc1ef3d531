//! Files: what a commit knows of the files of the project, read or failed.

use std::collections::{BTreeMap, BTreeSet};

use notes::resolve::By;
use rusqlite::params;

use super::Read;
use crate::store::{Line, Snapshot, lines_of};
use model::terms::ContentHash;

/// Reads known files.
#[derive(Clone, Copy)]
pub struct Files<'s>(pub(super) &'s Snapshot);

record! {
    /// An indexed file.
    pub struct File {
        /// Path below the project's folder.
        pub path: String = "d.path",
        /// Hash of its bytes.
        pub hash: ContentHash = "d.hash",
        /// When it changed, milliseconds since 1970.
        pub mtime_ms: i64 = "d.mtime_ms",
        /// Its size.
        pub n_bytes: u64 = "d.n_bytes",
    }
}

record! {
    /// A file that failed.
    pub struct Failure {
        /// Path below the project's folder.
        pub path: String = "path",
        /// The stage that failed.
        pub stage: String = "stage",
        /// Why.
        pub reason: String = "reason",
    }
}

/// Returns the bounds of the paths below a folder: the first possible one, and the first after them.
fn range_of(folder: &str) -> (String, String) {
    // `/` is followed by `0` in byte order.
    match folder {
        "" => (String::new(), "\u{10ffff}".to_string()),
        folder => (format!("{folder}/"), format!("{folder}0")),
    }
}

// A document's columns behind its text are read apart from `File`: SQLite would walk the pages of the text for them.
impl Files<'_> {
    /// Returns the indexed file at exactly this path.
    pub fn at(self, path: &str) -> Read<Option<File>> {
        self.0.select_one("FROM docs d WHERE d.path = ?1", [path])
    }

    /// Returns the file of a document.
    pub fn of(self, doc: i64) -> Read<Option<File>> {
        self.0.select_one("FROM docs d WHERE d.id = ?1", [doc])
    }

    /// Returns the indexed files below a folder, by path; of the project if it is empty.
    pub fn under(self, folder: &str) -> Read<Vec<File>> {
        let sql = "FROM docs d WHERE d.path >= ?1 AND d.path < ?2 ORDER BY d.path";
        self.0.select(sql, range_of(folder))
    }

    /// Returns the paths of files below a folder, indexed or failed, sorted.
    pub fn paths_under(self, folder: &str) -> Read<Vec<String>> {
        let sql = "SELECT path FROM docs WHERE path >= ?1 AND path < ?2
                   UNION SELECT path FROM quarantine WHERE path >= ?1 AND path < ?2";
        self.0.rows(sql, range_of(folder))
    }

    /// Returns whether more than `n` indexed files are below a folder.
    pub fn are_more_under(self, folder: &str, n: usize) -> Read<bool> {
        let (low, high) = range_of(folder);
        let sql = "SELECT 1 FROM docs WHERE path >= ?1 AND path < ?2 LIMIT 1 OFFSET ?3";
        self.0.has_row(sql, params![low, high, i64::try_from(n).unwrap_or(i64::MAX)])
    }

    /// Returns whether the path of an indexed file begins like this.
    pub fn any_begins(self, beginning: &str) -> Read<bool> {
        self.0.has_row("SELECT 1 FROM docs WHERE substr(path, 1, length(?1)) = ?1", [beginning])
    }

    /// Returns the paths of indexed files with these bytes, the first `most`, sorted.
    pub fn with_hash(self, hash: ContentHash, most: usize) -> Read<Vec<String>> {
        let sql = "SELECT path FROM docs WHERE hash = ?1 ORDER BY path LIMIT ?2";
        self.0.rows(sql, params![hash.0.to_le_bytes(), most as i64])
    }

    /// Returns the pass that read a file last, as `docs.pass` has it.
    pub fn pass(self, path: &str) -> Read<Option<i64>> {
        self.0.row("SELECT pass FROM docs WHERE path = ?1", [path])
    }

    /// Returns the normalized text of the file at exactly this path.
    pub fn text(self, path: &str) -> Read<Option<String>> {
        self.0.row("SELECT text FROM docs WHERE path = ?1", [path])
    }

    /// Returns whether a document has a vector, or a window in a language that no model here reads.
    pub fn has_vector(self, doc: i64) -> Read<bool> {
        let sql = "SELECT 1 FROM chunks c JOIN windows w ON w.chunk_id = c.id
                   WHERE c.doc_id = ?1 AND (w.is_aside OR w.vector IS NOT NULL)";
        self.0.has_row(sql, [doc])
    }

    /// Returns the paths of indexed files that failed since for a passing reason, or are at or below one of these
    /// paths, sorted. An empty path stands for the project's folder.
    pub fn failing_or_at(self, paths: &[String]) -> Read<Vec<String>> {
        let sql =
            "SELECT path FROM docs d WHERE path IN (SELECT path FROM quarantine WHERE is_transient)
                     OR EXISTS (SELECT 1 FROM json_each(?1) h
                                WHERE d.path = h.value OR h.value = ''
                                  OR substr(d.path, 1, length(h.value) + 1) = h.value || '/')
                   ORDER BY path";
        self.0.rows(sql, [serde_json::to_string(paths).unwrap_or_default()])
    }

    /// Returns whether more than `n` notes are entities of memory.
    pub fn are_more_of_memory(self, n: usize) -> Read<bool> {
        let sql = "SELECT 1 FROM notes WHERE is_node LIMIT 1 OFFSET ?1";
        self.0.has_row(sql, [n as i64])
    }

    /// Returns the paths of notes that are entities of memory and outside its folder, at most `most`, by row id.
    pub fn of_memory_elsewhere(self, most: usize) -> Read<Vec<String>> {
        let sql = "SELECT d.path FROM notes n JOIN docs d ON d.id = n.doc_id
                   WHERE n.is_node AND NOT n.in_folder LIMIT ?1";
        self.0.rows(sql, [most as i64])
    }

    /// Returns the paths of indexed files by the key of their name.
    pub fn named(self, key: &str) -> Read<Vec<String>> {
        let sql = "SELECT d.path FROM doc_names n JOIN docs d ON d.id = n.doc_id WHERE n.key = ?1 AND n.kind = ?2";
        self.0.rows(sql, params![key, By::FileName as i64])
    }

    /// Returns the warnings of a document, one a line.
    pub fn warnings(self, doc: i64) -> Read<Option<String>> {
        let warnings: Option<Option<String>> =
            self.0.row("SELECT warnings FROM docs WHERE id = ?1", [doc])?;
        Ok(warnings.flatten())
    }

    /// Returns the files with warnings, each with these, by path: at most `most`.
    pub fn with_warnings(self, most: usize) -> Read<Vec<(String, String)>> {
        let sql =
            "SELECT path, warnings FROM docs WHERE warnings IS NOT NULL ORDER BY path LIMIT ?1";
        self.0.rows(sql, [most as i64])
    }

    /// Passes every file with findings, by path, to `see` until it returns false: secrets that were removed, and
    /// passages that look like instructions or personal data, each as the number of every kind.
    pub fn each_finding(
        self,
        mut see: impl FnMut(&str, &BTreeMap<String, u64>, &BTreeMap<String, u64>) -> bool,
    ) -> Read<()> {
        let sql = "SELECT path, redactions FROM docs WHERE redactions IS NOT NULL ORDER BY path";
        self.0.each(sql, [], |(path, json): (String, String)| {
            let mut found: BTreeMap<String, BTreeMap<String, u64>> =
                serde_json::from_str(&json).unwrap_or_default();
            let mut of = |kind: &str| found.remove(kind).unwrap_or_default();
            see(&path, &of("redacted"), &of("flagged"))
        })
    }

    /// Returns the files that failed, the newest first: at most `most`.
    pub fn failures(self, most: usize) -> Read<Vec<Failure>> {
        self.0.select("FROM quarantine ORDER BY tick DESC, path LIMIT ?1", [most as i64])
    }

    /// Returns whether a file failed.
    pub fn has_failed(self, path: &str) -> Read<bool> {
        self.0.has_row("SELECT 1 FROM quarantine WHERE path = ?1", [path])
    }

    /// Returns the values that documents got from callers and from their text: where each was fetched from, and tags.
    pub fn given(self) -> Read<Vec<(String, String)>> {
        let sql = "SELECT path, source_url FROM docs WHERE source_url IS NOT NULL
                   UNION SELECT d.path, t.tag FROM doc_tags t JOIN docs d ON d.id = t.doc_id";
        self.0.rows(sql, [])
    }

    /// Returns the identities of the notes that are entities of memory with this name, by its key.
    pub fn uids_of_memory(self, key: &str) -> Read<BTreeSet<String>> {
        let sql = "SELECT d.uid FROM notes m JOIN docs d ON d.id = m.doc_id WHERE m.key = ?1 AND m.is_node";
        self.0.rows(sql, [key])
    }

    /// Passes every note to `see`, by path: its identity, path, and front matter as JSON.
    pub fn each_note(self, mut see: impl FnMut(&str, &str, &str)) -> Read<()> {
        let sql = "SELECT d.uid, d.path, n.metadata FROM notes n JOIN docs d ON d.id = n.doc_id ORDER BY d.path";
        self.0.every(sql, [], |(uid, path, metadata): (String, String, String)| {
            see(&uid, &path, &metadata);
        })
    }

    /// Passes every file that is indexed or failed to `see`: its path, its identity (empty if it failed), and all that
    /// the index holds of its words.
    pub fn each_with_words(self, see: &mut dyn FnMut(&str, &str, &str)) -> Read<()> {
        let sql = "SELECT path, uid, path || char(10) || title || char(10) || meta || char(10) || text FROM docs
                   UNION ALL SELECT path, '', path FROM quarantine WHERE path NOT IN (SELECT path FROM docs)";
        self.0.every(sql, [], |(path, uid, text): (String, String, String)| {
            see(&path, &uid, &text);
        })
    }

    /// Returns the lines of a document that the journal compares.
    pub fn lines(self, doc: i64) -> Read<Vec<Line>> {
        lines_of(self.0.db(), doc)
    }
}
