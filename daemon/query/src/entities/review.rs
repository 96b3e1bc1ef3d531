//! Review: lists doubtful links and relations, and checks whether a decision's key names any.

use std::collections::BTreeMap;

use proto::error::ErrorView;
use proto::shape::EvidenceView;
use proto::tool::core::{ReviewItem, ReviewLinks};
use rusqlite::{OptionalExtension, Row, params};

use super::contradict::{against, contradicted, statements_of, weighed};
use super::explain::{evidence_view, line_around};
use super::link_reasons::features_of;
use crate::error::invalid;
use crate::graph::{KnownRelation, Statement};
use crate::notes::stated;
use crate::quote::source::Source;
use crate::{AskError, QueryContext};
use index::store::link_key;

/// Returns doubtful links and relations without a decision, least certain first.
pub fn list_doubtful(
    ctx: &QueryContext<'_>,
    request: &ReviewLinks,
) -> Result<Vec<ReviewItem>, ErrorView> {
    let place =
        request.path.as_deref().map(|path| path.trim().trim_start_matches("./").trim_matches('/'));
    let place = place.map(|path| if path == "." { "" } else { path });
    let below = request.below.unwrap_or(if place.is_some() { 1.0 } else { 0.6 });
    let limit = request.limit.unwrap_or(20);
    if !(0.0..=1.0).contains(&below) || !(1..=100).contains(&limit) {
        return Err(invalid(
            format!("`below` is {below}, `limit` is {limit}"),
            "give `below` from 0 to 1 and a limit of 1 to 100",
        ));
    }
    // The place is filtered afterwards, so everything is read first.
    let most = if place.is_some() { u32::MAX } else { limit };
    let mut items = doubtful_links(ctx, below, most)?;
    items.extend(proposals(ctx, most)?);
    items.extend(contradicted_relations(ctx, most)?);
    for item in doubtful_relations(ctx, below, place, most)? {
        // A contradicted relation is listed already, with its contradiction.
        if items.iter().all(|known| known.key != item.key) {
            items.push(item);
        }
    }
    if let Some(place) = place {
        items.retain(|it| it.evidence.as_ref().is_some_and(|it| is_at(&it.source.path, place)));
        if below >= 1.0 {
            items.extend(stated::undecided(ctx, place, limit)?);
        }
    }
    // Keys contain ids of notes, which differ between runs, so they are compared last.
    items.sort_by(|a, b| {
        let by_words = || (&a.claim, &a.key).cmp(&(&b.claim, &b.key));
        a.confidence.total_cmp(&b.confidence).then_with(by_words)
    });
    items.truncate(limit as usize);
    Ok(items)
}

/// Returns whether a path is `place` or below it.
fn is_at(path: &str, place: &str) -> bool {
    place.is_empty()
        || path.strip_prefix(place).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Two names that denote, or may denote, the same entity.
struct NamePair {
    names: [(i64, String, String); 2],
    kind: &'static str,
    score: f32,
}

/// Returns inexact links with a low score.
fn doubtful_links(
    ctx: &QueryContext<'_>,
    below: f32,
    limit: u32,
) -> Result<Vec<ReviewItem>, AskError> {
    let mut statement = ctx.snapshot.prepare_cached(
        "SELECT a.id, a.norm, a.surface, b.id, b.norm, b.surface, a.link, a.decision
         FROM names a JOIN names b ON b.id = a.via
         WHERE a.decision = 3 AND a.link < ?1 ORDER BY a.link, a.norm",
    )?;
    // No link scores below τ₂, so doubt is measured on the range from τ₂ to 1.
    let tau2 = ctx.settings.link.tau2;
    let ceiling = tau2 + (1.0 - tau2) * below;
    let rows = statement.query_map(params![ceiling], pair)?;
    undecided(ctx, rows, limit)
}

/// Returns the pairs that were almost linked, and names that may denote one of several; all are
/// undecided, whatever their score.
fn proposals(ctx: &QueryContext<'_>, limit: u32) -> Result<Vec<ReviewItem>, AskError> {
    let mut statement = ctx.snapshot.prepare_cached(
        "SELECT a.id, a.norm, a.surface, b.id, b.norm, b.surface, p.score, a.decision
         FROM proposals p JOIN names a ON a.id = p.name_id JOIN names b ON b.id = p.candidate
         ORDER BY p.score DESC, a.norm, b.norm",
    )?;
    let rows = statement.query_map([], pair)?;
    undecided(ctx, rows, limit)
}

fn pair(row: &Row<'_>) -> rusqlite::Result<NamePair> {
    let kind = match row.get::<_, i64>(7)? {
        3 => "link",
        6 => "unsure",
        _ => "same_as",
    };
    let name = |i: usize| Ok::<_, rusqlite::Error>((row.get(i)?, row.get(i + 1)?, row.get(i + 2)?));
    Ok(NamePair { names: [name(0)?, name(3)?], kind, score: row.get(6)? })
}

/// Returns the first pairs without a decision, each with its features and the first mention of the
/// name.
fn undecided(
    ctx: &QueryContext<'_>,
    pairs: impl Iterator<Item = rusqlite::Result<NamePair>>,
    limit: u32,
) -> Result<Vec<ReviewItem>, AskError> {
    let mut items = Vec::new();
    for pair in pairs {
        let NamePair {
            names: [(id, norm, surface), (other, other_norm, other_surface)],
            kind,
            score,
        } = pair?;
        let key = link_key(&norm, &other_norm);
        let either = [&key, &link_key(&other_norm, &norm)];
        if either.iter().any(|key| ctx.decisions.get(key).is_some()) {
            continue;
        }
        let is = if kind == "link" { "is" } else { "may be" };
        items.push(ReviewItem {
            key,
            kind: kind.into(),
            claim: format!("`{surface}` {is} `{other_surface}`"),
            confidence: score,
            evidence: first_mention(ctx, id, score)?,
            features: features_of(ctx, id, other)?,
        });
        if items.len() >= limit as usize {
            break;
        }
    }
    Ok(items)
}

/// Returns the first mention of a name, by path.
fn first_mention(
    ctx: &QueryContext<'_>,
    name: i64,
    score: f32,
) -> Result<Option<EvidenceView>, AskError> {
    let row: Option<(i64, i64, u64, u64)> = ctx
        .snapshot
        .prepare_cached(
            "SELECT m.doc_id, m.at, m.start, m.end FROM mentions m JOIN docs d ON d.id = m.doc_id
             WHERE m.name_id = ?1 ORDER BY d.path, m.at LIMIT 1",
        )?
        .query_row([name], |row| {
            let byte = |i: usize| row.get::<_, i64>(i).map(|it| it as u64);
            Ok((row.get(0)?, row.get(1)?, byte(2)?, byte(3)?))
        })
        .optional()?;
    let Some((doc, at, start, end)) = row else { return Ok(None) };
    let Some(source) = Source::load(ctx, doc)? else { return Ok(None) };
    let text = line_around(&source.text, at as usize);
    Ok(Some(EvidenceView {
        source: source.view(at as usize, text),
        span: [start, end],
        pattern: "mention".into(),
        confidence: score,
        date: Some(source.day.clone()),
    }))
}

fn doubtful_relations(
    ctx: &QueryContext<'_>,
    below: f32,
    place: Option<&str>,
    limit: u32,
) -> Result<Vec<ReviewItem>, AskError> {
    let mut statement = ctx.snapshot.prepare_cached(
        "SELECT coalesce(sn.entity_id, sd.entity_id) AS src, coalesce(bn.entity_id, bd.entity_id) AS dst,
                e.predicate, max(e.confidence * coalesce(sn.link, 1.0) * coalesce(bn.link, 1.0)) AS confidence,
                e.doc_id, e.start, e.end, e.raw_start, e.raw_end, e.pattern
         FROM evidence e LEFT JOIN names sn ON sn.id = e.subject LEFT JOIN docs sd ON sd.id = -e.subject
                         LEFT JOIN names bn ON bn.id = e.object LEFT JOIN docs bd ON bd.id = -e.object
                         LEFT JOIN entities so ON e.subject_link IS NOT NULL AND so.id = sn.entity_id
                         LEFT JOIN entities bo ON e.object_link IS NOT NULL AND bo.id = bn.entity_id
         WHERE e.predicate NOT LIKE 'not %' AND so.doc_id IS NULL AND bo.doc_id IS NULL
           AND (?2 IS NULL OR e.doc_id IN
             (SELECT id FROM docs WHERE ?2 = '' OR path = ?2 OR (path >= ?2 || '/' AND path < ?2 || '0')))
         GROUP BY 1, 2, 3 HAVING src IS NOT NULL AND dst IS NOT NULL AND src <> dst
           AND (confidence < ?1 OR ?1 >= 1.0)
         ORDER BY confidence, e.doc_id, e.seq",
    )?;
    let rows = statement.query_map(params![below, place], |row| {
        let number = |i: usize| row.get::<_, i64>(i);
        Ok(Statement {
            subject: number(0)?,
            object: number(1)?,
            predicate: row.get(2)?,
            confidence: row.get(3)?,
            doc: number(4)?,
            span: (number(5)? as usize, number(6)? as usize),
            raw: (number(7)? as u64, number(8)? as u64),
            pattern: row.get(9)?,
        })
    })?;
    let mut items = Vec::new();
    for statement in rows {
        if items.len() >= limit as usize {
            break;
        }
        let statement = statement?;
        let (subject, predicate, object) =
            (statement.subject, statement.predicate.as_str(), statement.object);
        let known = KnownRelation::of(ctx, subject, predicate, object)?;
        let Some(known) = known.filter(|it| it.verdict(ctx).is_none()) else { continue };
        // The same confidence as in every other tool: the statements for the relation, lowered by
        // those against it.
        let stated = statements_of(ctx, subject, predicate, object)?;
        let confidence = weighed(&stated, &against(ctx, subject, predicate, object)?);
        // At 1, explicit statements are listed, too: the author, or our parsing, may be wrong.
        if confidence >= below && below < 1.0 {
            continue;
        }
        items.push(ReviewItem {
            claim: known.claim(ctx, &statement.predicate)?,
            key: known.key,
            kind: "relation".into(),
            confidence,
            evidence: evidence_view(ctx, &statement)?,
            features: BTreeMap::new(),
        });
    }
    Ok(items)
}

/// Returns contradicted relations without a decision.
fn contradicted_relations(ctx: &QueryContext<'_>, limit: u32) -> Result<Vec<ReviewItem>, AskError> {
    let mut items = Vec::new();
    for (subject, predicate, object) in contradicted(ctx, limit.saturating_mul(2))? {
        let stated = statements_of(ctx, subject, &predicate, object)?;
        let against = against(ctx, subject, &predicate, object)?;
        let (Some(best), Some(denial)) = (stated.first(), against.first()) else { continue };
        let known = KnownRelation::of(ctx, subject, &predicate, object)?;
        let Some(known) = known.filter(|it| it.verdict(ctx).is_none()) else { continue };
        let place = evidence_view(ctx, denial)?.map(|it| it.source);
        let place = place.map(|it| format!(" in {}: \"{}\"", it.path, it.text)).unwrap_or_default();
        items.push(ReviewItem {
            claim: format!("{}; contradicted{place}", known.claim(ctx, &predicate)?),
            key: known.key,
            kind: "relation".into(),
            confidence: weighed(&stated, &against),
            evidence: evidence_view(ctx, best)?,
            features: BTreeMap::new(),
        });
    }
    Ok(items)
}

/// Rejects keys that match nothing in this graph, so that a typo is not stored forever.
pub fn norm_keys_exist(ctx: &QueryContext<'_>, keys: &[String]) -> Result<(), ErrorView> {
    for key in keys {
        if let Some(("observation", rest)) = key.split_once(':')
            && stated::is_known(ctx.snapshot, rest)?
        {
            continue;
        }
        let names: Vec<&str> = match key.split_once(':') {
            Some(("link", rest)) => rest.split('>').collect(),
            Some(("relation", rest)) => {
                let parts: Vec<&str> = rest.split('>').collect();
                vec![parts.first().copied().unwrap_or(""), parts.get(2).copied().unwrap_or("")]
            }
            _ => Vec::new(),
        };
        let known = |norm: &&str| -> Result<bool, AskError> {
            if let Some(uid) = norm.strip_prefix('@') {
                let sql = "SELECT 1 FROM docs WHERE uid = ?1";
                return Ok(ctx.snapshot.prepare_cached(sql)?.exists([uid])?);
            }
            Ok(ctx
                .snapshot
                .prepare_cached(
                    "SELECT EXISTS (SELECT 1 FROM names WHERE norm = ?1)
                         OR EXISTS (SELECT 1 FROM entities WHERE norm = ?1)",
                )?
                .query_row([norm], |row| row.get(0))?)
        };
        let mut is_known = names.len() == 2;
        for norm in &names {
            is_known = is_known && known(norm)?;
        }
        if !is_known {
            return Err(invalid(format!("no item `{key}`"), "use a key that review_links listed"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use index::store::{link_key, note_party, relation_key};

    #[test]
    fn keys_name_norms_so_that_they_survive_rebuilds() {
        assert_eq!(
            link_key("signingservices", "signingservice"),
            "link:signingservices>signingservice"
        );
        assert_eq!(relation_key("a", "uses", "b"), "relation:a>uses>b");
        assert_eq!(relation_key(&note_party("01H"), "uses", "b"), "relation:@01H>uses>b");
    }
}
