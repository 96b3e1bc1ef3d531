//! Upkeep: replaces the old index with a complete new one, rebuilds an index that is damaged or
//! deleted, and stops writes when the ledger is lost.
//!
//! In: a running project. Out: nothing; it runs in the background.
//! Invariant: readers see one index or the other, never a file that is being replaced.

use std::sync::{Arc, Weak};
use std::time::Duration;

use super::Project;
use engine::write::Command;
use index::store::{Part, Seen, Trouble, damage_of};

/// Longest wait for a settled build, before this checks whether the project still exists.
const PATIENCE: Duration = Duration::from_secs(60);

/// Pause before another attempt to replace a file that readers keep open.
const REST: Duration = Duration::from_secs(1);

/// Starts the upkeep; it ends with the project.
pub(super) fn begin(project: &Arc<Project>) {
    let leftover = project.recipe.state_dir.join(super::verify::FOLDER);
    // Left by a verification that a crash cut short.
    let _ = std::fs::remove_dir_all(leftover);
    tokio::spawn(replace_when_whole(Arc::downgrade(project)));
    tokio::spawn(look_over(Arc::downgrade(project)));
    tokio::spawn(look_at_files(Arc::downgrade(project)));
}

async fn replace_when_whole(project: Weak<Project>) {
    loop {
        let Some(project) = project.upgrade() else { return };
        if !project.is_being_replaced() {
            return;
        }
        let build = &project.build;
        if !build.wait_until(PATIENCE, || build.settled().resolved).await {
            if project.is_poisoned().is_some() || project.activity.is_stopping() {
                return;
            }
            continue;
        }
        match project.take_place().await {
            Ok(()) => tracing::info!("the new index is complete and now answers"),
            Err(why) => {
                tracing::warn!(why, "the new index could not take its place yet");
                tokio::time::sleep(REST).await;
            }
        }
    }
}

impl Project {
    /// Makes the build's index the one that answers.
    async fn take_place(&self) -> Result<(), String> {
        let _alone = self.upkeep.lock().await;
        let (old, new) = (self.answers.load_full(), self.build.readers.clone());
        self.command(|reply| {
            // Both sets of readers are shut out while the files are swapped.
            let replacement = move |writer: &mut index::store::IndexWriter| {
                old.alone(|| {
                    let live =
                        new.alone(|| writer.take_place().map(|live| (live.clone(), live)))?;
                    Ok((live, ()))
                })
            };
            Command::Replace(Box::new(replacement), reply)
        })
        .await?;
        self.answers.store(self.build.readers.clone());
        self.build.health.changed();
        Ok(())
    }

    /// Reports that a read failed inside; the index is then checked for damage in the background.
    pub fn suspect(&self) {
        self.suspicion.notify_one();
    }
}

/// Interval between checks of the database files, which are a few calls of `stat`.
const LOOK_EVERY: Duration = Duration::from_secs(2);

/// How long this task holds the project before it checks whether others still do.
const LET_GO: Duration = Duration::from_secs(10);

/// Pause between a settled start and the first check of the index, which reads all of it: that takes longer than the
/// start and its first answers.
const FIRST_LOOK: Duration = Duration::from_secs(10);

/// Checks the index some seconds after everything has settled at the start, and whenever a read failed.
async fn look_over(project: Weak<Project>) {
    let mut is_first = true;
    loop {
        let Some(strong) = project.upgrade() else { return };
        let activity = strong.activity.clone();
        if is_first {
            let build = &strong.build;
            let settled = build.wait_until(PATIENCE, || build.settled().resolved).await;
            is_first = !settled && !activity.is_stopping();
            if is_first {
                continue;
            }
            let rest = sys::fail::number("look.rest_ms").map_or(FIRST_LOOK, Duration::from_millis);
            tokio::select! {
                () = strong.suspicion.notified() => {}
                () = tokio::time::sleep(rest) => {}
                () = activity.stop_requested() => return,
            }
        } else {
            let suspicion = strong.suspicion.notified();
            tokio::select! {
                () = suspicion => {}
                () = tokio::time::sleep(LET_GO) => continue,
                () = activity.stop_requested() => return,
            }
        }
        if activity.is_stopping() {
            return;
        }
        if let Some(why) = strong.damage().await {
            strong.mend(why).await;
        }
    }
}

/// Notices databases that another program deleted, replaced or truncated.
async fn look_at_files(project: Weak<Project>) {
    loop {
        tokio::time::sleep(LOOK_EVERY).await;
        let Some(project) = project.upgrade() else { return };
        if project.activity.is_stopping() || project.is_poisoned().is_some() {
            return;
        }
        project.mend_files().await;
    }
}

impl Project {
    async fn mend_files(&self) {
        let held = &self.build.held;
        let seen =
            [Part::Ledger, Part::Index, Part::Vectors].map(|part| (part, held.look_on(part)));
        // During a replacement, `held` is the new index; the old one that still answers is checked by its path.
        let is_gone = self.is_being_replaced() && !self.answers.load().path().exists();
        // The folder first: everything recreated below needs it.
        if is_gone || seen.iter().any(|(_, seen)| matches!(seen, Seen::Lost(_))) {
            self.make_state_folder();
        }
        if is_gone {
            self.mend("its file was deleted while the daemon ran".into()).await;
        }
        for (part, seen) in seen {
            match (part, seen) {
                (_, Seen::Same) => {}
                (Part::Ledger, Seen::Shorter) => self.check_ledger().await,
                (Part::Index, Seen::Shorter) => self.mend_if_cut().await,
                // Left to the scrub, which checks the tables of the vectors.
                (Part::Vectors, Seen::Shorter) => {}
                (Part::Ledger, Seen::Lost(_)) => {
                    if let Err(why) = self.command(Command::HeedLedger).await {
                        tracing::error!(why, "the missing ledger cannot be replaced yet");
                    }
                }
                (Part::Index, Seen::Lost(why)) => self.mend(why).await,
                (Part::Vectors, Seen::Lost(why)) => self.begin_vectors_again(why),
            }
        }
    }

    /// Checks whether a shorter file was truncated. SQLite shrinks its files, too; the rest then
    /// still holds all pages.
    async fn mend_if_cut(&self) {
        let readers = self.build.readers.clone();
        let is_cut = move || {
            let Ok(n_bytes) = readers.look(|index| index.n_bytes()) else { return true };
            let len = |path: std::path::PathBuf| path.metadata().map_or(0, |it| it.len() as i64);
            let path = readers.path();
            let mut log = path.clone().into_os_string();
            log.push("-wal");
            // A frame of the log is one page plus a header, so this never takes an intact file for a cut one.
            n_bytes > len(path) + len(log.into())
        };
        if tokio::task::spawn_blocking(is_cut).await.unwrap_or(false) {
            self.mend("its file was cut".into()).await;
        }
    }

    fn make_state_folder(&self) {
        let folder = &self.state_dir;
        if folder.exists() {
            return;
        }
        match config::place::create_private_dir(folder) {
            Ok(()) => {
                let what = format!("`{}` was deleted; it is made again", folder.display());
                self.build.health.mended("state folder", what);
            }
            Err(error) => tracing::error!(%error, "cannot recreate the state folder"),
        }
    }

    /// Stops the daemon if the ledger is damaged, as a start would refuse it.
    pub(super) async fn check_ledger(&self) {
        if let Err(why) = self.command(Command::CheckLedger).await {
            tracing::warn!(why, "the ledger could not be checked");
        }
    }

    /// Starts the better vectors over, because their file is gone or damaged.
    pub(super) fn begin_vectors_again(&self, why: String) {
        match self.build.backfill_again(&self.recipe) {
            Ok(()) => self.build.health.mended("vectors", format!("{why}; they are made again")),
            Err(error) => tracing::warn!(%error, "the better vectors cannot be made again yet"),
        }
    }

    /// Returns what is wrong with the file that answers, if anything.
    async fn damage(&self) -> Option<String> {
        let path = self.answers.load().path();
        let checked = tokio::task::spawn_blocking(move || damage_of(&path)).await;
        match checked {
            Ok(Ok(damage)) => damage,
            Ok(Err(error)) if error.trouble() == Trouble::Corrupt => Some(error.to_string()),
            Ok(Err(error)) => {
                tracing::warn!(%error, "cannot check the index");
                None
            }
            Err(_) => None,
        }
    }

    pub(super) async fn mend(&self, why: String) {
        let _alone = self.upkeep.lock().await;
        if self.is_being_replaced() {
            // The damaged index is about to be replaced anyway; the new one answers from now on, as far as it is
            // complete.
            tracing::error!(why, "the old index is damaged; the new one now answers");
            self.answers.store(self.build.readers.clone());
            return;
        }
        if let Err(why) = self.command(|reply| Command::BeginAgain(why, reply)).await {
            tracing::error!(why, "the damaged index could not be replaced");
        }
    }
}
