//! Stated: the facts and relations that notes state, without those that a person rejected.
//!
//! In: a document or a path, review decisions. Out: rows; undecided facts as items of a review.
//! Invariants: a rejected fact is skipped; a rejected relation becomes a plain link; the notes are
//! not changed.

use std::collections::BTreeMap;

use proto::shape::{EvidenceView, SourceView};
use proto::tool::core::ReviewItem;

use crate::graph::KnownRelation;
use crate::{AskError, QueryContext};
use index::read::{Link, Observation};
use index::store::{Snapshot, Verdict, observation_key};
use model::terms::norm_of;

/// The relation of a link without a type.
const PLAIN: &str = "links_to";

/// Returns the facts of a note that nobody rejected, in the order of its text.
pub fn accepted(ctx: &QueryContext<'_>, doc: i64) -> Result<Vec<Observation>, AskError> {
    let mut rows = ctx.snapshot.notes().observations(doc)?;
    if ctx.decisions.is_empty() {
        return Ok(rows);
    }
    let uid = ctx.snapshot.documents().uid(doc)?;
    rows.retain(|it| {
        verdict(ctx, uid.as_deref(), &it.category, &it.content) != Some(Verdict::Rejected)
    });
    Ok(rows)
}

/// Returns the decision about the fact in this note, else about all facts with these words.
fn verdict(
    ctx: &QueryContext<'_>,
    uid: Option<&str>,
    category: &str,
    content: &str,
) -> Option<Verdict> {
    let of = |uid| ctx.decisions.get(&observation_key(uid, category, content));
    uid.and_then(|uid| of(Some(uid))).or_else(|| of(None))
}

/// Returns the relations of a note (see [`super::distinct`]); a rejected one becomes a plain link.
pub fn relations(ctx: &QueryContext<'_>, doc: i64) -> Result<Vec<Link>, AskError> {
    Ok(super::distinct(doc, undone(ctx, ctx.snapshot.notes().links(doc)?)?))
}

/// Returns the links of other notes to a document, by path and place; a rejected relation becomes a
/// plain link.
pub fn backlinks(
    ctx: &QueryContext<'_>,
    doc: i64,
    skip: usize,
    most: usize,
) -> Result<Vec<Link>, AskError> {
    undone(ctx, ctx.snapshot.notes().backlinks(doc, skip, most)?)
}

fn undone(ctx: &QueryContext<'_>, mut links: Vec<Link>) -> Result<Vec<Link>, AskError> {
    if ctx.decisions.is_empty() {
        return Ok(links);
    }
    for link in links.iter_mut().filter(|it| it.is_typed) {
        if is_rejected(ctx, link)? {
            link.relation = Some(PLAIN.into());
            link.is_typed = false;
        }
    }
    Ok(links)
}

/// Returns whether a person rejected the relation that the graph derives from a typed link.
fn is_rejected(ctx: &QueryContext<'_>, link: &Link) -> Result<bool, AskError> {
    let relation = ctx.snapshot.notes().relation_of(link)?;
    let Some((Some(subject), predicate, Some(object))) = relation else { return Ok(false) };
    let known = KnownRelation::of(ctx, subject, &predicate, object)?;
    Ok(known.and_then(|it| it.verdict(ctx)) == Some(Verdict::Rejected))
}

/// Returns the undecided facts of a document or a folder, by path and line.
pub(crate) fn undecided(
    ctx: &QueryContext<'_>,
    place: &str,
    limit: u32,
) -> Result<Vec<ReviewItem>, AskError> {
    let mut items: Vec<ReviewItem> = Vec::new();
    ctx.snapshot.notes().each_observation(place, |it, of| {
        let Observation { category, content, line, span, .. } = it;
        let key = observation_key(Some(&of.uid), &category, &content);
        let is_decided = verdict(ctx, Some(&of.uid), &category, &content).is_some();
        if is_decided || items.iter().any(|known| known.key == key) {
            return true;
        }
        let source = SourceView {
            path: of.path,
            line,
            text: format!("[{category}] {content}"),
            ..SourceView::default()
        };
        items.push(ReviewItem {
            key,
            kind: "observation".into(),
            claim: format!("`{}` states the {category} \"{content}\"", of.title),
            confidence: 1.0,
            evidence: Some(EvidenceView {
                source,
                span: [span.0 as u64, span.1 as u64],
                pattern: "observation".into(),
                confidence: 1.0,
                date: Some(of.day),
            }),
            features: BTreeMap::new(),
        });
        items.len() < limit as usize
    })?;
    Ok(items)
}

/// Returns whether a fact has this key, given without the prefix `observation:`.
pub(crate) fn is_known(snapshot: &Snapshot, key: &str) -> Result<bool, AskError> {
    let (uid, fact) = match key.strip_prefix('@').and_then(|it| it.split_once('>')) {
        Some((uid, fact)) => (Some(uid), fact),
        None => (None, key),
    };
    let Some((category, _)) = fact.split_once('>') else { return Ok(false) };
    let mut is_known = false;
    let mut see = |it: &Observation| {
        let own = observation_key(uid, &it.category, &it.content);
        is_known |=
            norm_of(&it.category) == category && own.split_once(':').is_some_and(|it| it.1 == key);
        !is_known
    };
    match uid {
        None => snapshot.notes().each_observation("", |it, _| see(&it))?,
        Some(uid) => {
            let doc = snapshot.documents().with_uid(uid)?;
            let stated = doc.map(|doc| snapshot.notes().observations(doc)).transpose()?;
            stated.iter().flatten().all(see);
        }
    }
    Ok(is_known)
}
