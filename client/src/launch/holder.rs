//! Holder: who serves a project, by what stands in its lock file.
//!
//! In: the lock file, `PID VERSION LIFE`. Out: a process that is alive.
//! Invariants: nobody is signaled but a process of that name: ids are used again, and a lock file may be old.
//! Not here: the lock itself, which only the daemon takes.

use std::io;
use std::path::Path;

use rustix::process::{Pid, Signal, kill_process};

use super::Life;

/// A process that has written itself into a lock file, and is alive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    /// Its id.
    pub pid: u32,
    /// Its version; empty when it did not say.
    pub version: String,
    /// How long it means to live, if it said.
    pub life: Option<Life>,
}

impl Holder {
    /// Who stands in this lock file.
    pub fn of(lock: &Path) -> Option<Self> {
        let text = std::fs::read_to_string(lock).ok()?;
        let mut words = text.split_whitespace();
        let pid = words.next()?.parse().ok()?;
        let version = words.next().unwrap_or_default().to_string();
        let life = words.next().and_then(Life::parse);
        is_alive(pid).then_some(Holder { pid, version, life })
    }

    /// Whether that process is a `kgd`.
    pub fn is_daemon(&self) -> bool {
        std::fs::read_to_string(format!("/proc/{}/comm", self.pid))
            .is_ok_and(|name| name.trim_end().starts_with("kgd"))
    }

    /// Asks it to finish what is on the belt and end.
    ///
    /// # Errors
    /// When the system does not let us. A process that is gone already is none.
    pub fn ask_to_end(&self) -> io::Result<()> {
        let pid = i32::try_from(self.pid).ok().and_then(Pid::from_raw);
        match pid.map(|pid| kill_process(pid, Signal::TERM)) {
            None | Some(Ok(()) | Err(rustix::io::Errno::SRCH)) => Ok(()),
            Some(Err(error)) => Err(error.into()),
        }
    }
}

/// The process id in a lock file, if that process is alive.
pub fn locked_by(lock: &Path) -> Option<u32> {
    Some(Holder::of(lock)?.pid)
}

/// Whether a process of that id runs, as far as this user may know. A zombie does not count.
pub fn is_alive(pid: u32) -> bool {
    let Ok(stat) = std::fs::read_to_string(format!("/proc/{pid}/stat")) else { return false };
    // The name in parentheses may hold anything, so the state is what follows the last one.
    let state = stat.rsplit_once(") ").map(|(_, rest)| rest.chars().next());
    !matches!(state, Some(Some('Z' | 'X')))
}
