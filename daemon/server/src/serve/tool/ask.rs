//! `ask`: an answer from everything in the folder.

use proto::error::ErrorView;
use proto::tool::core::{Ask, AskReply};
use query::ask::Sources;

use super::folder_given;
use super::kb::library;
use crate::project::Project;
use index::store::Snapshot;

/// Answers a question with a plan.
pub fn ask(
    project: &Project,
    snapshot: &Snapshot,
    mut request: Ask,
) -> Result<AskReply, ErrorView> {
    request.path = folder_given(project, snapshot, request.path)?;
    let (library, context) = (library(project, snapshot)?, project.context(snapshot));
    let projection = || project.projection(snapshot);
    let sources = Sources { ctx: &context, library: &library, projection: &projection };
    let reply = query::ask::ask(&sources, &request)?;
    Ok(AskReply { freshness: project.freshness(snapshot), ..reply })
}
