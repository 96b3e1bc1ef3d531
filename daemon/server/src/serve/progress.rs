//! Progress: reports the progress of a long call, if its caller asked for it.
//!
//! In: reports from a tool's handler. Out: the newest one, for the session to send.
//! Invariants: reporting never waits and never fails; only the newest report is kept, so a fast
//! handler and a slow client cost nothing; reports that are sent increase, as MCP requires.

use tokio::sync::watch;

/// One report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Step {
    /// Completed units of work.
    pub done: u64,
    /// Total units of work, if known.
    pub total: Option<u64>,
    /// What is being done.
    pub message: String,
}

/// A handle for reporting. Cheap to clone; does nothing if nobody asked.
#[derive(Debug, Clone, Default)]
pub struct Progress(Option<watch::Sender<Option<Step>>>);

impl Progress {
    /// Returns a handle that reports to nobody.
    pub fn silent() -> Self {
        Progress(None)
    }

    /// Returns a handle, and the reader of its reports.
    pub(crate) fn channel() -> (Self, Reports) {
        let (sender, reports) = watch::channel(None);
        (Progress(Some(sender)), Reports { reports, last_done: None })
    }

    /// Reports that `done` of `total` units are finished. Reports that do not increase are not
    /// sent.
    pub fn report(&self, done: u64, total: impl Into<Option<u64>>, message: impl Into<String>) {
        if let Some(sender) = &self.0 {
            sender.send_replace(Some(Step { done, total: total.into(), message: message.into() }));
        }
    }
}

/// The reports of a handler.
#[derive(Debug)]
pub(crate) struct Reports {
    reports: watch::Receiver<Option<Step>>,
    last_done: Option<u64>,
}

impl Reports {
    /// Returns the next report that is further than the last one; `None` if there will be none.
    /// Cancel-safe.
    pub(crate) async fn next(&mut self) -> Option<Step> {
        loop {
            self.reports.changed().await.ok()?;
            let step = self.reports.borrow_and_update().clone()?;
            if self.last_done.is_none_or(|last| step.done > last) {
                self.last_done = Some(step.done);
                return Some(step);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn only_what_grows_is_sent() {
        let (progress, mut reports) = Progress::channel();
        progress.report(1, 3, "first");
        progress.clone().report(2, None, "second");
        let step = reports.next().await.expect("one");
        assert_eq!(step, Step { done: 2, total: None, message: "second".into() });
        progress.report(2, 3, "again");
        drop(progress);
        assert_eq!(reports.next().await, None);
        Progress::silent().report(1, 1, "nobody listens");
    }
}
