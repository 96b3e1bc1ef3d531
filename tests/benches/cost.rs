//! Cost: CPU seconds per phase for N, 2 N and 4 N real documents, and the threads that spend them.
//!
//! `cargo bench -p tests --bench cost -- FOLDER... [--files N] [--swift] [--vectors] [--state DIR]
//! [--peer COMMAND]`
//! Takes every Markdown and text file below the folders once, in an order that depends on their
//! content, so that N files are a sample of 4 N. Without `--files`, 4 N is all of them; N and 2 N are
//! as many of the first as have a quarter and half of the bytes. Phases
//! follow each other in one process: `searchable` (all files committed once), `swift` (names
//! linked, all files read again with the mined terms), `deep` (the English model; not with
//! `--swift`), and with `--vectors` those of the better model. The last table shows whether a phase
//! grows in proportion to the bytes.
//! For comparison: the same chunks inserted into a bare FTS5 table, and with `--peer` the CPU of a
//! shell command that indexes the folder in `$FOLDER`. `--state` keeps the last index there.

#![allow(clippy::print_stdout, reason = "a bench prints its table")]

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Result, bail, ensure};
use config::Settings;
use formats::Parsing;
use serde_json::{Value, json};
use server::project::{OpenProject, Project};
use support::Scratch;
use support::floor::bare_fts5;
use support::pages::texts;

/// Interval between samples of the threads: a thread that ends loses at most this much.
const INTERVAL: Duration = Duration::from_millis(100);

/// Longest time of one phase.
const PATIENCE: Duration = Duration::from_secs(3_600);

/// The size for which the issue states its limits.
const MEGABYTES: f64 = 9.0;

fn main() -> Result<()> {
    let mut arguments = support::arguments();
    if support::flag(&mut arguments, "--child") {
        let passes = Passes::of(&mut arguments);
        let [root, state] = arguments.as_slice() else { bail!("--child ROOT STATE") };
        return child(Path::new(root), Path::new(state), passes);
    }
    let n_files = support::option(&mut arguments, "--files").map(|n| n.parse()).transpose()?;
    let passes = Passes::of(&mut arguments);
    let state = support::option(&mut arguments, "--state").map(PathBuf::from);
    let peer = support::option(&mut arguments, "--peer");
    if arguments.is_empty() {
        bail!("which files? hint: cargo bench -p tests --bench cost -- FOLDER...");
    }
    let texts = texts(&arguments)?;
    let most = n_files.map_or(texts.len(), |n: usize| n.saturating_mul(4)).min(texts.len());
    ensure!(most >= 8, "only {} files of a fitting size below {arguments:?}", texts.len());
    let mut runs = Vec::new();
    let texts = &texts[..most];
    for parts in [4, 2, 1] {
        let run = Run::of(first_part(texts, parts), passes, peer.as_deref(), state.as_deref())?;
        run.print();
        runs.push(run);
    }
    compare(&runs);
    Ok(())
}

/// Returns the first texts that have one of so many parts of all bytes.
fn first_part(texts: &[Vec<u8>], parts: usize) -> &[Vec<u8>] {
    let wanted = texts.iter().map(Vec::len).sum::<usize>() / parts;
    let mut n_bytes = 0;
    let n = texts.iter().take_while(|text| {
        let is_needed = n_bytes < wanted;
        n_bytes += text.len();
        is_needed
    });
    &texts[..n.count()]
}

/// What is computed besides the swift pass.
#[derive(Clone, Copy)]
struct Passes {
    /// Nothing more.
    is_swift: bool,
    /// The better model's vectors, too.
    has_vectors: bool,
}

impl Passes {
    fn of(arguments: &mut Vec<String>) -> Passes {
        Passes {
            is_swift: support::flag(arguments, "--swift"),
            has_vectors: support::flag(arguments, "--vectors"),
        }
    }
}

/// Cost of one size.
struct Run {
    n_files: usize,
    megabytes: f64,
    /// CPU seconds of each phase, in order.
    phases: Vec<(String, f64)>,
    threads: Vec<(String, f64)>,
    /// Peak memory: anonymous, and including mapped files (program, weights, index).
    peak_mib: [f64; 2],
    floor: f64,
    peer: Option<f64>,
    counts: Vec<(String, i64)>,
}

impl Run {
    fn of(
        texts: &[Vec<u8>],
        passes: Passes,
        peer: Option<&str>,
        keep: Option<&Path>,
    ) -> Result<Run> {
        let scratch = Scratch::new()?;
        for (n, text) in texts.iter().enumerate() {
            let folder = scratch.notes().join(format!("part-{}", n / 100));
            std::fs::create_dir_all(&folder)?;
            std::fs::write(folder.join(format!("page-{n}.md")), text)?;
        }
        let state = keep.map_or_else(|| scratch.state(), Path::to_path_buf);
        if keep.is_some() && state.exists() {
            std::fs::remove_dir_all(&state)?;
        }
        std::fs::create_dir_all(&state)?;
        let mut child = Command::new(std::env::current_exe()?);
        child.arg("--child").arg(scratch.notes()).arg(&state);
        child.args(passes.is_swift.then_some("--swift"));
        child.args(passes.has_vectors.then_some("--vectors"));
        let output = child.stderr(std::process::Stdio::inherit()).output()?;
        ensure!(output.status.success(), "the child failed");
        let report: Value = serde_json::from_slice(&output.stdout)?;
        let pairs = |key: &str| -> Result<Vec<(String, f64)>> {
            Ok(serde_json::from_value(report[key].clone())?)
        };
        let index = state.join("index.sqlite");
        Ok(Run {
            n_files: texts.len(),
            megabytes: texts.iter().map(Vec::len).sum::<usize>() as f64 / 1e6,
            phases: pairs("phases")?,
            threads: pairs("threads")?,
            peak_mib: serde_json::from_value(report["peak_mib"].clone())?,
            floor: bare_fts5(&index, &scratch.path(""), true)?,
            peer: peer.map(|command| cpu_of_command(command, &scratch.notes())).transpose()?,
            counts: counts(&index)?,
        })
    }

    fn total(&self) -> f64 {
        self.phases.iter().map(|it| it.1).sum()
    }

    fn print(&self) {
        let shown = |all: &[(String, f64)]| {
            let each = all.iter().map(|(name, cpu)| format!("{name} {cpu:.2}"));
            each.collect::<Vec<_>>().join(", ")
        };
        println!("{} files, {:.2} MB:", self.n_files, self.megabytes);
        println!("  CPU s: {}; together {:.2}", shown(&self.phases), self.total());
        let scaled =
            self.phases.iter().map(|(name, cpu)| (name.clone(), cpu * MEGABYTES / self.megabytes));
        println!("  CPU s a {MEGABYTES} MB: {}", shown(&scaled.collect::<Vec<_>>()));
        println!("  by thread: {}", shown(&self.threads));
        let [own, all] = self.peak_mib;
        println!(
            "  peak {own:.0} MiB, with mapped files {all:.0}; bare FTS5 {:.3} CPU s",
            self.floor
        );
        if let Some(peer) = self.peer {
            println!("  peer {peer:.2} CPU s");
        }
        let counts = self.counts.iter().map(|(what, n)| format!("{n} {what}"));
        println!("  index: {}", counts.collect::<Vec<_>>().join(", "));
    }
}

fn compare(runs: &[Run]) {
    let (Some(least), Some(most)) = (runs.first(), runs.last()) else { return };
    let ratio = |a: f64, b: f64| b / a.max(0.01);
    println!("4 N : N, where the bytes are {:.2} : 1", ratio(least.megabytes, most.megabytes));
    for ((name, a), (_, b)) in least.phases.iter().zip(&most.phases) {
        println!("  {name:<10} {:.2}", ratio(*a, *b));
    }
    println!("  together   {:.2}", ratio(least.total(), most.total()));
}

/// Returns the CPU seconds of a shell command and of all processes that it starts and waits for.
fn cpu_of_command(command: &str, folder: &Path) -> Result<f64> {
    let before = support::cpu_of_children()?;
    let status = Command::new("sh").args(["-c", command]).env("FOLDER", folder).status()?;
    ensure!(status.success(), "`{command}` ended with {status}");
    Ok(support::cpu_of_children()? - before)
}

fn counts(index: &Path) -> Result<Vec<(String, i64)>> {
    let flags = rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY;
    let db = rusqlite::Connection::open_with_flags(index, flags)?;
    let count = |what: &str| -> Result<(String, i64)> {
        let n = db.query_row(&format!("SELECT count(*) FROM {what}"), [], |row| row.get(0))?;
        Ok((what.to_string(), n))
    };
    let bytes = "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size";
    let bytes = db.query_row(bytes, [], |row| row.get(0))?;
    let tables = ["chunks", "mentions", "names", "name_keys", "entities", "relations"];
    tables.into_iter().map(count).chain([Ok(("bytes".to_string(), bytes))]).collect()
}

/// Indexes a folder and prints the cost of each phase and thread of this process.
fn child(root: &Path, state: &Path, passes: Passes) -> Result<()> {
    let mut settings = Settings::default();
    settings.recognize.deep = !passes.is_swift;
    if !passes.has_vectors {
        settings.embed.model = "none".into();
    }
    sys::spare_memory();
    let threads = Threads::watch()?;
    let runtime = support::runtime()?;
    let place = OpenProject {
        root: root.canonicalize()?,
        name: "bench".into(),
        state_dir: state.to_path_buf(),
        settings,
        parsing: Parsing::InProcess,
    };
    let project = runtime.block_on(Project::open(place))?;
    type Reached = fn(&Project) -> bool;
    let mut phases: Vec<(&str, Reached)> = vec![
        ("searchable", |project| project.settled().searchable),
        ("swift", |project| project.settled().resolved),
        ("deep", Project::is_settled),
    ];
    if passes.has_vectors {
        phases.push(("vectors", |project| {
            project.backfilled().is_none_or(|it| it.is_full && it.n_windows > 0)
        }));
    }
    let (mut before, mut costs) = (0.0, Vec::new());
    for (name, is_reached) in phases {
        if !runtime.block_on(project.wait_until(PATIENCE, is_reached)) {
            bail!("`{name}` was not reached: {:?}", project.is_poisoned());
        }
        let now = support::cpu_of_process(std::process::id())?;
        costs.push((name, now - before));
        before = now;
    }
    let all = support::memory_mib(std::process::id(), "VmHWM")?;
    let (threads, own) = threads.costs(before)?;
    let report = json!({"phases": costs, "threads": threads, "peak_mib": [own, all]});
    println!("{report}");
    runtime.block_on(project.drain(support::SETTLE_LIMIT));
    Ok(())
}

/// CPU seconds of this process so far, by thread id and name.
type Costs = BTreeMap<(u64, String), f64>;

/// Samples the threads repeatedly, because a thread that ends takes its counts with it.
struct Threads {
    is_done: Arc<AtomicBool>,
    watcher: std::thread::JoinHandle<(Costs, f64)>,
}

impl Threads {
    fn watch() -> Result<Threads> {
        let is_done = Arc::new(AtomicBool::new(false));
        let stops = is_done.clone();
        let watch = move || {
            let (mut costs, mut own_mib) = (Costs::new(), 0.0_f64);
            loop {
                let is_last = stops.load(Ordering::Relaxed);
                for (thread, cpu) in threads_now().into_iter().flatten() {
                    costs.insert(thread, cpu);
                }
                let own = support::memory_mib(std::process::id(), "RssAnon");
                own_mib = own_mib.max(own.unwrap_or_default());
                if is_last {
                    return (costs, own_mib);
                }
                std::thread::sleep(INTERVAL);
            }
        };
        let watcher = std::thread::Builder::new().name("bench".into()).spawn(watch)?;
        Ok(Threads { is_done, watcher })
    }

    /// Returns the CPU seconds by thread name, with the part of `total` that no sample saw, and the
    /// peak of anonymous memory, MiB.
    fn costs(self, total: f64) -> Result<(Vec<(String, f64)>, f64)> {
        self.is_done.store(true, Ordering::Relaxed);
        let Ok((costs, own_mib)) = self.watcher.join() else {
            bail!("the threads' watcher panicked")
        };
        let names: BTreeSet<&String> = costs.keys().map(|(_, name)| name).collect();
        let sum = |name: &String| {
            costs.iter().filter(|(thread, _)| thread.1 == *name).map(|it| it.1).sum::<f64>()
        };
        let mut out: Vec<(String, f64)> =
            names.into_iter().map(|name| (name.clone(), sum(name))).collect();
        let seen: f64 = out.iter().map(|it| it.1).sum();
        out.sort_by(|a, b| b.1.total_cmp(&a.1));
        out.push(("not seen".into(), (total - seen).max(0.0)));
        Ok((out, own_mib))
    }
}

fn threads_now() -> Result<Vec<((u64, String), f64)>> {
    let mut out = Vec::new();
    for entry in std::fs::read_dir("/proc/self/task")? {
        let folder = entry?.path();
        // A thread may end between two reads.
        let read = |file: &str| std::fs::read_to_string(folder.join(file)).ok();
        let (Some(name), Some(stat)) = (read("comm"), read("schedstat")) else { continue };
        let id = folder.file_name().and_then(|it| it.to_str()).and_then(|it| it.parse().ok());
        let nanoseconds = stat.split_whitespace().next().and_then(|it| it.parse::<f64>().ok());
        if let (Some(id), Some(nanoseconds)) = (id, nanoseconds) {
            out.push(((id, name.trim().to_string()), nanoseconds / 1e9));
        }
    }
    Ok(out)
}
