//! `ask`: an answer from everything that the folder holds.

use std::cell::OnceCell;

use proto::error::ErrorView;
use proto::tool::core::{Ask, AskReply};
use query::kb::Library;

use super::kb::{folder, library};
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
    // Most answers quote no entry.
    let entries: OnceCell<Option<Library>> = OnceCell::new();
    let superseded_by = |path: &str| {
        let is_entry = path.strip_prefix(folder(project)).is_some_and(|it| it.starts_with('/'));
        let library = is_entry.then(|| entries.get_or_init(|| library(project, snapshot).ok()));
        let library = library.and_then(Option::as_ref);
        let of_path = |library: &Library| {
            let row = library.shelf.entries().find(|row| row.path == path);
            row.map(|row| library.superseded_by(row))
        };
        library.and_then(of_path).unwrap_or_default()
    };
    let graph = || project.projection(snapshot);
    let mut reply = query::ask::ask(&project.desk(snapshot), &graph, &superseded_by, &request)?;
    reply.freshness = project.freshness(snapshot);
    Ok(reply)
}
