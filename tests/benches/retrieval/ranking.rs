//! Rankings: what is compared, each as settings that the same index is asked with.
//!
//! In: the settings of the run. Out: the same, changed for each ranking.
//! Invariant: the last one is the settings as they are, which is the default and must not fall below any single signal.

use anyhow::{Result, bail};
use config::Settings;
use config::settings::{Formula, Retrieval, Weights};

/// What every other ranking is compared with.
pub(crate) const ALONE: &str = "text";

/// The settings as they are.
pub(crate) const DEFAULT: &str = "default";

/// One way to rank.
pub(crate) struct Ranking {
    pub(crate) name: &'static str,
    pub(crate) settings: Settings,
}

type Change = fn(&mut Retrieval);

/// Signals one after the other, then formulas over all of them.
const RANKINGS: [(&str, Change); 15] = [
    (ALONE, |it| it.formula = Formula::Text),
    ("vector", |it| it.formula = Formula::Vector),
    ("text+vector", |it| no_signals(&mut it.weights)),
    ("+hops", |it| it.weights = Weights { graph: it.weights.graph, ..without(it) }),
    ("+stated", |it| it.weights = Weights { stated: it.weights.stated, ..without(it) }),
    ("+names", |it| it.weights = Weights { names: it.weights.names, ..without(it) }),
    ("+bridge", |it| it.weights = Weights { bridge: it.weights.bridge, ..without(it) }),
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
    *weights = Weights { graph: 0.0, stated: 0.0, names: 0.0, bridge: 0.0, ..*weights };
}

fn without(settings: &Retrieval) -> Weights {
    let mut weights = settings.weights;
    no_signals(&mut weights);
    weights
}

/// Those named, separated by commas; all where nothing is said.
pub(crate) fn chosen(settings: &Settings, only: Option<&str>) -> Result<Vec<Ranking>> {
    let is_chosen = |name: &str| only.is_none_or(|only| only.split(',').any(|it| it == name));
    let mut rankings = Vec::new();
    for (name, change) in RANKINGS.into_iter().filter(|(name, _)| is_chosen(name)) {
        let mut settings = settings.clone();
        change(&mut settings.retrieval);
        rankings.push(Ranking { name, settings });
    }
    if rankings.is_empty() {
        let names = RANKINGS.map(|(name, _)| name).join(", ");
        bail!("no ranking is called so; hint: {names}");
    }
    Ok(rankings)
}
