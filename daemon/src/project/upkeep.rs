//! Upkeep: an index that was built beside the old one takes its place when it is whole; a damaged one is built again.
//!
//! In: a project that runs. Out: nothing anybody waits for.
//! Invariant: readers see one index or the other, never a file that is being replaced.
//! Not here: how files change places (`store/replace.rs`), or proving an index (`verify.rs`).

use std::path::Path;
use std::sync::{Arc, Weak};
use std::time::Duration;

use super::Project;
use crate::pipeline::write::Command;
use crate::store::{StoreError, Trouble};

/// How long one wait for a settled build lasts before the project is looked for again.
const PATIENCE: Duration = Duration::from_secs(60);

/// A rest between two attempts to replace a file that readers did not let go of.
const REST: Duration = Duration::from_secs(1);

/// Starts the upkeep; it ends with the project.
pub(super) fn begin(project: &Arc<Project>) {
    let leftover = project.recipe.state_dir.join(super::verify::FOLDER);
    // A verification that a crash cut short.
    let _ = std::fs::remove_dir_all(leftover);
    tokio::spawn(replace_when_whole(Arc::downgrade(project)));
    tokio::spawn(look_over(Arc::downgrade(project)));
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
            Ok(()) => tracing::info!("the new index is whole and answers from now on"),
            Err(why) => {
                tracing::warn!(why, "the new index could not take its place yet");
                tokio::time::sleep(REST).await;
            }
        }
    }
}

impl Project {
    /// The build's index takes the place of the one that has answered so far.
    async fn take_place(&self) -> Result<(), String> {
        let _alone = self.upkeep.lock().await;
        let (old, new) = (self.answers.load_full(), self.build.readers.clone());
        self.command(|reply| {
            let replacement = move |writer: &mut crate::store::IndexWriter| {
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

    /// A read failed inside: the index may be damaged. It is looked over, beside everything else.
    pub fn suspect(&self) {
        self.suspicion.notify_one();
    }
}

/// How often it is made sure that the index is still where it was.
const LOOK_EVERY: Duration = Duration::from_secs(10);

/// Looks the index over once everything is settled after the start, and whenever a read has failed; now and then,
/// whether somebody has deleted it.
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
        } else {
            tokio::select! {
                () = strong.suspicion.notified() => {}
                () = tokio::time::sleep(LOOK_EVERY), if strong.is_there() => continue,
                () = activity.stop_requested() => return,
            }
        }
        if activity.is_stopping() {
            return;
        }
        let damage = match strong.is_there() {
            true => strong.damage().await,
            false => Some("its file is gone".to_string()),
        };
        if let Some(why) = damage {
            strong.mend(why).await;
        }
    }
}

impl Project {
    /// True unless somebody has deleted the file that answers.
    fn is_there(&self) -> bool {
        self.answers.load().path().exists()
    }

    /// What is wrong with the file that answers, if anything is.
    async fn damage(&self) -> Option<String> {
        let path = self.answers.load().path();
        let checked = tokio::task::spawn_blocking(move || damage_of(&path)).await;
        match checked {
            Ok(Ok(damage)) => damage,
            Ok(Err(error)) if error.trouble() == Trouble::Corrupt => Some(error.to_string()),
            Ok(Err(error)) => {
                tracing::warn!(%error, "the index could not be looked over");
                None
            }
            Err(_) => None,
        }
    }

    pub(super) async fn mend(&self, why: String) {
        let _alone = self.upkeep.lock().await;
        if self.is_being_replaced() {
            // The one that is damaged is on its way out; the new one answers as far as it is.
            tracing::error!(why, "the index before is damaged; the new one answers from now on");
            self.answers.store(self.build.readers.clone());
            return;
        }
        if let Err(why) = self.command(|reply| Command::BeginAgain(why, reply)).await {
            tracing::error!(why, "the damaged index could not be replaced");
        }
    }
}

fn damage_of(path: &Path) -> Result<Option<String>, StoreError> {
    let db = crate::store::open_for_reading(path)?;
    let says: String = db.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
    Ok((says != "ok").then_some(says))
}
