//! Entries: cost of the tools of entries and of memory in a large knowledge base.
//!
//! `cargo bench -p tests --bench entries -- FOLDER... [--entries N,N,...] [--entities N] [--files]`
//! A real `kgd` with static vectors and without the deep pass. Entries and observations are
//! paragraphs of the Markdown files below the folders. Entries are stored with `kb_store_batch` in
//! one daemon that grows from one number to the next (100, 1,000, 5,000 and 10,000 by default), or,
//! with `--files`, exist as notes when a daemon starts for each number; entities (5,000; 0 for
//! none) exist when another one starts. Prints the median of the CPU milliseconds that all threads
//! of the daemon spend on a call; for a call that writes, also until all resulting work is done. No
//! other work is pending during a call.

#![allow(clippy::print_stdout, reason = "a bench prints its table")]

mod support;

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use support::passages::{Passage, passages};
use support::{call, cpu_ms_since, cpu_of_threads, median, wait};
use tests::{Client, TestProject};

/// Calls per tool and size, after one that does not count.
const N_CALLS: usize = 15;

/// Calls of tools that read everything.
const N_SLOW_CALLS: usize = 5;

/// Entries per batch.
const A_BATCH: usize = 10;

/// Observations per entity.
const N_OBSERVATIONS: usize = 3;

fn main() -> Result<()> {
    let mut arguments = support::arguments();
    let sizes = support::option(&mut arguments, "--entries");
    let sizes = sizes.unwrap_or_else(|| "100,1000,5000,10000".into());
    let sizes: Vec<usize> = sizes.split(',').map(str::parse).collect::<Result<_, _>>()?;
    let n_entities = support::option(&mut arguments, "--entities");
    let n_entities = n_entities.map_or(Ok(5_000), |n| n.parse::<usize>())?;
    let as_files = support::flag(&mut arguments, "--files");
    if arguments.is_empty() {
        bail!("which files? hint: cargo bench -p tests --bench entries -- FOLDER...");
    }
    let most = sizes.iter().max().copied().unwrap_or(0) + sizes.len() * 2 * (N_CALLS + 1);
    let texts = passages(&arguments, most.max(n_entities * N_OBSERVATIONS))?;
    entries(&texts, &sizes, as_files)?;
    if n_entities > 0 { entities(&texts, n_entities) } else { Ok(()) }
}

fn started(project: &mut TestProject) -> Result<Client> {
    project.set("recognize.deep=false");
    project.start();
    let mut client = Client::admin(&project.paths().socket);
    wait(&mut client)?;
    Ok(client)
}

fn entries(texts: &[Passage], sizes: &[usize], as_files: bool) -> Result<()> {
    let mut project = TestProject::empty();
    let mut left = texts.iter().enumerate();
    println!("entries, CPU ms a call:");
    println!("      n  kb_store  until settled  remember  kb_get  kb_ask  kb_search");
    let mut n = 0;
    for size in sizes {
        if as_files {
            (project, n, left) = (TestProject::empty(), *size, texts.iter().enumerate());
            for (at, it) in left.by_ref().take(n) {
                project.write(&format!("kb/kb-{:05}.md", at + 1), note(at, it));
            }
        }
        let mut client = match as_files || n == 0 {
            true => started(&mut project)?,
            false => Client::admin(&project.paths().socket),
        };
        while n < *size {
            let batch: Vec<Value> =
                left.by_ref().take(A_BATCH.min(size - n)).map(|(at, it)| entry(at, it)).collect();
            n += batch.len();
            call(&mut client, "kb_store_batch", json!({"entries": batch}))?;
        }
        wait(&mut client)?;
        let pid = project.pid();
        let new: Vec<Value> =
            left.by_ref().take(N_CALLS + 1).map(|(at, it)| entry(at, it)).collect();
        let (stored, settled) = costs(&mut client, pid, "kb_store", new)?;
        let new = left.by_ref().take(N_CALLS + 1).map(|(_, it)| json!({"text": it.text}));
        let remembered = costs(&mut client, pid, "remember", new.collect())?.0;
        // Spread over all entries, and never the same one twice.
        let picked = |k: usize| k * size / (N_CALLS + 1);
        let ids = (0..=N_CALLS).map(|k| json!({"entry_id": format!("kb-{:05}", picked(k) + 1)}));
        let got = costs(&mut client, pid, "kb_get", ids.collect())?.0;
        let question = |k: usize| question(&texts[picked(k)]);
        let asked = (0..=N_CALLS).map(|k| json!({"question": question(k)})).collect();
        let asked = costs(&mut client, pid, "kb_ask", asked)?.0;
        let searched = (0..=N_CALLS).map(|k| json!({"query": question(k)})).collect();
        let searched = costs(&mut client, pid, "kb_search", searched)?.0;
        println!(
            "{size:>7} {stored:>9.1} {settled:>14.1} {remembered:>9.1} {got:>7.1} {asked:>7.1} {searched:>10.1}"
        );
        n += 2 * (N_CALLS + 1);
    }
    println!("the daemon holds {:.1} MiB", support::memory_mib(project.pid(), "RssAnon")?);
    Ok(())
}

/// Renders the same entry as a note. JSON is valid YAML.
fn note(at: usize, passage: &Passage) -> String {
    let values = entry(at, passage);
    format!(
        "---\nid: kb-{:05}\ntitle: {}\nentry_type: {}\nproject: {}\ntags: {}\nhints: {}\n---\n\n{}\n",
        at + 1,
        values["short_title"],
        values["entry_type"],
        values["project_ref"],
        values["tags"],
        values["hints"],
        passage.text
    )
}

/// Turns a passage into an entry as an agent would store it: with its project, some with a relation
/// to another entry.
fn entry(at: usize, passage: &Passage) -> Value {
    let types = ["factual_reference", "decision", "pattern_convention", "lesson_learned"];
    let name = passage.of.trim_end_matches(|c: char| !c.is_alphabetic());
    let name = if name.is_empty() { "other" } else { name };
    let other = format!("kb-{:05}", at * 7 / 11 + 1);
    let hints = match at % 10 {
        3 => json!({"related_entities": [other]}),
        6 => json!({"tool": name}),
        9 if at > 10 => json!({"supersedes": [other]}),
        _ => json!({}),
    };
    let tag = passage.title.split(' ').next_back().unwrap_or("x").to_lowercase();
    json!({
        "short_title": passage.title, "knowledge_details": passage.text, "project_ref": name, "tags": [tag, "rust"],
        "entry_type": types[at % 4], "hints": hints,
    })
}

/// Turns words of a passage into a question.
fn question(passage: &Passage) -> String {
    let words: Vec<&str> = passage.text.split_whitespace().skip(4).take(8).collect();
    format!("what about {}?", words.join(" "))
}

/// Returns the median CPU milliseconds of a call, and until everything is settled.
fn costs(client: &mut Client, pid: u32, tool: &str, requests: Vec<Value>) -> Result<(f64, f64)> {
    let (mut calls, mut all) = (Vec::new(), Vec::new());
    for request in requests {
        let before = cpu_of_threads(pid)?;
        call(client, tool, request)?;
        calls.push(cpu_ms_since(pid, &before)?);
        wait(client)?;
        all.push(cpu_ms_since(pid, &before)?);
    }
    let counted = |costs: &[f64]| median(costs.get(1..).unwrap_or_default());
    Ok((counted(&calls), counted(&all)))
}

fn entities(texts: &[Passage], n_entities: usize) -> Result<()> {
    let mut project = TestProject::empty();
    for (at, observations) in texts.chunks(N_OBSERVATIONS).take(n_entities).enumerate() {
        let name = &observations.first().context("an observation")?.title;
        let kind = ["person", "project", "service", "place"][at % 4];
        let mut text =
            format!("---\ntitle: \"{name} {at}\"\ntype: {kind}\n---\n\n# {name} {at}\n\n");
        for (idx, observation) in observations.iter().enumerate() {
            text += &format!("- {} ^o{}\n", observation.text.replace("[[", ""), idx + 1);
        }
        if at % 3 == 0 {
            let other = at * 5 / 7;
            let title = texts.get(other * N_OBSERVATIONS).map_or("", |it| it.title.as_str());
            text += &format!("\n- depends_on [[{title} {other}]]\n");
        }
        project.write(&format!("memory/entity-{at}.md"), text);
    }
    let mut client = started(&mut project)?;
    let pid = project.pid();
    println!("{n_entities} entities with {N_OBSERVATIONS} observations each, CPU ms a call:");
    for tool in ["find_similar_nodes", "get_consolidation_report", "get_stats"] {
        let cost = costs(&mut client, pid, tool, vec![json!({}); N_SLOW_CALLS + 1])?.0;
        println!("  {tool:<26} {cost:>7.1}");
    }
    println!("the daemon holds {:.1} MiB", support::memory_mib(pid, "RssAnon")?);
    Ok(())
}
