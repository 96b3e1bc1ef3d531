//! Fresh: how long after a file was created, edited, renamed or deleted a query shows it, and the
//! latency of questions in the same minutes.
//!
//! `cargo bench -p tests --bench fresh -- DATA_DIR [--edits N] [--bulk N]`
//! A real `kgd` with the default debounce is polled over its socket until the answer is right: at
//! rest, while many other files (`--bulk`, 100,000 by default) are written, and while they are
//! read. Prints milliseconds minus the debounce, which is below 0 if a crawl read the file before
//! the debounce ended. Meanwhile another client asks headings of the notes, several per second.

#![allow(clippy::print_stdout, reason = "a bench prints its table")]

mod support;

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::Scope;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use serde_json::{Value, json};
use support::{percentile, spread};
use tests::{Client, TestProject};

/// The limit beyond the debounce: 95 of 100 changes within this many milliseconds.
const LIMIT_MS: f64 = 100.0;

/// Interval between polls. A poll itself takes a few milliseconds.
const LOOK_AGAIN: Duration = Duration::from_millis(4);

/// A change that is not visible within this time is lost.
const PATIENCE: Duration = Duration::from_secs(30);

/// Pause between two questions of the other client.
const THINKING: Duration = Duration::from_millis(50);

/// How long the names of one change may take to resolve, milliseconds.
const LAST_NAMES_MS: u64 = 300;

/// Headings asked.
const N_QUESTIONS: usize = 200;

const KINDS: [&str; 4] = ["create", "edit", "rename", "delete"];

/// Kinds of changes with the time each took, milliseconds beyond the debounce.
type Times = Vec<(&'static str, f64)>;

fn main() -> Result<()> {
    let mut arguments = support::arguments();
    let n_edits: usize =
        support::option(&mut arguments, "--edits").map_or(Ok(200), |n| n.parse())?;
    let n_bulk = support::option(&mut arguments, "--bulk").map_or(Ok(100_000), |n| n.parse())?;
    let [data] = arguments.as_slice() else {
        bail!("which data? hint: cargo bench -p tests --bench fresh -- DATA_DIR")
    };
    let project = support::daemon_with_notes(Path::new(data))?;
    let questions = headings(project.root())?;
    println!("changes, ms beyond the debounce (limit for p95: {LIMIT_MS}); questions, ms");
    let mut n_changes = 0;
    let mut next = |client: &mut Client| {
        n_changes += 1;
        change(&project, client, n_changes - 1)
    };
    std::thread::scope(|scope| -> Result<()> {
        let mut client = project.agent();
        let asking = Asking::start(scope, project.agent(), &questions);
        let times = (0..n_edits).map(|_| next(&mut client)).collect::<Result<Times>>()?;
        report("at rest", &times, &asking.end()?);

        let asking = Asking::start(scope, project.agent(), &questions);
        let started = Instant::now();
        let writing = scope.spawn(|| support::generated::write(project.root(), n_bulk));
        let mut times = Times::new();
        while !writing.is_finished() {
            times.push(next(&mut client)?);
        }
        writing.join().map_err(|_| anyhow!("the writing thread panicked"))??;
        let written = started.elapsed();
        report(&format!("while {n_bulk} files are written"), &times, &asking.end()?);

        let asking = Asking::start(scope, project.agent(), &questions);
        times.clear();
        let mut admin = Client::admin(&project.paths().socket);
        while times.len() < n_edits || !is_settled(&mut admin)? {
            times.push(next(&mut client)?);
            if started.elapsed() > support::SETTLE_LIMIT {
                bail!("not settled after {:?}", started.elapsed());
            }
        }
        report(&format!("while {n_bulk} files are read"), &times, &asking.end()?);
        println!(
            "  files written in {:.1} s, settled after {:.1} s; daemon {:.1} MiB, peak {:.1} MiB",
            written.as_secs_f64(),
            started.elapsed().as_secs_f64(),
            support::memory_mib(project.pid(), "VmRSS")?,
            support::memory_mib(project.pid(), "VmHWM")?
        );
        Ok(())
    })
}

fn is_settled(client: &mut Client) -> Result<bool> {
    let reply = client
        .call("wait", json!({"timeout_ms": LAST_NAMES_MS}))
        .map_err(|error| anyhow!("{error}"))?;
    Ok(reply["reached"] == true)
}

/// A client that asks one question after another until it is stopped.
struct Asking<'s> {
    stop: &'static AtomicBool,
    thread: Option<std::thread::ScopedJoinHandle<'s, Result<Vec<f64>>>>,
}

impl<'s> Asking<'s> {
    fn start<'e>(scope: &'s Scope<'s, 'e>, mut client: Client, questions: &'e [String]) -> Self {
        let stop: &AtomicBool = Box::leak(Box::default());
        let thread = scope.spawn(move || {
            let mut times = Vec::new();
            for question in questions.iter().cycle() {
                if stop.load(Ordering::Relaxed) {
                    break;
                }
                let started = Instant::now();
                let reply = client.call("hybrid_query", json!({"q": question}));
                reply.map_err(|error| anyhow!("`{question}`: {error}"))?;
                times.push(started.elapsed().as_secs_f64() * 1e3);
                std::thread::sleep(THINKING);
            }
            Ok(times)
        });
        Asking { stop, thread: Some(thread) }
    }

    fn end(mut self) -> Result<Vec<f64>> {
        self.stop.store(true, Ordering::Relaxed);
        let thread = self.thread.take().context("it has ended before")?;
        thread.join().map_err(|_| anyhow!("the asking thread panicked"))?
    }
}

/// Otherwise the scope would wait forever for the thread.
impl Drop for Asking<'_> {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

/// Returns headings of the notes, spread evenly.
fn headings(root: &Path) -> Result<Vec<String>> {
    let mut all = Vec::new();
    for (path, _) in support::files_below(root)? {
        let Ok(text) = std::fs::read_to_string(&path) else { continue };
        let headings = text.lines().filter_map(|line| line.strip_prefix("## "));
        all.extend(headings.filter(|it| it.len() >= 8).map(String::from));
    }
    let step = (all.len() / N_QUESTIONS).max(1);
    let some: Vec<String> = all.into_iter().step_by(step).collect();
    (!some.is_empty()).then_some(some).context("the notes have no headings")
}

fn report(when: &str, times: &Times, asked: &[f64]) {
    let all: Vec<f64> = times.iter().map(|(_, ms)| *ms).collect();
    println!("{when}: {}", spread(&all));
    for kind in KINDS {
        let of_kind: Vec<f64> =
            times.iter().filter(|(k, _)| *k == kind).map(|(_, ms)| *ms).collect();
        println!("  {kind:<8} {}", spread(&of_kind));
    }
    println!("  question {}", spread(asked));
    println!(
        "  {}",
        if percentile(&all, 0.95) <= LIMIT_MS { "within the limit" } else { "TOO SLOW" }
    );
}

/// Makes one change of the cycle create, edit, rename, delete of one file; returns its kind and the
/// time until a query shows it, minus the debounce.
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
    let shows = |hit: &Value| hit["snippet"].as_str().is_some_and(|snippet| snippet.contains(word));
    hits.iter().any(|hit| hit["path"] == path && shows(hit))
}
