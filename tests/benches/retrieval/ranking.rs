//! Ranking: the compared rankings, each as settings with which the same index is asked.
//!
//! In: the settings of the run. Out: the same, changed for each ranking.
//! Invariant: the last one is the unchanged settings, which are the default and must not fall below
//! any single signal.

use anyhow::{Result, bail};
use config::Settings;
use config::settings::{Formula, Retrieval, Weights};

use super::plain::{SUMS, Sum};

/// The baseline of every comparison.
pub(crate) const ALONE: &str = "text";

/// The unchanged settings.
pub(crate) const DEFAULT: &str = "default";

/// One way to rank.
pub(crate) struct Ranking {
    pub(crate) name: &'static str,
    pub(crate) settings: Settings,
}

type Change = fn(&mut Retrieval);

/// Text and vectors, before the single signals.
const PLAIN: [(&str, Change); 3] = [
    (ALONE, |it| it.formula = Formula::Text),
    ("vector", |it| it.formula = Formula::Vector),
    ("text+vector", |it| no_signals(&mut it.weights)),
];

/// Formulas over all signals.
const WHOLE: [(&str, Change); 8] = [
    ("no synonyms", |it| it.other_names = false),
    ("s0", |it| it.formula = Formula::S0),
    ("s4", |it| it.formula = Formula::S4),
    ("rrf", |it| it.formula = Formula::Rrf),
    ("minmax", |it| it.formula = Formula::MinMax),
    ("rrf alone", |it| {
        it.formula = Formula::Rrf;
        no_signals(&mut it.weights);
    }),
    ("minmax alone", |it| {
        it.formula = Formula::MinMax;
        no_signals(&mut it.weights);
    }),
    (DEFAULT, |_| ()),
];

fn no_signals(weights: &mut Weights) {
    query::signals().for_each(|(_, weight)| *weight(weights) = 0.0);
}

/// Returns the named rankings, separated by commas; all by default. The name of a signal means
/// text, vectors and that signal.
pub(crate) fn chosen(settings: &Settings, only: Option<&str>) -> Result<Vec<Ranking>> {
    let changed = |(name, change): (&'static str, Change)| {
        let mut settings = settings.clone();
        change(&mut settings.retrieval);
        Ranking { name, settings }
    };
    let with_signal = |(name, weight): (&'static str, fn(&mut Weights) -> &mut f32)| {
        let mut settings = settings.clone();
        let weights = &mut settings.retrieval.weights;
        let kept = *weight(weights);
        no_signals(weights);
        *weight(weights) = kept;
        Ranking { name, settings }
    };
    let all = PLAIN.into_iter().map(changed).chain(query::signals().map(with_signal));
    let all: Vec<Ranking> = all.chain(WHOLE.into_iter().map(changed)).collect();
    let names = all.iter().map(|it| it.name).collect::<Vec<_>>().join(", ");
    let is_chosen = |name: &str| only.is_none_or(|only| only.split(',').any(|it| it == name));
    let rankings: Vec<Ranking> = all.into_iter().filter(|it| is_chosen(it.name)).collect();
    if rankings.is_empty() && chosen_sums(only).is_empty() {
        let sums = SUMS.map(|it| it.0).join(", ");
        bail!("no ranking is called so; hint: {names}, {sums}");
    }
    Ok(rankings)
}

/// Returns the named plain sums; all by default.
pub(crate) fn chosen_sums(only: Option<&str>) -> Vec<Sum> {
    let is_chosen = |it: &Sum| only.is_none_or(|only| only.split(',').any(|name| name == it.0));
    SUMS.into_iter().filter(is_chosen).collect()
}
