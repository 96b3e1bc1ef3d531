//! Fresh: how long after a file was created, edited, renamed or deleted a query shows it.
//!
//! `cargo bench -p tests --bench fresh -- DATA_DIR [--edits N] [--bulk N]`
//! A real `kgd` with the default debounce is asked over its socket until the answer fits, once at rest
//! and once while many other files (`--bulk`, 20,000 when left out) are being read. Milliseconds, the
//! debounce taken off: below 0 where a crawl looked at the file before it had been quiet for so long.

#![allow(clippy::print_stdout, reason = "a bench prints its table")]

mod support;

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow, bail};
use serde_json::{Value, json};
use support::{percentile, spread};
use tests::{Client, TestProject};

/// The limit beyond the debounce: 95 of 100 changes within so many milliseconds.
const LIMIT_MS: f64 = 100.0;

/// Between two looks. A look takes a few milliseconds itself.
const LOOK_AGAIN: Duration = Duration::from_millis(4);

/// A change that is not seen by then is lost.
const PATIENCE: Duration = Duration::from_secs(10);

const KINDS: [&str; 4] = ["create", "edit", "rename", "delete"];

fn main() -> Result<()> {
    let mut arguments = support::arguments();
    let n_edits = support::option(&mut arguments, "--edits").map_or(Ok(200), |n| n.parse())?;
    let n_bulk = support::option(&mut arguments, "--bulk").map_or(Ok(20_000), |n| n.parse())?;
    let [data] = arguments.as_slice() else {
        bail!("which data? hint: cargo bench -p tests --bench fresh -- DATA_DIR")
    };
    let mut project = support::daemon_with_notes(Path::new(data))?;
    println!("{n_edits} changes, ms beyond the debounce (limit for p95: {LIMIT_MS})");
    let mut client = project.agent();
    let mut times = Vec::new();
    for i in 0..n_edits {
        times.push(change(&project, &mut client, i)?);
    }
    report("at rest", &times);

    write_bulk(&project, n_bulk)?;
    let started = Instant::now();
    let (mut times, mut n_busy) = (Vec::new(), 0);
    for i in n_edits..2 * n_edits {
        times.push(change(&project, &mut client, i)?);
        n_busy += usize::from(project.status()["settled"] == false);
    }
    report(&format!("with {n_bulk} files on the belt"), &times);
    println!("  the belt was still busy after {n_busy} of {n_edits} changes");
    let waited = project.call("wait", json!({"timeout_ms": 600_000}));
    println!(
        "  settled: {}, {:.1} s after the files were written; daemon {:.1} MiB, peak {:.1} MiB",
        waited["reached"],
        started.elapsed().as_secs_f64(),
        support::memory_mib(project.pid(), "VmRSS")?,
        support::memory_mib(project.pid(), "VmHWM")?
    );
    Ok(())
}

fn report(when: &str, times: &[(&'static str, f64)]) {
    let all: Vec<f64> = times.iter().map(|(_, ms)| *ms).collect();
    println!("{when}: {}", spread(&all));
    for kind in KINDS {
        let of_kind: Vec<f64> =
            times.iter().filter(|(k, _)| *k == kind).map(|(_, ms)| *ms).collect();
        println!("  {kind:<8} {}", spread(&of_kind));
    }
    println!(
        "  {}",
        if percentile(&all, 0.95) <= LIMIT_MS { "within the limit" } else { "TOO SLOW" }
    );
}

/// One change of the cycle create, edit, rename, delete of one file; returns its kind and the time until
/// a query shows it, less the debounce.
fn change(project: &TestProject, client: &mut Client, i: usize) -> Result<(&'static str, f64)> {
    let (round, kind) = (i / KINDS.len(), KINDS[i % KINDS.len()]);
    let (path, moved) = (format!("fresh/{round}.md"), format!("fresh/{round}-moved.md"));
    let (created, edited) = (format!("qzcreated{round}"), format!("qzedited{round}"));
    let text = |word: &str| format!("# Fresh note {round}\n\nThe word of the day is {word}.\n");
    let started = Instant::now();
    match kind {
        "create" => project.write(&path, text(&created)),
        "edit" => project.write(&path, text(&edited)),
        "rename" => project.rename(&path, &moved),
        _ => project.remove(&moved),
    }
    let debounce_ms = config::Settings::default().watch.debounce_ms as f64;
    loop {
        let question = if kind == "create" { &created } else { &edited };
        let request = json!({"q": question, "k": 3, "formula": "text"});
        let refused = |error| anyhow!("refused: {error}\n--- the daemon's log\n{}", project.log());
        let reply = client.call("hybrid_query", request).map_err(refused)?;
        let shows = |path: &str| is_shown(&reply, path, question);
        let is_visible = match kind {
            "create" | "edit" => shows(&path),
            "rename" => shows(&moved) && !shows(&path),
            _ => !shows(&moved),
        };
        let passed = started.elapsed();
        if is_visible {
            return Ok((kind, passed.as_secs_f64() * 1e3 - debounce_ms));
        }
        if passed > PATIENCE {
            println!("  LOST: {kind} of {path} was not seen within {PATIENCE:?}");
            return Ok((kind, passed.as_secs_f64() * 1e3));
        }
        std::thread::sleep(LOOK_AGAIN);
    }
}

fn is_shown(reply: &Value, path: &str, word: &str) -> bool {
    let hits = reply["chunks"].as_array().map(Vec::as_slice).unwrap_or_default();
    let says = |hit: &Value| hit["snippet"].as_str().is_some_and(|snippet| snippet.contains(word));
    hits.iter().any(|hit| hit["path"] == path && says(hit))
}

/// Files as a generator would leave them: many at once, each with a heading, names and links.
fn write_bulk(project: &TestProject, n: usize) -> Result<()> {
    for i in 0..n {
        let (folder, next) = (i / 200, (i * 7 + 1) % n);
        let (team, region, limit) = (i % 50, i % 12, 100 + i % 400);
        let link = format!("../{}/{next}.md", next / 200);
        let text = format!(
            "# Service {i}\n\nService {i} depends on [Service {next}]({link}) and is run by Team {team}.\n\n\
             ## Deploying\n\n1. Build image {i}.\n2. Roll out to region {region}.\n3. Watch the errors.\n\n\
             ## Alerts\n\nWhen latency of Service {i} rises above {limit} ms, call Team {team}.\n\
             The queue `jobs-{i}` may be full.\n"
        );
        project.write(&format!("bulk/{folder}/{i}.md"), text);
    }
    Ok(())
}
