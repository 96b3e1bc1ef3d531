//! Kept: stores the bytes of notes before they are replaced or removed, for 30 days that a daemon ran.
//!
//! In: a note's path and its bytes. Out: versions, by path and time; their bytes.
//! Invariants: kept files are in the user's own state folder, readable only by the user, and
//! durable before the note changes; they are exact copies, secrets included, until somebody forgets
//! a part (`forget.rs`), and are never indexed, embedded, logged or sent; apart from that, only age,
//! or too large a total, removes them, the oldest first. The names of the files are the only index:
//! `kept/PATH/TIME-HASH-UID.WHY-MODE-DOER`, without UID, MODE and DOER if unknown. The uid says whose
//! version it is when the document moves and another one gets its path.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use config::limits::MAX_KEPT_BYTES;
use config::place::sync_dir;
use index::store::uid_of;
use jiff::Timestamp;
use model::terms::ContentHash;

use super::files::{in_state, make_dir};
use crate::errand::doer;

/// Why a version is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Why {
    /// Another version replaced it.
    Replaced,
    /// The note was removed.
    Removed,
    /// The note was moved to another path.
    Moved,
    /// It could not be written, because the note had changed.
    Unwritten,
}

impl Why {
    const ALL: [Why; 4] = [Why::Replaced, Why::Removed, Why::Moved, Why::Unwritten];

    /// Returns the word in the name of the file.
    pub fn as_str(self) -> &'static str {
        match self {
            Why::Replaced => "replaced",
            Why::Removed => "removed",
            Why::Moved => "moved",
            Why::Unwritten => "unwritten",
        }
    }
}

/// One kept version of a note.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version {
    /// The note's path.
    pub path: String,
    /// When it was kept, to the microsecond, in UTC: `20260131T093000.123456Z`. It names the version.
    pub at: String,
    /// The first digits of its SHA-256.
    pub hash: String,
    /// Uid of the document whose version it is, if the ledger knew the document with these bytes.
    pub uid: Option<String>,
    /// Why it was kept.
    pub why: Why,
    /// Its size.
    pub n_bytes: u64,
    /// Its file.
    pub file: PathBuf,
    /// The mode of the note's file, if it was recorded.
    pub mode: Option<u32>,
    /// For whom it was replaced: `edit_note@claude-code`.
    pub by: Option<String>,
}

impl Version {
    /// Returns when it was kept.
    pub fn time(&self) -> Option<Timestamp> {
        let civil = jiff::civil::DateTime::strptime(TIME, &self.at).ok()?;
        Some(civil.to_zoned(jiff::tz::TimeZone::UTC).ok()?.timestamp())
    }

    /// Returns its file's path below the folder of kept versions.
    pub fn name(&self) -> String {
        let file = self.file.file_name().unwrap_or_default();
        format!("{}/{}", self.path, file.to_string_lossy())
    }

    /// Reads its bytes.
    pub(crate) fn bytes(&self) -> io::Result<Vec<u8>> {
        std::fs::read(&self.file)
    }
}

/// The kept versions of one project.
#[derive(Debug)]
pub(super) struct Kept {
    dir: PathBuf,
}

/// Digits of the hash in a name.
const HASH_DIGITS: usize = 12;

/// Format of the time in a name; it sorts by time.
const TIME: &str = "%Y%m%dT%H%M%S%.6fZ";

impl Kept {
    /// Opens the kept versions of a project in its state folder.
    pub(super) fn new(state_dir: &Path) -> Self {
        Kept { dir: state_dir.join("kept") }
    }

    /// Keeps the bytes of a note, durably.
    pub(super) fn keep(
        &self,
        path: &str,
        bytes: &[u8],
        why: Why,
        mode: Option<u32>,
        now: Timestamp,
    ) -> io::Result<PathBuf> {
        let at = now.strftime(TIME).to_string();
        let uid = self.dir.parent().and_then(|it| uid_of(it, path, ContentHash::of(bytes)));
        let uid = uid.map(|uid| format!("-{uid}")).unwrap_or_default();
        let rest = format!("{uid}.{}", suffix(why, mode, doer().as_deref()));
        self.keep_as(path, bytes, &at, &rest).map_err(|why| in_state(&self.dir, &why))
    }

    /// `rest` is the part of the name after the hash.
    fn keep_as(&self, path: &str, bytes: &[u8], at: &str, rest: &str) -> io::Result<PathBuf> {
        let dir = self.dir.join(path);
        make_dir(&dir)?;
        let hash = super::checksum(bytes);
        let hash = hash.get(..HASH_DIGITS).unwrap_or(&hash);
        let file = dir.join(format!("{at}-{hash}{rest}"));
        match OpenOptions::new().write(true).create_new(true).mode(0o600).open(&file) {
            Ok(mut new) => {
                let written = new.write_all(bytes).and_then(|()| new.sync_all());
                written.inspect_err(|_| {
                    let _ = std::fs::remove_file(&file);
                })?;
            }
            // The same bytes were kept at the same instant.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(file),
            Err(error) => return Err(error),
        }
        sync_dir(&dir)?;
        Ok(file)
    }

    /// Returns the kept versions of a note, newest first.
    pub(super) fn versions(&self, path: &str) -> Vec<Version> {
        let mut found = Vec::new();
        let Ok(entries) = std::fs::read_dir(self.dir.join(path)) else { return found };
        found.extend(entries.flatten().filter_map(|entry| version(path, &entry.path())));
        found.sort_by(|one, other| (&other.at, &other.hash).cmp(&(&one.at, &one.hash)));
        found
    }

    /// Returns every kept version, by path, newest first.
    pub(super) fn all(&self) -> Vec<Version> {
        let mut found = Vec::new();
        let mut open = vec![String::new()];
        while let Some(path) = open.pop() {
            let Ok(entries) = std::fs::read_dir(self.dir.join(&path)) else { continue };
            for entry in entries.flatten() {
                let Ok(name) = entry.file_name().into_string() else { continue };
                if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    open.push(if path.is_empty() { name } else { format!("{path}/{name}") });
                } else {
                    found.extend(version(&path, &entry.path()));
                }
            }
        }
        found.sort_by(|one, other| one.path.cmp(&other.path).then_with(|| other.at.cmp(&one.at)));
        found
    }

    /// Removes versions from before `oldest`, and the oldest ones while the total is too large.
    pub(super) fn prune(&self, oldest: Option<Timestamp>) {
        let oldest = oldest.map_or(String::new(), |it| it.strftime(TIME).to_string());
        let mut all = self.all();
        all.sort_by(|one, other| other.at.cmp(&one.at));
        let mut n_bytes = 0;
        for version in all {
            n_bytes += version.n_bytes;
            if version.at < oldest || n_bytes > MAX_KEPT_BYTES {
                let _ = self.remove(&version);
            }
        }
    }

    /// Replaces a version with other bytes, or moves it to another path.
    pub(super) fn rewrite(&self, version: &Version, path: &str, bytes: &[u8]) -> io::Result<()> {
        let name = version.file.file_name().unwrap_or_default().to_string_lossy();
        let rest = name.split_once(&version.hash).map_or("", |(_, rest)| rest);
        let now = self.keep_as(path, bytes, &version.at, rest)?;
        if now == version.file { Ok(()) } else { self.remove(version) }
    }

    /// Removes a version, and the folders that this leaves empty.
    pub(super) fn remove(&self, version: &Version) -> io::Result<()> {
        match std::fs::remove_file(&version.file) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let folders = version
            .file
            .ancestors()
            .skip(1)
            .take_while(|it| it.starts_with(&self.dir) && **it != self.dir);
        for folder in folders {
            // A folder that is not empty stays.
            if std::fs::remove_dir(folder).is_err() {
                break;
            }
        }
        Ok(())
    }
}

/// Returns the part of a name after the dot.
fn suffix(why: Why, mode: Option<u32>, by: Option<&str>) -> String {
    let mode = mode.map(|mode| format!("{mode:o}"));
    match (mode, by) {
        (None, None) => why.as_str().to_string(),
        (Some(mode), None) => format!("{}-{mode}", why.as_str()),
        (mode, Some(by)) => format!("{}-{}-{by}", why.as_str(), mode.unwrap_or_default()),
    }
}

/// Parses the name of a kept file.
fn version(path: &str, file: &Path) -> Option<Version> {
    let (stem, suffix) = file.file_name()?.to_str()?.rsplit_once('.')?;
    let mut parts = suffix.splitn(3, '-');
    let why = parts.next()?;
    let mode = parts.next().filter(|it| !it.is_empty());
    let mode = mode.map(|it| u32::from_str_radix(it, 8)).transpose().ok()?;
    let by = parts.next().map(str::to_string);
    let why = Why::ALL.into_iter().find(|it| it.as_str() == why)?;
    let mut parts = stem.splitn(3, '-').map(str::to_string);
    Some(Version {
        path: path.to_string(),
        at: parts.next()?,
        hash: parts.next()?,
        uid: parts.next(),
        why,
        n_bytes: file.symlink_metadata().ok().filter(|it| it.is_file())?.len(),
        file: file.to_path_buf(),
        mode,
        by,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::errand::{acting, carried};
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn versions_are_listed_newest_first_and_go_by_age() {
        let dir = tempfile::tempdir().expect("a folder");
        let kept = Kept::new(dir.path());
        let at = |days: i64| Timestamp::from_second(1_750_000_000 + days * 86_400).expect("a time");
        kept.keep("a/b.md", b"one", Why::Replaced, None, at(0)).expect("kept");
        kept.keep("a/b.md", b"two", Why::Removed, None, at(5)).expect("kept");
        kept.keep("a", b"three", Why::Unwritten, None, at(6)).expect("kept");
        let shown = |versions: Vec<Version>| {
            let line =
                |it: &Version| format!("{} {} {} {}", it.path, it.at, it.why.as_str(), it.n_bytes);
            versions.iter().map(line).collect::<Vec<_>>()
        };
        assert_eq!(
            shown(kept.versions("a/b.md")),
            [
                "a/b.md 20250620T150640.000000Z removed 3",
                "a/b.md 20250615T150640.000000Z replaced 3"
            ]
        );
        assert_eq!(kept.all().len(), 3);
        let mode = kept.all()[0].file.metadata().expect("it is there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        kept.prune(None);
        assert_eq!(kept.all().len(), 3, "nobody knows what is old");
        kept.prune(Some(at(1)));
        assert_eq!(
            shown(kept.all()),
            ["a 20250621T150640.000000Z unwritten 5", "a/b.md 20250620T150640.000000Z removed 3"]
        );
        assert_eq!(kept.all()[0].time(), Some(at(6)));
        kept.prune(Some(at(30)));
        assert_eq!(kept.all(), []);
        assert!(!dir.path().join("kept/a").exists());
    }

    #[tokio::test]
    async fn a_version_says_for_whom_it_was_replaced_and_keeps_that() {
        let dir = tempfile::tempdir().expect("a folder");
        let kept = Kept::new(dir.path());
        let keep = |mode| kept.keep("a.md", b"one", Why::Replaced, mode, Timestamp::UNIX_EPOCH);
        let blocked = acting("edit_note", "Claude Desktop/1.0", async {
            tokio::task::spawn_blocking(carried(|| doer().as_deref().map(str::to_string)))
                .await
                .expect("it ends")
        });
        assert_eq!(blocked.await.as_deref(), Some("edit_note@Claude_Desktop_1_0"));
        acting("edit_note", "claude-code", async { keep(None).expect("kept") }).await;
        let mode_and_author = |it: &Version| (it.mode, it.by.clone());
        let by = Some("edit_note@claude-code".to_string());
        assert_eq!(mode_and_author(&kept.all()[0]), (None, by.clone()));
        kept.rewrite(&kept.all()[0], "b.md", b"two").expect("rewritten");
        assert_eq!(mode_and_author(&kept.all()[0]), (None, by.clone()));
        acting("edit_note", "claude-code", async { keep(Some(0o644)).expect("kept") }).await;
        assert_eq!(mode_and_author(&kept.all()[0]), (Some(0o644), by));
    }
}
