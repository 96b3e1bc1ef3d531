//! Verify: proves that the index equals the folder, by building a second one from nothing and comparing row by row.
//!
//! In: a settled project. Out: the number of rows of each part that differ, and the first of them; on request the
//! rebuilt index replaces the live one.
//! Invariants: the live index keeps answering; the folder is only read; whatever happens, the second index and its
//! files are deleted afterwards, or have become the live ones.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tokio::sync::OwnedMutexGuard;

use super::Project;
use engine::Recipe;
use engine::build::Build;
use engine::write::Command;
use index::store::canon;
use index::store::canon::PartDiff;
use index::store::{IndexWriter, StoreError, copy_ledger};
use model::terms::Tick;
use sys::crew;

/// Where the second index is built, in the state directory.
pub(super) const FOLDER: &str = "verify";

/// How often the comparison is repeated when the folder changes during it.
const MAX_ROUNDS: u32 = 10;

/// Longest time either index may take to settle.
const PATIENCE: Duration = Duration::from_secs(6 * 3600);

/// Longest time for the second belt to close.
const CLOSE_WITHIN: Duration = Duration::from_secs(10);

/// How often deletion of the second index is tried.
const MAX_REMOVALS: u32 = 10;

/// Unreadable paths named in an error.
const MAX_NAMED: usize = 5;

/// The result of a verification.
#[derive(Debug, Clone, Default)]
pub struct Verification {
    /// True when the live index equals a rebuild.
    pub is_same: bool,
    /// True when the rebuilt index replaced it.
    pub is_repaired: bool,
    /// Every part, in the order of comparison.
    pub parts: Vec<PartDiff>,
    /// Duration of the verification.
    pub took: Duration,
}

/// Why nothing could be proved.
#[derive(Debug, thiserror::Error)]
pub enum VerifyError {
    /// Only one verification runs at a time.
    #[error("another verification runs, or the index is being replaced")]
    Busy,
    /// A file of the index cannot be read now, so a rebuild would miss it.
    #[error("{n} indexed files cannot be read now, such as {names}: a rebuild would miss them")]
    Unreadable {
        /// How many.
        n: u64,
        /// The first few.
        names: String,
    },
    /// The folder changes faster than it can be compared.
    #[error("the folder changed in each of {MAX_ROUNDS} comparisons")]
    Restless,
    /// An index did not settle.
    #[error("{0}")]
    Unsettled(String),
    /// A database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The second index could not be built.
    #[error("the second index could not be built: {0}")]
    Build(#[from] anyhow::Error),
}

/// The files of the second index; deleted on drop.
struct Scratch(PathBuf);

impl Scratch {
    fn make(state_dir: &Path) -> std::io::Result<Self> {
        let folder = state_dir.join(FOLDER);
        let scratch = Scratch(folder.clone());
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir(&folder)?;
        Ok(scratch)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // A comparison whose caller is gone may still create a file during the deletion.
        for _ in 0..MAX_REMOVALS {
            match std::fs::remove_dir_all(&self.0) {
                Err(error) if error.kind() == std::io::ErrorKind::DirectoryNotEmpty => {}
                _ => return,
            }
        }
    }
}

/// The second index: its build, its files, and the lock that makes it the only one. The caller of `verify` may go away
/// at any moment; dropping this then ends the build and deletes its files.
struct Second(Option<(Build, Scratch, OwnedMutexGuard<()>)>);

impl Second {
    async fn start(recipe: &Recipe, alone: OwnedMutexGuard<()>) -> Result<Self, VerifyError> {
        let recipe = recipe.clone();
        // A task of its own: if the caller were cancelled during the start, nobody would end the belt.
        let starting = tokio::spawn(async move {
            let scratch = Scratch::make(&recipe.state_dir).map_err(anyhow::Error::from)?;
            copy_ledger(&recipe.state_dir, &scratch.0)?;
            let build = Build::start(second_recipe(&recipe, &scratch.0)).await?;
            Ok::<_, VerifyError>(Second(Some((build, scratch, alone))))
        });
        starting.await.map_err(anyhow::Error::from)?
    }

    fn build(&self) -> Result<&Build, VerifyError> {
        self.0.as_ref().map(|(build, ..)| build).ok_or(VerifyError::Busy)
    }

    /// Closes the build; keeps its files.
    async fn end(mut self) -> Result<(OwnedMutexGuard<()>, Scratch), VerifyError> {
        let (build, scratch, alone) = self.0.take().ok_or(VerifyError::Busy)?;
        build.drain(CLOSE_WITHIN).await;
        drop(build);
        // The scratch drops before the lock: the files are deleted before another verification may begin.
        Ok((alone, scratch))
    }
}

impl Drop for Second {
    fn drop(&mut self) {
        let Some((build, scratch, alone)) = self.0.take() else { return };
        tokio::spawn(async move {
            build.drain(CLOSE_WITHIN).await;
            drop((build, scratch, alone));
        });
    }
}

impl Project {
    /// Builds a second index and compares; `progress` receives the progress, in documents. With `repair`, an index that
    /// differs is replaced. At most `limit` rows are kept of each side and part.
    ///
    /// # Errors
    /// See [`VerifyError`]. Nothing has changed then.
    pub async fn verify(
        &self,
        repair: bool,
        limit: usize,
        progress: impl Fn(u64, u64, &str),
    ) -> Result<Verification, VerifyError> {
        let started = Instant::now();
        // After an upgrade, the new index is verified, not the one that still answers.
        let is_new = || !self.is_being_replaced() || self.build.health.stalled().is_some();
        if self.is_being_replaced() {
            progress(0, 0, "waiting for the new index");
            self.build.wait_until(PATIENCE, is_new).await;
        }
        // The index may be replaced between the wait and the lock, hence the second check below.
        let alone = self.upkeep.clone().try_lock_owned().map_err(|_| VerifyError::Busy)?;
        if self.is_being_replaced() {
            return Err(VerifyError::Busy);
        }
        self.settle_live(&progress).await?;
        self.all_readable()?;
        // The folder's settings may have been reloaded since the start.
        let mut recipe = self.recipe.clone();
        recipe.settings.watch = self.settings.watch.clone();
        let second = Second::start(&recipe, alone).await?;
        let (parts, tick) = self.compare_until_still(second.build()?, limit, &progress).await?;
        let (_alone, scratch) = second.end().await?;
        let mut found = Verification { parts, ..Verification::default() };
        found.is_same = found.parts.iter().all(|part| part.n_differing == 0);
        if repair && !found.is_same {
            self.adopt(&scratch.0, tick).await?;
            found.is_repaired = true;
        }
        found.took = started.elapsed();
        Ok(found)
    }

    async fn settle_live(&self, progress: &impl Fn(u64, u64, &str)) -> Result<(), VerifyError> {
        progress(0, self.build.watcher.state().n_known_files(), "waiting for the index to settle");
        let build = &self.build;
        let is_done = || build.settled().deep || build.health.stalled().is_some();
        let is_compared = build.watcher.rescan().await;
        if !is_compared || !build.wait_until(PATIENCE, is_done).await || !build.settled().deep {
            let why = build.health.stalled().map(|(stall, _)| format!(": {}", stall.why));
            let why = format!("the index does not settle{}", why.unwrap_or_default());
            return Err(VerifyError::Unsettled(why));
        }
        // A paused pass counts as settled, but what it has not read would differ from a rebuild.
        let deep = build.health.deep();
        if deep.is_paused && deep.left.0 > 0 {
            let why = "the deep pass is paused\nhint: `kgctl deep --resume` lets it go on";
            return Err(VerifyError::Unsettled(why.into()));
        }
        Ok(())
    }

    /// Fails if an indexed file cannot be read now: the live index keeps it, a rebuild cannot have it.
    fn all_readable(&self) -> Result<(), VerifyError> {
        let hidden: Vec<String> =
            self.build.watcher.state().view().unreadable.into_keys().collect();
        let paths = self.build.readers.look(|index| index.files().failing_or_at(&hidden))?;
        if !paths.is_empty() {
            let names = paths.iter().take(MAX_NAMED).map(|path| format!("`{path}`"));
            let names = names.collect::<Vec<_>>().join(", ");
            return Err(VerifyError::Unreadable { n: paths.len() as u64, names });
        }
        Ok(())
    }

    /// Compares until neither index changed during a comparison. Also returns the tick of the live one.
    async fn compare_until_still(
        &self,
        second: &Build,
        limit: usize,
        progress: &impl Fn(u64, u64, &str),
    ) -> Result<(Vec<PartDiff>, Tick), VerifyError> {
        for _ in 0..MAX_ROUNDS {
            // A change before the second index has read everything shows in it; a later one moves the live tick, which
            // is therefore compared from before that reading to after the comparison.
            self.settle_live(&|_, _, _| {}).await?;
            let ticks = || (self.build.health.tick(), second.health.tick());
            let live_before = ticks().0;
            settle_second(second, progress).await?;
            self.settle_live(&|_, _, _| {}).await?;
            let before = ticks();
            if before.0 != live_before {
                continue;
            }
            let (live, rebuilt) = (self.build.readers.path(), second.readers.path());
            progress(0, 0, "comparing");
            let ledger = self.recipe.state_dir.clone();
            let compared =
                crew::comparing().run(move || canon::compare(&live, &rebuilt, &ledger, limit));
            let parts = compared.await.map_err(|error| anyhow::anyhow!("{error}"))??;
            let is_settled = ticks() == before && self.build.settled().deep;
            if is_settled {
                return Ok((parts, before.0));
            }
        }
        Err(VerifyError::Restless)
    }

    /// Replaces the live index by the rebuilt one, unless the live one has changed since the comparison.
    async fn adopt(&self, scratch: &Path, tick: Tick) -> Result<(), VerifyError> {
        let (readers, rebuilt) = (self.build.readers.clone(), scratch.join("index.sqlite"));
        self.command(|reply| {
            let replacement = move |writer: &mut IndexWriter| {
                // On the writer's thread, so no commit can come between this check and the swap.
                if writer.tick() != tick {
                    return Err(StoreError::Moved);
                }
                readers.alone(|| Ok((writer.adopt(&rebuilt, true)?, ())))
            };
            Command::Replace(Box::new(replacement), reply)
        })
        .await
        .map_err(VerifyError::Unsettled)?;
        // Files may have changed since the second index read them.
        self.build.watcher.read_all_again();
        Ok(())
    }
}

async fn settle_second(
    second: &Build,
    progress: &impl Fn(u64, u64, &str),
) -> Result<(), VerifyError> {
    let failed = || {
        let stall = || second.health.stalled().map(|(stall, _)| stall.why);
        let why = second.health.poisoned().or_else(stall);
        let why = why.unwrap_or_else(|| "it does not settle".into());
        VerifyError::Unsettled(format!("the second index: {why}"))
    };
    if !second.watcher.rescan().await {
        return Err(failed());
    }
    let mut last = 0;
    let settled = second
        .wait_until(PATIENCE, || {
            let known = second.watcher.state().n_known_files();
            // Reported only when the count changes: `wait_until` calls this often.
            if let Ok(indexed) = second.n_documents()
                && indexed != last
            {
                last = indexed;
                progress(indexed, known, "building a second index");
            }
            second.settled().deep || second.health.stalled().is_some()
        })
        .await;
    if settled && second.settled().deep { Ok(()) } else { Err(failed()) }
}

/// Returns the same folder and settings with a state folder of its own. It reads all files when asked, and sets no
/// watches, of which the system has few.
fn second_recipe(recipe: &Recipe, scratch: &Path) -> Recipe {
    let mut second = Recipe { state_dir: scratch.to_path_buf(), ..recipe.clone() };
    // Better vectors are not compared, and take hours.
    second.better = Vec::new();
    // Effectively never by itself: `settle_second` asks for each scan.
    second.settings.watch.poll = config::settings::Poll::Always;
    second.settings.watch.poll_interval_ms = PATIENCE.as_millis() as u64;
    second.settings.watch.reconcile_seconds = 0;
    second
}
