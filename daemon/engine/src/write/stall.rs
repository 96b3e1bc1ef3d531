//! Stall: waits until temporary trouble with the disk has passed, and then repeats the work.
//!
//! In: work on the writer. Out: its result, however long that took.
//! Invariants: nothing is dropped; the items being worked on stay counted, so the belt fills and the watcher waits;
//! queries are answered from the last commit meanwhile, with the reason why no new one comes.

use std::time::Duration;

use super::WriteState;
use index::store::{IndexWriter, StoreError, Trouble};
use model::terms::Lane;

/// The first pause after trouble, and the longest; each is twice the one before.
const RESTS: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(30));

impl WriteState {
    /// Repeats `work` until no temporary trouble stops it. `None` as for [`with_writer`](WriteState::with_writer).
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

    /// Does the work of a waiting caller once, and returns temporary trouble to it. The ripple does what was left
    /// undone.
    ///
    /// # Errors
    /// Trouble that is not temporary.
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
