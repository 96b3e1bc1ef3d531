//! `kb_store` and `kb_store_batch`.

use std::sync::Arc;

use notes::edit::Change;
use notes::entry::{self, EntryEdit, file_name, id_text, number_of};
use proto::error::{Code, ErrorView};
use proto::tool::kb::{
    EntryType, EntryView, KbBatchReply, KbStore, KbStoreBatch, KbStored, NewKbEntry,
};
use proto::tool::memory::ItemError;
use serde_json::{Map, Value};

use super::{
    batch_of, blocking, by_hand, check_secrets, edges_of, entry_named, folder, index, invalid,
    item_error, last_number_in_folder, library, parted, record, record_written, refused, type_text,
    unavailable, unreadable, version_of,
};
use crate::errand::carrying;
use crate::notes::{NoteError, Overwrite};
use crate::project::Project;
use crate::serve::routes::Who;
use crate::serve::tool::{sorted_tags, unfit_tag};
use ::index::store::{KbRecord, NewVersion};
use engine::write::Command;
use model::terms::RelPath;
use query::kb::{Library, decay};

/// Most entries per batch (S2).
const MAX_BATCH: usize = 10;

/// Longest titles, characters.
const MAX_TITLE: usize = 200;

/// How often another number is tried if somebody just created a file of that name.
const MAX_TRIES: usize = 5;

/// The result of storing an entry.
pub(super) struct Stored {
    pub(super) number: u64,
    pub(super) path: String,
    pub(super) version: u64,
    pub(super) is_changed: bool,
}

/// Stores a new entry, or changes one.
pub async fn kb_store(
    project: Arc<Project>,
    request: KbStore,
    who: Who,
) -> Result<KbStored, ErrorView> {
    let reason = request.change_reason.clone().filter(|it| !it.trim().is_empty());
    let (action, stored) = match (&request.update_entry_id, &request.deactivate_entry_id) {
        (Some(_), Some(_)) => {
            let hint = "change an entry, or deactivate it";
            return Err(invalid("both `update_entry_id` and `deactivate_entry_id`".into(), hint));
        }
        (None, Some(id)) => {
            let edit = EntryEdit { is_active: Some(false), ..EntryEdit::default() };
            let reason = reason.map_or("Deactivated".into(), |it| format!("Deactivated: {it}"));
            let stored = change(&project, id, edit, &who, reason, false).await?;
            (if stored.is_changed { "deactivated" } else { "unchanged" }, stored)
        }
        (Some(id), None) => {
            let is_stated = reason.is_some();
            let reason = reason.unwrap_or_else(|| "Updated".into());
            let edit = checked(edit_of(&request))?;
            check_others(id, edit.hints.as_ref())?;
            let stored = change(&project, id, edit, &who, reason, is_stated).await?;
            (if stored.is_changed { "updated" } else { "unchanged" }, stored)
        }
        (None, None) => {
            let new = checked(whole(edit_of(&request))?)?;
            let why = reason.map_or_else(String::new, |it| format!(": {}", it.trim()));
            ("created", create(&project, new, &who, &format!("Initial creation{why}")).await?)
        }
    };
    let troubles = index(&project, &[RelPath::new(stored.path.clone())]).await?;
    let hints = request.hints;
    blocking(move || {
        let snapshot = project.snapshot().map_err(unreadable)?;
        let library = library(&project, &snapshot)?;
        let row = library.named(&id_text(stored.number))?;
        let mut warnings: Vec<String> = troubles.into_values().collect();
        warnings.extend(missing_entries(&library, hints.as_ref()));
        warnings.extend(library.entry_index.doubts_of(row));
        Ok(KbStored {
            action: action.into(),
            entry: library.view(row)?,
            version: stored.version,
            edges: edges_of(&library, stored.number),
            warnings,
            freshness: project.freshness(&snapshot),
        })
    })
    .await
}

/// Parses the entries that hints state, in any form.
fn stated_in(hints: Option<&Map<String, Value>>) -> entry::Entry {
    entry::of(&Map::from_iter(hints.map(|it| ("hints".into(), Value::Object(it.clone())))))
}

/// Refuses an entry that would supersede itself.
fn check_others(id: &str, hints: Option<&Map<String, Value>>) -> Result<(), ErrorView> {
    let stated = stated_in(hints);
    let own = number_of(id);
    match stated.supersedes.iter().chain(&stated.superseded_by).any(|it| Some(*it) == own) {
        true => Err(invalid(format!("`{id}` would supersede itself"), "name other entries")),
        false => Ok(()),
    }
}

/// Returns a warning for hints that name missing entries: they have no target until those exist.
fn missing_entries(library: &Library, hints: Option<&Map<String, Value>>) -> Vec<String> {
    let stated = stated_in(hints);
    let others = stated.supersedes.iter().chain(&stated.superseded_by);
    let mut named: Vec<String> = others.map(|it| id_text(*it)).collect();
    match hints.and_then(|hints| hints.get("related_entities")) {
        Some(Value::String(id)) => named.push(id.clone()),
        Some(Value::Array(ids)) => {
            let id =
                |it: &Value| it.as_str().or(it.get("id").and_then(Value::as_str)).map(String::from);
            named.extend(ids.iter().filter_map(id));
        }
        _ => {}
    }
    let is_missing = |id: &String| {
        !id.contains(':') && number_of(id).is_some_and(|it| library.entry_index.get(it).is_none())
    };
    let warning = |id: String| format!("no entry `{id}` is there: the relation to it is not made");
    named.into_iter().filter(is_missing).map(warning).collect()
}

fn edit_of(request: &KbStore) -> EntryEdit {
    EntryEdit {
        short_title: request.short_title.clone(),
        long_title: request.long_title.clone(),
        details: request.knowledge_details.clone(),
        entry_type: request.entry_type.map(type_text),
        project: request.project_ref.clone(),
        tags: request.tags.clone(),
        hints: request.hints.clone(),
        confidence: request.confidence_level,
        source_context: request.source_context.clone(),
        extracted_from: None,
        is_active: None,
    }
}

/// Checks that a new entry has all required fields.
pub(super) fn whole(mut new: EntryEdit) -> Result<EntryEdit, ErrorView> {
    let is_given = |text: &Option<String>| text.as_ref().is_some_and(|it| !it.trim().is_empty());
    for (name, value) in [("short_title", &new.short_title), ("knowledge_details", &new.details)] {
        if !is_given(value) {
            let hint = "a new entry needs `short_title` and `knowledge_details`; `update_entry_id` changes one";
            return Err(invalid(format!("`{name}` is missing"), hint));
        }
    }
    new.long_title = new.long_title.filter(|it| !it.trim().is_empty());
    new.entry_type = new.entry_type.or_else(|| Some(type_text(EntryType::default())));
    new.confidence = new.confidence.or(Some(decay::USUAL));
    new.project = new.project.filter(|it| !it.trim().is_empty());
    new.tags = new.tags.filter(|it| !it.is_empty());
    new.is_active = Some(true);
    Ok(new)
}

/// Checks that an edit can be stored.
pub(super) fn checked(mut edit: EntryEdit) -> Result<EntryEdit, ErrorView> {
    // Before anything else, because the other errors quote the text.
    let hints = edit.hints.as_ref().map(|it| Value::Object(it.clone()).to_string());
    let texts = [&edit.short_title, &edit.long_title, &edit.details, &edit.source_context];
    let texts = texts.into_iter().chain([&edit.project, &hints]).flatten();
    check_secrets(texts.chain(edit.tags.iter().flatten()).map(String::as_str))?;
    for (name, title) in
        [("short_title", &mut edit.short_title), ("long_title", &mut edit.long_title)]
    {
        let Some(title) = title else { continue };
        let is_gap = |c: char| c.is_whitespace() || c.is_control();
        *title = title.split(is_gap).filter(|it| !it.is_empty()).collect::<Vec<_>>().join(" ");
        match title.chars().count() {
            0 => {
                return Err(invalid(
                    format!("`{name}` is empty"),
                    "leave it out, or say something",
                ));
            }
            1..=MAX_TITLE => {}
            n => return Err(invalid(format!("`{name}` has {n} characters"), "give at most 200")),
        }
    }
    if edit.details.as_ref().is_some_and(|it| it.trim().is_empty()) {
        let hint = "leave it out, or say something; `deactivate_entry_id` makes an entry not count";
        return Err(invalid("`knowledge_details` is empty".into(), hint));
    }
    if let Some(confidence) = edit.confidence.filter(|it| !(0.0..=1.0).contains(it)) {
        return Err(invalid(
            format!("`confidence_level` is {confidence}"),
            "give a number from 0 to 1",
        ));
    }
    for key in ["supersedes", "superseded_by"] {
        let Some(value) = edit.hints.as_ref().and_then(|hints| hints.get(key)) else { continue };
        check_names_entries(key, value)?;
    }
    if let Some(tags) = &mut edit.tags {
        let (clean, unfit) = sorted_tags(tags);
        if let Some(tag) = unfit.first() {
            return Err(unfit_tag(tag));
        }
        *tags = clean;
    }
    Ok(edit)
}

/// Refuses a value that names no entry, because its relation would be lost; an empty value removes
/// the relations.
fn check_names_entries(key: &str, value: &Value) -> Result<(), ErrorView> {
    match entry::names_entries_only(value) {
        true => Ok(()),
        false => Err(invalid(
            format!("`hints.{key}` does not name an entry"),
            "give ids of entries, such as [\"kb-00042\"]",
        )),
    }
}

/// Creates a new entry; it is then in the ledger but not indexed yet.
pub(super) async fn create(
    project: &Arc<Project>,
    new: EntryEdit,
    who: &Who,
    reason: &str,
) -> Result<Stored, ErrorView> {
    // An entry that cannot be written must not use up an id.
    check_secrets([rendered(0, &new)?.as_str()])?;
    for _ in 0..MAX_TRIES {
        let worker = project.clone();
        let floor = blocking(move || {
            let snapshot = worker.snapshot().map_err(unreadable)?;
            let entry_index = worker.indexes.at(&snapshot, &worker.settings.kb.folder)?;
            Ok(entry_index.last_number().max(last_number_in_folder(&worker)))
        })
        .await?;
        let next = |reply| Command::NextEntry(floor, reply);
        let number: u64 = project.command(next).await.map_err(unavailable)?;
        let (worker, new) = (project.clone(), new.clone());
        let (client, reason) = (who.client.clone(), reason.to_string());
        // A task of its own: a caller who leaves now must not leave the write without its record.
        let writing = tokio::spawn(carrying(async move {
            let writer = worker.clone();
            let written = blocking(move || write_new(&writer, number, &new)).await?;
            let Some((version, path)) = written else { return Ok(None) };
            let version = NewVersion { client, reason, ..version };
            let records = vec![KbRecord::Version(version)];
            Ok(Some((record_written(&worker, &path, records).await?, path)))
        }));
        let written = writing.await.unwrap_or_else(|error| Err(unavailable(error.to_string())))?;
        let Some((versions, path)) = written else { continue };
        let version = versions.first().copied().unwrap_or(0);
        return Ok(Stored { number, path, version, is_changed: true });
    }
    Err(ErrorView::hinted(Code::Exists, "the files of the next entries already exist", "try again"))
}

fn rendered(number: u64, new: &EntryEdit) -> Result<String, ErrorView> {
    entry::render(number, new)
        .map_err(|why| invalid(why.to_string(), "titles, tags and hints are plain values"))
}

/// Writes the note of a new entry; `None` if a file of that name exists.
fn write_new(
    project: &Project,
    number: u64,
    new: &EntryEdit,
) -> Result<Option<(NewVersion, String)>, ErrorView> {
    let text = rendered(number, new)?;
    let name = file_name(number, new.short_title.as_deref().unwrap_or_default());
    let path = format!("{}/{name}", folder(project));
    match project.notes().write(&path, &text, Overwrite::No, None) {
        Ok(written) => {
            let path = written.path.to_string();
            Ok(Some((version_of(project, number, &path, &text), path)))
        }
        Err(NoteError::Exists { .. }) => Ok(None),
        Err(error) => Err(refused(error)),
    }
}

/// Changes an entry and records the version; the index follows later. If the caller stated the
/// reason (`is_stated`), an edit without effect makes a version, too: somebody has reviewed the
/// entry.
pub(super) async fn change(
    project: &Arc<Project>,
    id: &str,
    edit: EntryEdit,
    who: &Who,
    reason: String,
    is_stated: bool,
) -> Result<Stored, ErrorView> {
    let plan = move |text: &str| entry::change(text, &edit);
    rewrite(project, id, plan, who, reason, is_stated).await
}

/// Changes the note of an entry as `plan` decides.
pub(super) async fn rewrite(
    project: &Arc<Project>,
    id: &str,
    plan: impl Fn(&str) -> Result<Vec<Change>, notes::edit::EditError> + Send + 'static,
    who: &Who,
    reason: String,
    is_stated: bool,
) -> Result<Stored, ErrorView> {
    let row = entry_named(project, id).await?;
    let (number, path) = (row.number, row.path.clone());
    let (worker, client, of) = (project.clone(), who.client.clone(), path.clone());
    // A task of its own: a caller who leaves now must not leave the write without its record.
    let writing = tokio::spawn(carrying(async move {
        let _turn = worker.entries_turn.lock().await;
        let writer = worker.clone();
        let (before, after, is_changed) = blocking(move || {
            let plan = |text: &str| {
                let changes = plan(text)?;
                let after = notes::edit::apply(text, &changes);
                Ok((changes, (text.to_string(), after)))
            };
            let (written, (before, after)) =
                writer.notes().change(&row.path, plan).map_err(refused)?;
            let before = by_hand(&writer, &row, &before);
            let after = version_of(&writer, row.number, &row.path, &after);
            Ok((before, after, written.is_changed()))
        })
        .await?;
        let mut records = vec![KbRecord::Version(before)];
        if is_changed || is_stated {
            records.push(KbRecord::Version(NewVersion { client, reason, ..after }));
        }
        let recorded = match is_changed {
            true => record_written(&worker, &of, records).await,
            false => record(&worker, records).await,
        };
        Ok((recorded?, is_changed))
    }));
    let (versions, is_changed) =
        writing.await.unwrap_or_else(|error| Err(unavailable(error.to_string())))?;
    let version = versions.last().copied().unwrap_or(0);
    Ok(Stored { number, path, version, is_changed: is_changed || is_stated })
}

/// Stores several new entries.
pub async fn kb_store_batch(
    project: Arc<Project>,
    request: KbStoreBatch,
    who: Who,
) -> Result<KbBatchReply, ErrorView> {
    let (entries, failed) = parted(batch_of("entries", request.entries, MAX_BATCH)?);
    let mut reply = KbBatchReply { failed, ..KbBatchReply::default() };
    let (mut made, mut paths) = (Vec::new(), Vec::new());
    for item in entries {
        let name = item.short_title.clone();
        let new = whole(new_of(item)).and_then(checked);
        let stored = match new {
            Ok(new) => create(&project, new, &who, "Initial creation").await,
            Err(error) => Err(error),
        };
        match stored {
            Ok(stored) => {
                made.push(stored.number);
                paths.push(RelPath::new(stored.path));
            }
            Err(error) => reply.failed.push(item_error(&name, error)),
        }
    }
    let troubles = index(&project, &paths).await?;
    reply.failed.extend(troubles.into_iter().map(|(name, message)| ItemError {
        name,
        code: Code::Unavailable,
        message,
        hint: None,
    }));
    blocking(move || {
        let snapshot = project.snapshot().map_err(unreadable)?;
        let library = library(&project, &snapshot)?;
        let views = made.into_iter().filter_map(|number| library.entry_index.get(number));
        let entries: Vec<EntryView> =
            views.map(|row| library.view(row)).collect::<Result<_, _>>()?;
        Ok(KbBatchReply { entries, freshness: project.freshness(&snapshot), ..reply })
    })
    .await
}

fn new_of(item: NewKbEntry) -> EntryEdit {
    EntryEdit {
        short_title: Some(item.short_title),
        long_title: item.long_title,
        details: Some(item.knowledge_details),
        entry_type: item.entry_type.map(type_text),
        project: item.project_ref,
        tags: item.tags,
        hints: item.hints,
        confidence: item.confidence_level,
        source_context: item.source_context,
        extracted_from: None,
        is_active: None,
    }
}
