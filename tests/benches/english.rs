//! English: speed of `language`, against the peak multiplication rate of the machine's cores.
//!
//! `cargo bench -p tests --bench english -- DATA` reads the data sets in a folder; `--texts FILE`
//! reads a file of JSON strings, one per line; `--answers FILE` prints what is found in each of
//! them as a line of JSON, for `tests/english/compare.py`, which runs spaCy on the same texts.

#![allow(clippy::print_stdout, reason = "a bench prints its table")]

mod support;

use std::hint::black_box;
use std::io::Write as _;
use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result};
use language::{Entity, Pipeline, operations_a_token};
use serde_json::{Value, json};
use sys::{Rows, product};

/// Approximate number of bytes read per data set.
const MAX_SET_BYTES: usize = 100_000;

/// Rounds, of which the fastest counts: other work on the machine only slows them down.
const N_ROUNDS: usize = 3;

/// Processes a text and drops the result.
type Work<'a> = &'a dyn Fn(&String);

fn main() -> Result<()> {
    let arguments = support::arguments();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments.as_slice() {
        ["--answers", file] => answers(&texts_in(Path::new(file))?),
        ["--texts", file] => speed(&texts_in(Path::new(file))?),
        [folder] => speed(&texts_below(Path::new(folder))?),
        _ => anyhow::bail!("which texts? hint: cargo bench -p tests --bench english -- DATA"),
    }
}

/// Reads the texts of a file of JSON strings.
fn texts_in(file: &Path) -> Result<Vec<String>> {
    let lines = std::fs::read_to_string(file).with_context(|| file.display().to_string())?;
    lines.lines().map(|line| Ok(serde_json::from_str(line)?)).collect()
}

/// Reads the texts of all data sets in a folder: each `text` of their JSON lines.
fn texts_below(folder: &Path) -> Result<Vec<String>> {
    let mut texts = Vec::new();
    let mut sets: Vec<_> = std::fs::read_dir(folder)?.flatten().map(|entry| entry.path()).collect();
    sets.sort();
    for set in sets.iter().filter(|path| path.is_dir()) {
        let mut n_bytes = 0;
        for file in std::fs::read_dir(set)?.flatten().map(|entry| entry.path()) {
            if file.extension().is_none_or(|extension| extension != "jsonl") {
                continue;
            }
            for line in std::fs::read_to_string(&file)?.lines() {
                let value: Value = serde_json::from_str(line)?;
                let text = value.get("text").and_then(Value::as_str).unwrap_or_default();
                if n_bytes < MAX_SET_BYTES && !text.is_empty() {
                    n_bytes += text.len();
                    texts.push(text.to_owned());
                }
            }
        }
    }
    Ok(texts)
}

/// Prints a line per text.
fn answers(texts: &[String]) -> Result<()> {
    let pipeline = Pipeline::shared();
    let list = |found: Vec<Entity>| -> Vec<Value> {
        found.iter().map(|entity| json!([entity.start, entity.end, entity.label])).collect()
    };
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    for text in texts {
        let tokens = pipeline.tokens(text);
        let parse = pipeline.parse(&tokens);
        let spans: Vec<[u32; 2]> = tokens.iter().map(|token| [token.start, token.end]).collect();
        let line = json!({
            "spans": spans, "tags": parse.tags, "heads": parse.heads, "labels": parse.labels, "starts": parse.starts,
            "entities": list(pipeline.entities(&tokens, &parse.starts)),
            "alone": list(pipeline.entities(&tokens, &[])),
        });
        writeln!(out, "{line}")?;
    }
    Ok(())
}

/// Prints tokens per CPU second, and operations per second against the peak of a large product.
fn speed(texts: &[String]) -> Result<()> {
    let start = Instant::now();
    let pipeline = Pipeline::shared();
    let load_ms = start.elapsed().as_secs_f64() * 1e3;
    let n_tokens: usize = texts.iter().map(|text| pipeline.tokens(text).len()).sum();
    let (names, syntax) = operations_a_token();
    let cut = |text: &String| drop(black_box(pipeline.tokens(text)));
    let find_names = |text: &String| {
        black_box(pipeline.entities(&pipeline.tokens(text), &[]));
    };
    let read_all = |text: &String| {
        let tokens = pipeline.tokens(text);
        let parse = pipeline.parse(&tokens);
        black_box(pipeline.entities(&tokens, &parse.starts));
    };
    println!("  ours: {} texts, {n_tokens} tokens; model unpacked in {load_ms:.0} ms", texts.len());
    let peak = peak_gflops()?;
    let works: [(&str, f64, Work<'_>); 3] = [
        ("tokens alone", 0.0, &cut),
        ("names alone", names, &find_names),
        ("whole pipeline", names + syntax, &read_all),
    ];
    for (label, operations, work) in works {
        let mut best = f64::INFINITY;
        for _ in 0..N_ROUNDS {
            let before = support::cpu_of_thread()?;
            texts.iter().for_each(work);
            best = best.min(support::cpu_of_thread()? - before);
        }
        let rate = n_tokens as f64 / best;
        let gflops = rate * operations / 1e9;
        println!(
            "  ours, {label}: {rate:.0} tokens a CPU second; {gflops:.1} GFLOP/s of layers, {:.0} % of the peak of \
             {peak:.1}",
            100.0 * gflops / peak
        );
    }
    Ok(())
}

/// Measures the rate of one core on a large matrix product with the same kernel, 10^9 operations
/// per CPU second.
fn peak_gflops() -> Result<f64> {
    const SIDE: usize = 1024;
    let (values, weights) = (vec![0.5; SIDE * SIDE], vec![0.25; SIDE * SIDE]);
    let mut out = vec![0.0; SIDE * SIDE];
    let rows = Rows { values: &values, n_rows: SIDE, width: SIDE, stride: SIDE };
    let mut best = f64::INFINITY;
    for _ in 0..10 {
        let before = support::cpu_of_thread()?;
        for _ in 0..4 {
            product(&rows, &weights, black_box(&mut out));
        }
        best = best.min((support::cpu_of_thread()? - before) / 4.0);
    }
    Ok(2.0 * (SIDE * SIDE * SIDE) as f64 / best / 1e9)
}
