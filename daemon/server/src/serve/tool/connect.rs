//! `connect`: how two things are related.

use notes::entry::number_of;
use proto::error::{Code, ErrorView};
use proto::tool::core::{Connect, ConnectReply};

use super::found_at;
use crate::project::Project;
use crate::serve::tool::unreadable;
use index::store::Snapshot;
use query::connect;

/// Returns the best paths between two things.
pub fn connect(
    project: &Project,
    snapshot: &Snapshot,
    request: Connect,
) -> Result<ConnectReply, ErrorView> {
    let ends = [
        entity_of(project, snapshot, "a", &request.a)?,
        entity_of(project, snapshot, "b", &request.b)?,
    ];
    let projection = project.projection(snapshot)?;
    let mut reply = connect::connect(&project.context(snapshot), &projection, &request, ends)?;
    reply.freshness = project.freshness(snapshot);
    Ok(reply)
}

/// Resolves a name, a path, an id or an entry's id to an entity.
fn entity_of(
    project: &Project,
    snapshot: &Snapshot,
    parameter: &str,
    given: &str,
) -> Result<i64, ErrorView> {
    let context = project.context(snapshot);
    let found = found_at(project, given, |given| connect::entity_given(&context, parameter, given));
    match found {
        Err(error) if error.code == Code::NotFound => {
            entry_of(project, snapshot, given)?.ok_or(error)
        }
        found => found,
    }
}

fn entry_of(project: &Project, snapshot: &Snapshot, given: &str) -> Result<Option<i64>, ErrorView> {
    let Some(number) = number_of(given.trim()) else { return Ok(None) };
    let entry_index = project.indexes.at(snapshot, &project.settings.kb.folder)?;
    let Some(row) = entry_index.get(number) else { return Ok(None) };
    snapshot.documents().entity(row.doc).map_err(unreadable)
}
