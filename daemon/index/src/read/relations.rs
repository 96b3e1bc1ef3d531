//! Relations: what documents state about two entities, and what denies it.
//!
//! A statement is stored between two parties, which are names or documents, and is read between the entities that these
//! denote. A relation is all statements with the same subject, predicate and object. The predicate of a denial begins
//! with `not `.
//! Invariant: an unresolved link of a note states no relation of a note that happens to have its name, nor does a
//! statement about words of general meaning, except where a method says that such statements are included.

use super::Read;
use crate::store::Snapshot;
use rusqlite::params;

/// Reads relations between entities.
#[derive(Clone, Copy)]
pub struct Relations<'s>(pub(super) &'s Snapshot);

record! {
    /// A sentence, row, section or link that states a relation.
    pub struct Statement {
        /// The subject's entity; 0 if it denotes none.
        pub subject: i64 = "coalesce(e.src_id, 0) AS src",
        /// Type of the relation.
        pub predicate: String = "e.predicate",
        /// The object's entity; 0 if it denotes none.
        pub object: i64 = "coalesce(e.dst_id, 0) AS dst",
        /// Its confidence times those of the links from both names to their entities, 0 to 1.
        pub confidence: f32 = "e.confidence * e.src_link * e.dst_link AS weight",
        /// Row id of the document that states it.
        pub doc: i64 = "e.doc_id",
        /// Bytes of the document's text.
        pub span: (usize, usize) = "e.start, e.end",
        /// Bytes of the file.
        pub raw: (u64, u64) = "e.raw_start, e.raw_end",
        /// How it is stated: its kind, `:`, and the wording.
        pub pattern: String = "e.pattern",
    }
}

record! {
    /// A link of a note to another document.
    pub struct StatedLink {
        /// Row id of the note.
        pub doc: i64 = "l.doc_id",
        /// Its number in the note.
        pub seq: i64 = "l.seq",
        /// The relation that it states; `None` for an embed.
        pub relation: Option<String> = "l.rel",
        /// The entity of the note.
        pub subject: i64 = "s.entity_id",
        /// The entity of the other document.
        pub object: i64 = "o.entity_id",
    }
}

/// A statement between two entities, without its place.
#[derive(Debug, Clone, Copy)]
pub struct Stated<'r> {
    /// The subject's entity.
    pub subject: i64,
    /// Type of the relation.
    pub predicate: &'r str,
    /// The object's entity.
    pub object: i64,
    /// As in [`Statement`].
    pub confidence: f32,
    /// As in [`Statement`].
    pub pattern: &'r str,
}

/// Selects statements from a view, and further columns; `WHERE` and order are appended.
fn select(further: &str, view: &str, rest: &str) -> String {
    format!("SELECT {}{further} FROM {view} e {rest}", Statement::COLUMNS)
}

/// Returns a statement that selects the parties that denote an entity.
fn parties_of(entity: &str) -> String {
    format!(
        "SELECT id FROM names WHERE entity_id = {entity} UNION ALL SELECT -id FROM docs WHERE entity_id = {entity}"
    )
}

impl Relations<'_> {
    /// Returns the statements with an entity on either side, without denials, and without those whose other side
    /// denotes nothing. Of each of its names and documents and of each side the `most` surest ones are read.
    pub fn about(self, entity: i64, most: usize) -> Read<Vec<Statement>> {
        let parties: Vec<i64> = self.0.rows(&parties_of("?1"), [entity])?;
        // What the confidence is the product of: as stated, and those of the links.
        let factors = ", e.confidence, e.src_link, e.dst_link";
        let mut found: Vec<Statement> = Vec::new();
        for party in parties {
            for side in ["subject", "object"] {
                let rest = format!(
                    "WHERE e.{side} = ?1 AND e.predicate NOT LIKE 'not %'
                     ORDER BY e.confidence DESC, e.doc_id, e.seq LIMIT ?2"
                );
                let sql = select(factors, "shown", &rest);
                let rows: Vec<(Statement, f32, f32, f32)> =
                    self.0.rows(&sql, (party, most as i64))?;
                let rows = rows.into_iter().filter(|it| it.0.subject != 0 && it.0.object != 0);
                found.extend(rows.map(|(statement, stated, subject, object)| {
                    let (own, other) =
                        if side == "subject" { (subject, object) } else { (object, subject) };
                    Statement { confidence: stated * other * own, ..statement }
                }));
            }
        }
        Ok(found)
    }

    /// Returns the statements of a relation, or, with the predicate of a denial, those against it; surest first, ties
    /// by document and place. Unresolved links are included.
    pub fn between(
        self,
        subject: i64,
        predicate: &str,
        object: i64,
        most: usize,
    ) -> Read<Vec<Statement>> {
        let (own, other) = (parties_of("?1"), parties_of("?2"));
        let rest = format!(
            "WHERE e.subject IN ({own}) AND e.object IN ({other}) AND e.predicate = ?3
             ORDER BY weight DESC, e.doc_id, e.seq LIMIT ?4"
        );
        self.0.rows(&select("", "joined", &rest), params![subject, object, predicate, most as i64])
    }

    /// Returns the statements that define what a name of an entity means, each with the path of its document; surest
    /// first, ties by path and place. Unresolved links are included.
    pub fn definitions(self, entity: i64, most: usize) -> Read<Vec<(Statement, String)>> {
        let rest = "JOIN docs d ON d.id = e.doc_id
             WHERE e.object IN (SELECT id FROM names WHERE entity_id = ?1) AND e.predicate = 'defines'
             ORDER BY e.confidence * e.dst_link DESC, d.path, e.start LIMIT ?2";
        self.0.rows(&select(", d.path", "joined", rest), (entity, most as i64))
    }

    /// Returns the surest statement of each relation, the least sure first. `below`: only those of a lower confidence
    /// as stated; 1 for all. `within`: only statements of the document or folder at this path, empty for all.
    pub fn doubtful(self, below: f32, within: Option<&str>) -> Read<Vec<Statement>> {
        // The other columns come from the row with the maximum, so `e.confidence` is that of the surest statement.
        let surest = ", max(e.confidence * e.src_link * e.dst_link) AS surest";
        let rest = "WHERE e.predicate NOT LIKE 'not %' AND (?2 IS NULL OR e.doc_id IN
               (SELECT id FROM docs WHERE ?2 = '' OR path = ?2 OR (path >= ?2 || '/' AND path < ?2 || '0')))
             GROUP BY src, dst, e.predicate HAVING src <> 0 AND dst <> 0 AND src <> dst
               AND (e.confidence < ?1 OR ?1 >= 1.0)
             ORDER BY surest, e.doc_id, e.seq";
        self.0.rows(&select(surest, "shown", rest), params![below, within])
    }

    /// Returns relations that are denied, and those that hold in one direction only (`one_way` has their types) but are
    /// also stated in the other: subject, predicate, object, by these. Unresolved links may deny.
    pub fn contradicted(self, one_way: &[&str], most: usize) -> Read<Vec<(i64, String, i64)>> {
        let (own, other) = (parties_of("d.src_id"), parties_of("d.dst_id"));
        // The view `relations` would join and sort all evidence, several times; this reads the one-way part and looks
        // the denied ones up.
        let sql = format!(
            "WITH one_way AS MATERIALIZED (
               SELECT DISTINCT src_id, predicate AS rel, dst_id
               FROM shown WHERE predicate IN (SELECT value FROM json_each(?1)))
             SELECT d.src_id, d.rel, d.dst_id FROM denials d WHERE EXISTS (SELECT 1 FROM evidence e
               WHERE e.subject IN ({own}) AND e.object IN ({other}) AND e.predicate = d.rel)
             UNION SELECT r.src_id, r.rel, r.dst_id FROM one_way r
               JOIN one_way b ON b.src_id = r.dst_id AND b.dst_id = r.src_id AND b.rel = r.rel
               WHERE r.src_id <> r.dst_id
             ORDER BY 1, 2, 3 LIMIT ?2"
        );
        let one_way = serde_json::to_string(one_way).unwrap_or_default();
        self.0.rows(&sql, (one_way, most as i64))
    }

    /// Returns the types of all stated relations and denials, sorted.
    pub fn predicates(self) -> Read<Vec<String>> {
        self.0.rows("SELECT DISTINCT predicate FROM evidence ORDER BY predicate", [])
    }

    /// Calls `see` with each statement between two entities, denials included, by document and place.
    pub fn each(self, mut see: impl FnMut(Stated<'_>)) -> Read<()> {
        let sql =
            "SELECT src_id, predicate, dst_id, confidence * src_link * dst_link, pattern FROM shown
                   WHERE src_id IS NOT NULL AND dst_id IS NOT NULL ORDER BY doc_id, seq";
        let mut statement = self.0.db().prepare_cached(sql)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let text = |at: usize| row.get_ref(at).map(|it| it.as_str().unwrap_or_default());
            let (subject, object, confidence) = (row.get(0)?, row.get(2)?, row.get(3)?);
            see(Stated { subject, predicate: text(1)?, object, confidence, pattern: text(4)? });
        }
        Ok(())
    }

    /// Returns the links of all notes that have a target.
    pub fn links(self) -> Read<Vec<StatedLink>> {
        let rest = "FROM note_links l JOIN docs s ON s.id = l.doc_id JOIN docs o ON o.id = l.dst
                    WHERE s.entity_id IS NOT NULL AND o.entity_id IS NOT NULL";
        self.0.select(rest, [])
    }
}
