//! Span: traces the duration and outcome of a call, for OpenTelemetry.
//!
//! In: a call of a tool. Out: its answer, in a span with only the name of the tool and the outcome.

use std::future::Future;

use config::limits::SPANS;
use tracing::field::Empty;
use tracing::info_span;

use super::{Answer, Call, Route, Routes};

impl Routes {
    /// Runs a tool until it answers, its deadline passes, or `cancelled` returns.
    ///
    /// # Errors
    /// The handler's own, or `invalid_params`, `deadline_exceeded`, `cancelled`, `internal`.
    pub async fn call(
        &self,
        route: &Route,
        call: Call,
        cancelled: impl Future<Output = ()>,
    ) -> Answer {
        let span = info_span!(target: SPANS, "request", tool = route.tool.name, outcome = Empty);
        let answer = self.answer(route, call, cancelled).await;
        span.record("outcome", answer.as_ref().map_or_else(|error| error.code.as_str(), |_| "ok"));
        answer
    }
}
