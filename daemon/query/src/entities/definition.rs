//! Definition: the words that best say what an entity is.
//!
//! In: an entity. Out: one of the statements that define it (`extract/src/relate/define.rs`), or what the front matter
//! of its own note says, with its place and its form.
//! Invariants: what its own page says comes first, then the surest; ties go to the first by path and offset. Tables of
//! several pages that describe a name speak of several things, so none of them is chosen. Bounded.

use std::cmp::Reverse;

use proto::tool::core::DefinitionView;

use crate::graph::is_rejected;
use crate::quote::source::Source;
use crate::{AskError, QueryContext};
use extract::recognize::reads_about;
use extract::relate::DEFINITION;
use index::read::Entity;

/// Most defining statements compared, surest first.
const MAX_STATEMENTS: usize = 256;

/// Returns what best defines an entity, if anything does.
pub(super) fn definition(
    ctx: &QueryContext<'_>,
    entity: &Entity,
) -> Result<Option<DefinitionView>, AskError> {
    let own = ctx.snapshot.documents().about(entity.id)?;
    let mut found = Vec::new();
    for (statement, path) in ctx.snapshot.relations().definitions(entity.id, MAX_STATEMENTS)? {
        let form = statement.pattern.strip_prefix(DEFINITION).map(str::to_string);
        if let Some(form) = form
            && !is_rejected(ctx, &statement)?
        {
            found.push((statement, path, form));
        }
    }
    let of_table = |form: &str| form == "table";
    let tables = found.iter().filter(|it| of_table(&it.2)).map(|it| it.0.doc);
    if tables.clone().max() != tables.min() {
        found.retain(|it| !of_table(&it.2));
    }
    let best = found.into_iter().min_by_key(|(statement, path, _)| {
        let confidence = (statement.confidence * 1_000.0) as u32;
        (!own.contains(&statement.doc), Reverse(confidence), path.clone(), statement.span)
    });
    let is_own = best.as_ref().is_some_and(|it| own.contains(&it.0.doc));
    if !is_own && let Some(stated) = stated(ctx, entity)? {
        return Ok(Some(stated));
    }
    let Some((statement, _, by)) = best else { return Ok(None) };
    let source = Source::load(ctx, statement.doc)?;
    Ok(source.map(|it| DefinitionView { source: it.quote(statement.span), by }))
}

/// Returns the description in the front matter of its own note, if that says what it is.
fn stated(ctx: &QueryContext<'_>, entity: &Entity) -> Result<Option<DefinitionView>, AskError> {
    let Some(doc) = entity.doc else { return Ok(None) };
    let words = ctx.snapshot.documents().description(doc)?.unwrap_or_default();
    if !reads_about(&words, &entity.name) {
        return Ok(None);
    }
    let source = Source::load(ctx, doc)?.map(|source| source.words(0, &words));
    Ok(source.map(|source| DefinitionView { source, by: "description".into() }))
}
