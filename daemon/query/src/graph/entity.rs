//! Entity: what the index knows about one entity: name, type, aliases, note, mentions.

use proto::shape::EntityView;
use rusqlite::{OptionalExtension, params};

use crate::{AskError, QueryContext};
use model::terms::EntityType;

/// Most other names of one entity.
pub(crate) const MAX_ALIASES: usize = 12;

/// Returns an entity in brief; `None` if it is gone.
pub(crate) fn entity_view(
    ctx: &QueryContext<'_>,
    entity: i64,
    score: Option<f32>,
) -> Result<Option<EntityView>, AskError> {
    let row: Option<(String, i64)> = ctx
        .snapshot
        .prepare_cached("SELECT name, type FROM entities WHERE id = ?1")?
        .query_row([entity], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    Ok(row.map(|(name, code)| EntityView {
        id: entity,
        name,
        entity_type: EntityType::shown(code).into(),
        score: score.map(rounded),
        ..EntityView::default()
    }))
}

/// Rounds to three digits: enough to compare, and short in answers.
pub(crate) fn rounded(value: f32) -> f32 {
    (value * 1000.0).round() / 1000.0
}

/// Returns the other surfaces that denote the entity, most used first.
pub(crate) fn aliases(
    ctx: &QueryContext<'_>,
    entity: i64,
    name: &str,
) -> Result<Vec<String>, AskError> {
    let mut statement = ctx.snapshot.prepare_cached(
        "SELECT surface FROM (
           SELECT surface, n_docs + 1 AS weight FROM names WHERE entity_id = ?1 AND sense = 0
           UNION ALL SELECT s.surface, 1 FROM stated s JOIN names n ON n.id = s.name_id WHERE n.entity_id = ?1)
         WHERE surface <> '' GROUP BY surface ORDER BY sum(weight) DESC, surface LIMIT ?2",
    )?;
    let rows = statement.query_map(params![entity, MAX_ALIASES as i64 + 1], |row| row.get(0))?;
    let all: Vec<String> = rows.collect::<Result<_, _>>()?;
    Ok(all.into_iter().filter(|alias| alias != name).take(MAX_ALIASES).collect())
}

/// Returns the number of mentions of an entity, and of documents with one.
pub(crate) fn counts(ctx: &QueryContext<'_>, entity: i64) -> Result<(u64, u64), AskError> {
    Ok(ctx
        .snapshot
        .prepare_cached(
            "SELECT count(*), count(DISTINCT m.doc_id) FROM names n JOIN mentions m ON m.name_id = n.id
             WHERE n.entity_id = ?1",
        )?
        .query_row([entity], |row| Ok((row.get::<_, i64>(0)? as u64, row.get::<_, i64>(1)? as u64)))?)
}

/// Returns the path of the entity's own note, if it has one.
pub(crate) fn home(ctx: &QueryContext<'_>, entity: i64) -> Result<Option<String>, AskError> {
    Ok(ctx
        .snapshot
        .prepare_cached(
            "SELECT d.path FROM entities e JOIN docs d ON d.id = e.doc_id WHERE e.id = ?1",
        )?
        .query_row([entity], |row| row.get(0))
        .optional()?)
}
