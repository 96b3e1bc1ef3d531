//! Recording: refuses tools that write to the ledger while the ledger is lost, and tools that write notes while the
//! folder is lost or another process holds the lock of writers.
//!
//! In: a route. Out: the same route, which then refuses before it starts.

use std::sync::Arc;

use proto::error::Code;

use super::{Route, error_view};

impl Route {
    /// Marks a tool all of whose calls write to the ledger.
    pub(super) fn recording(self) -> Self {
        self.refusing(false)
    }

    /// Marks a tool all of whose calls write notes, too.
    pub(super) fn writing_notes(self) -> Self {
        self.refusing(true)
    }

    fn refusing(mut self, writes_notes: bool) -> Self {
        let run = Arc::new(self.run);
        self.run = Box::new(move |call, readers| {
            let run = Arc::clone(&run);
            Box::pin(async move {
                let lost_folder = writes_notes.then(|| call.project.lost_folder()).flatten();
                if let Some(lost) = lost_folder {
                    return Err(lost.view());
                }
                if let Some(lost) = call.project.lost_ledger() {
                    let (why, hint) = lost.split_once("\nhint: ").unwrap_or((&lost, ""));
                    return Err(error_view(Code::Unavailable, why.to_string(), Some(hint)));
                }
                // Waited for here, where the call holds neither a thread nor a reader's place.
                if writes_notes && let Err(locked) = call.project.notes().undisturbed().await {
                    return Err(locked.view());
                }
                run(call, readers).await
            })
        });
        self
    }
}
