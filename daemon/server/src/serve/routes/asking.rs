//! Asking: routes for tools that read and may ask a language model.
//!
//! In: handlers of both parts. Out: routes.
//! Invariants: neither a snapshot nor a turn is held while a model answers; the model gets most of
//! the time of a request, after which the call continues without it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use proto::error::ErrorView;
use proto::tool::{Effect, Tool};

use super::{Route, answer, crashed, in_turn, parameters, route};
use crate::llm::Asker;
use crate::project::Project;
use index::store::Snapshot;

/// Share of a request's time for a language model; the rest is for answering without it.
const ASKING_SHARE: f64 = 0.8;

/// Returns the deadline of the language model in a call that starts now.
pub(super) fn until(project: &Project) -> Instant {
    let limit = Duration::from_millis(project.settings.serve.request_deadline_ms);
    Instant::now() + limit.mul_f64(ASKING_SHARE)
}

/// Answers from a snapshot, with a model's answer if one was asked.
type Answering<T, N> =
    fn(&Project, &Snapshot, T, Option<N>) -> Result<<T as Tool>::Reply, ErrorView>;

/// A route for a tool that lets a language model look at a question before it answers from a
/// snapshot; `before` returns the prompt, if there is one.
pub(crate) fn asks_and_reads<T: Tool, M: Send + 'static, N: Send + 'static>(
    before: fn(&Project, &Snapshot, &T) -> Result<Option<M>, ErrorView>,
    ask: fn(&Project, M, &Asker) -> N,
    handler: Answering<T, N>,
) -> Route {
    const { assert!(matches!(T::EFFECT, Effect::Reads), "a tool that writes cannot be a `reads` route") };
    route::<T>(move |call, readers| {
        Box::pin(async move {
            let until = until(&call.project);
            let parameters = parameters::parse::<T>(call.arguments)?;
            let project = call.project;
            let own_turn = call.caller.turn().await;
            let work = move |project: &Project, snapshot: &Snapshot| {
                Ok((before(project, snapshot, &parameters)?, parameters))
            };
            let (read, own_turn) =
                in_turn::<T, _>(Arc::clone(&project), Arc::clone(&readers), own_turn, work).await?;
            let (wanted, parameters) = read?;
            let (model_answer, own_turn) = match wanted {
                None => (None, own_turn),
                Some(wanted) => {
                    drop(own_turn);
                    let model = call.caller.model.clone();
                    let (worker, asker) = (Arc::clone(&project), Asker { client: model, until });
                    let asking = tokio::task::spawn_blocking(move || ask(&worker, wanted, &asker));
                    let model_answer = asking.await.map_err(|error| crashed(T::NAME, &error))?;
                    (Some(model_answer), call.caller.turn().await)
                }
            };
            let work = move |project: &Project, snapshot: &Snapshot| {
                answer::<T>(handler(project, snapshot, parameters, model_answer), call.wanted)
            };
            let (answer, own_turn) = in_turn::<T, _>(project, readers, own_turn, work).await?;
            call.caller.keep(own_turn);
            answer
        })
    })
}

/// A route for a tool that answers from a snapshot, and then lets a language model add to the
/// answer.
pub(crate) fn reads_and_asks<T: Tool, M: Send + 'static>(
    handler: fn(&Project, &Snapshot, T) -> Result<M, ErrorView>,
    finish: fn(&Project, M, &Asker) -> Result<T::Reply, ErrorView>,
) -> Route {
    const { assert!(matches!(T::EFFECT, Effect::Reads), "a tool that writes cannot be a `reads` route") };
    route::<T>(move |call, readers| {
        Box::pin(async move {
            let until = until(&call.project);
            let parameters = parameters::parse::<T>(call.arguments)?;
            let project = call.project;
            let own_turn = call.caller.turn().await;
            let work = move |project: &Project, snapshot: &Snapshot| {
                handler(project, snapshot, parameters)
            };
            let (read, own_turn) =
                in_turn::<T, _>(Arc::clone(&project), readers, own_turn, work).await?;
            drop(own_turn);
            let (read, asker) = (read?, Asker { client: call.caller.model, until });
            let asking = tokio::task::spawn_blocking(move || {
                answer::<T>(finish(&project, read, &asker), call.wanted)
            });
            asking.await.map_err(|error| crashed(T::NAME, &error))?
        })
    })
}
