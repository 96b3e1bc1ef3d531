//! Sandbox: takes all rights from this process that a parser does not need, before it sees a document.
//!
//! In: how much memory it may have. Out: the protections in force, and those that this kernel lacks.
//! Invariants: this process can undo none of it; a kernel without one part still gives the others; the parts are, from
//! outside in: resource limits, landlock (no file, no TCP, no signal or abstract socket of others), seccomp
//! (`calls.rs`: the few system calls of a loop that reads, computes and writes).
//! Not here: time, which the daemon watches (`process.rs`).

use std::fmt;
use std::fs;

use landlock::{
    ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, LandlockStatus, Ruleset,
    RulesetAttr, Scope,
};
use rustix::process::{DumpableBehavior, Resource, Rlimit, Signal};
use serde::{Deserialize, Serialize};

use super::calls;

/// Open files: standard streams, one document, and a few to spare.
const MAX_FILES: u64 = 8;

/// Largest stack, bytes; whatever the system gives, deep recursion ends at the same depth.
const MAX_STACK_BYTES: u64 = 8 << 20;

/// Makes this process the first choice of the kernel when memory is short, before the daemon. Range -1000 to 1000.
const OOM_SCORE: &str = "800";

/// The newest landlock interface asked for: files, devices, TCP, signals and abstract sockets. Older kernels give what
/// they have.
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

/// Confines this process for good.
pub(super) fn enter(max_memory_bytes: u64) -> Sandbox {
    let mut sandbox = Sandbox::default();
    // Raising it needs no privilege; where the file cannot be written, the kernel chooses as it likes.
    let _ = fs::write("/proc/self/oom_score_adj", OOM_SCORE);
    let _ = rustix::process::set_parent_process_death_signal(Some(Signal::KILL));
    let privileges = rustix::thread::set_no_new_privs(true)
        .and_then(|()| rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable));
    sandbox.note("no new privileges", privileges.map(|()| String::new()).map_err(words));
    let limited = limit_resources(max_memory_bytes);
    sandbox.note("rlimits", limited.map(|()| String::new()).map_err(words));
    sandbox.note("landlock", close_files());
    let calls = calls::restrict().map(|()| String::new());
    sandbox.note("seccomp", calls);
    sandbox
}

fn words(error: impl fmt::Display) -> String {
    error.to_string()
}

fn limit_resources(max_memory_bytes: u64) -> rustix::io::Result<()> {
    let at_most = |n| Rlimit { current: Some(n), maximum: Some(n) };
    // What the program itself takes of the address space is not the document's.
    let memory = own_address_space().saturating_add(max_memory_bytes);
    let stack = Rlimit { current: Some(MAX_STACK_BYTES), maximum: Some(MAX_STACK_BYTES) };
    // A lower limit that is there already stays.
    let _ = rustix::process::setrlimit(Resource::Stack, stack);
    rustix::process::setrlimit(Resource::Core, at_most(0))?;
    rustix::process::setrlimit(Resource::Fsize, at_most(0))?;
    rustix::process::setrlimit(Resource::Nproc, at_most(0))?;
    rustix::process::setrlimit(Resource::Nofile, at_most(MAX_FILES))?;
    rustix::process::setrlimit(Resource::As, at_most(memory))
}

/// Returns the address space in use, bytes; a generous guess where the system does not report it.
fn own_address_space() -> u64 {
    let statm = fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = statm.split(' ').next().and_then(|word| word.parse::<u64>().ok());
    pages.map_or(256 << 20, |pages| pages * rustix::param::page_size() as u64)
}

/// Takes all files away that are not open already. Gives the interface that the kernel has.
fn close_files() -> Result<String, String> {
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
