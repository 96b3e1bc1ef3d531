//! The tools of memory that change relations.

use std::collections::BTreeSet;
use std::sync::Arc;

use notes::edit::memory::{Scope, add_relation, remove_relations, retype_relation};
use notes::memory::{Stated, read};
use proto::error::{Code, ErrorView};
use proto::tool::memory::{
    CreateRelations, CreatedRelationsReply, DeleteRelations, DeletedRelationsReply, MemoryRelation,
    RelationKey, UpdateRelationType, UpdatedRelationReply,
};

use super::{Aftermath, batch, check_secrets, is_missing, item_error, ledger, refused, scope_of};
use crate::notes::{NoteError, Written};
use crate::project::Project;
use crate::serve::routes::Who;
use crate::serve::tool::{blocking, invalid, parted, unreadable};
use index::read::{Edge, Node};
use index::store::Operation;
use query::memory as rows;

/// Both ends of a relation, and the forms of links from one to the other.
struct Ends {
    from: Node,
    /// The name of the other end; as given if it does not resolve.
    to: String,
    /// Why it does not resolve.
    missing: Option<ErrorView>,
    /// Link targets, as written, that resolve to `to`.
    written: BTreeSet<String>,
    /// Possible targets of a new link, best first.
    targets: Vec<String>,
    scope: Scope,
}

/// Resolves the ends of a relation to be created: both must exist.
fn ends(project: &Project, from: &str, to: &str) -> Result<Ends, (String, ErrorView)> {
    let ends = stated_ends(project, from, to)?;
    match ends.missing {
        Some(error) => Err((to.to_string(), error)),
        None => Ok(ends),
    }
}

/// Resolves the ends of a stated relation: its target may be missing, or gone.
fn stated_ends(project: &Project, from: &str, to: &str) -> Result<Ends, (String, ErrorView)> {
    let named = |error: ErrorView, name: &str| (name.to_string(), error);
    let snapshot = project.snapshot().map_err(|error| named(unreadable(error), from))?;
    let one = rows::named_to_change(&snapshot, from).map_err(|error| named(error, from))?;
    let (other, missing) = match rows::named(&snapshot, to) {
        Ok(other) => (Some(other), None),
        Err(error) if is_missing(&error) => (None, Some(error)),
        Err(error) => return Err(named(error, to)),
    };
    let rest = || -> Result<_, ErrorView> {
        let edges = snapshot.memory().edges(Some(one.doc)).map_err(unreadable)?;
        let leads_there = |it: &Edge| match (&other, it.to) {
            (Some(other), leads_to) => leads_to == Some(other.doc),
            (None, leads_to) => leads_to.is_none() && it.target == to.trim(),
        };
        let leading = edges.into_iter().filter(|it| it.from == one.doc && leads_there(it));
        let mut written: BTreeSet<String> = leading.map(|it| it.target).collect();
        let targets = match &other {
            Some(other) => rows::link_targets(&snapshot, &one, other)?,
            None => vec![],
        };
        // Includes the targets of links written a moment ago, and of new ones.
        written.extend(targets.iter().cloned());
        Ok((written, targets, scope_of(&ledger(project)?, &one)?))
    };
    let (written, targets, scope) = rest().map_err(|error| named(error, from))?;
    let to = other.map_or_else(|| to.trim().to_string(), |other| other.name);
    Ok(Ends { from: one, to, missing, written, targets, scope })
}

impl Ends {
    /// Returns the link of a stated relation of a type.
    fn find<'s>(&self, stated: &'s [Stated], relation_type: &str) -> Option<&'s Stated> {
        stated
            .iter()
            .find(|it| it.relation_type == relation_type && self.written.contains(&it.target))
    }

    fn view(&self, relation_type: &str) -> MemoryRelation {
        MemoryRelation {
            from: self.from.name.clone(),
            to: self.to.clone(),
            relation_type: relation_type.to_string(),
        }
    }
}

fn type_of(text: &str) -> Result<String, ErrorView> {
    let text = text.trim();
    match text.is_empty() {
        true => Err(invalid("a relation's type is empty".into(), "say how they are related")),
        false => Ok(text.to_string()),
    }
}

/// Creates relations.
pub async fn create_relations(
    project: Arc<Project>,
    request: CreateRelations,
    who: Who,
) -> Result<CreatedRelationsReply, ErrorView> {
    let (relations, failed) = parted(batch("relations", request.relations)?);
    let worker = project.clone();
    let (mut reply, aftermath) = blocking(move || {
        let mut aftermath = Aftermath::default();
        let mut reply = CreatedRelationsReply { failed, ..CreatedRelationsReply::default() };
        for key in &relations {
            match create(&worker, key, &who, &mut aftermath) {
                Ok((relation, true)) => reply.created.push(relation),
                Ok((relation, false)) => reply.already_existed.push(relation),
                Err((name, error)) if is_missing(&error) => {
                    if !reply.not_found.contains(&name) {
                        reply.not_found.push(name);
                    }
                }
                Err((name, error)) => reply.failed.push(item_error(&name, error)),
            }
        }
        Ok((reply, aftermath))
    })
    .await?;
    aftermath.settle(&project).await?;
    reply.freshness = project.freshness_now().map_err(unreadable)?;
    Ok(reply)
}

/// Creates a relation; returns it, and whether it is new.
fn create(
    project: &Project,
    key: &RelationKey,
    who: &Who,
    aftermath: &mut Aftermath,
) -> Result<(MemoryRelation, bool), (String, ErrorView)> {
    let failed = |error: ErrorView| (key.from_entity.clone(), error);
    let relation_type = type_of(&key.relation_type).map_err(failed)?;
    check_secrets([relation_type.as_str()]).map_err(failed)?;
    let ends = ends(project, &key.from_entity, &key.to_entity)?;
    let plan = |text: &str| {
        if ends.find(&read(text).relations, &relation_type).is_some() {
            return Ok((vec![], false));
        }
        // If a name or path cannot be written in a link, the next target is tried.
        let add = |target: &String| add_relation(text, ends.scope, &relation_type, target);
        let mut tried = add(ends.targets.first().unwrap_or(&ends.to));
        for target in ends.targets.iter().skip(1) {
            tried = tried.or_else(|_| add(target));
        }
        Ok((tried?, true))
    };
    let changed = project.notes().change(&ends.from.path, plan);
    let (_, is_new) = changed.map_err(|error| failed(refused(error)))?;
    if is_new {
        aftermath.note(who, Operation::Relate, &ends.from.path, &ends.from.name, 0);
    }
    Ok((ends.view(&relation_type), is_new))
}

/// Deletes relations.
pub async fn delete_relations(
    project: Arc<Project>,
    request: DeleteRelations,
    who: Who,
) -> Result<DeletedRelationsReply, ErrorView> {
    let (relations, failed) = parted(batch("relations", request.relations)?);
    let worker = project.clone();
    let (mut reply, aftermath) = blocking(move || {
        let mut aftermath = Aftermath::default();
        let mut reply = DeletedRelationsReply { failed, ..DeletedRelationsReply::default() };
        for key in &relations {
            let done = stated_ends(&worker, &key.from_entity, &key.to_entity).and_then(|ends| {
                let wanted = |it: &Stated| {
                    it.relation_type == key.relation_type.trim()
                        && ends.written.contains(&it.target)
                };
                let removed = remove_from(&worker, &ends.from, wanted);
                let removed = removed.map_err(|error| (key.from_entity.clone(), refused(error)))?;
                Ok((ends, removed.2))
            });
            match done {
                Ok((_, 0)) => reply.not_found += 1,
                Ok((ends, _)) => {
                    reply.deleted += 1;
                    aftermath.note(&who, Operation::Relate, &ends.from.path, &ends.from.name, 0);
                }
                Err((_, error)) if is_missing(&error) => reply.not_found += 1,
                Err((name, error)) => reply.failed.push(item_error(&name, error)),
            }
        }
        Ok((reply, aftermath))
    })
    .await?;
    aftermath.settle(&project).await?;
    reply.freshness = project.freshness_now().map_err(unreadable)?;
    Ok(reply)
}

/// Removes relations from a note; returns what was written, the text before, and the number of
/// relations.
pub(super) fn remove_from(
    project: &Project,
    node: &Node,
    wanted: impl Fn(&Stated) -> bool,
) -> Result<(Written, String, usize), NoteError> {
    let plan = |text: &str| {
        let links: Vec<_> =
            read(text).relations.iter().filter(|it| wanted(it)).map(|it| it.link.clone()).collect();
        Ok((remove_relations(text, &links)?, (text.to_string(), links.len())))
    };
    let (written, (before, n)) = project.notes().change(&node.path, plan)?;
    Ok((written, before, n))
}

/// Renames the type of a relation.
pub async fn update_relation_type(
    project: Arc<Project>,
    request: UpdateRelationType,
    who: Who,
) -> Result<UpdatedRelationReply, ErrorView> {
    check_secrets([request.new_type.as_str()])?;
    let (old_type, new_type) = (type_of(&request.old_type)?, type_of(&request.new_type)?);
    let (worker, types) = (project.clone(), (old_type.clone(), new_type.clone()));
    let ends = blocking(move || {
        let ends = stated_ends(&worker, &request.from_entity, &request.to_entity);
        let ends = ends.map_err(|(_, error)| error)?;
        let plan = |text: &str| {
            let node = read(text);
            let Some(it) = ends.find(&node.relations, &types.0) else { return Ok((vec![], false)) };
            // If the new relation exists already, the old one is only removed.
            let changes = match ends.find(&node.relations, &types.1) {
                Some(_) if types.0 != types.1 => {
                    remove_relations(text, std::slice::from_ref(&it.link))?
                }
                _ => retype_relation(text, ends.scope, &it.link, &types.1)?,
            };
            Ok((changes, true))
        };
        let (_, is_there) = worker.notes().change(&ends.from.path, plan).map_err(refused)?;
        if is_there {
            return Ok(ends);
        }
        if let Some(missing) = ends.missing {
            return Err(missing);
        }
        Err(ErrorView::hinted(
            Code::NotFound,
            format!("`{}` states no relation `{}` with `{}`", ends.from.name, types.0, ends.to),
            "`get_relations_between` lists them",
        ))
    })
    .await?;
    let mut aftermath = Aftermath::default();
    aftermath.note(&who, Operation::Relate, &ends.from.path, &ends.from.name, 0);
    aftermath.settle(&project).await?;
    Ok(UpdatedRelationReply {
        from_entity: ends.from.name,
        to_entity: ends.to,
        old_type,
        new_type,
        freshness: project.freshness_now().map_err(unreadable)?,
    })
}
