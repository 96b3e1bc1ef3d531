//! Alike: similar nodes by the mean vector of their facts, labeled clusters of them, and draft
//! summaries.
//!
//! In: the mean vectors of all nodes, and their relations. Out: pairs, clusters with labels, draft
//! summaries.
//! Invariants: exact and deterministic: every pair is compared once, ties are broken by name; a
//! summary quotes facts.

use std::collections::{BTreeSet, HashMap};

use petgraph::unionfind::UnionFind;

use super::Web;
use crate::AskError;
use index::store::Snapshot;
use sys::{Rows, products};

/// Nodes in a block that is compared with another at once: enough for a fast matrix product, few
/// enough for the cache.
const BLOCK: usize = 512;

/// Nearest neighbors of a node that may share its cluster.
const N_NEAREST: usize = 5;

/// Least similarity of two neighbors in a cluster, and of two related nodes.
const CLUSTERED: f32 = 0.6;
const RELATED: f32 = 0.5;

/// Most pairs kept during the search.
const MAX_PAIRS: usize = 50_000;

/// Words in a label, and characters of its shortest word.
const LABEL_WORDS: usize = 3;
const MIN_WORD_CHARS: usize = 4;

/// Facts in a draft summary.
const DRAFT_FACTS: usize = 3;

/// Two nodes, as indices into [`Means::docs`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pair {
    /// The first.
    pub one: usize,
    /// The second, with the greater index.
    pub other: usize,
    /// Cosine.
    pub score: f32,
}

/// The mean vectors of all nodes that have one, ordered by name.
pub struct Means {
    /// Row ids of their documents.
    pub docs: Vec<i64>,
    width: usize,
    /// One row per node, of length 1.
    values: Vec<f32>,
}

impl Means {
    /// Reads the mean vectors.
    pub fn read(snapshot: &Snapshot) -> Result<Means, AskError> {
        let (mut docs, mut values, mut width) = (Vec::new(), Vec::new(), 0);
        for (doc, bytes) in snapshot.memory().means()? {
            width = width.max(bytes.len());
            if bytes.len() != width {
                continue;
            }
            let numbers: Vec<f32> = bytes.iter().map(|it| f32::from(it.cast_signed())).collect();
            let length =
                numbers.iter().map(|it| it * it).sum::<f32>().sqrt().max(f32::MIN_POSITIVE);
            docs.push(doc);
            values.extend(numbers.into_iter().map(|it| it / length));
        }
        Ok(Means { docs, width, values })
    }

    /// Calls `visit` with a node, the first of the nodes compared with it, and the cosines with
    /// that one and those that follow. Each pair is visited once, in any order.
    fn each_pair(&self, mut visit: impl FnMut(usize, usize, &[f32])) {
        let width = self.width;
        if width == 0 {
            return;
        }
        let rows = |values| Rows { values, n_rows: values.len() / width, width, stride: width };
        let blocks = || self.values.chunks(BLOCK * width).map(rows).enumerate();
        let mut out = vec![0.0; BLOCK * BLOCK];
        for (at, block) in blocks() {
            for (beside, others) in blocks().skip(at) {
                let n = others.n_rows;
                let Some(part) = out.get_mut(..block.n_rows * n) else { return };
                products(&block, &others, part);
                for (i, row) in part.chunks_exact(n).enumerate() {
                    // In its own block, only with the rows after it.
                    let skipped = if beside == at { i + 1 } else { 0 };
                    let row = row.get(skipped..).unwrap_or_default();
                    visit(at * BLOCK + i, beside * BLOCK + skipped, row);
                }
            }
        }
    }

    /// Returns the cosine of two nodes.
    fn cosine(&self, one: usize, other: usize) -> f32 {
        let row = |at: usize| self.values.get(at * self.width..(at + 1) * self.width);
        let (one, other) = (row(one).unwrap_or_default(), row(other).unwrap_or_default());
        one.iter().zip(other).map(|(a, b)| a * b).sum()
    }

    /// Returns the pairs with at least that cosine that `wanted` accepts, the most similar first.
    pub fn pairs(
        &self,
        min_score: f32,
        most: usize,
        wanted: impl Fn(i64, i64) -> bool,
    ) -> Vec<Pair> {
        let mut best = BestPairs { pairs: Vec::new(), least: min_score, most };
        self.each_pair(|one, first, row| best.add(self, one, first, row, &wanted));
        best.sorted()
    }

    /// Returns the same pairs, and groups of at least two nodes, the largest first: connected components over pairs
    /// that are mutually nearest, or related and similar.
    pub fn pairs_and_clusters(
        &self,
        min_score: f32,
        most: usize,
        web: &Web,
        wanted: impl Fn(i64, i64) -> bool,
    ) -> (Vec<Pair>, Vec<Vec<usize>>) {
        let mut best = BestPairs { pairs: Vec::new(), least: min_score, most };
        let mut nearest = Nearest::of(self.docs.len());
        self.each_pair(|one, first, row| {
            best.add(self, one, first, row, &wanted);
            nearest.add(one, first, row);
        });
        (best.sorted(), self.clusters(web, &nearest.of))
    }

    /// Returns the document of a node.
    pub fn doc(&self, at: usize) -> i64 {
        self.docs.get(at).copied().unwrap_or_default()
    }

    fn clusters(&self, web: &Web, nearest: &[Vec<(usize, f32)>]) -> Vec<Vec<usize>> {
        let places: HashMap<i64, usize> =
            self.docs.iter().enumerate().map(|(at, doc)| (*doc, at)).collect();
        let is_near = |one: usize, other: usize| {
            nearest.get(other).is_some_and(|all| all.iter().any(|it| it.0 == one))
        };
        let mut components = UnionFind::new(self.docs.len());
        for (one, all) in nearest.iter().enumerate() {
            all.iter().filter(|it| is_near(one, it.0)).for_each(|(other, _)| {
                components.union(one, *other);
            });
        }
        for (one, doc) in self.docs.iter().enumerate() {
            let others = web.neighbors(*doc).filter_map(|doc| places.get(&doc).copied());
            others.filter(|other| self.cosine(one, *other) >= RELATED).for_each(|other| {
                components.union(one, other);
            });
        }
        let mut groups: HashMap<usize, Vec<usize>> = HashMap::new();
        for (at, label) in components.into_labeling().into_iter().enumerate() {
            groups.entry(label).or_default().push(at);
        }
        let mut groups: Vec<Vec<usize>> = groups.into_values().filter(|it| it.len() > 1).collect();
        // Component ids are arbitrary: groups of equal size are ordered by their first node.
        groups.sort_by_key(|it| (std::cmp::Reverse(it.len()), it.first().copied()));
        groups
    }
}

/// The most similar pairs so far.
struct BestPairs {
    pairs: Vec<Pair>,
    /// Pairs with a lower score are dropped.
    least: f32,
    most: usize,
}

impl BestPairs {
    fn add(
        &mut self,
        means: &Means,
        one: usize,
        first: usize,
        row: &[f32],
        wanted: &impl Fn(i64, i64) -> bool,
    ) {
        for (at, score) in row.iter().enumerate().filter(|(_, score)| **score >= self.least) {
            let other = first + at;
            if wanted(means.doc(one), means.doc(other)) {
                self.pairs.push(Pair { one, other, score: *score });
            }
        }
        if self.pairs.len() > MAX_PAIRS.max(self.most * 2) {
            self.cut();
            self.least = self.pairs.last().map_or(self.least, |it| it.score.max(self.least));
        }
    }

    fn cut(&mut self) {
        sort(&mut self.pairs);
        self.pairs.truncate(self.most);
    }

    fn sorted(mut self) -> Vec<Pair> {
        self.cut();
        self.pairs
    }
}

/// The nearest neighbors of each node so far, with at least [`CLUSTERED`]; ties go to the smaller
/// index.
struct Nearest {
    of: Vec<Vec<(usize, f32)>>,
    /// For each node, the least score of a new neighbor.
    least: Vec<f32>,
}

impl Nearest {
    fn of(n: usize) -> Nearest {
        Nearest { of: vec![Vec::new(); n], least: vec![CLUSTERED; n] }
    }

    fn add(&mut self, one: usize, first: usize, row: &[f32]) {
        for (at, score) in row.iter().enumerate() {
            let other = first + at;
            for (own, near) in [(one, other), (other, one)] {
                if self.least.get(own).is_some_and(|least| score >= least) {
                    self.put(own, near, *score);
                }
            }
        }
    }

    fn put(&mut self, own: usize, near: usize, score: f32) {
        let (Some(nearest), Some(least)) = (self.of.get_mut(own), self.least.get_mut(own)) else {
            return;
        };
        let at = nearest.partition_point(|it| it.1 > score || it.1 == score && it.0 < near);
        nearest.insert(at, (near, score));
        nearest.truncate(N_NEAREST);
        if nearest.len() == N_NEAREST {
            *least = nearest.last().map_or(*least, |it| it.1);
        }
    }
}

fn sort(pairs: &mut [Pair]) {
    pairs.sort_by(|a, b| b.score.total_cmp(&a.score).then((a.one, a.other).cmp(&(b.one, b.other))));
}

/// Returns the words that distinguish each group: frequent in it, rare in the others.
pub fn labels(snapshot: &Snapshot, groups: &[Vec<i64>]) -> Result<Vec<Option<String>>, AskError> {
    let mut counts: Vec<HashMap<String, u32>> = Vec::new();
    let mut in_groups: HashMap<String, u32> = HashMap::new();
    for group in groups {
        let mut of_group: HashMap<String, u32> = HashMap::new();
        for doc in group {
            let mut words = BTreeSet::new();
            for content in contents(snapshot, *doc)? {
                let lower = content.to_lowercase();
                let all = lower.split(|c: char| !c.is_alphanumeric());
                words.extend(
                    all.filter(|it| it.chars().count() >= MIN_WORD_CHARS).map(str::to_string),
                );
            }
            words.into_iter().for_each(|word| *of_group.entry(word).or_insert(0) += 1);
        }
        of_group.keys().for_each(|word| *in_groups.entry(word.clone()).or_insert(0) += 1);
        counts.push(of_group);
    }
    let n_groups = groups.len() as f64;
    let label = |(of_group, group): (HashMap<String, u32>, &Vec<i64>)| {
        let mut scored: Vec<(f64, String)> = of_group
            .into_iter()
            .filter(|(_, n)| *n as usize * 2 >= group.len().min(4))
            .map(|(word, n)| {
                let df = f64::from(in_groups.get(&word).copied().unwrap_or(1));
                (f64::from(n) / group.len() as f64 * (1.0 + n_groups / df).ln(), word)
            })
            .collect();
        scored.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
        let words: Vec<String> =
            scored.into_iter().take(LABEL_WORDS).map(|(_, word)| word).collect();
        (!words.is_empty()).then(|| words.join(", "))
    };
    Ok(counts.into_iter().zip(groups).map(label).collect())
}

/// Returns the facts of a node, in the order of its note.
pub fn contents(snapshot: &Snapshot, doc: i64) -> Result<Vec<String>, AskError> {
    Ok(snapshot.memory().facts(doc)?.into_iter().map(|it| it.content).collect())
}

/// Returns the facts nearest to the mean of a node, in the order of its note.
pub fn draft(snapshot: &Snapshot, doc: i64) -> Result<Option<String>, AskError> {
    let contents = contents(snapshot, doc)?;
    let vectors = snapshot.memory().vectors(doc)?;
    let mut order: Vec<usize> = (0..contents.len()).collect();
    if let Some((vectors, mean)) = vectors.filter(|(_, mean)| !mean.is_empty()) {
        let near = |at: &usize| {
            let own = vectors.chunks_exact(mean.len()).nth(*at).unwrap_or_default();
            let products = own.iter().zip(&mean);
            products
                .map(|(a, b)| i32::from(a.cast_signed()) * i32::from(b.cast_signed()))
                .sum::<i32>()
        };
        order.sort_by_key(|at| std::cmp::Reverse(near(at)));
    }
    order.truncate(DRAFT_FACTS);
    order.sort_unstable();
    let statements: Vec<&str> = order
        .iter()
        .filter_map(|at| contents.get(*at))
        .map(|it| it.trim_end_matches('.'))
        .collect();
    Ok((!statements.is_empty()).then(|| format!("{}.", statements.join(". "))))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Nodes in more than one block, each of which is close to one of a few directions.
    fn means(n: usize, width: usize) -> Means {
        let mut state = 1_u64;
        let mut dice = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 40) as f32 / (1 << 24) as f32 - 0.5
        };
        let mut values = Vec::new();
        for node in 0..n {
            let mut row: Vec<f32> = (0..width).map(|_| dice()).collect();
            row[node * 7 % width] += 1.5;
            let length = row.iter().map(|it| it * it).sum::<f32>().sqrt();
            values.extend(row.into_iter().map(|it| it / length));
        }
        Means { docs: (0..n as i64).map(|it| it * 10).collect(), width, values }
    }

    #[test]
    fn every_pair_is_compared_once() {
        let means = means(2 * BLOCK + 5, 16);
        let n = means.docs.len();
        let mut seen = vec![0; n * n];
        means.each_pair(|one, first, row| {
            for (at, score) in row.iter().enumerate() {
                seen[one * n + first + at] += 1;
                assert!((score - means.cosine(one, first + at)).abs() < 1e-5, "{one}");
            }
        });
        for one in 0..n {
            for other in 0..n {
                assert_eq!(seen[one * n + other], i32::from(one < other), "{one} and {other}");
            }
        }
    }

    #[test]
    fn the_best_pairs_are_those_of_all() {
        let means = means(BLOCK + 40, 8);
        let n = means.docs.len();
        let is_wanted = |one: i64, other: i64| (one + other) % 30 != 0;
        let all = means.pairs(-1.0, n * n, is_wanted);
        let pairs: Vec<Pair> = (0..n)
            .flat_map(|one| (one + 1..n).map(move |other| (one, other)))
            .filter(|(one, other)| is_wanted(means.doc(*one), means.doc(*other)))
            .map(|(one, other)| Pair { one, other, score: 0.0 })
            .collect();
        assert_eq!(all.len(), pairs.len());
        assert!(all.is_sorted_by(|a, b| a.score >= b.score));
        let some = means.pairs(0.6, 100, is_wanted);
        assert_eq!(some, all[..100]);
        let (same, groups) = means.pairs_and_clusters(0.6, 100, &Web::default(), is_wanted);
        assert_eq!(same, some);
        let grouped: BTreeSet<usize> = groups.iter().flatten().copied().collect();
        assert_eq!(grouped.len(), groups.iter().map(Vec::len).sum::<usize>(), "each in one group");
    }

    #[test]
    fn the_nearest_are_few_and_ties_go_to_the_first() {
        let mut nearest = Nearest::of(10);
        let scores = [(9, 0.7), (4, 0.9), (3, 0.7), (8, 0.6), (2, 0.8), (1, 0.6), (7, 0.5)];
        scores.into_iter().for_each(|(node, score)| nearest.add(0, node, &[score]));
        assert_eq!(nearest.of[3], [(0, 0.7)]);
        let nodes: Vec<usize> = nearest.of[0].iter().map(|it| it.0).collect();
        assert_eq!(nodes, [4, 2, 3, 9, 1]);
    }
}
