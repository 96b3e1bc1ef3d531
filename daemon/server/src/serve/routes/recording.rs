//! Recording: refuses tools that write to the ledger while the ledger is lost.
//!
//! In: a route. Out: the same route, which then refuses before it starts.
//! Not here: detecting the loss (`store/held.rs`), refusing a write that has started (`notes/`,
//! `engine/write/command.rs`).

use std::sync::Arc;

use proto::error::Code;

use super::{Route, error_view};

impl Route {
    /// Marks a tool all of whose calls write.
    pub(super) fn recording(mut self) -> Self {
        let run = Arc::new(self.run);
        self.run = Box::new(move |call, readers| {
            let run = Arc::clone(&run);
            Box::pin(async move {
                if let Some(lost) = call.project.lost_ledger() {
                    let (why, hint) = lost.split_once("\nhint: ").unwrap_or((&lost, ""));
                    return Err(error_view(Code::Unavailable, why.to_string(), Some(hint)));
                }
                run(call, readers).await
            })
        });
        self
    }
}
