//! Memory: a daemon's memory while it indexes many generated files, and afterwards; and the
//! duration of `verify` on them.
//!
//! `cargo bench -p tests --bench memory -- [--files N] [--live | --daemons N]`
//! The files (100,000 by default) exist when the daemon starts; with `--live` they are written
//! while it runs. Samples from outside, four per second. `RssFile` is the executable with its model
//! and the mapped parts of the index; the rest is anonymous. With `--daemons`, samples N daemons,
//! each with its own files, once all are idle: shared memory is counted once (`Pss`).

#![allow(clippy::print_stdout, reason = "a bench prints its table")]

mod support;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use serde_json::json;
use tests::TestProject;

/// The limits, MiB: at any time, and anonymous memory afterwards.
const PEAK_LIMIT_MIB: f64 = 300.0;
const IDLE_LIMIT_MIB: f64 = 60.0;

/// Interval between samples.
const INTERVAL: Duration = Duration::from_millis(250);

/// A daemon counts as idle after this time: threads without work have ended by then.
const REST: Duration = Duration::from_secs(15);

/// Longest time for indexing the files.
const PATIENCE: Duration = Duration::from_secs(1_800);

/// Memory of a process, MiB.
#[derive(Debug, Clone, Copy)]
struct Sample {
    seconds: f64,
    all: f64,
    anonymous: f64,
    file: f64,
}

fn main() -> Result<()> {
    let mut arguments = support::arguments();
    let n_files = support::option(&mut arguments, "--files").map_or(Ok(100_000), |n| n.parse())?;
    let is_live = support::flag(&mut arguments, "--live");
    let n_daemons = support::option(&mut arguments, "--daemons").map(|n| n.parse()).transpose()?;
    if !arguments.is_empty() {
        bail!(
            "what is {arguments:?}? hint: cargo bench -p tests --bench memory -- [--files N] [--live | --daemons N]"
        );
    }
    if let Some(n) = n_daemons {
        return several(n, n_files);
    }
    let mut project = TestProject::empty();
    if !is_live {
        support::generated::write(project.root(), n_files)?;
    }
    project.start();
    let started = Instant::now();
    let samples = watch(&mut project, is_live.then_some(n_files))?;
    let took = started.elapsed();
    println!(
        "{n_files} files, {}: settled after {:.1} s, {:.1} CPU seconds",
        if is_live { "written while the daemon ran" } else { "there at the start" },
        took.as_secs_f64(),
        support::cpu_of_process(project.pid())?
    );
    curve(&samples);
    let peak = support::memory_mib(project.pid(), "VmHWM")?;
    println!("peak {peak:.1} MiB (limit {PEAK_LIMIT_MIB}): {}", verdict(peak <= PEAK_LIMIT_MIB));
    std::thread::sleep(REST);
    let idle = sample(project.pid(), started)?;
    println!(
        "idle: {:.1} MiB anonymous (limit {IDLE_LIMIT_MIB}): {}; {:.1} MiB of files mapped",
        idle.anonymous,
        verdict(idle.anonymous <= IDLE_LIMIT_MIB),
        idle.file
    );
    for (kind, mib) in by_mapping(project.pid())? {
        println!("  {mib:7.1} MiB {kind}");
    }
    prove(&mut project, took)
}

/// Measures several idle daemons together.
fn several(n_daemons: usize, n_files: usize) -> Result<()> {
    let mut projects = Vec::new();
    for _ in 0..n_daemons {
        let mut project = TestProject::empty();
        support::generated::write(project.root(), n_files)?;
        project.start();
        projects.push(project);
    }
    for project in &mut projects {
        work(project, None, Instant::now())?;
    }
    std::thread::sleep(REST);
    println!(
        "{n_daemons} daemons of {n_files} files each, idle, MiB: resident, own, share of what is mapped"
    );
    let mut sums = [0.0; 3];
    for project in &projects {
        let held = ["Rss", "Pss_Anon", "Pss_File"].map(|line| rollup_mib(project.pid(), line));
        let [resident, own, mapped] = held;
        let held = [resident?, own?, mapped?];
        println!("  {:7.1} {:7.1} {:7.1}", held[0], held[1], held[2]);
        sums.iter_mut().zip(held).for_each(|(sum, mib)| *sum += mib);
    }
    let [resident, own, mapped] = sums;
    println!("  {resident:7.1} {own:7.1} {mapped:7.1} added up; held: {:.1}", own + mapped);
    Ok(())
}

/// Returns a line of `/proc/PID/smaps_rollup`, MiB.
fn rollup_mib(pid: u32, line: &str) -> Result<f64> {
    let rollup = std::fs::read_to_string(format!("/proc/{pid}/smaps_rollup"))?;
    let found = rollup.lines().find_map(|it| it.strip_prefix(line)?.strip_prefix(':'));
    let kib =
        found.and_then(|it| it.trim().strip_suffix("kB")).with_context(|| format!("no {line}"))?;
    Ok(kib.trim().parse::<f64>()? / 1024.0)
}

/// Measures how long verifying the index takes, against the time of building it.
fn prove(project: &mut TestProject, made_in: Duration) -> Result<()> {
    let reply = project.call("verify", json!({"limit": 5}));
    let seconds = reply["seconds"].as_f64().context("a time")?;
    println!(
        "verify: {} rows, same: {}, {seconds:.1} s ({:.2} times the first index); peak with it {:.1} MiB",
        reply["n_rows"],
        reply["same"],
        seconds / made_in.as_secs_f64(),
        support::memory_mib(project.pid(), "VmHWM")?
    );
    Ok(())
}

fn verdict(is_within: bool) -> &'static str {
    if is_within { "within the limit" } else { "TOO MUCH" }
}

/// Samples until everything is settled; `to_write` files are written meanwhile.
fn watch(project: &mut TestProject, to_write: Option<usize>) -> Result<Vec<Sample>> {
    let (pid, root, started) = (project.pid(), project.root().to_path_buf(), Instant::now());
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let sampling = scope.spawn(|| {
            let mut samples = Vec::new();
            while !is_over.load(Ordering::Relaxed) {
                samples.push(sample(pid, started)?);
                std::thread::sleep(INTERVAL);
            }
            anyhow::Ok(samples)
        });
        let worked = work(project, to_write.map(|n| (root.as_path(), n)), started);
        is_over.store(true, Ordering::Relaxed);
        let samples = sampling.join().map_err(|_| anyhow!("the sampling thread panicked"))?;
        worked.and(samples)
    })
}

fn work(
    project: &mut TestProject,
    to_write: Option<(&std::path::Path, usize)>,
    started: Instant,
) -> Result<()> {
    let n_files = to_write.map_or(0, |(_, n)| n as u64);
    if let Some((root, n)) = to_write {
        support::generated::write(root, n)?;
    }
    while started.elapsed() < PATIENCE {
        let is_settled = project.call("wait", json!({"timeout_ms": 10_000}))["reached"] == true;
        // The system may not have reported the last files yet.
        if is_settled && project.status()["progress"]["indexed"].as_u64() >= Some(n_files) {
            return Ok(());
        }
    }
    bail!("not settled after {PATIENCE:?}")
}

fn sample(pid: u32, started: Instant) -> Result<Sample> {
    Ok(Sample {
        seconds: started.elapsed().as_secs_f64(),
        all: support::memory_mib(pid, "VmRSS")?,
        anonymous: support::memory_mib(pid, "RssAnon")?,
        file: support::memory_mib(pid, "RssFile")?,
    })
}

/// Prints the largest sample of each tenth of the time.
fn curve(samples: &[Sample]) {
    println!("   until     all  anonymous  files  (MiB, the largest of each tenth of the time)");
    for tenth in samples.chunks(samples.len().div_ceil(10).max(1)) {
        let largest = |of: fn(&Sample) -> f64| tenth.iter().map(of).fold(0.0, f64::max);
        println!(
            "{:7.1} s {:7.1} {:10.1} {:6.1}",
            largest(|it| it.seconds),
            largest(|it| it.all),
            largest(|it| it.anonymous),
            largest(|it| it.file)
        );
    }
}

/// Returns the resident memory by mapping.
fn by_mapping(pid: u32) -> Result<BTreeMap<&'static str, f64>> {
    let smaps = std::fs::read_to_string(format!("/proc/{pid}/smaps"))?;
    let mut sums: BTreeMap<&'static str, f64> = BTreeMap::new();
    let mut kind = "";
    for line in smaps.lines() {
        let fields: Vec<&str> = line.split_whitespace().collect();
        match fields.as_slice() {
            ["Rss:", kib, "kB"] => {
                *sums.entry(kind).or_default() += kib.parse::<f64>().context("a size")? / 1024.0;
            }
            [range, rights, _, _, _, rest @ ..] if range.contains('-') => {
                kind = kind_of(rights, &rest.join(" "));
            }
            _ => {}
        }
    }
    Ok(sums)
}

fn kind_of(rights: &str, name: &str) -> &'static str {
    match name {
        "" | "[heap]" => "heap and stacks of threads",
        name if name.starts_with('[') => "main stack and kernel pages",
        name if name.contains(".sqlite") => "index files",
        name if name.contains("kgd") && rights.starts_with("r--") => "model and constants",
        name if name.contains("kgd") => "program",
        _ => "libraries",
    }
}
