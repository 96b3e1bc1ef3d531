//! Contradict: statements against a relation, and the relations that have any.
//!
//! In: a relation. Out: statements that deny it; for a relation that holds in only one direction,
//! also statements of the opposite direction; for one with a single object, statements of other
//! documents about another object.
//! Invariants: a contradiction lowers the confidence of a relation and is shown next to its
//! evidence; it never removes or creates a relation. Another object is shown but lowers nothing:
//! the reader decides which one is out of date.

use crate::graph::confidence::Corroboration;
use crate::graph::projection::{By, Relation};
use crate::graph::{Statement, statements_about};
use crate::{AskError, QueryContext};
use extract::relate::DENIED;

/// Most statements read for one side of a relation.
const MAX_STATEMENTS: usize = 50;

/// Returns the statements of a relation of the graph, best first; of an association, the unit that says most.
pub(super) fn statements_behind(
    ctx: &QueryContext<'_>,
    relation: &Relation<'_>,
) -> Result<Vec<Statement>, AskError> {
    let Relation { subject, predicate, object, confidence, by } = *relation;
    if !matches!(by, By::Together { .. }) {
        return statements_of(ctx, subject, predicate, object);
    }
    let mut found = ctx.associations.at(ctx.snapshot)?.statements(ctx, subject, object, 1)?;
    found.iter_mut().for_each(|it| it.confidence = confidence);
    Ok(found)
}

/// Returns the statements of one relation, surest first.
pub(super) fn statements_of(
    ctx: &QueryContext<'_>,
    subject: i64,
    predicate: &str,
    object: i64,
) -> Result<Vec<Statement>, AskError> {
    Ok(ctx.snapshot.relations().between(subject, predicate, object, MAX_STATEMENTS)?)
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
    let mut found = statements_about(ctx, first.subject, std::slice::from_ref(&first.predicate))?;
    found.retain(is_rival);
    Ok(found)
}

/// Returns the confidence of a relation with these statements for it and against it.
pub(crate) fn weighed(stated: &[Statement], against: &[Statement]) -> f32 {
    let sum = |statements: &[Statement]| statements.iter().collect::<Corroboration>();
    sum(stated).weighed(&sum(against))
}
