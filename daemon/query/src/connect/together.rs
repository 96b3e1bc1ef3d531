//! Together: the places that mention two entities together, for pairs that no relation joins.
//!
//! In: two entities. Out: one place per document, closest mentions first.
//! Invariants: at most [`MAX_MENTIONS`] mentions of each are compared.

use std::collections::BTreeMap;

use proto::tool::core::TogetherView;

use crate::entities::explain::line_around;
use crate::quote::snippet::{choose, render};
use crate::quote::source::Source;
use crate::{AskError, QueryContext};

/// Most mentions of one entity that are compared, in the order of documents.
const MAX_MENTIONS: usize = 20_000;

/// Most bytes between two mentions that are quoted as one passage.
const ONE_PASSAGE: usize = 240;

/// Characters shown after the second mention.
const AROUND: usize = 60;

/// Distance in bytes between an entity and what its own note mentions.
const OWN_NOTE: usize = 1_000;

/// Byte offsets of an entity's mentions, by document, ascending.
type Places = BTreeMap<i64, Vec<usize>>;

/// Two mentions in one document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Pair {
    distance: usize,
    doc: i64,
    first: usize,
    last: usize,
}

/// Returns the best places that mention both.
pub(super) fn together(
    ctx: &QueryContext<'_>,
    ends: [i64; 2],
    limit: usize,
) -> Result<Vec<TogetherView>, AskError> {
    let [a, b] = ends;
    let (of_a, of_b) = (places(ctx, a)?, places(ctx, b)?);
    let both = of_a.iter().filter_map(|(doc, ones)| nearest(*doc, ones, of_b.get(doc)?));
    let mut pairs: BTreeMap<i64, Pair> = both.map(|pair| (pair.doc, pair)).collect();
    for (entity, mentioned) in [(a, &of_b), (b, &of_a)] {
        for doc in ctx.snapshot.documents().about(entity)? {
            let first = mentioned.get(&doc).and_then(|all| all.first());
            let Some(first) = first.copied() else { continue };
            let pair = Pair { distance: OWN_NOTE, doc, first, last: first };
            pairs.entry(doc).and_modify(|it| *it = (*it).min(pair)).or_insert(pair);
        }
    }
    let mut pairs: Vec<Pair> = pairs.into_values().collect();
    pairs.sort_unstable();
    let mut views = Vec::new();
    for pair in pairs.into_iter().take(limit) {
        let Some(source) = Source::load(ctx, pair.doc)? else { continue };
        views.push(TogetherView {
            source: source.view(pair.first, quoted(&source.text, &pair)),
            apart: pair.distance as u64,
            date: source.document.day.clone(),
        });
    }
    Ok(views)
}

/// Quotes the words around both mentions: as one passage, or as two if they are far apart.
fn quoted(text: &str, pair: &Pair) -> String {
    if pair.last - pair.first > ONE_PASSAGE {
        return format!("{} … {}", line_around(text, pair.first), line_around(text, pair.last));
    }
    let before = text.get(..pair.first).unwrap_or_default();
    let start = before.rfind(['\n', '.']).map_or(0, |at| at + 1);
    let passage = text.get(start..).unwrap_or_default();
    // A long sentence is reduced to the part with both mentions.
    let begin = pair.first.saturating_sub(start + AROUND);
    let begin = if pair.last - start > ONE_PASSAGE { begin } else { 0 };
    let range = choose(passage, &[], &[], begin, pair.last - start - begin + AROUND);
    render(passage, range)
}

fn places(ctx: &QueryContext<'_>, entity: i64) -> Result<Places, AskError> {
    let mut places = Places::new();
    for (doc, at) in ctx.snapshot.mentions().places(entity)?.into_iter().take(MAX_MENTIONS) {
        places.entry(doc).or_default().push(at);
    }
    Ok(places)
}

/// Returns the closest pair of mentions in a document.
fn nearest(doc: i64, ones: &[usize], others: &[usize]) -> Option<Pair> {
    let pairs = ones.iter().flat_map(|one| {
        let at = others.partition_point(|other| other < one);
        let around = [at.checked_sub(1), Some(at)].into_iter().flatten();
        around.filter_map(|at| others.get(at)).map(move |other| (*one, *other))
    });
    let pairs = pairs.map(|(one, other)| {
        let (first, last) = (one.min(other), one.max(other));
        Pair { distance: last - first, doc, first, last }
    });
    pairs.min()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_mentions_of_a_document_count() {
        let pair = nearest(7, &[10, 500, 2_000], &[90, 480, 3_000]);
        assert_eq!(pair, Some(Pair { distance: 20, doc: 7, first: 480, last: 500 }));
        assert_eq!(nearest(7, &[], &[1]), None);
    }
}
