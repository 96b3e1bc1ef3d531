//! Memory: notes as entities with facts and typed relations (S1).
//!
//! Invariant: a relation is a typed link in a note's text.

use std::collections::BTreeSet;

use notes::memory::stated_type;
use notes::resolve::By;
use rusqlite::{params, params_from_iter};
use rustc_hash::{FxHashMap, FxHashSet};

use super::Read;
use crate::store::Snapshot;

/// Reads notes as entities with facts.
#[derive(Clone, Copy)]
pub struct Memory<'s>(pub(super) &'s Snapshot);

/// The condition that the chunk `c` contains the fact `f`.
const IS_OF_FACT: &str =
    "f.doc_id = c.doc_id AND f.line_start <= c.line_end AND f.line_end >= c.line_start";

/// All facts as a table `f`, unpacked once. They come first in a join, since a view would unpack them for each chunk.
const FACTS: &str = "WITH f AS MATERIALIZED (SELECT * FROM memory_facts)";

/// The tables of nodes; a condition and an order follow.
const NODES: &str = "FROM notes n JOIN docs d ON d.id = n.doc_id WHERE";

record! {
    /// An entity in brief.
    pub struct Node {
        /// Row id of its document.
        pub doc: i64 = "n.doc_id",
        /// Path of its note.
        pub path: String = "d.path",
        /// Its name.
        pub name: String = "n.name",
        /// Its type.
        pub entity_type: String = "coalesce(n.type, 'note')",
        /// Its summary.
        pub summary: Option<String> = "n.summary",
        /// Its tags.
        pub tags: Vec<String> = "n.tags",
        /// When its note was modified, milliseconds since 1970.
        pub modified_ms: i64 = "d.mtime_ms",
        /// Whether it has a type or is in the memory folder; other notes can be named, but are not listed.
        pub is_node: bool = "n.is_node",
        /// Whether it is in the memory folder.
        pub in_folder: bool = "n.in_folder",
        /// The highest ordinal in its front matter.
        pub last_ordinal: u64 = "max(n.last_ordinal, 0)",
        /// The number of its facts.
        pub n_facts: u64 = "n.n_facts",
    }
}

record! {
    /// A fact of a note.
    pub struct Fact {
        /// Row id of its document.
        pub doc: i64 = "f.doc_id",
        /// Its index among the facts of its note.
        pub seq: i64 = "f.seq",
        /// Its ordinal; `None` while the file has none.
        pub ordinal: Option<u64> = "max(f.ordinal, 0)",
        /// Its text.
        pub content: String = "f.content",
        /// Its first line in the file.
        pub line: u32 = "f.line_start",
        /// The speaker, in a conversation.
        pub speaker: Option<String> = "f.speaker",
        /// Its day, if its text or heading names one.
        pub day: Option<String> = "f.day",
    }
}

/// A relation between two notes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Edge {
    /// Row id of the document that states it.
    pub from: i64,
    /// Row id of its target, if that is a note; `None` if it is unresolved.
    pub to: Option<i64>,
    /// Its target as written.
    pub target: String,
    /// Its type.
    pub relation_type: String,
}

record! {
    /// Numbers of what nodes have.
    pub struct MemoryCounts {
        /// Nodes.
        pub n_nodes: u64 = "count(*)",
        /// Facts.
        pub n_facts: u64 = "coalesce(sum(n_facts), 0)",
        /// Relations.
        pub n_relations: u64 = "(SELECT count(*) FROM
            (SELECT DISTINCT l.doc_id, l.rel, l.context, coalesce(l.dst, l.target) FROM note_links l
             JOIN notes n ON n.doc_id = l.doc_id AND n.is_node WHERE l.is_typed AND l.kind = 0))",
        /// Facts with a vector.
        pub n_vectors: u64 = "coalesce(sum(n_vectors), 0)",
    }
}

/// Filters and paging of a list of nodes.
#[derive(Debug, Clone, Default)]
pub struct Listed {
    /// Only this type, ignoring case.
    pub entity_type: Option<String>,
    /// Only nodes modified since, milliseconds since 1970, sorted by modification, latest first;
    /// otherwise sorted by name.
    pub since_ms: Option<i64>,
    /// Only nodes without a resolved relation.
    pub is_orphan: bool,
    /// Number of nodes to skip.
    pub skip: usize,
    /// Most nodes.
    pub most: usize,
}

impl Memory<'_> {
    /// Returns the note of a document as a node.
    pub fn get(self, doc: i64) -> Read<Option<Node>> {
        self.0.select_one(&format!("{NODES} n.doc_id = ?1"), [doc])
    }

    /// Returns the notes of some documents as nodes, in their order.
    pub fn many(self, docs: impl IntoIterator<Item = i64>) -> Read<Vec<Node>> {
        self.0.rows_of_each(&format!("SELECT {} {NODES} n.doc_id = ?1", Node::COLUMNS), docs)
    }

    /// Returns the note at a path as a node.
    pub fn at(self, path: &str) -> Read<Option<Node>> {
        self.0.select_one(&format!("{NODES} d.path = ?1"), [path])
    }

    /// Returns nodes in a stable order.
    pub fn list(self, listed: &Listed) -> Read<Vec<Node>> {
        let order =
            if listed.since_ms.is_some() { "d.mtime_ms DESC, d.path" } else { "n.key, d.path" };
        let orphan = "NOT EXISTS (SELECT 1 FROM note_links l JOIN notes t ON t.doc_id = l.dst
                        WHERE l.doc_id = n.doc_id AND l.is_typed AND l.kind = 0)
                      AND NOT EXISTS (SELECT 1 FROM note_links l WHERE l.dst = n.doc_id AND l.is_typed AND l.kind = 0)";
        let orphan = if listed.is_orphan { orphan } else { "1" };
        let from = format!(
            "{NODES} n.is_node AND (?1 IS NULL OR folded(coalesce(n.type, 'note')) = folded(?1))
             AND (?2 IS NULL OR d.mtime_ms >= ?2) AND {orphan} ORDER BY {order} LIMIT ?3 OFFSET ?4"
        );
        let bounds = params![
            listed.entity_type,
            listed.since_ms,
            i64::try_from(listed.most).unwrap_or(i64::MAX),
            listed.skip as i64
        ];
        self.0.select(&from, bounds)
    }

    /// Returns the documents of the nodes of a type, ignoring case, or of all, and of the notes in which a fact is
    /// numbered; ascending.
    pub fn docs(self, entity_type: Option<&str>) -> Read<Vec<i64>> {
        let sql = "SELECT doc_id FROM notes n WHERE (is_node OR EXISTS
                     (SELECT 1 FROM memory_facts f WHERE f.doc_id = n.doc_id AND f.ordinal IS NOT NULL))
                   AND (?1 IS NULL OR folded(coalesce(type, 'note')) = folded(?1)) ORDER BY doc_id";
        self.0.rows(sql, [entity_type])
    }

    /// Returns the documents of the notes with a name, by the form that is compared.
    pub fn with_key(self, key: &str) -> Read<Vec<i64>> {
        self.0.rows("SELECT doc_id FROM notes WHERE key = ?1", [key])
    }

    /// Returns the nodes whose name contains `key` or whose type contains `entity_type`, both folded: document, name
    /// and type in the form that is compared.
    pub fn containing(self, key: &str, entity_type: &str) -> Read<Vec<(i64, String, String)>> {
        let sql = "SELECT doc_id, key, folded(coalesce(type, '')) FROM notes
                   WHERE is_node AND (instr(key, ?1) > 0 OR instr(folded(coalesce(type, '')), ?2) > 0)";
        self.0.rows(sql, [key, entity_type])
    }

    /// Returns the notes displayed under a name, by its norm, with the name as written: those with this first heading
    /// that state no title, if no other note has it.
    pub fn shown_as(self, norm: &str) -> Read<Vec<(i64, String)>> {
        let sql = "SELECT h.doc_id, h.surface FROM headings h
                   JOIN entities e ON e.doc_id = h.doc_id AND e.name = h.surface WHERE h.norm = ?1";
        self.0.rows(sql, [norm])
    }

    /// Returns every name that a note states for itself, sorted.
    pub fn names(self, doc: i64) -> Read<Vec<String>> {
        let sql = "SELECT surface FROM stated WHERE doc_id = ?1 AND surface <> ''
                   UNION SELECT name FROM notes WHERE doc_id = ?1 ORDER BY 1";
        self.0.rows(sql, [doc])
    }

    /// Calls `see` with each name, title and alias of each note, and with each name that denotes it; by document and
    /// name.
    pub fn each_name(self, see: impl FnMut((i64, String))) -> Read<()> {
        let sql = "SELECT doc_id, key FROM notes
                   UNION SELECT doc_id, key FROM doc_names WHERE kind IN (?1, ?2)
                   UNION SELECT e.doc_id, n.surface FROM names n JOIN entities e ON e.id = n.entity_id
                   WHERE e.doc_id IS NOT NULL ORDER BY 1, 2";
        self.0.every(sql, [By::Title as i64, By::Alias as i64], see)
    }

    /// Returns the facts of a note, in the order of its text.
    pub fn facts(self, doc: i64) -> Read<Vec<Fact>> {
        self.0.select("FROM memory_facts f WHERE f.doc_id = ?1 ORDER BY f.seq", [doc])
    }

    /// Calls `see` with the facts of nodes.
    pub fn each_fact(self, see: impl FnMut(Fact)) -> Read<()> {
        let sql = format!(
            "SELECT {} FROM memory_facts f JOIN notes s ON s.doc_id = f.doc_id AND s.is_node",
            Fact::COLUMNS
        );
        self.0.every(&sql, [], see)
    }

    /// Returns the facts of passages, by passage, in the order of the text.
    pub fn facts_of(
        self,
        chunks: impl IntoIterator<Item = i64>,
    ) -> Read<FxHashMap<i64, Vec<Fact>>> {
        let sql = format!(
            "SELECT {} FROM chunks c JOIN memory_facts f ON {IS_OF_FACT} WHERE c.id = ?1 ORDER BY f.seq",
            Fact::COLUMNS
        );
        self.0.rows_by(&sql, chunks)
    }

    /// Returns those of some passages that state relations and no fact: most of their lines are typed links.
    pub fn stating_relations(self, chunks: impl IntoIterator<Item = i64>) -> Read<FxHashSet<i64>> {
        let sql = format!(
            "SELECT c.id FROM chunks c WHERE c.id = ?1
             AND NOT EXISTS (SELECT 1 FROM memory_facts f WHERE {IS_OF_FACT})
             AND 2 * (SELECT count(DISTINCT l.line) FROM note_links l WHERE l.doc_id = c.doc_id AND l.is_typed
                      AND l.line BETWEEN c.line_start AND c.line_end) > c.line_end - c.line_start + 1"
        );
        let found: Vec<i64> = self.0.rows_of_each::<i64, _>(&sql, chunks)?;
        Ok(found.into_iter().collect())
    }

    /// Returns the passages of facts from one day on, and before another; a fact without a day has that of its
    /// document.
    pub fn chunks_of_days(self, after: Option<&str>, before: Option<&str>) -> Read<FxHashSet<i64>> {
        let sql = format!(
            "{FACTS} SELECT c.id FROM f CROSS JOIN docs d ON d.id = f.doc_id CROSS JOIN chunks c ON {IS_OF_FACT}
             WHERE (?1 IS NULL OR coalesce(f.day, d.day) >= ?1) AND (?2 IS NULL OR coalesce(f.day, d.day) < ?2)"
        );
        self.0.rows(&sql, [after, before])
    }

    /// Returns the passages of facts whose folded text starts with `prefix`.
    pub fn chunks_beginning(self, prefix: &str) -> Read<FxHashSet<i64>> {
        let sql = format!(
            "{FACTS} SELECT c.id FROM f CROSS JOIN chunks c ON {IS_OF_FACT}
             WHERE substr(folded(f.content), 1, length(?1)) = ?1"
        );
        self.0.rows(&sql, [prefix])
    }

    /// Returns the dated facts of a document: first line, last line and day.
    pub fn dated_lines(self, doc: i64) -> Read<Vec<(u32, u32, String)>> {
        let sql = "SELECT line_start, line_end, day FROM memory_facts WHERE doc_id = ?1 AND day IS NOT NULL";
        self.0.rows(sql, [doc])
    }

    /// Returns the links between nodes that stand in facts: document, target and index of the fact.
    pub fn links_in_facts(self) -> Read<Vec<(i64, i64, i64)>> {
        let sql = format!(
            "{FACTS} SELECT f.doc_id, l.dst, f.seq FROM f
             CROSS JOIN notes s ON s.doc_id = f.doc_id AND s.is_node
             JOIN note_links l ON l.doc_id = f.doc_id AND l.line BETWEEN f.line_start AND f.line_end
             JOIN notes t ON t.doc_id = l.dst AND t.is_node"
        );
        self.0.rows(&sql, [])
    }

    /// Returns the relations that start or end in a note, or all; each once.
    pub fn edges(self, doc: Option<i64>) -> Read<BTreeSet<Edge>> {
        let all = "SELECT l.doc_id, t.doc_id, l.target, coalesce(l.rel, ''), l.context
                   FROM note_links l LEFT JOIN notes t ON t.doc_id = l.dst WHERE l.is_typed AND l.kind = 0";
        let of = format!("{all} AND l.doc_id = ?1 UNION ALL {all} AND l.dst = ?1");
        let sql = if doc.is_some() { &of } else { all };
        let mut edges = BTreeSet::new();
        self.0.every(sql, params_from_iter(doc), |(from, to, target, relation, context)| {
            let (relation, context): (String, Option<String>) = (relation, context);
            let relation_type = stated_type(&relation, context.as_deref());
            edges.insert(Edge { from, to, target, relation_type });
        })?;
        Ok(edges)
    }

    /// Returns the mean vectors of the facts of each node that has one, by name and path; components as signed bytes.
    pub fn means(self) -> Read<Vec<(i64, Vec<u8>)>> {
        let sql = "SELECT n.doc_id, n.mean FROM notes n JOIN docs d ON d.id = n.doc_id
                   WHERE n.is_node AND n.mean IS NOT NULL ORDER BY n.key, d.path";
        self.0.rows(sql, [])
    }

    /// Returns the vectors of a note's facts, one after the other, and their mean; components as signed bytes.
    pub fn vectors(self, doc: i64) -> Read<Option<(Vec<u8>, Vec<u8>)>> {
        let sql = "SELECT vectors, mean FROM notes WHERE doc_id = ?1 AND mean IS NOT NULL";
        self.0.row(sql, [doc])
    }

    /// Counts nodes, facts, relations, and facts with a vector.
    pub fn counts(self) -> Read<MemoryCounts> {
        self.0.only(&format!("SELECT {} FROM notes WHERE is_node", MemoryCounts::COLUMNS), [])
    }
}
