//! Journal: records which temporary files are being written, so that those left by a crash can be
//! removed.
//!
//! In: the path of a temporary file, before it is created. Out: an entry: a small file in the state
//! folder, locked as long as its writer lives. At startup, the temporary files of unlocked entries
//! are removed.
//! Invariants: an entry is on disk before its temporary file is created; only files with our own
//! extension are removed, and only inside the project; files that another process is writing are
//! left alone.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use config::place::sync_dir;
use rustix::fs::{AtFlags, unlinkat};

use super::confine::{Missing, below, spot};
use super::files::{in_state, make_dir};

/// Prefix of temporary names.
pub(super) const BEGINNING: &str = ".kgd-";

/// Their extension, which the watcher ignores.
pub(super) const ENDING: &str = ".tmp";

/// The entries of one project.
#[derive(Debug)]
pub(super) struct Journal {
    dir: PathBuf,
}

/// One temporary file that is being written.
#[derive(Debug)]
pub(super) struct Entry {
    path: PathBuf,
    /// Locked until it is dropped, or its process dies.
    _file: File,
}

impl Journal {
    /// Opens the journal of a project in its state folder.
    pub(super) fn new(state_dir: &Path) -> Self {
        Journal { dir: state_dir.join("writing") }
    }

    /// Records a temporary file that is about to be created.
    pub(super) fn begin(&self, temporary: &str) -> io::Result<Entry> {
        self.note(temporary).map_err(|why| in_state(&self.dir, &why))
    }

    fn note(&self, temporary: &str) -> io::Result<Entry> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        make_dir(&self.dir)?;
        loop {
            let number = NUMBER.fetch_add(1, Ordering::Relaxed);
            let path = self.dir.join(format!("{}-{number}", std::process::id()));
            let made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path);
            let mut file = match made {
                // Left by an earlier process with the same id.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                made => made?,
            };
            file.lock()?;
            // Created before the write, so that dropping it removes the file if the write fails.
            let entry = Entry { path, _file: file.try_clone()? };
            file.write_all(temporary.as_bytes())?;
            // Before the temporary file is created: it must not outlive its entry.
            file.sync_all()?;
            sync_dir(&self.dir)?;
            return Ok(entry);
        }
    }

    /// Removes the files that earlier processes left, and returns their number.
    pub(super) fn sweep(&self, root: &Path) -> usize {
        let Ok(entries) = std::fs::read_dir(&self.dir) else { return 0 };
        entries.flatten().filter(|entry| sweep_one(root, &entry.path())).count()
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        // If this fails, a later sweep finds nothing left to remove for it.
        let _ = std::fs::remove_file(&self.path);
    }
}

fn sweep_one(root: &Path, entry: &Path) -> bool {
    let Ok(file) = OpenOptions::new().read(true).write(true).open(entry) else { return false };
    if file.try_lock().is_err() {
        return false;
    }
    let temporary = std::fs::read_to_string(entry).unwrap_or_default();
    let name = temporary.rsplit('/').next().unwrap_or_default();
    let is_ours = name.starts_with(BEGINNING) && name.ends_with(ENDING);
    let path = below(root, &temporary).ok().filter(|_| is_ours);
    let spot = path.and_then(|path| spot(root, &path, Missing::Refuse).ok());
    let is_gone = spot
        .is_some_and(|spot| unlinkat(&spot.folder, spot.name.as_str(), AtFlags::empty()).is_ok());
    let _ = std::fs::remove_file(entry);
    is_gone
}
