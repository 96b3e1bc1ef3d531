//! Contradict: what speaks against a relation, and the relations that something speaks against.
//!
//! In: a relation. Out: statements that it is not so, and for a relation that runs one way only, those that it runs the
//! other way.
//! Invariants: what speaks against a relation lowers its confidence and is told beside its evidence; it never takes
//! the relation away, and never makes one.
//! Not here: finding denials in text (`extract/relate/depend/`).

use rusqlite::{Row, params};

use super::entity::corroborated;
use super::graph::Statement;
use super::{AskError, Desk};
use extract::relate::DENIED;

/// How much of the confidence is lost to what is surely said against it.
const LOSS: f32 = 0.5;
/// Most statements read for one side of a relation.
const MAX_STATEMENTS: i64 = 50;

/// Statements from one entity to another; the predicate as it is stored, the entity ids in the statement as given.
const BETWEEN: &str = "SELECT e.predicate, e.confidence * coalesce(sn.link, 1.0) * coalesce(bn.link, 1.0), e.doc_id,
       e.start, e.end, e.raw_start, e.raw_end, e.pattern
     FROM evidence e LEFT JOIN names sn ON sn.id = e.subject LEFT JOIN names bn ON bn.id = e.object
     WHERE e.subject IN (SELECT id FROM names WHERE entity_id = ?1 UNION ALL SELECT -id FROM docs WHERE entity_id = ?1)
       AND e.object IN (SELECT id FROM names WHERE entity_id = ?2 UNION ALL SELECT -id FROM docs WHERE entity_id = ?2)
       AND e.predicate = ?3
     ORDER BY 2 DESC, e.doc_id, e.seq LIMIT ?4";

/// Relations against which something is said: denied, or stated the other way round too.
const CONTRADICTED: &str = "SELECT r.src_id, r.rel, r.dst_id FROM relations r
       JOIN denials d ON d.src_id = r.src_id AND d.dst_id = r.dst_id AND d.rel = r.rel
     UNION SELECT r.src_id, r.rel, r.dst_id FROM relations r
       JOIN relations b ON b.src_id = r.dst_id AND b.dst_id = r.src_id AND b.rel = r.rel
       WHERE r.rel IN (SELECT value FROM json_each(?1))
     ORDER BY 1, 2, 3 LIMIT ?2";

/// Statements of one relation, the surest first.
pub(super) fn statements_of(
    desk: &Desk<'_>,
    (subject, predicate, object): (i64, &str, i64),
) -> Result<Vec<Statement>, AskError> {
    let mut rows = desk.snapshot.prepare_cached(BETWEEN)?;
    let read = |row: &Row<'_>| {
        let number = |i: usize| row.get::<_, i64>(i);
        Ok(Statement {
            subject,
            predicate: row.get(0)?,
            object,
            confidence: row.get(1)?,
            doc: number(2)?,
            span: (number(3)? as usize, number(4)? as usize),
            raw: (number(5)? as u64, number(6)? as u64),
            pattern: row.get(7)?,
        })
    };
    let found = rows.query_map(params![subject, object, predicate, MAX_STATEMENTS], read)?;
    Ok(found.collect::<Result<_, _>>()?)
}

/// What is said against a relation, the surest first.
pub(super) fn against(
    desk: &Desk<'_>,
    (subject, predicate, object): (i64, &str, i64),
) -> Result<Vec<Statement>, AskError> {
    let denied = format!("{DENIED}{predicate}");
    let mut found = statements_of(desk, (subject, &denied, object))?;
    if desk.one_way.contains(&predicate) {
        found.extend(statements_of(desk, (object, predicate, subject))?);
    }
    found.sort_by(|a, b| b.confidence.total_cmp(&a.confidence));
    Ok(found)
}

/// Relations against which something is said, as subject, predicate and object.
pub(super) fn contradicted(
    desk: &Desk<'_>,
    limit: u32,
) -> Result<Vec<(i64, String, i64)>, AskError> {
    let one_way = serde_json::to_string(&desk.one_way).unwrap_or_default();
    let mut rows = desk.snapshot.prepare_cached(CONTRADICTED)?;
    let found =
        rows.query_map(params![one_way, limit], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    Ok(found.collect::<Result<_, _>>()?)
}

/// The confidence of what is stated so often and so well, and denied so.
pub(super) fn weighed(stated: &[Statement], against: &[Statement]) -> f32 {
    let weighed = corroborated(stated) * (1.0 - LOSS * corroborated(against));
    (weighed * 1000.0).round() / 1000.0
}
