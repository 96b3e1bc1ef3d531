//! The door as a client sees it: real sockets, raw lines, handlers made for the tests.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use config::limits::{MAX_IN_FLIGHT, MAX_QUEUED_LINES, max_readers, max_reads_of_one};
use expect_test::{Expect, expect};
use proto::error::{Code, ErrorView};
use proto::form::Form;
use proto::shape::Freshness;
use proto::tool::admin::{Wait, WaitReply};
use proto::tool::core::*;
use rmcp::ServiceExt;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;

use super::accept::{Sessions, serve};
use super::client_reader::HangUp;
use super::limits::TimedWriter;
use super::lines::Lines;
use super::listen::Door;
use super::preamble::Preamble;
use super::progress::Progress;
use super::routes::{Routes, reads, waits, writes};
use super::session::Session;
use super::wire::Wire;
use crate::project::{OpenProject, Project};
use index::store::Snapshot;
use index::store::testing::connection;

mod abandoned;
mod lifecycle;
mod misuse;

fn fresh(project: &Project) -> Freshness {
    Freshness { project: project.name.clone(), tick: 7, building: None }
}

/// For queries that start with a word: how many were started, and how many are running.
type Begun = HashMap<String, (usize, usize)>;

static BEGUN: LazyLock<watch::Sender<Begun>> = LazyLock::new(watch::Sender::default);

/// Counts a query, and counts it out when it ends in any way.
struct Counted(String);

impl Counted {
    fn new(q: &str) -> Self {
        BEGUN.send_modify(|begun| {
            let (n_begun, n_running) = begun.entry(q.to_string()).or_default();
            (*n_begun, *n_running) = (*n_begun + 1, *n_running + 1);
        });
        Counted(q.to_string())
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        BEGUN.send_modify(|begun| begun.entry(self.0.clone()).or_default().1 -= 1);
    }
}

/// Waits until the numbers of started and running queries with these words fit; returns both.
async fn queries(q: &str, fits: impl Fn(usize, usize) -> bool) -> (usize, usize) {
    let numbers = |begun: &Begun| begun.get(q).copied().unwrap_or_default();
    let mut begun = BEGUN.subscribe();
    let seen = begun.wait_for(|begun| {
        let (n_begun, n_running) = numbers(begun);
        fits(n_begun, n_running)
    });
    numbers(&seen.await.expect("a static lives"))
}

/// SQL that never ends by itself.
const ENDLESS: &str =
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n";

/// A handler: `panic` panics, `big N` answers with N characters, `endless` is a query that never
/// ends, anything else finds nothing.
fn query(project: &Project, db: &Snapshot, asked: HybridQuery) -> Result<HybridReply, ErrorView> {
    assert_ne!(asked.q, "panic");
    let _counted = Counted::new(&asked.q);
    if asked.q.starts_with("endless") {
        let message =
            connection(db).query_row(ENDLESS, [], |_| Ok(())).expect_err("stopped").to_string();
        return Err(ErrorView { code: Code::Internal, message, hint: None, conflict: None });
    }
    let n_chars = asked.q.strip_prefix("big ").and_then(|n| n.parse().ok());
    let truncated = n_chars.map(|n| "x".repeat(n));
    Ok(HybridReply { truncated, freshness: fresh(project), ..HybridReply::default() })
}

fn explain(_: &Project, _: &Snapshot, _: ExplainEntity) -> Result<ExplainReply, ErrorView> {
    let message = "nothing is called `x`".to_string();
    Err(ErrorView::hinted(Code::NotFound, message, "look it up"))
}

async fn ingest(
    project: Arc<Project>,
    asked: IngestDocs,
    progress: Progress,
) -> Result<IngestReply, ErrorView> {
    assert_ne!(asked.paths, ["panic"]);
    progress.report(1, 2, "half");
    if asked.paths[0].starts_with('…') {
        let _counted = Counted::new(&asked.paths[0]);
        std::future::pending::<()>().await;
    }
    Ok(IngestReply { ingested: 2, freshness: fresh(&project), ..IngestReply::default() })
}

async fn never<T, R>(_: Arc<Project>, _: T, _: Progress) -> Result<R, ErrorView> {
    std::future::pending().await
}

fn fake_routes() -> Arc<Routes> {
    Arc::new(Routes::new(vec![
        reads(query),
        reads(explain),
        waits(ingest),
        writes(never::<ReviewLinks, ReviewReply>),
        waits(never::<Wait, WaitReply>),
    ]))
}

/// Long enough for any test, however busy the machine.
const PATIENT_MS: u64 = 60_000;

async fn open(dir: &tempfile::TempDir, request_deadline_ms: u64) -> Arc<Project> {
    let root = dir.path().join("notes");
    let state_dir = dir.path().join("state");
    std::fs::create_dir_all(&root).expect("made");
    std::fs::create_dir_all(&state_dir).expect("made");
    let mut settings = config::Settings::default();
    settings.serve.request_deadline_ms = request_deadline_ms;
    let place = OpenProject {
        root,
        name: "notes".into(),
        state_dir,
        settings,
        parsing: Default::default(),
    };
    Project::open(place).await.expect("an empty project")
}

/// A daemon without a process.
struct TestServer {
    project: Arc<Project>,
    path: PathBuf,
    stop: Option<oneshot::Sender<()>>,
    serving: Option<JoinHandle<Sessions>>,
    _dir: tempfile::TempDir,
}

impl TestServer {
    async fn new() -> Self {
        TestServer::with_deadline(PATIENT_MS).await
    }

    async fn with_deadline(request_deadline_ms: u64) -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("run/kg.sock");
        let project = open(&dir, request_deadline_ms).await;
        let door = Door::bind(&path).await.expect("bound");
        let (stop, stopped) = oneshot::channel();
        let stopped = async {
            let _ = stopped.await;
        };
        let nobody = tokio::sync::mpsc::channel(1).1;
        let serving =
            tokio::spawn(serve(door, nobody, Arc::clone(&project), fake_routes(), stopped));
        TestServer { project, path, stop: Some(stop), serving: Some(serving), _dir: dir }
    }

    /// Connects a client that has sent nothing.
    async fn stranger(&self) -> Client {
        Client::new(UnixStream::connect(&self.path).await.expect("connected"))
    }

    /// Connects a client with the core tools that wants both forms.
    async fn connect(&self) -> Client {
        let mut client = self.stranger().await;
        client.send_line(r#"{"kgd":1,"tools":["core"],"form":"whole","client":"test"}"#).await;
        client
    }

    /// Connects a client and completes the handshake.
    async fn guest(&self) -> Client {
        let mut client = self.connect().await;
        client.initialize("2025-06-18").await;
        client
    }

    async fn stop_accepting(&mut self) -> Sessions {
        self.project.activity().request_stop();
        self.stop.take().expect("once").send(()).expect("still serving");
        self.serving.take().expect("once").await.expect("no panic")
    }
}

/// One raw connection.
struct Client {
    reading: BufReader<OwnedReadHalf>,
    writing: OwnedWriteHalf,
}

impl Client {
    fn new(stream: UnixStream) -> Self {
        let (reading, writing) = stream.into_split();
        Client { reading: BufReader::new(reading), writing }
    }

    async fn send_line(&mut self, line: &str) {
        self.writing.write_all(line.as_bytes()).await.expect("written");
        self.writing.write_all(b"\n").await.expect("written");
    }

    /// Returns the next line; `None` if the connection was closed.
    async fn next_reply(&mut self) -> Option<Value> {
        let mut line = String::new();
        let n = self.reading.read_line(&mut line).await.unwrap_or(0);
        (n > 0).then(|| serde_json::from_str(&line).expect("JSON"))
    }

    async fn request(&mut self, id: u64, method: &str, params: Value) {
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.send_line(&message.to_string()).await;
    }

    async fn ask(&mut self, id: u64, method: &str, params: Value) -> Value {
        self.request(id, method, params).await;
        let reply = self.next_reply().await.expect("a reply");
        assert_eq!(reply["id"], json!(id), "{reply}");
        reply
    }

    async fn call(&mut self, id: u64, tool: &str, arguments: Value) -> Value {
        let params = json!({"name": tool, "arguments": arguments});
        self.ask(id, "tools/call", params).await
    }

    async fn initialize(&mut self, version: &str) -> Value {
        let client = json!({"name": "test", "version": "0"});
        let params = json!({"protocolVersion": version, "capabilities": {}, "clientInfo": client});
        let reply = self.ask(0, "initialize", params).await;
        self.send_line(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
        reply
    }
}

/// Returns the tool result's text, marked if it is an error; or the protocol error.
fn shown(reply: &Value) -> String {
    if let Some(error) = reply.get("error") {
        let hint = error["data"]["hint"].as_str().map(|hint| format!("hint: {hint}\n"));
        let message = error["message"].as_str().unwrap_or_default();
        return format!("{} {message}\n{}", error["code"], hint.unwrap_or_default());
    }
    let result = &reply["result"];
    let text = result["content"][0]["text"].as_str().unwrap_or_default();
    match result["isError"] == json!(true) {
        true => {
            format!("! {}: {text}\n", result["structuredContent"]["code"].as_str().unwrap_or("?"))
        }
        false => format!("{text}\n"),
    }
}

/// Compares what is shown, in lines of at most 80 characters.
fn check(reply: &Value, expected: Expect) {
    let mut out = String::new();
    for line in shown(reply).lines() {
        out.extend(line.chars().take(80));
        out.push_str(if line.chars().count() > 80 { "…\n" } else { "\n" });
    }
    expected.assert_eq(&out);
}
