//! Origin: finds, by content, which known document a file was before.
//!
//! In: a path whose file has just been read. Out: the previous path of its document, if nothing is there any more.
//! Events join the halves of most renames; this finds the others: a move while the daemon was not running, a move
//! from one file system to another, two files that changed places.
//! Invariants: only one file claims a vanished document (ties by path), so the second of two copies is a document of
//! its own; a document still at its path with its content is never an origin. A claim is not a pending path: it
//! outlives the check that made it, so that later checks find the same previous path until the index holds the move.

use std::sync::Mutex;

use rustc_hash::FxHashMap;

use super::intake::Intake;
use super::path_state::PathState;
use super::pending::Check;
use super::sent::{KnownFile, KnownFiles};
use super::state::lock;
use model::terms::{ContentHash, RelPath};

/// Claims kept before outdated ones are dropped.
const MOST_CLAIMS: usize = 1_024;

/// Most renames of one file in a row that are followed: two names may lead to each other.
const MOST_NAMES: usize = 16;

/// The previous place of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Origin {
    /// Its previous path.
    pub from: RelPath,
    /// True if the document of the new path is there now.
    pub is_exchange: bool,
}

/// Vanished documents that were found again: old path and new path.
#[derive(Debug, Default)]
pub(super) struct Claims(Mutex<Claimed>);

#[derive(Debug, Default)]
struct Claimed {
    by_old_path: FxHashMap<RelPath, RelPath>,
    /// The inverse map.
    by_new_path: FxHashMap<RelPath, RelPath>,
    /// Number of claims left by the last sweep.
    n_needed: usize,
}

impl Claims {
    /// Claims the document that was at `from`; returns false if another file has claimed it.
    fn claim(&self, from: &RelPath, path: &RelPath) -> bool {
        let mut claimed = lock(&self.0);
        let owner = claimed.by_old_path.entry(from.clone()).or_insert_with(|| path.clone());
        let is_ours = owner == path;
        if is_ours {
            claimed.by_new_path.insert(path.clone(), from.clone());
        }
        is_ours
    }

    /// Returns the names that the file at a path had before, the first one first.
    pub(super) fn names_before(&self, path: &RelPath) -> Vec<RelPath> {
        let claimed = lock(&self.0);
        let before = |path: &RelPath| claimed.by_new_path.get(path).cloned();
        let names = std::iter::successors(before(path), before).take(MOST_NAMES);
        names.collect::<Vec<_>>().into_iter().rev().collect()
    }

    /// Claims the document for the file that the system reported, overriding earlier claims.
    pub(super) fn assign(&self, from: &RelPath, path: &RelPath) {
        let mut claimed = lock(&self.0);
        claimed.by_old_path.insert(from.clone(), path.clone());
        claimed.by_new_path.insert(path.clone(), from.clone());
    }

    /// Drops the claim on a path, because there is a file again.
    pub(super) fn release(&self, path: &RelPath) {
        let mut claimed = lock(&self.0);
        if let Some(new) = claimed.by_old_path.remove(path) {
            claimed.by_new_path.remove(&new);
        }
    }

    /// Drops claims on paths that are no longer known. Cheap on average: it runs only when the claims have doubled.
    fn sweep(&self, known: &dyn KnownFiles) {
        let mut claimed = lock(&self.0);
        if claimed.by_old_path.len() < MOST_CLAIMS.max(claimed.n_needed * 2) {
            return;
        }
        claimed.by_old_path.retain(|from, _| known.get(from).is_some());
        claimed.by_new_path.retain(|_, from| known.get(from).is_some());
        claimed.n_needed = claimed.by_old_path.len();
    }
}

impl Intake {
    /// Returns the previous place of the document that is now at the asked path, if its content is not the expected
    /// one.
    pub(super) fn origin(
        &self,
        check: &Check,
        hash: ContentHash,
        state: PathState,
    ) -> Option<Origin> {
        self.claims.release(&check.path);
        let before = match state {
            PathState::Present(before) if before.hash == hash => return None,
            PathState::Present(before) => Some(before),
            _ => None,
        };
        // Of the names that it had, the first of which the index knows: a tool, or the item that this one overtakes,
        // may have taken it part of the way. An old name that is in use again has not moved away.
        let names = self.claims.names_before(&check.path);
        let known = names
            .iter()
            .find(|from| self.sent.known.get(from).is_some() && self.project_folder.is_gone(from));
        let from =
            known.or(check.moved_from.as_ref().filter(|from| self.project_folder.is_gone(from)));
        if let Some(from) = from {
            self.claims.assign(from, &check.path);
            self.claims.sweep(&*self.sent.known);
            return Some(Origin { from: from.clone(), is_exchange: false });
        }
        let equal: Vec<RelPath> = self
            .sent
            .known
            .paths_with(hash)
            .into_iter()
            .filter(|from| *from != check.path)
            .collect();
        let is_origin = |from: &&RelPath| {
            let was = self.sent.state_of(from);
            let is_unchanged = matches!(was, PathState::Present(file) if file.hash == hash);
            // The removal may be on the belt already, or the index be lost; but a document that would replace another
            // one must still be in the index.
            let is_going =
                matches!(was, PathState::Absent | PathState::Unknown) && before.is_none();
            (is_unchanged || is_going)
                && self.project_folder.is_gone(from)
                && self.claims.claim(from, &check.path)
        };
        if let Some(from) = equal.iter().find(is_origin) {
            self.claims.sweep(&*self.sent.known);
            return Some(Origin { from: from.clone(), is_exchange: false });
        }
        // Two files changed places if each now has the other's content.
        let before = before?;
        let traded = |from: &&RelPath| {
            let was = self.sent.state_of(from);
            matches!(was, PathState::Present(file) if file.hash == hash)
                && self.holds(from, &before)
        };
        let from = equal.iter().find(traded)?;
        Some(Origin { from: from.clone(), is_exchange: true })
    }

    /// Returns whether the file at `path` has this content now.
    fn holds(&self, path: &RelPath, content: &KnownFile) -> bool {
        let Ok(root) = self.project_folder.open() else { return false };
        match root.find(path.as_str()) {
            // Files of another size need not be read.
            Ok(found) if found.meta.n_bytes == content.n_bytes => {
                let read = found.read(content.n_bytes);
                read.ok().flatten().is_some_and(|file| {
                    !file.is_cut && ContentHash::of(&file.bytes) == content.hash
                })
            }
            _ => false,
        }
    }
}
