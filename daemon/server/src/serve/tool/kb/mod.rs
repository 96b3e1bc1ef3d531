//! Tools of entries (S2): each entry is a note, each version is in the ledger.
//!
//! In: requests. Out: replies, or refusals with code and hint.
//! Invariants: the notes are authoritative and are read in their current state, so what a person
//! edited by hand counts, and becomes a version when a tool next touches it; a number is never
//! reused; what was written is indexed before the answer is made; everything here works without a
//! model.

mod ask;
mod enrich;
mod extract;
mod files;
mod ingest;
mod maintain;
mod search;
mod store;

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use notes::entry::{self, Entry, id_text, number_of};
use proto::error::{Code, ErrorView};
use proto::tool::kb::EntryType;

pub use ask::*;
pub use ingest::*;
pub use maintain::*;
pub use search::*;
pub use store::*;

use super::{
    batch_of, blocking, check_secrets, invalid, item_error, parted, stalled, though_written,
    unavailable, unreadable,
};
use crate::notes::NoteError;
use crate::project::Project;
use crate::serve::routes::Who;
use engine::write::Command;
use index::store::{KbLedger, KbRecord, NewVersion, Snapshot};
use model::terms::{ContentHash, RelPath};
use query::kb::{EntryIndex, EntryRow, Library, decay, graph};

fn now_ms() -> i64 {
    Timestamp::now().as_millisecond()
}

fn ledger(project: &Project) -> Result<KbLedger, ErrorView> {
    KbLedger::open(&project.state_dir).map_err(unreadable)
}

pub(super) fn library(project: &Project, snapshot: &Snapshot) -> Result<Library, ErrorView> {
    let folder = &project.settings.kb.folder;
    Library::read(snapshot, &project.indexes, ledger(project)?, folder, now_ms())
}

pub(super) fn folder(project: &Project) -> &str {
    project.settings.kb.folder.trim_matches('/')
}

fn refused(error: NoteError) -> ErrorView {
    error.view()
}

/// Returns the file names in the folder of entries that start with an id, with its number.
fn names_in_folder(project: &Project) -> impl Iterator<Item = (u64, String)> {
    let listing = project.opened_root().ok().and_then(|root| root.list(folder(project)).ok());
    let entries = listing.map(|it| it.entries).unwrap_or_default();
    let names = entries.into_iter().filter_map(|(name, _)| name.into_string().ok());
    names.filter_map(|name| {
        let number = number_of(&name).filter(|_| name.ends_with(".md"))?;
        Some((number, name))
    })
}

/// Returns the files in the folder of entries that have these numbers.
fn files_in_folder(project: &Project, numbers: &[u64]) -> Vec<(u64, String)> {
    let wanted = names_in_folder(project).filter(|(number, _)| numbers.contains(number));
    let path = |(number, name): (u64, String)| (number, format!("{}/{name}", folder(project)));
    let mut files: Vec<(u64, String)> = wanted.map(path).collect();
    files.sort();
    files
}

/// Returns the greatest number of a file in the folder of entries.
fn last_number_in_folder(project: &Project) -> u64 {
    names_in_folder(project).map(|it| it.0).max().unwrap_or(0)
}

/// Indexes files in their current state; returns those that could not be indexed, by path.
async fn index(
    project: &Arc<Project>,
    paths: &[RelPath],
) -> Result<BTreeMap<String, String>, ErrorView> {
    if paths.is_empty() {
        return Ok(BTreeMap::new());
    }
    let indexed = project.index_now(paths, false, &|_| {}).await;
    let indexed = indexed.map_err(|stall| though_written(paths, stalled(stall)))?;
    let failures = indexed.failed.iter().map(|(path, (stage, reason))| {
        (path.to_string(), format!("`{path}` was not indexed ({stage}): {reason}"))
    });
    Ok(failures.collect())
}

async fn record(project: &Arc<Project>, records: Vec<KbRecord>) -> Result<Vec<u64>, ErrorView> {
    project.command(|reply| Command::RecordKb(records, reply)).await.map_err(unavailable)
}

/// Records what was done to a note whose file has already changed.
async fn record_written(
    project: &Arc<Project>,
    path: &str,
    records: Vec<KbRecord>,
) -> Result<Vec<u64>, ErrorView> {
    let recorded = record(project, records).await;
    recorded.map_err(|error| though_written(&[RelPath::new(path)], error))
}

/// Indexes the current notes of some entries; unknown ids are skipped.
async fn refreshed(project: &Arc<Project>, numbers: &[u64]) -> Result<(), ErrorView> {
    let (worker, wanted) = (project.clone(), numbers.to_vec());
    let paths = blocking(move || {
        let snapshot = worker.snapshot().map_err(unreadable)?;
        let entry_index = worker.indexes.at(&snapshot, &worker.settings.kb.folder)?;
        let mut paths: Vec<RelPath> = wanted
            .iter()
            .filter_map(|number| entry_index.get(*number))
            .map(|row| RelPath::new(row.path.clone()))
            .collect();
        let unknown = |number: &u64| entry_index.get(*number).is_none();
        if wanted.iter().any(unknown) {
            // A person may have just created one.
            let new = files_in_folder(&worker, &wanted).into_iter();
            let new = new.filter(|(number, _)| unknown(number));
            paths.extend(new.map(|(_, path)| RelPath::new(path)));
        }
        Ok(paths)
    })
    .await?;
    index(project, &paths).await.map(drop)
}

/// Returns the active entry whose whole content is a text, apart from whitespace.
pub(super) fn entry_with_text(
    project: &Project,
    snapshot: &Snapshot,
    text: &str,
) -> Result<Option<proto::tool::kb::EntryView>, ErrorView> {
    let library = library(project, snapshot)?;
    Ok(library.entry_index.with_body(text).map(|row| library.view(row)).transpose()?)
}

/// Returns the entry with an id, in its current state.
async fn entry_named(project: &Arc<Project>, id: &str) -> Result<EntryRow, ErrorView> {
    if let Some(number) = number_of(id) {
        refreshed(project, &[number]).await?;
    }
    let (worker, id) = (project.clone(), id.to_string());
    blocking(move || {
        let snapshot = worker.snapshot().map_err(unreadable)?;
        Ok(library(&worker, &snapshot)?.named(&id)?.clone())
    })
    .await
}

/// Builds a version from a note that was read or written.
fn version_of(project: &Project, number: u64, path: &str, text: &str) -> NewVersion {
    let values = notes::parse::frontmatter(text).map(|front| front.values).unwrap_or_default();
    let entry: Entry = entry::of(&values);
    NewVersion {
        entry: number,
        confidence: entry.confidence.unwrap_or(decay::USUAL),
        title: project.notes().shown(path, &entry.short_title.unwrap_or_default()),
        hash: ContentHash::of(text.as_bytes()).0.to_le_bytes(),
        text: project.notes().shown(path, text),
        ..NewVersion::default()
    }
}

/// Builds the version of a person's edit; it is stored unless it equals the newest one.
fn by_hand(project: &Project, row: &EntryRow, text: &str) -> NewVersion {
    NewVersion {
        client: "a person".into(),
        reason: "Edited by hand".into(),
        at_ms: Some(row.modified_ms),
        is_by_hand: true,
        ..version_of(project, row.number, &row.path, text)
    }
}

/// Stores the note of an entry as a version after a note tool has written it.
pub(super) async fn keep_version(
    project: &Arc<Project>,
    path: &str,
    who: &Who,
) -> Result<(), ErrorView> {
    let (worker, path, who) = (project.clone(), path.to_string(), who.clone());
    let written = path.clone();
    let version = blocking(move || {
        let snapshot = worker.snapshot().map_err(unreadable)?;
        let entry_index = worker.indexes.at(&snapshot, &worker.settings.kb.folder)?;
        let Some(row) = entry_at(&snapshot, &entry_index, &path)? else { return Ok(None) };
        let note = worker.notes().read(&path).map_err(refused)?;
        let version = version_of(&worker, row.number, &path, &note.text);
        let reason = format!("Written by `{}`", who.tool);
        Ok(Some(NewVersion { client: who.client, reason, ..version }))
    });
    if let Some(version) = version.await? {
        record_written(project, &written, vec![KbRecord::Version(version)]).await?;
    }
    Ok(())
}

/// Returns the entry whose note has a path.
fn entry_at<'s>(
    snapshot: &Snapshot,
    entry_index: &'s EntryIndex,
    path: &str,
) -> Result<Option<&'s EntryRow>, ErrorView> {
    let doc = snapshot.documents().at(path).map_err(unreadable)?;
    Ok(doc.and_then(|doc| entry_index.of_doc(doc)))
}

fn check_id(id: &str) -> Result<u64, ErrorView> {
    number_of(id).ok_or_else(|| {
        let shown: String = id.chars().filter(|c| !c.is_control()).take(80).collect();
        invalid(format!("`{shown}` is not the id of an entry"), "ids look like `kb-00042`")
    })
}

fn is_missing(error: &ErrorView) -> bool {
    error.code == Code::NotFound
}

/// Lists the relations that an entry states.
fn edges_of(library: &Library, number: u64) -> Vec<String> {
    let own = id_text(number);
    let outgoing = library.entry_index.graph.neighbors(&own).filter(|it| it.is_outgoing);
    outgoing.map(|it| format!("{} {}", graph::edge_label(it.edge, it.by), it.node)).collect()
}

fn type_text(entry_type: EntryType) -> String {
    entry_type.as_str().to_string()
}
