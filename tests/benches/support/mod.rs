//! Support: what the benches share: costs of a process or thread, folders of test data,
//! percentiles, projects in scratch folders.
//!
//! Invariants: costs come from the kernel's own counters; a scratch folder is deleted with its
//! value.

#![allow(dead_code, reason = "every bench compiles this module and uses a part of it")]

pub(crate) mod at_once;
pub(crate) mod floor;
pub(crate) mod generated;
pub(crate) mod linked;
pub(crate) mod pages;
pub(crate) mod passages;
pub(crate) mod remembered;
pub(crate) mod shuffled;
pub(crate) mod stages;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use config::Settings;
use formats::Parsing;
use serde_json::{Value, json};
use server::project::{OpenProject, Project};
use tests::{Client, TestProject};

/// Clock ticks per second in `/proc/PID/stat`: a constant of the kernel's interface on every
/// architecture that we run on.
const TICKS_A_SECOND: f64 = 100.0;

/// Longest time a test folder may take to settle.
pub(crate) const SETTLE_LIMIT: Duration = Duration::from_secs(600);

/// The folders that `ingest` and `ask` index together.
pub(crate) const NOTE_SETS: [&str; 4] =
    ["docs_rustbook", "docs_prometheus", "vault_foam", "vault_obsidian_tasks"];

/// Returns the CPU seconds of all threads of a process, including ended ones; exact to 10 ms.
pub(crate) fn cpu_of_process(pid: u32) -> Result<f64> {
    cpu_in_stat(&format!("/proc/{pid}/stat"), [11, 12])
}

/// Returns the CPU seconds of the processes that this one has started and waited for, and of their
/// children.
pub(crate) fn cpu_of_children() -> Result<f64> {
    cpu_in_stat("/proc/self/stat", [13, 14])
}

fn cpu_in_stat(path: &str, fields: [usize; 2]) -> Result<f64> {
    let stat = std::fs::read_to_string(path)?;
    // The second field may contain spaces and parentheses.
    let (_, after_name) = stat.rsplit_once(')').context("no name in the stat")?;
    let all: Vec<&str> = after_name.split_whitespace().collect();
    let ticks = |i: usize| -> Result<f64> { Ok(all.get(i).context("short stat")?.parse()?) };
    Ok(fields.iter().map(|field| ticks(*field)).sum::<Result<f64>>()? / TICKS_A_SECOND)
}

/// Returns the CPU seconds of this thread; exact to a timer tick (1 to 4 ms).
pub(crate) fn cpu_of_thread() -> Result<f64> {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat")?;
    let nanoseconds: f64 = stat.split_whitespace().next().context("empty schedstat")?.parse()?;
    Ok(nanoseconds / 1e9)
}

/// Returns the CPU seconds of each thread of a process, by id; exact to nanoseconds. A thread that
/// has ended is missing.
pub(crate) fn cpu_of_threads(pid: u32) -> Result<BTreeMap<u64, f64>> {
    let mut costs = BTreeMap::new();
    for entry in std::fs::read_dir(format!("/proc/{pid}/task"))? {
        let folder = entry?.path();
        let id = folder.file_name().and_then(|it| it.to_str()).and_then(|it| it.parse().ok());
        // A thread may end between two reads.
        let stat = std::fs::read_to_string(folder.join("schedstat")).ok();
        let stat = stat.and_then(|it| it.split_whitespace().next()?.parse::<f64>().ok());
        costs.extend(id.zip(stat.map(|it| it / 1e9)));
    }
    Ok(costs)
}

/// Returns the CPU milliseconds that a process has spent since `before`.
pub(crate) fn cpu_ms_since(pid: u32, before: &BTreeMap<u64, f64>) -> Result<f64> {
    let now = cpu_of_threads(pid)?;
    let spent = now.iter().map(|(id, cpu)| cpu - before.get(id).copied().unwrap_or(0.0));
    Ok(spent.sum::<f64>() * 1e3)
}

/// Returns a memory line of a process (`VmHWM` is its peak, `VmRSS` its current use), MiB.
pub(crate) fn memory_mib(pid: u32, line: &str) -> Result<f64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    let found = status.lines().find_map(|l| l.strip_prefix(line)?.strip_prefix(':'));
    let kib: f64 = found
        .and_then(|value| value.trim().strip_suffix("kB"))
        .with_context(|| format!("no {line}"))?
        .trim()
        .parse()?;
    Ok(kib / 1024.0)
}

/// Returns the value below which `share` (0 to 1) of the values lie; nearest rank. 0 if there are
/// none.
pub(crate) fn percentile(values: &[f64], share: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let rank = (share * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.saturating_sub(1)).copied().unwrap_or(0.0)
}

/// Returns the median.
pub(crate) fn median(values: &[f64]) -> f64 {
    percentile(values, 0.5)
}

/// Renders `p50 1.2  p95 3.4  p99 5.6  max 7.8`, in the values' own unit.
pub(crate) fn spread(values: &[f64]) -> String {
    let [p50, p95, p99, max] = [0.5, 0.95, 0.99, 1.0].map(|share| percentile(values, share));
    format!("p50 {p50:7.2}  p95 {p95:7.2}  p99 {p99:7.2}  max {max:7.2}  (n {})", values.len())
}

/// Calls a tool over the socket.
pub(crate) fn call(client: &mut Client, tool: &str, arguments: Value) -> Result<Value> {
    client.call(tool, arguments).map_err(|error| anyhow!("{tool}: {error}"))
}

/// Waits until everything is indexed.
pub(crate) fn wait(client: &mut Client) -> Result<()> {
    let started = Instant::now();
    while call(client, "wait", json!({"timeout_ms": 30_000}))?["reached"] != true {
        if started.elapsed() > SETTLE_LIMIT {
            bail!("not settled after {:?}", started.elapsed());
        }
    }
    Ok(())
}

/// Returns the arguments after `--` on the command line, without those that cargo adds.
pub(crate) fn arguments() -> Vec<String> {
    std::env::args().skip(1).filter(|it| it != "--bench").collect()
}

/// Removes `--name VALUE` from the arguments, and returns the value.
pub(crate) fn option(arguments: &mut Vec<String>, name: &str) -> Option<String> {
    let at = arguments.iter().position(|it| it == name)?;
    arguments.remove(at);
    (at < arguments.len()).then(|| arguments.remove(at))
}

/// Removes `--name` from the arguments; returns whether it was there.
pub(crate) fn flag(arguments: &mut Vec<String>, name: &str) -> bool {
    let at = arguments.iter().position(|it| it == name);
    at.map(|at| arguments.remove(at)).is_some()
}

/// A scratch folder with `notes/` (a copy of the note sets) and an empty `state/`.
pub(crate) struct Scratch {
    folder: tempfile::TempDir,
}

impl Scratch {
    /// Creates an empty one.
    pub(crate) fn new() -> Result<Self> {
        let folder = tempfile::tempdir()?;
        for name in ["notes", "state"] {
            std::fs::create_dir(folder.path().join(name))?;
        }
        Ok(Scratch { folder })
    }

    /// Creates one with the note sets of `data`.
    pub(crate) fn with_notes(data: &Path) -> Result<Self> {
        let scratch = Scratch::new()?;
        copy_notes(data, &scratch.notes())?;
        Ok(scratch)
    }

    /// Returns the indexed folder.
    pub(crate) fn notes(&self) -> PathBuf {
        self.path("notes")
    }

    /// Returns the databases' folder.
    pub(crate) fn state(&self) -> PathBuf {
        self.path("state")
    }

    /// Returns another path inside.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}

/// Starts a real `kgd` with the note sets of `data`, settled, with the default debounce.
pub(crate) fn daemon_with_notes(data: &Path) -> Result<TestProject> {
    let mut project = TestProject::empty();
    copy_notes(data, project.root())?;
    project.set(&format!("watch.debounce_ms={}", Settings::default().watch.debounce_ms));
    project.start();
    project.settle();
    Ok(project)
}

/// Copies the note sets of `data` into a folder.
pub(crate) fn copy_notes(data: &Path, to: &Path) -> Result<()> {
    for set in NOTE_SETS {
        let from = data.join(set).join("vault");
        copy_folder(&from, &to.join(set))
            .with_context(|| format!("cannot copy {}", from.display()))?;
    }
    Ok(())
}

/// Copies files and folders. Permissions are not kept: the originals may be read-only.
pub(crate) fn copy_folder(from: &Path, to: &Path) -> Result<()> {
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        match entry.file_type()? {
            kind if kind.is_dir() => copy_folder(&entry.path(), &target)?,
            kind if kind.is_file() => std::fs::write(target, std::fs::read(entry.path())?)?,
            _ => {}
        }
    }
    Ok(())
}

/// Lists the files below `folder` with their sizes, by path.
pub(crate) fn files_below(folder: &Path) -> Result<Vec<(PathBuf, u64)>> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_path_buf()];
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(folder)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                open.push(entry.path());
            } else {
                found.push((entry.path(), entry.metadata()?.len()));
            }
        }
    }
    found.sort();
    Ok(found)
}

/// Opens a project of the library and waits until everything in it is searchable and resolved.
pub(crate) async fn open_settled(
    root: &Path,
    state: &Path,
    settings: Settings,
) -> Result<Arc<Project>> {
    open_settled_in(root, state, settings, Parsing::InProcess).await
}

/// As [`open_settled`], with a choice of where documents are parsed.
pub(crate) async fn open_settled_in(
    root: &Path,
    state: &Path,
    settings: Settings,
    parsing: Parsing,
) -> Result<Arc<Project>> {
    let place = OpenProject {
        root: root.canonicalize()?,
        name: "bench".into(),
        state_dir: state.to_path_buf(),
        settings,
        parsing,
    };
    let project = Project::open(place).await?;
    if !project.wait_until(SETTLE_LIMIT, Project::is_settled).await {
        bail!("{} did not settle: {:?}", root.display(), project.is_poisoned());
    }
    Ok(project)
}

/// Creates a runtime for the library's belt, with as many threads as the daemon's.
pub(crate) fn runtime() -> Result<tokio::runtime::Runtime> {
    Ok(tokio::runtime::Builder::new_multi_thread().enable_all().build()?)
}
