//! Tasks: the cost of everyday tasks for an agent's model: calls, characters received, and whether
//! the task was solved.
//!
//! `cargo bench -p tests --bench tasks -- DATA [--sets SETS] [--form text|structured]`
//! The tasks of `tasks.json` on the sample documents (`corpus/docs`) and on two public vaults
//! (`DATA/docs_prometheus`, `DATA/vault_foam`), each by a client that has the tools of one set and
//! makes a task's calls in order until it has received the expected text. `$1` in a call is the
//! place of the first hit of the previous call. A task that writes is solved when the file has the
//! expected text. Also prints the size of `tools/list` and of the instructions.

#![allow(clippy::print_stdout, reason = "a bench prints its table")]

mod support;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde::Deserialize;
use serde_json::{Value, json};
use tests::{Client, TestProject};

#[derive(Deserialize)]
struct Task {
    vault: String,
    task: String,
    calls: Vec<(String, Value)>,
    /// Texts that must be received, ignoring case.
    expects: Vec<String>,
    /// A file, and the text that it must contain.
    file: Option<(String, String)>,
    /// Whether every call is made, even after the answer.
    #[serde(default)]
    all: bool,
}

fn main() -> Result<()> {
    let mut arguments = support::arguments().into_iter();
    let Some(data) = arguments.next() else {
        bail!("which data? hint: cargo bench -p tests --bench tasks -- DATA")
    };
    let (mut sets, mut form) = ("default".to_string(), "text".to_string());
    while let Some(flag) = arguments.next() {
        let value = arguments.next().with_context(|| format!("`{flag}` needs a value"))?;
        match flag.as_str() {
            "--sets" => sets = value,
            "--form" => form = value,
            _ => bail!("unknown flag `{flag}`"),
        }
    }
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let tasks: Vec<Task> =
        serde_json::from_str(&fs::read_to_string(here.join("benches/tasks.json"))?)?;
    let data = Path::new(&data);
    let vaults = BTreeMap::from([
        ("corpus", here.join("../corpus/docs")),
        ("foam", data.join("vault_foam/vault")),
        ("prometheus", data.join("docs_prometheus/vault")),
    ]);
    let mut rows = Vec::new();
    for (name, folder) in &vaults {
        let mut project = TestProject::empty();
        copy(folder, project.root())?;
        project.start();
        project.settle();
        let mut client = Client::connect(&project.paths().socket)?;
        let sets: Vec<&str> = sets.split(',').collect();
        client.send(&json!({"kgd": 1, "tools": sets, "form": form, "client": "tasks"}));
        let instructions = greet(&mut client);
        if rows.is_empty() {
            println!("{} characters of instructions", instructions.chars().count());
            let tools = client.ask("tools/list", json!({}))["result"]["tools"].take();
            let n = tools.as_array().map_or(0, Vec::len);
            println!("{n} tools, {} characters of `tools/list`", tools.to_string().chars().count());
        }
        for task in tasks.iter().filter(|it| it.vault == **name) {
            rows.push(run(task, &mut client, project.root())?);
        }
    }
    print(&rows);
    Ok(())
}

struct Row {
    vault: String,
    task: String,
    n_calls: usize,
    n_chars: usize,
    is_answered: bool,
}

/// Returns what a client passes to its model: structured content if there is any, else the text.
fn received(result: &Value) -> String {
    match result.get("structuredContent") {
        Some(structured) if !structured.is_null() => structured.to_string(),
        _ => result["content"][0]["text"].as_str().unwrap_or_default().to_string(),
    }
}

fn run(task: &Task, client: &mut Client, root: &Path) -> Result<Row> {
    let (mut seen, mut last) = (String::new(), String::new());
    let (mut n_calls, mut n_chars) = (0, 0);
    let has_all = |seen: &str| task.expects.iter().all(|it| seen.contains(&it.to_lowercase()));
    for (tool, arguments) in &task.calls {
        let mut arguments = arguments.clone();
        for value in arguments.as_object_mut().into_iter().flat_map(|it| it.values_mut()) {
            if value == "$1" {
                *value = first_place(&last).into();
            }
        }
        let result = client.call_whole(tool, arguments);
        last = match &result {
            Ok(result) => received(result),
            Err(error) => error.to_string(),
        };
        n_calls += 1;
        n_chars += last.chars().count();
        seen += &last.to_lowercase();
        if has_all(&seen) && !task.all {
            break;
        }
    }
    let is_written = match &task.file {
        Some((path, text)) => fs::read_to_string(root.join(path)).is_ok_and(|it| it.contains(text)),
        None => true,
    };
    let is_answered = has_all(&seen) && is_written;
    Ok(Row { vault: task.vault.clone(), task: task.task.clone(), n_calls, n_chars, is_answered })
}

/// Returns the place of the first hit, which follows `1. `.
fn first_place(text: &str) -> String {
    let line = text.lines().find_map(|line| line.strip_prefix("1. ")).unwrap_or_default();
    line.split([' ', '(']).next().unwrap_or_default().to_string()
}

fn print(rows: &[Row]) {
    for row in rows {
        let answered = if row.is_answered { "yes" } else { "NO" };
        let Row { vault, task, n_calls, n_chars, .. } = row;
        println!("{vault:<11} {task:<46} {n_calls} calls {n_chars:>6} characters  {answered}");
    }
    sum_up("the first twelve", rows.get(..12).unwrap_or(rows));
    sum_up("all", rows);
}

/// Completes the handshake and returns the instructions.
fn greet(client: &mut Client) -> String {
    let hello = json!({
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "tasks", "version": "0"},
    });
    let reply = client.ask("initialize", hello);
    client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    reply["result"]["instructions"].as_str().unwrap_or_default().to_string()
}

fn sum_up(which: &str, rows: &[Row]) {
    let median = |of: fn(&Row) -> usize| {
        let mut all: Vec<usize> = rows.iter().map(of).collect();
        all.sort_unstable();
        let n = all.len();
        let at = |idx: usize| all.get(idx).copied().unwrap_or_default() as f64;
        (at(n.saturating_sub(1) / 2) + at(n / 2)) / 2.0
    };
    let n_answered = rows.iter().filter(|row| row.is_answered).count();
    println!(
        "{which}: answered {n_answered} of {}; median {} calls, {} characters",
        rows.len(),
        median(|row| row.n_calls),
        median(|row| row.n_chars)
    );
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target: PathBuf = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}
