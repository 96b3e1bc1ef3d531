//! Shim: the cost of every agent's connection: memory of `kg-mcp`, and the time from its start to
//! the first answer of a running daemon.
//!
//! `cargo bench -p tests --bench shim -- DATA_DIR [--runs N]`, after `cargo build --release`.

#![allow(clippy::print_stdout, reason = "a bench prints its table")]

mod support;

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use support::{percentile, spread};
use tests::TestProject;

/// The limits.
const MEMORY_LIMIT_MIB: f64 = 5.0;
const ANSWER_LIMIT_MS: f64 = 50.0;

fn main() -> Result<()> {
    let mut arguments = support::arguments();
    let runs = support::option(&mut arguments, "--runs").map_or(Ok(20), |n| n.parse())?;
    let [data] = arguments.as_slice() else {
        bail!("which data? hint: cargo bench -p tests --bench shim -- DATA_DIR")
    };
    let shim = tests::kgd().with_file_name("kg-mcp");
    if !shim.exists() {
        bail!("no {}\nhint: cargo build --release", shim.display());
    }
    let project = support::daemon_with_notes(Path::new(data))?;
    let (mut times, mut resident, mut peak) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..runs {
        let run = connect(&shim, &project)?;
        times.push(run.answer_ms);
        resident.push(run.resident_mib);
        peak.push(run.peak_mib);
    }
    println!("start to first `tools/list`, ms (limit {ANSWER_LIMIT_MS}): {}", spread(&times));
    println!("resident, MiB (limit {MEMORY_LIMIT_MIB}): {}", spread(&resident));
    println!("peak, MiB: {}", spread(&peak));
    let is_good = percentile(&times, 0.95) <= ANSWER_LIMIT_MS
        && percentile(&resident, 0.95) < MEMORY_LIMIT_MIB;
    println!("{}", if is_good { "within the limits" } else { "OVER THE LIMIT" });
    Ok(())
}

struct Run {
    answer_ms: f64,
    resident_mib: f64,
    peak_mib: f64,
}

/// Starts the shim as an agent does, lists the tools, and ends it.
fn connect(shim: &Path, project: &TestProject) -> Result<Run> {
    let at = |name: &str| project.scratch().join(name);
    let started = Instant::now();
    let mut child = Command::new(shim)
        .arg("--project")
        .arg(project.root())
        .env("KG_STATE_DIR", at("state"))
        .env("KG_RUNTIME_DIR", at("run"))
        .env("KG_CONFIG_DIR", at("config"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut input = child.stdin.take().context("no standard input")?;
    let mut output = BufReader::new(child.stdout.take().context("no standard output")?);
    let hello = json!({
        "protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": {"name": "bench", "version": "0"},
    });
    ask(&mut input, &mut output, 1, "initialize", hello)?;
    writeln!(input, "{}", json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))?;
    let tools = ask(&mut input, &mut output, 2, "tools/list", json!({}))?;
    let answer_ms = started.elapsed().as_secs_f64() * 1e3;
    if tools["result"]["tools"].as_array().is_none_or(Vec::is_empty) {
        bail!("no tools: {tools}");
    }
    let resident_mib = support::memory_mib(child.id(), "VmRSS")?;
    let peak_mib = support::memory_mib(child.id(), "VmHWM")?;
    drop(input);
    child.wait()?;
    Ok(Run { answer_ms, resident_mib, peak_mib })
}

fn ask(
    input: &mut impl Write,
    output: &mut impl BufRead,
    id: i64,
    method: &str,
    params: Value,
) -> Result<Value> {
    writeln!(input, "{}", json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))?;
    input.flush()?;
    let mut line = String::new();
    while output.read_line(&mut line)? > 0 {
        let message: Value = serde_json::from_str(&line)?;
        if message["id"] == id {
            return Ok(message);
        }
        line.clear();
    }
    bail!("the shim hung up before it answered `{method}`")
}
