//! `kb_maintain`: statistics and maintenance of entries.

use std::collections::BTreeMap;
use std::sync::Arc;

use notes::edit::{Change, apply};
use notes::entry::{EntryEdit, file_name, id_text};
use proto::error::{Code, ErrorView};
use proto::tool::kb::{KbAction, KbMaintain, KbMaintainReply, KbStats, VersionView};

use super::super::unavailable;
use super::store::{Stored, change, rewrite};
use super::{
    blocking, by_hand, check_id, enrich, entry_named, folder, index, invalid, ledger, library,
    record, refused, stalled, unreadable, version_of,
};
use crate::notes::Overwrite;
use crate::project::Project;
use crate::serve::routes::Who;
use ::index::store::{KbRecord, KbVersion, NewVersion, Snapshot};
use model::terms::RelPath;
use query::browse::rfc3339;
use query::kb::{EntryRow, Library, decay};

/// Most problems of notes that are listed.
const MAX_DOUBTS: usize = 100;

const DAY_MS: i64 = 86_400_000;

/// Days after which an inactive entry may be purged.
const DAYS_INACTIVE: u32 = 90;

/// Runs one maintenance action.
pub async fn kb_maintain(
    project: Arc<Project>,
    request: KbMaintain,
    who: Who,
) -> Result<KbMaintainReply, ErrorView> {
    let action = request.action;
    let records = matches!(
        action,
        KbAction::Deactivate
            | KbAction::Reactivate
            | KbAction::Restore
            | KbAction::Enrich
            | KbAction::ForgetEnriched
            | KbAction::PurgeInactive
    );
    if let Some(lost) = project.lost_ledger().filter(|_| records) {
        return Err(unavailable(lost));
    }
    let reply = match action {
        KbAction::Stats => stats(&project).await?,
        KbAction::Deactivate => activate(&project, &request, &who, false).await?,
        KbAction::Reactivate => activate(&project, &request, &who, true).await?,
        KbAction::EntryVersions => versions(&project, &request).await?,
        KbAction::Restore => restore(&project, &request, &who).await?,
        KbAction::RebuildEmbeddings => rebuild(&project, request.force == Some(true)).await?,
        KbAction::RebuildGraph => {
            rebuild(&project, true).await?;
            let stats = stats(&project).await?;
            let counts = stats.stats.unwrap_or_default();
            let (n_nodes, n_edges): (u64, u64) =
                (counts.nodes.values().sum(), counts.edges.values().sum());
            let message = format!(
                "the graph was read again from {} entries: {n_nodes} nodes, {n_edges} relations",
                counts.active
            );
            KbMaintainReply { message, stats: Some(counts), ..KbMaintainReply::default() }
        }
        KbAction::Enrich => enrich::again(&project, request.entry_id.as_deref()).await?,
        KbAction::ForgetEnriched => enrich::forget(&project, request.entry_id.as_deref()).await?,
        KbAction::PurgeInactive => purge(&project, &request).await?,
        KbAction::Vacuum => KbMaintainReply {
            message: "nothing to do: the index gives free room back by itself whenever it rests"
                .into(),
            ..KbMaintainReply::default()
        },
    };
    let freshness = project.freshness_now().map_err(unreadable)?;
    Ok(KbMaintainReply { action, freshness, ..reply })
}

fn needed(request: &KbMaintain) -> Result<&str, ErrorView> {
    request.entry_id.as_deref().filter(|it| !it.trim().is_empty()).ok_or_else(|| {
        invalid("`entry_id` is missing".into(), "say which entry, such as `kb-00042`")
    })
}

async fn stats(project: &Arc<Project>) -> Result<KbMaintainReply, ErrorView> {
    let worker = project.clone();
    blocking(move || {
        let snapshot = worker.snapshot().map_err(unreadable)?;
        let library = library(&worker, &snapshot)?;
        let files = ledger(&worker)?.all_ingested().map_err(unreadable)?;
        let active: Vec<&EntryRow> =
            library.entry_index.entries().filter(|row| row.entry.is_active).collect();
        let confidences = active.iter().map(|row| library.confidence(row));
        let confidences = confidences.collect::<Result<Vec<f64>, _>>()?;
        let under = |least: f64| confidences.iter().filter(|it| **it < least).count();
        let (mut by_type, mut by_project) = (BTreeMap::new(), BTreeMap::new());
        for row in &active {
            *by_type.entry(row.entry_type.as_str().to_string()).or_insert(0) += 1;
            if let Some(project) = &row.entry.project {
                *by_project.entry(project.clone()).or_insert(0) += 1;
            }
        }
        let (nodes, edges) = library.entry_index.graph.counts();
        let n_all = library.entry_index.entries().count() as u64;
        let stats = KbStats {
            entries: n_all,
            active: active.len() as u64,
            stale: under(decay::WARNED_UNDER) as u64,
            hidden: under(decay::HIDDEN_UNDER) as u64,
            by_type,
            by_project,
            with_embeddings: n_all - without_vectors(&library, &snapshot)?.len() as u64,
            nodes,
            edges,
            enrichment: enrich::counts(&worker, &library),
            ingested_files: files.iter().filter(|it| it.is_active).count() as u64,
            duplicates: library.entry_index.duplicates(),
            doubts: library.entry_index.doubts().into_iter().take(MAX_DOUBTS).collect(),
        };
        let message = format!("{} entries, {} of them count", stats.entries, stats.active);
        Ok(KbMaintainReply { message, stats: Some(stats), ..KbMaintainReply::default() })
    })
    .await
}

/// Returns the paths of entries without a vector.
fn without_vectors(library: &Library, snapshot: &Snapshot) -> Result<Vec<String>, ErrorView> {
    let mut paths = Vec::new();
    for row in library.entry_index.entries() {
        if !snapshot.files().has_vector(row.doc).map_err(unreadable)? {
            paths.push(row.path.clone());
        }
    }
    Ok(paths)
}

async fn activate(
    project: &Arc<Project>,
    request: &KbMaintain,
    who: &Who,
    is_active: bool,
) -> Result<KbMaintainReply, ErrorView> {
    let id = needed(request)?;
    let edit = EntryEdit { is_active: Some(is_active), ..EntryEdit::default() };
    let what = if is_active { "Reactivated" } else { "Deactivated" };
    let reason = match request.change_reason.as_deref().filter(|it| !it.trim().is_empty()) {
        Some(reason) => format!("{what}: {reason}"),
        None => what.to_string(),
    };
    let stored = change(project, id, edit, who, reason, false).await?;
    let message = match stored.is_changed {
        true => format!("{what} {}", id_text(stored.number)),
        false => format!("{} is unchanged", id_text(stored.number)),
    };
    settled(project, stored, message).await
}

/// Returns an entry after a write.
async fn settled(
    project: &Arc<Project>,
    stored: Stored,
    message: String,
) -> Result<KbMaintainReply, ErrorView> {
    index(project, &[RelPath::new(stored.path.clone())]).await?;
    let worker = project.clone();
    blocking(move || {
        let snapshot = worker.snapshot().map_err(unreadable)?;
        let library = library(&worker, &snapshot)?;
        let entry =
            library.entry_index.get(stored.number).map(|row| library.view(row)).transpose()?;
        Ok(KbMaintainReply { message, entry, ..KbMaintainReply::default() })
    })
    .await
}

/// Stores a person's edit as a version.
async fn keep_hand_edit(project: &Arc<Project>, row: &EntryRow) -> Result<(), ErrorView> {
    let (worker, row) = (project.clone(), row.clone());
    let version = blocking(move || {
        let note = worker.notes().read(&row.path).map_err(refused)?;
        Ok(by_hand(&worker, &row, &note.text))
    })
    .await?;
    record(project, vec![KbRecord::Version(version)]).await.map(drop)
}

async fn versions(
    project: &Arc<Project>,
    request: &KbMaintain,
) -> Result<KbMaintainReply, ErrorView> {
    let id = needed(request)?;
    let number = check_id(id)?;
    let row = match entry_named(project, id).await {
        Ok(row) => Some(row),
        // If its note was deleted, the versions are still there.
        Err(error) if super::is_missing(&error) => None,
        Err(error) => return Err(error),
    };
    if let Some(row) = &row {
        keep_hand_edit(project, row).await?;
    }
    let (worker, wanted) = (project.clone(), request.version);
    blocking(move || {
        let kept = ledger(&worker)?.versions(number).map_err(unreadable)?;
        if kept.is_empty() {
            return Err(no_version(number, None));
        }
        if let Some(wanted) = wanted.filter(|wanted| kept.iter().all(|it| it.version != *wanted)) {
            return Err(no_version(number, Some(wanted)));
        }
        let snapshot = worker.snapshot().map_err(unreadable)?;
        let library = library(&worker, &snapshot)?;
        let message = format!("{} versions of {}", kept.len(), id_text(number));
        let versions = kept.into_iter().map(|it| view(it, wanted)).collect();
        let entry = library.entry_index.get(number).map(|row| library.view(row)).transpose()?;
        Ok(KbMaintainReply { message, entry, versions, ..KbMaintainReply::default() })
    })
    .await
}

fn view(it: KbVersion, wanted: Option<u64>) -> VersionView {
    VersionView {
        version: it.version,
        created_at: rfc3339(it.at_ms),
        client: it.client,
        change_reason: it.reason,
        confidence: it.confidence,
        short_title: it.title,
        text: (wanted == Some(it.version)).then_some(it.text),
    }
}

fn no_version(number: u64, version: Option<u64>) -> ErrorView {
    let id = id_text(number);
    let message = match version {
        Some(version) => format!("{id} has no version {version}"),
        None => format!("no entry `{id}`"),
    };
    ErrorView::hinted(Code::NotFound, message, "`entry_versions` lists the stored versions")
}

async fn restore(
    project: &Arc<Project>,
    request: &KbMaintain,
    who: &Who,
) -> Result<KbMaintainReply, ErrorView> {
    let id = needed(request)?;
    let number = check_id(id)?;
    let Some(wanted) = request.version else {
        return Err(invalid(
            "`version` is missing".into(),
            "`entry_versions` lists the stored versions",
        ));
    };
    let worker = project.clone();
    let kept = blocking(move || {
        let kept = ledger(&worker)?.versions(number).map_err(unreadable)?;
        kept.into_iter()
            .find(|it| it.version == wanted)
            .ok_or_else(|| no_version(number, Some(wanted)))
    })
    .await?;
    let given = request.change_reason.as_deref().filter(|it| !it.trim().is_empty());
    let reason = match given {
        Some(given) => format!("Restored version {wanted}: {given}"),
        None => format!("Restored version {wanted}"),
    };
    let message = format!("{} is as in version {wanted} again", id_text(number));
    let text = kept.text.clone();
    let plan = move |now: &str| {
        Ok(if now == text {
            vec![]
        } else {
            vec![Change { span: 0..now.len(), replacement: text.clone() }]
        })
    };
    match rewrite(project, id, plan, who, reason.clone(), true).await {
        Err(error) if error.code == Code::NotFound => {}
        done => return settled(project, done?, message).await,
    }
    // Its note is gone, so it is created again.
    let (worker, client) = (project.clone(), who.client.clone());
    let (version, path) = blocking(move || {
        let path = format!("{}/{}", folder(&worker), file_name(number, &kept.title));
        let written =
            worker.notes().write(&path, &kept.text, Overwrite::No, None).map_err(refused)?;
        let path = written.path.to_string();
        let version = version_of(&worker, number, &path, &apply(&kept.text, &[]));
        Ok((NewVersion { client, reason, ..version }, path))
    })
    .await?;
    let versions = record(project, vec![KbRecord::Version(version)]).await?;
    let version = versions.first().copied().unwrap_or(0);
    settled(project, Stored { number, path, version, is_changed: true }, message).await
}

/// Reprocesses the notes of entries: those without vectors, or all.
async fn rebuild(project: &Arc<Project>, is_all: bool) -> Result<KbMaintainReply, ErrorView> {
    let worker = project.clone();
    let paths = blocking(move || {
        let snapshot = worker.snapshot().map_err(unreadable)?;
        let library = library(&worker, &snapshot)?;
        let paths: Vec<String> = match is_all {
            true => library.entry_index.entries().map(|row| row.path.clone()).collect(),
            false => without_vectors(&library, &snapshot)?,
        };
        Ok(paths.into_iter().map(RelPath::new).collect::<Vec<_>>())
    })
    .await?;
    let indexed = project.index_now(&paths, true, &|_| {}).await.map_err(stalled)?;
    let message = match paths.len() {
        0 => "every entry has its vectors".to_string(),
        n => format!("{n} entries were read again, {} of them failed", indexed.failed.len()),
    };
    Ok(KbMaintainReply { message, ..KbMaintainReply::default() })
}

async fn purge(project: &Arc<Project>, request: &KbMaintain) -> Result<KbMaintainReply, ErrorView> {
    let days = request.days_inactive.unwrap_or(DAYS_INACTIVE);
    if days == 0 {
        return Err(invalid("`days_inactive` is 0".into(), "give at least 1"));
    }
    if request.confirm != Some(true) {
        let hint =
            "say `confirm: true`; versions are lost, notes are kept for 30 days (`kgctl restore`)";
        return Err(invalid("`purge_inactive` deletes entries".into(), hint));
    }
    let worker = project.clone();
    let (purged, paths) = blocking(move || {
        let snapshot = worker.snapshot().map_err(unreadable)?;
        let library = library(&worker, &snapshot)?;
        let before_ms = super::now_ms() - i64::from(days) * DAY_MS;
        let (mut purged, mut paths) = (Vec::new(), Vec::new());
        for row in library.entry_index.entries().filter(|row| !row.entry.is_active) {
            if library.times(row)?.updated_ms >= before_ms {
                continue;
            }
            let written = worker.notes().remove(&row.path, None).map_err(refused)?;
            purged.push(row.number);
            paths.push(written.path);
        }
        Ok((purged, paths))
    })
    .await?;
    record(project, purged.iter().map(|number| KbRecord::Purged(*number)).collect()).await?;
    index(project, &paths).await?;
    let message = match purged.len() {
        0 => format!("no entry has not counted for {days} days"),
        n => format!("{n} entries were deleted that had not counted for {days} days"),
    };
    let purged = purged.into_iter().map(id_text).collect();
    Ok(KbMaintainReply { message, purged, ..KbMaintainReply::default() })
}
