//! Decisions: the keys with which a person decides about an entity's names and relations.
//!
//! In: an entity, optionally another one. Out: keys for `review_links`, with the decisions so far.

use proto::error::ErrorView;
use proto::shape::Freshness;
use proto::tool::admin::{DecisionsReply, EntityDecisions, NameDecision, RelationDecision};
use rustc_hash::FxHashSet;

use crate::graph::lookup::{find_one, not_found};
use crate::graph::{KnownRelation, statements_about};
use crate::{AskError, QueryContext};
use index::store::{Verdict, link_key};

/// Value of `Name::decision` for a name that the entity's own note states.
const STATED: i64 = 1;

/// Most names per call.
const MAX_NAMES: usize = 100;

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
    let entity = ctx.snapshot.entities().get(entity)?;
    Ok(entity.map(|it| (it.norm, it.doc.is_some())))
}

fn word(verdict: Option<Verdict>) -> Option<String> {
    verdict.map(|it| if it == Verdict::Accepted { "accepted" } else { "rejected" }.to_string())
}

/// Returns the other names, each with the name through which it was linked; names stated in its
/// note are left out.
fn names(ctx: &QueryContext<'_>, entity: i64, own: &str) -> Result<Vec<NameDecision>, AskError> {
    let names = ctx.snapshot.names();
    let mut others = names.of(entity)?;
    others.retain(|it| it.norm != own && !it.surface.is_empty() && it.decision != STATED);
    others.sort_by(|a, b| (b.n_mentions, &a.norm, a.id).cmp(&(a.n_mentions, &b.norm, b.id)));
    let mut decisions = Vec::new();
    for it in others.into_iter().take(MAX_NAMES) {
        let via = it.via.map(|via| names.get(via)).transpose()?.flatten();
        let key = link_key(&it.norm, via.as_ref().map_or(own, |via| &via.norm));
        decisions.push(NameDecision {
            surface: it.surface,
            n_mentions: it.n_mentions as u64,
            verdict: word(ctx.decisions.get(&key)),
            key,
        });
    }
    Ok(decisions)
}

fn relations(ctx: &QueryContext<'_>, entity: i64) -> Result<Vec<RelationDecision>, AskError> {
    let mut seen: FxHashSet<String> = FxHashSet::default();
    let mut out = Vec::new();
    for it in statements_about(ctx, entity, &[])? {
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
