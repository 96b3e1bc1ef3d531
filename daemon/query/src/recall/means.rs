//! Means: how near documents are to a question as a whole, by the mean of their windows' vectors.
//!
//! A page about the matter of a question says so in all its passages, of which the best one may use other words.
//! In: the question's vectors, passages with their documents. Out: for each passage a number from 0 to 1, that of its
//! document. A long document has a mean for each section of at most [`MAX_WINDOWS`] windows.
//! The static mean counts beside the one of the better model ([`PLAIN`]), because the two err on different questions.
//! Until all windows of a section have better vectors, the static one stands for both.
//! Windows whose text is indexed elsewhere do not count. A mean is computed when a question first meets its document,
//! and again after a commit that changed the document, or while vectors are still being made, after more are there.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use embed::cosine;
use index::read::Chunk;
use index::store::Snapshot;
use model::document::UnitVector;
use model::terms::Tick;
use rustc_hash::{FxHashMap, FxHashSet};

use super::fuse::{Values, over_best};
use super::nearness::QuestionVectors;
use crate::{AskError, QueryContext};

/// Most windows of a section: about 2,000 words.
const MAX_WINDOWS: usize = 16;

/// Means that are kept, at most: some 20 MB with MiniLM's.
const MOST_KEPT: usize = 40_000;

/// Share of the static mean where there is a better one.
const PLAIN: f32 = 0.25;

/// A part of a document: consecutive passages.
#[derive(Debug)]
struct Section {
    /// The place of its first passage among those of the document.
    first: i64,
    /// Its windows, ascending.
    windows: Box<[i64]>,
}

/// What is known of one commit.
#[derive(Debug, Default)]
struct Known {
    tick: Tick,
    sections: FxHashMap<i64, Arc<[Section]>>,
    /// By vector space, document and number of the section.
    means: FxHashMap<String, FxHashMap<(i64, usize), UnitVector>>,
    /// By vector space: the number of its vectors, and the sections that lacked some of theirs then.
    lacking: FxHashMap<String, (usize, FxHashSet<(i64, usize)>)>,
}

/// Keeps the means that questions have needed.
#[derive(Debug, Default)]
pub struct MeanCache(Mutex<Known>);

impl Known {
    /// Forgets what differs at another commit.
    fn move_to(&mut self, snapshot: &Snapshot) {
        let tick = snapshot.tick();
        if self.tick == tick {
            return;
        }
        match snapshot.changed_since(self.tick) {
            Some(changed) => {
                for doc in changed {
                    if let Some(sections) = self.sections.remove(&doc) {
                        for means in self.means.values_mut() {
                            (0..sections.len()).for_each(|at| drop(means.remove(&(doc, at))));
                        }
                    }
                }
            }
            None => (self.sections, self.means) = Default::default(),
        }
        self.lacking.clear();
        self.tick = tick;
    }

    /// Forgets everything where too much is kept, before a question.
    fn make_room(&mut self) {
        if self.means.values().map(FxHashMap::len).sum::<usize>() > MOST_KEPT {
            (self.sections, self.means, self.lacking) = Default::default();
        }
    }

    fn sections(&mut self, snapshot: &Snapshot, doc: i64) -> Result<Arc<[Section]>, AskError> {
        if let Some(known) = self.sections.get(&doc) {
            return Ok(known.clone());
        }
        let sections: Arc<[Section]> = cut(&snapshot.windows().of_document(doc)?).into();
        self.sections.insert(doc, sections.clone());
        Ok(sections)
    }

    /// Returns the mean of a section in a space that holds `n_vectors`; `None` where one of its windows lacks its own.
    fn mean(
        &mut self,
        (space, n_vectors): (&str, usize),
        key: (i64, usize),
        n_windows: usize,
        compute: impl FnOnce() -> Result<(UnitVector, usize), AskError>,
    ) -> Result<Option<UnitVector>, AskError> {
        if let Some(known) = self.means.get(space).and_then(|it| it.get(&key)) {
            return Ok(Some(known.clone()));
        }
        let lacking = self.lacking.entry(space.to_string()).or_default();
        if lacking.0 != n_vectors {
            *lacking = (n_vectors, FxHashSet::default());
        }
        if lacking.1.contains(&key) {
            return Ok(None);
        }
        let (mean, n) = compute()?;
        if n < n_windows {
            lacking.1.insert(key);
            return Ok(None);
        }
        self.means.entry(space.to_string()).or_default().insert(key, mean.clone());
        Ok(Some(mean))
    }
}

/// Cuts the windows of a document into sections of about the same size, between passages.
fn cut(windows: &[(i64, i64)]) -> Vec<Section> {
    let n_sections = windows.len().div_ceil(MAX_WINDOWS).max(1);
    let share = windows.len().div_ceil(n_sections);
    let mut sections: Vec<Section> = Vec::new();
    let mut open: Vec<(i64, i64)> = Vec::new();
    let mut close = |open: &mut Vec<(i64, i64)>| {
        if let Some((first, _)) = open.first() {
            let mut ids: Vec<i64> = open.iter().map(|it| it.1).collect();
            ids.sort_unstable();
            sections.push(Section { first: *first, windows: ids.into() });
            open.clear();
        }
    };
    for passage in windows.chunk_by(|a, b| a.0 == b.0) {
        if 2 * open.len() + passage.len() > 2 * share {
            close(&mut open);
        }
        open.extend(passage);
    }
    close(&mut open);
    sections
}

/// Returns how near the section of each passage is, relative to the nearest one, 0 to 1.
pub(crate) fn of_passages<'a>(
    ctx: &QueryContext<'_>,
    asked: &QuestionVectors,
    passages: impl Iterator<Item = &'a Chunk>,
) -> Result<Values, AskError> {
    let mut known = ctx.means.0.lock().unwrap_or_else(PoisonError::into_inner);
    // A reader of an older commit than the last one asked for computes its own.
    let mut own = Known::default();
    let is_older = ctx.snapshot.tick() < known.tick;
    let known = if is_older { &mut own } else { &mut *known };
    known.move_to(ctx.snapshot);
    known.make_room();
    let mut sections: BTreeMap<(i64, usize), Vec<i64>> = BTreeMap::new();
    for passage in passages {
        let all = known.sections(ctx.snapshot, passage.doc)?;
        let after = all.partition_point(|it| it.first <= passage.idx);
        sections.entry((passage.doc, after.saturating_sub(1))).or_default().push(passage.id);
    }
    let (mut plain, mut better) = (Vec::new(), Vec::new());
    for (number, key) in sections.keys().enumerate() {
        let all = known.sections(ctx.snapshot, key.0)?;
        let Some(section) = all.get(key.1) else { continue };
        let [of_plain, of_better] = near(ctx, known, asked, *key, &section.windows)?;
        plain.extend(of_plain.map(|it| (number as i64, it)));
        better.extend(of_better.map(|it| (number as i64, it)));
    }
    let (plain, better) = (over_best(&plain), over_best(&better));
    let share = if better.is_empty() { 1.0 } else { PLAIN };
    let value = |number: i64| {
        let of_plain = plain.get(&number).copied();
        let of_better = better.get(&number).copied().or(of_plain);
        let both = of_plain.or(of_better).zip(of_better);
        both.map_or(0.0, |(plain, better)| share * plain + (1.0 - share) * better).max(0.0)
    };
    let numbered = sections.into_values().zip(0..);
    Ok(numbered
        .flat_map(|(ids, at)| ids.into_iter().map(move |id| (id, at)))
        .map(|(id, at)| (id, value(at)))
        .collect())
}

/// Returns the nearness of a section by the static vectors, and by those of the better models.
fn near(
    ctx: &QueryContext<'_>,
    known: &mut Known,
    asked: &QuestionVectors,
    key: (i64, usize),
    windows: &[i64],
) -> Result<[Option<f32>; 2], AskError> {
    let n = windows.len();
    let plain = match asked.plain() {
        Some(question) => {
            let mean = || Ok(ctx.snapshot.mean_of(windows)?);
            known.mean(("", 0), key, n, mean)?.map(|it| cosine(&it, question))
        }
        None => None,
    };
    let mut better: Option<f32> = None;
    for (space, view, question) in asked.better_views() {
        let mean = || Ok(view.mean_of(windows, ctx.snapshot.tick()));
        if let Some(mean) = known.mean((space.space(), view.n_rows()), key, n, mean)? {
            let nearness = space.nearness(cosine(&mean, &view.rounded(question)));
            better = Some(better.map_or(nearness, |it| it.max(nearness)));
        }
    }
    Ok([plain, better])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_is_cut_between_passages_into_sections_of_about_the_same_size() {
        // Passages of these numbers of windows.
        for (passages, expected) in [
            (vec![], vec![]),
            (vec![1, 1, 1], vec![(0, 3)]),
            (vec![16], vec![(0, 16)]),
            (vec![10, 10], vec![(0, 10), (1, 10)]),
            (vec![1; 33], vec![(0, 11), (11, 11), (22, 11)]),
            (vec![40, 2], vec![(0, 40), (1, 2)]),
        ] {
            let mut windows = Vec::new();
            for (idx, n) in passages.iter().enumerate() {
                windows.extend((0..*n).map(|at| (idx as i64, (idx * 100 + at) as i64)));
            }
            let found: Vec<(i64, usize)> =
                cut(&windows).iter().map(|it| (it.first, it.windows.len())).collect();
            assert_eq!(found, expected, "{passages:?}");
        }
    }
}
