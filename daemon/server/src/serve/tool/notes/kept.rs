//! Kept: records what a note tool did to an entity of memory, or to an entry, as their own tools
//! would.
//!
//! In: who did what to which note. Out: nothing; stores an event, or a version, if the note is one
//! of those.

use std::sync::Arc;

use proto::error::ErrorView;

use super::super::{blocking, kb, memory::Aftermath, unreadable};
use crate::project::Project;
use crate::serve::routes::Who;
use index::store::{Operation, Snapshot};

/// Returns the event for an operation on a note, if that is an entity.
pub(super) fn event_of(
    snapshot: &Snapshot,
    who: &Who,
    operation: Operation,
    path: &str,
) -> Result<Aftermath, ErrorView> {
    let mut aftermath = Aftermath::default();
    let node = snapshot.memory().at(path).map_err(unreadable)?.filter(|it| it.is_node);
    if let Some(node) = node {
        aftermath.note(who, operation, path, &node.name, 0);
    }
    Ok(aftermath)
}

/// Records an operation on a note that is indexed in its current state.
pub(super) async fn keep(
    project: &Arc<Project>,
    who: &Who,
    operation: Operation,
    path: &str,
) -> Result<(), ErrorView> {
    let (worker, doer, of) = (project.clone(), who.clone(), path.to_string());
    let event = blocking(move || {
        let snapshot = worker.snapshot().map_err(unreadable)?;
        event_of(&snapshot, &doer, operation, &of)
    });
    event.await?.settle(project).await?;
    if operation == Operation::Move { Ok(()) } else { kb::keep_version(project, path, who).await }
}
