//! Page: latency of the page of `kgctl open` in Chromium: until something is visible, for a search
//! while typing, and for the map.
//!
//! `cargo bench -p tests --bench page -- [--notes 10000]`; needs Chromium (`KG_CHROMIUM`).

#![allow(clippy::print_stdout, reason = "a bench prints its table")]

mod support;

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use serde_json::json;
use tests::TestProject;
use tests::browser::Browser;

/// Questions that are typed, one after another.
const QUESTIONS: [&str; 8] = [
    "latency",
    "who runs the service",
    "when does the cache fail",
    "queue depth",
    "why was the deployment stopped",
    "storage",
    "keys",
    "which team owns the gateway",
];

fn main() -> Result<()> {
    let mut arguments = support::arguments();
    let n_notes = support::option(&mut arguments, "--notes").map_or(Ok(10_000), |n| n.parse())?;
    let mut project = TestProject::empty();
    support::generated::write(project.root(), n_notes)?;
    let begun = Instant::now();
    project.start();
    while project.status()["stages_settled"]["searchable"] != true {
        project.call("wait", json!({ "timeout_ms": 2_000 }));
    }
    println!("{n_notes} notes, searchable after {} s", begun.elapsed().as_secs());
    let root = project.root().to_str().context("a path")?;
    let opened = project.kgctl().args(["--project", root, "open", "--print"]).output()?;
    let address = String::from_utf8(opened.stdout)?;
    let mut browser = Browser::start().context("no Chromium")?;
    let mut paints = Vec::new();
    for _ in 0..5 {
        browser.call("Page.navigate", json!({ "url": "about:blank" }));
        browser.open(address.trim(), "document.activeElement?.id === 'q'");
        browser.until("performance.getEntriesByType('paint').length > 0");
        let paint = browser.value("performance.getEntriesByType('paint').at(-1).startTime");
        paints.push(paint.as_f64().unwrap_or_default());
    }
    show("first contentful paint", paints);
    let (mut waits, mut answers) = (Vec::new(), Vec::new());
    for question in QUESTIONS {
        browser.value("document.getElementById('q').select(); delete document.getElementById('results').dataset.ms");
        browser.call("Input.insertText", json!({ "text": question }));
        browser.until("document.getElementById('results').dataset.ms !== undefined");
        let ms = browser.text("document.getElementById('results').dataset.ms");
        waits.push(ms.parse()?);
        // The same questions again, without a browser.
        let begun = Instant::now();
        project.call("hybrid_query", json!({ "q": question, "k": 20 }));
        answers.push(begun.elapsed().as_secs_f64() * 1_000.0);
    }
    show("search, from letter to passages drawn", waits);
    show("hybrid_query alone, over the socket", answers);
    let begun = Instant::now();
    browser.value("location.hash = '#/map'");
    browser.until("document.querySelectorAll('#labels span:not([hidden])').length > 0");
    let drawn: Duration = begun.elapsed();
    let status = browser.text("document.querySelector('main [role=status]').innerText");
    println!("map: {} ms ({status})", drawn.as_millis());
    Ok(())
}

fn show(what: &str, mut all: Vec<f64>) {
    all.sort_by(f64::total_cmp);
    let at = |share: f64| all.get((all.len() as f64 * share) as usize).or(all.last());
    let [median, most] = [at(0.5), all.last()].map(|it| it.copied().unwrap_or_default());
    println!("{what}: median {median:.0} ms, most {most:.0} ms of {}", all.len());
}
