//! Link: how well what mentions denote agrees with a person's reading.
//!
//! In: mentions of both sides, of which those that overlap are compared. Out: pairwise scores, accuracy, and their
//! intervals over documents.
//! Invariants: pure; the order of the mentions does not matter.
//! Not here: which mentions there are (`super::mentions`).

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::interval::{self, Interval};
use super::{Counts, MentionMark, pair_overlapping, ratio, rounded};

/// Scores of links, over mentions that both sides found.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct LinkScores {
    /// Do two mentions of one entity share an entity? Counted over pairs of mentions.
    pub pairwise: Counts,
    /// Share of mentions whose entity goes by a name of the right one.
    pub accuracy: f64,
    /// Those mentions.
    pub right: u64,
    /// Mentions compared.
    pub mentions: u64,
}

/// Mentions of both sides, side by side.
#[derive(Debug, Default)]
pub struct Links {
    /// By document, how many mentions of each gold entity went to each found one.
    documents: Vec<Cells>,
    /// By document, mentions with a right entity, and all.
    right: Vec<(u64, u64)>,
}

/// From a gold entity and a found one to the number of mentions.
type Cells = BTreeMap<(String, String), u64>;

impl Links {
    /// Compares what mentions denote. `name_of` gives the name of an entity that was found; `is_name_of`
    /// tells whether that is a name of an entity found by hand.
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
            // What is not linked is alone in a cluster of its own.
            let cluster = entity.unwrap_or_else(|| format!("alone {right}"));
            *cells.entry((wanted, cluster)).or_default() += 1;
        }
        let (documents, right) = cells.into_values().unzip();
        Links { documents, right }
    }

    /// The scores.
    pub fn scores(&self) -> LinkScores {
        let sum = |(r, n): (u64, u64), it: &(u64, u64)| (r + it.0, n + it.1);
        let (n_right, n_all) = self.right.iter().fold((0, 0), sum);
        let pairwise = Numbered::of(&self.documents).counts(&vec![1; self.documents.len()]);
        let accuracy = rounded(ratio(n_right, n_all));
        LinkScores { pairwise, accuracy, right: n_right, mentions: n_all }
    }

    /// Of the pairwise F1, over documents drawn with replacement.
    pub fn interval_of_pairs(&self) -> Interval {
        let numbered = Numbered::of(&self.documents);
        interval::of_draws(self.documents.len(), |times| numbered.counts(times).f1())
    }

    /// Of the accuracy, likewise.
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

/// Counts of mentions by cluster and document, with numbers for clusters, since they are summed thousands of times.
struct Numbered {
    /// For each of: both the same, found the same, gold the same: cluster, document, mentions; ordered by cluster.
    counts: [Vec<(usize, usize, u64)>; 3],
}

impl Numbered {
    fn of(documents: &[Cells]) -> Self {
        let both: fn(&(String, String)) -> (&str, &str) = |(gold, found)| (gold, found);
        let found: fn(&(String, String)) -> (&str, &str) = |(_, found)| ("", found);
        let gold: fn(&(String, String)) -> (&str, &str) = |(gold, _)| (gold, "");
        Numbered { counts: [both, found, gold].map(|key| by_cluster(documents, key)) }
    }

    /// The pairs when each document was drawn so many times. A document drawn twice brings its own pairs twice and
    /// meets every other twice, but not itself: a mention and its copy are no pair.
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
