//! Page: the tools behind the page for people: its address, documents as HTML, decisions about an
//! entity.

use std::sync::Arc;

use proto::error::ErrorView;
use proto::tool::admin::{
    DecisionsReply, EntityDecisions, OpenPage, OpenPageReply, RenderDocument, RenderReply,
};

use super::{found_at, invalid, unavailable, unreadable};
use crate::project::Project;
use crate::serve::Progress;
use index::store::Snapshot;
use query::{address, page};

/// Serves the page, unless it is served already.
pub async fn open_page(
    project: Arc<Project>,
    _: OpenPage,
    _: Progress,
) -> Result<OpenPageReply, ErrorView> {
    let address = project.open_page().await.map_err(unavailable)?;
    Ok(OpenPageReply { address, freshness: project.freshness_now().map_err(unreadable)? })
}

/// Returns a document or passages as HTML.
pub fn render_document(
    project: &Project,
    snapshot: &Snapshot,
    request: RenderDocument,
) -> Result<RenderReply, ErrorView> {
    let ctx = &project.context(snapshot);
    let mut reply = match (&request.path, &request.chunks) {
        (Some(path), None) => {
            let doc = found_at(project, path, |path| address::document(snapshot, path))?;
            RenderReply { document: Some(page::document_view(ctx, doc)?), ..RenderReply::default() }
        }
        (None, Some(chunks)) => page::passages(ctx, chunks)?,
        _ => return Err(invalid("nothing to render".into(), "give either `path` or `chunks`")),
    };
    reply.freshness = project.freshness(snapshot);
    Ok(reply)
}

/// Returns what a person may decide about an entity.
pub fn entity_decisions(
    project: &Project,
    snapshot: &Snapshot,
    request: EntityDecisions,
) -> Result<DecisionsReply, ErrorView> {
    let mut reply = page::entity_decisions(&project.context(snapshot), &request)?;
    reply.freshness = project.freshness(snapshot);
    Ok(reply)
}
