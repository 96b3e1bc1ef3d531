//! Links: whether a symlink is followed.
//!
//! In: the path of a symlink below the root. Out: its target, or why it is not followed.
//! Invariants: the answer depends on the path and the files alone, not on the order of a walk, so a crawl and an
//! event agree; a chain of links cannot make a tree endless, because a link to a folder is followed once only and
//! never to a folder that contains it; none is followed out of the root.
//! Rejected: a set of visited device and inode numbers. With it the first link in the order of one walk wins, and a
//! folder that links to its siblings still has more paths than the set can stop.

use std::io;
use std::path::PathBuf;

use confine::{Error, Found, Meta, Root};

use super::rules::{Rules, SkipReason, Verdict};
use model::terms::RelPath;

/// The project's folder.
#[derive(Debug, Clone)]
pub(super) struct ProjectFolder {
    /// The root's canonical path.
    pub root: PathBuf,
}

impl ProjectFolder {
    /// Opens the root. It is reopened for every check and every walk: another folder may be in its place.
    pub(super) fn open(&self) -> io::Result<Root> {
        Root::open_canonical(&self.root)
    }

    /// Returns the absolute path of a path below the root, for watches and for people.
    pub(super) fn absolute(&self, path: &str) -> PathBuf {
        if path.is_empty() { self.root.clone() } else { self.root.join(path) }
    }

    /// Returns what is at a path, links followed.
    pub(super) fn meta(&self, path: &RelPath) -> Result<Meta, Error> {
        Ok(self.open()?.find(path.as_str())?.meta)
    }

    /// Returns device and inode of the root.
    pub(super) fn identity(&self) -> Option<(u64, u64)> {
        Some(self.meta(&RelPath::new("")).ok()?.id)
    }

    /// Returns whether the path itself is a symlink.
    pub(super) fn is_link(&self, path: &RelPath) -> bool {
        self.open().is_ok_and(|root| root.look(path.as_str()).is_ok_and(|meta| meta.is_link()))
    }

    /// Returns whether nothing of the project is at the path, not even a dangling symlink.
    pub(super) fn is_gone(&self, path: &RelPath) -> bool {
        let looked = self.open().map_err(Error::from).and_then(|root| root.look(path.as_str()));
        looked.is_err_and(|error| error.is_absent())
    }
}

/// Decides whether one symlink is followed. `is_within_link` says that a folder above it is itself a link.
pub(super) fn follow(rules: &Rules, found: &Found, is_within_link: bool) -> Result<(), SkipReason> {
    let is_folder = found.meta.is_folder();
    // A link to the root contains itself.
    if is_folder && found.real.is_empty() {
        return Err(SkipReason::LinkLoop);
    }
    if is_folder && is_within_link {
        return Err(SkipReason::LinkInLink);
    }
    match rules.verdict(&found.real, is_folder) {
        // The target is read under its own path.
        Verdict::Read | Verdict::Descend => Err(SkipReason::LinkedTwice),
        // A link must not open a denied file under another name.
        Verdict::Skip(reason) if reason.is_denied() => Err(reason),
        Verdict::Skip(_) => Ok(()),
    }
}

/// Applies [`follow`] to every symlink on the way to a path, the path itself included.
pub(super) fn follow_all(root: &Root, rules: &Rules, path: &str) -> Result<(), SkipReason> {
    let mut is_within_link = false;
    let ends = path.match_indices('/').map(|(slash, _)| slash).chain([path.len()]);
    for end in ends {
        let part = &path[..end];
        if root.look(part).is_ok_and(|meta| meta.is_link()) {
            let found = root.find(part).map_err(|error| reason_of(&error))?;
            follow(rules, &found, is_within_link)?;
            is_within_link = true;
        }
    }
    Ok(())
}

/// Returns why a symlink cannot be followed.
pub(super) fn reason_of(error: &Error) -> SkipReason {
    match error {
        Error::Outside => SkipReason::OutsideLink,
        error if error.is_missing() => SkipReason::DanglingLink,
        Error::Dangling => SkipReason::DanglingLink,
        _ => SkipReason::LinkLoop,
    }
}
