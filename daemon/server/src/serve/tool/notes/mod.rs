//! Tools of notes: S0 §6.2 and S3, on top of the writer of files (`crate::notes`) and the read path
//! (`query`).
//!
//! In: requests. Out: replies, or refusals with code and hint.
//! Invariants: what a caller wrote, edited or read is indexed in its current state before the
//! answer is made, so every answer of that tick and later includes it; an ambiguous name is
//! refused, never guessed.

mod browse;
mod content;
mod edit;
mod history;
mod kept;
mod moving;
mod projects;
mod read;
mod schema;
mod search;
mod taken;
pub(in crate::serve) mod when;
mod write;

use std::sync::Arc;

pub use browse::*;
pub use content::*;
pub use edit::*;
pub use history::*;
pub use moving::*;
pub use projects::*;
pub use read::*;
pub use schema::*;
pub use search::*;
pub use write::*;

use proto::error::{Code, ErrorView};
use proto::tool::notes::{LinkView, ObservationView};

use super::{blocking, stalled, though_written, unreadable};
use crate::notes::NoteError;
use crate::project::Project;
use crate::project::indexing::Indexed;
use index::read::{Link, Observation};
use index::store::Snapshot;
use model::terms::RelPath;
use query::stated::{accepted, relations};
use query::{address, notes as rows};

/// The note that a caller names.
#[derive(Debug, Clone)]
struct Named {
    /// Row id of its document.
    doc: i64,
    path: String,
}

/// Resolves the note that a caller names through the index. An absolute path inside the project is
/// relative to the root.
fn named(project: &Project, snapshot: &Snapshot, address: &str) -> Result<Named, ErrorView> {
    let doc = super::found_at(project, address, |path| address::document(snapshot, path))?;
    let path = path_at(snapshot, doc)?;
    Ok(Named { doc, path })
}

/// Resolves an address in the index.
type Find = fn(&Snapshot, &str) -> Result<i64, ErrorView>;

/// Returns the path of the note that a caller names.
async fn path_of(project: &Arc<Project>, address: &str) -> Result<String, ErrorView> {
    path_by(address::document, OfLink::Target, project, address).await
}

/// Returns the path of the note that a caller wants to change.
async fn path_to_change(project: &Arc<Project>, address: &str) -> Result<String, ErrorView> {
    path_by(address::document_to_change, OfLink::Target, project, address).await
}

/// Returns the path of the note that a caller wants to remove or move: for a link, its own path,
/// which is then refused, not that of its target.
async fn path_to_remove(project: &Arc<Project>, address: &str) -> Result<String, ErrorView> {
    path_by(address::document_to_change, OfLink::Itself, project, address).await
}

/// Whether the path of a link means the link or its target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OfLink {
    Target,
    Itself,
}

/// Resolves an address; also accepts the path of a file that is not indexed yet. Indexes recent
/// changes before it reports that a name does not exist.
async fn path_by(
    find: Find,
    of_link: OfLink,
    project: &Arc<Project>,
    address: &str,
) -> Result<String, ErrorView> {
    match path_in_index(find, of_link, project, address).await {
        Err(missing) if matches!(missing.code, Code::NotFound | Code::Refused) => {
            super::look(project, "", &serde_json::Map::new()).await;
            path_in_index(find, of_link, project, address).await
        }
        found => found,
    }
}

async fn path_in_index(
    find: Find,
    of_link: OfLink,
    project: &Arc<Project>,
    address: &str,
) -> Result<String, ErrorView> {
    let (worker, address) = (project.clone(), address.to_string());
    blocking(move || {
        let snapshot = worker.snapshot().map_err(unreadable)?;
        let inside = super::within(&worker, address.clone());
        // A note in another folder may have the name of the link, which is often a link to it.
        if of_link == OfLink::Itself && worker.notes().is_by_link(inside.trim()) {
            return Ok(inside.trim().to_string());
        }
        let found = super::found_at(&worker, &address, |path| find(&snapshot, path));
        let found = found.and_then(|doc| path_at(&snapshot, doc));
        if found.as_ref().is_ok_and(|path| *path == inside) {
            return found;
        }
        // The file at exactly this path, which may not be indexed yet, goes before every other name.
        match worker.notes().read(inside.trim()) {
            Ok(_) if of_link == OfLink::Itself => Ok(inside.trim().to_string()),
            Ok(note) => Ok(note.path),
            Err(error @ NoteError::NoFolder { .. }) => Err(error.view()),
            // Nor is a file that is not read taken for another that states its path.
            Err(error) if worker.notes().has_file(&inside) => Err(error.view()),
            Err(_) => found,
        }
    })
    .await
}

fn path_at(snapshot: &Snapshot, doc: i64) -> Result<String, ErrorView> {
    Ok(snapshot.documents().path(doc).map_err(query::AskError::from)?.unwrap_or_default())
}

/// Waits until the index shows the current files; returns what could not be read.
async fn index(project: &Project, paths: &[RelPath]) -> Result<Vec<String>, ErrorView> {
    let indexed = project.index_now(paths, false, &|_| {}).await;
    let indexed: Indexed = indexed.map_err(|stall| though_written(paths, stalled(stall)))?;
    let failure = |(path, (stage, reason)): (&RelPath, &(String, String))| {
        format!("`{path}` was not indexed ({stage}): {reason}")
    };
    Ok(indexed.failed.iter().map(failure).collect())
}

/// Converts a stated fact; `permalink` is that of the note.
fn observation_view(row: Observation, permalink: Option<&str>) -> ObservationView {
    let permalink =
        permalink.map(|note| notes::slug::observation(note, &row.category, &row.content));
    ObservationView {
        category: row.category,
        content: row.content,
        tags: row.tags,
        context: row.context,
        block: row.block,
        line: row.line,
        permalink,
    }
}

fn link_view(row: Link) -> LinkView {
    LinkView {
        relation: row.relation.unwrap_or_else(|| rows::EMBEDS.into()),
        target: row.target,
        to_path: row.to_path,
        heading: row.heading,
        block: row.block,
        context: row.context,
        line: row.line,
    }
}

/// Returns the facts and relations of a note.
fn stated(
    project: &Project,
    snapshot: &Snapshot,
    doc: i64,
    permalink: Option<&str>,
) -> Result<(Vec<ObservationView>, Vec<LinkView>), ErrorView> {
    let context = project.context(snapshot);
    let observations = accepted(&context, doc)?;
    let observations = observations.into_iter().map(|it| observation_view(it, permalink)).collect();
    let relations = relations(&context, doc)?.into_iter().map(link_view).collect();
    Ok((observations, relations))
}
