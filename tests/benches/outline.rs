//! Outline: whether the projects that a front end asks first, by their outlines, contain the best
//! answer.
//!
//! `cargo bench -p tests --bench outline -- DATA [PROJECTS] [SET...]`
//! The documents of a set are divided, in the order of their paths, among PROJECTS projects (100 by
//! default), and are also all in one project together. For each question: is the project of that
//! one's best hit, and a project with a judged document, among the first 4, 8, 16, 32 that the
//! outlines suggest? Without the deep pass, which changes no chunk.

#![allow(clippy::print_stdout, reason = "a bench prints its table")]
#![allow(dead_code, reason = "sets are used in part")]

#[path = "retrieval/set.rs"]
mod set;
mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, Result, anyhow};
use config::Settings;
use embed::{StaticModel, WordPiece};
use hub::{Asked, Outline, Outlines};
use proto::tool::core::HybridQuery;
use server::project::Project;
use set::Set;
use support::Scratch;
use tokio::runtime::Runtime;

/// Sets with questions not written for this, and the part that is asked.
const SETS: [(&str, &str); 8] = [
    ("newcomers", ""),
    ("paraphrased", ""),
    ("titles", ""),
    ("docs_rustbook", ""),
    ("vault_foam", ""),
    ("vault_obsidian_tasks", ""),
    ("cranfield", "dev"),
    ("cacm", "dev"),
];

/// Numbers of projects asked.
const ASKED: [usize; 4] = [4, 8, 16, 32];

fn main() -> Result<()> {
    let mut arguments = support::arguments();
    ensure_data(&arguments)?;
    let data = arguments.remove(0);
    let n_projects = match arguments.first().and_then(|it| it.parse().ok()) {
        Some(n) => {
            arguments.remove(0);
            n
        }
        None => 100,
    };
    let runtime = support::runtime()?;
    println!(
        "set: questions; of the best hit's project the share among the first 4, 8, 16, 32; of a judged one's"
    );
    for (name, part) in SETS {
        if arguments.is_empty() || arguments.iter().any(|it| it == name) {
            measure(&runtime, Set::read(Path::new(&data), name, part)?, n_projects)?;
        }
    }
    Ok(())
}

fn ensure_data(arguments: &[String]) -> Result<()> {
    let hint = "which data? hint: cargo bench -p tests --bench outline -- DATA";
    arguments.first().map(|_| ()).context(hint)
}

fn measure(runtime: &Runtime, mut set: Set, n_projects: usize) -> Result<()> {
    let (whole, _whole) = indexed(runtime, &set)?;
    let mut outlines = Outlines::default();
    // The project of each document.
    let mut homes: BTreeMap<String, usize> = BTreeMap::new();
    let all = std::mem::take(&mut set.documents);
    for (number, part) in all.chunks(all.len().div_ceil(n_projects).max(1)).enumerate() {
        set.documents = part.to_vec();
        let (project, scratch) = indexed(runtime, &set)?;
        for (file, _) in support::files_below(&scratch.notes())? {
            let path = file.strip_prefix(scratch.notes())?.display().to_string();
            homes.extend(set.found(&path, [1, 1])?.into_iter().map(|id| (id, number)));
        }
        outlines.add(number as i32, &number.to_string(), Outline::of(&project.snapshot()?)?);
    }
    let (snapshot, model) = (whole.snapshot()?, StaticModel::builtin(WordPiece::builtin()));
    let (mut best, mut judged, mut n, mut took) = ([0; 4], [0; 4], 0, 0.0);
    for query in &set.queries {
        let q: String = query.text.chars().take(1_000).collect();
        let request = HybridQuery { q: q.clone(), ..HybridQuery::default() };
        let reply = query::answer(&whole.context(&snapshot), &request);
        let reply = reply.map_err(|error| anyhow!(error.message))?;
        let Some(hit) = reply.chunks.first() else { continue };
        let home = |id: &String| homes.get(id).copied();
        let hit = set.found(&hit.path, hit.lines)?.first().and_then(home).context("a home")?;
        let answers: BTreeSet<usize> =
            set.judged(&query.id).filter_map(|id| home(&id.to_string())).collect();
        let started = Instant::now();
        let (terms, vector) = (query::text_terms(&q), model.unrounded(&q));
        let asked = Asked { terms, vector, names: Vec::new() };
        let named = outlines.best(&asked, 32);
        took += started.elapsed().as_secs_f64() * 1e3;
        let order: Vec<usize> = named.iter().filter_map(|it| it.parse().ok()).collect();
        n += 1;
        for (at, most) in ASKED.iter().enumerate() {
            let first = order.get(..*most).unwrap_or(&order);
            best[at] += usize::from(first.contains(&hit));
            judged[at] += usize::from(first.iter().any(|it| answers.contains(it)));
        }
    }
    let share = |n_of: [usize; 4]| n_of.map(|it| format!("{:.3}", it as f64 / n as f64)).join(" ");
    println!(
        "{}: {n} of {} projects; {}; {}; {:.2} ms a question, {} bytes a project",
        set.name,
        homes.values().max().map_or(0, |it| it + 1),
        share(best),
        share(judged),
        took / n as f64,
        outlines.n_bytes() / homes.values().max().map_or(1, |it| it + 1)
    );
    Ok(())
}

fn indexed(runtime: &Runtime, set: &Set) -> Result<(Arc<Project>, Scratch)> {
    let scratch = Scratch::new()?;
    set.write_files(&scratch.notes())?;
    let mut settings = Settings::default();
    settings.recognize.deep = false;
    settings.embed.model = "none".into();
    let project =
        runtime.block_on(support::open_settled(&scratch.notes(), &scratch.state(), settings))?;
    Ok((project, scratch))
}
