//! Contradict: statements against a relation, and the relations that have any.
//!
//! In: a relation. Out: statements that deny it; for a relation that holds in only one direction,
//! also statements of the opposite direction; for one with a single object, statements of other
//! documents about another object.
//! Invariants: a contradiction lowers the confidence of a relation and is shown next to its
//! evidence; it never removes or creates a relation. Another object is shown but lowers nothing:
//! the reader decides which one is out of date.
//! Not here: finding denials in text (`extract/relate/depend/`).

use rusqlite::{Row, params};

use crate::graph::confidence::Corroboration;
use crate::graph::{Statement, shown_about};
use crate::{AskError, QueryContext};
use extract::relate::DENIED;

/// Most statements read for one side of a relation.
const MAX_STATEMENTS: i64 = 50;

/// Statements from one entity to another; the predicate as it is stored, the entity ids in the
/// statement as given.
const BETWEEN: &str = "SELECT e.predicate, e.confidence * coalesce(sn.link, 1.0) * coalesce(bn.link, 1.0), e.doc_id,
       e.start, e.end, e.raw_start, e.raw_end, e.pattern
     FROM evidence e LEFT JOIN names sn ON sn.id = e.subject LEFT JOIN names bn ON bn.id = e.object
     WHERE e.subject IN (SELECT id FROM names WHERE entity_id = ?1 UNION ALL SELECT -id FROM docs WHERE entity_id = ?1)
       AND e.object IN (SELECT id FROM names WHERE entity_id = ?2 UNION ALL SELECT -id FROM docs WHERE entity_id = ?2)
       AND e.predicate = ?3
     ORDER BY 2 DESC, e.doc_id, e.seq LIMIT ?4";

/// Relations that are denied, or also stated in the opposite direction. The view `relations` would join and sort all
/// evidence, several times; this reads the one-way part and looks the denied ones up.
const CONTRADICTED: &str = "WITH one_way AS MATERIALIZED (
       SELECT DISTINCT coalesce(sn.entity_id, sd.entity_id) AS src_id, e.predicate AS rel,
         coalesce(bn.entity_id, bd.entity_id) AS dst_id
       FROM evidence e LEFT JOIN names sn ON sn.id = e.subject LEFT JOIN docs sd ON sd.id = -e.subject
                       LEFT JOIN names bn ON bn.id = e.object LEFT JOIN docs bd ON bd.id = -e.object
                       LEFT JOIN entities so ON e.subject_link IS NOT NULL AND so.id = sn.entity_id
                       LEFT JOIN entities bo ON e.object_link IS NOT NULL AND bo.id = bn.entity_id
       WHERE e.predicate IN (SELECT value FROM json_each(?1)) AND so.doc_id IS NULL AND bo.doc_id IS NULL)
     SELECT d.src_id, d.rel, d.dst_id FROM denials d WHERE EXISTS (SELECT 1 FROM evidence e
       WHERE e.subject IN (SELECT id FROM names WHERE entity_id = d.src_id
                           UNION ALL SELECT -id FROM docs WHERE entity_id = d.src_id)
         AND e.object IN (SELECT id FROM names WHERE entity_id = d.dst_id
                          UNION ALL SELECT -id FROM docs WHERE entity_id = d.dst_id)
         AND e.predicate = d.rel)
     UNION SELECT r.src_id, r.rel, r.dst_id FROM one_way r
       JOIN one_way b ON b.src_id = r.dst_id AND b.dst_id = r.src_id AND b.rel = r.rel
       WHERE r.src_id <> r.dst_id
     ORDER BY 1, 2, 3 LIMIT ?2";

/// Returns the statements of one relation, surest first.
pub(super) fn statements_of(
    ctx: &QueryContext<'_>,
    subject: i64,
    predicate: &str,
    object: i64,
) -> Result<Vec<Statement>, AskError> {
    let mut rows = ctx.snapshot.prepare_cached(BETWEEN)?;
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

/// Returns the statements against a relation, surest first.
pub(super) fn against(
    ctx: &QueryContext<'_>,
    subject: i64,
    predicate: &str,
    object: i64,
) -> Result<Vec<Statement>, AskError> {
    let denied = format!("{DENIED}{predicate}");
    let mut found = statements_of(ctx, subject, &denied, object)?;
    if ctx.one_way.contains(&predicate) {
        found.extend(statements_of(ctx, object, predicate, subject)?);
    }
    found.sort_by(|a, b| b.confidence.total_cmp(&a.confidence));
    Ok(found)
}

/// Returns statements of other documents that give the subject of a functional relation another
/// object, surest first.
pub(super) fn rivals(
    ctx: &QueryContext<'_>,
    stated: &[Statement],
) -> Result<Vec<Statement>, AskError> {
    let Some(first) = stated.first().filter(|it| ctx.functional.contains(&it.predicate.as_str()))
    else {
        return Ok(Vec::new());
    };
    // One document may name several objects, such as two owners in a list.
    let agrees = |it: &Statement| stated.iter().any(|own| own.doc == it.doc);
    let is_rival =
        |it: &Statement| it.subject == first.subject && it.object != first.object && !agrees(it);
    let mut found = shown_about(ctx, first.subject, std::slice::from_ref(&first.predicate))?;
    found.retain(is_rival);
    Ok(found)
}

/// Returns contradicted relations, as subject, predicate and object.
pub(crate) fn contradicted(
    ctx: &QueryContext<'_>,
    limit: u32,
) -> Result<Vec<(i64, String, i64)>, AskError> {
    let one_way = serde_json::to_string(&ctx.one_way).unwrap_or_default();
    let mut rows = ctx.snapshot.prepare_cached(CONTRADICTED)?;
    let found =
        rows.query_map(params![one_way, limit], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    Ok(found.collect::<Result<_, _>>()?)
}

/// Returns the confidence of a relation with these statements for it and against it.
pub(crate) fn weighed(stated: &[Statement], against: &[Statement]) -> f32 {
    let sum = |statements: &[Statement]| statements.iter().collect::<Corroboration>();
    sum(stated).weighed(&sum(against))
}
