//! Entities: telling everything known about one.

use std::collections::{BTreeMap, BTreeSet};

use proto::error::ErrorView;
use proto::shape::{EntityView, EvidenceView, Freshness, RelationView};
use proto::tool::core::{ExplainEntity, ExplainReply, MentioningSource};
use rusqlite::{OptionalExtension, params};
use rustc_hash::{FxHashMap, FxHashSet};

use super::contradict::{against, weighed};
use super::definition::definition;
use super::error::invalid;
use super::explain::entity_view;
use super::graph::{Statement, name_of, statements_about};
use super::lookup::{bearers, find_one, is_path, not_found};
use super::source::{Source, quote};
use super::timeline::timeline;
use super::why::link_views;
use super::{AskError, Desk};
use model::terms::norm_of;

/// Other names told of one entity.
const MAX_ALIASES: usize = 12;

/// Documents told as sources.
const MAX_SOURCES: usize = 8;

/// Evidence told for one relation.
const MAX_EVIDENCE: usize = 3;

/// Everything known about one entity.
pub fn explain_entity(desk: &Desk<'_>, request: &ExplainEntity) -> Result<ExplainReply, ErrorView> {
    let hops = request.hops.unwrap_or(1);
    let limit = request.limit.unwrap_or(20);
    if !(1..=4).contains(&hops) || !(1..=200).contains(&limit) {
        return Err(invalid(
            format!("`hops` is {hops}, `limit` is {limit}"),
            "give 1 to 4 hops and a limit of 1 to 200",
        ));
    }
    let id = find_one(desk, (request.entity_id, request.name.as_deref()))?;
    let Some(mut entity) = entity_view(desk, id, None)? else {
        return Err(not_found(&format!("entity {id}"), &[]));
    };
    entity.aliases = aliases(desk, id, &entity.name)?;
    let (n_mentions, n_documents) = counts(desk, id)?;
    Ok(ExplainReply {
        definition: definition(desk, id)?,
        home: home(desk, id)?,
        timeline: timeline(desk, id)?,
        relations: relations(desk, id, hops, limit as usize)?,
        sources: sources(desk, id)?,
        n_mentions,
        n_documents,
        same_name: same_name(desk, id, request.name.as_deref())?,
        why: if request.why == Some(true) { link_views(desk, id)? } else { Vec::new() },
        entity,
        freshness: Freshness::default(),
    })
}

/// The other things that a name denotes, where it denotes several.
fn same_name(desk: &Desk<'_>, id: i64, name: Option<&str>) -> Result<Vec<EntityView>, AskError> {
    let Some(name) = name else { return Ok(Vec::new()) };
    let own = name_of(desk, id)?.unwrap_or_default();
    // Who names a path means its note, and does not know its namesakes.
    let name = if is_path(name) { own.as_str() } else { name };
    let others = bearers(desk, &norm_of(name))?.into_iter().filter(|other| *other != id);
    let others = others.take(MAX_ALIASES);
    let mut views = Vec::new();
    for other in others {
        let Some(mut view) = entity_view(desk, other, None)? else { continue };
        view.path = home(desk, other)?;
        views.push(view);
    }
    Ok(views)
}

/// Other surfaces that denote the entity, most used first.
pub(super) fn aliases(desk: &Desk<'_>, entity: i64, name: &str) -> Result<Vec<String>, AskError> {
    let mut statement = desk.snapshot.prepare_cached(
        "SELECT surface FROM (
           SELECT surface, n_docs + 1 AS weight FROM names WHERE entity_id = ?1 AND sense = 0
           UNION ALL SELECT s.surface, 1 FROM stated s JOIN names n ON n.id = s.name_id WHERE n.entity_id = ?1)
         WHERE surface <> '' GROUP BY surface ORDER BY sum(weight) DESC, surface LIMIT ?2",
    )?;
    let rows = statement.query_map(params![entity, MAX_ALIASES as i64 + 1], |row| row.get(0))?;
    let all: Vec<String> = rows.collect::<Result<_, _>>()?;
    Ok(all.into_iter().filter(|alias| alias != name).take(MAX_ALIASES).collect())
}

pub(super) fn counts(desk: &Desk<'_>, entity: i64) -> Result<(u64, u64), AskError> {
    Ok(desk
        .snapshot
        .prepare_cached(
            "SELECT count(*), count(DISTINCT m.doc_id) FROM names n JOIN mentions m ON m.name_id = n.id
             WHERE n.entity_id = ?1",
        )?
        .query_row([entity], |row| Ok((row.get::<_, i64>(0)? as u64, row.get::<_, i64>(1)? as u64)))?)
}

pub(super) fn home(desk: &Desk<'_>, entity: i64) -> Result<Option<String>, AskError> {
    Ok(desk
        .snapshot
        .prepare_cached(
            "SELECT d.path FROM entities e JOIN docs d ON d.id = e.doc_id WHERE e.id = ?1",
        )?
        .query_row([entity], |row| row.get(0))
        .optional()?)
}

/// Relations within `hops`, each with its best evidence, surest first within a hop.
fn relations(
    desk: &Desk<'_>,
    entity: i64,
    hops: u32,
    limit: usize,
) -> Result<Vec<RelationView>, AskError> {
    let mut out: Vec<RelationView> = Vec::new();
    let mut seen: FxHashSet<i64> = FxHashSet::from_iter([entity]);
    let mut told: FxHashSet<(i64, String, i64)> = FxHashSet::default();
    let mut frontier = vec![entity];
    for hop in 1..=hops {
        let mut next = Vec::new();
        for from in std::mem::take(&mut frontier) {
            for group in grouped(statements_about(desk, from, &[])?) {
                let Some(best) = group.first() else { continue };
                if out.len() >= limit
                    || !told.insert((best.subject, best.predicate.clone(), best.object))
                {
                    continue;
                }
                let other = if best.subject == from { best.object } else { best.subject };
                if seen.insert(other) {
                    next.push(other);
                }
                out.extend(relation_view(desk, &group, hop)?);
            }
        }
        frontier = next;
    }
    tell_ends(desk, &mut out)?;
    Ok(out)
}

/// Says of each end where its home is, and whether others are called so.
fn tell_ends(desk: &Desk<'_>, relations: &mut [RelationView]) -> Result<(), AskError> {
    let ids = relations.iter().flat_map(|it| [it.subject_id, it.object_id]).flatten();
    let ids: BTreeSet<i64> = ids.collect();
    let ids = serde_json::to_string(&ids).unwrap_or_default();
    let mut statement = desk.snapshot.prepare_cached(
        "WITH ends AS MATERIALIZED (SELECT * FROM entities WHERE id IN (SELECT value FROM json_each(?1))),
           shared AS MATERIALIZED (SELECT norm FROM entities WHERE norm IN (SELECT norm FROM ends)
             GROUP BY norm HAVING count(*) > 1)
         SELECT e.id, d.path, e.norm IN shared FROM ends e LEFT JOIN docs d ON d.id = e.doc_id",
    )?;
    let rows = statement.query_map([ids], |row| Ok((row.get(0)?, (row.get(1)?, row.get(2)?))))?;
    let ends: FxHashMap<i64, (Option<String>, bool)> = rows.collect::<Result<_, _>>()?;
    let end = |id: Option<i64>| id.and_then(|id| ends.get(&id)).cloned().unwrap_or_default();
    for it in relations {
        (it.subject_path, it.subject_shares_name) = end(it.subject_id);
        (it.object_path, it.object_shares_name) = end(it.object_id);
    }
    Ok(())
}

/// Statements of one relation together, the surest relation first.
pub(super) fn grouped(statements: Vec<Statement>) -> Vec<Vec<Statement>> {
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

fn relation_view(
    desk: &Desk<'_>,
    group: &[Statement],
    hop: u32,
) -> Result<Option<RelationView>, AskError> {
    let Some(first) = group.first() else { return Ok(None) };
    let (Some(subject), Some(object)) =
        (name_of(desk, first.subject)?, name_of(desk, first.object)?)
    else {
        return Ok(None);
    };
    let mut evidence = Vec::new();
    for statement in group.iter().take(MAX_EVIDENCE) {
        evidence.extend(evidence_view(desk, statement)?);
    }
    let against = against(desk, (first.subject, &first.predicate, first.object))?;
    for statement in against.iter().take(MAX_EVIDENCE) {
        let view = evidence_view(desk, statement)?;
        evidence.extend(
            view.map(|it| EvidenceView { pattern: format!("against {}", it.pattern), ..it }),
        );
    }
    let confidence = weighed(group, &against);
    Ok(Some(RelationView {
        subject,
        predicate: first.predicate.clone(),
        object,
        subject_id: Some(first.subject),
        object_id: Some(first.object),
        confidence,
        hop,
        evidence,
        ..RelationView::default()
    }))
}

/// Independent kinds of source raise confidence: 1 − Π (1 − best of each kind). The kind is what stands before
/// `:` in a pattern's name; words and grammar of sentences are one, since they mostly read the same one.
pub(super) fn corroborated(group: &[Statement]) -> f32 {
    let mut best: BTreeMap<&str, f32> = BTreeMap::new();
    for statement in group {
        let kind = match statement.pattern.split(':').next().unwrap_or_default() {
            "depend" => "sentence",
            kind => kind,
        };
        let entry = best.entry(kind).or_insert(0.0);
        *entry = entry.max(statement.confidence);
    }
    let doubt: f32 = best.values().map(|confidence| 1.0 - confidence).product();
    ((1.0 - doubt) * 1000.0).round() / 1000.0
}

pub(super) fn evidence_view(
    desk: &Desk<'_>,
    statement: &Statement,
) -> Result<Option<EvidenceView>, AskError> {
    Ok(quote(desk, statement.doc, statement.span)?.map(|source| EvidenceView {
        source,
        span: [statement.raw.0, statement.raw.1],
        pattern: statement.pattern.clone(),
        confidence: statement.confidence,
    }))
}

fn sources(desk: &Desk<'_>, entity: i64) -> Result<Vec<MentioningSource>, AskError> {
    let mut statement = desk.snapshot.prepare_cached(
        "SELECT m.doc_id, count(*), min(m.at), max(n.link) FROM names n JOIN mentions m ON m.name_id = n.id
         JOIN docs d ON d.id = m.doc_id WHERE n.entity_id = ?1 GROUP BY m.doc_id ORDER BY 2 DESC, d.path LIMIT ?2",
    )?;
    let rows = statement.query_map(params![entity, MAX_SOURCES as i64], |row| {
        Ok((
            row.get::<_, i64>(0)?,
            row.get::<_, i64>(1)?,
            row.get::<_, i64>(2)?,
            row.get::<_, f32>(3)?,
        ))
    })?;
    let rows: Vec<_> = rows.collect::<Result<_, _>>()?;
    let mut out = Vec::new();
    for (doc, n, at, confidence) in rows {
        let Some(source) = Source::load(desk, doc)? else { continue };
        let text = line_around(&source.text, at as usize);
        out.push(MentioningSource {
            source: source.view(at as usize, text),
            n_mentions: n as u64,
            confidence,
        });
    }
    Ok(out)
}

/// The words around a place, on one line.
pub(super) fn line_around(text: &str, at: usize) -> String {
    let before = text.get(..at).unwrap_or("");
    let start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let end = text.get(at..).and_then(|t| t.find('\n')).map_or(text.len(), |newline| at + newline);
    let line = text.get(start..end).unwrap_or("");
    let range = super::snippet::choose(line, &[], (at - start).saturating_sub(60), 140);
    super::snippet::render(line, range)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn independent_sources_raise_confidence_and_repetition_does_not() {
        let statement = |pattern: &str, confidence| Statement {
            subject: 1,
            predicate: "uses".into(),
            object: 2,
            confidence,
            doc: 1,
            span: (0, 1),
            raw: (0, 1),
            pattern: pattern.into(),
        };
        let twice = [statement("sentence:uses", 0.6), statement("sentence:needs", 0.6)];
        assert_eq!(corroborated(&twice), 0.6);
        let two_kinds = [statement("sentence:uses", 0.6), statement("section:dependencies", 0.5)];
        assert_eq!(corroborated(&two_kinds), 0.8);
    }
}
