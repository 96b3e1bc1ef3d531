//! Unasked: the runs that every start begins on its own: one that a crash cut short, and one for
//! secrets if the detectors changed since the stored data was checked.
//!
//! In: a project that was just opened. Out: in the background, kept texts in which marks replace
//! what only the current detectors find. No version is deleted as a whole.

use std::sync::{Arc, Weak};

use super::{ForgetError, Job, Project, by_store, now_ms};
use index::erase::{Needles, Rewrite, Secrets};
use index::store::{Gone, detectors, holds_any, scrubbed_by};
use index::store::{Removal, StoreError};
use sys::crew;

/// Longest wait for a settled build, before this checks whether the project still exists.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(60);

/// Starts the runs that are due; they end with the project.
pub(in crate::project) fn begin(project: &Arc<Project>) {
    let is_cut_short = project.pending_file().exists();
    let is_seen = match scrubbed_by(&project.state_dir) {
        Ok(before) => before.is_some_and(|it| it == detectors()),
        Err(error) => {
            tracing::warn!(%error, "stored data was not searched for secrets");
            // Unknown: skip the search now; the next start asks again.
            true
        }
    };
    if is_cut_short || !is_seen {
        tokio::spawn(when_whole(Arc::downgrade(project), is_seen));
    }
}

/// Waits until the index is complete: answering comes first.
async fn when_whole(project: Weak<Project>, is_seen: bool) {
    loop {
        let Some(project) = project.upgrade() else { return };
        if project.activity.is_stopping() || project.is_poisoned().is_some() {
            return;
        }
        let build = &project.build;
        let is_whole = || build.settled().resolved && !project.is_being_replaced();
        if !build.wait_until(PATIENCE, is_whole).await {
            continue;
        }
        // What fails is tried again by the next start.
        if let Err(error) = project.clone().finish_pending().await {
            tracing::warn!(%error, "some content to forget could not be erased yet; retrying");
        }
        if is_seen {
            return;
        }
        match project.clone().clean_kept().await {
            Ok(0) => {}
            Ok(n) => tracing::info!(n, "removed secrets that older detectors had missed"),
            Err(error) => {
                tracing::warn!(%error, "stored data could not be searched for secrets");
            }
        }
        return;
    }
}

impl Project {
    /// Finishes a run that a crash cut short, if there is one.
    async fn finish_pending(self: Arc<Self>) -> Result<(), ForgetError> {
        let _alone = self.upkeep.clone().lock_owned().await;
        let Some(pending) = self.pending() else { return Ok(()) };
        self.follow_folder().await?;
        let project = self.clone();
        let pending = self.off_thread(move |it| it.gather(pending.named)).await?;
        project.finish(&pending).await?;
        tracing::info!("erased content that an earlier crash had left");
        Ok(())
    }

    /// Deletes secrets from everything that is kept besides the index and the versions of notes. Returns the number of
    /// rows and files that held some.
    async fn clean_kept(self: Arc<Self>) -> Result<u64, ForgetError> {
        let _alone = self.upkeep.clone().lock_owned().await;
        let secrets = Arc::new(Secrets::new(&self.settings.privacy));
        let (ledger, detectors_now) = (self.state_dir.join("ledger.sqlite"), secrets.clone());
        // On a thread of low priority: the writer is used only to delete what this finds.
        let looked = crew::comparing().run(move || holds_any(&ledger, detectors_now.as_ref()));
        let is_any = looked.await.map_err(|lost| ForgetError::Unsettled(lost.to_string()))??;
        let job = |rewrite| Arc::new(Job { gone: Gone::default(), rewrite, spares_versions: true });
        // Nothing was found: an empty list leaves the rows of the ledger alone.
        let in_ledger: Arc<dyn Rewrite> =
            if is_any { secrets.clone() } else { Arc::new(Needles::new(&[])?) };
        let counts = self.erase_in_ledger(job(in_ledger)).await?;
        let receipt = self.clone().take_out_of_history(job(secrets.clone())).await?;
        let mut receipt = self.clone().take_out_of_files(receipt, secrets).await?;
        receipt.add_all("ledger", &counts);
        let removal = Removal { kind: "secrets", named: detectors(), counts: by_store(&receipt) };
        let n = receipt.removed.values().sum();
        self.with_writer(move |writer| {
            if !removal.counts.is_empty() {
                writer.record_removal(&removal, now_ms())?;
            }
            writer.mark_scrubbed()?;
            Ok::<_, StoreError>(())
        })
        .await?;
        Ok(n)
    }
}
