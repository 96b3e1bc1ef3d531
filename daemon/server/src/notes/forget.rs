//! Forget: removes forgotten text from kept versions of notes, and reads the bytes of files that
//! may still contain it.
//!
//! In: the notes to forget, and the rewriting of all other versions. Out: how many versions were
//! removed and rewritten.
//! Invariants: writers of notes wait meanwhile; a rewritten version keeps its time and its reason;
//! files of the project are read and never written.

use std::io;

use super::confine::{Missing, below, spot};
use super::{Notes, Version, files};
use index::erase::Rewrite;

/// How many kept versions were affected.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Forgotten {
    /// Versions removed as a whole, because their note is forgotten.
    pub(crate) n_removed: u64,
    /// Versions from which a span was removed.
    pub(crate) n_rewritten: u64,
}

impl Notes {
    /// Removes the kept versions that are meant, and forgotten text from all others.
    ///
    /// # Errors
    /// When a version cannot be read or written; the versions before it are done.
    pub(crate) fn forget_kept(
        &self,
        is_meant: &dyn Fn(&Version) -> bool,
        rewrite: &dyn Rewrite,
    ) -> io::Result<Forgotten> {
        let _turn = self.lock().map_err(io::Error::other)?;
        let mut done = Forgotten::default();
        for version in self.kept.all() {
            if is_meant(&version) {
                self.kept.remove(&version)?;
                done.n_removed += 1;
                continue;
            }
            let bytes = std::fs::read(&version.file)?;
            let cleaned = rewrite.version(&version.path, &bytes);
            let name = rewrite.takes_names().then(|| rewrite.text(&version.path)).flatten();
            if cleaned.is_some() || name.is_some() {
                let path = name.as_deref().unwrap_or(&version.path);
                self.kept.rewrite(&version, path, &cleaned.unwrap_or(bytes))?;
                done.n_rewritten += 1;
            }
        }
        Ok(done)
    }

    /// Returns the bytes of a file of the project, following links inside it; `None` if it cannot
    /// be read.
    pub(crate) fn bytes_at(&self, path: &str) -> Option<Vec<u8>> {
        let path = below(&self.root, path).ok()?;
        let spot = spot(&self.root, &path, Missing::Refuse).ok()?;
        files::read(&spot, u64::MAX).ok().flatten().map(|found| found.bytes)
    }
}
