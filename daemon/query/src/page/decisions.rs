//! Decisions: the keys with which a person decides about an entity's names and relations.
//!
//! In: an entity, optionally another one. Out: keys for `review_links`, with the decisions so far.
//! Not here: making decisions (`serve/tool`), finding doubtful cases (`entities/review.rs`).

use proto::error::ErrorView;
use proto::shape::Freshness;
use proto::tool::admin::{DecisionsReply, EntityDecisions, NameDecision, RelationDecision};
use rusqlite::OptionalExtension;
use rustc_hash::FxHashSet;

use crate::graph::lookup::{find_one, not_found};
use crate::graph::{KnownRelation, shown_about};
use crate::{AskError, QueryContext};
use index::store::{Verdict, link_key};

/// Returns the possible decisions about an entity.
///
/// # Errors
/// `not_found` for an entity that is gone, and when the index cannot be read.
pub fn entity_decisions(
    ctx: &QueryContext<'_>,
    request: &EntityDecisions,
) -> Result<DecisionsReply, ErrorView> {
    let entity = find_one(ctx, request.entity_id, request.name.as_deref())?;
    let gone = |id: i64| not_found(&format!("entity {id}"), &[]);
    let (norm, is_note) = named(ctx, entity)?.ok_or_else(|| gone(entity))?;
    let merge = match request.with {
        None => None,
        Some(other) => {
            let (other_norm, other_is_note) = named(ctx, other)?.ok_or_else(|| gone(other))?;
            let can_join = other != entity && !(is_note && other_is_note) && other_norm != norm;
            // The name without a note is linked to the one with a note.
            let (from, to) =
                if is_note { (other_norm, norm.clone()) } else { (norm.clone(), other_norm) };
            can_join.then(|| link_key(&from, &to))
        }
    };
    Ok(DecisionsReply {
        merge,
        names: names(ctx, entity, &norm)?,
        relations: relations(ctx, entity)?,
        freshness: Freshness::default(),
    })
}

/// Returns an entity's norm, and whether it has a note.
fn named(ctx: &QueryContext<'_>, entity: i64) -> Result<Option<(String, bool)>, AskError> {
    let sql = "SELECT norm, doc_id IS NOT NULL FROM entities WHERE id = ?1";
    let mut statement = ctx.snapshot.prepare_cached(sql)?;
    Ok(statement.query_row([entity], |row| Ok((row.get(0)?, row.get(1)?))).optional()?)
}

fn word(verdict: Option<Verdict>) -> Option<String> {
    verdict.map(|it| if it == Verdict::Accepted { "accepted" } else { "rejected" }.to_string())
}

/// Returns the other names, each with the name through which it was linked; names stated in its
/// note are left out.
fn names(ctx: &QueryContext<'_>, entity: i64, own: &str) -> Result<Vec<NameDecision>, AskError> {
    let mut statement = ctx.snapshot.prepare_cached(
        "SELECT a.norm, a.surface, a.n_mentions, coalesce(b.norm, ?2) FROM names a LEFT JOIN names b ON b.id = a.via
         WHERE a.entity_id = ?1 AND a.norm <> ?2 AND a.surface <> '' AND a.decision <> 1
         ORDER BY a.n_mentions DESC, a.norm LIMIT 100",
    )?;
    let rows = statement.query_map(rusqlite::params![entity, own], |row| {
        let (norm, to): (String, String) = (row.get(0)?, row.get(3)?);
        Ok(NameDecision {
            surface: row.get(1)?,
            n_mentions: row.get::<_, i64>(2)? as u64,
            key: link_key(&norm, &to),
            verdict: None,
        })
    })?;
    let mut names: Vec<NameDecision> = rows.collect::<Result<_, _>>()?;
    names.iter_mut().for_each(|it| it.verdict = word(ctx.decisions.get(&it.key)));
    Ok(names)
}

fn relations(ctx: &QueryContext<'_>, entity: i64) -> Result<Vec<RelationDecision>, AskError> {
    let mut seen: FxHashSet<String> = FxHashSet::default();
    let mut out = Vec::new();
    for it in shown_about(ctx, entity, &[])? {
        let known = KnownRelation::of(ctx, it.subject, &it.predicate, it.object)?;
        let Some(known) = known.filter(|known| seen.insert(known.key.clone())) else { continue };
        out.push(RelationDecision {
            verdict: word(known.verdict(ctx)),
            key: known.key,
            subject_id: it.subject,
            predicate: it.predicate,
            object_id: it.object,
        });
    }
    Ok(out)
}
