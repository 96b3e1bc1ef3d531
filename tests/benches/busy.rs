//! Busy: latency of a save, and of the tools that write, during other work.
//!
//! `cargo bench -p tests --bench busy -- DATA_DIR [--large 60] [--writers 32] [--bulk 20000]
//! [--seconds 120]`
//! A real `kgd` with the default debounce on the notes of DATA_DIR. First, saves of a known note:
//! at rest, and right after `--large` files of .8 MB were copied in (milliseconds beyond the
//! debounce). Then `--writers` clients that write notes, edit them and store entries, at rest and
//! while `--bulk` new files are indexed (milliseconds per call), and saves of the known note beside
//! them.

#![allow(clippy::print_stdout, reason = "a bench prints its table")]

mod support;

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow, bail};
use serde_json::{Value, json};
use support::spread;
use tests::{Client, TestProject};

/// Size of a large file, bytes.
const LARGE_BYTES: usize = 800_000;

/// Saves at rest.
const N_SAVES: usize = 40;

/// A save that is not found within this time is lost.
const PATIENCE: Duration = Duration::from_secs(120);

/// Pause between two calls of one writer, milliseconds: a model thinks longer.
const THINKING_MS: u64 = 250;

const KNOWN: &str = "quiet/known.md";

fn main() -> Result<()> {
    let mut arguments = support::arguments();
    let mut number = |name: &str, otherwise: usize| -> Result<usize> {
        Ok(support::option(&mut arguments, name).map_or(Ok(otherwise), |n| n.parse())?)
    };
    let n_large = number("--large", 60)?;
    let n_writers = number("--writers", 32)?;
    let n_bulk = number("--bulk", 20_000)?;
    let seconds = Duration::from_secs(number("--seconds", 120)? as u64);
    let [data] = arguments.as_slice() else {
        bail!("DATA_DIR is missing\nhint: cargo bench -p tests --bench busy -- DATA_DIR")
    };
    let project = support::daemon_with_notes(Path::new(data))?;
    project.write(KNOWN, "# Known\n\nA note that is saved again and again.\n");
    let mut client = Client::admin(&project.paths().socket);
    settle(&mut client)?;

    println!("a save of a known note, ms beyond the debounce");
    let mut n_saved = 0;
    let mut save = |client: &mut Client| {
        n_saved += 1;
        saved(&project, client, n_saved)
    };
    let rest: Vec<f64> = (0..N_SAVES).map(|_| save(&mut client)).collect::<Result<_>>()?;
    println!("  at rest: {}", spread(&rest));
    let n_before = n_documents(&mut client)?;
    copy_in(&project, n_large)?;
    let (mut behind, mut read_after) = (Vec::new(), None);
    let started = Instant::now();
    while started.elapsed() < PATIENCE && (behind.is_empty() || !is_settled(&mut client)?) {
        behind.push(save(&mut client)?);
        if read_after.is_none() && n_documents(&mut client)? == n_before + n_large as u64 {
            read_after = Some(started.elapsed().as_secs_f64());
        }
    }
    let read_after = read_after.map_or("never".into(), |it| format!("after {it:.1} s"));
    println!("  behind {n_large} files of .8 MB (searchable {read_after}): {}", spread(&behind));

    println!("{n_writers} clients that write, ms a call");
    let (times, _) = write_until(&project, n_writers, seconds / 4, &mut || Ok(0.0))?;
    report("at rest", &times);
    support::generated::write(project.root(), n_bulk)?;
    let (times, beside) = write_until(&project, n_writers, seconds, &mut || save(&mut client))?;
    report(&format!("while {n_bulk} files are indexed"), &times);
    println!("  a save of the known note beside them: {}", spread(&beside));
    println!(
        "daemon {:.1} MiB, peak {:.1} MiB",
        support::memory_mib(project.pid(), "VmRSS")?,
        support::memory_mib(project.pid(), "VmHWM")?
    );
    Ok(())
}

fn settle(client: &mut Client) -> Result<()> {
    let reply = client.call("wait", json!({"timeout_ms": 600_000}));
    reply.map(|_| ()).map_err(|error| anyhow!("{error}"))
}

fn is_settled(client: &mut Client) -> Result<bool> {
    let reply = client.call("wait", json!({"timeout_ms": 1}));
    Ok(reply.map_err(|error| anyhow!("{error}"))?["reached"] == true)
}

fn n_documents(client: &mut Client) -> Result<u64> {
    let reply = client.call("status", json!({})).map_err(|error| anyhow!("{error}"))?;
    reply["counts"]["documents"].as_u64().ok_or_else(|| anyhow!("status counts no documents"))
}

/// Saves the known note with a new word; returns the milliseconds beyond the debounce until the
/// word is found.
fn saved(project: &TestProject, client: &mut Client, n: usize) -> Result<f64> {
    let word = format!("qzknown{n}save");
    project.write(KNOWN, format!("# Known\n\nThe word of this save is {word}.\n"));
    let started = Instant::now();
    let debounce_ms = config::Settings::default().watch.debounce_ms as f64;
    loop {
        let reply = client.call("hybrid_query", json!({"q": word, "k": 1, "formula": "text"}));
        let reply = reply.map_err(|error| anyhow!("{error}"))?;
        if reply["chunks"][0]["snippet"].as_str().is_some_and(|it| it.contains(&word)) {
            return Ok(started.elapsed().as_secs_f64() * 1e3 - debounce_ms);
        }
        if started.elapsed() > PATIENCE {
            bail!("save {n} was not found within {PATIENCE:?}");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Copies large files in at once, each made of joined notes.
fn copy_in(project: &TestProject, n_files: usize) -> Result<()> {
    let mut texts = Vec::new();
    for (path, _) in support::files_below(project.root())? {
        texts.extend(std::fs::read_to_string(path).ok().filter(|it| !it.is_empty()));
    }
    let mut texts = texts.iter().cycle();
    let aside = project.scratch().join("aside");
    std::fs::create_dir(&aside)?;
    for n in 0..n_files {
        let mut text = format!("# Large {n}\n\n");
        while text.len() < LARGE_BYTES {
            // Distinct paragraphs: otherwise they would be indexed once.
            let next = texts.next().map(String::as_str).unwrap_or("nothing");
            text.push_str(&next.replace(". ", &format!(" in volume {n}. ")));
            text.push_str("\n\n");
        }
        std::fs::write(aside.join(format!("{n}.md")), text)?;
    }
    Ok(std::fs::rename(aside, project.at("large"))?)
}

type Times = Vec<(&'static str, f64)>;

/// Runs clients that write, and calls `save` beside them, for some time; returns the times of both.
fn write_until(
    project: &TestProject,
    n_writers: usize,
    most: Duration,
    save: &mut dyn FnMut() -> Result<f64>,
) -> Result<(Times, Vec<f64>)> {
    let started = Instant::now();
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..n_writers)
            .map(|i| {
                scope.spawn(move || -> Result<Times> {
                    let mut client = Client::admin(&project.paths().socket);
                    let mut times = Times::new();
                    while started.elapsed() < most {
                        times.push(one_call(&mut client, i, times.len())?);
                        std::thread::sleep(Duration::from_millis(THINKING_MS));
                    }
                    Ok(times)
                })
            })
            .collect();
        let mut saves = Vec::new();
        while started.elapsed() < most {
            saves.push(save()?);
            std::thread::sleep(Duration::from_millis(THINKING_MS));
        }
        let mut all = Times::new();
        for writer in writers {
            all.extend(writer.join().map_err(|_| anyhow!("a writer panicked"))??);
        }
        Ok((all, saves))
    })
}

/// Makes the next call of one writer: a new note, an edit of its own last one, or a new entry.
fn one_call(client: &mut Client, writer: usize, n: usize) -> Result<(&'static str, f64)> {
    let kind = ["write_note", "edit_note", "kb_store"][n % 3];
    let stamp = format!("{}-{writer}-{}", std::process::id(), n / 3);
    let (title, directory) = (format!("Busy {stamp}"), format!("own{writer}"));
    let arguments: Value = match kind {
        "write_note" => json!({"title": title, "content": "First line.", "directory": directory,
            "overwrite": true}),
        "edit_note" => json!({"path": format!("{directory}/{title}.md"), "operation": "append",
            "content_updates": "Another line.\n"}),
        _ => json!({"short_title": title, "knowledge_details": "What a writer has learned."}),
    };
    let started = Instant::now();
    client.call(kind, arguments).map_err(|error| anyhow!("{kind}: {error}"))?;
    Ok((kind, started.elapsed().as_secs_f64() * 1e3))
}

fn report(when: &str, times: &Times) {
    println!("  {when}");
    for kind in ["write_note", "edit_note", "kb_store"] {
        let of_kind: Vec<f64> =
            times.iter().filter(|(k, _)| *k == kind).map(|(_, ms)| *ms).collect();
        println!("    {kind:<10} {}", spread(&of_kind));
    }
}
