//! Recording: tools whose writes belong in the ledger are refused at the door while that is lost.
//!
//! In: a route. Out: the same, which begins nothing then.
//! Not here: what notices the loss (`store/held.rs`), or the refusal of a write that has begun (`notes/`,
//! `engine/write/command.rs`).

use std::sync::Arc;

use proto::error::Code;

use super::{Route, error_view};

impl Route {
    /// Every call of this tool writes.
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
