//! `ask`: an answer from everything that the folder holds.

use proto::error::ErrorView;
use proto::tool::core::{Ask, AskReply};

use super::kb::library;
use super::within;
use crate::project::Project;
use index::store::Snapshot;

/// Answers a question by a plan.
pub fn ask(
    project: &Project,
    snapshot: &Snapshot,
    mut request: Ask,
) -> Result<AskReply, ErrorView> {
    request.path = request.path.map(|path| within(project, path));
    let library = library(project, snapshot)?;
    let superseded_by = |doc: i64| {
        library.shelf.of_doc(doc).map(|row| library.superseded_by(row)).unwrap_or_default()
    };
    let projection = project.projection(snapshot)?;
    let mut reply =
        query::ask::ask(&project.desk(snapshot), &projection, &superseded_by, &request)?;
    reply.freshness = project.freshness(snapshot);
    Ok(reply)
}
