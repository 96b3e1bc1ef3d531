//! Notes: writes, edits, removes and moves notes; the only place in the daemon that changes files
//! of a project.
//!
//! In: paths and edits (`notes::edit`). Out: what was changed, or a coded refusal.
//! Invariants: a note is replaced atomically and durably, and only if it is the one that was read;
//! its old bytes are kept first; writers of one project take turns, across processes; nothing is
//! written outside the project, on the deny list, or where it would not be indexed; a read-only
//! project is never written. Indexing does not use this module.

mod change;
mod confine;
mod conflict;
mod diff;
mod error;
mod files;
mod forget;
mod history;
mod journal;
mod kept;
mod lock;
mod moving;
mod permitted;
mod secrets;
mod shown;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI64, Ordering};

use config::limits::KEPT_DAYS;
use config::{Live, Settings};
use jiff::Timestamp;
use notes::edit::{Change, EditError, Op, apply, edit_all};
use proto::visible::restore_from;
use sha2::{Digest, Sha256};

use self::confine::{Missing, Spot, below, spot};
pub use self::error::NoteError;
use self::files::{Found, Trouble};
pub use self::history::{Names, Past, VersionText};
use self::journal::Journal;
use self::kept::Kept;
pub use self::kept::{Version, Why};
use self::lock::{WriterLock, WriterTurn};
pub use self::moving::{Moved, Rewrite, Rewritten, Settle};
pub use self::secrets::MARK;
use self::secrets::Veil;
use index::store::Held;
use model::terms::RelPath;

/// Interval between removals of old kept versions, seconds.
const PRUNE_SECONDS: i64 = 3_600;

/// The notes of one project.
#[derive(Debug)]
pub struct Notes {
    root: PathBuf,
    state_dir: PathBuf,
    settings: Live<Settings>,
    veil: Veil,
    kept: Kept,
    journal: Journal,
    pruned: AtomicI64,
    held: Held,
    lock: WriterLock,
}

/// The current text of a note.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoteText {
    /// Its path, from the root.
    pub path: String,
    /// The whole text, secrets included: not for callers.
    pub text: String,
    /// SHA-256 of its bytes, hexadecimal.
    pub checksum: String,
}

/// The current bytes of a file of any kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawFile {
    /// Its path, from the root.
    pub path: String,
    /// All bytes, secrets included: not for callers.
    pub bytes: Vec<u8>,
    /// SHA-256 of the bytes, hexadecimal.
    pub checksum: String,
}

/// Whether an existing note may be replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Overwrite {
    /// Replacing is an error.
    No,
    /// The old note is kept for 30 days.
    Yes,
}

/// The result of a write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// The path under which it is indexed.
    pub path: RelPath,
    /// SHA-256 of the bytes before; `None` if there was no note.
    pub checksum_before: Option<String>,
    /// SHA-256 of the bytes now; equal to the one before if nothing had to change. `None` if the
    /// note is gone.
    pub checksum: Option<String>,
    /// The changes, as byte ranges of the old text. For a new or overwritten note, the whole text.
    pub changes: Vec<Change>,
    /// Warnings about results that a person might not expect.
    pub warnings: Vec<String>,
}

impl Written {
    /// Returns whether the file has changed.
    pub fn is_changed(&self) -> bool {
        self.checksum_before != self.checksum
    }
}

/// A note that was read in order to change it.
struct Opened {
    /// The path under which it is indexed.
    path: String,
    spot: Spot,
    found: Found,
    text: String,
    checksum: String,
}

impl Notes {
    /// Opens the notes of a project and removes what a crash may have left. The root must be
    /// canonical.
    pub fn open(root: &Path, state_dir: &Path, settings: &Settings) -> Notes {
        let notes = Notes {
            root: root.to_path_buf(),
            settings: Live::new(settings.clone()),
            veil: Veil::new(settings),
            state_dir: state_dir.to_path_buf(),
            kept: Kept::new(state_dir),
            journal: Journal::new(state_dir),
            pruned: AtomicI64::new(0),
            held: Held::default(),
            lock: WriterLock::new(state_dir),
        };
        let n_left = notes.journal.sweep(root);
        if n_left > 0 {
            tracing::info!(n_left, "removed temporary files of writes that a crash cut off");
        }
        notes.prune(Timestamp::now());
        notes
    }

    /// Uses these settings, which may change later.
    #[must_use]
    pub fn following(self, settings: Live<Settings>) -> Notes {
        Notes { settings, ..self }
    }

    /// Refuses to write while the ledger is lost, as `held` knows.
    #[must_use]
    pub fn guarded_by(self, held: Held) -> Notes {
        Notes { held, ..self }
    }

    /// Reads a note.
    ///
    /// # Errors
    /// As [`Notes::edit`], except for errors of writing.
    pub fn read(&self, path: &str) -> Result<NoteText, NoteError> {
        let Opened { path, text, checksum, .. } = self.opened(path)?;
        Ok(NoteText { path, text, checksum })
    }

    /// Reads a file of any kind that the watcher reads, or leaves out for its extension.
    ///
    /// # Errors
    /// As [`Notes::read`].
    pub fn raw(&self, path: &str) -> Result<RawFile, NoteError> {
        let path = self.readable(below(&self.root, path)?)?;
        let spot = spot(&self.root, &path, Missing::Refuse)?;
        let path = self.indexed_path(path, &spot)?;
        let found = self.read_at(&path, &spot)?.ok_or_else(|| NoteError::NotFound(path.clone()))?;
        let checksum = checksum(&found.bytes);
        Ok(RawFile { path, bytes: found.bytes, checksum })
    }

    /// Returns the path under which the file at `path` is, or will be, indexed: for a link, that of
    /// its target. An invalid path is returned unchanged; reading or writing it then fails with the
    /// reason.
    pub fn indexed_as(&self, path: &str) -> String {
        let found = self.allowed(path).and_then(|path| {
            let spot = spot(&self.root, &path, Missing::Refuse)?;
            self.indexed_path(path, &spot)
        });
        found.unwrap_or_else(|_| path.to_string())
    }

    /// Returns whether a file is at exactly this path of the project, read or not.
    pub fn has_file(&self, path: &str) -> bool {
        let found = below(&self.root, path).map(|path| self.root.join(path));
        found.is_ok_and(|path| path.symlink_metadata().is_ok_and(|it| it.is_file()))
    }

    /// Returns the real path of a file or folder in the project if a link is on its way, else
    /// `None`.
    pub fn led_to(&self, path: &str) -> Option<String> {
        let path = below(&self.root, path.trim_end_matches('/')).ok()?;
        confine::resolved(&self.root, &path).ok().filter(|real| *real != path)
    }

    /// Returns whether a file is reached through a link, or is a link itself, wherever that leads.
    pub fn is_by_link(&self, path: &str) -> bool {
        below(&self.root, path).is_ok_and(|path| confine::is_by_link(&self.root, &path))
    }

    /// Returns a part of a note as callers may see it.
    pub fn shown(&self, path: &str, text: &str) -> String {
        self.veil.shown(path, text)
    }

    /// Returns the kinds of the secrets in a file as its format reads it, each once.
    pub fn kinds_of_secrets(&self, path: &str, text: &str) -> Vec<&'static str> {
        self.veil.kinds_of_secrets(path, text)
    }

    /// Writes a whole note.
    ///
    /// # Errors
    /// [`NoteError`]; then nothing has changed.
    pub fn write(
        &self,
        path: &str,
        content: &str,
        overwrite: Overwrite,
        expected: Option<&str>,
    ) -> Result<Written, NoteError> {
        let _turn = self.turn()?;
        let path = self.allowed(path)?;
        permitted::check_portable(&self.root, &path)?;
        let spot = spot(&self.root, &path, Missing::Make)?;
        let path = self.indexed_path(path, &spot)?;
        let old = self.read_at(&path, &spot)?;
        let Some(old) = old else {
            if expected.is_some() {
                return Err(self.conflict(&path, None, Some(content.as_bytes())));
            }
            self.check_content(&path, "", content)?;
            return self.replace(
                &path,
                &spot,
                None,
                content,
                vec![Change { span: 0..0, replacement: content.into() }],
            );
        };
        let before = String::from_utf8_lossy(&old.bytes).into_owned();
        let title = permitted::other_title(&path, &before, content);
        if overwrite == Overwrite::No || title.is_some() {
            return Err(NoteError::Exists { path, title, checksum: checksum(&old.bytes) });
        }
        let content = &*restore_from(content, &before);
        self.check_expected(&path, expected, &old.bytes, Some(content))?;
        self.check_content(&path, &before, content)?;
        let changes = vec![Change { span: 0..old.bytes.len(), replacement: content.into() }];
        self.replace(&path, &spot, Some(&old), content, changes)
    }

    /// Edits a note.
    ///
    /// # Errors
    /// [`NoteError`]; then nothing has changed.
    pub fn edit(
        &self,
        path: &str,
        ops: &[Op],
        expected: Option<&str>,
    ) -> Result<Written, NoteError> {
        let _turn = self.turn()?;
        let note = self.opened(path)?;
        let (changes, after) = self.edited(&note, ops, expected)?;
        self.replace(&note.path, &note.spot, Some(&note.found), &after, changes)
    }

    /// Returns what [`Notes::edit`] would change, without changing it.
    ///
    /// # Errors
    /// As [`Notes::edit`].
    pub fn preview(
        &self,
        path: &str,
        ops: &[Op],
        expected: Option<&str>,
    ) -> Result<Written, NoteError> {
        self.check_writable()?;
        let note = self.opened(path)?;
        let (changes, after) = self.edited(&note, ops, expected)?;
        if note.text != after && note.found.is_protected() {
            return Err(NoteError::Protected(note.path));
        }
        Ok(Written {
            path: RelPath::new(note.path),
            checksum_before: Some(note.checksum),
            checksum: Some(checksum(after.as_bytes())),
            changes,
            warnings: vec![],
        })
    }

    /// Removes a note, after keeping its bytes.
    ///
    /// # Errors
    /// [`NoteError`]; then nothing has changed.
    pub fn remove(&self, path: &str, expected: Option<&str>) -> Result<Written, NoteError> {
        let _turn = self.turn()?;
        let path = self.allowed(path)?;
        let spot = spot(&self.root, &path, Missing::Refuse)?;
        self.refuse_link(&path, &spot)?;
        // Also removes a file that is not text, or too large to be indexed.
        let old =
            files::read(&spot, u64::MAX).map_err(|trouble| self.failed(&path, trouble, None))?;
        let old = old.ok_or_else(|| NoteError::NotFound(path.clone()))?;
        let before = checksum(&old.bytes);
        self.check_expected(&path, expected, &old.bytes, None)?;
        let keep = || {
            self.kept
                .keep(&spot.real, &old.bytes, Why::Removed, Some(old.mode()), Timestamp::now())
                .map(drop)
        };
        files::remove(&spot, &old, keep).map_err(|trouble| self.failed(&path, trouble, None))?;
        self.prune(Timestamp::now());
        Ok(Written {
            path: RelPath::new(path),
            checksum_before: Some(before),
            checksum: None,
            changes: vec![Change { span: 0..old.bytes.len(), replacement: String::new() }],
            warnings: Found::several_names(&old),
        })
    }

    /// Waits for the turn to write; others wait until the lock is dropped.
    fn turn(&self) -> Result<WriterTurn<'_>, NoteError> {
        self.check_writable()?;
        self.held.check_ledger().map_err(|lost| NoteError::NoLedger(lost.to_string()))?;
        self.lock()
    }

    fn check_writable(&self) -> Result<(), NoteError> {
        if self.settings.write { Ok(()) } else { Err(NoteError::ReadOnly) }
    }

    fn read_at(&self, path: &str, spot: &Spot) -> Result<Option<Found>, NoteError> {
        let max = self.rules().max_bytes_of(path);
        let found = files::read(spot, max).map_err(|trouble| self.failed(path, trouble, None))?;
        match found {
            Some(found) if found.is_cut => {
                let n_bytes = found.n_bytes();
                Err(NoteError::TooLarge { path: path.to_string(), n_bytes, max })
            }
            found => Ok(found),
        }
    }

    /// Reads a note in order to change it.
    fn opened(&self, path: &str) -> Result<Opened, NoteError> {
        let path = self.allowed(path)?;
        let spot = spot(&self.root, &path, Missing::Refuse)?;
        let path = self.indexed_path(path, &spot)?;
        let found = self.read_at(&path, &spot)?.ok_or_else(|| NoteError::NotFound(path.clone()))?;
        let text =
            String::from_utf8(found.bytes.clone()).map_err(|_| NoteError::NotText(path.clone()))?;
        let checksum = checksum(&found.bytes);
        Ok(Opened { path, spot, found, text, checksum })
    }

    /// Returns the changes of an edit, and the text afterwards.
    fn edited(
        &self,
        note: &Opened,
        ops: &[Op],
        expected: Option<&str>,
    ) -> Result<(Vec<Change>, String), NoteError> {
        let path = &note.path;
        let ops = &*ops.iter().map(|op| shown::meant(op, &note.text)).collect::<Vec<_>>();
        let failed = |why| NoteError::Edit { path: path.clone(), why };
        if expected.is_some_and(|it| it != note.checksum) {
            // If the edit still applies, its result is kept with the conflict.
            let mine = edit_all(&note.text, ops).ok().map(|changes| apply(&note.text, &changes));
            self.check_expected(path, expected, note.text.as_bytes(), mine.as_deref())?;
        }
        if secrets::is_probed(&self.veil, path, &note.text, ops) {
            return Err(failed(EditError::NotFound { nearest: None }));
        }
        let changes = edit_all(&note.text, ops).map_err(failed)?;
        let after = apply(&note.text, &changes);
        self.check_content(path, &note.text, &after)?;
        Ok((changes, after))
    }

    fn check_expected(
        &self,
        path: &str,
        expected: Option<&str>,
        found: &[u8],
        mine: Option<&str>,
    ) -> Result<(), NoteError> {
        match expected {
            Some(expected) if !expected.trim().eq_ignore_ascii_case(&checksum(found)) => {
                Err(self.conflict(path, Some(found), mine.map(str::as_bytes)))
            }
            _ => Ok(()),
        }
    }

    /// Returns the error for a note that has changed, after keeping what was to be written.
    fn conflict(&self, path: &str, found: Option<&[u8]>, mine: Option<&[u8]>) -> NoteError {
        let kept = mine.and_then(|mine| self.keep_unwritten(path, mine));
        let shown = |text: &str| self.shown(path, text);
        NoteError::Conflict(Box::new(conflict::view(path, found, mine, kept.as_deref(), shown)))
    }

    fn keep_unwritten(&self, path: &str, bytes: &[u8]) -> Option<PathBuf> {
        self.kept.keep(path, bytes, Why::Unwritten, None, Timestamp::now()).ok()
    }

    fn replace(
        &self,
        path: &str,
        spot: &Spot,
        old: Option<&Found>,
        text: &str,
        changes: Vec<Change>,
    ) -> Result<Written, NoteError> {
        self.replace_bytes(path, None, spot, old, text.as_bytes(), changes)
    }

    /// `mode` applies to a new file.
    fn replace_bytes(
        &self,
        path: &str,
        mode: Option<u32>,
        spot: &Spot,
        old: Option<&Found>,
        bytes: &[u8],
        changes: Vec<Change>,
    ) -> Result<Written, NoteError> {
        let mut written = Written {
            path: RelPath::new(path),
            checksum_before: old.map(|old| checksum(&old.bytes)),
            checksum: Some(checksum(bytes)),
            changes,
            warnings: vec![],
        };
        if !written.is_changed() {
            written.changes.clear();
            return Ok(written);
        }
        if old.is_some_and(Found::is_protected) {
            return Err(NoteError::Protected(path.to_string()));
        }
        let keep = || match old {
            Some(old) => self
                .kept
                .keep(&spot.real, &old.bytes, Why::Replaced, Some(old.mode()), Timestamp::now())
                .map(drop),
            None => Ok(()),
        };
        files::replace(spot, mode, old, bytes, &self.journal, keep)
            .map_err(|trouble| self.failed(path, trouble, Some(bytes)))?;
        self.prune(Timestamp::now());
        written.warnings = old.map(Found::several_names).unwrap_or_default();
        Ok(written)
    }

    /// Returns the error for the caller; if a version could not be written, with the place where it
    /// is kept.
    fn failed(&self, path: &str, trouble: Trouble, mine: Option<&[u8]>) -> NoteError {
        match trouble {
            Trouble::NotAFile => NoteError::NotAFile(path.to_string()),
            Trouble::Changed(found) => self.conflict(path, found.as_deref(), mine),
            Trouble::Written => NoteError::Written(path.to_string()),
            Trouble::Io(why) => NoteError::Io { path: path.to_string(), why },
        }
    }

    /// Removes old versions, at most once per interval.
    fn prune(&self, now: Timestamp) {
        let last = self.pruned.load(Ordering::Relaxed);
        if now.as_second() - last >= PRUNE_SECONDS {
            self.pruned.store(now.as_second(), Ordering::Relaxed);
            // A clock that is wrong makes nothing old: the ledger counts the days.
            let oldest = index::store::written_before(&self.state_dir, KEPT_DAYS).ok().flatten();
            self.kept.prune(oldest.and_then(|ms| Timestamp::from_millisecond(ms).ok()));
        }
    }
}

/// SHA-256 of bytes, hexadecimal.
pub fn checksum(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}
