//! Retrieval: nDCG, Recall and MRR by signal (full text, vectors, both, with the graph) and by
//! formula, on publicly judged sets, on related notes of two vaults and on the sample corpus; and
//! whether each differs from full text alone (paired bootstrap by the sets' own scorer).
//!
//! `cargo bench -p tests --bench retrieval -- DATA_DIR [SET...] [--cache DIR] [--runs DIR] [--set KEY=VALUE]
//! [--tier TIER]`
//! `docs_rustbook`, `docs_prometheus`, `vault_foam` and `vault_obsidian_tasks` may be named, too (`retrieval/set.rs`).
//! A set is indexed once and asked many times (`retrieval/ranking.rs`); `--only NAME,NAME` asks
//! fewer rankings. Costs are CPU time, so that they exclude other work on the machine; `--hits N`
//! requests fewer than 100 hits.
//! Each set becomes a folder with one Markdown file per document (`# title`, then the text); the
//! file's name is the document's id. `--cache` keeps folders and indexes for the next run, `--runs`
//! keeps the run files; `--set` changes a setting, such as `retrieval.weights.graph=0`.
//! `--tier` selects the vectors: `static`, `minilm` (first computes those that the cache lacks),
//! `half` (those of MiniLM for every second window) or a number such as `25` (those that are
//! computed first, percent). The latter two use a copy of the cache's index, which must have all
//! vectors.
//! Three sums that know nothing of kgd are further rankings (`retrieval/plain.rs`): none may be better than `default`.
//! `--floor` prints how often answers are reported as irrelevant to the question, and fits
//! relevance (`retrieval/floor.rs`).
//! `--kinds` prints the results of each kind of question of `newcomers` and `keywords`
//! (`retrieval/kinds.rs`); with `--misses` also each question that fails, except those of the
//! reporting half.
//! `--dump FILE` writes the value of every signal for each candidate, with its judgment
//! (`retrieval/dump.rs`). With `--every N`, this and `--kinds` ask only every Nth question.
//! `--join N` writes N documents into each file, one paragraph each without the heading marker, and
//! counts a document as found if a hit shows its lines: this measures the effect of chunk sizes on
//! long documents. (A `--cache` is valid for one N and one size.)

#![allow(clippy::print_stdout, reason = "a bench prints its table")]

#[path = "retrieval/dump.rs"]
mod dump;
#[path = "retrieval/floor.rs"]
mod floor;
#[path = "retrieval/judge.rs"]
mod judge;
#[path = "retrieval/kinds.rs"]
mod kinds;
#[path = "retrieval/plain.rs"]
mod plain;
#[path = "retrieval/ranking.rs"]
mod ranking;
#[path = "retrieval/set.rs"]
mod set;
mod support;

use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use anyhow::{Context, Result, anyhow, bail};
use config::{Places, Settings};
use proto::tool::core::HybridQuery;
use query::answer;
use ranking::Ranking;
use server::project::Project;
use set::{Query, Set};

/// Sets, and the part whose queries may be used for tuning.
const SETS: [(&str, &str); 11] = [
    ("scifact", "train"),
    ("cranfield", "dev"),
    ("cacm", "dev"),
    ("musique100", "dev"),
    ("hotpotqa100", "dev"),
    ("foam_related", "dev"),
    ("tasks_related", "dev"),
    ("prometheus_related", "dev"),
    ("corpus", "questions"),
    ("paraphrased", "questions"),
    ("titles", "names"),
];

/// Asked only by name: folders of notes whose links were removed (which note do the words of an
/// anchor name?), and sets with questions of several kinds.
const NAMED: [(&str, &str); 6] = [
    ("newcomers", "questions"),
    ("keywords", "questions"),
    ("docs_rustbook", "anchors"),
    ("docs_prometheus", "anchors"),
    ("vault_foam", "anchors"),
    ("vault_obsidian_tasks", "anchors"),
];

/// Sets in which each document is about one thing, so that memory may hold them.
const AS_MEMORY: [&str; 2] = ["musique100", "hotpotqa100"];

/// Chunks requested by default: the maximum of the tool.
const HITS: u32 = 100;

/// Longest time for embedding a whole set.
const BACKFILL_LIMIT: std::time::Duration = std::time::Duration::from_secs(3 * 3_600);

/// Threads that ask.
const THREADS: usize = 2;

fn main() -> Result<()> {
    let mut arguments = support::arguments();
    let scratch = tempfile::tempdir()?;
    let folder = |given: Option<String>, name: &str| {
        given.map_or_else(|| scratch.path().join(name), PathBuf::from)
    };
    let cache = folder(support::option(&mut arguments, "--cache"), "cache");
    let runs = folder(support::option(&mut arguments, "--runs"), "runs");
    let tier = support::option(&mut arguments, "--tier").unwrap_or_else(|| "static".into());
    let mut changes = match tier.as_str() {
        "static" => vec!["embed.model=none".to_string()],
        "minilm" => vec!["embed.background=on".to_string()],
        "half" => vec!["embed.background=off".to_string()],
        share if share.parse::<u32>().is_ok() => vec!["embed.background=off".to_string()],
        other => bail!("there is no tier `{other}`"),
    };
    let n_joined: usize = support::option(&mut arguments, "--join")
        .map_or(Ok(1), |n| n.parse())
        .context("--join N")?;
    while let Some(change) = support::option(&mut arguments, "--set") {
        changes.push(change);
    }
    let only = support::option(&mut arguments, "--only");
    let has_floor = support::flag(&mut arguments, "--floor");
    let dump = support::option(&mut arguments, "--dump");
    let every = support::option(&mut arguments, "--every").map_or(Ok(1), |n| n.parse());
    let every: usize = every.context("--every N")?;
    let has_misses = support::flag(&mut arguments, "--misses");
    let has_kinds = support::flag(&mut arguments, "--kinds") || has_misses;
    let n_hits: u32 = support::option(&mut arguments, "--hits")
        .map_or(Ok(HITS), |n| n.parse())
        .context("--hits N")?;
    let mut arguments = arguments.into_iter();
    let data = PathBuf::from(arguments.next().context(
        "which data? hint: cargo bench -p tests --bench retrieval -- DATA_DIR [SET...]",
    )?);
    let wanted: Vec<String> = arguments.collect();
    std::fs::create_dir_all(&runs)?;
    let mut settings = settings_with(scratch.path(), &changes)?;
    settings.retrieval.k = n_hits;
    let rankings = ranking::chosen(&settings, only.as_deref())?;
    let sums = ranking::chosen_sums(only.as_deref());
    let runtime = support::runtime()?;
    let others = match has_floor {
        true => SETS.iter().map(|(name, part)| Set::read(&data, name, part)).collect(),
        false => Ok(Vec::new()),
    };
    let others = others?;
    let mut floor = floor::Floor::default();
    let mut dumped = dump.map(File::create).transpose()?.map(BufWriter::new);
    let names = rankings.iter().map(|it| it.name).chain(sums.iter().map(|it| it.0));
    let mut judge = judge::Judge::new(data.join("score/ir_score.py"), runs, names.collect());
    for (name, part) in SETS.iter().chain(&NAMED).filter(|it| is_wanted(&wanted, it)) {
        let mut set = Set::read(&data, name, part)?;
        if has_floor {
            for half in 0..2 {
                let case = Case { base: &set, part, half, others: &others };
                runtime.block_on(ask_half(&mut floor, &data, &case, &cache, &tier, &settings))?;
            }
            continue;
        }
        set.join(n_joined);
        let started = Instant::now();
        let project = runtime.block_on(open(&set, &cache, &tier, &settings))?;
        println!(
            "{name}: {} documents in {:.1} s",
            set.documents.len(),
            started.elapsed().as_secs_f64()
        );
        if let Some(file) = &mut dumped {
            dump::write(&project, &settings, &set, file, every)?;
            continue;
        }
        if has_kinds {
            kinds::print(&project, &settings_of(&settings), &set, has_misses, every)?;
        } else {
            ask_all(&project, &rankings, &set, &mut judge)?;
            // Where better vectors are missing, the sums would be without any.
            if !sums.is_empty() && !is_part(&tier) {
                let state = state_of(&cache.join(&set.name), &tier);
                ask_plainly(&project, &state, &sums, &set, &mut judge)?;
            }
        }
        runtime.block_on(project.drain(support::SETTLE_LIMIT));
    }
    match (has_floor, has_kinds || dumped.is_some()) {
        (true, _) => floor.print(),
        (false, true) => {}
        (false, false) => return judge.verdict(),
    }
    Ok(())
}

/// One half of a set's questions, whose answers are removed from its folder.
struct Case<'a> {
    base: &'a Set,
    part: &'a str,
    half: usize,
    others: &'a [Set],
}

/// Asks a folder without the answers of one half of its questions; for an encyclopedia, also its
/// documents as memory.
async fn ask_half(
    floor: &mut floor::Floor,
    data: &Path,
    case: &Case<'_>,
    cache: &Path,
    tier: &str,
    settings: &Settings,
) -> Result<()> {
    let mut set = Set::read(data, &case.base.name, case.part)?;
    let gone = set.without_half(case.half);
    let (n, own, near) = (set.documents.len(), set.queries.len(), gone.len());
    println!("{}: {n} documents, questions {own} own, {near} near", set.name);
    let project = open(&set, cache, tier, settings).await?;
    let as_asked = settings_of(settings);
    floor.ask(&project, &as_asked, [&set, case.base], &gone, case.others)?;
    project.drain(support::SETTLE_LIMIT).await;
    if !AS_MEMORY.contains(&case.base.name.as_str()) {
        return Ok(());
    }
    set.name += "-memory";
    let notes = cache.join(&set.name).join("notes");
    if !notes.exists() {
        set.write_memory(&notes)?;
        std::fs::create_dir_all(cache.join(&set.name).join("state"))?;
    }
    let project = open(&set, cache, tier, settings).await?;
    let snapshot = project.snapshot()?;
    let mut context = project.context(&snapshot);
    context.settings = &as_asked;
    floor.ask_memory(&context, [&set, case.base], &gone, case.others)?;
    drop(snapshot);
    project.drain(support::SETTLE_LIMIT).await;
    Ok(())
}

/// Uses the number of hits that a user gets.
fn settings_of(settings: &Settings) -> Settings {
    let mut settings = settings.clone();
    settings.retrieval.k = Settings::default().retrieval.k;
    settings
}

/// Returns whether a set is wanted: the named ones, or by default the judged sets.
fn is_wanted(wanted: &[String], set: &(&str, &str)) -> bool {
    if wanted.is_empty() { SETS.contains(set) } else { wanted.iter().any(|name| name == set.0) }
}

fn settings_with(scratch: &Path, changes: &[String]) -> Result<Settings> {
    let at = |name: &str| scratch.join(name);
    let places = Places { state: at("state"), runtime: at("runtime"), config: at("config") };
    Ok(config::load::load(&places, None, changes)?.settings)
}

/// Opens a set's project, writing its files first if the cache has none.
async fn open(
    set: &Set,
    cache: &Path,
    tier: &str,
    settings: &Settings,
) -> Result<std::sync::Arc<Project>> {
    let home = cache.join(&set.name);
    let (notes, state) = (home.join("notes"), state_of(&home, tier));
    if !notes.exists() {
        std::fs::create_dir_all(home.join("state"))?;
        set.write_files(&notes)?;
    }
    if is_part(tier) {
        make_part(&home, tier.parse().ok())?;
    }
    let project = support::open_settled(&notes, &state, settings.clone()).await?;
    let started = Instant::now();
    let is_backfilled =
        |project: &Project| project.backfilled().is_some_and(|it| it.is_full && it.n_windows > 0);
    if tier == "minilm" && !project.wait_until(BACKFILL_LIMIT, is_backfilled).await {
        bail!("the better vectors are not there: {:?}", project.backfilled());
    }
    if tier != "static" {
        // A round that only loads vectors takes no time.
        let is_loaded = |project: &Project| project.backfilled().is_some_and(|it| it.n_done > 0);
        project.wait_until(support::SETTLE_LIMIT, is_loaded).await;
        let stand = project.backfilled().context("a better model")?;
        let (done, all, rate) = (stand.n_done, stand.n_windows, 1.0 / stand.seconds_a_text);
        let seconds = started.elapsed().as_secs_f64();
        println!(
            "{}: {done} of {all} vectors after {seconds:.1} s, {rate:.1} a second lately",
            set.name
        );
    }
    Ok(project)
}

/// Returns whether only a part of the windows have their better vectors.
fn is_part(tier: &str) -> bool {
    tier == "half" || tier.parse::<u32>().is_ok()
}

/// Returns the state folder of a set.
fn state_of(home: &Path, tier: &str) -> PathBuf {
    home.join(if is_part(tier) { "part" } else { "state" })
}

/// Makes a copy of a set's index in which only a percentage of the windows have their better
/// vectors: those that are computed first, or every second one.
fn make_part(home: &Path, percent: Option<u64>) -> Result<()> {
    let part = home.join("part");
    let _ = std::fs::remove_dir_all(&part);
    std::fs::create_dir_all(&part)?;
    for entry in std::fs::read_dir(home.join("state"))? {
        let entry = entry?;
        if entry.file_type()?.is_file() {
            std::fs::copy(entry.path(), part.join(entry.file_name()))?;
        }
    }
    let db = rusqlite::Connection::open(part.join("vectors.sqlite"))?;
    let Some(percent) = percent else {
        db.execute("DELETE FROM vectors WHERE unicode(hex(hash)) % 2 = 0", [])?;
        return Ok(());
    };
    let readers = index::store::Readers::new(part.join("index.sqlite"));
    let windows = engine::backfill::searched_windows(&readers.snapshot()?)?;
    let n_first = windows.len() as u64 * percent / 100;
    db.execute_batch("CREATE TEMP TABLE first(hash BLOB PRIMARY KEY)")?;
    for window in windows.iter().take(n_first as usize) {
        db.execute("INSERT OR IGNORE INTO first VALUES(?1)", [window.hash.0.to_le_bytes()])?;
    }
    db.execute("DELETE FROM vectors WHERE hash NOT IN (SELECT hash FROM first)", [])?;
    Ok(())
}

fn ask_all(
    project: &Project,
    rankings: &[Ranking],
    set: &Set,
    judge: &mut judge::Judge,
) -> Result<()> {
    for ranking in rankings {
        let name = ranking.name;
        let before = support::cpu_of_process(std::process::id())?;
        let answers = ask_with(project, &ranking.settings, set)?;
        let cpu_seconds = support::cpu_of_process(std::process::id())? - before;
        let each_ms = cpu_seconds * 1e3 / set.queries.len() as f64;
        judge.judge(set, name, &answers, each_ms)?;
    }
    Ok(())
}

fn ask_plainly(
    project: &Project,
    state: &Path,
    sums: &[plain::Sum],
    set: &Set,
    judge: &mut judge::Judge,
) -> Result<()> {
    let windows = plain::Windows::read(project, state)?;
    let snapshot = project.snapshot()?;
    let before = support::cpu_of_process(std::process::id())?;
    let answers = windows.ask(&project.context(&snapshot), sums, set)?;
    let cpu_seconds = support::cpu_of_process(std::process::id())? - before;
    let each_ms = cpu_seconds * 1e3 / (set.queries.len() * sums.len()) as f64;
    for ((name, _), answers) in sums.iter().zip(answers) {
        judge.judge(set, name, &answers, each_ms)?;
    }
    Ok(())
}

/// Documents with their scores, best first.
type Answer = Vec<(String, f32)>;

/// Returns every query's documents, best first; asked by several threads.
fn ask_with(project: &Project, settings: &Settings, set: &Set) -> Result<Vec<Answer>> {
    let next = AtomicUsize::new(0);
    let work = || -> Result<Vec<(usize, Answer)>> {
        let snapshot = project.snapshot()?;
        let mut context = project.context(&snapshot);
        context.settings = settings;
        let mut done = Vec::new();
        while let Some(query) = set.queries.get(next.fetch_add(1, Ordering::Relaxed)) {
            let request = request(query);
            let reply = answer(&context, &request)
                .map_err(|error| anyhow!("{}: {}", query.id, error.message))?;
            let mut documents: Answer = Vec::new();
            for hit in reply.chunks {
                for id in set.found(&hit.path, hit.lines)? {
                    let is_itself = query.is_of.as_ref() == Some(&id);
                    if !is_itself && !documents.iter().any(|(known, _)| *known == id) {
                        documents.push((id, hit.score));
                    }
                }
            }
            done.push((query.place, documents));
        }
        Ok(done)
    };
    let mut answers = vec![Answer::new(); set.queries.len()];
    std::thread::scope(|scope| -> Result<()> {
        let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(work)).collect();
        for thread in threads {
            let Ok(done) = thread.join() else { bail!("a thread that asks panicked") };
            for (place, documents) in done? {
                answers[place] = documents;
            }
        }
        Ok(())
    })?;
    Ok(answers)
}

fn request(query: &Query) -> HybridQuery {
    HybridQuery {
        q: query.text.chars().take(1_000).collect(),
        max_chars: Some(100_000),
        ..HybridQuery::default()
    }
}
