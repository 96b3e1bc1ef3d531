//! Entity: an entity in brief: name, type, aliases.

use proto::shape::EntityView;

use crate::{AskError, QueryContext};
use index::read::Entity;
use model::terms::EntityType;

/// Most other names of one entity.
pub(crate) const MAX_ALIASES: usize = 12;

/// Renders an entity in brief.
pub(crate) fn brief(entity: &Entity) -> EntityView {
    EntityView {
        id: entity.id,
        name: entity.name.clone(),
        entity_type: EntityType::shown(entity.type_code).into(),
        ..EntityView::default()
    }
}

/// Returns an entity in brief; `None` if it is gone.
pub(crate) fn entity_view(
    ctx: &QueryContext<'_>,
    entity: i64,
) -> Result<Option<EntityView>, AskError> {
    Ok(ctx.snapshot.entities().get(entity)?.as_ref().map(brief))
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
    let all = ctx.snapshot.names().spellings(entity, MAX_ALIASES + 1)?;
    Ok(all.into_iter().filter(|alias| alias != name).take(MAX_ALIASES).collect())
}
