//! Parse: cost and gain of worker processes, against parsing the same files in this process.
//!
//! `cargo bench -p tests --bench parse -- FOLDER [--seconds N] [--small N]`
//! For each sandboxed format below FOLDER: documents and megabytes per second through the normalize
//! stage in process (one thread), through one worker and through two, with the processor time of
//! daemon and workers together. `--small N`: a whole first index of N small pages (800 by default),
//! alternating in process and with workers.
//! The bench is its own worker: started with `--worker` it acts like `kgd --worker`.

#![allow(clippy::print_stdout, reason = "a bench prints its table")]

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use config::Settings;
use formats::sandbox::Workers;
use formats::{Normalizer, Parsing};
use model::Stage;
use model::document::SourceDoc;
use model::terms::{ContentHash, Lane, RelPath};
use support::{Scratch, median};

/// Runs of each kind of first index; the median counts.
const INDEX_RUNS: usize = 5;

fn main() -> ExitCode {
    if std::env::args().any(|it| it == "--worker") {
        return formats::sandbox::run();
    }
    match bench() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("{error:#}");
            ExitCode::FAILURE
        }
    }
}

fn bench() -> Result<()> {
    let mut arguments = support::arguments();
    let seconds = support::option(&mut arguments, "--seconds").map_or(Ok(3.0), |n| n.parse())?;
    let small = support::option(&mut arguments, "--small").map_or(Ok(800), |n| n.parse())?;
    let [folder] = arguments.as_slice() else {
        bail!("which files? hint: cargo bench -p tests --bench parse -- FOLDER")
    };
    let mut by_format: BTreeMap<&str, Vec<SourceDoc>> = BTreeMap::new();
    for (path, _) in support::files_below(Path::new(folder))? {
        let extension = path.extension().unwrap_or_default().to_string_lossy().to_lowercase();
        let format = config::formats::of(&extension).filter(|format| format.is_confined);
        if let Some(format) = format {
            by_format.entry(format.name).or_default().push(source(&path)?);
        }
    }
    by_format.insert("html, small", (0..200).map(small_page).collect());
    println!(
        "{:<14}{:<14}{:>8}{:>12}{:>9}{:>16}{:>9}",
        "format", "way", "files", "documents/s", "MB/s", "CPU ms/document", "failed"
    );
    for (format, sources) in &by_format {
        let budget = Duration::from_secs_f64(seconds);
        through(format, "in process", sources, Parsing::InProcess, 1, budget)?;
        for n_workers in [1, 2] {
            let parsing = Parsing::InWorkers(pool(n_workers)?);
            let way = format!("{n_workers} worker{}", if n_workers == 1 { "" } else { "s" });
            through(format, &way, sources, parsing, n_workers as usize, budget)?;
        }
    }
    if small > 0 {
        first_index(small)?;
    }
    Ok(())
}

fn pool(processes: u64) -> Result<Arc<Workers>> {
    let settings = config::settings::Worker { processes, ..Default::default() };
    Workers::new(&settings).context("workers")
}

fn source(path: &Path) -> Result<SourceDoc> {
    let bytes = std::fs::read(path)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    Ok(of_bytes(&name, bytes))
}

fn of_bytes(name: &str, bytes: Vec<u8>) -> SourceDoc {
    let hash = ContentHash::of(&bytes);
    SourceDoc {
        path: RelPath::new(name),
        bytes: bytes.into(),
        hash,
        mtime_ms: 0,
        pass: Default::default(),
    }
}

/// A page of three kilobytes.
fn small_page(n: usize) -> SourceDoc {
    of_bytes(&format!("page-{n}.html"), small_text(n).into_bytes())
}

fn small_text(n: usize) -> String {
    let paragraph = |k: usize| {
        format!(
            "<p>Note {n}.{k}: the <b>Signing Service</b> of region {k} keeps its keys in \
             <a href=\"page-{k}.html\">vault {k}</a> and turns them over each month.</p>\n"
        )
    };
    let body: String = (0..20).map(paragraph).collect();
    format!(
        "<!doctype html><html><head><title>Page {n}</title></head><body><h1>Page {n}</h1>\n{body}</body></html>"
    )
}

/// Feeds the files through the stage repeatedly until the time is up, on several threads.
fn through(
    format: &str,
    way: &str,
    sources: &[SourceDoc],
    parsing: Parsing,
    n_threads: usize,
    at_least: Duration,
) -> Result<()> {
    let settings = Settings::default();
    let [next, n_done, n_bytes] = [0; 3].map(AtomicUsize::new);
    let failed: Mutex<BTreeSet<usize>> = Mutex::default();
    let (cpu_before, begin) = (cpu_seconds()?, Instant::now());
    std::thread::scope(|scope| {
        for _ in 0..n_threads {
            scope.spawn(|| {
                let mut stage = Normalizer::with(
                    &settings.watch,
                    &settings.privacy,
                    parsing.clone(),
                    Lane::Bulk,
                );
                loop {
                    let i = next.fetch_add(1, Ordering::Relaxed);
                    // Every file at least once.
                    if i >= sources.len() && begin.elapsed() >= at_least {
                        return;
                    }
                    let source = &sources[i % sources.len()];
                    n_bytes.fetch_add(source.bytes.len(), Ordering::Relaxed);
                    n_done.fetch_add(1, Ordering::Relaxed);
                    if stage.run(source.clone()).is_err() {
                        failed.lock().expect("not poisoned").insert(i % sources.len());
                    }
                }
            });
        }
    });
    let wall = begin.elapsed().as_secs_f64();
    let cpu = cpu_seconds()? - cpu_before;
    let n_done = n_done.into_inner() as f64;
    let megabytes = n_bytes.into_inner() as f64 / 1e6;
    println!(
        "{format:<14}{way:<14}{:>8}{:>12.1}{:>9.2}{:>16.3}{:>9}",
        sources.len(),
        n_done / wall,
        megabytes / wall,
        cpu * 1000.0 / n_done,
        failed.into_inner().expect("not poisoned").len(),
    );
    Ok(())
}

/// Returns the processor seconds of this process and of all processes that it started, including
/// running ones.
fn cpu_seconds() -> Result<f64> {
    let own = std::process::id();
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    let (_, fields) = stat.rsplit_once(')').context("no name in /proc/self/stat")?;
    let ticks = |at: usize| -> Result<f64> {
        Ok(fields.split_whitespace().nth(at).context("short stat")?.parse()?)
    };
    // 100 ticks a second on every architecture we run on.
    let ended = (ticks(13)? + ticks(14)?) / 100.0;
    let mut all = ended + sys::process_cpu_time(own).as_secs_f64();
    for entry in std::fs::read_dir("/proc")?.flatten() {
        let stat = std::fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        let parent = stat.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().nth(1));
        if parent == Some(&own.to_string())
            && let Ok(pid) = entry.file_name().to_string_lossy().parse()
        {
            all += sys::process_cpu_time(pid).as_secs_f64();
        }
    }
    Ok(all)
}

/// Runs a whole first index of small pages, alternating both ways.
fn first_index(n_pages: usize) -> Result<()> {
    let scratch = Scratch::new()?;
    for n in 0..n_pages {
        std::fs::write(scratch.notes().join(format!("page-{n}.html")), small_text(n))?;
    }
    let runtime = support::runtime()?;
    let mut taken: BTreeMap<&str, (Vec<f64>, Vec<f64>)> = BTreeMap::new();
    for run in 0..INDEX_RUNS {
        for (way, n_workers) in [("in process", 0), ("1 worker", 1), ("2 workers", 2)] {
            let state = scratch.path(&format!("state-{run}-{n_workers}"));
            std::fs::create_dir(&state)?;
            let parsing = match n_workers {
                0 => Parsing::InProcess,
                n => Parsing::InWorkers(pool(n)?),
            };
            let (cpu_before, begin) = (cpu_seconds()?, Instant::now());
            let project = runtime.block_on(support::open_settled_in(
                &scratch.notes(),
                &state,
                Settings::default(),
                parsing,
            ))?;
            let entry = taken.entry(way).or_default();
            entry.0.push(begin.elapsed().as_secs_f64());
            entry.1.push(cpu_seconds()? - cpu_before);
            runtime.block_on(project.drain(Duration::from_secs(10)));
        }
    }
    println!("\nfirst index of {n_pages} small pages, median of {INDEX_RUNS} runs");
    for (way, (wall, cpu)) in taken {
        println!("{way:<14} wall {:6.3} s   CPU {:6.3} s", median(&wall), median(&cpu));
    }
    Ok(())
}
