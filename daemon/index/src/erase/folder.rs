//! Folder: classifies the files of a project's state folder, cleans its logs and removes leftovers and pages.
//!
//! In: the folder. Out: each file with its role; logs without the forgotten strings; pages that contained them
//! removed.
//! Invariants: a log is rewritten in place, because a daemon holds it open; derived files that are not in use are
//! removed, never rewritten.

use std::fs::{self, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::Rewrite;

/// What a file of the state folder is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// A database or lock in use.
    Live,
    /// A copy of the ledger: a backup, or the one that a migration or restore set aside.
    Copy,
    /// A leftover of a replaced index, a verification, or a copy that was cut short.
    Leftover,
    /// A log of a daemon.
    Log,
    /// A page that `kgctl graph` drew.
    Page,
    /// A kept version of a note.
    Kept,
    /// Anything else.
    Other,
}

/// Files that daemons and clients hold open or lock.
const LIVE: [&str; 11] = [
    "index.sqlite",
    "index.sqlite-wal",
    "index.sqlite-shm",
    "ledger.sqlite",
    "ledger.sqlite-wal",
    "ledger.sqlite-shm",
    "vectors.sqlite",
    "vectors.sqlite-wal",
    "vectors.sqlite-shm",
    "lock",
    "notes.lock",
];

/// Returns the role of a file, given its path in the state folder.
pub fn role_of(path: &str) -> Role {
    let name = path.rsplit('/').next().unwrap_or(path);
    let folder = path.split_once('/').map(|(folder, _)| folder);
    match folder {
        None if LIVE.contains(&path) => Role::Live,
        Some("kept") => Role::Kept,
        Some("verify") => Role::Leftover,
        // A database that was being copied, in any folder; tested before `backups`, where such files lie, too.
        _ if name.contains(".sqlite.part-") => Role::Leftover,
        Some("backups") => Role::Copy,
        None if name.starts_with("ledger.sqlite.") => Role::Copy,
        None if name.starts_with("index.") => Role::Leftover,
        None if name.starts_with("daemon.log") => Role::Log,
        None if is_page(name) => Role::Page,
        _ => Role::Other,
    }
}

/// `graph-NAME-2.html`, or one that was not finished.
fn is_page(name: &str) -> bool {
    name.trim_start_matches('.').starts_with("graph-") && name.contains(".html")
}

/// Lists every file below the folder, by path, sorted. Links are not followed. A folder that disappears meanwhile is
/// skipped.
pub fn files_in(folder: &Path) -> io::Result<Vec<(String, PathBuf)>> {
    let mut found = Vec::new();
    let mut open = vec![(String::new(), folder.to_path_buf())];
    while let Some((path, folder)) = open.pop() {
        let entries = match fs::read_dir(&folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            entries => entries?,
        };
        for entry in entries {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = if path.is_empty() { name } else { format!("{path}/{name}") };
            match entry.file_type()? {
                kind if kind.is_dir() => open.push((path, entry.path())),
                kind if kind.is_file() => found.push((path, entry.path())),
                _ => {}
            }
        }
    }
    found.sort();
    Ok(found)
}

/// Rewrites the logs that contain a forgotten string, and returns how many did.
pub fn clean_logs(state_dir: &Path, rewrite: &dyn Rewrite) -> io::Result<u64> {
    let mut n_changed = 0;
    for (path, file) in files_in(state_dir)? {
        if role_of(&path) != Role::Log {
            continue;
        }
        // Holding standard error makes other threads' log lines wait; between reading and writing they would be lost.
        let _quiet = io::stderr().lock();
        let bytes = fs::read(&file)?;
        let Some(text) = rewrite.text(&String::from_utf8_lossy(&bytes)) else { continue };
        // In place and then cut: a rename would leave the daemon writing to the old file.
        let mut log = OpenOptions::new().write(true).open(&file)?;
        log.seek(SeekFrom::Start(0))?;
        log.write_all(text.as_bytes())?;
        log.set_len(text.len() as u64)?;
        log.sync_all()?;
        n_changed += 1;
    }
    Ok(n_changed)
}

/// Removes what remains of replaced indexes, verifications and copies that were cut short, and returns the number of
/// files. No index may be built or replaced meanwhile.
pub fn remove_leftovers(state_dir: &Path) -> io::Result<u64> {
    // A copy that this process is making right now is in use.
    let own = format!(".part-{}", std::process::id());
    let mut n_removed = 0;
    for (path, file) in files_in(state_dir)? {
        if role_of(&path) == Role::Leftover && !path.contains(&own) {
            fs::remove_file(&file)?;
            n_removed += 1;
        }
    }
    Ok(n_removed)
}

/// Removes the pages that contain a forgotten string, and returns how many. They are drawn again on demand.
pub fn remove_pages(state_dir: &Path, rewrite: &dyn Rewrite) -> io::Result<u64> {
    let mut n_removed = 0;
    for (path, file) in files_in(state_dir)? {
        if role_of(&path) != Role::Page {
            continue;
        }
        let page = fs::read(&file)?;
        // The name counts, too: a page is named after what it shows.
        let holds = |text: &str| rewrite.text(text).is_some();
        if holds(&path) || holds(&String::from_utf8_lossy(&page)) {
            fs::remove_file(&file)?;
            n_removed += 1;
        }
    }
    Ok(n_removed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_has_its_role() {
        for (path, role) in [
            ("index.sqlite-wal", Role::Live),
            ("index.sqlite.old", Role::Leftover),
            ("index.next.sqlite-shm", Role::Leftover),
            ("verify/ledger.sqlite", Role::Leftover),
            ("ledger.sqlite", Role::Live),
            ("ledger.sqlite.v6", Role::Copy),
            ("ledger.sqlite.before-restore-2", Role::Copy),
            ("ledger.sqlite.part-77", Role::Leftover),
            ("backups/ledger-20260131-120000.sqlite", Role::Copy),
            ("backups/ledger-20260131-120000.sqlite.part-77", Role::Leftover),
            ("kept/a/b.md/20260131T093000.123456Z-0123456789ab.replaced", Role::Kept),
            ("daemon.log.old", Role::Log),
            ("graph-ada-2.html", Role::Page),
            (".graph-ada-2.html.77", Role::Page),
            ("writing/77-0", Role::Other),
        ] {
            assert_eq!(role_of(path), role, "{path}");
        }
    }
}
