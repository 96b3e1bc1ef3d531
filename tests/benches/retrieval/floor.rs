//! Floor: how often an answer is reported as irrelevant to the question, both if the folder has an
//! answer and if it cannot have one.
//!
//! From each set the documents that answer one half of its questions are removed, and in a second
//! folder those of the other half. Questions are of three kinds: those whose answers were removed
//! ("near", because they are on the folder's subject), those of sets from other fields ("off"), and
//! those that are still answered ("own"). Every question belongs to the dev part, to which
//! relevance is fitted, or to the report part.
//! In: a set's folders. Out: for each tool and set the shares of own questions that are lost and of
//! others that are found, with 95 % intervals (Wilson); at the end the coefficients of
//! `daemon/query/src/relevance.rs` that fit the dev part best, and for both parts what is found if
//! at most a given share of own questions is lost.
//! Invariant: nothing is random, so the same folders give the same figures.

#![allow(clippy::print_stdout, reason = "a bench prints its table")]

use std::collections::BTreeMap;
use std::fmt;

use anyhow::{Result, anyhow};
use config::Settings;
use proto::tool::core::HybridQuery;
use proto::tool::notes::SearchNotes;
use query::memory::search::{FactQuery, nodes};
use query::{QueryContext, Signals, answer, relevance_signals, search_notes};
use server::project::Project;
use xxhash_rust::xxh3::xxh3_64;

use super::set::{Query, Set};

/// Most questions asked from one other set.
const QUESTIONS: usize = 40;

/// Longest question that a tool accepts, characters.
const MAX_QUESTION: usize = 1_000;

/// Rounds of fitting coefficients to the best hit of each answer, as chosen by the coefficients of
/// the round before; and Newton steps per round.
const ROUNDS: usize = 6;
const STEPS: usize = 15;

/// Strength of the regularization of all coefficients but the first.
const SMALL: f64 = 0.3;

/// Shares of lost own questions for which the found others are printed.
const LOST: [f64; 4] = [0.02, 0.05, 0.1, 0.2];

/// The relation of a question to a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Own,
    Near,
    Off,
}

/// A question that was asked.
struct Asked {
    set: String,
    kind: Kind,
    is_dev: bool,
    hits: Vec<Signals>,
}

/// The results of all folders.
#[derive(Default)]
pub(crate) struct Floor {
    asked: Vec<Asked>,
    /// By tool, set and kind: answers reported as irrelevant, and all.
    shares: BTreeMap<(&'static str, String, Kind), Share>,
}

/// A share with its interval.
#[derive(Debug, Clone, Copy, Default)]
struct Share {
    n: usize,
    of: usize,
}

impl Share {
    fn add(&mut self, counts: bool) {
        self.n += usize::from(counts);
        self.of += 1;
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const Z: f64 = 1.96;
        let (n, of) = (self.n as f64, (self.of as f64).max(1.0));
        let share = n / of;
        let middle = (share + Z * Z / (2.0 * of)) / (1.0 + Z * Z / of);
        let half = Z * (share * (1.0 - share) / of + Z * Z / (4.0 * of * of)).sqrt();
        let half = half / (1.0 + Z * Z / of);
        let (low, high) = ((middle - half).max(0.0), (middle + half).min(1.0));
        write!(f, "{share:.3} [{low:.2}, {high:.2}] of {}", self.of)
    }
}

impl Floor {
    /// Asks a folder of documents its own questions, those whose answers are `gone`, and those of
    /// other fields.
    pub(crate) fn ask(
        &mut self,
        project: &Project,
        settings: &Settings,
        [set, base]: [&Set; 2],
        gone: &[Query],
        others: &[Set],
    ) -> Result<()> {
        let snapshot = project.snapshot()?;
        let mut context = project.context(&snapshot);
        context.settings = settings;
        for (kind, query) in questions(set, base, gone, others) {
            let text: String = query.text.chars().take(MAX_QUESTION).collect();
            let request = HybridQuery { q: text.clone(), ..HybridQuery::default() };
            let failed = |error: proto::error::ErrorView| anyhow!("{text}: {}", error.message);
            let hits = relevance_signals(&context, &request).map_err(failed)?;
            let is_dev = xxh3_64(query.text.as_bytes()).is_multiple_of(2);
            self.asked.push(Asked { set: base.name.clone(), kind, is_dev, hits });
            let reply = answer(&context, &request).map_err(failed)?;
            self.note("hybrid_query, ask, search", base, kind, is_dev, reply.nothing_relevant);
            let request = SearchNotes { query: text.clone(), ..SearchNotes::default() };
            let reply = search_notes(&context, &request, None).map_err(failed)?;
            self.note("search_notes", base, kind, is_dev, reply.nothing_relevant);
        }
        Ok(())
    }

    /// Does the same for a folder of memory.
    pub(crate) fn ask_memory(
        &mut self,
        context: &QueryContext<'_>,
        [set, base]: [&Set; 2],
        gone: &[Query],
        others: &[Set],
    ) -> Result<()> {
        for (kind, query) in questions(set, base, gone, others) {
            let asked = FactQuery { question: query.text.clone(), ..FactQuery::default() };
            let found = nodes(context, &asked, 0, 10);
            let found = found.map_err(|error| anyhow!("{}: {}", query.text, error.message))?;
            let is_nothing = found.iter().all(|it| it.is_weak);
            let is_dev = xxh3_64(query.text.as_bytes()).is_multiple_of(2);
            self.note("search_nodes", base, kind, is_dev, is_nothing);
        }
        Ok(())
    }

    fn note(&mut self, tool: &'static str, base: &Set, kind: Kind, is_dev: bool, nothing: bool) {
        if !is_dev {
            self.shares.entry((tool, base.name.clone(), kind)).or_default().add(nothing);
        }
    }

    /// Prints all results.
    pub(crate) fn print(&self) {
        println!("report part, at the settings' floor: own lost | near found | off found");
        for ((tool, set, kind), own) in &self.shares {
            if *kind == Kind::Own {
                let of = |kind| self.shares.get(&(*tool, set.clone(), kind)).copied();
                let [near, off] = [Kind::Near, Kind::Off].map(|kind| of(kind).unwrap_or_default());
                println!("{tool}: {set}: {own} | {near} | {off}");
            }
        }
        for (name, with_vectors) in [("words alone", false), ("words and vectors", true)] {
            let weights = fitted(&self.asked, with_vectors);
            let [base, words, near, lacking] = weights;
            println!(
                "{name}: base {base:.2}, words {words:.2}, near {near:.2}, lacks_name {:.2}",
                -lacking
            );
            for (part, is_dev) in [("dev", true), ("report", false)] {
                self.print_curve(part, is_dev, weights, with_vectors);
            }
        }
    }

    /// Prints what is found if at most a share of own questions is lost; sets have equal weight.
    fn print_curve(&self, part: &str, is_dev: bool, weights: [f64; 4], with_vectors: bool) {
        let scored: Vec<(&str, Kind, f64)> = (self.asked.iter())
            .filter(|it| it.is_dev == is_dev)
            .map(|it| (it.set.as_str(), it.kind, best(&it.hits, weights, with_vectors).1))
            .collect();
        let mut sets: Vec<&str> = scored.iter().map(|it| it.0).collect();
        sets.sort_unstable();
        sets.dedup();
        let below = |kind: Kind, floor: f64| {
            let share = |set: &&str| {
                let of = || scored.iter().filter(|it| it.0 == *set && it.1 == kind);
                of().filter(|it| it.2 < floor).count() as f64 / of().count().max(1) as f64
            };
            sets.iter().map(share).sum::<f64>() / sets.len().max(1) as f64
        };
        let mut floors: Vec<f64> =
            scored.iter().filter(|it| it.1 == Kind::Own).map(|it| it.2).collect();
        floors.sort_by(f64::total_cmp);
        for most in LOST {
            let is_allowed = |floor: &&f64| below(Kind::Own, **floor) <= most;
            let floor = floors.iter().rev().find(is_allowed).copied().unwrap_or_default();
            println!(
                "  {part}, at most {most:.2} lost: floor {floor:.3}, near found {:.3}, off found {:.3}",
                below(Kind::Near, floor),
                below(Kind::Off, floor)
            );
        }
    }
}

fn questions<'a>(
    set: &'a Set,
    base: &'a Set,
    gone: &'a [Query],
    others: &'a [Set],
) -> impl Iterator<Item = (Kind, &'a Query)> {
    let strange = others.iter().filter(|other| is_strange(&base.name, &other.name));
    let own = set.queries.iter().map(|it| (Kind::Own, it));
    let near = gone.iter().map(|it| (Kind::Near, it));
    let off = strange.flat_map(|it| it.queries.iter().take(QUESTIONS)).map(|it| (Kind::Off, it));
    own.chain(near).chain(off)
}

/// Returns whether the sets are of different fields. Both of Wikipedia's sets may answer each
/// other's questions, and so may those about software. Titles are not questions.
fn is_strange(set: &str, other: &str) -> bool {
    let field = |name: &str| match name {
        "musique100" | "hotpotqa100" => "encyclopedia",
        "scifact" => "medicine",
        "cranfield" => "aeronautics",
        _ => "software",
    };
    field(set) != field(other) && !other.ends_with("_related") && other != "titles"
}

/// Returns the signals as numbers.
fn row(signals: &Signals, with_vectors: bool) -> [f64; 4] {
    let floor = Settings::default().retrieval.floor;
    let near = signals.near.filter(|_| with_vectors).map_or(0.0, |near| near - floor.vector);
    [1.0, f64::from(signals.words), f64::from(near), f64::from(u8::from(signals.lacks_name))]
}

fn probability(weights: [f64; 4], row: [f64; 4]) -> f64 {
    let logit: f64 = weights.iter().zip(row).map(|(weight, value)| weight * value).sum();
    1.0 / (1.0 + (-logit).exp())
}

/// Returns the most relevant hit, and its relevance.
fn best(hits: &[Signals], weights: [f64; 4], with_vectors: bool) -> ([f64; 4], f64) {
    let rows = hits.iter().map(|it| row(it, with_vectors));
    let scored = rows.map(|row| (row, probability(weights, row)));
    scored.max_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or(([1.0, 0.0, 0.0, 0.0], 0.0))
}

/// Fits a logistic regression to the best hit of each answer in the dev part; sets have equal
/// weight, and within each set the questions with an answer weigh as much as those without.
fn fitted(asked: &[Asked], with_vectors: bool) -> [f64; 4] {
    let dev: Vec<&Asked> = asked.iter().filter(|it| it.is_dev).collect();
    let mut sizes: BTreeMap<(&str, Kind), f64> = BTreeMap::new();
    dev.iter().for_each(|it| *sizes.entry((&it.set, it.kind)).or_default() += 1.0);
    let share = |it: &Asked| {
        let of_kind = if it.kind == Kind::Own { 100.0 } else { 50.0 };
        of_kind / sizes.get(&(it.set.as_str(), it.kind)).copied().unwrap_or(1.0)
    };
    // Start with the words alone, before anything is fitted.
    let mut weights = [0.0, 1.0, 0.0, 0.0];
    for _ in 0..ROUNDS {
        let rows: Vec<([f64; 4], f64, f64)> = (dev.iter())
            .map(|it| {
                let is_own = if it.kind == Kind::Own { 1.0 } else { 0.0 };
                (best(&it.hits, weights, with_vectors).0, is_own, share(it))
            })
            .collect();
        weights = regression(&rows);
    }
    weights
}

/// Newton's method.
fn regression(rows: &[([f64; 4], f64, f64)]) -> [f64; 4] {
    let mut weights = [0.0; 4];
    for _ in 0..STEPS {
        let mut slope = [0.0; 4];
        let mut bend = [[0.0; 4]; 4];
        for at in 0..4 {
            let small = if at == 0 { 0.0 } else { SMALL };
            slope[at] = -small * weights[at];
            bend[at][at] = small + 1e-6;
        }
        for (row, is_own, share) in rows {
            let p = probability(weights, *row);
            for at in 0..4 {
                slope[at] += share * (is_own - p) * row[at];
                for other in 0..4 {
                    bend[at][other] += share * p * (1.0 - p) * row[at] * row[other];
                }
            }
        }
        let step = solved(bend, slope);
        weights.iter_mut().zip(step).for_each(|(weight, by)| *weight += by);
    }
    weights
}

/// Solves four linear equations with a positive definite matrix by elimination.
fn solved(mut left: [[f64; 4]; 4], mut right: [f64; 4]) -> [f64; 4] {
    for at in 0..4 {
        for other in (0..4).filter(|other| *other != at) {
            let factor = left[other][at] / left[at][at];
            let from = left[at];
            left[other].iter_mut().zip(from).for_each(|(value, by)| *value -= factor * by);
            right[other] -= factor * right[at];
        }
    }
    std::array::from_fn(|at| right[at] / left[at][at])
}
