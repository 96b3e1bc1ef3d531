//! Moving: renames a note and updates the links in other notes.
//!
//! In: both paths, edits of the note itself, edits of others. Out: what was changed, or would be.
//! Invariants: everything is tried before anything is changed, and nothing is if another process has
//! one of the notes open for writing; the original note is kept under its old path; the note is
//! never at two paths or at none; a link that cannot be rewritten afterwards is reported, and the
//! rest is done.

use jiff::Timestamp;
use notes::edit::Op;
use sys::lease::Lease;

use super::confine::{Missing, below, spot};
use super::{NoteError, Notes, Opened, Why, Written, files};
use model::terms::RelPath;

/// Edits of a note with links to one that moves.
#[derive(Debug, Clone, PartialEq)]
pub struct Rewrite {
    /// Its path.
    pub path: String,
    /// The edits.
    pub ops: Vec<Op>,
    /// SHA-256 of the text to which the edits apply.
    pub expected: Option<String>,
}

/// The result for the links of one note.
#[derive(Debug)]
pub struct Rewritten {
    /// Its path.
    pub path: String,
    /// The changes, or why they failed.
    pub done: Result<Written, NoteError>,
}

/// Called between the renaming of a file and the writing of its new bytes.
pub type Settle<'a> = dyn Fn(&[RelPath]) + 'a;

/// The result of a move, or of a dry run.
#[derive(Debug)]
pub struct Moved {
    /// The path before.
    pub from: RelPath,
    /// The path now.
    pub to: RelPath,
    /// Edits of the note itself; `None` if there were none.
    pub own: Option<Written>,
    /// Edits of others, and of the note itself if somebody changed it at that moment.
    pub others: Vec<Rewritten>,
}

impl Moved {
    /// Returns every path whose file has changed.
    pub fn changed(&self) -> Vec<RelPath> {
        let others = self.others.iter().filter_map(|it| it.done.as_ref().ok());
        let changed = others.filter(|it| it.is_changed()).map(|it| it.path.clone());
        [self.from.clone(), self.to.clone()].into_iter().chain(changed).collect()
    }
}

impl Notes {
    /// Moves a note. `settle` is called when the file has its new path and still its old bytes:
    /// only by these is it recognized as the same document. Without `settle` this is a dry run that
    /// returns what would change.
    ///
    /// # Errors
    /// [`NoteError`] for the note itself, or for the first other one that could not be edited; then
    /// nothing has changed. Failures after the move are in [`Moved::others`].
    pub fn rename(
        &self,
        from: &str,
        to: &str,
        expected: Option<&str>,
        own: &[Op],
        others: &[Rewrite],
        settle: Option<&Settle<'_>>,
    ) -> Result<Moved, NoteError> {
        let turn = self.turn()?;
        let note = self.opened(from)?;
        self.refuse_link(&below(&self.root, from)?, &note.spot)?;
        let to = self.allowed(to)?;
        let (own_changes, _) = self.edited(&note, own, expected)?;
        let mut planned = Vec::new();
        for rewrite in others {
            let other = self.opened(&rewrite.path)?;
            self.edited(&other, &rewrite.ops, rewrite.expected.as_deref())?;
            drop(self.lease(&other)?);
            planned.push((rewrite, other.checksum));
        }
        let lease = self.lease(&note)?;
        super::permitted::check_portable(&self.root, &to)?;
        self.check_free(&note.spot.real, &to)?;
        let paths = (RelPath::new(note.path.clone()), RelPath::new(to.clone()));
        let Some(settle) = settle else {
            let preview = |rewrite: &Rewrite| self.preview(&rewrite.path, &rewrite.ops, None);
            let preview = |it: &Rewrite| Rewritten { path: it.path.clone(), done: preview(it) };
            let mut others: Vec<Rewritten> = others.iter().map(preview).collect();
            let own = match self.preview(from, own, None) {
                Ok(own) => own.is_changed().then_some(own),
                // A protected note cannot be edited but can be moved.
                Err(error @ NoteError::Protected(_)) => {
                    let done = Err(error);
                    others.push(Rewritten { path: to, done });
                    None
                }
                Err(error) => return Err(error),
            };
            return Ok(Moved { from: paths.0, to: paths.1, own, others });
        };
        let target = spot(&self.root, &to, Missing::Make)?;
        self.refuse_link(&to, &target)?;
        let keep = || {
            let (bytes, mode) = (&note.found.bytes, note.found.mode());
            let now = Timestamp::now();
            self.kept.keep(&note.spot.real, bytes, Why::Moved, Some(mode), now).map(drop)
        };
        files::rename(&note.spot, &target, keep)
            .map_err(|trouble| self.failed(&to, trouble, None))?;
        // Each edit takes its own.
        drop((turn, lease));
        settle(&[paths.0.clone(), paths.1.clone()]);
        let done = (!own_changes.is_empty())
            .then(|| self.edit(&to, own, Some(&note.checksum)))
            .transpose();
        let rewritten = |(rewrite, checksum): (&Rewrite, String)| Rewritten {
            path: rewrite.path.clone(),
            done: self.edit(&rewrite.path, &rewrite.ops, Some(&checksum)),
        };
        let mut others: Vec<Rewritten> = planned.into_iter().map(rewritten).collect();
        let own = done.unwrap_or_else(|error| {
            others.push(Rewritten { path: to.clone(), done: Err(error) });
            None
        });
        Ok(Moved { from: paths.0, to: paths.1, own, others })
    }

    fn lease<'a>(&self, note: &'a Opened) -> Result<Option<Lease<'a>>, NoteError> {
        note.found.lease().map_err(|trouble| self.failed(&note.path, trouble, None))
    }

    /// Checks that nothing is at a path. Another spelling of the same file's name is allowed.
    fn check_free(&self, from: &str, to: &str) -> Result<(), NoteError> {
        let spot = match spot(&self.root, to, Missing::Refuse) {
            Err(NoteError::NotFound(_)) => return Ok(()),
            spot => spot?,
        };
        if from == to || files::read(&spot, 0).ok().flatten().is_some() {
            let found =
                files::read(&spot, u64::MAX).map_err(|trouble| self.failed(to, trouble, None))?;
            let checksum = found.map(|it| super::checksum(&it.bytes)).unwrap_or_default();
            return Err(NoteError::Exists { path: to.to_string(), title: None, checksum });
        }
        Ok(())
    }
}
