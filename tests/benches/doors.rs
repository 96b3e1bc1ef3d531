//! Doors: how long a newcomer waits, and how long others' calls take, while a client keeps
//! connections half open, starts sessions, or floods without reading; against the same without such
//! a client, in the same run.
//!
//! `cargo bench -p tests --bench doors -- [--notes 1000] [--half-open-http 600] [--half-open-socket
//! 3000] [--deaf 60] [--calls 200]`

#![allow(clippy::print_stdout, reason = "a bench prints its table")]

mod support;

use std::io::{ErrorKind, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::{Value, json};
use support::spread;
use tests::http::{Http, Reply, initialize, request};
use tests::{Client, Revision, TestProject};

/// Newcomers that are measured.
const N_NEWCOMERS: usize = 20;

/// Longest wait of a flooding client to send a line. Then one that is patient sends the rest, and another one connects
/// anew.
const PATIENCE: Duration = Duration::from_millis(200);

/// How a client floods.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Flood {
    /// Over one connection, for as long as the daemon keeps it.
    Patient,
    /// Over one connection after another: it leaves where it would have to wait.
    Restless,
    Http,
}

/// A question with many hits.
fn question() -> Value {
    json!({"name": "hybrid_query", "arguments": {"q": "who runs the service when latency rises", "k": 20}})
}

fn main() -> Result<()> {
    let mut arguments = support::arguments();
    let mut number = |name: &str, otherwise: usize| -> Result<usize> {
        Ok(support::option(&mut arguments, name).map_or(Ok(otherwise), |n| n.parse())?)
    };
    let (n_notes, n_http) = (number("--notes", 1_000)?, number("--half-open-http", 600)?);
    let (n_socket, n_deaf) = (number("--half-open-socket", 3_000)?, number("--deaf", 60)?);
    let n_calls = number("--calls", 200)?;
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit })?;

    let mut project = TestProject::empty();
    support::generated::write(project.root(), n_notes)?;
    project.set("http.listen=127.0.0.1:0");
    project.start();
    project.settle();
    let token = std::fs::read_to_string(&project.paths().http_token)?;
    let http = project.http().with("Authorization", &format!("Bearer {}", token.trim()));
    let mut live = (http.open("2025-06-18"), project.agent());

    println!(
        "ms, of {N_NEWCOMERS} newcomers (connect, open a session, ask) and {n_calls} calls of others:"
    );
    let mut measure = |what: &str| measure(what, n_calls, &project, &http, &mut live);
    measure("unloaded")?;

    let half_open: Vec<TcpStream> = (0..n_http).map(|n| half_a_head(&http, n)).collect();
    measure(&format!("{n_http} half-open HTTP connections"))?;
    drop(half_open);

    let socket = &project.paths().socket;
    let half_open: Vec<UnixStream> =
        (0..n_socket).map(|n| half_a_line(socket, n)).collect::<std::io::Result<_>>()?;
    measure(&format!("{n_socket} half-open socket connections"))?;
    drop(half_open);

    for _ in 0..400 {
        http.post("/mcp", &initialize("2025-06-18"));
    }
    measure("400 sessions begun by somebody")?;

    for (flood, how) in [
        (Flood::Patient, "over the socket"),
        (Flood::Restless, "over the socket, again and again"),
        (Flood::Http, "over HTTP"),
    ] {
        flooded(flood, n_deaf, &project, &http, |n_sent| {
            measure(&format!("{n_deaf} that flood and read nothing, {how}"))?;
            println!("    {} requests of theirs meanwhile", n_sent.load(Ordering::Relaxed));
            Ok(())
        })?;
    }
    Ok(())
}

fn half_a_head(http: &Http, n: usize) -> TcpStream {
    let mut stream = http.connect();
    if n.is_multiple_of(2) {
        // A client that is evicted at once may fail to write.
        let _ = stream.write_all(b"POST /mcp HTTP/1.1\r\nHost: localh");
    }
    stream
}

fn half_a_line(socket: &std::path::Path, n: usize) -> std::io::Result<UnixStream> {
    let mut stream = UnixStream::connect(socket)?;
    if n.is_multiple_of(2) {
        let _ = stream.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"meth");
    }
    Ok(stream)
}

/// Measures how long newcomers wait at both doors, and the calls of existing sessions, which must
/// survive.
fn measure(
    what: &str,
    n_calls: usize,
    project: &TestProject,
    http: &Http,
    live: &mut (Http, Client),
) -> Result<()> {
    let ms = |since: Instant| since.elapsed().as_secs_f64() * 1e3;
    println!("{what}");
    let mut rows: [(&str, Vec<f64>); 4] = [
        ("newcomer, socket", vec![]),
        ("newcomer, HTTP", vec![]),
        ("call, socket", vec![]),
        ("call, HTTP", vec![]),
    ];
    for _ in 0..N_NEWCOMERS {
        let since = Instant::now();
        let answer = Client::agent(&project.paths().socket, Revision::Initialize("2025-06-18"))
            .call("status", json!({}));
        ensure!(answer.is_ok(), "{answer:?}");
        rows[0].1.push(ms(since));
        let since = Instant::now();
        let answer = http.open("2025-06-18").call("status", json!({}));
        ensure!(answer.is_ok(), "{answer:?}");
        rows[1].1.push(ms(since));
    }
    for id in 0..n_calls as u64 {
        let since = Instant::now();
        let answer = live.1.ask("tools/call", question());
        ensure!(answer["result"]["isError"] != true && answer["result"].is_object(), "{answer}");
        rows[2].1.push(ms(since));
        let since = Instant::now();
        let answer = live.0.post("/mcp", &request(1_000_000 + id, "tools/call", question())).json();
        ensure!(answer["result"]["isError"] != true && answer["result"].is_object(), "{answer}");
        rows[3].1.push(ms(since));
    }
    for (name, times) in &rows {
        println!("    {name:<17} {}", spread(times));
    }
    Ok(())
}

/// Runs some work while `n` clients send as much as they can and read nothing; a client that is
/// disconnected reconnects.
fn flooded(
    flood: Flood,
    n: usize,
    project: &TestProject,
    http: &Http,
    meanwhile: impl FnOnce(&AtomicU64) -> Result<()>,
) -> Result<()> {
    /// Ends the flood when dropped, also by a panic, which would wait for the flooding threads for ever.
    struct End<'a>(&'a AtomicBool);
    impl Drop for End<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }

    let (is_over, n_sent) = (AtomicBool::new(false), AtomicU64::new(0));
    let is_on = || !is_over.load(Ordering::Relaxed);
    std::thread::scope(|scope| {
        let _end = End(&is_over);
        for _ in 0..n {
            scope.spawn(|| {
                while is_on() {
                    match flood {
                        Flood::Http => flood_http(http, &n_sent, &is_on),
                        _ => flood_socket(flood == Flood::Patient, project, &n_sent, &is_on),
                    }
                }
            });
        }
        meanwhile(&n_sent)
    })
}

fn flood_socket(
    is_patient: bool,
    project: &TestProject,
    n_sent: &AtomicU64,
    is_on: &impl Fn() -> bool,
) {
    let Some(mut deaf) = Client::try_admin(&project.paths().socket) else { return };
    let _ = deaf.set_write_timeout(PATIENCE);
    for id in 1_000.. {
        let line = format!("{}\n", request(id, "tools/call", question()));
        let mut rest = line.as_bytes();
        while !rest.is_empty() {
            match deaf.send_some(rest) {
                Ok(n) => rest = rest.get(n..).unwrap_or_default(),
                Err(error) if is_patient && error.kind() == ErrorKind::WouldBlock => {}
                Err(_) => return,
            }
            if !is_on() {
                return;
            }
        }
        n_sent.fetch_add(1, Ordering::Relaxed);
    }
}

/// One session, each request of which has a connection of its own.
fn flood_http(http: &Http, n_sent: &AtomicU64, is_on: &impl Fn() -> bool) {
    // A client that floods may be disconnected instead of answered.
    let hello = Reply::try_read(http.send_only(&initialize("2025-06-18")));
    let Some(id) = hello.ok().and_then(|it| it.header("mcp-session-id")) else { return };
    let session = http.with("Mcp-Session-Id", &id);
    // Kept unread: as many as one client may have in flight.
    let mut unread = std::collections::VecDeque::new();
    for id in 1_000..1_300 {
        if !is_on() {
            return;
        }
        unread.push_back(session.send_only(&request(id, "tools/call", question())));
        if unread.len() > 3 {
            unread.pop_front();
        }
        n_sent.fetch_add(1, Ordering::Relaxed);
    }
}
