//! Tools of memory (S1): an entity is a note, an observation a list item, a relation a link.
//!
//! In: requests. Out: replies, or refusals with code and hint.
//! Invariants: an entity is changed completely or not at all, and each failed item has an error;
//! what was written is indexed before the answer is made; who did what is recorded in the ledger.

mod consolidate;
mod delete;
mod entities;
mod graph;
mod relate;
mod report;
mod search;
mod write;

use std::collections::BTreeMap;
use std::sync::Arc;

use notes::edit::memory::Scope;
use proto::error::{Code, ErrorView};
use proto::tool::batch::Item;
use proto::tool::memory::{FactView, ItemError, MemoryNode, MemoryRelation};

pub use consolidate::*;
pub use delete::*;
pub use graph::*;
pub use relate::*;
pub(crate) use report::begin as begin_reports;
pub use report::*;
pub use search::*;
pub use write::*;

use super::{
    batch_of, blocking, check_count, check_secrets, invalid, item_error, stalled, though_written,
    unavailable, unreadable,
};
use crate::notes::NoteError;
use crate::project::Project;
use crate::serve::routes::Who;
use engine::write::Command;
use index::read::{Edge, Fact, Node};
use index::store::{MemoryEvent, MemoryLedger, Operation, Snapshot};
use model::terms::RelPath;
use query::browse::rfc3339;
use query::memory as rows;

/// Most items per batch.
const MAX_ITEMS: usize = 1_000;

fn batch<T>(parameter: &str, items: Vec<Item<T>>) -> Result<Vec<Result<T, ItemError>>, ErrorView> {
    // As in the reference server, an empty batch succeeds.
    if items.is_empty() { Ok(Vec::new()) } else { batch_of(parameter, items, MAX_ITEMS) }
}

fn ledger(project: &Project) -> Result<MemoryLedger, ErrorView> {
    MemoryLedger::open(&project.state_dir).map_err(unreadable)
}

fn node_view(node: &Node) -> MemoryNode {
    MemoryNode {
        name: node.name.clone(),
        entity_type: node.entity_type.clone(),
        summary: node.summary.clone(),
        tags: node.tags.clone(),
        path: node.path.clone(),
        updated_at: rfc3339(node.modified_ms),
    }
}

fn fact_view((ordinal, fact): (u64, Fact)) -> FactView {
    FactView { ordinal, content: fact.content }
}

/// Returns a relation with the names of both ends; an unresolved target as written.
fn relation_view(snapshot: &Snapshot, edge: &Edge) -> Result<MemoryRelation, ErrorView> {
    let name = |doc| -> Result<Option<String>, ErrorView> {
        Ok(snapshot.memory().get(doc).map_err(unreadable)?.map(|node| node.name))
    };
    let to = match edge.to {
        Some(to) => name(to)?,
        None => None,
    };
    Ok(MemoryRelation {
        from: name(edge.from)?.unwrap_or_default(),
        to: to.unwrap_or_else(|| edge.target.clone()),
        relation_type: edge.relation_type.clone(),
    })
}

fn relation_views<'e>(
    snapshot: &Snapshot,
    edges: impl IntoIterator<Item = &'e Edge>,
) -> Result<Vec<MemoryRelation>, ErrorView> {
    let views: Result<Vec<_>, _> =
        edges.into_iter().map(|edge| relation_view(snapshot, edge)).collect();
    let mut views = views?;
    views.sort();
    views.dedup();
    Ok(views)
}

/// Returns the ordinals and items that count in a note that is to be changed.
fn scope_of(ledger: &MemoryLedger, node: &Node) -> Result<Scope, ErrorView> {
    let used = ledger.highest(&node.path).map_err(unreadable)?;
    Ok(Scope { in_folder: node.in_folder, used })
}

/// Runs a function on the node with a name, off the async threads.
async fn on_node<T: Send + 'static>(
    project: &Arc<Project>,
    name: &str,
    work: impl FnOnce(&Project, &Node, Scope) -> Result<T, ErrorView> + Send + 'static,
) -> Result<(Node, T), ErrorView> {
    let (worker, name) = (project.clone(), name.to_string());
    blocking(move || {
        let snapshot = worker.snapshot().map_err(unreadable)?;
        let node = rows::named_to_change(&snapshot, &name)?;
        let scope = scope_of(&ledger(&worker)?, &node)?;
        drop(snapshot);
        let done = work(&worker, &node, scope)?;
        Ok((node, done))
    })
    .await
}

fn refused(error: NoteError) -> ErrorView {
    error.view()
}

/// The paths to index and the events to record after a write.
#[derive(Debug, Default)]
pub(super) struct Aftermath {
    paths: Vec<RelPath>,
    events: Vec<MemoryEvent>,
}

impl Aftermath {
    pub(super) fn note(
        &mut self,
        who: &Who,
        operation: Operation,
        path: &str,
        node: &str,
        highest: u64,
    ) {
        self.paths.push(RelPath::new(path));
        self.events.push(MemoryEvent {
            client: who.client.clone(),
            tool: who.tool,
            operation,
            path: path.to_string(),
            node: node.to_string(),
            highest,
        });
    }

    /// Indexes what was written and records it in the ledger. Returns what could not be indexed, by
    /// path.
    pub(super) async fn settle(
        mut self,
        project: &Arc<Project>,
    ) -> Result<BTreeMap<String, String>, ErrorView> {
        if self.paths.is_empty() {
            return Ok(BTreeMap::new());
        }
        self.paths.sort();
        self.paths.dedup();
        let is_deleted = |it: &MemoryEvent| it.operation == Operation::Delete;
        let (deletions, others): (Vec<_>, Vec<_>) = self.events.into_iter().partition(is_deleted);
        // Deletions are recorded before indexing, while the index still knows their uids;
        // everything else after it.
        if !deletions.is_empty() {
            let record = |reply| Command::RecordMemory(deletions, reply);
            let recorded = project.command(record).await;
            recorded.map_err(|why| though_written(&self.paths, unavailable(why)))?;
        }
        let written = |error| though_written(&self.paths, error);
        let indexed = project.index_now(&self.paths, false, &|_| {}).await;
        let indexed = indexed.map_err(|stall| written(stalled(stall)))?;
        if !others.is_empty() {
            let record = |reply| Command::RecordMemory(others, reply);
            project.command(record).await.map_err(|why| written(unavailable(why)))?;
        }
        let failures = indexed.failed.iter().map(|(path, (stage, reason))| {
            (path.to_string(), format!("`{path}` was not indexed ({stage}): {reason}"))
        });
        Ok(failures.collect())
    }
}

/// Returns whether the error means that no entity has the name.
fn is_missing(error: &ErrorView) -> bool {
    error.code == Code::NotFound
}
