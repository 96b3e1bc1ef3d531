//! Why: how each name came to denote an entity, with the features of S4 §7 computed again from the rows.

use proto::tool::core::LinkView;
use rusqlite::OptionalExtension;

use super::{AskError, Desk};
use crate::pipeline::link::features::{Features, popularity, string_similarity, type_agreement};
use crate::pipeline::link::resolve::{NameFacts, Surroundings};
use crate::store::Likeness;
use crate::terms::EntityType;

/// How each name came to denote the entity: the features of S4 §7, computed again from the rows.
pub(super) fn link_views(desk: &Desk<'_>, entity: i64) -> Result<Vec<LinkView>, AskError> {
    let mut statement = desk.snapshot.prepare_cached(
        "SELECT id, norm, surface, type, n_docs, decision, link, via FROM names
         WHERE entity_id = ?1 AND surface <> '' ORDER BY n_docs DESC, norm LIMIT 30",
    )?;
    let rows = statement.query_map([entity], |row| {
        let facts = NameFacts {
            id: row.get(0)?,
            norm: row.get(1)?,
            surface: row.get(2)?,
            entity_type: EntityType::from_code(row.get(3)?),
            n_docs: row.get(4)?,
            homes: Vec::new(),
            home_source: None,
            is_fuzzy: true,
        };
        Ok((facts, row.get::<_, i64>(5)?, row.get::<_, f32>(6)?, row.get::<_, Option<i64>>(7)?))
    })?;
    let rows: Vec<_> = rows.collect::<Result<_, _>>()?;
    let Some(target) = entity_facts(desk, entity)? else { return Ok(Vec::new()) };
    let verdict = |key: &str| desk.decisions.get(key);
    let around = Likeness::new(desk.snapshot, desk.embedder, &verdict);
    let mut out = Vec::new();
    for (facts, decision, link, _) in rows {
        let features = Features {
            cosine: around.cosine(&facts, &target).max(0.0),
            string: string_similarity(&facts.norm, &target.norm),
            entity_type: type_agreement(facts.entity_type, target.entity_type),
            context: around.context(&facts, &target),
            popularity: popularity(target.n_docs),
        };
        let decision = match decision {
            1 => "stated by its note",
            3 if link >= 1.0 => "accepted by review",
            3 => "inexact, scored",
            5 => "nearest of several notes",
            _ => "exact name",
        };
        out.push(LinkView {
            surface: facts.surface,
            decision: decision.into(),
            score: features.score(&desk.settings.link),
            features: features.named().map(|(name, value)| (name.to_string(), value)).into(),
        });
    }
    Ok(out)
}

/// The entity seen as a name: its own name's row, or what its row says.
fn entity_facts(desk: &Desk<'_>, entity: i64) -> Result<Option<NameFacts>, AskError> {
    Ok(desk
        .snapshot
        .prepare_cached(
            "SELECT coalesce(n.id, 0), e.norm, e.name, e.type, coalesce(n.n_docs, 0) FROM entities e
             LEFT JOIN names n ON n.norm = e.norm AND n.sense = 0 WHERE e.id = ?1",
        )?
        .query_row([entity], |row| {
            Ok(NameFacts {
                id: row.get(0)?,
                norm: row.get(1)?,
                surface: row.get(2)?,
                entity_type: EntityType::from_code(row.get(3)?),
                n_docs: row.get(4)?,
                homes: Vec::new(),
                home_source: None,
                is_fuzzy: true,
            })
        })
        .optional()?)
}
