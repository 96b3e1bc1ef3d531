//! Indexing: puts files ahead of any backlog and waits until the index shows them.
//!
//! In: paths of files that were just saved, written or removed. Out: the outcome for each, once it is committed.
//! Invariants: the caller finds what it wrote once this returns; it waits for commits, not for the work that they
//! cause; quarantine ends the wait with its reason, and so does the deadline of the call (`errand.rs`).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::time::{Instant, timeout};

use super::Project;
use crate::errand::until;
use engine::watch::{SkipReason, Submitted};
use index::store::Stall;
use model::terms::{ContentHash, Generation, RelPath};

/// Longest wait for submitted files, where no caller's deadline is nearer.
pub const LONGEST: Duration = Duration::from_secs(600);

/// Files submitted together between two progress reports, as many as one commit takes.
const GROUP: usize = 64;

/// The outcome of files.
#[derive(Debug, Default)]
pub struct Indexed {
    /// Those that were committed.
    pub ingested: BTreeSet<RelPath>,
    /// Those that failed, with stage and reason.
    pub failed: BTreeMap<RelPath, (String, String)>,
}

impl Indexed {
    fn is_late(&mut self, path: &RelPath) {
        self.failed.insert(path.clone(), ("write".into(), "not committed in time".into()));
    }
}

/// Returns how long the current call may still wait.
fn time_left() -> Duration {
    until().map_or(LONGEST, |until| until.saturating_duration_since(Instant::now()))
}

impl Project {
    /// Returns true while changes made without a running daemon may be missing from the index that answers.
    pub fn is_catching_up(&self) -> bool {
        if self.has_caught_up.load(Ordering::Relaxed) {
            return false;
        }
        // The previous index answers during a replacement, so waiting would not help.
        let has_caught_up = self.settled().searchable || self.is_being_replaced();
        self.has_caught_up.fetch_or(has_caught_up, Ordering::Relaxed);
        !has_caught_up
    }

    /// Indexes files now, including deleted ones. `report` receives the number of files done.
    ///
    /// # Errors
    /// When the writer was blocked for half of a request's deadline; the files are committed when it recovers.
    pub async fn index_now(
        &self,
        files: &[RelPath],
        is_forced: bool,
        report: &(dyn Fn(usize) + Sync),
    ) -> Result<Indexed, Stall> {
        let mut indexed = Indexed::default();
        report(0);
        for (i, group) in files.chunks(GROUP).enumerate() {
            // A full belt is waited for here; what was submitted reaches it all the same.
            let Ok(submitted) = timeout(time_left(), self.submit(group, is_forced)).await else {
                group.iter().for_each(|path| indexed.is_late(path));
                continue;
            };
            for (n, (path, what)) in group.iter().zip(submitted).enumerate() {
                self.note(path, what, &mut indexed).await?;
                report(i * GROUP + n + 1);
            }
        }
        Ok(indexed)
    }

    /// Records the outcome of a submitted file; waits for it if it is on the belt.
    async fn note(
        &self,
        path: &RelPath,
        what: Submitted,
        indexed: &mut Indexed,
    ) -> Result<(), Stall> {
        match what {
            Submitted::Sent(generation) => self.settle(path, generation, indexed).await?,
            Submitted::Faulted(_, fault) => {
                indexed.failed.insert(path.clone(), (fault.stage.into(), fault.reason));
            }
            Submitted::Held => {
                let why = "the project's folder is missing, or another one".to_string();
                indexed.failed.insert(path.clone(), ("watch".into(), why));
            }
            Submitted::Stopped => {
                let reason = "the daemon is stopping".to_string();
                indexed.failed.insert(path.clone(), ("watch".into(), reason));
            }
            Submitted::Skipped(SkipReason::Missing) => self.forget(path, indexed).await?,
            Submitted::Skipped(reason) => {
                // The reply says why a file that was asked for by name is not read, and what would have it read.
                let remedy = || Some(format!("not read: {reason}; hint: {}", reason.remedy()?));
                if let Some(why) = reason.refusal().map(String::from).or_else(remedy) {
                    indexed.failed.insert(path.clone(), ("watch".into(), why));
                }
            }
            Submitted::Unchanged => {}
        }
        Ok(())
    }

    /// Submits files. One that an event or a crawl sent already, but that the index does not show yet, is sent again
    /// ahead of its backlog: the caller must find it when this returns.
    async fn submit(&self, files: &[RelPath], is_forced: bool) -> Vec<Submitted> {
        let mut submitted = self.watcher().submit(files.to_vec(), is_forced).await;
        for (path, what) in files.iter().zip(&mut submitted) {
            if matches!(what, Submitted::Unchanged) && !self.is_indexed(path).await {
                let again = self.watcher().submit(vec![path.clone()], true).await;
                *what = again.into_iter().next().unwrap_or(Submitted::Stopped);
            }
        }
        submitted
    }

    /// Returns true when the index holds the file's present bytes.
    async fn is_indexed(&self, path: &RelPath) -> bool {
        if self.settled().searchable {
            // Everything that was sent is committed.
            return true;
        }
        let (root, path) = (self.opened_root(), path.to_string());
        // Errors count as indexed: sending the file again would not cure them.
        let Ok(snapshot) = self.snapshot() else { return true };
        let compared = tokio::task::spawn_blocking(move || {
            let read = root.ok().and_then(|root| root.read(&path, u64::MAX).ok()?);
            let Some(file) = read else { return true };
            let known = snapshot.files().at(&path).ok().flatten();
            known.is_some_and(|known| known.hash == ContentHash::of(&file.bytes))
        });
        compared.await.unwrap_or(true)
    }

    /// Waits until a deleted file is gone from the index: its event may have arrived before this call.
    async fn forget(&self, path: &RelPath, indexed: &mut Indexed) -> Result<(), Stall> {
        let is_gone = |project: &Project| {
            let Ok(snapshot) = project.snapshot() else { return true };
            snapshot.documents().at(path.as_str()).is_ok_and(|doc| doc.is_none())
        };
        if !self.reached(is_gone).await? {
            indexed.is_late(path);
        }
        Ok(())
    }

    /// Waits for the commit of one item and records its outcome.
    ///
    /// # Errors
    /// When the writer was blocked for half of a request's deadline; it is committed when it recovers.
    pub async fn settle(
        &self,
        path: &RelPath,
        generation: Generation,
        indexed: &mut Indexed,
    ) -> Result<(), Stall> {
        let mut fault = None;
        let reached = self
            .reached(|project| match project.health().outcome(path) {
                Some((committed, what)) if committed >= generation => {
                    fault = what;
                    true
                }
                _ => false,
            })
            .await?;
        match (reached, fault) {
            (true, None) => {
                indexed.ingested.insert(path.clone());
            }
            (true, Some(text)) => {
                let (stage, reason) = text.split_once(": ").unwrap_or(("write", &text));
                indexed.failed.insert(path.clone(), (stage.into(), reason.into()));
            }
            (false, _) => indexed.is_late(path),
        }
        Ok(())
    }

    /// Waits until `is_so` holds; returns false when the call has no time left.
    async fn reached(&self, mut is_so: impl FnMut(&Project) -> bool) -> Result<bool, Stall> {
        // Half of the request's deadline: the stall may begin when part of it is used up.
        let patience = Duration::from_millis(self.settings.serve.request_deadline_ms / 2);
        let mut stall = None;
        let reached = self
            .wait_until(time_left(), |project| {
                if is_so(project) {
                    return true;
                }
                let now = project.health().stalled();
                stall = now.filter(|(_, since)| since.elapsed() >= patience);
                stall.is_some()
            })
            .await;
        match stall {
            Some((stall, _)) => Err(stall),
            None => Ok(reached),
        }
    }
}
