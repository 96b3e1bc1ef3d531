//! Holder: the process in a project's lock file.
//!
//! In: the lock file, `PID VERSION LIFE`. Out: a living process.
//! Invariants: only a process with the daemon's name is signaled: process ids are reused, and a lock file may be old.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::process::{Pid, Signal, kill_process};

use super::Life;

/// A living process that is named in a lock file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    /// Its id.
    pub pid: u32,
    /// Its version; empty if missing.
    pub version: String,
    /// Its intended lifetime, if given.
    pub life: Option<Life>,
    /// The lock file.
    lock: PathBuf,
}

impl Holder {
    /// Returns the process in this lock file.
    pub fn of(lock: &Path) -> Option<Self> {
        let text = std::fs::read_to_string(lock).ok()?;
        let mut words = text.split_whitespace();
        let pid = words.next()?.parse().ok()?;
        let version = words.next().unwrap_or_default().to_string();
        let life = words.next().and_then(Life::parse);
        is_alive(pid).then(|| Holder { pid, version, life, lock: lock.to_path_buf() })
    }

    /// Returns true if that process is a `kgd` that has this very file open: that of a copied state folder names the
    /// daemon of the original.
    pub fn is_daemon(&self) -> bool {
        let is_kgd = name_of(self.pid).is_some_and(|name| name.starts_with("kgd"));
        is_kgd && has_open(self.pid, &self.lock)
    }

    /// Asks it to finish its current work and end.
    ///
    /// # Errors
    /// When the system refuses. A process that has already ended is not an error.
    pub fn ask_to_end(&self) -> io::Result<()> {
        let pid = i32::try_from(self.pid).ok().and_then(Pid::from_raw);
        match pid.map(|pid| kill_process(pid, Signal::TERM)) {
            None | Some(Ok(()) | Err(rustix::io::Errno::SRCH)) => Ok(()),
            Some(Err(error)) => Err(error.into()),
        }
    }
}

/// Returns whether a process has a file open; true where the system does not say.
fn has_open(pid: u32, file: &Path) -> bool {
    let Ok(open) = std::fs::read_dir(format!("/proc/{pid}/fd")) else { return true };
    let identity = |path: &Path| path.metadata().map(|found| (found.dev(), found.ino())).ok();
    let wanted = identity(file);
    open.flatten().any(|entry| identity(&entry.path()) == wanted)
}

/// Returns the process id in a lock file, if that process is alive.
pub fn locked_by(lock: &Path) -> Option<u32> {
    Some(Holder::of(lock)?.pid)
}

/// Returns the name of a process.
#[cfg(target_os = "linux")]
fn name_of(pid: u32) -> Option<String> {
    std::fs::read_to_string(format!("/proc/{pid}/comm")).ok()
}

/// Returns the name of a process, as `ps` says it.
#[cfg(not(target_os = "linux"))]
fn name_of(pid: u32) -> Option<String> {
    let output = ps(pid, "comm=")?;
    Path::new(output.trim()).file_name().map(|name| name.to_string_lossy().into_owned())
}

/// Returns a column of `ps` about a process.
#[cfg(not(target_os = "linux"))]
fn ps(pid: u32, column: &str) -> Option<String> {
    let pid = pid.to_string();
    let output =
        std::process::Command::new("ps").args(["-o", column, "-p", pid.as_str()]).output().ok()?;
    String::from_utf8(output.stdout).ok()
}

/// Returns true if a process of that id runs. A zombie does not count.
#[cfg(not(target_os = "linux"))]
pub fn is_alive(pid: u32) -> bool {
    ps(pid, "state=").is_some_and(|state| !state.trim().is_empty() && !state.starts_with('Z'))
}

/// Returns true if a process of that id runs, as far as this user may know. A zombie does not count.
#[cfg(target_os = "linux")]
pub fn is_alive(pid: u32) -> bool {
    let Ok(stat) = std::fs::read_to_string(format!("/proc/{pid}/stat")) else { return false };
    // The name in parentheses may contain anything, so the state follows the last parenthesis.
    let state = stat.rsplit_once(") ").map(|(_, rest)| rest.chars().next());
    !matches!(state, Some(Some('Z' | 'X')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_copy_of_a_lock_file_names_nobody_who_has_it_open() {
        let folder = tempfile::tempdir().expect("a folder");
        let (lock, copy) = (folder.path().join("lock"), folder.path().join("copy"));
        let _open = std::fs::File::create(&lock).expect("made");
        std::fs::copy(&lock, &copy).expect("copied");
        let own = std::process::id();
        assert!(has_open(own, &lock) && !has_open(own, &copy));
    }
}
