//! Trains the classifier of relations (`daemon/extract/src/relate/learned`).
//!
//! `cargo run --release -p training -- DATA CORPUS [OUT] [--KEY=NUMBER...]`: reads the training sets of `DATA` and the
//! tuning half of `CORPUS` (`corpus/real`) as the daemon reads documents, trains, prints what the weights find in
//! documents that were kept back, and writes them to `OUT`. The same data and options give the same file. Options are
//! `hidden`, `epochs`, `step`, `text_step`, `drop_features`, `drop_hidden`, `least` (a feature's least number of
//! occurrences) and the weight of each set, such as `fewrel=0`.
//!
//! `… -- names DATA CORPUS NAMES FOLDER...` writes the names that kgd finds in the marked texts of `DATA` and `CORPUS`
//! and in the Markdown and module documentation below the folders; `… -- types NAMES SAID OUT [--KEY=NUMBER...]` trains
//! what tells their kinds (`daemon/extract/src/recognize/typing/`) from them and from what `teacher.py` says of them.
//!
//! Of `DATA/redocred`, documents 0 to 319 are trained on, 320 to 399 choose when to stop and calibrate, and 400 to 499
//! are only reported on.

#![allow(clippy::print_stdout, reason = "a trainer prints its progress")]

mod labels;
mod marked;
mod net;
mod pairs;
mod report;
mod sets;
mod typing;

use std::path::Path;

use anyhow::{Context as _, Result};
use extract::net::Shape;
use extract::relate::learned::{Gate, N_FEATURES, N_INPUTS};

use labels::PREDICATES;
use net::{Net, Random, Rates, floats, frequent, rows_of};
use pairs::{Example, Reader};
use report::Report;
use sets::Sample;

/// Documents of Re-DocRED that are used for training, and all documents before those used for the report.
const TRAINED: usize = 320;
const KNOWN: usize = 400;
/// A kind of pair is classified if at least this percentage and this number of its pairs are related.
const GATE: (f32, usize) = (2.0, 3);

struct Options(Vec<String>);

impl Options {
    fn number(&self, key: &str, default: f32) -> Result<f32> {
        let prefix = format!("--{key}=");
        let value = self.0.iter().find_map(|it| it.strip_prefix(&prefix));
        value.map_or(Ok(default), |it| it.parse().with_context(|| format!("`{key}` is no number")))
    }
}

fn main() -> Result<()> {
    let (options, places): (Vec<String>, Vec<String>) =
        std::env::args().skip(1).partition(|it| it.starts_with("--"));
    let options = Options(options);
    match places.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["names", data, corpus, out, folders @ ..] => {
            let folders: Vec<&Path> = folders.iter().map(Path::new).collect();
            return typing::names::write(
                Path::new(data),
                Path::new(corpus),
                &folders,
                Path::new(out),
            );
        }
        ["types", names, judgements, out] => {
            return typing::train(
                Path::new(names),
                Path::new(judgements),
                Path::new(out),
                &options,
            );
        }
        _ => {}
    }
    let (data, corpus, out) = match places.as_slice() {
        [data, corpus] => (Path::new(data), Path::new(corpus), None),
        [data, corpus, out] => (Path::new(data), Path::new(corpus), Some(Path::new(out))),
        _ => anyhow::bail!(
            "what? hint: training DATA CORPUS [OUT] [--KEY=NUMBER...], training names DATA CORPUS NAMES FOLDER..., or \
             training types NAMES SAID OUT"
        ),
    };
    let mut redocred = sets::redocred(&data.join("redocred/dev.jsonl"))?;
    let reported = redocred.split_off(KNOWN);
    let chosen = redocred.split_off(TRAINED);
    let mut samples = redocred;
    let train = data.join("train");
    type Read = fn(&Path) -> Result<Vec<Sample>>;
    let more: [(&str, &Path, Read); 7] = [
        ("docred", &train.join("docred_train_part/train_part.json.xz"), sets::docred),
        ("fewrel", &train.join("fewrel/val_wiki.json.xz"), sets::fewrel),
        ("knowledgenet", &train.join("knowledgenet/facts.jsonl.xz"), sets::knowledgenet),
        ("text2kg", &train.join("text2kg_wikidata_tekgen/train.jsonl.xz"), sets::text2kg),
        ("stackoverflow", &train.join("stackoverflow_ner_train/train.txt.xz"), sets::stackoverflow),
        ("scirex", &train.join("scirex_train/train.jsonl.xz"), sets::scirex),
        ("real", corpus, sets::real),
    ];
    for (name, path, read) in more {
        let weight = options.number(name, 1.0)?;
        if weight > 0.0 {
            samples.extend(read(path)?.into_iter().map(|it| Sample { weight, ..it }));
        }
    }

    let mut reader = Reader::new();
    let mut trained = reader.examples(&samples)?;
    let gate = gate_of(&trained);
    let n_all = trained.len();
    trained.retain(|it| it.kind.is_some_and(|kind| gate.is_open(kind)));
    let seen = trained.iter().map(|it| it.features.as_slice());
    let kept = frequent(N_FEATURES, seen, options.number("least", 24.0)? as u32);
    trained.iter_mut().for_each(|it| it.keep(&kept));
    let n_kept = kept.iter().filter(|it| **it).count();
    println!("{} samples, {} of {n_all} pairs, {n_kept} features", samples.len(), trained.len());
    let mut held = |samples: &[Sample]| -> Result<Vec<Example>> {
        let mut held = reader.examples(samples)?;
        held.retain(|it| it.kind.is_some_and(|kind| gate.is_open(kind)));
        held.iter_mut().for_each(|it| it.keep(&kept));
        Ok(held)
    };
    let (chosen_pairs, reported_pairs) = (held(&chosen)?, held(&reported)?);

    let rates = Rates {
        step: options.number("step", 0.03)?,
        text_step: options.number("text_step", 0.02)?,
        drop_features: options.number("drop_features", 0.4)?,
        drop_hidden: options.number("drop_hidden", 0.3)?,
    };
    let (hidden, outputs) = (options.number("hidden", 48.0)? as usize, PREDICATES.len());
    let shape = Shape { n_features: N_FEATURES, n_rows: 0, n_inputs: N_INPUTS, hidden, outputs };
    // Most pairs are unrelated, so outputs start low.
    let mut net = Net::new(shape, -3.0);
    let mut random = Random(11);
    for epoch in 1..=options.number("epochs", 4.0)? as usize {
        random.shuffle(&mut trained);
        for example in &trained {
            net.learn(example.seen(), rates, &mut random, |outputs| example.errors(outputs));
        }
        println!("epoch {epoch}");
        Report::of(&net, &chosen, &chosen_pairs).print("  chosen  ");
    }
    let calibration = Report::of(&net, &chosen, &chosen_pairs).calibration();
    Report::of(&net, &reported, &reported_pairs).print("  reported");
    println!("calibration: slope {:.3}, shift {:.3}", calibration.0, calibration.1);
    if let Some(out) = out {
        let file = file_of(&net, (hidden, &gate), calibration, &kept)?;
        std::fs::write(out, &file).with_context(|| out.display().to_string())?;
        println!("{} bytes to {}", file.len(), out.display());
    }
    Ok(())
}

/// Returns the kinds of pairs that are related often enough, in samples where all relations are annotated.
fn gate_of(examples: &[Example]) -> Gate {
    let mut counts = vec![(0usize, 0usize); Gate::BYTES * 8];
    for example in examples.iter().filter(|it| it.is_complete) {
        if let Some((all, related)) = example.kind.and_then(|kind| counts.get_mut(kind)) {
            *all += 1;
            *related += usize::from(!example.labels.is_empty());
        }
    }
    let mut gate = Gate::closed();
    for (kind, (all, related)) in counts.into_iter().enumerate() {
        if related >= GATE.1 && related as f32 * 100.0 >= GATE.0 * all as f32 {
            gate.open(kind);
        }
    }
    gate
}

/// Returns the file's bytes, in the form that `extract`'s `relate/learned/net.rs` describes.
fn file_of(
    net: &Net,
    (hidden, gate): (usize, &Gate),
    calibration: (f32, f32),
    kept: &[bool],
) -> Result<Vec<u8>> {
    let mut out = b"KGR1".to_vec();
    for number in [hidden, PREDICATES.len(), rows_of(kept).len()] {
        out.extend(u32::try_from(number).context("a small number")?.to_le_bytes());
    }
    PREDICATES.iter().for_each(|it| out.extend(format!("{it}\n").bytes()));
    out.push(b'\n');
    out.extend(gate.as_bytes());
    floats(&mut out, &[calibration.0, calibration.1]);
    net.write(kept, &mut out)?;
    Ok(out)
}
