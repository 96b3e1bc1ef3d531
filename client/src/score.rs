//! Score: compares extraction and retrieval with human annotations.
//!
//! In: annotations, and what kgd found, in the same documents. Out: precision, recall, F1; ranking metrics for
//! questions.
//! Invariants: pure; the order of either side does not matter, except for the ranks of an answer.

pub mod interval;
mod link;
mod relation;

use std::collections::{BTreeSet, HashMap};

use serde::Serialize;

pub use link::{LinkScores, Links};
pub use relation::{RelationMark, RelationScores, relations};

/// Counts of correct, wrong and missed findings.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Found by both.
    pub right: u64,
    /// Found only by kgd.
    pub wrong: u64,
    /// Only annotated.
    pub missed: u64,
}

impl Counts {
    /// Compares two sets.
    pub fn of_sets<T: Ord>(gold: &BTreeSet<T>, found: &BTreeSet<T>) -> Self {
        let right = gold.intersection(found).count() as u64;
        Counts { right, wrong: found.len() as u64 - right, missed: gold.len() as u64 - right }
    }

    /// Adds two counts.
    pub fn plus(self, other: Counts) -> Counts {
        Counts {
            right: self.right + other.right,
            wrong: self.wrong + other.wrong,
            missed: self.missed + other.missed,
        }
    }

    /// Returns the share of correct findings; 1 when nothing was found.
    pub fn precision(self) -> f64 {
        ratio(self.right, self.right + self.wrong)
    }

    /// Returns the share of annotations found; 1 when there are none.
    pub fn recall(self) -> f64 {
        ratio(self.right, self.right + self.missed)
    }

    /// Returns the harmonic mean of precision and recall.
    pub fn f1(self) -> f64 {
        ratio(2 * self.right, 2 * self.right + self.wrong + self.missed)
    }
}

fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { 1.0 } else { part as f64 / whole as f64 }
}

impl Serialize for Counts {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct View {
            precision: f64,
            recall: f64,
            f1: f64,
            right: u64,
            wrong: u64,
            missed: u64,
        }
        let Counts { right, wrong, missed } = *self;
        let [precision, recall, f1] = [self.precision(), self.recall(), self.f1()].map(rounded);
        View { precision, recall, f1, right, wrong, missed }.serialize(serializer)
    }
}

/// Rounds to four digits, so that printed reports can be compared.
pub fn rounded(value: f64) -> f64 {
    (value * 10_000.0).round() / 10_000.0
}

/// Normalizes a name for comparison: folded, letters and digits only.
pub fn norm(name: &str) -> String {
    names::fold(name).chars().filter(|c| c.is_alphanumeric()).collect()
}

/// Returns the byte range of the `nth` occurrence of `surface` in `text`, from 1, left to right without overlap.
pub fn nth_span(text: &str, surface: &str, nth: usize) -> Option<(usize, usize)> {
    let found = text.match_indices(surface).nth(nth.checked_sub(1)?)?;
    Some((found.0, found.0 + surface.len()))
}

/// A mention, annotated or found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MentionMark {
    /// Path of the document.
    pub path: String,
    /// First byte in the file.
    pub start: usize,
    /// Byte after the last.
    pub end: usize,
    /// What kind of thing it names.
    pub kind: String,
    /// What it denotes: the entity's name if annotated; its id if found, or none if it is not linked.
    pub entity: Option<String>,
}

impl MentionMark {
    fn overlap(&self, other: &MentionMark) -> usize {
        self.end.min(other.end).saturating_sub(self.start.max(other.start))
    }
}

/// Scores of mentions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct MentionScores {
    /// Same span.
    pub exact: Counts,
    /// Same span and type.
    pub exact_typed: Counts,
    /// Spans that overlap, one to one.
    pub overlap: Counts,
    /// Spans that overlap, one to one, with the same type.
    pub overlap_typed: Counts,
}

impl MentionScores {
    /// Returns each score with its name.
    pub fn rows(&self) -> [(&'static str, Counts); 4] {
        [
            ("exact span", self.exact),
            ("exact span and type", self.exact_typed),
            ("overlap", self.overlap),
            ("overlap and type", self.overlap_typed),
        ]
    }
}

/// Compares mentions of the annotated documents.
pub fn mentions(gold: &[MentionMark], found: &[MentionMark]) -> MentionScores {
    let spans = |marks: &[MentionMark]| -> BTreeSet<_> {
        marks.iter().map(|it| (it.path.clone(), it.start, it.end)).collect()
    };
    let typed_spans = |marks: &[MentionMark]| -> BTreeSet<_> {
        marks.iter().map(|it| (it.path.clone(), it.start, it.end, norm(&it.kind))).collect()
    };
    MentionScores {
        exact: Counts::of_sets(&spans(gold), &spans(found)),
        exact_typed: Counts::of_sets(&typed_spans(gold), &typed_spans(found)),
        overlap: paired(gold, found, |_, _| true),
        overlap_typed: paired(gold, found, |a, b| norm(&a.kind) == norm(&b.kind)),
    }
}

fn paired(
    gold: &[MentionMark],
    found: &[MentionMark],
    fits: impl Fn(&MentionMark, &MentionMark) -> bool,
) -> Counts {
    let pairs = pair_overlapping(gold, found, fits).len() as u64;
    let n_found = distinct(found).len() as u64;
    Counts { right: pairs, wrong: n_found - pairs, missed: distinct(gold).len() as u64 - pairs }
}

/// Returns the indices of one mark per span: two recognizers that agree count once.
fn distinct(marks: &[MentionMark]) -> Vec<usize> {
    let mut seen = BTreeSet::new();
    let fresh = |idx: &usize| seen.insert((&marks[*idx].path, marks[*idx].start, marks[*idx].end));
    (0..marks.len()).filter(fresh).collect()
}

/// Pairs overlapping marks, each used once: the largest overlap first, then the tighter found span (a name before the
/// step that contains it), then the earlier one.
fn pair_overlapping(
    gold: &[MentionMark],
    found: &[MentionMark],
    fits: impl Fn(&MentionMark, &MentionMark) -> bool,
) -> Vec<(usize, usize)> {
    let mut by_path: HashMap<&str, Vec<usize>> = HashMap::new();
    for idx in distinct(found) {
        by_path.entry(&found[idx].path).or_default().push(idx);
    }
    by_path.values_mut().for_each(|list| list.sort_by_key(|idx| found[*idx].start));
    let longest = found.iter().map(|it| it.end.saturating_sub(it.start)).max().unwrap_or(0);
    let mut options = Vec::new();
    for left in distinct(gold) {
        let mark = &gold[left];
        let list = by_path.get(mark.path.as_str()).map_or(&[][..], Vec::as_slice);
        // Only spans that start near enough can overlap this one.
        let first = list.partition_point(|idx| found[*idx].start + longest <= mark.start);
        for right in list[first..].iter().take_while(|idx| found[**idx].start < mark.end) {
            let overlap = mark.overlap(&found[*right]);
            // Only overlapping pairs are options, sorted below; taking the best first is greedy, not optimal.
            if overlap > 0 && fits(mark, &found[*right]) {
                let length = found[*right].end - found[*right].start;
                let place = (&mark.path, mark.start);
                options.push((std::cmp::Reverse(overlap), length, place, left, *right));
            }
        }
    }
    // The indices come last, so that the order does not depend on the order of either side.
    options.sort_unstable();
    let (mut lefts, mut rights) = (BTreeSet::new(), BTreeSet::new());
    let pairs = options.into_iter().map(|(_, _, _, left, right)| (left, right));
    pairs
        .filter(|(l, r)| {
            !lefts.contains(l) && !rights.contains(r) && lefts.insert(*l) && rights.insert(*r)
        })
        .collect()
}

/// Scores of ranked answers, each the mean over questions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct RankScores {
    /// Share of the answering documents among the first five.
    pub recall_at_5: f64,
    /// Share of questions with an answer among the first five documents.
    pub success_at_5: f64,
    /// The reciprocal rank of the first document that answers.
    pub mrr: f64,
    /// Discounted gain of the first ten documents, relative to the best possible.
    pub ndcg_at_10: f64,
}

/// Scores answers: for each question, the documents that answer it, and the ranked documents of the hits (a document
/// counts at its best rank only).
pub fn ranks(questions: &[(BTreeSet<String>, Vec<String>)]) -> RankScores {
    let mut sum = RankScores::default();
    for (wanted, ranked) in questions {
        let mut seen = BTreeSet::new();
        let hits: Vec<bool> = ranked
            .iter()
            .filter(|path| seen.insert(path.as_str()))
            .map(|path| wanted.contains(path))
            .collect();
        let first_five = hits.iter().take(5).filter(|hit| **hit).count();
        // At most five can be found, so a question with ten answers can still score 1.
        sum.recall_at_5 += first_five as f64 / wanted.len().clamp(1, 5) as f64;
        sum.success_at_5 += f64::from(u8::from(first_five > 0));
        sum.mrr += hits.iter().position(|hit| *hit).map_or(0.0, |idx| 1.0 / (idx + 1) as f64);
        let best = gain((0..wanted.len().clamp(1, 10)).map(|_| true));
        sum.ndcg_at_10 += gain(hits.into_iter().take(10)) / best;
    }
    let n = questions.len().max(1) as f64;
    RankScores {
        recall_at_5: rounded(sum.recall_at_5 / n),
        success_at_5: rounded(sum.success_at_5 / n),
        mrr: rounded(sum.mrr / n),
        ndcg_at_10: rounded(sum.ndcg_at_10 / n),
    }
}

fn gain(hits: impl Iterator<Item = bool>) -> f64 {
    // The usual discount: the first hit counts 1/log2(2), the second 1/log2(3).
    hits.enumerate().filter(|(_, hit)| *hit).map(|(idx, _)| 1.0 / ((idx + 2) as f64).log2()).sum()
}

/// Returns the gain of each question; [`ranks`] returns their mean.
pub fn gains(questions: &[(BTreeSet<String>, Vec<String>)]) -> Vec<f64> {
    questions.iter().map(|question| ranks(std::slice::from_ref(question)).ndcg_at_10).collect()
}

#[cfg(test)]
mod tests;
