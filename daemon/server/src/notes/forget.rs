//! Forget: kept versions of notes without what is to be gone, and the bytes of files that may still hold it.
//!
//! In: which notes are meant, and how the versions of all others are rewritten. Out: how many went, and were rewritten.
//! Invariants: writers of notes wait meanwhile; a rewritten version keeps its time and its reason; files of the project
//! are read and never written.
//! Not here: what is to be gone (`erase/`).

use std::io;

use super::confine::{Missing, below, spot};
use super::{Notes, files};
use index::erase::Rewrite;

/// What became of kept versions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Forgotten {
    /// Versions that went whole, because their note was meant.
    pub(crate) n_removed: u64,
    /// Versions that lost a span.
    pub(crate) n_rewritten: u64,
}

impl Notes {
    /// Removes the kept versions of the notes that are meant and takes out of the others what is to be gone.
    ///
    /// # Errors
    /// When a version cannot be read or written; those before it are done.
    pub(crate) fn forget_kept(
        &self,
        is_meant: &dyn Fn(&str) -> bool,
        rewrite: &dyn Rewrite,
    ) -> io::Result<Forgotten> {
        let _turn = self.lock().map_err(io::Error::other)?;
        let mut done = Forgotten::default();
        for version in self.kept.all() {
            if is_meant(&version.path) {
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

    /// The bytes of a file of the project, wherever a link inside leads; `None` when it cannot be read.
    pub(crate) fn bytes_at(&self, path: &str) -> Option<Vec<u8>> {
        let path = below(&self.root, path).ok()?;
        let spot = spot(&self.root, &path, Missing::Refuse).ok()?;
        files::read(&spot, u64::MAX).ok().flatten().map(|found| found.bytes)
    }
}
