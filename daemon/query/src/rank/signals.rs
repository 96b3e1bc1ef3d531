//! Signals: the parts of the score besides text and vectors, one row each.
//!
//! In: a candidate. Out: a value in [0, 1].
//! To add a signal, add a row to [`SIGNALS`] and a weight of the same name to
//! `config::settings::Weights`. It then appears in scores, in `components`, in reasons, in the docs
//! and in the rankings that `tests/benches/retrieval.rs` compares. Measure it first: a signal
//! without a gain is not merged.

use config::settings::Weights;
use notes::date::first_day;

use super::candidate::Candidate;

/// Greatest value of `title` for a name that only shares its words with the question: a person who
/// types the title of a note wants that note before another whose title has the same words.
const NOT_THE_SAME: f32 = 0.75;

/// Value of `title` for a passage below a heading that is the question.
const SECTION: f32 = 0.5;

/// Computes the value of a candidate, 0 to 1. Called for each candidate if the weight is not 0. A
/// chunk that the index lacks, as in unit tests, gets 0.
type ValueOf = fn(&Candidate<'_>) -> f32;

/// Returns the signal's weight in the settings.
type WeightOf = fn(&mut Weights) -> &mut f32;

/// A part of the score of the formulas `hybrid`, `rrf` and `minmax`.
pub(crate) struct Signal {
    /// Its name in the components of a hit, and in its setting `retrieval.weights.NAME`.
    pub name: &'static str,
    pub weight: WeightOf,
    /// Whether it depends on the words of the question; such a signal loses weight if these are not
    /// trusted (`recall/trust.rs`).
    pub is_by_words: bool,
    /// Whether its name is a reason that a reader understands; otherwise it is a reason only if
    /// `present/reasons.rs` describes it.
    pub is_reason: bool,
    pub value: ValueOf,
}

pub(crate) const SIGNALS: &[Signal] = &[
    Signal {
        name: "graph",
        weight: |weights| &mut weights.graph,
        is_by_words: true,
        is_reason: false,
        value: |it| it.input.expanded.relations.get(&it.chunk).map_or(0.0, |it| it.hop),
    },
    Signal {
        name: "names",
        weight: |weights| &mut weights.names,
        is_by_words: true,
        is_reason: false,
        value: |it| it.input.expanded.names.get(&it.chunk).map_or(0.0, |it| it.value),
    },
    Signal {
        name: "bridge",
        weight: |weights| &mut weights.bridge,
        is_by_words: true,
        is_reason: false,
        value: |it| it.input.expanded.bridges.get(&it.chunk).map_or(0.0, |it| it.value),
    },
    Signal {
        name: "title",
        weight: |weights| &mut weights.title,
        is_by_words: true,
        is_reason: false,
        value: title,
    },
    Signal {
        name: "document",
        weight: |weights| &mut weights.document,
        is_by_words: false,
        is_reason: false,
        value: |it| it.input.documents.get(&it.chunk).copied().unwrap_or(0.0),
    },
    Signal {
        name: "when",
        weight: |weights| &mut weights.when,
        is_by_words: false,
        is_reason: true,
        value: when,
    },
    Signal {
        name: "speaker",
        weight: |weights| &mut weights.speaker,
        is_by_words: false,
        is_reason: true,
        value: speaker,
    },
    Signal {
        name: "beside",
        weight: |weights| &mut weights.beside,
        is_by_words: false,
        is_reason: true,
        value: |it| it.text_beside(),
    },
];

/// Returns 1 if the question is a name of the document, [`SECTION`] if it is the heading above the
/// passage, else how well title and file name match it.
fn title(it: &Candidate<'_>) -> f32 {
    if it.is_called() {
        return 1.0;
    }
    let best = NOT_THE_SAME * it.is_named_by(it.title()).max(it.is_named_by(it.file_name()));
    let section = it.passage.and_then(|it| it.section.rsplit(" › ").next());
    let is_section = section.is_some_and(|inner| it.input.is_name(inner));
    if is_section { best.max(SECTION) } else { best }
}

/// Returns how much of the passage was said by the people whom the question names.
fn speaker(it: &Candidate<'_>) -> f32 {
    let question = &it.input.plan.question;
    let Some(passage) = it.passage.filter(|_| question.names != 0) else { return 0.0 };
    let speakers = it.input.turns.speakers(passage);
    let is_meant = |speaker: &&&str| {
        let name = speaker.split_whitespace().next().unwrap_or_default().to_lowercase();
        let mut words = question.words.iter().zip(0..u64::BITS);
        words.any(|(word, at)| question.names >> at & 1 == 1 && *word == name)
    };
    let n_meant = speakers.iter().filter(is_meant).count();
    n_meant as f32 / speakers.len().max(1) as f32
}

/// Returns 1 if the passage, its headings or the head of its document name a date that the question
/// asks for, or the document is of such a day; or if the passage states a day on the asked side of
/// an event.
fn when(it: &Candidate<'_>) -> f32 {
    let (when, beside_event) = (&it.input.plan.when, &it.input.recalled.when);
    let (Some(passage), Some(label)) = (it.passage, it.label) else { return 0.0 };
    let stated = || it.input.turns.stated_day(passage);
    if !beside_event.is_empty() && stated().is_some_and(|day| beside_event.holds(&day)) {
        return 1.0;
    }
    if when.is_empty() {
        return 0.0;
    }
    let named = it.input.dates.get(&it.chunk).into_iter().flatten().chain([&label.day]);
    let mut stated = it.input.turns.texts(passage).into_iter().filter_map(first_day);
    let is_asked = |day: &String| when.holds(day);
    f32::from(u8::from(named.into_iter().any(is_asked) || stated.any(|day| is_asked(&day))))
}

/// Returns the name of each signal with the accessor of its weight.
pub fn signals() -> impl Iterator<Item = (&'static str, WeightOf)> {
    SIGNALS.iter().map(|it| (it.name, it.weight))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    const BEGIN: &str = "<!-- generated from `SIGNALS` and `Weights`: begin -->\n";
    const END: &str = "<!-- end -->\n";

    /// Renders the signals as the docs list them; the description is the text after the colon in
    /// the comment of the weight.
    fn table() -> String {
        let (comments, mut weights) = (config::reference::comments(), Weights::default());
        let mut table = "\n| signal | is | weight |\n|---|---|---|\n".to_string();
        for (name, weight) in signals() {
            let comment = comments.get(&format!("retrieval.weights.{name}")).expect("a setting");
            let is = comment.split_once(": ").map_or(comment.as_str(), |(_, is)| is);
            let is = is.trim_end_matches('.').replace('\n', " ");
            table += &format!("| `{name}` | {is} | {} |\n", weight(&mut weights));
        }
        table + "\n"
    }

    #[test]
    fn the_committed_reference_is_current() {
        let path =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/src/explanation/ranking.md");
        let page = std::fs::read_to_string(&path).expect("the page");
        let (before, rest) = page.split_once(BEGIN).expect("where it begins");
        let (committed, after) = rest.split_once(END).expect("where it ends");
        if std::env::var_os("KG_REGENERATE").is_some() {
            let page = [before, BEGIN, &table(), END, after].concat();
            std::fs::write(&path, page).expect("the page is written");
        } else {
            let hint = "hint: run the tests with `KG_REGENERATE=1`";
            assert!(committed == table(), "`docs/src/explanation/ranking.md` is old\n{hint}");
        }
    }

    #[test]
    fn each_signal_has_a_weight_of_its_name() {
        for (name, weight) in signals() {
            let mut weights = Weights::default();
            *weight(&mut weights) = 0.987;
            let text = serde_json::to_value(weights).expect("numbers");
            assert!((text[name].as_f64().expect(name) - 0.987).abs() < 1e-6, "{name}");
        }
    }
}
