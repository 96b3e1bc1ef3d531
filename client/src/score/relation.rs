//! Relation: compares relations with the annotated ones.
//!
//! In: relations by document, with names normalized by [`norm`](super::norm). Out: counts, strict and less so.
//! Invariants: pure; a relation counts once per document.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::Counts;

/// The generic relation, which says only that there is one.
const UNTELLING: &str = "related_to";

/// A relation stated in one document; names are normalized by [`norm`](super::norm).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct RelationMark {
    /// Path of the document.
    pub path: String,
    /// The subject.
    pub subject: String,
    /// The predicate.
    pub predicate: String,
    /// The object.
    pub object: String,
}

/// Scores of relations.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct RelationScores {
    /// Same document, subject, predicate and object.
    pub typed: Counts,
    /// `typed`, with `related_to` left out on both sides.
    pub without_related_to: Counts,
    /// Same document, predicate and ends, whichever of these comes first.
    pub either_direction: Counts,
    /// Same document, subject and object, whatever the predicate.
    pub untyped: Counts,
    /// Same document and ends, whichever comes first, whatever the predicate.
    pub pairs: Counts,
    /// `typed`, by predicate.
    pub by_predicate: BTreeMap<String, Counts>,
}

impl RelationScores {
    /// Returns each score with its name.
    pub fn rows(&self) -> [(&'static str, Counts); 5] {
        [
            ("relations", self.typed),
            ("relations without related_to", self.without_related_to),
            ("relations, either direction", self.either_direction),
            ("relations, any predicate", self.untyped),
            ("any predicate, either direction", self.pairs),
        ]
    }
}

/// Compares relations of the annotated documents.
pub fn relations(gold: &BTreeSet<RelationMark>, found: &BTreeSet<RelationMark>) -> RelationScores {
    let of = |marks: &BTreeSet<RelationMark>, predicate: &str| -> BTreeSet<_> {
        marks.iter().filter(|it| it.predicate == predicate).cloned().collect()
    };
    let predicates: BTreeSet<_> = gold.union(found).map(|it| it.predicate.clone()).collect();
    let by_predicate = predicates.into_iter().map(|predicate| {
        let counts = Counts::of_sets(&of(gold, &predicate), &of(found, &predicate));
        (predicate, counts)
    });
    // Sets again after the view: marks that differ only in what it drops count once.
    let seen_as = |view: fn(&RelationMark) -> Option<RelationMark>| {
        let [gold, found] = [gold, found].map(|marks| marks.iter().filter_map(view).collect());
        Counts::of_sets(&gold, &found)
    };
    RelationScores {
        typed: Counts::of_sets(gold, found),
        without_related_to: seen_as(|it| (it.predicate != UNTELLING).then(|| it.clone())),
        either_direction: seen_as(|it| Some(it.undirected())),
        untyped: seen_as(|it| Some(it.untyped())),
        pairs: seen_as(|it| Some(it.untyped().undirected())),
        by_predicate: by_predicate.collect(),
    }
}

impl RelationMark {
    fn untyped(&self) -> RelationMark {
        RelationMark { predicate: String::new(), ..self.clone() }
    }

    fn undirected(&self) -> RelationMark {
        let mut mark = self.clone();
        if mark.subject > mark.object {
            std::mem::swap(&mut mark.subject, &mut mark.object);
        }
        mark
    }
}
