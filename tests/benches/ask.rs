//! Ask: latency of questions on the four note sets together, inside the daemon and over its socket.
//!
//! `cargo bench -p tests --bench ask -- DATA_DIR [FOLDER...]`: with FOLDER, also on 466 Markdown
//! and text files from below those folders, which makes 1,000 files.
//! Inside: `hybrid_query`, `entity_lookup`, `explain_entity` through the library, on one thread, a
//! snapshot per call. Outside: the same calls by one MCP client of a real `kgd`, including JSON,
//! the text form and the socket; then `hybrid_query` by 1, 2, 4 and 16 clients at once. CPU per
//! question: of the answering thread, and of the daemon.

#![allow(clippy::print_stdout, reason = "a bench prints its table")]

mod support;

use std::path::Path;
use std::time::Instant;

use anyhow::{Result, anyhow, bail};
use proto::tool::core::{EntityLookup, ExplainEntity, HybridQuery};
use serde_json::json;
use server::project::Project;
use support::at_once::at_once;
use support::{Scratch, spread};
use tests::TestProject;

/// Questions asked, besides those of the fixed list.
const N_QUESTIONS: usize = 200;

/// Further files, besides the 534 of the sets.
const N_MORE: usize = 466;

/// How often all questions are asked by several clients together.
const ROUNDS: usize = 3;

/// Questions that no heading provides: long, misspelled, off topic, or with many common words.
const FIXED: [&str; 8] = [
    "how do I share state between threads without data races",
    "what is the difference between a counter and a gauge and when should I use which of them",
    "recieve messages over chanel",
    "completely unrelated question about baking sourdough bread",
    "the of and to in a is that it for",
    "prometheus.yml scrape_interval",
    "note taking with wikilinks and backlinks in foam",
    "Obsidian Tasks recurrence done date filter query",
];

/// The limit inside the daemon: 95 of 100 answers within this many milliseconds.
const LIMIT_MS: f64 = 10.0;

/// The limit for the daemon's CPU per question, milliseconds.
const CPU_LIMIT_MS: f64 = 5.0;

fn main() -> Result<()> {
    let arguments = support::arguments();
    let Some((data, folders)) = arguments.split_first() else {
        bail!("which data? hint: cargo bench -p tests --bench ask -- DATA_DIR [FOLDER...]")
    };
    let more = support::pages::texts(folders)?;
    let scratch = Scratch::with_notes(Path::new(data))?;
    write_more(&scratch.notes(), &more)?;
    let runtime = support::runtime()?;
    let settings = config::Settings::default();
    let place = (scratch.notes(), scratch.state());
    let project = runtime.block_on(support::open_settled(&place.0, &place.1, settings))?;
    let questions = questions(&project)?;
    let names = names(&project)?;
    println!("{} questions, {} names; milliseconds", questions.len(), names.len());
    println!("inside the daemon (limit for p95: {LIMIT_MS}):");
    // One round to warm the page cache and the prepared statements; a daemon at work is warm.
    inside(&project, &questions, &names)?;
    for (tool, times) in inside(&project, &questions, &names)? {
        println!("  {tool:<26} {}", spread(&times));
    }
    println!("  {:.2} CPU ms a `hybrid_query`", cpu_inside(&project, &questions)?);
    runtime.block_on(project.drain(support::SETTLE_LIMIT));
    drop(project);
    println!("over the socket:");
    let mut daemon = support::daemon_with_notes(Path::new(data))?;
    write_more(daemon.root(), &more)?;
    daemon.settle();
    over_socket(&daemon, &questions, &names)?;
    for (tool, times) in over_socket(&daemon, &questions, &names)? {
        println!("  {tool:<26} {}", spread(&times));
    }
    println!(
        "  {:.2} CPU ms of the daemon a `hybrid_query` (limit {CPU_LIMIT_MS})",
        cpu_over_socket(&daemon, &questions)?
    );
    println!("`hybrid_query` by clients at once:");
    let pid = daemon.pid();
    let cpu = support::cpu_of_process(pid)?;
    at_once(&questions, ROUNDS, || {
        let mut client = daemon.agent();
        Ok(move |question: &str| match client.call("hybrid_query", json!({"q": question})) {
            Ok(_) => Ok(()),
            Err(error) => Err(anyhow!("hybrid_query: {error}")),
        })
    })?;
    println!("  {:.1} CPU seconds of the daemon", support::cpu_of_process(pid)? - cpu);
    println!("the daemon holds {:.1} MiB", support::memory_mib(daemon.pid(), "VmRSS")?);
    Ok(())
}

/// Writes further files, up to 1,000 with those of the sets.
fn write_more(root: &Path, texts: &[Vec<u8>]) -> Result<()> {
    std::fs::create_dir_all(root.join("more"))?;
    for (n, text) in texts.iter().take(N_MORE).enumerate() {
        std::fs::write(root.join(format!("more/page-{n}.md")), text)?;
    }
    Ok(())
}

/// Returns section titles, spread evenly over all chunks, and the fixed list.
fn questions(project: &Project) -> Result<Vec<String>> {
    let db = index::store::open_for_reading(&project.readers().path())?;
    let mut statement = db.prepare(
        "SELECT DISTINCT section FROM chunks WHERE length(section) BETWEEN 8 AND 200 ORDER BY hash",
    )?;
    let sections: Vec<String> =
        statement.query_map([], |row| row.get(0))?.take(N_QUESTIONS).collect::<Result<_, _>>()?;
    let sections = sections.into_iter().map(|section| section.replace('›', " "));
    Ok(sections.chain(FIXED.map(String::from)).collect())
}

/// Returns the most mentioned entities, and some of the rest.
fn names(project: &Project) -> Result<Vec<String>> {
    let db = index::store::open_for_reading(&project.readers().path())?;
    let mut statement = db.prepare(
        "WITH known AS (SELECT * FROM names WHERE entity_id NOT NULL)
         SELECT surface FROM (SELECT surface FROM known ORDER BY n_mentions DESC LIMIT 50)
         UNION SELECT surface FROM (SELECT surface FROM known ORDER BY id LIMIT 50)",
    )?;
    Ok(statement.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?)
}

type Times = Vec<(&'static str, Vec<f64>)>;

fn inside(project: &Project, questions: &[String], names: &[String]) -> Result<Times> {
    let refused = |error: proto::error::ErrorView| anyhow!(error.message);
    let timed = |work: &dyn Fn() -> Result<()>| -> Result<f64> {
        let started = Instant::now();
        work()?;
        Ok(started.elapsed().as_secs_f64() * 1e3)
    };
    let ask = |q: &String, formula: Option<&str>| {
        timed(&|| {
            let snapshot = project.snapshot()?;
            let formula = formula.map(String::from);
            let request = HybridQuery { q: q.clone(), formula, ..HybridQuery::default() };
            query::answer(&project.context(&snapshot), &request).map_err(refused)?;
            Ok(())
        })
    };
    let all = |formula| questions.iter().map(|q| ask(q, formula)).collect::<Result<Vec<f64>>>();
    let look_up = |name: &String| {
        timed(&|| {
            let snapshot = project.snapshot()?;
            let request = EntityLookup { q: name.clone(), ..EntityLookup::default() };
            query::entity_lookup(&project.context(&snapshot), &request).map_err(refused)?;
            Ok(())
        })
    };
    let explain = |name: &String| {
        timed(&|| {
            let snapshot = project.snapshot()?;
            let request = ExplainEntity { name: Some(name.clone()), ..ExplainEntity::default() };
            query::explain_entity(&project.context(&snapshot), &request).map_err(refused)?;
            Ok(())
        })
    };
    let go_with = |name: &String| {
        let snapshot = project.snapshot()?;
        let context = project.context(&snapshot);
        let request = ExplainEntity { name: Some(name.clone()), ..ExplainEntity::default() };
        let explained = query::explain_entity(&context, &request).map_err(refused)?;
        timed(&|| query::goes_with(&context, &explained).map(drop).map_err(Into::into))
    };
    Ok(vec![
        ("hybrid_query", all(None)?),
        ("hybrid_query, text", all(Some("text"))?),
        ("hybrid_query, vector", all(Some("vector"))?),
        ("entity_lookup", names.iter().map(look_up).collect::<Result<_>>()?),
        ("explain_entity", names.iter().map(explain).collect::<Result<_>>()?),
        ("  what goes with it", names.iter().map(go_with).collect::<Result<_>>()?),
    ])
}

fn cpu_inside(project: &Project, questions: &[String]) -> Result<f64> {
    let before = support::cpu_of_thread()?;
    for q in questions {
        let snapshot = project.snapshot()?;
        let request = HybridQuery { q: q.clone(), ..HybridQuery::default() };
        query::answer(&project.context(&snapshot), &request).map_err(|it| anyhow!(it.message))?;
    }
    Ok((support::cpu_of_thread()? - before) * 1e3 / questions.len() as f64)
}

fn cpu_over_socket(daemon: &TestProject, questions: &[String]) -> Result<f64> {
    let mut client = daemon.agent();
    let before = support::cpu_of_threads(daemon.pid())?;
    for q in questions {
        support::call(&mut client, "hybrid_query", json!({"q": q}))?;
    }
    Ok(support::cpu_ms_since(daemon.pid(), &before)? / questions.len() as f64)
}

fn over_socket(daemon: &TestProject, questions: &[String], names: &[String]) -> Result<Times> {
    let mut client = daemon.agent();
    let mut all = |tool: &str, key: &str, values: &[String]| -> Result<Vec<f64>> {
        let mut times = Vec::new();
        for value in values {
            let started = Instant::now();
            client.call(tool, json!({ key: value })).map_err(|error| anyhow!("{tool}: {error}"))?;
            times.push(started.elapsed().as_secs_f64() * 1e3);
        }
        Ok(times)
    };
    Ok(vec![
        ("hybrid_query", all("hybrid_query", "q", questions)?),
        ("entity_lookup", all("entity_lookup", "q", names)?),
        ("explain_entity", all("explain_entity", "name", names)?),
    ])
}
