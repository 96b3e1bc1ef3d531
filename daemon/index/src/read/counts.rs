//! Counts: how many rows of each kind a commit has.

use std::collections::BTreeMap;

use rustc_hash::FxHashSet;

use super::Read;
use crate::store::Snapshot;

/// Reads counts.
#[derive(Clone, Copy)]
pub struct Counts<'s>(pub(super) &'s Snapshot);

/// The rows of each kind.
#[derive(Debug, Default)]
pub struct Tally {
    /// The number of rows, by kind.
    pub counts: BTreeMap<String, u64>,
    /// Documents by format.
    pub formats: BTreeMap<String, u64>,
    /// Secrets that were removed, by kind.
    pub redacted: BTreeMap<String, u64>,
    /// Passages that look like instructions or personal data, by kind.
    pub flagged: BTreeMap<String, u64>,
    /// Entities without a document of their own and without a name: there should be none.
    pub n_orphans: u64,
    /// Windows that vector search reads.
    pub n_windows: u64,
}

/// Counts the rows of each kind.
const KINDS: &str = "SELECT 'documents', count(*) FROM docs
    UNION ALL SELECT 'chunks', count(*) FROM chunks
    UNION ALL SELECT 'vectors', count(*) FROM windows
    UNION ALL SELECT 'names', count(*) FROM names
    UNION ALL SELECT 'entities', count(*) FROM entities
    UNION ALL SELECT 'mentions', coalesce(sum(n), 0) FROM mentions
    UNION ALL SELECT 'evidence', count(*) FROM evidence
    UNION ALL SELECT 'relations', count(*) FROM relations
    UNION ALL SELECT 'gazetteer', count(*) FROM gazetteer
    UNION ALL SELECT 'quarantine', count(*) FROM quarantine
    UNION ALL SELECT 'repeated passages', count(DISTINCT same_as) FROM chunks WHERE same_as <> id
    UNION ALL SELECT 'duplicate passages', count(*) FROM chunks WHERE same_as <> id";

/// Counts entities without a document of their own and without a name.
const ORPHANS: &str = "SELECT count(*) FROM entities e WHERE e.doc_id IS NULL
    AND NOT EXISTS (SELECT 1 FROM names n WHERE n.entity_id = e.id)";

record! {
    /// What the facts about a project count.
    pub struct ProjectCounts {
        /// Documents.
        pub documents: u64 = "(SELECT count(*) FROM docs)",
        /// Markdown notes.
        pub notes: u64 = "(SELECT count(*) FROM notes)",
        /// Entities that are active.
        pub entities: u64 = "(SELECT count(*) FROM entities WHERE status = 'active')",
        /// Observations of notes.
        pub observations: u64 = "(SELECT count(*) FROM observations)",
        /// Links of notes.
        pub links: u64 = "(SELECT count(*) FROM note_links)",
        /// Links that lead to no document.
        pub unresolved_links: u64 = "(SELECT count(*) FROM note_links WHERE dst IS NULL AND rel IS NOT NULL)",
        /// Files that failed.
        pub quarantine: u64 = "(SELECT count(*) FROM quarantine)",
    }
}

impl Counts<'_> {
    /// Counts the rows of each kind, which takes a second on a large index.
    pub fn all(self) -> Read<Tally> {
        Ok(Tally {
            counts: self.0.rows(KINDS, [])?,
            formats: self.0.rows("SELECT format, count(*) FROM docs GROUP BY format", [])?,
            redacted: self.findings("$.redacted")?,
            flagged: self.findings("$.flagged")?,
            n_orphans: self.0.only(ORPHANS, [])?,
            n_windows: self.searched_windows()?,
        })
    }

    /// Counts what the facts about a project state.
    pub fn of_project(self) -> Read<ProjectCounts> {
        self.0.only(&format!("SELECT {}", ProjectCounts::COLUMNS), [])
    }

    /// Returns the numbers of mentions and of relations.
    pub fn of_graph(self) -> Read<(u64, u64)> {
        self.0.only(
            "SELECT (SELECT coalesce(sum(n), 0) FROM mentions), (SELECT count(*) FROM relations)",
            [],
        )
    }

    /// Returns the ids of all entities, to count those that are new later.
    pub fn entities(self) -> Read<FxHashSet<i64>> {
        self.0.rows("SELECT id FROM entities", [])
    }

    /// Returns the numbers of indexed files, and of failed ones of which no earlier state is indexed.
    pub fn of_files(self) -> Read<(u64, u64)> {
        let sql = "SELECT (SELECT count(*) FROM docs),
                   (SELECT count(*) FROM quarantine WHERE path NOT IN (SELECT path FROM docs))";
        self.0.only(sql, [])
    }

    /// Returns the number of windows that vector search reads.
    pub fn searched_windows(self) -> Read<u64> {
        self.0.only("SELECT count(*) FROM windows WHERE is_aside = 0", [])
    }

    /// Sums findings over all documents, by kind.
    fn findings(self, which: &str) -> Read<BTreeMap<String, u64>> {
        let sql = "SELECT j.key, sum(j.value) FROM docs d, json_each(d.redactions, ?1) j
                   WHERE d.redactions IS NOT NULL GROUP BY j.key";
        self.0.rows(sql, [which])
    }

    /// Returns the number of files that failed.
    pub fn quarantine(self) -> Read<u64> {
        self.0.only("SELECT count(*) FROM quarantine", [])
    }

    /// Returns the numbers of documents and of active entities.
    pub fn of_contents(self) -> Read<(u64, u64)> {
        let sql = "SELECT (SELECT count(*) FROM docs),
                   (SELECT count(*) FROM entities WHERE status = 'active')";
        self.0.only(sql, [])
    }
}
