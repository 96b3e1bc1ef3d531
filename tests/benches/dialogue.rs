//! Dialogue: recall of the turns and sessions that answer questions about conversations.
//!
//! `cargo bench -p tests --bench dialogue -- FILE... [--layout NAME,...] [--tier static|minilm]
//! [--set KEY=VALUE]... [--most N]`
//! A file is one of LoCoMo's or LongMemEval's (`dialogue/format.rs`); without any, our own small
//! samples in `tests/data/dialogue` are used, which only show that the bench works. Runs a real
//! `kgd` per dialogue, without the deep pass. Layouts: `turns` (a file per turn, `hybrid_query`),
//! `sessions` (a file per session, `hybrid_query`), `entities` (a memory entity per turn,
//! `search_nodes`), `speakers` (an entity per speaker, an observation per turn, `search_nodes`).
//! The floor of each is BM25 alone (`formula: text`, `mode: text`).
//! Prints the mean over questions of the share of answering turns and sessions among the first 5
//! and 10 that are returned. `--most` limits the questions per dialogue, evenly spread.

#![allow(clippy::print_stdout, reason = "a bench prints its table")]

#[path = "dialogue/format.rs"]
mod format;
mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use format::{Dialogue, Question, Session, Turn};
use serde_json::{Value, json};
use support::{call, wait};
use tests::{Client, TestProject};

/// Hits requested, so that ten sessions are among them.
const N_HITS: usize = 60;

/// Cutoffs of recall.
const AT: [usize; 2] = [5, 10];

/// Longest wait for the better vectors of a dialogue, and interval between checks.
const BACKFILL_LIMIT: Duration = Duration::from_secs(3_600);
const LOOK_AGAIN: Duration = Duration::from_millis(500);

const LAYOUTS: [&str; 4] = ["turns", "sessions", "entities", "speakers"];

fn main() -> Result<()> {
    let mut arguments = support::arguments();
    let layouts = support::option(&mut arguments, "--layout").unwrap_or_else(|| LAYOUTS.join(","));
    let tier = support::option(&mut arguments, "--tier").unwrap_or_else(|| "static".into());
    let most = support::option(&mut arguments, "--most").map_or(Ok(usize::MAX), |n| n.parse())?;
    let mut settings = vec!["recognize.deep=false".to_string()];
    settings.push(match tier.as_str() {
        "static" => "embed.model=none".into(),
        "minilm" => "embed.background=on".into(),
        other => bail!("there is no tier `{other}`"),
    });
    while let Some(setting) = support::option(&mut arguments, "--set") {
        settings.push(setting);
    }
    let mut files: Vec<PathBuf> = arguments.into_iter().map(PathBuf::from).collect();
    if files.is_empty() {
        let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/dialogue");
        files = ["locomo.json", "longmemeval.json"].map(|it| own.join(it)).to_vec();
    }
    println!("{tier}: recall of turns at 5, 10; of sessions at 5, 10");
    for file in files {
        let mut dialogues = Dialogue::read(&file)?;
        dialogues.iter_mut().for_each(|it| keep(&mut it.questions, most));
        let n_questions: usize = dialogues.iter().map(|it| it.questions.len()).sum();
        let n_turns: usize =
            dialogues.iter().flat_map(|it| &it.sessions).map(|it| it.turns.len()).sum();
        println!("{}: {n_questions} questions, {n_turns} turns", file.display());
        for layout in layouts.split(',') {
            let mut sums = BTreeMap::<&str, Recall>::new();
            for dialogue in &dialogues {
                ask_all(layout, &settings, tier == "minilm", dialogue, &mut sums)?;
            }
            for (way, recall) in sums {
                println!("  {layout:<9} {way:<8} {recall}");
            }
        }
    }
    Ok(())
}

/// Keeps `most` questions, evenly spread.
fn keep(questions: &mut Vec<Question>, most: usize) {
    let (n, mut at) = (questions.len(), 0);
    let is_kept = |at: usize| at * most / n != (at + 1) * most / n;
    questions.retain(|_| {
        at += 1;
        n <= most || is_kept(at - 1)
    });
}

/// Sums over questions, and their numbers.
#[derive(Default)]
struct Recall {
    turns: [f64; 2],
    n_turns: f64,
    sessions: [f64; 2],
    n_sessions: f64,
}

impl Recall {
    fn add(&mut self, question: &Question, turns: &[String], sessions: &[String]) {
        if !question.turns.is_empty() {
            self.n_turns += 1.0;
            for (sum, k) in self.turns.iter_mut().zip(AT) {
                *sum += share(&question.turns, turns, k);
            }
        }
        self.n_sessions += 1.0;
        for (sum, k) in self.sessions.iter_mut().zip(AT) {
            *sum += share(&question.sessions, sessions, k);
        }
    }
}

impl std::fmt::Display for Recall {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [t5, t10] = self.turns.map(|it| it / self.n_turns.max(1.0));
        let [s5, s10] = self.sessions.map(|it| it / self.n_sessions.max(1.0));
        write!(f, "turns {t5:.3} {t10:.3}  sessions {s5:.3} {s10:.3}")
    }
}

fn share(wanted: &BTreeSet<String>, found: &[String], k: usize) -> f64 {
    let first: BTreeSet<&String> = found.iter().take(k).collect();
    wanted.iter().filter(|it| first.contains(it)).count() as f64 / wanted.len() as f64
}

fn ask_all(
    layout: &str,
    settings: &[String],
    is_better: bool,
    dialogue: &Dialogue,
    sums: &mut BTreeMap<&'static str, Recall>,
) -> Result<()> {
    let mut project = TestProject::empty();
    settings.iter().for_each(|it| project.set(it));
    let shown = write(&project, layout, dialogue)?;
    project.start();
    let mut client = Client::admin(&project.paths().socket);
    wait(&mut client)?;
    if is_better {
        let deadline = Instant::now() + BACKFILL_LIMIT;
        while project.status()["embedding"]["state"] != "done" {
            if Instant::now() > deadline {
                bail!("the better vectors are not there: {}", project.status()["embedding"]);
            }
            std::thread::sleep(LOOK_AGAIN);
        }
    }
    let is_memory = matches!(layout, "entities" | "speakers");
    let ways: &[(&'static str, Value)] = &match is_memory {
        true => [("usual", json!({})), ("bm25", json!({"mode": "text"}))],
        false => [("usual", json!({})), ("bm25", json!({"formula": "text"}))],
    };
    for question in &dialogue.questions {
        for (way, more) in ways {
            let found = match is_memory {
                true => in_memory(&mut client, &question.text, more)?,
                false => in_files(&mut client, &question.text, more)?,
            };
            let (mut turns, mut sessions): (Vec<String>, Vec<String>) = Default::default();
            for place in found {
                for turn in shown.turns_at(&place) {
                    sessions.extend(dialogue.session_of(turn).map(str::to_string));
                    turns.push(turn.to_string());
                }
            }
            for list in [&mut turns, &mut sessions] {
                let mut seen = BTreeSet::new();
                list.retain(|it| seen.insert(it.clone()));
            }
            sums.entry(way).or_default().add(question, &turns, &sessions);
        }
    }
    Ok(())
}

/// The place of a hit: a file with lines, or the text of an observation.
enum Place {
    Lines(String, [u64; 2]),
    Observation(String),
}

/// Maps stored text back to turns.
#[derive(Default)]
struct Shown {
    /// Path, line, turn.
    lines: Vec<(String, u64, String)>,
    observations: BTreeMap<String, Vec<String>>,
}

impl Shown {
    fn turns_at<'a>(&'a self, place: &'a Place) -> Box<dyn Iterator<Item = &'a str> + 'a> {
        match place {
            Place::Lines(path, [first, last]) => Box::new(
                self.lines
                    .iter()
                    .filter(move |(of, line, _)| of == path && (first..=last).contains(&line))
                    .map(|(_, _, turn)| turn.as_str()),
            ),
            Place::Observation(text) => {
                Box::new(self.observations.get(text).into_iter().flatten().map(String::as_str))
            }
        }
    }
}

fn in_files(client: &mut Client, question: &str, more: &Value) -> Result<Vec<Place>> {
    let mut request = json!({"q": question, "k": N_HITS, "max_chars": 100_000});
    add(&mut request, more);
    let reply = call(client, "hybrid_query", request)?;
    let hits = reply["chunks"].as_array().context("hits")?;
    let line = |hit: &Value, at: usize| hit["lines"][at].as_u64().unwrap_or(0);
    let place = |hit: &Value| {
        Some(Place::Lines(hit["path"].as_str()?.to_string(), [line(hit, 0), line(hit, 1)]))
    };
    Ok(hits.iter().filter_map(place).collect())
}

/// Returns the matching observations, best first.
fn in_memory(client: &mut Client, question: &str, more: &Value) -> Result<Vec<Place>> {
    let mut request = json!({"query": question, "limit": N_HITS, "max_chars": 100_000});
    add(&mut request, more);
    let reply = call(client, "search_nodes", request)?;
    let mut found: Vec<(f64, String)> = Vec::new();
    for hit in reply["results"].as_array().context("results")? {
        let score = |it: &Value| it["score"].as_f64().unwrap_or(0.0);
        let text_of = |it: &Value| it.as_str().unwrap_or_default().to_string();
        found.push((score(hit), text_of(&hit["matched_observation"])));
        let others = hit["observations"].as_array().into_iter().flatten();
        found.extend(others.map(|it| (score(it), text_of(&it["content"]))));
    }
    found.sort_by(|a, b| b.0.total_cmp(&a.0));
    Ok(found.into_iter().map(|(_, text)| Place::Observation(text)).collect())
}

fn add(request: &mut Value, more: &Value) {
    if let (Some(request), Some(more)) = (request.as_object_mut(), more.as_object()) {
        request.extend(more.clone());
    }
}

fn write(project: &TestProject, layout: &str, dialogue: &Dialogue) -> Result<Shown> {
    let mut shown = Shown::default();
    let turns = || dialogue.sessions.iter().flat_map(|of| of.turns.iter().map(move |it| (of, it)));
    match layout {
        "turns" => {
            for (session, turn) in turns() {
                let path = format!("dialogue/{}.md", turn.id.replace(':', "-"));
                let text =
                    format!("{} ({})\n\n{}: {}\n", turn.id, session.date, turn.speaker, turn.text);
                shown.lines.push((path.clone(), 3, turn.id.clone()));
                project.write(&path, text);
            }
        }
        "sessions" => {
            for session in &dialogue.sessions {
                let path = format!("dialogue/{}.md", session.id);
                let mut text = format!("# {}\n\n{}\n", session.id, session.date);
                for (at, turn) in session.turns.iter().enumerate() {
                    _ = write!(text, "\n{}: {}\n", turn.speaker, turn.text);
                    shown.lines.push((path.clone(), 5 + 2 * at as u64, turn.id.clone()));
                }
                project.write(&path, text);
            }
        }
        "entities" => {
            for (at, (session, turn)) in turns().enumerate() {
                let line = observation(session, turn);
                let name = &turn.id;
                let text = format!(
                    "---\ntitle: \"{name}\"\ntype: turn\n---\n\n# {name}\n\n- {line} ^o1\n"
                );
                shown.observations.entry(line).or_default().push(turn.id.clone());
                project.write(&format!("memory/turn-{at}.md"), text);
            }
        }
        "speakers" => {
            let mut notes: BTreeMap<&str, (String, usize)> = BTreeMap::new();
            for (session, turn) in turns() {
                let name = turn.speaker.as_str();
                let begin =
                    || (format!("---\ntitle: \"{name}\"\ntype: person\n---\n\n# {name}\n\n"), 0);
                let (text, n) = notes.entry(name).or_insert_with(begin);
                *n += 1;
                let line = observation(session, turn);
                _ = writeln!(text, "- {line} ^o{n}");
                shown.observations.entry(line).or_default().push(turn.id.clone());
            }
            for (at, (text, _)) in notes.into_values().enumerate() {
                project.write(&format!("memory/speaker-{at}.md"), text);
            }
        }
        other => bail!("there is no layout `{other}`"),
    }
    Ok(shown)
}

/// Returns a turn as an observation, in characters that Markdown leaves unchanged.
fn observation(session: &Session, turn: &Turn) -> String {
    let plain = |text: &str| -> String {
        text.chars().map(|c| if "[]*_`<>\\#^&|~!".contains(c) { ' ' } else { c }).collect()
    };
    let line = format!("{}: {} ({})", turn.speaker, plain(&turn.text), plain(&session.date));
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}
