//! Typing: trains the classifier of names by kind (`daemon/extract/src/recognize/typing/`).
//!
//! In: the file of names (`names.rs`), and a larger model's probabilities for each (`teacher.py`). Out: the weights;
//! the same files give the same weights.
//! Annotations give a set of possible kinds of a name, often just one. The larger model decides among these, and among
//! all kinds if the name is not annotated.

pub(crate) mod names;

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, Result, ensure};
use extract::net::{Shape, unit_vector, vectors};
use extract::recognize::typing::{KINDS, N_FEATURES, N_INPUTS};
use serde_json::Value;

use crate::Options;
use crate::marked::{Kinds, SETS};
use crate::net::{Net, Random, Rates, Seen, floats, frequent, rows_of};

/// Every kind, and one class for text that is no name.
const N_CLASSES: usize = KINDS.len() + 1;
/// The set number of texts without annotations, after those of [`SETS`].
const PILE: usize = SETS.len();
/// One document in this many is held out, for reports and calibration.
const EVERY: usize = 10;

/// A name that kgd found.
struct Example {
    features: Vec<u32>,
    texts: Vec<Arc<Vec<f32>>>,
    /// Possible kinds; 0 if nothing is annotated.
    kinds: Kinds,
    wanted: Vec<f32>,
    weight: f32,
    set: usize,
    document: usize,
}

impl Example {
    fn seen(&self) -> Seen<'_> {
        Seen { features: &self.features, texts: &self.texts }
    }

    /// Returns its kind, if that is certain and it is a name.
    fn known(&self) -> Option<usize> {
        let kind = self.kinds.trailing_zeros() as usize;
        (self.kinds.count_ones() == 1 && kind < KINDS.len()).then_some(kind)
    }
}

/// Trains, and writes the weights to `out`.
pub(crate) fn train(names: &Path, judgements: &Path, out: &Path, options: &Options) -> Result<()> {
    let mut weights: Vec<f32> = Vec::new();
    for set in SETS.iter().map(|it| it.name).chain(["pile"]) {
        weights.push(options.number(set, 1.0)?);
    }
    let mut examples = read(names, judgements, &weights)?;
    let seen = examples.iter().map(|it| it.features.as_slice());
    let kept = frequent(N_FEATURES, seen, options.number("least", 8.0)? as u32);
    for example in &mut examples {
        example.features.retain(|it| kept.get(*it as usize).copied().unwrap_or(false));
    }
    let part = options.number("part", 0.0)? as usize;
    let (held, mut trained): (Vec<Example>, Vec<Example>) =
        examples.into_iter().partition(|it| it.set != PILE && it.document % EVERY == part);
    let n_rows = rows_of(&kept).len();
    println!("{} names, {} held out, {n_rows} features", trained.len(), held.len());
    let hidden = options.number("hidden", 64.0)? as usize;
    let shape =
        Shape { n_features: N_FEATURES, n_rows, n_inputs: N_INPUTS, hidden, outputs: N_CLASSES };
    let rates = Rates {
        step: options.number("step", 0.03)?,
        text_step: options.number("text_step", 0.02)?,
        drop_features: options.number("drop_features", 0.3)?,
        drop_hidden: options.number("drop_hidden", 0.2)?,
    };
    let mut net = Net::new(shape, 0.0);
    let mut random = Random(17);
    for epoch in 1..=options.number("epochs", 8.0)? as usize {
        random.shuffle(&mut trained);
        for example in &trained {
            net.learn(example.seen(), rates, &mut random, |outputs| {
                let likely = softmax(outputs, 1.0);
                let errors = likely.iter().zip(&example.wanted);
                errors.map(|(is, wanted)| (is - wanted) * example.weight).collect()
            });
        }
        println!("epoch {epoch}");
        report(&net, &held, 1.0);
    }
    let temperature = temperature_of(&net, &held);
    println!("at temperature {temperature}");
    report(&net, &held, temperature);
    let mut file = b"KGT1".to_vec();
    for number in [hidden, n_rows] {
        file.extend(u32::try_from(number).context("a small number")?.to_le_bytes());
    }
    floats(&mut file, &[temperature]);
    net.write(&kept, &mut file)?;
    println!("{} bytes to {}", file.len(), out.display());
    std::fs::write(out, &file).with_context(|| out.display().to_string())
}

fn read(names: &Path, judgements: &Path, weights: &[f32]) -> Result<Vec<Example>> {
    let open =
        |path: &Path| std::fs::read_to_string(path).with_context(|| path.display().to_string());
    let (names, judgements) = (open(names)?, open(judgements)?);
    ensure!(names.lines().count() == judgements.lines().count(), "what is said is of other names");
    let mut known: HashMap<String, Arc<Vec<f32>>> = HashMap::new();
    let mut examples = Vec::new();
    for (line, judgement) in names.lines().zip(judgements.lines()) {
        let row: Value = serde_json::from_str(line)?;
        let number = |key: &str| row[key].as_u64().unwrap_or(0) as usize;
        let kinds = number("kinds") as Kinds;
        let (set, document) = (number("set"), number("doc"));
        let is_open = |at: usize| kinds == 0 || kinds >> at & 1 == 1;
        let cells = judgement.split(' ').enumerate();
        let wanted = cells.map(|(at, cell)| match is_open(at) {
            true => cell.parse::<f32>().unwrap_or(0.0) + 1e-3,
            false => 0.0,
        });
        let wanted: Vec<f32> = wanted.collect();
        let sum: f32 = wanted.iter().sum();
        let texts = row["texts"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let texts = texts.map(|text| {
            let made = |text: &String| Arc::new(unit_vector(vectors(), text));
            Arc::clone(known.entry(text.to_string()).or_insert_with_key(made))
        });
        let features = row["features"].as_array().into_iter().flatten();
        examples.push(Example {
            features: features.filter_map(|it| Some(it.as_u64()? as u32)).collect(),
            texts: texts.collect(),
            kinds,
            wanted: wanted.iter().map(|it| it / sum).collect(),
            weight: row["weight"].as_f64().unwrap_or(1.0) as f32
                * weights.get(set).copied().unwrap_or(1.0),
            set,
            document,
        });
    }
    Ok(examples)
}

fn softmax(outputs: &[f32], temperature: f32) -> Vec<f32> {
    let most = outputs.iter().fold(f32::MIN, |most, it| most.max(*it));
    let powers: Vec<f32> = outputs.iter().map(|it| ((it - most) / temperature).exp()).collect();
    let sum: f32 = powers.iter().sum();
    powers.into_iter().map(|it| it / sum).collect()
}

/// Returns the probability of each kind, given that it is a name.
fn judged(net: &Net, example: &Example, temperature: f32) -> Vec<f32> {
    let outputs = net.outputs(example.seen());
    softmax(outputs.get(..KINDS.len()).unwrap_or_default(), temperature)
}

/// Returns the temperature that maximizes the likelihood of the held-out names; each set has the same weight.
fn temperature_of(net: &Net, held: &[Example]) -> f32 {
    let loss = |temperature: f32| -> f32 {
        let mut of_sets: HashMap<usize, (f32, f32)> = HashMap::new();
        for example in held {
            let Some(kind) = example.known() else { continue };
            let likely = judged(net, example, temperature).get(kind).copied().unwrap_or(0.0);
            let (sum, n) = of_sets.entry(example.set).or_default();
            *sum -= likely.max(1e-6).ln();
            *n += 1.0;
        }
        of_sets.values().map(|(sum, n)| sum / n).sum()
    };
    let temperatures = (5..40).map(|it| it as f32 / 10.0);
    temperatures.min_by(|a, b| loss(*a).total_cmp(&loss(*b))).unwrap_or(1.0)
}

/// Prints for each set the share of names whose likeliest kind is right, for all names and for those with high
/// probability.
fn report(net: &Net, held: &[Example], temperature: f32) {
    for (number, set) in SETS.iter().enumerate() {
        let of_set = held.iter().filter(|it| it.set == number);
        let judged: Vec<(f32, bool)> = of_set
            .filter_map(|it| {
                let kind = it.known()?;
                let likely = judged(net, it, temperature);
                let best = likely.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1))?;
                Some((*best.1, best.0 == kind))
            })
            .collect();
        let mut line = format!("  {:14}", set.name);
        for least in [0.0, 0.5, 0.7, 0.8, 0.9] {
            let sure: Vec<bool> = judged.iter().filter(|it| it.0 >= least).map(|it| it.1).collect();
            let right = sure.iter().filter(|it| **it).count() as f32;
            line += &format!(" {:.3}/{:4}", right / sure.len().max(1) as f32, sure.len());
        }
        println!("{line}");
    }
}
