//! Crowd: many clients that ask, some that write and decide, and a folder that is ingested
//! meanwhile.
//!
//! In: a running daemon, the numbers of each, and when to stop. Out: a [`Report`].
//! Every reply is checked: it is not an error; its tick is not older than the previous one on that
//! connection; it equals every other reply to the same request at the same tick; everything that it
//! shows of one document has one version; and a confirmed write is visible to every client from
//! then on.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use serde_json::{Value, json};

use crate::{Client, TestProject};

mod documents;
mod judge;
mod rude;

use documents::{bulk, requests, seeds, written};
use judge::Judge;

/// Files written in one step, before waiting for them.
const BULK_STEP: usize = 500;

/// Files that may still be unindexed when more are written.
const MAX_BACKLOG: u64 = 250;

/// Most complaints kept; the first are the most useful.
const MAX_COMPLAINTS: usize = 20;

/// Longest part of a complaint that is kept, characters.
const MAX_COMPLAINT_CHARS: usize = 1_500;

/// The numbers of clients and files.
#[derive(Debug, Clone, Copy)]
pub struct Crowd {
    /// Clients that ask.
    pub n_askers: usize,
    /// Clients that write a document, have it ingested, query it, and decide about a relation, in
    /// turn.
    pub n_writers: usize,
    /// Clients that flood, fall silent, break off and vanish, repeatedly.
    pub n_rude: usize,
    /// Files of the folder that is ingested meanwhile.
    pub n_bulk: usize,
}

/// The results.
#[derive(Debug, Default)]
pub struct Report {
    /// Milliseconds of every call, by tool.
    pub times: BTreeMap<String, Vec<f64>>,
    /// Replies that were compared with another of the same request and tick.
    pub n_compared: usize,
    /// Distinct ticks in replies.
    pub n_ticks: usize,
    /// Replies that showed a document with several versions.
    pub n_versioned: usize,
    /// Documents that writers wrote and found again.
    pub n_written: usize,
    /// Decisions that writers made and then saw.
    pub n_decided: usize,
    /// Visits of rude clients.
    pub n_rude: usize,
    /// Files of the folder that were written.
    pub n_bulk: usize,
    /// What went wrong, limited to the first cases.
    pub complaints: Vec<String>,
}

/// State shared by all threads.
struct Stage<'a> {
    project: &'a TestProject,
    judge: Judge,
    report: Mutex<Report>,
    is_over: AtomicBool,
    n_bulk: AtomicUsize,
}

impl Stage<'_> {
    fn complain(&self, why: String) {
        let mut report = self.report.lock().unwrap_or_else(PoisonError::into_inner);
        if report.complaints.len() < MAX_COMPLAINTS {
            report.complaints.push(why.chars().take(MAX_COMPLAINT_CHARS).collect());
        }
    }

    fn count(&self, what: impl FnOnce(&mut Report)) {
        what(&mut self.report.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

/// One connection, all of whose replies are checked.
struct Guest<'a> {
    stage: &'a Stage<'a>,
    client: Client,
    last_tick: u64,
    times: BTreeMap<String, Vec<f64>>,
}

impl<'a> Guest<'a> {
    fn new(stage: &'a Stage<'a>, client: Client) -> Self {
        Guest { stage, client, last_tick: 0, times: BTreeMap::new() }
    }

    /// Calls a tool; `None` if it failed, which is recorded as a complaint.
    fn call(&mut self, tool: &str, arguments: &Value) -> Option<Value> {
        let started = Instant::now();
        let reply = self.client.call(tool, arguments.clone());
        let times = self.times.entry(tool.to_string()).or_default();
        times.push(started.elapsed().as_secs_f64() * 1e3);
        let reply = match reply {
            Ok(reply) => reply,
            Err(error) => {
                self.stage.complain(format!("{tool} {arguments}: {error}"));
                return None;
            }
        };
        let tick = reply["tick"].as_u64().unwrap_or(0);
        if tick < self.last_tick {
            let before = self.last_tick;
            self.stage.complain(format!("{tool} {arguments}: tick {tick} after {before}"));
        }
        self.last_tick = tick;
        if let Err(why) = self.stage.judge.look(tool, arguments, &reply) {
            self.stage.complain(format!("{tool} {arguments} at tick {tick}: {why}"));
        }
        Some(reply)
    }
}

impl Drop for Guest<'_> {
    fn drop(&mut self) {
        let times = std::mem::take(&mut self.times);
        self.stage.count(|report| {
            for (tool, times) in times {
                report.times.entry(tool).or_default().extend(times);
            }
        });
    }
}

impl Crowd {
    /// Writes the documents that are asked about and has them indexed.
    pub fn prepare(&self, project: &mut TestProject) {
        for (path, text) in seeds(self.n_writers) {
            project.write(&path, text);
        }
        for writer in 0..self.n_writers {
            let (path, text) = written(writer, 0);
            project.write(&path, text);
        }
        project.start();
        project.settle();
    }

    /// Lets every client run rounds until `is_enough` returns true for its number of rounds; then
    /// all stop together. Askers, writers and the folder each continue until they have had enough.
    pub fn run(&self, project: &TestProject, is_enough: impl Fn(usize) -> bool + Sync) -> Report {
        let stage = Stage {
            project,
            judge: Judge::default(),
            report: Mutex::default(),
            is_over: AtomicBool::new(false),
            n_bulk: AtomicUsize::new(0),
        };
        std::thread::scope(|scope| {
            let (stage, is_enough) = (&stage, &is_enough);
            scope.spawn(move || ingest(stage, self.n_bulk));
            for rude in 0..self.n_rude {
                scope.spawn(move || rude::misbehave(stage, rude));
            }
            let askers =
                (0..self.n_askers).map(|asker| scope.spawn(move || ask(stage, asker, is_enough)));
            let writers = (0..self.n_writers)
                .map(|writer| scope.spawn(move || write(stage, writer, is_enough)));
            for thread in askers.chain(writers).collect::<Vec<_>>() {
                if thread.join().is_err() {
                    stage.complain("a client of the crowd panicked: see above".to_string());
                }
            }
            stage.is_over.store(true, Ordering::SeqCst);
        });
        let mut report = stage.report.into_inner().unwrap_or_else(PoisonError::into_inner);
        report.n_bulk = stage.n_bulk.into_inner();
        (report.n_compared, report.n_ticks, report.n_versioned) = stage.judge.numbers();
        report
    }
}

/// Sends one request after another, each asker in its own order.
fn ask(stage: &Stage<'_>, asker: usize, is_enough: impl Fn(usize) -> bool) {
    let requests = requests();
    // One in eight is `kgctl`, which may dump; the others are agents.
    let is_admin = asker.is_multiple_of(8);
    let client = match is_admin {
        true => Client::admin(&stage.project.paths().socket),
        false => stage.project.agent(),
    };
    let mut guest = Guest::new(stage, client);
    let mut round = 0;
    while !is_enough(round) {
        let (tool, arguments) = &requests[(asker + round * (1 + asker % 3)) % requests.len()];
        guest.call(tool, arguments);
        if is_admin && round.is_multiple_of(4) {
            guest.call("dump", &json!({"limit": 200}));
        }
        round += 1;
    }
}

/// Writes a document, has it ingested, and searches for it over another connection; then decides
/// about a relation, and checks that.
fn write(stage: &Stage<'_>, writer: usize, is_enough: impl Fn(usize) -> bool) {
    let mut hand = Guest::new(stage, stage.project.agent());
    let mut eye = Guest::new(stage, stage.project.agent());
    let mut round = 0;
    while !is_enough(round) {
        round += 1;
        save_and_find(stage, &mut hand, &mut eye, writer, round);
        decide_and_see(stage, &mut hand, &mut eye, writer);
    }
}

fn save_and_find(
    stage: &Stage<'_>,
    hand: &mut Guest<'_>,
    eye: &mut Guest<'_>,
    writer: usize,
    version: usize,
) {
    let (path, text) = written(writer, version);
    replace(stage.project, &path, &text);
    let mut arguments = json!({"paths": [path]});
    if version.is_multiple_of(3) {
        arguments["tags"] = json!(["desk", format!("edition-{version}")]);
    }
    let Some(reply) = hand.call("ingest_docs", &arguments) else { return };
    if reply["errors"].as_array().is_none_or(|errors| !errors.is_empty()) {
        stage.complain(format!("{path}: {reply}"));
    }
    let question = json!({"q": format!("ledger of desk {writer}"), "path": path, "k": 5});
    let Some(reply) = eye.call("hybrid_query", &question) else { return };
    let seen = judge::versions(&reply).get(&path).cloned().unwrap_or_default();
    if seen.iter().copied().ne([version]) {
        stage.complain(format!(
            "{path}: version {version} is ingested, but {seen:?} is found: {reply}"
        ));
    }
    stage.count(|report| report.n_written += 1);
}

/// Replaces a file as an editor does: a reader sees the old file or the new one.
fn replace(project: &TestProject, path: &str, text: &str) {
    let whole = project.at(path);
    let draft = whole.with_file_name(format!(".{}.draft", path.replace('/', "-")));
    let done = std::fs::write(&draft, text).and_then(|()| std::fs::rename(&draft, &whole));
    done.expect("the folder can be written");
}

fn decide_and_see(stage: &Stage<'_>, hand: &mut Guest<'_>, eye: &mut Guest<'_>, writer: usize) {
    let key = documents::relation_key(writer);
    let asked = json!({"name": format!("Mooring {writer}")});
    for (verdict, is_shown) in [("reject", false), ("undo", true)] {
        if hand.call("review_links", &json!({ verdict: [key] })).is_none() {
            return;
        }
        let Some(reply) = eye.call("explain_entity", &asked) else { return };
        let relations = reply["relations"].as_array().cloned().unwrap_or_default();
        // The link itself is stated, and stays.
        let object = format!("Bollard {writer}");
        let is_it = |row: &Value| row["predicate"] == "depends_on" && row["object"] == *object;
        if relations.iter().any(is_it) != is_shown {
            stage.complain(format!("after {verdict} of {key}: {reply}"));
        }
        stage.count(|report| report.n_decided += 1);
    }
}

/// Writes the files of the folder, some at a time, so that there is always something to read.
fn ingest(stage: &Stage<'_>, n_files: usize) {
    let mut guest = Guest::new(stage, Client::admin(&stage.project.paths().socket));
    for file in 0..n_files {
        let (path, text) = bulk(file, n_files);
        stage.project.write(&path, text);
        stage.n_bulk.fetch_add(1, Ordering::SeqCst);
        if !file.is_multiple_of(BULK_STEP) || file == 0 {
            continue;
        }
        // Waits for commits, not for time.
        while !stage.is_over.load(Ordering::SeqCst) {
            let Some(status) = guest.call("status", &json!({})) else { return };
            let indexed = status["counts"]["documents"].as_u64().unwrap_or(0);
            if indexed + MAX_BACKLOG >= file as u64 {
                break;
            }
            let tick = status["tick"].as_u64().unwrap_or(0);
            guest.call("wait", &json!({"tick": tick + 1, "timeout_ms": 1_000}));
        }
        if stage.is_over.load(Ordering::SeqCst) {
            return;
        }
    }
}
