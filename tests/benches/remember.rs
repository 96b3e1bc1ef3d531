//! Remember: cost of memory at a size that agents reach after years.
//!
//! `cargo bench -p tests --bench remember -- [ENTITIES] [OBSERVATIONS]`: 10,000 and 100,000 by
//! default. A real `kgd` without the deep pass, on generated entities; one MCP client, so JSON, the
//! text form and the socket are included. The floor in the same run: the work of the reference
//! server-memory per call, which parses its one file of JSON lines (here with `serde_json`, from
//! memory) and searches it for a word.

#![allow(clippy::print_stdout, reason = "a bench prints its table")]

mod support;

use std::time::Instant;

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use support::remembered::Remembered;
use support::{call, memory_mib, spread, wait};
use tests::{Client, TestProject};

/// Calls per tool, and of tools that read everything.
const N_CALLS: usize = 100;
const N_SLOW_CALLS: usize = 10;

/// Limit: `find_similar_nodes` within this many milliseconds.
const SIMILAR_LIMIT_MS: f64 = 1_000.0;

fn main() -> Result<()> {
    let arguments = support::arguments();
    let number = |at: usize, usual| arguments.get(at).map_or(Ok(usual), |it| it.parse());
    let (n_entities, n_observations) = (number(0, 10_000)?, number(1, 100_000)?);
    let memory = Remembered::new(n_entities, n_observations);
    let mut project = TestProject::empty();
    memory.write(project.root())?;
    project.set("recognize.deep=false");
    let started = Instant::now();
    project.start();
    let mut client = Client::admin(&project.paths().socket);
    wait(&mut client)?;
    let pid = project.pid();
    println!(
        "{n_entities} entities, {n_observations} observations: indexed in {:.1} s, {:.1} CPU s; index {:.1} MB",
        started.elapsed().as_secs_f64(),
        support::cpu_of_process(pid)?,
        std::fs::metadata(&project.paths().index)?.len() as f64 / 1e6
    );
    floor(&memory)?;
    reading(&mut client, &memory)?;
    println!("the daemon holds {:.1} MiB", memory_mib(pid, "VmRSS")?);
    writing(&mut client, &memory)?;
    wait(&mut client)?;
    println!(
        "the daemon holds {:.1} MiB, {:.1} at its peak",
        memory_mib(pid, "VmRSS")?,
        memory_mib(pid, "VmHWM")?
    );
    Ok(())
}

/// Measures the start of each call in the reference server, and its search.
fn floor(memory: &Remembered) -> Result<()> {
    let text = memory.json_lines();
    let mut times = Vec::new();
    for question in Remembered::questions(N_SLOW_CALLS) {
        let word = question.split(' ').nth(1).context("a word")?;
        let started = Instant::now();
        let mut n_found = 0;
        for line in text.lines() {
            let entity: Value = serde_json::from_str(line)?;
            let has = |it: &Value| it.as_str().is_some_and(|it| it.to_lowercase().contains(word));
            let of = entity["observations"].as_array().context("observations")?;
            n_found += usize::from(has(&entity["name"]) || of.iter().any(has));
        }
        times.push(started.elapsed().as_secs_f64() * 1e3);
        if n_found == 0 {
            bail!("nothing holds {word}");
        }
    }
    println!(
        "floor, one file of {:.1} MB parsed and a word looked for, milliseconds:",
        text.len() as f64 / 1e6
    );
    println!("  {:<34} {}", "parse and search", spread(&times));
    Ok(())
}

fn timed(client: &mut Client, name: &str, calls: &[(&str, Value)]) -> Result<f64> {
    let mut times = Vec::new();
    for (tool, arguments) in calls {
        let started = Instant::now();
        call(client, tool, arguments.clone())?;
        times.push(started.elapsed().as_secs_f64() * 1e3);
    }
    println!("  {name:<34} {}", spread(&times));
    Ok(support::percentile(&times, 0.95))
}

fn reading(client: &mut Client, memory: &Remembered) -> Result<()> {
    let names = memory.sample(N_CALLS);
    let pairs: Vec<_> = names.iter().zip(names.iter().rev()).collect();
    let questions = Remembered::questions(N_CALLS);
    println!("over the socket, milliseconds:");
    let each = |tool: &'static str, of: &dyn Fn(&String) -> Value| -> Vec<(&'static str, Value)> {
        names.iter().map(|name| (tool, of(name))).collect()
    };
    // One call to warm the page cache and the prepared statements.
    call(client, "search_nodes", json!({"query": "warm"}))?;
    timed(client, "open_nodes", &each("open_nodes", &|name| json!({"names": [name]})))?;
    let near = |depth: u32| move |name: &String| json!({"name": name, "depth": depth});
    timed(client, "get_neighborhood, depth 1", &each("get_neighborhood", &near(1)))?;
    timed(client, "get_neighborhood, depth 2", &each("get_neighborhood", &near(2)))?;
    let paths: Vec<_> = pairs
        .iter()
        .map(|(from, to)| ("get_path", json!({"from_entity": from, "to_entity": to})))
        .collect();
    timed(client, "get_path", &paths)?;
    let found: Vec<_> = names.iter().map(|name| ("search_nodes", json!({"query": name}))).collect();
    timed(client, "search_nodes by name", &found)?;
    let found: Vec<_> = questions.iter().map(|it| ("search_nodes", json!({"query": it}))).collect();
    timed(client, "search_nodes by a sentence", &found)?;
    let alike = vec![("find_similar_nodes", json!({})); N_SLOW_CALLS];
    let p95 = timed(client, "find_similar_nodes", &alike)?;
    if p95 > SIMILAR_LIMIT_MS {
        println!("  LATE: more than {SIMILAR_LIMIT_MS} ms");
    }
    for (tool, n) in [
        ("get_stats", N_SLOW_CALLS),
        ("get_orphans", N_SLOW_CALLS),
        ("get_pending_consolidation", N_SLOW_CALLS),
        ("get_consolidation_report", 3),
    ] {
        timed(client, tool, &vec![(tool, json!({})); n])?;
    }
    Ok(())
}

/// Each call waits until what it wrote is found.
fn writing(client: &mut Client, memory: &Remembered) -> Result<()> {
    let names = memory.sample(N_CALLS);
    let added: Vec<_> = names
        .iter()
        .map(|name| {
            let observation =
                json!({"entity_name": name, "contents": ["The tenth lantern was lit"]});
            ("add_observations", json!({"observations": [observation]}))
        })
        .collect();
    timed(client, "add_observations", &added)?;
    let made: Vec<_> = (0..N_CALLS)
        .map(|n| {
            let entity = json!({
                "name": format!("Lantern keeper {n}"), "entity_type": "person", "observations": ["Is new here"]
            });
            ("create_entities", json!({"entities": [entity]}))
        })
        .collect();
    timed(client, "create_entities", &made)?;
    Ok(())
}
