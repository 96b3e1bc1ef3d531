//! Plain: sums that know nothing of kgd, over the windows of the same index. A ranking must not lose to one of them.
//!
//! In: a project with its vectors, a set. Out: for each sum the documents of each question, best first.
//! A document has the BM25 (k1 1.5, b .75, stemmed) of its best window, and the cosine of its best window (`best`), of
//! the mean of its windows' vectors (`mean`), and of its best static vector (`static`); the first two by the better
//! model, where there are such vectors. Each is scaled by minimum and maximum over the 1,000 documents best by it.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use anyhow::{Context, Result};
use index::words::Indexer;
use query::QueryContext;
use server::project::Project;

use super::Answer;
use super::set::Set;

/// A sum: its name, and the weights of the best window, the mean, the best static vector, and BM25.
pub(crate) type Sum = (&'static str, [f32; 4]);

pub(crate) const SUMS: [Sum; 3] = [
    ("best+bm25", [0.5, 0.0, 0.0, 0.5]),
    ("mean+bm25", [0.0, 0.5, 0.0, 0.5]),
    ("four signals", [0.2, 0.3, 0.1, 0.4]),
];

const K1: f32 = 1.5;
const B: f32 = 0.75;

/// Documents over which a signal is scaled.
const SCALED: usize = 1_000;

/// Documents returned for a question.
const HITS: usize = 100;

/// The windows of an index, by document.
pub(crate) struct Windows {
    /// Id and path of each document.
    docs: Vec<(i64, String)>,
    /// The document of each window.
    doc_of: Vec<usize>,
    lengths: Vec<f32>,
    /// For each word, the windows that have it, and how often.
    postings: HashMap<String, Vec<(usize, f32)>>,
    plain: Space,
    better: Space,
}

/// The vectors of the windows in one space; those of a window without one are empty.
#[derive(Default)]
struct Space {
    windows: Vec<Box<[i8]>>,
    /// For each document, the mean of its windows' vectors.
    means: Vec<Vec<f32>>,
}

impl Space {
    fn of(windows: Vec<Box<[i8]>>, doc_of: &[usize], n_docs: usize) -> Self {
        let mut means = vec![Vec::new(); n_docs];
        for (vector, doc) in windows.iter().zip(doc_of).filter(|(it, _)| !it.is_empty()) {
            let mean: &mut Vec<f32> = &mut means[*doc];
            mean.resize(vector.len(), 0.0);
            mean.iter_mut().zip(vector).for_each(|(sum, it)| *sum += f32::from(*it));
        }
        Space { windows, means }
    }

    fn is_empty(&self) -> bool {
        self.windows.iter().all(|it| it.is_empty())
    }
}

fn cosine(one: impl Iterator<Item = f32> + Clone, other: &[i8]) -> f32 {
    let norm = |sum: f32| sum.sqrt().max(f32::MIN_POSITIVE);
    let product: f32 = one.clone().zip(other).map(|(a, b)| a * f32::from(*b)).sum();
    let of_other = other.iter().map(|b| f32::from(*b) * f32::from(*b)).sum();
    product / norm(one.map(|a| a * a).sum()) / norm(of_other)
}

fn signed(bytes: &[u8]) -> Box<[i8]> {
    bytes.iter().map(|it| it.cast_signed()).collect()
}

impl Windows {
    /// Reads all windows; `state` is the folder with the better vectors.
    pub(crate) fn read(project: &Project, state: &Path) -> Result<Self> {
        let snapshot = project.snapshot()?;
        let better_of = better_vectors(&snapshot, state)?;
        let mut of_row: HashMap<i64, Box<[i8]>> = HashMap::new();
        snapshot.each_vector(|row, bytes| {
            of_row.insert(row, signed(bytes));
            true
        })?;
        let docs = snapshot.documents().by_path()?;
        let (mut doc_of, mut lengths, mut plain, mut better) =
            (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let mut postings: HashMap<String, Vec<(usize, f32)>> = HashMap::new();
        let mut indexer = Indexer::new();
        for (number, (doc, _)) in docs.iter().enumerate() {
            let text = snapshot.documents().text(*doc)?.unwrap_or_default();
            let chunks = snapshot.chunks().of(*doc)?;
            for window in snapshot.windows().of(chunks.iter().map(|it| it.id))? {
                let mut words = String::new();
                indexer.index(text.get(window.start..window.end).unwrap_or(""), true, &mut words);
                let mut counts: BTreeMap<&str, f32> = BTreeMap::new();
                words.split_whitespace().for_each(|it| *counts.entry(it).or_default() += 1.0);
                for (word, n) in &counts {
                    postings.entry(word.to_string()).or_default().push((doc_of.len(), *n));
                }
                doc_of.push(number);
                lengths.push(counts.values().sum());
                let aside = window.aside.as_deref().map(signed);
                plain.push(aside.or_else(|| of_row.remove(&window.id)).unwrap_or_default());
                better.push(better_of.get(&window.id).cloned().unwrap_or_default());
            }
        }
        let n_docs = docs.len();
        let plain = Space::of(plain, &doc_of, n_docs);
        let better = Space::of(better, &doc_of, n_docs);
        Ok(Windows { docs, doc_of, lengths, postings, plain, better })
    }

    /// Returns the answers of each sum.
    pub(crate) fn ask(
        &self,
        context: &QueryContext<'_>,
        sums: &[Sum],
        set: &Set,
    ) -> Result<Vec<Vec<Answer>>> {
        let mut answers = vec![Vec::new(); sums.len()];
        for query in &set.queries {
            let text: String = query.text.chars().take(1_000).collect();
            let signals = self.signals(context, &text)?;
            for (answers, (_, weights)) in answers.iter_mut().zip(sums) {
                let mut scores = vec![0.0; self.docs.len()];
                for (signal, weight) in signals.iter().zip(*weights) {
                    scores.iter_mut().zip(signal).for_each(|(sum, it)| *sum += weight * it);
                }
                let mut order: Vec<usize> = (0..self.docs.len()).collect();
                order.sort_by(|a, b| scores[*b].total_cmp(&scores[*a]).then(a.cmp(b)));
                let mut answer = Answer::new();
                for doc in order.into_iter().take(HITS + 1) {
                    let ids = set.found(&self.docs[doc].1, [1, 1])?;
                    let others = ids.into_iter().filter(|id| query.is_of.as_ref() != Some(id));
                    answer.extend(others.map(|id| (id, scores[doc])));
                }
                answers.push(answer);
            }
        }
        Ok(answers)
    }

    /// Returns each signal of each document, scaled.
    fn signals(&self, context: &QueryContext<'_>, text: &str) -> Result<[Vec<f32>; 4]> {
        let plain = context.embedder.try_question(text)?;
        let layer = context.snapshot.layers().into_iter().next();
        let better = layer.map(|(layer, _)| layer.question(text)).transpose()?;
        let (space, question) = match &better {
            Some(question) if !self.better.is_empty() => (&self.better, question),
            _ => (&self.plain, &plain),
        };
        let best = |space: &Space, question: &[i8]| {
            let floats = question.iter().map(|it| f32::from(*it));
            self.best_of(space.windows.iter().map(|it| match it.is_empty() {
                true => None,
                false => Some(cosine(floats.clone(), it)),
            }))
        };
        let mean = space.means.iter().map(|mean| {
            let is_there = !mean.is_empty();
            is_there.then(|| cosine(mean.iter().copied(), &question.0))
        });
        let all = [
            best(space, &question.0),
            mean.collect(),
            best(&self.plain, &plain.0),
            self.best_of(self.bm25(text).into_iter().map(|it| (it > 0.0).then_some(it))),
        ];
        Ok(all.map(scaled))
    }

    /// Returns the greatest value of a document's windows.
    fn best_of(&self, values: impl Iterator<Item = Option<f32>>) -> Vec<Option<f32>> {
        let mut best: Vec<Option<f32>> = vec![None; self.docs.len()];
        for (value, doc) in values.zip(&self.doc_of) {
            if let Some(value) = value {
                best[*doc] = Some(best[*doc].map_or(value, |it| it.max(value)));
            }
        }
        best
    }

    fn bm25(&self, text: &str) -> Vec<f32> {
        let mut words = String::new();
        Indexer::new().index(text, true, &mut words);
        let n = self.lengths.len() as f32;
        let average = self.lengths.iter().sum::<f32>() / n.max(1.0);
        let mut scores = vec![0.0; self.lengths.len()];
        for word in words.split_whitespace() {
            let Some(found) = self.postings.get(word) else { continue };
            let n_found = found.len() as f32;
            let idf = ((n - n_found + 0.5) / (n_found + 0.5)).ln_1p();
            for (window, count) in found {
                let norm = K1 * (1.0 - B + B * self.lengths[*window] / average);
                scores[*window] += idf * count * (K1 + 1.0) / (count + norm);
            }
        }
        scores
    }
}

/// Scales a signal by its minimum and maximum over the documents that are best by it; others get 0.
fn scaled(values: Vec<Option<f32>>) -> Vec<f32> {
    let mut found: Vec<f32> = values.iter().flatten().copied().collect();
    found.sort_by(|a, b| b.total_cmp(a));
    found.truncate(SCALED);
    let (Some(most), Some(least)) = (found.first(), found.last()) else {
        return vec![0.0; values.len()];
    };
    let width = (most - least).max(f32::MIN_POSITIVE);
    values.iter().map(|it| it.map_or(0.0, |it| ((it - least) / width).max(0.0))).collect()
}

/// Returns the better vectors by window.
fn better_vectors(
    snapshot: &index::store::Snapshot,
    state: &Path,
) -> Result<HashMap<i64, Box<[i8]>>> {
    let Some((layer, _)) = snapshot.layers().into_iter().next() else { return Ok(HashMap::new()) };
    let db = rusqlite::Connection::open(state.join("vectors.sqlite"))?;
    let sql = "SELECT hash, vector FROM vectors JOIN spaces ON spaces.id = space WHERE name = ?1";
    let mut statement = db.prepare(sql)?;
    let rows = statement.query_map([layer.embedder().space()], |row| {
        Ok((row.get::<_, Vec<u8>>(0)?, row.get::<_, Vec<u8>>(1)?))
    })?;
    let by_hash: HashMap<Vec<u8>, Vec<u8>> = rows.collect::<rusqlite::Result<_>>()?;
    let searched = snapshot.windows().searched().context("windows")?;
    let vector = |hash: u128| by_hash.get(&hash.to_le_bytes()[..]).map(|it| signed(it));
    Ok(searched.into_iter().filter_map(|it| Some((it.id, vector(it.hash.0)?))).collect())
}
