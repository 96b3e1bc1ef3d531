//! Weights: learns the weights of the ranking's signals from dumps, and compares them with the
//! current ones.
//!
//! `cargo bench -p tests --bench weights -- DUMP...`: files of `--bench retrieval -- DATA SET...
//! --dump FILE --hits 30`.
//! The score is a sum with nonnegative weights, so it stays monotonic in every signal and its parts
//! can be shown. One weight after another is set to the value of a grid with the highest mean
//! nDCG@10, with equal weight for every set, until none changes. For each set, weights are learned
//! on all others and compared with the current ones on it (paired bootstrap); kinds of questions
//! count as sets, and those for reporting are left out.

#![allow(clippy::print_stdout, reason = "a bench prints its table")]

mod support;

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail};
use config::settings::Weights;

/// Candidate values of a weight, and the least gain for a change.
const GRID: [f64; 11] = [0.0, 0.03, 0.06, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.7, 1.0];
const LEAST_GAIN: f64 = 2e-4;

/// Rounds over all weights, documents that count, and bootstrap draws.
const ROUNDS: usize = 3;
const FIRST: usize = 10;
const DRAWS: usize = 1_000;

/// A candidate: its document, the document's judgment, the value of text with vectors, and of each
/// signal.
struct Row {
    document: String,
    gain: f64,
    plain: f64,
    signals: Vec<f64>,
}

/// The candidates of a question, and the number of documents that answer it.
#[derive(Default)]
struct Question {
    rows: Vec<Row>,
    n_judged: usize,
}

type Sets = BTreeMap<String, Vec<Question>>;

fn main() -> Result<()> {
    let names: Vec<&str> = query::signals().map(|(name, _)| name).collect();
    let mut now = Weights::default();
    let present: Vec<f64> =
        query::signals().map(|(_, weight)| f64::from(*weight(&mut now))).collect();
    let mut sets = Sets::new();
    for path in support::arguments() {
        read(&std::fs::read_to_string(&path).context(path)?, &names, &mut sets)?;
    }
    if sets.len() < 2 {
        bail!("give dumps of two sets or more");
    }
    println!("{:<22} {:>4}  present  learned on the others", "nDCG@10", "n");
    for (name, questions) in &sets {
        let others: Vec<&[Question]> =
            sets.iter().filter(|(it, _)| *it != name).map(|(_, it)| it.as_slice()).collect();
        let learned = learn(&others, &present);
        let (before, after) = (gains(questions, &present), gains(questions, &learned));
        let by: Vec<f64> = after.iter().zip(&before).map(|(a, b)| a - b).collect();
        let (low, high) = interval(&by);
        println!(
            "{name:<22} {:>4}  {:.4}   {:.4} {:+.4} [{low:+.4}, {high:+.4}]",
            questions.len(),
            mean(&before),
            mean(&after),
            mean(&by)
        );
    }
    let all: Vec<&[Question]> = sets.values().map(Vec::as_slice).collect();
    let learned = learn(&all, &present);
    let shown = |weights: &[f64]| {
        let each = names.iter().zip(weights).map(|(name, weight)| format!("{name} {weight}"));
        format!(
            "{} (mean of the sets {:.4})",
            each.collect::<Vec<_>>().join(", "),
            fit(&all, weights)
        )
    };
    println!("present: {}\nlearned on all: {}", shown(&present), shown(&learned));
    Ok(())
}

/// Adds the lines of a dump.
fn read(text: &str, names: &[&str], sets: &mut Sets) -> Result<()> {
    let mut last = String::new();
    for line in text.lines() {
        let cells: Vec<&str> = line.split('\t').collect();
        let [set, kind, id, n_judged, document, gain, components @ ..] = cells.as_slice() else {
            bail!("`{line}` is no line of a dump");
        };
        if kind.starts_with("reporting") {
            continue;
        }
        let values: BTreeMap<&str, f64> = components
            .iter()
            .filter_map(|it| it.split_once('='))
            .map(|(name, value)| Ok((name, value.parse()?)))
            .collect::<Result<_>>()?;
        let of = |name: &str| values.get(name).copied().unwrap_or_default();
        let row = Row {
            document: document.to_string(),
            gain: gain.parse()?,
            plain: of("text") + of("vector"),
            signals: names.iter().map(|name| of(name)).collect(),
        };
        let questions = sets.entry(format!("{set} {kind}").trim().to_string()).or_default();
        let key = format!("{set} {id}");
        if key != last || questions.is_empty() {
            questions.push(Question { rows: Vec::new(), n_judged: n_judged.parse()? });
            last = key;
        }
        questions.last_mut().context("a question")?.rows.push(row);
    }
    Ok(())
}

fn learn(sets: &[&[Question]], present: &[f64]) -> Vec<f64> {
    let mut weights = present.to_vec();
    let mut best = fit(sets, &weights);
    for _ in 0..ROUNDS {
        let before = best;
        for at in 0..weights.len() {
            for value in GRID {
                let mut other = weights.clone();
                other[at] = value;
                let found = fit(sets, &other);
                if found > best + LEAST_GAIN {
                    (best, weights) = (found, other);
                }
            }
        }
        if best <= before {
            break;
        }
    }
    weights
}

/// Returns the mean of the sets' means.
fn fit(sets: &[&[Question]], weights: &[f64]) -> f64 {
    mean(&sets.iter().map(|questions| mean(&gains(questions, weights))).collect::<Vec<_>>())
}

/// Returns the nDCG@10 of each question.
fn gains(questions: &[Question], weights: &[f64]) -> Vec<f64> {
    let gain = |question: &Question| {
        let score = |row: &Row| {
            row.plain + row.signals.iter().zip(weights).map(|(a, b)| a * b).sum::<f64>()
        };
        let mut scored: Vec<(f64, &Row)> =
            question.rows.iter().map(|row| (score(row), row)).collect();
        scored.sort_by(|a, b| b.0.total_cmp(&a.0));
        let mut seen: Vec<(&str, f64)> = Vec::new();
        for (_, row) in scored {
            if !seen.iter().any(|(known, _)| *known == row.document) {
                seen.push((&row.document, row.gain));
            }
        }
        let discounted = |gains: &mut dyn Iterator<Item = f64>| {
            let first = gains.take(FIRST).enumerate();
            first.map(|(at, gain)| gain / ((at + 2) as f64).log2()).sum::<f64>()
        };
        // A document that is not a candidate counts as one with the least gain.
        let mut ideal: Vec<f64> = seen.iter().map(|it| it.1).filter(|gain| *gain > 0.0).collect();
        ideal.resize(ideal.len().max(question.n_judged), 1.0);
        ideal.sort_by(|a, b| b.total_cmp(a));
        discounted(&mut seen.iter().map(|it| it.1)) / discounted(&mut ideal.into_iter()).max(1e-9)
    };
    questions.iter().map(gain).collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// Returns the middle 95 % of the means of bootstrap samples, from a generator with a fixed seed.
fn interval(values: &[f64]) -> (f64, f64) {
    let mut dice = 0x2545_f491_4f6c_dd1d_u64;
    let mut draw = || {
        dice ^= dice << 13;
        dice ^= dice >> 7;
        dice ^= dice << 17;
        values[(dice >> 33) as usize % values.len()]
    };
    let mut means: Vec<f64> =
        (0..DRAWS).map(|_| mean(&values.iter().map(|_| draw()).collect::<Vec<_>>())).collect();
    means.sort_by(f64::total_cmp);
    (means[DRAWS / 40], means[DRAWS - 1 - DRAWS / 40])
}
