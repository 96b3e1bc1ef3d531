//! Graph: entities and the statements that join them, as stored in the index.
//!
//! `entity.rs` returns what is known about one entity, `relations.rs` which relation types exist,
//! `lookup.rs` resolves names, `projection.rs` is the whole graph in memory, `associations.rs` what
//! goes together without a relation, `communities.rs` groups a graph. Here: the statements about an
//! entity, with the review decisions applied.

pub(crate) mod associations;
pub(crate) mod communities;
pub(crate) mod confidence;
pub(crate) mod entity;
pub(crate) mod lookup;
pub(crate) mod projection;
pub(crate) mod projections;
pub(crate) mod relations;

use crate::{AskError, QueryContext};
use index::read::Entity;
use index::store::{Verdict, note_party, relation_key};
use model::terms::norm_of;

pub(crate) use index::read::Statement;

/// Most statements read for one name or note of an entity and direction, surest first.
const MAX_STATEMENTS: usize = 200;

/// Returns the statements with `entity` on either side, without denials, surest first; ties by document and place.
pub(crate) fn statements_about(
    ctx: &QueryContext<'_>,
    entity: i64,
    rels: &[String],
) -> Result<Vec<Statement>, AskError> {
    let mut accepted = Vec::new();
    for statement in ctx.snapshot.relations().about(entity, MAX_STATEMENTS)? {
        let is_asked = rels.is_empty() || rels.contains(&statement.predicate);
        if statement.subject != statement.object && is_asked && !is_rejected(ctx, &statement)? {
            accepted.push(statement);
        }
    }
    accepted.sort_by(|a, b| {
        b.confidence
            .total_cmp(&a.confidence)
            .then_with(|| (a.doc, a.span, &a.predicate).cmp(&(b.doc, b.span, &b.predicate)))
    });
    Ok(accepted)
}

/// Returns whether a person rejected the relation.
pub(crate) fn is_rejected(ctx: &QueryContext<'_>, statement: &Statement) -> Result<bool, AskError> {
    if ctx.decisions.is_empty() {
        return Ok(false);
    }
    let known = KnownRelation::of(ctx, statement.subject, &statement.predicate, statement.object)?;
    Ok(known.and_then(|it| it.verdict(ctx)) == Some(Verdict::Rejected))
}

/// A relation in the form that review decisions use.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct KnownRelation {
    /// Subject and object.
    ends: [Entity; 2],
    /// The key of exactly these parties.
    pub key: String,
    /// The key of all parties with these names; older decisions use it.
    by_name: String,
}

impl KnownRelation {
    /// Returns `None` if a party is gone.
    pub(crate) fn of(
        ctx: &QueryContext<'_>,
        subject: i64,
        predicate: &str,
        object: i64,
    ) -> Result<Option<KnownRelation>, AskError> {
        let entities = ctx.snapshot.entities();
        let (Some(from), Some(to)) = (entities.get(subject)?, entities.get(object)?) else {
            return Ok(None);
        };
        // Displayed names may change with the rest of the folder; the key of a decision must not.
        let own = |it: &Entity| it.uid.as_deref().map_or(it.norm.clone(), note_party);
        Ok(Some(KnownRelation {
            key: relation_key(&own(&from), predicate, &own(&to)),
            by_name: relation_key(&from.norm, predicate, &to.norm),
            ends: [from, to],
        }))
    }

    /// Returns the decision about exactly these parties, else about all with their names.
    pub(crate) fn verdict(&self, ctx: &QueryContext<'_>) -> Option<Verdict> {
        ctx.decisions.get(&self.key).or_else(|| ctx.decisions.get(&self.by_name))
    }

    /// Returns the relation in words, such as `README` (web/README.md) uses `Vault`; the path is
    /// added if the name is shared.
    pub(crate) fn claim(
        &self,
        ctx: &QueryContext<'_>,
        predicate: &str,
    ) -> Result<String, AskError> {
        let end = |it: &Entity| -> Result<String, AskError> {
            let is_shared = ctx.snapshot.entities().with_norm(&norm_of(&it.name))?.len() > 1;
            let path = it.path.as_ref().filter(|_| is_shared).map(|path| format!(" ({path})"));
            Ok(format!("`{}`{}", it.name, path.unwrap_or_default()))
        };
        let [subject, object] = &self.ends;
        Ok(format!("{} {predicate} {}", end(subject)?, end(object)?))
    }
}

/// Returns an entity's canonical name.
pub(crate) fn name_of(ctx: &QueryContext<'_>, entity: i64) -> Result<Option<String>, AskError> {
    Ok(ctx.snapshot.entities().get(entity)?.map(|it| it.name))
}
