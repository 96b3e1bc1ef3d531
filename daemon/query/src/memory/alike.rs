//! Alike: which nodes are similar, by the mean vector of their facts; clusters of them, with labels; draft summaries.
//!
//! In: the mean vectors of all nodes, and their relations. Out: pairs, clusters with labels, draft summaries.
//! Invariants: exact and deterministic: every pair is compared, ties are broken by name; a summary quotes facts.

use std::collections::{BTreeSet, HashMap};

use petgraph::unionfind::UnionFind;

use super::{NodeRow, Web, node};
use crate::AskError;
use index::store::Snapshot;
use sys::{Rows, product};

/// Rows that are multiplied with all others at once: enough for the product to be fast, few enough for memory.
const BLOCK: usize = 128;

/// Nearest neighbors of a node that may share its cluster.
const N_NEAREST: usize = 5;

/// Least similarity of two neighbors in a cluster, and of two related nodes.
const CLUSTERED: f32 = 0.6;
const RELATED: f32 = 0.5;

/// Most pairs that are kept during the search.
const MAX_PAIRS: usize = 50_000;

/// Words of a label, and its shortest word.
const LABEL_WORDS: usize = 3;
const MIN_WORD_CHARS: usize = 4;

/// Facts of a draft summary.
const DRAFT_FACTS: usize = 3;

/// Two nodes by their indices in [`Means::docs`].
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
    /// Rows of their documents.
    pub docs: Vec<i64>,
    width: usize,
    /// One row a node, of length 1.
    values: Vec<f32>,
    /// The same, one column a node.
    columns: Vec<f32>,
}

impl Means {
    /// Reads the mean vectors.
    pub fn read(snapshot: &Snapshot) -> Result<Means, AskError> {
        let mut statement = snapshot.prepare_cached(
            "SELECT v.doc_id, v.mean FROM memory_vectors v JOIN memory_nodes n ON n.doc_id = v.doc_id
             JOIN docs d ON d.id = v.doc_id WHERE n.is_node ORDER BY n.key, d.path",
        )?;
        let mut rows = statement.query([])?;
        let (mut docs, mut values, mut width) = (Vec::new(), Vec::new(), 0);
        while let Some(row) = rows.next()? {
            let bytes = row.get_ref(1)?.as_blob().map_err(rusqlite::Error::from)?;
            width = width.max(bytes.len());
            if bytes.len() != width {
                continue;
            }
            let numbers: Vec<f32> = bytes.iter().map(|it| f32::from(it.cast_signed())).collect();
            let length =
                numbers.iter().map(|it| it * it).sum::<f32>().sqrt().max(f32::MIN_POSITIVE);
            docs.push(row.get(0)?);
            values.extend(numbers.into_iter().map(|it| it / length));
        }
        let n = docs.len();
        let mut columns = vec![0.0; values.len()];
        for (i, row) in values.chunks_exact(width.max(1)).enumerate() {
            for (k, value) in row.iter().enumerate() {
                if let Some(slot) = columns.get_mut(k * n + i) {
                    *slot = *value;
                }
            }
        }
        Ok(Means { docs, width, values, columns })
    }

    /// Calls `visit` with each node and its cosines with all.
    fn each_row(&self, mut visit: impl FnMut(usize, &[f32])) {
        let n = self.docs.len();
        if n == 0 || self.width == 0 {
            return;
        }
        let mut out = vec![0.0; BLOCK.min(n) * n];
        for first in (0..n).step_by(BLOCK) {
            let n_rows = BLOCK.min(n - first);
            let values = self.values.get(first * self.width..).unwrap_or_default();
            let rows = Rows { values, n_rows, width: self.width, stride: self.width };
            let Some(part) = out.get_mut(..n_rows * n) else { return };
            product(&rows, &self.columns, part);
            for (i, row) in part.chunks_exact(n).enumerate() {
                visit(first + i, row);
            }
        }
    }

    /// Returns the pairs with at least that cosine that `wanted` accepts, the most similar first.
    pub fn pairs(
        &self,
        min_score: f32,
        most: usize,
        wanted: impl Fn(i64, i64) -> bool,
    ) -> Vec<Pair> {
        let mut pairs: Vec<Pair> = Vec::new();
        let mut least = min_score;
        self.each_row(|one, row| {
            for (other, score) in row.iter().enumerate().skip(one + 1) {
                if *score >= least && wanted(self.doc(one), self.doc(other)) {
                    pairs.push(Pair { one, other, score: *score });
                }
            }
            if pairs.len() > MAX_PAIRS.max(most * 2) {
                sort(&mut pairs);
                pairs.truncate(most);
                least = pairs.last().map_or(least, |it| it.score.max(least));
            }
        });
        sort(&mut pairs);
        pairs.truncate(most);
        pairs
    }

    /// Returns the document of a node.
    pub fn doc(&self, at: usize) -> i64 {
        self.docs.get(at).copied().unwrap_or_default()
    }

    /// Returns groups of at least two nodes, the largest first: connected components over pairs that are mutually
    /// nearest, or related and similar.
    pub fn clusters(&self, web: &Web) -> Vec<Vec<usize>> {
        let n = self.docs.len();
        let mut nearest: Vec<Vec<usize>> = vec![Vec::new(); n];
        let mut related: Vec<(usize, usize)> = Vec::new();
        let places: HashMap<i64, usize> =
            self.docs.iter().enumerate().map(|(at, doc)| (*doc, at)).collect();
        self.each_row(|one, row| {
            let others = web.neighbors(self.doc(one)).filter_map(|doc| places.get(&doc).copied());
            let is_like = |other: &usize| row.get(*other).is_some_and(|it| *it >= RELATED);
            related.extend(others.filter(is_like).map(|other| (one, other)));
            if let Some(slot) = nearest.get_mut(one) {
                *slot = nearest_of(row, one);
            }
        });
        let is_near =
            |one: usize, other: usize| nearest.get(other).is_some_and(|all| all.contains(&one));
        let mut components = UnionFind::new(n);
        for (one, all) in nearest.iter().enumerate() {
            all.iter().filter(|other| is_near(one, **other)).for_each(|other| {
                components.union(one, *other);
            });
        }
        related.into_iter().for_each(|(one, other)| {
            components.union(one, other);
        });
        let mut groups: HashMap<usize, Vec<usize>> = HashMap::new();
        for (at, label) in components.into_labeling().into_iter().enumerate() {
            groups.entry(label).or_default().push(at);
        }
        let mut groups: Vec<Vec<usize>> = groups.into_values().filter(|it| it.len() > 1).collect();
        // Labels are arbitrary: groups of equal size are ordered by their first node.
        groups.sort_by_key(|it| (std::cmp::Reverse(it.len()), it.first().copied()));
        groups
    }
}

/// Returns the indices of the highest cosines of a row, except its own, of at least [`CLUSTERED`]; ties by index.
fn nearest_of(row: &[f32], own: usize) -> Vec<usize> {
    let mut best: Vec<(usize, f32)> = Vec::with_capacity(N_NEAREST + 1);
    for (other, score) in row.iter().enumerate() {
        let is_beaten = best.len() == N_NEAREST && best.last().is_some_and(|it| *score <= it.1);
        if *score < CLUSTERED || is_beaten || other == own {
            continue;
        }
        let at = best.partition_point(|it| it.1 >= *score);
        best.insert(at, (other, *score));
        best.truncate(N_NEAREST);
    }
    best.into_iter().map(|(other, _)| other).collect()
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
    let sql = "SELECT content FROM memory_facts WHERE doc_id = ?1 ORDER BY seq";
    let mut statement = snapshot.prepare_cached(sql)?;
    Ok(statement.query_map([doc], |row| row.get(0))?.collect::<Result<_, _>>()?)
}

/// Returns the facts nearest to the mean of a node, in the order of its note.
pub fn draft(snapshot: &Snapshot, doc: i64) -> Result<Option<String>, AskError> {
    let contents = contents(snapshot, doc)?;
    let vectors: Option<(Vec<u8>, Vec<u8>)> = snapshot
        .prepare_cached("SELECT vectors, mean FROM memory_vectors WHERE doc_id = ?1")?
        .query_row([doc], |row| Ok((row.get(0)?, row.get(1)?)))
        .ok();
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
    let said: Vec<&str> = order
        .iter()
        .filter_map(|at| contents.get(*at))
        .map(|it| it.trim_end_matches('.'))
        .collect();
    Ok((!said.is_empty()).then(|| format!("{}.", said.join(". "))))
}

/// Returns the nodes of some documents, in that order.
pub fn nodes(snapshot: &Snapshot, docs: &[i64]) -> Result<Vec<NodeRow>, AskError> {
    let mut out = Vec::with_capacity(docs.len());
    for doc in docs {
        out.extend(node(snapshot, *doc)?);
    }
    Ok(out)
}
