//! Marking: routes for tools that read, and record how far their client has read.
//!
//! In: a handler that also returns a commit. Out: a route.
//! Invariants: the mark is stored before the answer is sent, so that the client's next call finds
//! it; if it cannot be stored (the ledger is lost, the disk is full), the answer is sent all the
//! same.

use std::sync::Arc;

use proto::error::ErrorView;
use proto::tool::{Effect, Tool};

use super::{Route, answer, in_turn, parameters, route};
use crate::project::Project;
use engine::write::Command;
use index::store::Snapshot;
use model::terms::Tick;

/// A reply, and the last commit that it covers.
type Marked<T> = Result<(<T as Tool>::Reply, Option<Tick>), ErrorView>;

/// A route for a tool that answers from a snapshot and needs the name of its client.
pub(crate) fn reads_and_marks<T: Tool>(
    handler: fn(&Project, &Snapshot, T, &str) -> Marked<T>,
) -> Route {
    const { assert!(matches!(T::EFFECT, Effect::Reads), "a tool that writes cannot be a `reads` route") };
    route::<T>(move |call, readers| {
        Box::pin(async move {
            let parameters = parameters::parse::<T>(call.arguments)?;
            let own_turn = call.caller.turn().await;
            let client = call.caller.client.clone();
            let work = move |project: &Project, snapshot: &Snapshot| {
                let (reply, mark) = handler(project, snapshot, parameters, &client)?;
                Ok((answer::<T>(Ok(reply), call.wanted), mark))
            };
            let project = Arc::clone(&call.project);
            let (read, own_turn) = in_turn::<T, _>(call.project, readers, own_turn, work).await?;
            let (answer, mark) = read?;
            if let Some(tick) = mark {
                let client = call.caller.client.clone();
                let kept = project.command(|reply| Command::KeepMark(client, tick, reply)).await;
                if let Err(why) = kept {
                    tracing::warn!(why, "cannot store how far a client has read");
                }
            }
            call.caller.keep(own_turn);
            answer
        })
    })
}
