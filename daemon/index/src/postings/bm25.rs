//! BM25: the best chunks for a question, with the scores of FTS5's `bm25()`.
//!
//! The length of a chunk is read from the table only for chunks that may be among the best. A word's last position is
//! a lower bound on the length, and a shorter chunk would only score higher, so it gives an upper bound on the score.
//! Invariants: same scores and order as `ORDER BY bm25(…), rowid`; chunks are visited in ranges of rows, so memory
//! depends on the postings, not on how large row ids are.

use rusqlite::Connection;
use rustc_hash::FxHashSet;

use super::{Posting, Postings, Unread};
use crate::words::Phrase;

/// Constants of FTS5's `bm25()`: `k1`, `b`, and the weight of a word that at least half of the rows contain.
const K1: f64 = 1.2;
const B: f64 = 0.75;
const LEAST_WEIGHT: f64 = 1e-6;

/// Width of a range of rows that is scored at once.
const STRETCH: usize = 1 << 16;

/// Candidates scored exactly before the threshold is known, as a multiple of the hits wanted.
const AT_FIRST: usize = 3;

/// Factor that makes up for rounding in a bound, which is `f32`.
const ROUNDING: f32 = 1.000_01;

/// The words of a question with the chunks that contain them.
pub struct Scorer {
    words: Vec<Weighed>,
    n_rows: f64,
    /// Words of an average chunk.
    mean_words: f64,
}

/// The chunks that contain a phrase, by row, and its inverse document frequency.
struct Weighed {
    rows: Vec<Posting>,
    weight: f64,
    /// The words of the question that the phrase stands for, one bit each.
    words: u64,
}

impl Scorer {
    /// A scorer without words.
    pub fn new(postings: &Postings<'_>) -> Self {
        let (n_rows, mean_words) = (postings.n_rows() as f64, postings.mean_words());
        Scorer { words: Vec::new(), n_rows, mean_words }
    }

    /// Reads the postings of alternative phrases, each of which stands for `words` of the question, one bit each.
    /// Returns the sum of their document frequencies: a chunk with several phrases counts several times.
    pub fn add_all(
        &mut self,
        postings: &Postings<'_>,
        phrases: &[Phrase],
        words: u64,
    ) -> Result<usize, Unread> {
        let mut n_found = 0;
        for phrase in phrases {
            let rows = postings.of(phrase)?;
            let (n, n_with) = (self.n_rows, rows.len() as f64);
            n_found += rows.len();
            // The formula of FTS5: it is negative for a word in more than half of the rows, which then gets a tiny
            // weight.
            let weight = ((n - n_with + 0.5) / (n_with + 0.5)).ln();
            let weight = if weight > 0.0 { weight } else { LEAST_WEIGHT };
            self.words.push(Weighed { rows, weight, words });
        }
        Ok(n_found)
    }

    /// Returns the words of the question that a chunk contains, one bit each.
    pub fn held(&self, id: i64) -> u64 {
        let holds = |word: &&Weighed| word.rows.binary_search_by_key(&id, |row| row.id).is_ok();
        self.words.iter().filter(holds).fold(0, |held, word| held | word.words)
    }

    /// Returns the words of the question that any chunk contains, one bit each.
    pub fn known(&self) -> u64 {
        let is_held = |word: &&Weighed| !word.rows.is_empty();
        self.words.iter().filter(is_held).fold(0, |known, word| known | word.words)
    }

    /// Returns whether no chunk contains any of the words.
    pub fn is_empty(&self) -> bool {
        self.words.iter().all(|word| word.rows.is_empty())
    }

    /// Returns the `wanted` best chunks, best first, ties by row; only chunks in `among`, if given.
    pub(crate) fn best(
        &self,
        db: &Connection,
        wanted: usize,
        among: Option<&FxHashSet<i64>>,
    ) -> Result<Vec<(i64, f32)>, Unread> {
        // First the chunks with the highest upper bounds, exactly; the last of the best of them is then the threshold
        // that the bound of any other chunk must reach.
        let mut bounds = self.bounds(among);
        let n_first = (wanted * AT_FIRST).min(bounds.len());
        if wanted == 0 || n_first == 0 {
            return Ok(Vec::new());
        }
        let higher = |a: &(i64, f32), b: &(i64, f32)| b.1.total_cmp(&a.1);
        if n_first < bounds.len() {
            bounds.select_nth_unstable_by(n_first, higher);
        }
        let (first, others) = bounds.split_at(n_first);
        let mut best = self.scores(db, first.iter().map(|(id, _)| *id).collect())?;
        sort(&mut best);
        let floor = best.get(wanted - 1).map_or(0.0, |(_, score)| *score);
        let may_enter = |bound: &&(i64, f32)| f64::from(bound.1 * ROUNDING) >= floor;
        best.extend(self.scores(db, others.iter().filter(may_enter).map(|(id, _)| *id).collect())?);
        sort(&mut best);
        best.truncate(wanted);
        Ok(best.into_iter().map(|(id, score)| (id, score as f32)).collect())
    }

    /// Returns the exact scores of some chunks, by row; 0 for a chunk that contains none of the words.
    pub(crate) fn scores(
        &self,
        db: &Connection,
        mut ids: Vec<i64>,
    ) -> Result<Vec<(i64, f64)>, Unread> {
        ids.sort_unstable();
        let mut lengths = db.prepare_cached("SELECT sz FROM chunk_fts_docsize WHERE id = ?1")?;
        let mut found: Vec<(i64, f64)> = Vec::with_capacity(ids.len());
        // Ids are sorted, so each list is walked once: `at` is the position in each.
        let mut at = vec![0; self.words.len()];
        let mean = self.mean_words;
        for id in ids {
            let mut held = Vec::new();
            for (word, at) in self.words.iter().zip(&mut at) {
                let rest = word.rows.get(*at..).unwrap_or_default();
                *at += before(rest, id);
                let row = word.rows.get(*at).filter(|row| row.id == id);
                held.extend(row.map(|row| (word.weight, f64::from(row.frequency))));
            }
            if held.is_empty() {
                found.push((id, 0.0));
                continue;
            }
            let mut rows = lengths.query([id])?;
            let Some(row) = rows.next()? else { return Err(Unread::Shape("a row's words")) };
            // `sz` is a blob of varints, the number of words in each column.
            let sizes = row.get_ref(0)?.as_blob().map_err(|_| Unread::Shape("a row's words"))?;
            let n_words = sum(sizes).ok_or(Unread::Shape("a row's words"))?;
            let lengthy = K1 * (1.0 - B + B * n_words as f64 / mean);
            let score = held.iter().map(|(weight, n)| weight * (n * (K1 + 1.0) / (n + lengthy)));
            found.push((id, score.sum()));
        }
        Ok(found)
    }

    /// Returns every chunk that contains a word, with an upper bound of its score.
    fn bounds(&self, among: Option<&FxHashSet<i64>>) -> Vec<(i64, f32)> {
        let mut left: Vec<&[Posting]> =
            self.words.iter().map(|word| word.rows.as_slice()).collect();
        let (mut least, mut bound) = (vec![0u32; STRETCH], vec![0f32; STRETCH]);
        let mut found = Vec::new();
        let mean = self.mean_words.max(1.0) as f32;
        let (k1, b) = (K1 as f32, B as f32);
        // One range of rows per round, starting at the first row that is left. Two passes: all words must have raised
        // the lower bound of a chunk's length before any of them is scored with it.
        while let Some(start) = left.iter().filter_map(|rows| rows.first()).map(|it| it.id).min() {
            let place = |row: &Posting| (row.id - start) as usize;
            let n_here: Vec<usize> = left
                .iter()
                .map(|rows| rows.partition_point(|row| row.id - start < STRETCH as i64))
                .collect();
            for (rows, n) in left.iter().zip(&n_here) {
                for row in rows.iter().take(*n) {
                    if let Some(least) = least.get_mut(place(row)) {
                        *least = row.least.max(*least);
                    }
                }
            }
            for ((rows, n), word) in left.iter_mut().zip(&n_here).zip(&self.words) {
                let weight = word.weight as f32 * (k1 + 1.0);
                let (here, behind) = rows.split_at(*n);
                for row in here {
                    if let (Some(bound), Some(least)) =
                        (bound.get_mut(place(row)), least.get(place(row)))
                    {
                        let lengthy = k1 * (1.0 - b + b * *least as f32 / mean);
                        *bound += weight * row.frequency / (row.frequency + lengthy);
                    }
                }
                *rows = behind;
            }
            // The buffers are cleared as they are read, for the next range.
            for (at, bound) in bound.iter_mut().enumerate() {
                if *bound > 0.0 {
                    let id = start + at as i64;
                    if among.is_none_or(|among| among.contains(&id)) {
                        found.push((id, *bound));
                    }
                    *bound = 0.0;
                }
            }
            least.fill(0);
        }
        found
    }
}

/// Sorts best first, ties by row.
fn sort(scores: &mut [(i64, f64)]) {
    scores.sort_unstable_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
}

/// Returns how many rows are before `id`. Gallops: the row is usually near.
fn before(rows: &[Posting], id: i64) -> usize {
    let mut end = 1;
    while rows.get(end).is_some_and(|row| row.id < id) {
        end *= 2;
    }
    let start = end / 2;
    let stretch = rows.get(start..rows.len().min(end + 1)).unwrap_or_default();
    match rows.first() {
        Some(first) if first.id < id => start + stretch.partition_point(|row| row.id < id),
        _ => 0,
    }
}

/// The sum of a list of numbers.
fn sum(bytes: &[u8]) -> Option<u64> {
    let (mut at, mut sum) = (0, 0);
    while at < bytes.len() {
        sum += super::leaf::number(bytes, &mut at)?;
    }
    Some(sum)
}
