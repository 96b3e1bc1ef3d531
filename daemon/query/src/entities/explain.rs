//! Explain: everything that is known about one entity.
//!
//! In: an entity by id or name. Out: its definition, note, timeline, relations with evidence, sources.

use proto::error::ErrorView;
use proto::shape::{
    AssociationView, EntityView, EvidenceView, Freshness, RelationView, SourceView,
};
use proto::tool::core::{ExplainEntity, ExplainReply, MentioningSource};
use rustc_hash::{FxHashMap, FxHashSet};

use super::contradict::{against, rivals, weighed};
use super::definition::definition;
use super::link_reasons::link_views;
use super::steps::sentence;
use super::timeline::timeline;
use crate::error::invalid;
use crate::graph::entity::{MAX_ALIASES, aliases, brief, entity_view};
use crate::graph::lookup::{bearers, find_one, is_path, not_found};
use crate::graph::{Statement, statements_about};
use crate::quote::snippet::{choose, render};
use crate::quote::source::Source;
use crate::{AskError, QueryContext};
use index::read::{Entity, Occurrences};
use model::terms::norm_of;

/// Most facts from its own note.
const MAX_FACTS: usize = 50;

/// Most documents listed as sources.
const MAX_SOURCES: usize = 8;

/// Most evidence shown for one relation.
const MAX_EVIDENCE: usize = 3;

/// Returns everything that is known about one entity.
pub fn explain_entity(
    ctx: &QueryContext<'_>,
    request: &ExplainEntity,
) -> Result<ExplainReply, ErrorView> {
    let hops = request.hops.unwrap_or(1);
    let limit = request.limit.unwrap_or(20);
    if !(1..=4).contains(&hops) || !(1..=200).contains(&limit) {
        return Err(invalid(
            format!("`hops` is {hops}, `limit` is {limit}"),
            "give 1 to 4 hops and a limit of 1 to 200",
        ));
    }
    let id = find_one(ctx, request.entity_id, request.name.as_deref())?;
    let Some(entity) = ctx.snapshot.entities().get(id).map_err(AskError::from)? else {
        return Err(not_found(&format!("entity {id}"), &[]));
    };
    let mentioning = ctx.snapshot.mentions().by_doc(id).map_err(AskError::from)?;
    Ok(ExplainReply {
        entity: EntityView { aliases: aliases(ctx, id, &entity.name)?, ..brief(&entity) },
        definition: definition(ctx, &entity)?,
        facts: facts(ctx, &entity)?,
        timeline: timeline(ctx, id, &mentioning)?,
        relations: relations(ctx, &entity, hops, limit as usize)?,
        goes_with: Vec::new(),
        sources: sources(ctx, &mentioning)?,
        n_mentions: mentioning.iter().map(|it| it.n).sum(),
        n_documents: mentioning.len() as u64,
        same_name: same_name(ctx, &entity, request.name.as_deref())?,
        why: if request.why == Some(true) { link_views(ctx, &entity)? } else { Vec::new() },
        home: entity.path,
        freshness: Freshness::default(),
    })
}

/// Returns the facts that an entity's own note states about it.
fn facts(ctx: &QueryContext<'_>, entity: &Entity) -> Result<Vec<SourceView>, AskError> {
    let (Some(doc), Some(path)) = (entity.doc, &entity.path) else { return Ok(Vec::new()) };
    let facts = ctx.snapshot.notes().observations(doc)?.into_iter().take(MAX_FACTS);
    let view = facts.map(|it| SourceView {
        path: path.clone(),
        line: it.line,
        text: format!("[{}] {}", it.category, it.content),
        ..SourceView::default()
    });
    Ok(view.collect())
}

/// Returns the other entities that share a name.
fn same_name(
    ctx: &QueryContext<'_>,
    entity: &Entity,
    name: Option<&str>,
) -> Result<Vec<EntityView>, AskError> {
    let Some(name) = name else { return Ok(Vec::new()) };
    // A path denotes one note, so its namesakes are those of its title.
    let name = if is_path(name) { entity.name.as_str() } else { name };
    let others = bearers(ctx, &norm_of(name))?.into_iter().filter(|other| *other != entity.id);
    let mut views = Vec::new();
    for other in others.take(MAX_ALIASES) {
        let Some(other) = ctx.snapshot.entities().get(other)? else { continue };
        views.push(EntityView { path: other.path.clone(), ..brief(&other) });
    }
    Ok(views)
}

/// Returns the relations within `hops`, each with its best evidence: those that the entity's own
/// note states first, then by confidence within each hop.
fn relations(
    ctx: &QueryContext<'_>,
    entity: &Entity,
    hops: u32,
    limit: usize,
) -> Result<Vec<RelationView>, AskError> {
    let mut out: Vec<RelationView> = Vec::new();
    let mut seen: FxHashSet<i64> = FxHashSet::from_iter([entity.id]);
    let mut seen_relations: FxHashSet<(i64, String, i64)> = FxHashSet::default();
    let mut frontier = vec![entity.id];
    for hop in 1..=hops {
        let mut next = Vec::new();
        for from in std::mem::take(&mut frontier) {
            let mut groups = grouped(statements_about(ctx, from, &[])?);
            // The sort is stable: the rest keeps its order.
            groups.sort_by_key(|group| !group.iter().any(|it| Some(it.doc) == entity.doc));
            for group in groups {
                let Some(best) = group.first() else { continue };
                if out.len() >= limit
                    || !seen_relations.insert((best.subject, best.predicate.clone(), best.object))
                {
                    continue;
                }
                let other = if best.subject == from { best.object } else { best.subject };
                if seen.insert(other) {
                    next.push(other);
                }
                out.extend(relation_view(ctx, &group, hop, evidence_view)?);
            }
        }
        frontier = next;
    }
    with_ends(ctx, out)
}

/// Returns what goes with an explained entity, except what its relations tell.
///
/// # Errors
/// When the index cannot be read.
pub fn goes_with(
    ctx: &QueryContext<'_>,
    explained: &ExplainReply,
) -> Result<Vec<AssociationView>, AskError> {
    let is_told = |other: i64| {
        explained.relations.iter().any(|it| [it.subject_id, it.object_id].contains(&Some(other)))
    };
    let associations = ctx.associations.at(ctx.snapshot)?;
    let mut views = Vec::new();
    for it in associations.of(explained.entity.id).into_iter().filter(|it| !is_told(it.b)) {
        let Some(entity) = entity_view(ctx, it.b)? else { continue };
        let mut units = Vec::new();
        for statement in associations.statements(ctx, it.a, it.b, MAX_EVIDENCE)? {
            units.extend(sentence(ctx, &statement)?.map(|it| it.source));
        }
        views.push(AssociationView { entity, n_together: it.n, ratio: it.shown_ratio(), units });
    }
    Ok(views)
}

/// Adds to each end its name, the path of its note, and whether others share its name; drops relations with an end that
/// is gone.
pub(super) fn with_ends(
    ctx: &QueryContext<'_>,
    mut relations: Vec<RelationView>,
) -> Result<Vec<RelationView>, AskError> {
    let ids = relations.iter().flat_map(|it| [it.subject_id, it.object_id]).flatten();
    let found = ctx.snapshot.entities().with_namesakes(&ids.collect())?;
    let ends: FxHashMap<i64, (String, Option<String>, bool)> =
        found.into_iter().map(|(it, is_shared)| (it.id, (it.name, it.path, is_shared))).collect();
    let end = |id: Option<i64>| ends.get(&id?).cloned();
    relations.retain_mut(|it| {
        let ends = end(it.subject_id).zip(end(it.object_id));
        ends.is_some_and(|(subject, object)| {
            (it.subject, it.subject_path, it.subject_shares_name) = subject;
            (it.object, it.object_path, it.object_shares_name) = object;
            true
        })
    });
    Ok(relations)
}

/// Groups statements by relation, the surest relation first.
fn grouped(statements: Vec<Statement>) -> Vec<Vec<Statement>> {
    let mut groups: Vec<Vec<Statement>> = Vec::new();
    for statement in statements {
        let same = |group: &&mut Vec<Statement>| {
            group.first().is_some_and(|first| {
                (first.subject, &first.predicate, first.object)
                    == (statement.subject, &statement.predicate, statement.object)
            })
        };
        match groups.iter_mut().find(same) {
            Some(group) => group.push(statement),
            None => groups.push(vec![statement]),
        }
    }
    groups
}

/// Renders one statement.
type Show = fn(&QueryContext<'_>, &Statement) -> Result<Option<EvidenceView>, AskError>;

/// Returns the relation that these statements state, without the names of its ends: with its best evidence and its
/// contradictions; `None` without evidence.
pub(super) fn relation_view(
    ctx: &QueryContext<'_>,
    group: &[Statement],
    hop: u32,
    show: Show,
) -> Result<Option<RelationView>, AskError> {
    let Some(first) = group.first() else { return Ok(None) };
    let mut evidence = Vec::new();
    for statement in group.iter().take(MAX_EVIDENCE) {
        evidence.extend(show(ctx, statement)?);
    }
    let against = against(ctx, first.subject, &first.predicate, first.object)?;
    let rivals = rivals(ctx, group)?;
    for statement in against.iter().chain(&rivals).take(MAX_EVIDENCE) {
        let view = show(ctx, statement)?;
        evidence.extend(
            view.map(|it| EvidenceView { pattern: format!("against {}", it.pattern), ..it }),
        );
    }
    Ok(Some(RelationView {
        predicate: first.predicate.clone(),
        subject_id: Some(first.subject),
        object_id: Some(first.object),
        confidence: weighed(group, &against),
        hop,
        evidence,
        ..RelationView::default()
    }))
}

pub(crate) fn evidence_view(
    ctx: &QueryContext<'_>,
    statement: &Statement,
) -> Result<Option<EvidenceView>, AskError> {
    let Some(source) = Source::load(ctx, statement.doc)? else { return Ok(None) };
    Ok(Some(source.evidence(statement)))
}

fn sources(
    ctx: &QueryContext<'_>,
    mentioning: &[Occurrences],
) -> Result<Vec<MentioningSource>, AskError> {
    let mut out = Vec::new();
    for it in mentioning.iter().take(MAX_SOURCES) {
        let Some(source) = Source::load(ctx, it.doc)? else { continue };
        let text = line_around(&source.text, it.at);
        out.push(MentioningSource {
            source: source.view(it.at, text),
            n_mentions: it.n,
            confidence: it.link,
        });
    }
    Ok(out)
}

/// Returns the words around an offset, on one line.
pub(super) fn line_around(text: &str, at: usize) -> String {
    let before = text.get(..at).unwrap_or("");
    let start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let end = text.get(at..).and_then(|t| t.find('\n')).map_or(text.len(), |newline| at + newline);
    let line = text.get(start..end).unwrap_or("");
    let range = choose(line, &[], &[], (at - start).saturating_sub(60), 140);
    render(line, range)
}
