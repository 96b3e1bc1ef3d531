//! Ingest: cost of indexing the four note sets together, against inserting the same chunks into a
//! bare FTS5 table in one transaction.
//!
//! `cargo bench -p tests --bench ingest -- DATA_DIR [--runs N] [--stages] [--repeat N]`
//! Each run is a child process with its own folder and databases, so that CPU and peak memory are
//! its own. `--stages` runs the stages one by one on one thread instead, and prints the cost of
//! each (`--repeat` repeats the pure ones, for a profiler).

#![allow(clippy::print_stdout, reason = "a bench prints its table")]

#[path = "ingest/stages.rs"]
mod stages;
mod support;

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use rusqlite::{Connection, OpenFlags};
use serde_json::{Value, json};
use support::floor::bare_fts5;
use support::{Scratch, median};

/// The limit, and its goal: CPU of the ingest divided by CPU of the floor.
const LIMIT: f64 = 10.0;
const STRETCH: f64 = 4.0;

/// The limit on peak memory, MiB.
const MEMORY_LIMIT_MIB: f64 = 150.0;

fn main() -> Result<()> {
    let mut arguments = support::arguments();
    if support::flag(&mut arguments, "--child") {
        let [root, state] = arguments.as_slice() else { bail!("--child ROOT STATE") };
        return child(Path::new(root), Path::new(state));
    }
    let runs = support::option(&mut arguments, "--runs").map_or(Ok(5), |n| n.parse())?;
    let repeat = support::option(&mut arguments, "--repeat").map_or(Ok(1), |n| n.parse())?;
    let only_stages = support::flag(&mut arguments, "--stages");
    let [data] = arguments.as_slice() else {
        bail!("which data? hint: cargo bench -p tests --bench ingest -- DATA_DIR")
    };
    let scratch = Scratch::with_notes(Path::new(data))?;
    if only_stages {
        return stages::run(&scratch, repeat);
    }
    whole(Path::new(data), runs)
}

fn whole(data: &Path, runs: usize) -> Result<()> {
    let (mut cpu, mut wall, mut peak) = (Vec::new(), Vec::new(), Vec::new());
    let mut floors = Vec::new();
    for run in 0..runs {
        let scratch = Scratch::with_notes(data)?;
        let before = support::files_below(&scratch.notes())?;
        let report = spawn_child(&scratch)?;
        if support::files_below(&scratch.notes())? != before {
            bail!("indexing changed the folder");
        }
        let number = |key: &str| report[key].as_f64().with_context(|| format!("no {key}"));
        cpu.push(number("cpu_seconds")?);
        wall.push(number("wall_seconds")?);
        peak.push(number("peak_mib")?);
        if run == 0 {
            print_counts(&scratch, &before)?;
            let index = scratch.state().join("index.sqlite");
            let place = scratch.path("");
            floors.push(("title, headings, text", bare_fts5(&index, &place, true)?));
            floors.push(("text alone", bare_fts5(&index, &place, false)?));
        }
    }
    println!("ingest, {runs} runs: CPU s {cpu:.2?}, wall s {wall:.2?}, peak MiB {peak:.1?}");
    println!(
        "median: {:.2} CPU s, {:.2} s wall, peak {:.1} MiB (limit {MEMORY_LIMIT_MIB})",
        median(&cpu),
        median(&wall),
        median(&peak)
    );
    for (what, seconds) in floors {
        let ratio = median(&cpu) / seconds;
        println!(
            "floor ({what}): {seconds:.3} CPU s; ratio {ratio:.1} (limit {LIMIT}, stretch {STRETCH})"
        );
    }
    Ok(())
}

fn spawn_child(scratch: &Scratch) -> Result<Value> {
    let output = Command::new(std::env::current_exe()?)
        .arg("--child")
        .arg(scratch.notes())
        .arg(scratch.state())
        .output()?;
    if !output.status.success() {
        bail!("the child failed: {}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// Indexes a folder and prints the cost of this process.
fn child(root: &Path, state: &Path) -> Result<()> {
    let runtime = support::runtime()?;
    let started = Instant::now();
    let project =
        runtime.block_on(support::open_settled(root, state, config::Settings::default()))?;
    let wall_seconds = started.elapsed().as_secs_f64();
    let me = std::process::id();
    let report = json!({
        "cpu_seconds": support::cpu_of_process(me)?,
        "wall_seconds": wall_seconds,
        "peak_mib": support::memory_mib(me, "VmHWM")?,
    });
    println!("{report}");
    runtime.block_on(project.drain(support::SETTLE_LIMIT));
    Ok(())
}

fn index_of(scratch: &Scratch) -> Result<Connection> {
    let path = scratch.state().join("index.sqlite");
    Ok(Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?)
}

fn print_counts(scratch: &Scratch, files: &[(std::path::PathBuf, u64)]) -> Result<()> {
    let megabytes = files.iter().map(|(_, n)| *n).sum::<u64>() as f64 / 1e6;
    println!("folder: {} files, {megabytes:.2} MB", files.len());
    let db = index_of(scratch)?;
    let mut counts = Vec::new();
    for what in ["docs", "chunks", "mentions", "names", "entities", "evidence", "relations"] {
        let n: i64 = db.query_row(&format!("SELECT count(*) FROM {what}"), [], |row| row.get(0))?;
        counts.push(format!("{n} {what}"));
    }
    let size = std::fs::metadata(scratch.state().join("index.sqlite"))?.len() as f64 / 1e6;
    println!("index: {}; {size:.1} MB", counts.join(", "));
    Ok(())
}
