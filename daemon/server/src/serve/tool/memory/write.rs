//! The memory tools that change entities and their observations.

use std::collections::HashMap;
use std::sync::Arc;

use jiff::Timestamp;
use notes::edit::memory::{
    Added, NewEntity, Numbered, Removed, Scope, add_facts, adopt, facts_of, remove_facts,
    render_entity, replace_fact, settle,
};
use notes::edit::{Change, EditError, Op, apply, compose, edit};
use notes::filename::file_name;
use notes::memory::SUMMARY;
use notes::resolve::name_key;
use proto::error::{Code, ErrorView};
use proto::tool::memory::{
    AddObservations, AddedObservations, AddedReply, CreateEntities, CreatedEntitiesReply,
    CreatedEntity, DeleteObservations, DeletedObservations, DeletedObservationsReply,
    ExistingEntity, FactView, NewMemoryEntity, NewObservations, ObservationDeletion,
    ReplaceObservation, ReplacedReply, SetSummary, SetTags, SummaryReply, TagsReply,
};

use super::{Aftermath, batch, check_secrets, item_error, ledger, on_node, refused, scope_of};
use crate::notes::{NoteError, Overwrite};
use crate::project::Project;
use crate::serve::routes::Who;
use crate::serve::tool::{blocking, invalid, parted, sorted_tags, unfit_tag, unreadable};
use index::read::Node;
use index::store::Operation;
use query::browse::rfc3339;
use query::memory as rows;

/// Most file names tried for one entity.
const MAX_FILES: usize = 100;

/// Creates entities.
pub async fn create_entities(
    project: Arc<Project>,
    request: CreateEntities,
    who: Who,
) -> Result<CreatedEntitiesReply, ErrorView> {
    let (entities, failed) = parted(batch("entities", request.entities)?);
    let worker = project.clone();
    let (mut reply, aftermath) = blocking(move || {
        let mut aftermath = Aftermath::default();
        let mut reply = CreatedEntitiesReply { failed, ..CreatedEntitiesReply::default() };
        // The index does not know yet what this batch made; as in the reference server, the first one counts.
        let mut made_here: HashMap<String, ExistingEntity> = HashMap::new();
        for mut new in entities {
            let name = new.name.clone();
            let (tags, unfit) = sorted_tags(&new.tags.take().unwrap_or_default());
            new.tags = Some(tags);
            // The entity is made without them.
            reply.failed.extend(unfit.iter().map(|tag| item_error(&name, unfit_tag(tag))));
            let observations = new.observations.clone().unwrap_or_default();
            let has_summary = new.summary.as_ref().is_some_and(|it| !it.trim().is_empty());
            let earlier = made_here.get(&name_key(&name)).cloned();
            match earlier.map_or_else(|| create(&worker, new), |it| Ok(Made::There(it))) {
                Ok(Made::New(made, highest)) => {
                    let (path, name) = (made.path.as_str(), made.name.as_str());
                    let there = ExistingEntity {
                        name: name.to_string(),
                        path: path.to_string(),
                        not_added: vec![],
                    };
                    made_here.insert(name_key(name), there);
                    aftermath.note(&who, Operation::Create, path, name, highest);
                    if has_summary {
                        aftermath.note(&who, Operation::Summarize, path, name, 0);
                    }
                    reply.entities.push(made);
                }
                Ok(Made::There(there)) => {
                    reply.existing.push(ExistingEntity { not_added: observations, ..there });
                }
                Err(error) => reply.failed.push(item_error(&name, error)),
            }
        }
        Ok((reply, aftermath))
    })
    .await?;
    let troubles = aftermath.settle(&project).await?;
    for made in &reply.entities {
        let Some(why) = troubles.get(&made.path) else { continue };
        let error =
            ErrorView { code: Code::Unavailable, message: why.clone(), hint: None, conflict: None };
        reply.failed.push(item_error(&made.name, error));
    }
    reply.freshness = project.freshness_now().map_err(unreadable)?;
    Ok(reply)
}

enum Made {
    New(CreatedEntity, u64),
    There(ExistingEntity),
}

fn create(project: &Project, new: NewMemoryEntity) -> Result<Made, ErrorView> {
    let name = new.name.trim().to_string();
    if name.is_empty() {
        return Err(invalid("`name` is empty".into(), "give the entity a name"));
    }
    let snapshot = project.snapshot().map_err(unreadable)?;
    let there = rows::by_name(&snapshot, &name)?;
    drop(snapshot);
    if let Some(there) = there.as_ref().filter(|it| it.is_node) {
        let (name, path) = (there.name.clone(), there.path.clone());
        return Ok(Made::There(ExistingEntity { name, path, not_added: vec![] }));
    }
    let entity = NewEntity {
        name: name.clone(),
        entity_type: new.entity_type.trim().to_string(),
        observations: new.observations.unwrap_or_default(),
        summary: new.summary,
        tags: new.tags.unwrap_or_default(),
    };
    let texts = [&entity.name, &entity.entity_type].into_iter().chain(&entity.summary);
    let texts = texts.chain(&entity.observations).chain(&entity.tags);
    check_secrets(texts.map(String::as_str))?;
    if let Some(there) = there {
        return adopted(project, there, entity);
    }
    let text = render_entity(&entity).map_err(|why| {
        invalid(why.to_string(), "observations and names are texts, tags have no blanks")
    })?;
    let highest = notes::memory::read(&text).highest();
    let folder = project.settings.memory.folder.trim_matches('/');
    let file = file_name(&name);
    let stem = file.trim_end_matches(".md");
    for number in 1..=MAX_FILES {
        let file = if number == 1 { file.clone() } else { format!("{stem}-{number}.md") };
        let path = format!("{folder}/{file}");
        match project.notes().write(&path, &text, Overwrite::No, None) {
            Ok(written) => {
                let made = CreatedEntity {
                    name,
                    entity_type: entity.entity_type,
                    created_at: rfc3339(Timestamp::now().as_millisecond()),
                    path: written.path.to_string(),
                    was_note: false,
                };
                return Ok(Made::New(made, highest));
            }
            // Another agent may have just created it.
            Err(NoteError::Exists { path, .. }) => {
                let there = project.notes().read(&path).map_err(refused)?;
                let node = notes::memory::read(&there.text);
                let there = node.name.unwrap_or_else(|| stem.to_string());
                if name_key(&there) == name_key(&name) {
                    return Ok(Made::There(ExistingEntity {
                        name: there,
                        path,
                        not_added: vec![],
                    }));
                }
            }
            Err(error) => return Err(error.view()),
        }
    }
    Err(ErrorView::hinted(
        Code::Exists,
        format!("`{folder}` has {MAX_FILES} files of that name"),
        "choose another name",
    ))
}

/// Turns a note that has the name but no type into an entity.
fn adopted(project: &Project, there: Node, entity: NewEntity) -> Result<Made, ErrorView> {
    let scope = scope_of(&ledger(project)?, &there)?;
    let plan = |text: &str| adopt(text, scope, &entity);
    let (_, Added { added, .. }) = project.notes().change(&there.path, plan).map_err(refused)?;
    let highest = added.iter().map(|it| it.ordinal).max().unwrap_or(0);
    let made = CreatedEntity {
        name: there.name,
        entity_type: entity.entity_type,
        created_at: rfc3339(Timestamp::now().as_millisecond()),
        path: there.path,
        was_note: true,
    };
    Ok(Made::New(made, highest))
}

/// Sets a key of the front matter, and writes out implicit ordinals with it.
fn with_key(text: &str, scope: Scope, op: &Op) -> Result<Vec<Change>, EditError> {
    let settled = settle(text, scope);
    let changes = edit(&apply(text, &settled), op)?;
    // An edit without effect must not write.
    if changes.is_empty() { Ok(vec![]) } else { Ok(compose(&settled, &changes)) }
}

/// Sets the summary of an entity.
pub async fn set_summary(
    project: Arc<Project>,
    request: SetSummary,
    who: Who,
) -> Result<SummaryReply, ErrorView> {
    let summary = request.summary.trim().to_string();
    check_secrets([summary.as_str()])?;
    let op = match summary.is_empty() {
        true => Op::RemoveKey(SUMMARY.into()),
        false => Op::SetKey { key: SUMMARY.into(), value: summary.clone().into() },
    };
    let (node, ()) = on_node(&project, &request.name, move |project, node, scope| {
        let plan = |text: &str| Ok((with_key(text, scope, &op)?, ()));
        project.notes().change(&node.path, plan).map_err(refused).map(|_| ())
    })
    .await?;
    let now = Timestamp::now().as_millisecond();
    let mut aftermath = Aftermath::default();
    aftermath.note(&who, Operation::Summarize, &node.path, &node.name, 0);
    aftermath.settle(&project).await?;
    let freshness = project.freshness_now().map_err(unreadable)?;
    Ok(SummaryReply { name: node.name, summary, updated_at: rfc3339(now), freshness })
}

/// Replaces the tags of an entity.
pub async fn set_tags(
    project: Arc<Project>,
    request: SetTags,
    who: Who,
) -> Result<TagsReply, ErrorView> {
    // First of all, because the errors of a tag quote it.
    check_secrets(request.tags.iter().map(String::as_str))?;
    let (tags, unfit) = sorted_tags(&request.tags);
    if let Some(tag) = unfit.first() {
        return Err(unfit_tag(tag));
    }
    let op = match tags.is_empty() {
        true => Op::RemoveKey("tags".into()),
        false => Op::SetKey { key: "tags".into(), value: tags.clone().into() },
    };
    let (node, ()) = on_node(&project, &request.name, move |project, node, scope| {
        let plan = |text: &str| Ok((with_key(text, scope, &op)?, ()));
        project.notes().change(&node.path, plan).map_err(refused).map(|_| ())
    })
    .await?;
    let mut aftermath = Aftermath::default();
    aftermath.note(&who, Operation::Tag, &node.path, &node.name, 0);
    aftermath.settle(&project).await?;
    Ok(TagsReply { name: node.name, tags, freshness: project.freshness_now().map_err(unreadable)? })
}

fn shown(project: &Project, path: &str, facts: Vec<Numbered>) -> Vec<FactView> {
    let view = |it: Numbered| FactView {
        ordinal: it.ordinal,
        content: project.notes().shown(path, &it.content),
    };
    facts.into_iter().map(view).collect()
}

/// Adds observations.
pub async fn add_observations(
    project: Arc<Project>,
    request: AddObservations,
    who: Who,
) -> Result<AddedReply, ErrorView> {
    let observations = batch("observations", request.observations)?;
    let worker = project.clone();
    let (mut reply, aftermath) = blocking(move || {
        let (mut reply, mut aftermath) = (AddedReply::default(), Aftermath::default());
        for item in observations {
            let done = item.and_then(|item| {
                let name = item.entity_name.clone();
                let done = add(&worker, item, &who, &mut aftermath);
                done.map_err(|error| item_error(&name, error))
            });
            reply.results.push(done.unwrap_or_else(|error| AddedObservations {
                entity_name: error.name.clone(),
                not_found: error.code == Code::NotFound,
                error: Some(error),
                ..AddedObservations::default()
            }));
        }
        Ok((reply, aftermath))
    })
    .await?;
    aftermath.settle(&project).await?;
    reply.freshness = project.freshness_now().map_err(unreadable)?;
    Ok(reply)
}

fn add(
    project: &Project,
    item: NewObservations,
    who: &Who,
    aftermath: &mut Aftermath,
) -> Result<AddedObservations, ErrorView> {
    let snapshot = project.snapshot().map_err(unreadable)?;
    let node = rows::named_to_change(&snapshot, &item.entity_name)?;
    drop(snapshot);
    check_secrets(item.contents.iter().map(String::as_str))?;
    let scope = scope_of(&ledger(project)?, &node)?;
    let plan = |text: &str| add_facts(text, scope, &item.contents);
    let (written, Added { added, existing }) =
        project.notes().change(&node.path, plan).map_err(refused)?;
    if written.is_changed() {
        let highest = added.iter().map(|it| it.ordinal).max().unwrap_or(0);
        aftermath.note(who, Operation::Observe, &node.path, &node.name, highest);
    }
    Ok(AddedObservations {
        entity_name: node.name,
        added: shown(project, &node.path, added),
        existing: shown(project, &node.path, existing),
        not_found: false,
        error: None,
    })
}

/// Replaces one observation.
pub async fn replace_observation(
    project: Arc<Project>,
    request: ReplaceObservation,
    who: Who,
) -> Result<ReplacedReply, ErrorView> {
    let ReplaceObservation { entity_name, ordinal, new_content } = request;
    check_secrets([new_content.as_str()])?;
    let with = new_content.clone();
    let (node, (old_content, new_content, is_changed)) =
        on_node(&project, &entity_name, move |project, node, scope| {
            let plan = |text: &str| replace_fact(text, scope, ordinal, &with);
            let change = project.notes().change(&node.path, plan);
            let (written, old) = change.map_err(|error| no_ordinal(error, node, ordinal))?;
            let shown = |text: &str| project.notes().shown(&node.path, text);
            Ok((shown(&old), shown(&with), written.is_changed()))
        })
        .await?;
    let mut aftermath = Aftermath::default();
    if is_changed {
        aftermath.note(&who, Operation::Observe, &node.path, &node.name, ordinal);
    }
    aftermath.settle(&project).await?;
    let freshness = project.freshness_now().map_err(unreadable)?;
    Ok(ReplacedReply { entity_name: node.name, ordinal, old_content, new_content, freshness })
}

fn no_ordinal(error: NoteError, node: &Node, ordinal: u64) -> ErrorView {
    match error {
        NoteError::Edit { why: EditError::NoItem(_), .. } => ErrorView {
            code: Code::NotFound,
            message: format!("`{}` has no observation {ordinal}", node.name),
            hint: Some("`open_nodes` lists them".into()),
            conflict: None,
        },
        error => error.view(),
    }
}

/// Deletes observations.
pub async fn delete_observations(
    project: Arc<Project>,
    request: DeleteObservations,
    who: Who,
) -> Result<DeletedObservationsReply, ErrorView> {
    let deletions = batch("deletions", request.deletions)?;
    let worker = project.clone();
    let (mut reply, aftermath) = blocking(move || {
        let mut reply = DeletedObservationsReply::default();
        let mut aftermath = Aftermath::default();
        for item in deletions {
            let done = item.and_then(|item| {
                let name = item.entity_name.clone();
                let done = remove(&worker, item, &who, &mut aftermath);
                done.map_err(|error| item_error(&name, error))
            });
            reply.results.push(done.unwrap_or_else(|error| DeletedObservations {
                entity_name: error.name.clone(),
                not_found: error.code == Code::NotFound,
                error: Some(error),
                ..DeletedObservations::default()
            }));
        }
        Ok((reply, aftermath))
    })
    .await?;
    aftermath.settle(&project).await?;
    reply.freshness = project.freshness_now().map_err(unreadable)?;
    Ok(reply)
}

fn remove(
    project: &Project,
    item: ObservationDeletion,
    who: &Who,
    aftermath: &mut Aftermath,
) -> Result<DeletedObservations, ErrorView> {
    let snapshot = project.snapshot().map_err(unreadable)?;
    let node = rows::named_to_change(&snapshot, &item.entity_name)?;
    drop(snapshot);
    if item.ordinals.is_none() && item.observations.is_none() {
        let hint = "say which: `ordinals`, or `observations` word for word";
        return Err(invalid("neither `ordinals` nor `observations`".into(), hint));
    }
    let scope = scope_of(&ledger(project)?, &node)?;
    let plan = |text: &str| {
        let mut ordinals = item.ordinals.clone().unwrap_or_default();
        let mut not_found = Vec::new();
        let there = facts_of(text, scope);
        for wanted in item.observations.iter().flatten() {
            let matching = there.iter().filter(|it| it.content == *wanted).map(|it| it.ordinal);
            let before = ordinals.len();
            ordinals.extend(matching);
            if ordinals.len() == before {
                not_found.push(wanted.clone());
            }
        }
        ordinals.sort_unstable();
        ordinals.dedup();
        let (changes, removed) = remove_facts(text, scope, &ordinals)?;
        ordinals.retain(|it| !removed.missing.contains(it));
        Ok((changes, (ordinals, removed, not_found)))
    };
    let (written, (deleted, Removed { missing, below, highest }, not_found)) =
        project.notes().change(&node.path, plan).map_err(refused)?;
    if written.is_changed() {
        aftermath.note(who, Operation::Forget, &node.path, &node.name, highest);
    }
    let below = below.iter().map(|line| project.notes().shown(&node.path, line)).collect();
    Ok(DeletedObservations {
        entity_name: node.name,
        deleted_ordinals: deleted,
        deleted_below: below,
        not_found_ordinals: missing,
        not_found_observations: not_found,
        not_found: false,
        error: None,
    })
}
