//! Score: precision, recall and F1 of spans, exact and overlapping.

use std::collections::{BTreeMap, BTreeSet};

/// The names that the labels of a set have here.
pub(crate) type Labels = BTreeMap<&'static str, &'static str>;
/// A span in bytes, and its name.
pub(crate) type Found = (usize, usize, &'static str);

/// One annotated text.
pub(crate) struct Text {
    pub(crate) id: String,
    pub(crate) text: String,
    /// Spans in bytes.
    pub(crate) entities: Vec<(usize, usize, String)>,
}

/// True positives, found, gold of: exact untyped, exact typed, partial untyped, partial typed.
#[derive(Default)]
pub(crate) struct Score {
    exact: [usize; 3],
    typed: [usize; 3],
    partial: usize,
    partial_typed: usize,
}

impl Score {
    pub(crate) fn of(texts: &[Text], found: &[Vec<Found>], labels: &Labels) -> Score {
        let mut score = Score::default();
        let judged: BTreeSet<&str> = labels.values().copied().collect();
        for (text, found) in texts.iter().zip(found) {
            let (gold, other): (Vec<_>, Vec<_>) =
                text.entities.iter().partition(|(_, _, label)| labels.contains_key(label.as_str()));
            let gold: BTreeSet<Found> = gold
                .iter()
                .filter_map(|(start, end, label)| {
                    Some((*start, *end, *labels.get(label.as_str())?))
                })
                .collect();
            let is_outside = |f: &Found| other.iter().any(|o| f.0 < o.1 && o.0 < f.1);
            let is_gold = |f: &Found| gold.iter().any(|g| (g.0, g.1) == (f.0, f.1));
            let found: BTreeSet<Found> = found
                .iter()
                .filter(|f| judged.contains(f.2) && (is_gold(f) || !is_outside(f)))
                .copied()
                .collect();
            let bare = |set: &BTreeSet<Found>| -> BTreeSet<(usize, usize)> {
                set.iter().map(|f| (f.0, f.1)).collect()
            };
            let (bare_gold, bare_found) = (bare(&gold), bare(&found));
            add(
                &mut score.exact,
                bare_gold.intersection(&bare_found).count(),
                &bare_found,
                &bare_gold,
            );
            add(&mut score.typed, gold.intersection(&found).count(), &found, &gold);
            score.partial += overlapping(&gold, &found, false);
            score.partial_typed += overlapping(&gold, &found, true);
        }
        score
    }
}

fn add<T>(counts: &mut [usize; 3], n: usize, found: &BTreeSet<T>, gold: &BTreeSet<T>) {
    counts[0] += n;
    counts[1] += found.len();
    counts[2] += gold.len();
}

/// Counts pairs of overlapping spans, matched one to one, the best overlap (intersection over
/// union) first.
fn overlapping(gold: &BTreeSet<Found>, found: &BTreeSet<Found>, is_typed: bool) -> usize {
    let mut pairs = Vec::new();
    for g in gold {
        for f in found {
            let shared = g.1.min(f.1) as f64 - g.0.max(f.0) as f64;
            if shared > 0.0 && (!is_typed || g.2 == f.2) {
                let all = g.1.max(f.1) as f64 - g.0.min(f.0) as f64;
                pairs.push((-shared / all, *g, *f));
            }
        }
    }
    pairs.sort_by(|a, b| a.0.total_cmp(&b.0).then_with(|| (a.1, a.2).cmp(&(b.1, b.2))));
    let (mut used_gold, mut used_found) = (BTreeSet::new(), BTreeSet::new());
    let mut n = 0;
    for (_, g, f) in pairs {
        if !used_gold.contains(&g) && !used_found.contains(&f) {
            used_gold.insert(g);
            used_found.insert(f);
            n += 1;
        }
    }
    n
}

/// Returns precision, recall and F1 in percent.
fn prf(right: usize, found: usize, gold: usize) -> [f64; 3] {
    let share = |n: usize| if n == 0 { 0.0 } else { 100.0 * right as f64 / n as f64 };
    let (p, r) = (share(found), share(gold));
    [p, r, if p + r == 0.0 { 0.0 } else { 2.0 * p * r / (p + r) }]
}

impl std::fmt::Display for Score {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [p, r, f1] = prf(self.exact[0], self.exact[1], self.exact[2]);
        let typed = prf(self.typed[0], self.typed[1], self.typed[2])[2];
        let partial = prf(self.partial, self.typed[1], self.typed[2])[2];
        let partial_typed = prf(self.partial_typed, self.typed[1], self.typed[2])[2];
        write!(
            f,
            "{} | {p:.1} {r:.1} {f1:.1} | {typed:.1} | {partial:.1} | {partial_typed:.1}",
            self.exact[1]
        )
    }
}
