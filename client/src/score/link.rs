//! Link: compares the entities of mentions with the annotated ones.
//!
//! In: mentions of both sides; overlapping ones are compared. Out: pairwise scores, accuracy, and their intervals over
//! documents.
//! Invariants: pure; the order of the mentions does not matter.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::interval::{self, Interval};
use super::{Counts, MentionMark, pair_overlapping, ratio, rounded};

/// Scores of links, over mentions that both sides found.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct LinkScores {
    /// Whether two mentions of one entity share an entity, counted over pairs of mentions.
    pub pairwise: Counts,
    /// Share of mentions whose entity has a name of the right one.
    pub accuracy: f64,
    /// Those mentions.
    pub right: u64,
    /// Mentions compared.
    pub mentions: u64,
}

/// Mentions of both sides, aligned.
#[derive(Debug, Default)]
pub struct Links {
    /// By document, how many mentions of each gold entity went to each found one.
    documents: Vec<Cells>,
    /// By document, mentions with a right entity, and all.
    right: Vec<(u64, u64)>,
}

/// Number of mentions by gold entity and found entity.
type Cells = BTreeMap<(String, String), u64>;

impl Links {
    /// Compares the entities of mentions. `name_of` returns the name of a found entity; `is_name_of` returns whether
    /// that is a name of an annotated entity.
    pub fn of(
        gold: &[MentionMark],
        found: &[MentionMark],
        name_of: impl Fn(&str) -> Option<String>,
        is_name_of: impl Fn(&str, &str) -> bool,
    ) -> Links {
        let mut cells: BTreeMap<&str, (Cells, (u64, u64))> = BTreeMap::new();
        for (left, right) in pair_overlapping(gold, found, |_, _| true) {
            let Some(wanted) = gold[left].entity.clone() else { continue };
            let entity = found[right].entity.clone();
            let name = entity.as_deref().and_then(&name_of);
            let (cells, (n_right, n_all)) = cells.entry(&gold[left].path).or_default();
            *n_all += 1;
            *n_right += u64::from(name.is_some_and(|name| is_name_of(&name, &wanted)));
            // An unlinked mention is in a cluster of its own.
            let cluster = entity.unwrap_or_else(|| format!("alone {right}"));
            *cells.entry((wanted, cluster)).or_default() += 1;
        }
        let (documents, right) = cells.into_values().unzip();
        Links { documents, right }
    }

    /// Returns the scores.
    pub fn scores(&self) -> LinkScores {
        let sum = |(r, n): (u64, u64), it: &(u64, u64)| (r + it.0, n + it.1);
        let (n_right, n_all) = self.right.iter().fold((0, 0), sum);
        let pairwise = Numbered::of(&self.documents).counts(&vec![1; self.documents.len()]);
        let accuracy = rounded(ratio(n_right, n_all));
        LinkScores { pairwise, accuracy, right: n_right, mentions: n_all }
    }

    /// Returns the interval of the pairwise F1, over documents drawn with replacement.
    pub fn interval_of_pairs(&self) -> Interval {
        let numbered = Numbered::of(&self.documents);
        interval::of_draws(self.documents.len(), |times| numbered.counts(times).f1())
    }

    /// Returns the interval of the accuracy, likewise.
    pub fn interval_of_accuracy(&self) -> Interval {
        interval::of_draws(self.right.len(), |times| {
            let drawn = times.iter().zip(&self.right);
            let sum = |(r, n): (u64, u64), (times, it): (&u64, &(u64, u64))| {
                (r + times * it.0, n + times * it.1)
            };
            let (n_right, n_all) = drawn.fold((0, 0), sum);
            ratio(n_right, n_all)
        })
    }
}

/// Counts of mentions by cluster and document, with numbered clusters, because they are summed thousands of times.
struct Numbered {
    /// For equal both, equal found, equal gold: cluster, document, mentions; sorted by cluster.
    counts: [Vec<(usize, usize, u64)>; 3],
}

impl Numbered {
    fn of(documents: &[Cells]) -> Self {
        let both: fn(&(String, String)) -> (&str, &str) = |(gold, found)| (gold, found);
        let found: fn(&(String, String)) -> (&str, &str) = |(_, found)| ("", found);
        let gold: fn(&(String, String)) -> (&str, &str) = |(gold, _)| (gold, "");
        // Pairs within the same gold and found entity are right; those within the same found entity are right or wrong;
        // those within the same gold entity are right or missed.
        Numbered { counts: [both, found, gold].map(|key| by_cluster(documents, key)) }
    }

    /// Returns the pairs when each document was drawn so many times. A document drawn twice contributes its own pairs
    /// twice, and pairs with every other one twice, but not with itself: a mention and its copy are not a pair.
    fn counts(&self, times: &[u64]) -> Counts {
        let [right, found, gold] = self.counts.each_ref().map(|rows| pairs(rows, times));
        Counts { right, wrong: found - right, missed: gold - right }
    }
}

fn by_cluster(
    documents: &[Cells],
    key: fn(&(String, String)) -> (&str, &str),
) -> Vec<(usize, usize, u64)> {
    let names: BTreeSet<(&str, &str)> =
        documents.iter().flat_map(|cells| cells.keys().map(key)).collect();
    let numbers: BTreeMap<_, usize> = names.into_iter().zip(0..).collect();
    let mut sums: BTreeMap<(usize, usize), u64> = BTreeMap::new();
    for (document, cells) in documents.iter().enumerate() {
        for (cell, count) in cells {
            *sums.entry((numbers[&key(cell)], document)).or_default() += count;
        }
    }
    sums.into_iter().map(|((cluster, document), count)| (cluster, document, count)).collect()
}

fn pairs(rows: &[(usize, usize, u64)], times: &[u64]) -> u64 {
    let of_cluster = |rows: &[(usize, usize, u64)]| {
        // Pairs within a document, plus pairs across: all pairs of the drawn mentions without those of a document with
        // itself.
        let (mut inside, mut sum, mut squares) = (0, 0, 0);
        for (_, document, count) in rows {
            let drawn = times[*document];
            inside += drawn * count * count.saturating_sub(1) / 2;
            sum += drawn * count;
            squares += (drawn * count).pow(2);
        }
        inside + (sum * sum - squares) / 2
    };
    rows.chunk_by(|a, b| a.0 == b.0).map(of_cluster).sum()
}
