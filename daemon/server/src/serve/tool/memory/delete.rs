//! `delete_entities`: deletes notes, with the relations of others to them.
//!
//! Invariant: an entity is deleted together with the relations that link to it, or neither is; the
//! reply says which.

use std::collections::BTreeSet;
use std::sync::Arc;

use proto::error::{Code, ErrorView};
use proto::tool::memory::{DeleteEntities, DeletedEntitiesReply, MemoryRelation};

use super::{Aftermath, MAX_ITEMS, check_count, is_missing, item_error, refused, relation_views};
use crate::notes::{Overwrite, Written};
use crate::project::Project;
use crate::serve::routes::Who;
use crate::serve::tool::{blocking, unreadable};
use index::read::{Edge, Node};
use index::store::{Operation, Snapshot};
use query::memory as rows;

/// Deletes entities.
pub async fn delete_entities(
    project: Arc<Project>,
    request: DeleteEntities,
    who: Who,
) -> Result<DeletedEntitiesReply, ErrorView> {
    // An empty list is accepted, like names that do not exist.
    check_count("entity_names", request.entity_names.len().max(1), MAX_ITEMS)?;
    let worker = project.clone();
    let (mut reply, aftermath) = blocking(move || {
        let (mut reply, mut aftermath) = (DeletedEntitiesReply::default(), Aftermath::default());
        let mut gone = BTreeSet::new();
        for name in request.entity_names {
            match delete(&worker, &name, &who, &mut aftermath, &mut gone) {
                Ok(relations) => {
                    reply.deleted.push(name);
                    reply.removed_relations.extend(relations);
                }
                Err(error) if is_missing(&error) => reply.not_found.push(name),
                Err(error) => reply.failed.push(item_error(&name, error)),
            }
        }
        Ok((reply, aftermath))
    })
    .await?;
    aftermath.settle(&project).await?;
    reply.freshness = project.freshness_now().map_err(unreadable)?;
    Ok(reply)
}

/// Removes the relations of others to a note, and then the note, or nothing at all; returns those
/// relations.
fn delete(
    project: &Project,
    name: &str,
    who: &Who,
    aftermath: &mut Aftermath,
    gone: &mut BTreeSet<i64>,
) -> Result<Vec<MemoryRelation>, ErrorView> {
    let snapshot = project.snapshot().map_err(unreadable)?;
    let node = rows::named_to_change(&snapshot, name)?;
    if !node.is_node {
        return Err(ErrorView::hinted(
            Code::Refused,
            format!("`{}` is a note without a type, and no entity of memory", node.path),
            "`delete_note` deletes notes",
        ));
    }
    if !gone.insert(node.doc) {
        return Ok(vec![]);
    }
    let edges = snapshot.memory().edges(Some(node.doc)).map_err(unreadable)?;
    let others: Vec<_> = edges
        .into_iter()
        .filter(|it| it.to == Some(node.doc) && it.from != node.doc && !gone.contains(&it.from))
        .collect();
    let relations = relation_views(&snapshot, &others)?;
    let mut edited = Vec::new();
    let done = unrelate(project, &snapshot, &others, &mut edited);
    let done = done.and_then(|()| project.notes().remove(&node.path, None).map_err(refused));
    match done {
        Ok(written) => {
            aftermath.note(who, Operation::Delete, written.path.as_str(), &node.name, 0);
            for it in &edited {
                aftermath.note(who, Operation::Relate, &it.node.path, &it.node.name, 0);
            }
            Ok(relations)
        }
        Err(error) => {
            gone.remove(&node.doc);
            Err(taken_back(project, edited, error))
        }
    }
}

/// A note from which a relation was removed.
struct Edited {
    node: Node,
    /// Its text before.
    before: String,
    written: Written,
}

/// Removes relations from the notes that state them; `edited` holds the edited ones even if one fails.
fn unrelate(
    project: &Project,
    snapshot: &Snapshot,
    relations: &[Edge],
    edited: &mut Vec<Edited>,
) -> Result<(), ErrorView> {
    let from: BTreeSet<i64> = relations.iter().map(|it| it.from).collect();
    for doc in from {
        let Some(node) = snapshot.memory().get(doc).map_err(unreadable)? else { continue };
        let targets: BTreeSet<&str> =
            relations.iter().filter(|it| it.from == doc).map(|it| it.target.as_str()).collect();
        let (written, before, n) =
            super::relate::remove_from(project, &node, |it| targets.contains(it.target.as_str()))
                .map_err(|error| {
                let error = refused(error);
                let message = format!("the relation in `{}` stays: {}", node.path, error.message);
                ErrorView { message, ..error }
            })?;
        if n > 0 {
            edited.push(Edited { node, before, written });
        }
    }
    Ok(())
}

/// Restores notes after a later step failed, and returns the error with those that could not be
/// restored.
fn taken_back(project: &Project, edited: Vec<Edited>, error: ErrorView) -> ErrorView {
    let mut left = Vec::new();
    for Edited { node, before, written } in edited {
        // A change that somebody made in between is kept.
        let expected = written.checksum.as_deref();
        if project.notes().write(&node.path, &before, Overwrite::Yes, expected).is_err() {
            left.push(format!("`{}`", node.path));
        }
    }
    if left.is_empty() {
        return ErrorView { message: format!("{}; nothing was changed", error.message), ..error };
    }
    let message = format!("{}; relations were removed from {}", error.message, left.join(", "));
    ErrorView { message, ..error }
}
