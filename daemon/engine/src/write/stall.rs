//! Stall: waits for trouble of the disk that passes, keeps the work and does it afterwards.
//!
//! In: work on the writer. Out: what it gave, however long that took.
//! Invariants: nothing is dropped; the items in work stay counted, so the belt fills and the watcher waits; queries are
//! answered from the last commit meanwhile, with the reason why no new one comes.
//! Not here: which trouble passes (`store/trouble.rs`).

use std::time::Duration;

use super::WriteState;
use index::store::{IndexWriter, StoreError, Trouble};
use model::terms::Lane;

/// The first rest after trouble, and the longest; each is twice the one before.
const RESTS: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(30));

impl WriteState {
    /// Does `work` again and again until no trouble that passes is in its way. `None` as
    /// [`with_writer`](WriteState::with_writer) gives it.
    pub(super) async fn insist<T: Send + 'static>(
        &mut self,
        lane: Lane,
        may_yield: bool,
        work: impl Fn(&mut IndexWriter) -> Result<T, StoreError> + Clone + Send + 'static,
    ) -> Result<Option<T>, StoreError> {
        let (mut rest, longest) = RESTS;
        loop {
            let error = match self.with_writer(lane, may_yield, work.clone()).await {
                Ok(done) => {
                    self.args.health.stall(None);
                    return Ok(done);
                }
                Err(error) => error,
            };
            let Trouble::Passing(stall) = error.trouble() else { return Err(error) };
            self.args.health.stall(Some(stall));
            tokio::time::sleep(rest).await;
            rest = (rest * 2).min(longest);
        }
    }

    /// Does the work of a waiting caller once and returns trouble to it. The ripple does what was left undone.
    ///
    /// # Errors
    /// Trouble that does not pass.
    pub(super) async fn try_once<T: Send + 'static>(
        &mut self,
        work: impl FnOnce(&mut IndexWriter) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<Result<T, String>, StoreError> {
        match self.with_writer(Lane::Interactive, false, work).await {
            Ok(done) => Ok(done.ok_or_else(|| "the writer has stopped".to_string())),
            Err(error) => {
                let Trouble::Passing(stall) = error.trouble() else { return Err(error) };
                let refusal = stall.refusal();
                self.args.health.stall(Some(stall));
                self.args.health.set_ripple(true);
                Ok(Err(refusal))
            }
        }
    }
}
