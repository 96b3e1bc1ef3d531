//! Hub: what it costs to publish many projects of real text, what they take in PostgreSQL, and how fast a front end
//! answers whoever may see 1, 50 and all of them.
//!
//! `cargo bench -p tests --bench hub -- --chunks N [--projects 1000] [--published 1000] [--minutes M]
//! [--readers 1,50,1000] [--questions 40] [--bit] FOLDER...`
//! Files below the folders are dealt into parts of N / projects chunks at about; each part is indexed once, and its
//! rows are published by the same code as a daemon's, as often as it takes, each time as a project of its own; those
//! beyond `--published` are copies of these that PostgreSQL makes (`INSERT … SELECT`: the same rows under another
//! project's number), until M minutes are over. So text repeats from project to project, never within one. `--bit`: the
//! front end keeps a bit a dimension in memory.
//! A question names no project. It is asked until every project that fits best has answered, which copies them; then
//! all are asked again and measured; an answer that lacks a project in time counts, and is shown. Choosing projects is
//! measured by itself, too, over the front end's control socket.
//! Not measured: networks; several front ends at once.

#![allow(clippy::print_stdout, reason = "a bench prints its table")]

#[allow(dead_code, reason = "tests use all of it")]
#[path = "../it/hub/postgres.rs"]
mod postgres;
mod support;

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, ensure};
use config::settings::Publish;
use config::{Places, Settings};
use hub::{Address, Grant, Hub, Publisher, Settled};
use index::store::{Readers, open_for_reading};
use postgres::Postgres;
use proto::fit::{Fit, Fitting};
use serde_json::{Value, json};
use support::Scratch;
use tests::{Agent, SharedHome};
use tokio::runtime::Runtime;

/// Characters of a chunk, about: by these files are dealt.
const CHUNK_BYTES: usize = 1_000;

/// Most parts; further text is left out.
const MAX_PARTS: usize = 10;

/// Part of the text that is indexed once.
struct Part {
    scratch: Scratch,
    n_chunks: u64,
    n_windows: u64,
}

fn main() -> Result<()> {
    let mut arguments = support::arguments();
    let mut number = |name: &str, usual: usize| {
        support::option(&mut arguments, name).map_or(Ok(usual), |n| n.parse())
    };
    let n_chunks = number("--chunks", 100_000)?;
    let (mut n_projects, n_questions) = (number("--projects", 1_000)?, number("--questions", 40)?);
    let (n_published, minutes) = (number("--published", 1_000)?, number("--minutes", 60)?);
    let readers = support::option(&mut arguments, "--readers").unwrap_or("1,50,1000".to_string());
    let is_bit = support::flag(&mut arguments, "--bit");
    ensure!(
        !arguments.is_empty(),
        "which folders? hint: cargo bench -p tests --bench hub -- FOLDER"
    );
    let runtime = support::runtime()?;
    let parts = parts(&runtime, &arguments, n_chunks / n_projects)?;
    let db = Postgres::start().context("no PostgreSQL")?;
    let owner = Address::parse(&db.url("admin"), &Publish::default())?;
    let mut owner = runtime.block_on(async {
        let mut hub = owner.connect_as_owner().await?;
        hub::migrate(&mut hub).await.map(|_| hub)
    })?;
    db.sql("CREATE ROLE pub LOGIN");
    let mut n = publish_all(
        &runtime,
        &db,
        &mut owner,
        &parts,
        n_projects.min(n_published.max(parts.len())),
    )?;
    let until = Instant::now() + Duration::from_secs(60 * minutes as u64);
    let (begun, before) = (Instant::now(), n);
    for number in n_published.max(parts.len())..n_projects {
        if Instant::now() > until {
            n_projects = number;
            break;
        }
        db.copy_project(&name(number % parts.len()), &name(number));
        n += parts[number % parts.len()].n_chunks;
    }
    println!(
        "{} chunks more by copies in PostgreSQL, {:.0} s",
        n - before,
        begun.elapsed().as_secs_f64()
    );
    sizes(&db, n);
    let questions = questions(&parts, n_questions)?;
    for n_readable in readers.split(',').map(str::parse) {
        let n_readable = n_projects.min(n_readable?);
        let role = format!("reader{n_readable}");
        db.sql(&format!("CREATE ROLE {role} LOGIN"));
        for n in 0..n_readable {
            let grant = Grant { project: name(n), role: role.clone(), publish: false };
            runtime.block_on(hub::grant(&mut owner, &grant))?;
        }
        let windows = (0..n_readable).map(|n| parts[n % parts.len()].n_windows).sum();
        if let Err(error) = read(&db.url(&role), n_readable, windows, &questions, is_bit) {
            println!("{n_readable} projects: {error:#}");
        }
    }
    Ok(())
}

fn name(n: usize) -> String {
    format!("p{n:04}")
}

/// Deals the files below the folders into parts, and indexes each.
fn parts(runtime: &Runtime, folders: &[String], chunks_each: usize) -> Result<Vec<Part>> {
    let texts = support::pages::texts(folders)?;
    let mut texts = texts.iter().peekable();
    let begun = Instant::now();
    let mut parts = Vec::new();
    while parts.len() < MAX_PARTS {
        let (scratch, mut n_bytes, mut n) = (Scratch::new()?, 0, 0);
        while let Some(text) = texts
            .next_if(|text| n_bytes == 0 || n_bytes + text.len() / 2 <= chunks_each * CHUNK_BYTES)
        {
            std::fs::write(scratch.notes().join(format!("page-{n}.md")), text)?;
            (n_bytes, n) = (n_bytes + text.len(), n + 1);
        }
        // The last one would be smaller.
        if texts.peek().is_none() && !parts.is_empty() {
            break;
        }
        ensure!(n > 0, "no text below {folders:?}");
        runtime.block_on(async {
            let project =
                support::open_settled(&scratch.notes(), &scratch.state(), Settings::default())
                    .await?;
            project.drain(Duration::from_secs(60)).await;
            Ok::<_, anyhow::Error>(())
        })?;
        let db = open_for_reading(&scratch.state().join("index.sqlite"))?;
        let count = |table: &str| -> Result<u64> {
            let sql = format!("SELECT count(*) FROM {table}");
            Ok(db.query_row(&sql, [], |row| row.get::<_, i64>(0))? as u64)
        };
        let (n_chunks, n_windows) = (count("chunks")?, count("windows")?);
        parts.push(Part { scratch, n_chunks, n_windows });
    }
    let all: u64 = parts.iter().map(|it| it.n_chunks).sum();
    println!(
        "{} parts, {all} chunks, indexed once in {:.0} s",
        parts.len(),
        begun.elapsed().as_secs_f64()
    );
    Ok(parts)
}

/// Publishes; returns how many chunks.
fn publish_all(
    runtime: &Runtime,
    db: &Postgres,
    owner: &mut Hub,
    parts: &[Part],
    n_projects: usize,
) -> Result<u64> {
    let address = Address::parse(&db.url("pub"), &Publish::default())?;
    let settled = Settled { settings: "{}".to_string(), predicates: None };
    let (mut n_chunks, mut n_rows, mut took) = (0, 0, Vec::new());
    let (begun, cpu_before) = (Instant::now(), support::cpu_of_process(std::process::id())?);
    for n in 0..n_projects {
        let part = &parts[n % parts.len()];
        let grant = Grant { project: name(n), role: "pub".to_string(), publish: true };
        runtime.block_on(hub::grant(owner, &grant))?;
        let (state, started) = (part.scratch.state(), Instant::now());
        let readers = Readers::new(state.join("index.sqlite"));
        let mut publisher = Publisher::new(address.clone(), &name(n), &state, false)?;
        n_rows += publisher.round(runtime.handle(), &readers, &state, &settled)?.n_rows;
        took.push(started.elapsed().as_secs_f64() * 1e3);
        n_chunks += part.n_chunks;
        if (n + 1) % 100 == 0 {
            let seconds = begun.elapsed().as_secs_f64();
            println!("{} projects, {n_chunks} chunks, {n_rows} rows in {seconds:.0} s", n + 1);
        }
    }
    let seconds = begun.elapsed().as_secs_f64();
    let cpu = support::cpu_of_process(std::process::id())? - cpu_before;
    println!(
        "published: {n_chunks} chunks, {n_rows} rows in {seconds:.0} s: {:.0} chunks a second; the publisher's CPU \
         {cpu:.0} s; ms a project {}",
        n_chunks as f64 / seconds,
        support::spread(&took)
    );
    Ok(n_chunks)
}

fn sizes(db: &Postgres, n_chunks: u64) {
    let size = |sql: &str| db.sql(sql).parse::<f64>().unwrap_or(0.0);
    let all = "FROM pg_class WHERE relnamespace = 'kg'::regnamespace AND relkind = 'r'";
    let bytes = size(&format!("SELECT sum(pg_total_relation_size(oid)) {all}"));
    let indexes = size(&format!("SELECT sum(pg_indexes_size(oid)) {all}"));
    println!(
        "PostgreSQL: {:.0} MB, {:.0} bytes a chunk, of these indexes {:.0}",
        bytes / 1e6,
        bytes / n_chunks as f64,
        indexes / n_chunks as f64
    );
    let each = format!(
        "SELECT relname || ' ' || pg_total_relation_size(oid) / {n_chunks} {all}
         ORDER BY pg_total_relation_size(oid) DESC LIMIT 8"
    );
    println!("bytes a chunk: {}", db.sql(&each).replace('\n', ", "));
}

/// Section titles.
fn questions(parts: &[Part], most: usize) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for part in parts {
        let db = open_for_reading(&part.scratch.state().join("index.sqlite"))?;
        let sql = "SELECT DISTINCT section FROM chunks WHERE length(section) BETWEEN 8 AND 200 ORDER BY hash LIMIT ?1";
        let mut statement = db.prepare(sql)?;
        let rows = statement
            .query_map([(most / parts.len() + 1) as i64], |row| row.get::<_, String>(0))?;
        for row in rows {
            found.push(row?.replace('›', " "));
        }
    }
    found.truncate(most);
    Ok(found)
}

/// Asks as an agent over `n` projects does.
fn read(url: &str, n: usize, n_windows: u64, questions: &[String], is_bit: bool) -> Result<()> {
    let home = SharedHome::of(&[]);
    if is_bit {
        let file = home.at("config/config.yaml");
        let text = std::fs::read_to_string(&file)? + "vectors: {precision: bit}\n";
        std::fs::write(file, text)?;
    }
    let mut agent = home.agent("", &["--hub", url]);
    let front = Front::of(&home, url)?;
    let memory = |line: &str| support::memory_mib(front.pid, line);
    let begun = Instant::now();
    agent
        .call("entity_lookup", json!({"q": "nobody"}))
        .map_err(|error| anyhow!("first call: {error}"))?;
    println!(
        "{n} projects, {n_windows} windows: first call, which fetches outlines, {:.1} s; front end {:.0} MiB",
        begun.elapsed().as_secs_f64(),
        memory("VmRSS")?
    );
    let (begun, mut n_late) = (Instant::now(), 0);
    for q in questions {
        loop {
            let reply = agent.call("hybrid_query", json!({"q": q, "k": 10}));
            let reply = reply.map_err(|error| anyhow!("{q}: {error}"))?;
            if reply["unavailable"].is_null() {
                break;
            }
            n_late += 1;
            ensure!(n_late < 10 * questions.len(), "{reply}");
        }
    }
    println!(
        "{n} projects: {} questions asked for the first time in {:.1} s, {n_late} answers without all projects; on \
         disk {:.0} MB",
        questions.len(),
        begun.elapsed().as_secs_f64(),
        support::files_below(&front.state)?.iter().map(|(_, n)| n).sum::<u64>() as f64 / 1e6
    );
    for (name, formula) in
        [("text", json!("text")), ("vector", json!("vector")), ("hybrid", Value::Null)]
    {
        let cpu_before = support::cpu_of_process(front.pid)?;
        let (times, n_late) = ask_all(&mut agent, questions, &formula)?;
        let cpu = (support::cpu_of_process(front.pid)? - cpu_before) * 1e3 / times.len() as f64;
        println!(
            "{n} projects, {name}: ms {}; {n_late} answers without all projects; CPU {cpu:.0} ms a question",
            support::spread(&times)
        );
    }
    let cpu_before = support::cpu_of_process(front.pid)?;
    let mut times = Vec::new();
    for q in questions {
        let started = Instant::now();
        front.choose(q)?;
        times.push(started.elapsed().as_secs_f64() * 1e3);
    }
    let cpu = (support::cpu_of_process(front.pid)? - cpu_before) * 1e3 / times.len() as f64;
    println!("{n} projects, choosing: ms {}; CPU {cpu:.0} ms a question", support::spread(&times));
    println!(
        "{n} projects: front end {:.0} MiB, at most {:.0}",
        memory("VmRSS")?,
        memory("VmHWM")?
    );
    Ok(())
}

/// The milliseconds of each question, and how many answers lacked a project.
fn ask_all(agent: &mut Agent, questions: &[String], formula: &Value) -> Result<(Vec<f64>, usize)> {
    let (mut times, mut n_late) = (Vec::new(), 0);
    for q in questions {
        let started = Instant::now();
        let reply = agent.call("hybrid_query", json!({"q": q, "k": 10, "formula": formula}));
        let reply = reply.map_err(|error| anyhow!("{q}: {error}"))?;
        times.push(started.elapsed().as_secs_f64() * 1e3);
        n_late += usize::from(!reply["unavailable"].is_null());
    }
    Ok((times, n_late))
}

/// A front end, which ends with this.
struct Front {
    pid: u32,
    /// Its folder.
    state: PathBuf,
    /// Where it is asked which projects fit.
    socket: PathBuf,
}

impl Front {
    fn of(home: &SharedHome, url: &str) -> Result<Self> {
        let at = |name: &str| home.at(name);
        let places = Places { state: at("state"), runtime: at("run"), config: at("config") };
        let places = places.of_hub(url);
        let control = places.project(&places.front())?;
        let lock = std::fs::read_to_string(control.lock)?;
        let pid = lock.split_whitespace().next().context("a process")?.parse()?;
        ensure!(Path::new(&format!("/proc/{pid}")).exists(), "the front end is gone");
        Ok(Front { pid, state: places.state, socket: control.socket })
    }

    /// Has it choose projects for a question.
    fn choose(&self, q: &str) -> Result<()> {
        let mut stream = UnixStream::connect(&self.socket)?;
        let fit = Fit { question: q.to_string(), names: Vec::new(), most: 16 };
        writeln!(stream, "{}", serde_json::to_string(&fit)?)?;
        let mut line = String::new();
        BufReader::new(stream).read_line(&mut line)?;
        let chosen: Fitting = serde_json::from_str(&line)?;
        ensure!(!chosen.projects.is_empty(), "nothing was chosen");
        Ok(())
    }
}

impl Drop for Front {
    fn drop(&mut self) {
        let _ = Command::new("kill").arg(self.pid.to_string()).status();
        while Path::new(&format!("/proc/{}/exe", self.pid)).exists() {
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}
