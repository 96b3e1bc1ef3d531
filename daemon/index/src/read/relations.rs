//! Relations: what documents state about two entities, and what denies it.
//!
//! A statement is stored between two parties, which are names or documents, and is read between the entities that these
//! denote. A relation is all statements with the same subject, predicate and object. The predicate of a denial begins
//! with `not `.
//! Invariant: an unresolved link of a note states no relation of a note that happens to have its name, nor does a
//! statement about words of general meaning, except where a method says that such statements are included.

use rusqlite::params;
use rustc_hash::{FxHashMap, FxHashSet};

use super::Read;
use crate::store::Snapshot;

/// Reads relations between entities.
#[derive(Clone, Copy)]
pub struct Relations<'s>(pub(super) &'s Snapshot);

record! {
    /// A sentence, row, section or link that states a relation.
    pub struct Statement {
        /// The subject's entity; 0 if it denotes none.
        pub subject: i64 = "coalesce(sn.entity_id, sd.entity_id, 0) AS src",
        /// Type of the relation.
        pub predicate: String = "e.predicate",
        /// The object's entity; 0 if it denotes none.
        pub object: i64 = "coalesce(bn.entity_id, bd.entity_id, 0) AS dst",
        /// Its confidence times those of the links from both names to their entities, 0 to 1.
        pub confidence: f32 = "e.confidence * coalesce(sn.link, 1.0) * coalesce(bn.link, 1.0) AS weight",
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
        pub doc: i64 = "doc_id",
        /// Its number in the note.
        pub seq: i64 = "seq",
        /// The relation that it states; `None` for an embed.
        pub relation: Option<String> = "rel",
        /// Row id of the other document.
        pub target: i64 = "dst",
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

/// The tables of evidence and of what its parties denote.
const JOINED: &str =
    "evidence e LEFT JOIN names sn ON sn.id = e.subject LEFT JOIN docs sd ON sd.id = -e.subject
    LEFT JOIN names bn ON bn.id = e.object LEFT JOIN docs bd ON bd.id = -e.object
    LEFT JOIN entities so ON so.id = sn.entity_id LEFT JOIN entities bo ON bo.id = bn.entity_id";

/// Selects statements, and further columns; `WHERE` and order are appended.
fn select(further: &str, rest: &str) -> String {
    format!("SELECT {}{further} FROM {JOINED} {rest}", Statement::COLUMNS)
}

/// The condition for statements whose unresolved links name no note, and whose ends are named: of words of general
/// meaning (types below -100, `EntityType::is_named`) nothing is stated, except that a thing is of that kind. A note
/// documents itself; a heading elsewhere does not.
const SHOWN: &str =
    "(e.subject_link IS NULL OR so.doc_id IS NULL) AND (e.object_link IS NULL OR bo.doc_id IS NULL)
    AND coalesce(so.type, 0) >= -100 AND (e.predicate = 'is_a' OR coalesce(bo.type, 0) >= -100)
    AND (e.pattern <> 'title:heading' OR so.doc_id IS NULL)";

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
        let factors = ", e.confidence, coalesce(sn.link, 1.0), coalesce(bn.link, 1.0)";
        let mut found: Vec<Statement> = Vec::new();
        for party in parties {
            for side in ["subject", "object"] {
                let rest = format!(
                    "WHERE e.{side} = ?1 AND e.predicate NOT LIKE 'not %' AND {SHOWN}
                     ORDER BY e.confidence DESC, e.doc_id, e.seq LIMIT ?2"
                );
                let sql = select(factors, &rest);
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
        self.0.rows(&select("", &rest), params![subject, object, predicate, most as i64])
    }

    /// Returns the statements that define what a name of an entity means, each with the path of its document; surest
    /// first, ties by path and place. Unresolved links are included.
    pub fn definitions(self, entity: i64, most: usize) -> Read<Vec<(Statement, String)>> {
        let rest = "JOIN docs d ON d.id = e.doc_id
             WHERE e.object IN (SELECT id FROM names WHERE entity_id = ?1) AND e.predicate = 'defines'
             ORDER BY e.confidence * bn.link DESC, d.path, e.start LIMIT ?2";
        self.0.rows(&select(", d.path", rest), (entity, most as i64))
    }

    /// Returns the surest statement of each relation, the least sure first. `below`: only those of a lower confidence
    /// as stated; 1 for all. `within`: only statements of the document or folder at this path, empty for all.
    pub fn doubtful(self, below: f32, within: Option<&str>) -> Read<Vec<Statement>> {
        // The other columns come from the row with the maximum, so `e.confidence` is that of the surest statement.
        let surest =
            ", max(e.confidence * coalesce(sn.link, 1.0) * coalesce(bn.link, 1.0)) AS surest";
        let rest = format!(
            "WHERE e.predicate NOT LIKE 'not %' AND {SHOWN} AND (?2 IS NULL OR e.doc_id IN
               (SELECT id FROM docs WHERE ?2 = '' OR path = ?2 OR (path >= ?2 || '/' AND path < ?2 || '0')))
             GROUP BY src, dst, e.predicate HAVING src <> 0 AND dst <> 0 AND src <> dst
               AND (e.confidence < ?1 OR ?1 >= 1.0)
             ORDER BY surest, e.doc_id, e.seq"
        );
        self.0.rows(&select(surest, &rest), params![below, within])
    }

    /// Returns relations that are denied, and those that hold in one direction only (`one_way` has their types) but are
    /// also stated in the other: subject, predicate, object, by these. Unresolved links may deny.
    pub fn contradicted(self, one_way: &[&str], most: usize) -> Read<Vec<(i64, String, i64)>> {
        let (own, other) = (parties_of("d.src_id"), parties_of("d.dst_id"));
        // The view `relations` would join and sort all evidence, several times; this reads the one-way part and looks
        // the denied ones up.
        let sql = format!(
            "WITH one_way AS MATERIALIZED (
               SELECT DISTINCT coalesce(sn.entity_id, sd.entity_id) AS src_id, e.predicate AS rel,
                 coalesce(bn.entity_id, bd.entity_id) AS dst_id
               FROM {JOINED} WHERE e.predicate IN (SELECT value FROM json_each(?1)) AND {SHOWN})
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

    /// Reads which entity each party denotes: one scan a table.
    pub fn parties(self) -> Read<Parties> {
        let names = "SELECT id, entity_id, link FROM names WHERE entity_id IS NOT NULL";
        // Ordered by a covering index: rows of documents contain their texts and are slow to scan.
        let docs = "SELECT id, entity_id FROM docs WHERE entity_id IS NOT NULL ORDER BY entity_id";
        let noted = "SELECT id FROM entities WHERE doc_id IS NOT NULL";
        let general = "SELECT id FROM entities WHERE type < -100";
        let (names, docs) = (self.0.rows(names, [])?, self.0.rows(docs, [])?);
        Ok(Parties {
            names,
            docs,
            noted: self.0.rows(noted, [])?,
            general: self.0.rows(general, [])?,
        })
    }

    /// Calls `see` with each statement between two entities, denials included, by document and place.
    pub fn each(self, parties: &Parties, mut see: impl FnMut(Stated<'_>)) -> Read<()> {
        let sql = "SELECT subject, subject_link IS NOT NULL, object, object_link IS NOT NULL, predicate, confidence,
                   pattern FROM evidence";
        let mut statement = self.0.db().prepare_cached(sql)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let (subject, object) = ((row.get(0)?, row.get(1)?), (row.get(2)?, row.get(3)?));
            let [Some((subject, from)), Some((object, to))] =
                [subject, object].map(|(party, is_link)| parties.entity(party, is_link))
            else {
                continue;
            };
            let text = |at: usize| row.get_ref(at).map(|it| it.as_str().unwrap_or_default());
            let is_kind = text(4)?.ends_with("is_a");
            let is_general =
                parties.general.contains(&subject) || !is_kind && parties.general.contains(&object);
            let is_template = text(6)? == "title:heading" && parties.noted.contains(&subject);
            if is_general || is_template {
                continue;
            }
            let confidence = row.get::<_, f32>(5)? * from * to;
            see(Stated { subject, predicate: text(4)?, object, confidence, pattern: text(6)? });
        }
        Ok(())
    }

    /// Returns the links of all notes that have a target.
    pub fn links(self) -> Read<Vec<StatedLink>> {
        self.0.select("FROM note_links WHERE dst IS NOT NULL", [])
    }
}

/// Which entity each party of a statement denotes.
#[derive(Debug, Default)]
pub struct Parties {
    /// For each name: its entity, and the confidence of the link to it.
    names: FxHashMap<i64, (i64, f32)>,
    docs: FxHashMap<i64, i64>,
    /// Entities that have a note.
    noted: FxHashSet<i64>,
    /// Entities whose words are of general meaning.
    general: FxHashSet<i64>,
}

impl Parties {
    /// Returns the entity that a document is about.
    pub fn of_doc(&self, doc: i64) -> Option<i64> {
        self.docs.get(&doc).copied()
    }

    /// Returns the entity of a party, a name or a negated document, with the confidence of the link.
    fn entity(&self, party: i64, is_link: bool) -> Option<(i64, f32)> {
        if party < 0 {
            return self.of_doc(-party).map(|entity| (entity, 1.0));
        }
        let found = self.names.get(&party)?;
        (!is_link || !self.noted.contains(&found.0)).then_some(*found)
    }
}
