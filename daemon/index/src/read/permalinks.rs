//! Permalinks: the addresses of notes, as clients list, watch and complete them.

use notes::resolve::By;
use rusqlite::params;

use super::Read;
use crate::store::Snapshot;
use crate::store::permalinks::{self, Refused};

/// Reads permalinks.
#[derive(Clone, Copy)]
pub struct Permalinks<'s>(pub(super) &'s Snapshot);

record! {
    /// A note with an address.
    pub struct Addressed {
        /// Its permalink.
        pub permalink: String = "n.permalink",
        /// Its title.
        pub title: String = "d.title",
        /// Its path.
        pub path: String = "d.path",
        /// Size of its file.
        pub n_bytes: u64 = "d.n_bytes",
    }
}

impl Permalinks<'_> {
    /// Returns the first `most` notes with an address whose path is after this one, by path.
    pub fn after(self, path: &str, most: usize) -> Read<Vec<Addressed>> {
        let sql = "FROM docs d JOIN notes n ON n.doc_id = d.id
                   WHERE n.permalink IS NOT NULL AND d.path > ?1 ORDER BY d.path LIMIT ?2";
        self.0.select(sql, params![path, most as i64])
    }

    /// Returns the number of permalinks and a sum that a change of any of them most likely changes. Reads only the
    /// index over permalinks.
    pub fn checksum(self) -> Read<(i64, i64)> {
        let sql = "SELECT count(permalink), coalesce(sum(doc_id % 1000003 * (length(permalink) + 7 * unicode(permalink)
                     + 31 * unicode(substr(permalink, -1)))), 0) FROM notes";
        self.0.only(sql, [])
    }

    /// Returns the permalinks that contain this text, those that begin with it first, then in their order.
    pub fn containing(self, text: &str) -> Read<Vec<String>> {
        let sql =
            "SELECT permalink FROM notes WHERE permalink IS NOT NULL AND instr(permalink, ?1) > 0
                   ORDER BY instr(permalink, ?1) > 1, permalink";
        self.0.rows(sql, [text])
    }

    /// Returns the titles of notes and the tags (`#tag`) whose folded form contains this text, those that begin with
    /// it first, then the shortest.
    pub fn topics_containing(self, text: &str) -> Read<Vec<String>> {
        let sql = "SELECT name FROM (SELECT d.title AS name, n.key AS key
                     FROM doc_names n JOIN docs d ON d.id = n.doc_id WHERE n.kind = ?2
                   UNION SELECT '#' || tag, '#' || tag FROM doc_tags)
                   WHERE instr(key, ?1) > 0 GROUP BY name ORDER BY instr(key, ?1) > 2, length(name), name";
        self.0.rows(sql, params![text, By::Title as i64])
    }

    /// Returns the note that has this permalink without stating it, unless it is the one at `path`: its path, and the
    /// permalink that it would have if no other note had it.
    pub fn derived(self, permalink: &str, path: &str) -> Read<Option<(String, String)>> {
        let sql = "SELECT d.path, n.base FROM notes n JOIN docs d ON d.id = n.doc_id
                   WHERE n.permalink = ?1 AND NOT n.is_stated AND d.path <> ?2";
        self.0.row(sql, [permalink, path])
    }

    /// Returns the permalinks that notes state and do not get, by path: at most `most`.
    pub fn refused(self, most: usize) -> Read<Vec<Refused>> {
        permalinks::refused(self.0.db(), most)
    }
}
