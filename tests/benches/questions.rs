//! Questions: latency of questions in a folder with many chunks.
//!
//! `cargo bench -p tests --bench questions -- DATA_DIR [N] [--cache DIR] [--tier static|minilm]`
//! `cargo bench -p tests --bench questions -- DATA_DIR --copies N FOLDER... [--cache DIR]`
//! N files (100,000 by default) of one chunk each, made by `support/shuffled.rs`, are indexed
//! without the deep pass, which changes no chunk; with `--copies`, N edited copies of all pages
//! below the folders instead (`support/pages.rs`). `--cache` keeps them and the index for the next
//! run, even if they took too long. Then the sets' own questions are asked through the library, one
//! at a time. Prints wall clock milliseconds, which include other work on the machine.
//! With `--tier minilm` the questions are embedded by MiniLM and compared with as many vectors of
//! its size; missing ones are random, because computing them takes hours, and times do not depend
//! on their values.
//! CPU is that of the process, so without waits; stages are wall clock, each without its inner
//! stages.

#![allow(clippy::print_stdout, reason = "a bench prints its table")]

mod support;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result, anyhow, bail};
use config::Settings;
use config::settings::Background;
use embed::Embedder;
use model::terms::ContentHash;
use proto::tool::core::HybridQuery;
use server::project::Project;
use support::at_once::at_once;
use support::pages::{texts as pages_below, write_copies};
use support::shuffled::Texts;
use support::stages::Stages;

/// Files per folder.
const A_FOLDER: usize = 500;

fn main() -> Result<()> {
    let mut arguments = support::arguments();
    let cache = support::option(&mut arguments, "--cache").map(PathBuf::from);
    let tier = support::option(&mut arguments, "--tier").unwrap_or_else(|| "static".into());
    let copies = support::option(&mut arguments, "--copies").map(|n| n.parse()).transpose()?;
    let mut arguments = arguments.into_iter();
    let data = arguments.next().context(
        "which data? hint: cargo bench -p tests --bench questions -- DATA_DIR [N] [--cache DIR]",
    )?;
    let rest: Vec<String> = arguments.collect();
    let n: usize = match (copies, rest.first()) {
        (Some(n), _) => n,
        (None, n) => n.map_or(Ok(100_000), |n| n.parse())?,
    };
    let texts = Texts::read(Path::new(&data))?;
    let scratch = tempfile::tempdir()?;
    let home = cache.unwrap_or_else(|| scratch.path().to_path_buf());
    let (notes, state) = (home.join("notes"), home.join("state"));
    if !notes.exists() {
        std::fs::create_dir_all(&state)?;
        match copies {
            Some(n) => write_copies(&pages_below(&rest)?, n, &notes)?,
            None => write(&texts, n, &notes)?,
        }
    }
    let mut settings = Settings::default();
    settings.recognize.deep = false;
    settings.embed.model = "none".into();
    let runtime = support::runtime()?;
    let started = Instant::now();
    let mut project = runtime.block_on(support::open_settled(&notes, &state, settings.clone()))?;
    let what = if copies.is_some() { "copies" } else { "files" };
    println!("{n} {what} settled in {:.0} s", started.elapsed().as_secs_f64());
    if tier == "minilm" {
        runtime.block_on(project.drain(support::SETTLE_LIMIT));
        drop(project);
        make_up(&state)?;
        settings.embed =
            config::settings::Embed { background: Background::Off, ..Default::default() };
        let started = Instant::now();
        project = runtime.block_on(async {
            let project = support::open_settled(&notes, &state, settings).await?;
            let is_full = |project: &Project| project.backfilled().is_some_and(|it| it.is_full);
            match project.wait_until(support::SETTLE_LIMIT, is_full).await {
                true => anyhow::Ok(project),
                false => bail!("not all vectors are there: {:?}", project.backfilled()),
            }
        })?;
        println!(
            "better vectors in memory {:.2} s after the start",
            started.elapsed().as_secs_f64()
        );
    }
    ask_all(&project, &texts.questions)?;
    runtime.block_on(project.drain(support::SETTLE_LIMIT));
    Ok(())
}

/// Gives every window without a vector a random one of MiniLM's size.
fn make_up(state: &Path) -> Result<()> {
    let spaces = index::store::Spaces::open(state)?;
    let model =
        embed::Builtin::named(config::limits::DEFAULT_MODEL, None).context("it is built in")?;
    let space = spaces.space(model.space(), "minilm-l6")?.id;
    let db = index::store::open_for_reading(&state.join("index.sqlite"))?;
    let mut statement = db.prepare("SELECT hash FROM windows")?;
    let mut rows = statement.query([])?;
    let started = Instant::now();
    let (mut n, mut dice) = (0, 0x2545_f491_4f6c_dd1d_u64);
    while let Some(row) = rows.next()? {
        let hash = ContentHash(u128::from_le_bytes(row.get(0)?));
        if spaces.get(space, hash)?.is_some() {
            continue;
        }
        let mut component = || {
            dice ^= dice << 13;
            dice ^= dice >> 7;
            dice ^= dice << 17;
            ((dice >> 32) as u8 & 31).wrapping_sub(16)
        };
        let vector: Vec<u8> = (0..model.dimensions()).map(|_| component()).collect();
        spaces.put(space, hash, &vector)?;
        n += 1;
    }
    println!("{n} better vectors made up in {:.1} s", started.elapsed().as_secs_f64());
    let mib = std::fs::metadata(state.join("vectors.sqlite"))?.len() as f64 / f64::from(1 << 20);
    println!("{mib:.1} MiB of them on disk");
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
    println!("first question, vectors from the table, or the model not loaded yet: {first:.1}");
    let is_in_memory = || {
        let snapshot = project.snapshot()?;
        anyhow::Ok(snapshot.vectors_in_memory().is_some() || !snapshot.layers().is_empty())
    };
    while !is_in_memory()? {
        std::thread::yield_now();
    }
    let stages = Stages::watch();
    for formula in ["vector", "text", "hybrid"] {
        let all = || questions.iter().map(|q| ask(project, formula, q)).collect::<Result<Vec<_>>>();
        // One round to warm the page cache and the prepared statements; a daemon at work is warm.
        all()?;
        let (mut times, mut by_stage) = (Vec::new(), BTreeMap::<&str, Vec<f64>>::new());
        let mut cpu = Vec::new();
        for (n, question) in questions.iter().enumerate() {
            stages.take();
            let before = sys::process_cpu_time(std::process::id());
            times.push(ask(project, formula, question)?);
            let spent = sys::process_cpu_time(std::process::id()).saturating_sub(before);
            cpu.push(spent.as_secs_f64() * 1e3);
            for (stage, spent) in stages.take() {
                let all = by_stage.entry(stage).or_insert_with(|| vec![0.0; questions.len()]);
                all[n] += spent;
            }
        }
        println!("{formula:<8} {}", support::spread(&times));
        println!("     CPU {}", support::spread(&cpu));
        for (stage, times) in by_stage {
            println!("    {stage:<8} {}", support::spread(&times));
        }
    }
    println!("hybrid, by threads");
    at_once(questions, 1, || Ok(|question: &str| ask(project, "hybrid", question).map(drop)))?;
    let snapshot = project.snapshot()?;
    let better = snapshot.layers().into_iter().next().map(|(_, view)| view);
    let vectors = better.or(snapshot.vectors_in_memory()).context("in memory")?;
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
    let reply = query::answer(&project.context(&snapshot), &request)
        .map_err(|error| anyhow!(error.message))?;
    if reply.chunks.is_empty() {
        bail!("`{question}` found nothing");
    }
    Ok(started.elapsed().as_secs_f64() * 1e3)
}
