//! Review: lists doubtful links and relations, and checks whether a decision's key names any.

use std::collections::BTreeMap;

use proto::error::ErrorView;
use proto::shape::EvidenceView;
use proto::tool::core::{ReviewItem, ReviewLinks};

use super::contradict::{against, statements_of, weighed};
use super::explain::{evidence_view, line_around};
use super::link_reasons::features_of;
use crate::error::invalid;
use crate::graph::KnownRelation;
use crate::notes::stated;
use crate::quote::source::Source;
use crate::{AskError, QueryContext};
use index::read::{Name, Proposal, Statement};
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

/// Returns inexact links with a low score, then the pairs that were almost linked and names that may denote one of
/// several, whatever their score; all are undecided.
fn doubtful_links(
    ctx: &QueryContext<'_>,
    below: f32,
    limit: u32,
) -> Result<Vec<ReviewItem>, AskError> {
    // No link scores below τ₂, so doubt is measured on the range from τ₂ to 1.
    let tau2 = ctx.settings.link.tau2;
    let ceiling = tau2 + (1.0 - tau2) * below;
    let linked = ctx.snapshot.proposals().linked()?.into_iter();
    let mut items = undecided(ctx, linked.take_while(|it| it.score < ceiling), limit)?;
    items.extend(undecided(ctx, ctx.snapshot.proposals().open()?.into_iter(), limit)?);
    Ok(items)
}

/// Returns the first pairs without a decision, each with its features and the first mention of the
/// name.
fn undecided(
    ctx: &QueryContext<'_>,
    pairs: impl Iterator<Item = Proposal>,
    limit: u32,
) -> Result<Vec<ReviewItem>, AskError> {
    let mut items = Vec::new();
    for pair in pairs {
        let Some([name, other]) = ctx.snapshot.proposals().names(&pair)? else { continue };
        let key = link_key(&name.norm, &other.norm);
        let either = [&key, &link_key(&other.norm, &name.norm)];
        if either.iter().any(|key| ctx.decisions.get(key).is_some()) {
            continue;
        }
        let (kind, is) = match name.decision {
            3 => ("link", "is"),
            6 => ("unsure", "may be"),
            _ => ("same_as", "may be"),
        };
        items.push(ReviewItem {
            key,
            kind: kind.into(),
            claim: format!("`{}` {is} `{}`", name.surface, other.surface),
            confidence: pair.score,
            evidence: first_mention(ctx, &name, pair.score)?,
            features: features_of(ctx, &name, &other),
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
    name: &Name,
    score: f32,
) -> Result<Option<EvidenceView>, AskError> {
    let Some(first) = ctx.snapshot.mentions().first_of_name(name.id)? else { return Ok(None) };
    let Some(source) = Source::load(ctx, first.doc)? else { return Ok(None) };
    let text = line_around(&source.text, first.at);
    Ok(Some(EvidenceView {
        source: source.view(first.at, text),
        span: [first.start, first.end],
        pattern: "mention".into(),
        confidence: score,
        date: Some(source.document.day.clone()),
    }))
}

fn doubtful_relations(
    ctx: &QueryContext<'_>,
    below: f32,
    place: Option<&str>,
    limit: u32,
) -> Result<Vec<ReviewItem>, AskError> {
    let mut items = Vec::new();
    for statement in ctx.snapshot.relations().doubtful(below, place)? {
        if items.len() >= limit as usize {
            break;
        }
        let Statement { subject, object, ref predicate, .. } = statement;
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
            claim: known.claim(ctx, predicate)?,
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
    let most = limit.saturating_mul(2) as usize;
    for (subject, predicate, object) in ctx.snapshot.relations().contradicted(ctx.one_way, most)? {
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
            Some(("relation", rest)) => rest.split('>').step_by(2).take(2).collect(),
            _ => Vec::new(),
        };
        let known = |norm: &&str| -> Result<bool, AskError> {
            let snapshot = ctx.snapshot;
            if let Some(uid) = norm.strip_prefix('@') {
                return Ok(snapshot.documents().with_uid(uid)?.is_some());
            }
            Ok(!snapshot.names().senses(norm)?.is_empty()
                || !snapshot.entities().with_norm(norm)?.is_empty())
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
