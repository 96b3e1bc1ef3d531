//! Links: whether a symlink is followed.
//!
//! In: the path of a symlink below the root. Out: nothing, or why it is not followed.
//! Invariants: the answer depends on the path and the files alone, not on the order of a walk, so a crawl and
//! an event agree; a chain of links cannot make a tree endless, because a link to a folder is followed once
//! only and never to a folder around it.
//! Rejected: a set of visited device and inode numbers. With it the first link in the order of one walk wins,
//! and a folder that links to its siblings still has more paths than the set can stop.
//! Not here: reading (`read.rs`), or watching what a link leads to (`events.rs`).

use std::io;
use std::path::{Path, PathBuf};

use super::read::is_missing;
use super::rules::{Rules, SkipReason, Verdict};

/// Where the project lies, and whether links may leave it.
#[derive(Debug, Clone)]
pub(super) struct Ground {
    /// The root as configured, absolute.
    pub root: PathBuf,
    /// True to follow links that lead out of the root.
    pub follows_outside: bool,
}

impl Ground {
    /// The absolute path of a path below the root.
    pub(super) fn absolute(&self, path: &str) -> PathBuf {
        if path.is_empty() { self.root.clone() } else { self.root.join(path) }
    }

    /// Judges one symlink. `is_within_link` says that a folder around it is itself a link.
    pub(super) fn follow(
        &self,
        rules: &Rules,
        path: &str,
        is_within_link: bool,
    ) -> Result<(), SkipReason> {
        let target = self.absolute(path).canonicalize().map_err(|error| reason_of(&error))?;
        let root = self.root.canonicalize().map_err(|error| reason_of(&error))?;
        let is_dir = target.is_dir();
        if is_dir && root.starts_with(&target) {
            return Err(SkipReason::LinkLoop);
        }
        if is_dir && is_within_link {
            return Err(SkipReason::LinkInLink);
        }
        match target.strip_prefix(&root) {
            Ok(inside) if is_read(rules, inside, is_dir) => Err(SkipReason::LinkedTwice),
            Ok(_) => Ok(()),
            Err(_) if self.follows_outside => Ok(()),
            Err(_) => Err(SkipReason::OutsideLink),
        }
    }

    /// Judges every symlink on the way to a path, the path itself included.
    pub(super) fn follow_all(&self, rules: &Rules, path: &str) -> Result<(), SkipReason> {
        let mut is_within_link = false;
        let ends = path.match_indices('/').map(|(slash, _)| slash).chain([path.len()]);
        for end in ends {
            let part = &path[..end];
            if is_link(&self.absolute(part)) {
                self.follow(rules, part, is_within_link)?;
                is_within_link = true;
            }
        }
        Ok(())
    }
}

/// True when the path itself is a symlink.
pub(super) fn is_link(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|metadata| metadata.is_symlink())
}

fn is_read(rules: &Rules, inside: &Path, is_dir: bool) -> bool {
    let Some(inside) = inside.to_str() else { return false };
    match rules.verdict(inside, is_dir) {
        Verdict::Read => !is_dir,
        Verdict::Descend => is_dir,
        Verdict::Skip(_) => false,
    }
}

fn reason_of(error: &io::Error) -> SkipReason {
    if is_missing(error) { SkipReason::DanglingLink } else { SkipReason::LinkLoop }
}
