//! Link reasons: why each name denotes an entity, with the features of S4 §7 recomputed from the
//! rows.

use std::collections::BTreeMap;

use proto::tool::core::LinkView;
use rusqlite::{OptionalExtension, Row};

use crate::{AskError, QueryContext};
use extract::link::features::{Features, type_agreement};
use extract::link::resolve::{NameFacts, Surroundings, USED_SCORE, features};
use index::store::Likeness;
use model::terms::EntityType;

/// Returns why each name denotes the entity: the features of S4 §7, recomputed from the rows.
pub(super) fn link_views(ctx: &QueryContext<'_>, entity: i64) -> Result<Vec<LinkView>, AskError> {
    let mut statement = ctx.snapshot.prepare_cached(
        "SELECT id, norm, surface, type, n_docs, decision, link, via FROM names
         WHERE entity_id = ?1 AND surface <> '' ORDER BY n_docs DESC, norm LIMIT 30",
    )?;
    let rows = statement.query_map([entity], |row| {
        Ok((
            facts(row)?,
            row.get::<_, i64>(5)?,
            row.get::<_, f32>(6)?,
            row.get::<_, Option<i64>>(7)?,
        ))
    })?;
    let rows: Vec<_> = rows.collect::<Result<_, _>>()?;
    let Some(own) = entity_facts(ctx, entity)? else { return Ok(Vec::new()) };
    let verdict = |key: &str| ctx.decisions.get(key);
    let around = Likeness::new(ctx.snapshot, ctx.embedder, &verdict);
    let mut out = Vec::new();
    for (facts, decision, link, via) in rows {
        // Resolve compared it with the name through which it was linked, or with itself.
        let through = match via {
            Some(via) => name_facts(ctx, via)?,
            None => None,
        };
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
    out.extend(open_views(ctx, entity)?);
    Ok(out)
}

/// Returns the features of a pair of names, as Resolve computed them.
pub(super) fn features_of(
    ctx: &QueryContext<'_>,
    name: i64,
    other: i64,
) -> Result<BTreeMap<String, f32>, AskError> {
    let (Some(name), Some(other)) = (name_facts(ctx, name)?, name_facts(ctx, other)?) else {
        return Ok(BTreeMap::new());
    };
    let verdict = |key: &str| ctx.decisions.get(key);
    let around = Likeness::new(ctx.snapshot, ctx.embedder, &verdict);
    let context = around.context(&name, &other);
    let found = features(&name, &other, &around, context).named();
    Ok(found.map(|(name, value)| (name.to_string(), value)).into())
}

/// Returns other entities that its names may denote, and other names that may denote it; both
/// undecided.
fn open_views(ctx: &QueryContext<'_>, entity: i64) -> Result<Vec<LinkView>, AskError> {
    let mut statement = ctx.snapshot.prepare_cached(
        "SELECT a.id, b.id, a.surface, b.surface, p.score, a.decision
         FROM proposals p JOIN names a ON a.id = p.name_id JOIN names b ON b.id = p.candidate
         WHERE a.entity_id = ?1 OR b.entity_id = ?1 ORDER BY p.score DESC, a.norm, b.norm LIMIT 10",
    )?;
    let rows = statement.query_map([entity], |row| {
        let surfaces: (String, String) = (row.get(2)?, row.get(3)?);
        let rows: (i64, i64) = (row.get(0)?, row.get(1)?);
        Ok((rows, surfaces, row.get(4)?, row.get::<_, i64>(5)?))
    })?;
    let rows: Vec<_> = rows.collect::<Result<_, _>>()?;
    let mut out = Vec::new();
    for ((name, candidate), (surface, other), score, decision) in rows {
        let state = if decision == 6 { "unsure, denotes nothing" } else { "proposed, not linked" };
        out.push(LinkView {
            decision: format!("{state}: may be `{other}`"),
            surface,
            score,
            features: features_of(ctx, name, candidate)?,
        });
    }
    Ok(out)
}

/// Returns the entity as a name: the row of its own name, else its own row.
fn entity_facts(ctx: &QueryContext<'_>, entity: i64) -> Result<Option<NameFacts>, AskError> {
    Ok(ctx
        .snapshot
        .prepare_cached(
            "SELECT coalesce(n.id, 0), e.norm, e.name, e.type, coalesce(n.n_docs, 0) FROM entities e
             LEFT JOIN names n ON n.norm = e.norm AND n.sense = 0 WHERE e.id = ?1",
        )?
        .query_row([entity], facts)
        .optional()?)
}

/// Returns the facts of a name.
fn name_facts(ctx: &QueryContext<'_>, name: i64) -> Result<Option<NameFacts>, AskError> {
    Ok(ctx
        .snapshot
        .prepare_cached("SELECT id, norm, surface, type, n_docs FROM names WHERE id = ?1")?
        .query_row([name], facts)
        .optional()?)
}

fn facts(row: &Row<'_>) -> rusqlite::Result<NameFacts> {
    Ok(NameFacts {
        id: row.get(0)?,
        norm: row.get(1)?,
        surface: row.get(2)?,
        entity_type: EntityType::from_code(row.get(3)?),
        is_type_sure: true,
        n_docs: row.get(4)?,
        homes: Vec::new(),
        home_source: None,
        is_fuzzy: true,
        is_split: false,
    })
}
