//! Notes: cost of indexing, reading, searching and moving linked notes.
//!
//! `cargo bench -p tests --bench notes -- [NOTES] [LINKS]`: 10,000 and 50,000 by default. A real
//! `kgd` with the default debounce, without the deep pass, on generated notes; one MCP client, so
//! JSON, the text form and the socket are included. The first index is compared with the
//! unavoidable work, in the same run: parsing every note, and inserting its chunks into a bare FTS5
//! table.

#![allow(clippy::print_stdout, reason = "a bench prints its table")]

mod support;

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, Result, bail};
use config::Settings;
use rusqlite::{Connection, OpenFlags};
use serde_json::{Value, json};
use support::floor::bare_fts5;
use support::linked::{HUB, Linked, N_TO_HUB};
use support::{call, memory_mib, spread, wait};
use tests::{Client, TestProject};

/// Calls per tool.
const N_CALLS: usize = 200;

/// Limits: 95 of 100 answers within this many milliseconds, and a move within this many seconds.
const LIMIT_MS: f64 = 50.0;
const MOVE_LIMIT_SECONDS: f64 = 10.0;

/// The line that is appended to each note.
const LINE: &str = "- [change] The ninth lantern was added later #changed\n";

fn main() -> Result<()> {
    let arguments = support::arguments();
    let number = |at: usize, usual| arguments.get(at).map_or(Ok(usual), |it| it.parse());
    let (n_notes, n_links) = (number(0, 10_000)?, number(1, 50_000)?);
    let notes = Linked::new(n_notes, n_links);
    let mut project = TestProject::empty();
    notes.write(project.root())?;
    project.set(&format!("watch.debounce_ms={}", Settings::default().watch.debounce_ms));
    project.set("recognize.deep=false");
    indexing(&mut project, &notes)?;
    asking(&project, &notes)?;
    moving(&project)?;
    println!("the daemon holds {:.1} MiB", memory_mib(project.pid(), "VmRSS")?);
    Ok(())
}

/// Wall clock, CPU and commits of the daemon since the start of the measurement.
struct Cost {
    pid: u32,
    started: Instant,
    cpu: f64,
    tick: u64,
}

impl Cost {
    fn of(pid: u32, client: &mut Client) -> Result<Self> {
        let tick = tick(client)?;
        Ok(Cost { pid, started: Instant::now(), cpu: support::cpu_of_process(pid)?, tick })
    }

    /// Renders `1.2 s wall, 3.4 CPU s, 5 commits`.
    fn describe(&self, client: &mut Client) -> Result<String> {
        let wall = self.started.elapsed().as_secs_f64();
        let cpu = support::cpu_of_process(self.pid)? - self.cpu;
        Ok(format!("{wall:.2} s wall, {cpu:.2} CPU s, {} commits", tick(client)? - self.tick))
    }
}

fn tick(client: &mut Client) -> Result<u64> {
    call(client, "status", json!({}))?["tick"].as_u64().context("a tick")
}

fn indexing(project: &mut TestProject, notes: &Linked) -> Result<()> {
    let files = support::files_below(project.root())?;
    let megabytes = files.iter().map(|(_, n)| *n).sum::<u64>() as f64 / 1e6;
    let started = Instant::now();
    project.start();
    let mut client = Client::admin(&project.paths().socket);
    wait(&mut client)?;
    let (pid, wall) = (project.pid(), started.elapsed().as_secs_f64());
    let cpu = support::cpu_of_process(pid)?;
    let db = Connection::open_with_flags(&project.paths().index, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    let count = |sql: &str| -> Result<i64> { Ok(db.query_row(sql, [], |row| row.get(0))?) };
    println!(
        "{} files, {megabytes:.2} MB, {} links, {} of them to `{HUB}`, {} resolved, {} observations, {} entities",
        files.len(),
        count("SELECT count(*) FROM note_links")?,
        count(
            "SELECT count(*) FROM note_links WHERE dst = (SELECT id FROM docs WHERE path LIKE 'area-0/hub.md')"
        )?,
        count("SELECT count(*) FROM note_links WHERE dst IS NOT NULL")?,
        count("SELECT count(*) FROM observations")?,
        count("SELECT count(*) FROM entities")?,
    );
    println!(
        "first index: {wall:.2} s wall, {cpu:.2} CPU s, peak {:.1} MiB; index {:.1} MB",
        memory_mib(pid, "VmHWM")?,
        std::fs::metadata(&project.paths().index)?.len() as f64 / 1e6
    );
    let parsing = parse_all(&files)?;
    let bare = bare_fts5(&project.paths().index, project.scratch(), true)?;
    println!(
        "floor: {parsing:.3} CPU s to parse, {bare:.3} for a bare FTS5 insert: the index costs {:.1} times both",
        cpu / (parsing + bare)
    );

    let cost = Cost::of(pid, &mut client)?;
    for path in notes.paths() {
        OpenOptions::new().append(true).open(project.at(&path))?.write_all(LINE.as_bytes())?;
    }
    let written = cost.started.elapsed().as_secs_f64();
    rescan(&mut client)?;
    let n = count("SELECT count(*) FROM docs WHERE instr(text, 'ninth lantern') > 0")?;
    if n as usize != files.len() {
        bail!("{n} of {} files were indexed anew", files.len());
    }
    println!("a line added to each ({written:.1} s to write): {}", cost.describe(&mut client)?);

    let cost = Cost::of(pid, &mut client)?;
    let now = SystemTime::now();
    for path in notes.paths() {
        File::options().append(true).open(project.at(&path))?.set_modified(now)?;
    }
    rescan(&mut client)?;
    println!("only touched: {}", cost.describe(&mut client)?);
    Ok(())
}

/// Waits until every file change is indexed; for most of it first, because a single answer has a
/// time limit.
fn rescan(client: &mut Client) -> Result<()> {
    wait(client)?;
    call(client, "rescan", json!({}))?;
    Ok(())
}

/// Returns the CPU seconds of parsing every file as a note.
fn parse_all(files: &[(std::path::PathBuf, u64)]) -> Result<f64> {
    let texts: Vec<String> =
        files.iter().map(|(path, _)| std::fs::read_to_string(path)).collect::<Result<_, _>>()?;
    let before = support::cpu_of_thread()?;
    let n: usize = texts.iter().map(|text| notes::parse::parse(text).links.len()).sum();
    let cost = support::cpu_of_thread()? - before;
    if n == 0 {
        bail!("the parser finds no links");
    }
    Ok(cost)
}

fn asking(project: &TestProject, notes: &Linked) -> Result<()> {
    let mut client = Client::admin(&project.paths().socket);
    let sample: Vec<(String, String)> = notes.sample(N_CALLS).collect();
    println!("over the socket, milliseconds (limit for p95: {LIMIT_MS}):");
    type Arguments = Box<dyn Fn(&str, &str) -> Value>;
    let search = |more: Value| -> Arguments {
        Box::new(move |_, question| {
            let mut arguments = json!({"query": question});
            for (name, value) in more.as_object().into_iter().flatten() {
                arguments[name] = value.clone();
            }
            arguments
        })
    };
    let filter = json!({"status": "open", "priority": {"$gte": 4}});
    let all: [(&str, &str, Arguments); 11] = [
        ("backlinks", "backlinks", Box::new(|path, _| json!({"path": path}))),
        ("backlinks", "backlinks of the hub", Box::new(|_, _| json!({"path": HUB}))),
        (
            "build_context",
            "build_context, depth 1",
            Box::new(|path, _| json!({"path": path, "depth": 1})),
        ),
        (
            "build_context",
            "build_context, depth 2",
            Box::new(|path, _| json!({"path": path, "depth": 2})),
        ),
        (
            "build_context",
            "build_context of the hub",
            Box::new(|_, _| json!({"path": HUB, "depth": 2})),
        ),
        ("read_note", "read_note", Box::new(|path, _| json!({"path": path}))),
        ("search_notes", "search_notes, fts", search(json!({"search_type": "fts"}))),
        ("search_notes", "search_notes, vector", search(json!({"search_type": "vector"}))),
        ("search_notes", "search_notes, hybrid", search(json!({}))),
        ("search_notes", "search_notes, filter", search(json!({"metadata_filters": filter}))),
        (
            "list_directory",
            "list_directory",
            Box::new(|path, _| json!({"path": path.split('/').next(), "depth": 1})),
        ),
    ];
    for (tool, name, arguments) in &all {
        // The first round warms the page cache and the prepared statements.
        for round in 0..2 {
            let mut times = Vec::new();
            for (path, question) in &sample {
                let arguments = arguments(path, question);
                let started = Instant::now();
                call(&mut client, tool, arguments)?;
                times.push(started.elapsed().as_secs_f64() * 1e3);
            }
            if round == 1 {
                let is_late = support::percentile(&times, 0.95) > LIMIT_MS;
                println!("  {name:<26} {}{}", spread(&times), if is_late { "  LATE" } else { "" });
            }
        }
    }
    Ok(())
}

/// Renames the hub, so that every link to it is rewritten.
fn moving(project: &TestProject) -> Result<()> {
    let mut client = Client::admin(&project.paths().socket);
    wait(&mut client)?;
    for is_dry in [true, false] {
        let cost = Cost::of(project.pid(), &mut client)?;
        let arguments = json!({"path": HUB, "destination": "archive/center.md", "dry_run": is_dry});
        let reply = call(&mut client, "move_note", arguments)?;
        let what = if is_dry { "dry run" } else { "done" };
        let n = reply["rewritten"].as_array().map(Vec::len).context("files")?;
        let is_late = cost.started.elapsed() > Duration::from_secs_f64(MOVE_LIMIT_SECONDS);
        println!(
            "move of a note with {N_TO_HUB} backlinks, {what}: {}, {n} files rewritten{}",
            cost.describe(&mut client)?,
            if is_late { "  LATE" } else { "" }
        );
    }
    wait(&mut client)?;
    Ok(())
}
