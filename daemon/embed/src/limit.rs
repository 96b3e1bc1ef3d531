//! Limit: the resources of a process that tries a user's model.
//!
//! In: the model's folder. Out: limits on this process.
//! Invariant: a graph that takes all memory or endless time ends only its own process.

use std::path::Path;

use rustix::process::{Resource, Rlimit, setrlimit};

/// Longest trial, seconds of processor time. A BERT of 24 layers reads 512 tokens in 10 s on one slow core.
pub const MAX_CPU_SECONDS: u64 = 60;

/// Address space of a trial, in addition to six times the size of the files, bytes.
pub const MAX_MEMORY_BYTES: u64 = 2_000_000_000;

/// Limits this process for the model of a folder, and makes it end with its parent.
///
/// # Errors
/// When the system refuses.
pub fn limit(folder: &Path) -> rustix::io::Result<()> {
    let at_most = |n| Rlimit { current: Some(n), maximum: Some(n) };
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let n_bytes: u64 = entries.filter_map(|entry| Some(entry.metadata().ok()?.len())).sum();
    #[cfg(target_os = "linux")]
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?;
    setrlimit(Resource::Core, at_most(0))?;
    setrlimit(Resource::Cpu, at_most(MAX_CPU_SECONDS))?;
    setrlimit(Resource::As, at_most(MAX_MEMORY_BYTES.saturating_add(n_bytes.saturating_mul(6))))
}
