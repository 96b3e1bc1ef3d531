//! Sandbox: removes all privileges that a parser does not need from this process, before it reads a document.
//!
//! In: the memory limit. Out: the protections in force, and those that this kernel lacks.
//! Invariants: this process can undo none of it; if a kernel lacks one part, the others still apply. The parts, from
//! outside in: resource limits, landlock (no file, no TCP, no signal to or abstract socket of others), seccomp
//! (`calls.rs`: the few system calls of a loop that reads, computes and writes).

use std::fmt;
use std::fs;

#[cfg(target_os = "linux")]
use landlock::{
    ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, LandlockStatus, Ruleset,
    RulesetAttr, Scope,
};
use rustix::process::{Resource, Rlimit};
use serde::{Deserialize, Serialize};

#[cfg(target_os = "linux")]
use super::calls;

/// Most open files: standard streams, one document, and a few to spare.
const MAX_FILES: u64 = 8;

/// Largest stack, in bytes; fixed, so that deep recursion ends at the same depth on every system.
const MAX_STACK_BYTES: u64 = 8 << 20;

/// Makes the kernel kill this process before the daemon when memory runs out. Range -1000 to 1000.
#[cfg(target_os = "linux")]
const OOM_SCORE: &str = "800";

/// The newest landlock version requested: files, devices, TCP, signals and abstract sockets. Older kernels provide a
/// subset.
#[cfg(target_os = "linux")]
const LANDLOCK: ABI = ABI::V6;

/// The protections of a worker.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Sandbox {
    /// The parts in force, such as `landlock abi 4`.
    pub active: Vec<String>,
    /// The missing parts, each with the reason.
    pub missing: Vec<String>,
}

impl fmt::Display for Sandbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.active.join(", "))?;
        match self.missing.as_slice() {
            [] => Ok(()),
            missing => write!(f, "; missing: {}", missing.join(", ")),
        }
    }
}

impl Sandbox {
    fn note(&mut self, part: &str, outcome: Result<String, String>) {
        match outcome {
            Ok(detail) if detail.is_empty() => self.active.push(part.to_string()),
            Ok(detail) => self.active.push(format!("{part} {detail}")),
            Err(why) => self.missing.push(format!("{part} ({why})")),
        }
    }
}

/// Confines this process irrevocably.
pub(super) fn enter(max_memory_bytes: u64) -> Sandbox {
    let mut sandbox = Sandbox::default();
    sandbox.note("no new privileges", give_up_privileges());
    let limited = limit_resources(max_memory_bytes);
    sandbox.note("rlimits", limited.map(|()| String::new()).map_err(words));
    // Seccomp comes last: it forbids the calls that the other parts need.
    sandbox.note("landlock", close_files());
    sandbox.note("seccomp", restrict_calls());
    sandbox
}

#[cfg(target_os = "linux")]
fn give_up_privileges() -> Result<String, String> {
    use rustix::process::{DumpableBehavior, Signal};

    // Raising the score needs no privilege. Where the file cannot be written, the kernel's default applies.
    let _ = fs::write("/proc/self/oom_score_adj", OOM_SCORE);
    // Also ends the worker when the daemon is killed; the kernel sends the signal when the parent thread ends.
    let _ = rustix::process::set_parent_process_death_signal(Some(Signal::KILL));
    // Landlock and seccomp require this for unprivileged processes.
    rustix::thread::set_no_new_privs(true)
        .and_then(|()| rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable))
        .map(|()| String::new())
        .map_err(words)
}

#[cfg(target_os = "linux")]
fn restrict_calls() -> Result<String, String> {
    calls::restrict().map(|()| String::new())
}

/// What only Linux has.
#[cfg(not(target_os = "linux"))]
mod elsewhere {
    const WHY: &str = "only Linux has it";

    pub(super) fn give_up_privileges() -> Result<String, String> {
        Err(WHY.into())
    }

    pub(super) fn close_files() -> Result<String, String> {
        Err(WHY.into())
    }

    pub(super) fn restrict_calls() -> Result<String, String> {
        Err(WHY.into())
    }
}
#[cfg(not(target_os = "linux"))]
use elsewhere::{close_files, give_up_privileges, restrict_calls};

fn words(error: impl fmt::Display) -> String {
    error.to_string()
}

fn limit_resources(max_memory_bytes: u64) -> rustix::io::Result<()> {
    let at_most = |n| Rlimit { current: Some(n), maximum: Some(n) };
    // The address space of the program itself does not count for the document.
    let memory = own_address_space().saturating_add(max_memory_bytes);
    let stack = Rlimit { current: Some(MAX_STACK_BYTES), maximum: Some(MAX_STACK_BYTES) };
    // If a lower limit is in force already, it stays.
    let _ = rustix::process::setrlimit(Resource::Stack, stack);
    rustix::process::setrlimit(Resource::Core, at_most(0))?;
    rustix::process::setrlimit(Resource::Fsize, at_most(0))?;
    rustix::process::setrlimit(Resource::Nproc, at_most(0))?;
    rustix::process::setrlimit(Resource::Nofile, at_most(MAX_FILES))?;
    rustix::process::setrlimit(Resource::As, at_most(memory))
}

/// Returns the address space in use, in bytes; 256 MiB where the system does not report it.
fn own_address_space() -> u64 {
    let statm = fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = statm.split(' ').next().and_then(|word| word.parse::<u64>().ok());
    pages.map_or(256 << 20, |pages| pages * rustix::param::page_size() as u64)
}

/// Forbids opening files. Returns the kernel's landlock version.
#[cfg(target_os = "linux")]
fn close_files() -> Result<String, String> {
    // Access rights that are handled but never granted by a rule are denied.
    let enforce = || {
        Ruleset::default()
            .set_compatibility(CompatLevel::BestEffort)
            .handle_access(AccessFs::from_all(LANDLOCK))?
            .handle_access(AccessNet::from_all(LANDLOCK))?
            .scope(Scope::from_all(LANDLOCK))?
            .create()?
            .restrict_self()
    };
    let status = enforce().map_err(|error: landlock::RulesetError| error.to_string())?;
    match status.landlock {
        LandlockStatus::Available { effective_abi, kernel_abi } => {
            Ok(format!("abi {}", kernel_abi.unwrap_or(effective_abi as i32)))
        }
        LandlockStatus::NotEnabled => Err("not enabled in this kernel".into()),
        LandlockStatus::NotImplemented => Err("not in this kernel".into()),
    }
}
