//! Link reasons: why each name denotes an entity, with the features of S4 §7 recomputed from the
//! rows.

use std::collections::BTreeMap;

use proto::tool::core::LinkView;

use crate::{AskError, QueryContext};
use extract::link::features::{Features, type_agreement};
use extract::link::resolve::{NameFacts, Surroundings, USED_SCORE, features};
use index::read::{Entity, Name};
use model::terms::EntityType;

/// Most names of an entity, and most undecided ones.
const MAX_NAMES: usize = 30;
const MAX_OPEN: usize = 10;

/// Returns why each name denotes the entity: the features of S4 §7, recomputed from the rows.
pub(super) fn link_views(
    ctx: &QueryContext<'_>,
    entity: &Entity,
) -> Result<Vec<LinkView>, AskError> {
    let names = ctx.snapshot.names();
    let named = names.of(entity.id)?;
    let mentioned = named.into_iter().filter(|it| !it.surface.is_empty());
    // The entity as a name: the row of its own name, else its own row.
    let row = names.with_norm(&entity.norm)?;
    let (id, n_docs) = row.map_or((0, 0), |it| (it.id, it.n_docs));
    let own = facts(id, &entity.norm, &entity.name, entity.type_code, n_docs);
    let verdict = |key: &str| ctx.decisions.get(key);
    let around = names.likeness(ctx.embedder, &verdict);
    let mut out = Vec::new();
    for name in mentioned.take(MAX_NAMES) {
        let (facts, decision, link) = (facts_of(&name), name.decision, name.link);
        // Resolve compared it with the name through which it was linked, or with itself.
        let through = name.via.map(|via| names.get(via)).transpose()?.flatten();
        let through = through.as_ref().map(facts_of);
        let names_itself = facts.norm == own.norm || decision != 3;
        let target = through.as_ref().unwrap_or(if names_itself { &facts } else { &own });
        let features = Features {
            entity_type: type_agreement(facts.entity_type, own.entity_type),
            ..features(&facts, target, &around, around.context(&facts, target))
        };
        let decision = match decision {
            1 => "stated by its note",
            3 if link >= 1.0 => "accepted by review",
            3 if link == USED_SCORE => "used for it",
            3 => "inexact",
            5 => "nearest of several notes",
            7 => "meant by these documents",
            8 => "used for it in its documents",
            _ => "exact name",
        };
        let decision = match &through {
            Some(through) => format!("{decision}, like `{}`", through.surface),
            None => decision.to_string(),
        };
        out.push(LinkView {
            surface: facts.surface,
            decision,
            score: features.score(&ctx.settings.link),
            features: features.named().map(|(name, value)| (name.to_string(), value)).into(),
        });
    }
    out.extend(open_views(ctx, entity.id)?);
    Ok(out)
}

/// Returns the features of a pair of names, as Resolve computed them.
pub(super) fn features_of(
    ctx: &QueryContext<'_>,
    name: &Name,
    other: &Name,
) -> BTreeMap<String, f32> {
    let (name, other) = (facts_of(name), facts_of(other));
    let verdict = |key: &str| ctx.decisions.get(key);
    let around = ctx.snapshot.names().likeness(ctx.embedder, &verdict);
    let context = around.context(&name, &other);
    let found = features(&name, &other, &around, context).named();
    found.map(|(name, value)| (name.to_string(), value)).into()
}

/// Returns other entities that its names may denote, and other names that may denote it; both
/// undecided.
fn open_views(ctx: &QueryContext<'_>, entity: i64) -> Result<Vec<LinkView>, AskError> {
    let open = ctx.snapshot.proposals().open()?;
    let open = open.iter().filter(|it| [it.entity, it.candidate_entity].contains(&Some(entity)));
    let mut out = Vec::new();
    for it in open.take(MAX_OPEN) {
        let Some([name, other]) = ctx.snapshot.proposals().names(it)? else { continue };
        let is_unsure = name.decision == 6;
        let state = if is_unsure { "unsure, denotes nothing" } else { "proposed, not linked" };
        out.push(LinkView {
            decision: format!("{state}: may be `{}`", other.surface),
            score: it.score,
            features: features_of(ctx, &name, &other),
            surface: name.surface,
        });
    }
    Ok(out)
}

/// Returns the facts of a name.
fn facts_of(name: &Name) -> NameFacts {
    facts(name.id, &name.norm, &name.surface, name.type_code, name.n_docs)
}

fn facts(id: i64, norm: &str, surface: &str, type_code: i64, n_docs: i64) -> NameFacts {
    NameFacts {
        id,
        norm: norm.to_string(),
        surface: surface.to_string(),
        entity_type: EntityType::from_code(type_code),
        is_type_sure: true,
        names_a_thing: true,
        n_docs: n_docs as u32,
        homes: Vec::new(),
        home_source: None,
        is_fuzzy: true,
        is_split: false,
    }
}
