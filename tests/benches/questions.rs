//! Questions: how long they take in a folder of many chunks.
//!
//! `cargo bench -p tests --bench questions -- DATA_DIR [N] [--cache DIR]`
//! N files (100,000 where nothing is said) of one chunk each, made as `support/shuffled.rs` says, are indexed without
//! the deep pass, which changes no chunk; `--cache` keeps them and the index for the next time. Then the sets' own
//! questions are asked of the library, one at a time. Milliseconds, wall clock: other work on the machine is in them.

#![allow(clippy::print_stdout, reason = "a bench prints its table")]

mod support;

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result, anyhow, bail};
use config::Settings;
use daemon::project::Project;
use proto::tool::core::HybridQuery;
use support::shuffled::Texts;

/// Files a folder.
const A_FOLDER: usize = 500;

fn main() -> Result<()> {
    let mut arguments = support::arguments();
    let cache = support::option(&mut arguments, "--cache").map(PathBuf::from);
    let mut arguments = arguments.into_iter();
    let data = arguments.next().context(
        "which data? hint: cargo bench -p tests --bench questions -- DATA_DIR [N] [--cache DIR]",
    )?;
    let n: usize = arguments.next().map_or(Ok(100_000), |n| n.parse())?;
    let texts = Texts::read(Path::new(&data))?;
    let scratch = tempfile::tempdir()?;
    let home = cache.unwrap_or_else(|| scratch.path().to_path_buf());
    let (notes, state) = (home.join("notes"), home.join("state"));
    if !notes.exists() {
        std::fs::create_dir_all(&state)?;
        write(&texts, n, &notes)?;
    }
    let mut settings = Settings::default();
    settings.recognize.deep = false;
    let runtime = support::runtime()?;
    let started = Instant::now();
    let project = runtime.block_on(support::open_settled(&notes, &state, settings))?;
    println!("{n} files settled in {:.0} s", started.elapsed().as_secs_f64());
    ask_all(&project, &texts.questions)?;
    runtime.block_on(project.drain(support::SETTLE_LIMIT));
    Ok(())
}

fn write(texts: &Texts, n: usize, notes: &Path) -> Result<()> {
    for (i, sentences) in texts.chunks(n).enumerate() {
        let folder = notes.join(format!("{}", i / A_FOLDER));
        std::fs::create_dir_all(&folder)?;
        std::fs::write(folder.join(format!("{i}.txt")), sentences.concat())?;
    }
    Ok(())
}

fn ask_all(project: &Project, questions: &[String]) -> Result<()> {
    let first = ask(project, "vector", questions.first().context("a question")?)?;
    println!("first question, vectors from the table: {first:.1}");
    let is_in_memory = || anyhow::Ok(project.snapshot()?.vectors_in_memory().is_some());
    while !is_in_memory()? {
        std::thread::yield_now();
    }
    for formula in ["vector", "text", "hybrid"] {
        let all = || questions.iter().map(|q| ask(project, formula, q)).collect::<Result<Vec<_>>>();
        // Once to warm the page cache and the prepared statements; a daemon at work is warm.
        all()?;
        println!("{formula:<8} {}", support::spread(&all()?));
    }
    let vectors = project.snapshot()?.vectors_in_memory().context("in memory")?;
    let memory = support::memory_mib(std::process::id(), "VmRSS")?;
    let mib = vectors.n_bytes() as f64 / f64::from(1 << 20);
    println!("{} vectors in memory, {mib:.1} MiB; the process {memory:.1} MiB", vectors.n_rows());
    Ok(())
}

fn ask(project: &Project, formula: &str, question: &str) -> Result<f64> {
    let q: String = question.chars().take(1_000).collect();
    let started = Instant::now();
    let snapshot = project.snapshot()?;
    let request = HybridQuery { q, formula: Some(formula.into()), ..HybridQuery::default() };
    let reply = daemon::ask::hybrid_query(&project.desk(&snapshot), &request)
        .map_err(|error| anyhow!(error.message))?;
    if reply.chunks.is_empty() {
        bail!("`{question}` found nothing");
    }
    Ok(started.elapsed().as_secs_f64() * 1e3)
}
