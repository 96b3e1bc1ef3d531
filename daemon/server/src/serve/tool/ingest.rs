//! `ingest_docs` and `extract_and_link`: index now, wait, report the result.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use confine::{Kind, Meta, Unfit, below};
use globset::{GlobBuilder, GlobMatcher};
use proto::error::{Code, ErrorView};
use proto::tool::core::{ExtractAndLink, ExtractReply, IngestDocs, IngestError, IngestReply};
use rustc_hash::FxHashSet;

use super::{blocking, invalid, stalled, unavailable, unreadable};
use crate::project::Project;
use crate::project::indexing::{Indexed, LONGEST};
use crate::serve::Progress;
use engine::watch::Verdict;
use engine::write::Command;
use index::store::{IngestRecord, Snapshot};
use model::terms::RelPath;
use redact::clean;

/// Most files per call.
const MAX_FILES: usize = 100_000;

/// Indexes files now and waits until they are searchable.
pub async fn ingest_docs(
    project: Arc<Project>,
    request: IngestDocs,
    progress: Progress,
) -> Result<IngestReply, ErrorView> {
    if request.paths.is_empty() {
        return Err(invalid(
            "`paths` is empty".into(),
            "name files, folders or globs inside the project",
        ));
    }
    let finder = project.clone();
    let wanted = request.paths.clone();
    let (files, mut errors) = blocking(move || find_files(&finder, &wanted)).await?;
    let has_record = request.tags.is_some() || request.source_url.is_some();
    let is_forced = request.skip_if_seen == Some(false);
    let mut outcome = run(&project, &files, is_forced, &progress).await?;
    if has_record {
        let kept: Vec<RelPath> =
            files.iter().filter(|path| !outcome.failed.contains_key(*path)).cloned().collect();
        let speaker = project.clone();
        // The rows must show the given tags even if the content is unchanged. A task of its own,
        // because a caller who leaves now must not leave one step without the other.
        let recording = tokio::spawn(async move {
            remember(&speaker, &request, kept.clone()).await?;
            run(&speaker, &kept, true, &progress).await
        });
        let again = recording.await.unwrap_or_else(|error| Err(unavailable(error.to_string())))?;
        outcome.ingested.extend(again.ingested);
        outcome.failed.extend(again.failed);
    }
    errors.extend(outcome.failed.iter().map(|(path, (stage, reason))| IngestError {
        path: path.to_string(),
        stage: stage.clone(),
        reason: reason.clone(),
    }));
    let ingested = outcome.ingested.iter().filter(|p| !outcome.failed.contains_key(*p)).count();
    Ok(IngestReply {
        ingested: ingested as u64,
        skipped: (files.len() - ingested - outcome.failed.len()) as u64,
        errors,
        freshness: project.freshness_now().map_err(unreadable)?,
    })
}

/// Indexes files now, with progress.
async fn run(
    project: &Project,
    files: &[RelPath],
    is_forced: bool,
    progress: &Progress,
) -> Result<Indexed, ErrorView> {
    let report = |done: usize| {
        progress.report(
            done as u64,
            Some(files.len() as u64),
            format!("{done} of {} files", files.len()),
        );
    };
    project.index_now(files, is_forced, &report).await.map_err(stalled)
}

async fn remember(
    project: &Project,
    request: &IngestDocs,
    paths: Vec<RelPath>,
) -> Result<(), ErrorView> {
    // The given tags and URL are stored as they are, so secrets are removed here.
    let tags = request.tags.iter().flatten().map(|tag| clean(tag).into_owned()).collect();
    let source_url = request.source_url.as_deref().map(|url| clean(url).into_owned());
    let record = IngestRecord { tags, source_url };
    project.command(|reply| Command::RecordIngest(paths, record, reply)).await.map_err(unavailable)
}

type Found = (Vec<RelPath>, Vec<IngestError>);

/// Returns the files that paths and globs match, each once, in order.
fn find_files(project: &Project, wanted: &[String]) -> Result<Found, ErrorView> {
    let mut files = BTreeSet::new();
    let mut errors = Vec::new();
    for text in wanted {
        let relative = inside(project, text)?;
        let found = found(project, &relative)?;
        if relative.contains(['*', '?', '[', '{']) && found.is_none() {
            let glob = matcher(&relative)?;
            let before = files.len();
            walk_read(project, "", &mut |path| {
                if glob.is_match(path) {
                    files.insert(RelPath::new(path));
                }
            });
            if files.len() == before {
                errors.push(missing(text, "no file matches this glob"));
            }
        } else if found.is_some_and(|meta| meta.is_folder()) {
            walk_read(project, &relative, &mut |path| {
                files.insert(RelPath::new(path));
            });
        } else if found.is_some() {
            files.insert(RelPath::new(relative));
        } else {
            errors.push(missing(
                text,
                "no such file; hint: paths are relative to the project's folder",
            ));
        }
        if files.len() > MAX_FILES {
            return Err(invalid(
                format!("`{text}` names more than {MAX_FILES} files"),
                "name fewer; the folder is watched anyway",
            ));
        }
    }
    Ok((files.into_iter().collect(), errors))
}

fn matcher(glob: &str) -> Result<GlobMatcher, ErrorView> {
    let built = GlobBuilder::new(glob).literal_separator(true).build();
    Ok(built
        .map_err(|e| {
            invalid(format!("`{glob}` is not a glob: {}", e.kind()), "use * ** ? [a-z] {a,b}")
        })?
        .compile_matcher())
}

fn missing(path: &str, reason: &str) -> IngestError {
    IngestError { path: path.into(), stage: "watch".into(), reason: reason.into() }
}

/// Returns a path or glob relative to the root; refuses whatever leads out of it.
pub(super) fn inside(project: &Project, text: &str) -> Result<String, ErrorView> {
    match below(&project.root, text) {
        Ok(relative) => Ok(relative),
        Err(Unfit::Outside) => Err(outside(project, text)),
        Err(Unfit::Bad(why)) => {
            Err(invalid(format!("`{text}` is not a path: {why}"), "give a path in the project"))
        }
    }
}

fn outside(project: &Project, text: &str) -> ErrorView {
    ErrorView::hinted(
        Code::OutsideProject,
        format!("`{text}` leads out of the project"),
        format!("give paths inside `{}`", project.root.display()),
    )
}

/// Returns the metadata at a path from [`inside`], following links; for a dangling link, that of
/// the link.
pub(super) fn found(project: &Project, path: &str) -> Result<Option<Meta>, ErrorView> {
    let root = project.opened_root().map_err(|error| unavailable(error.to_string()))?;
    match root.find(path) {
        Ok(found) => Ok(Some(found.meta)),
        Err(error) if error.leads_out() => Err(outside(project, path)),
        Err(_) => Ok(root.look(path).ok()),
    }
}

/// Visits every file below `folder` that the watcher would read.
fn walk_read(project: &Project, folder: &str, visit: &mut dyn FnMut(&str)) {
    walk(project, folder, &mut |path, kind| {
        match project.watcher().verdict(Path::new(&path), kind == Kind::Folder) {
            Verdict::Descend => return true,
            Verdict::Read => visit(&path),
            Verdict::Skip(_) => {}
        }
        false
    });
}

/// Visits everything below a folder; `visit` returns whether to descend into a folder. Links are
/// not followed.
pub(super) fn walk(project: &Project, top: &str, visit: &mut dyn FnMut(String, Kind) -> bool) {
    let Ok(root) = project.opened_root() else { return };
    let mut open = vec![top.to_string()];
    while let Some(folder) = open.pop() {
        let Ok(listing) = root.list(&folder) else { continue };
        for (name, kind) in &listing.entries {
            let kind = kind.or_else(|| Some(listing.meta_of(name).ok()?.kind));
            let (Some(name), Some(kind)) = (name.to_str(), kind) else { continue };
            let path = if folder.is_empty() { name.into() } else { format!("{folder}/{name}") };
            if visit(path.clone(), kind) && kind == Kind::Folder {
                open.push(path);
            }
        }
    }
}

struct Counts {
    mentions: i64,
    relations: i64,
    entities: FxHashSet<i64>,
}

/// Extracts again and waits until everything is linked.
pub async fn extract_and_link(
    project: Arc<Project>,
    request: ExtractAndLink,
    progress: Progress,
) -> Result<ExtractReply, ErrorView> {
    let reader = project.clone();
    let ids = request.doc_ids.unwrap_or_default();
    let (before, paths) = blocking(move || {
        let snapshot = reader.snapshot().map_err(unreadable)?;
        Ok((counts(&snapshot)?, paths_of(&snapshot, &ids)?))
    })
    .await?;
    run(&project, &paths, true, &progress).await?;
    let settled = project
        .wait_until(LONGEST, |project| {
            super::report_building(project, &progress);
            project.is_settled()
        })
        .await;
    if !settled {
        return Err(unavailable("the graph did not settle in time".into()));
    }
    blocking(move || {
        let snapshot = project.snapshot().map_err(unreadable)?;
        let after = counts(&snapshot)?;
        Ok(ExtractReply {
            mentions: after.mentions - before.mentions,
            entities_new: after.entities.difference(&before.entities).count() as i64,
            relations: after.relations - before.relations,
            freshness: project.freshness(&snapshot),
        })
    })
    .await
}

fn counts(snapshot: &Snapshot) -> Result<Counts, ErrorView> {
    let (mentions, relations) = snapshot.counts().of_graph().map_err(unreadable)?;
    let entities = snapshot.counts().entities().map_err(unreadable)?;
    Ok(Counts { mentions: mentions as i64, relations: relations as i64, entities })
}

fn paths_of(snapshot: &Snapshot, ids: &[i64]) -> Result<Vec<RelPath>, ErrorView> {
    let mut paths = Vec::new();
    for id in ids {
        let path = snapshot.documents().path(*id).map_err(unreadable)?.ok_or_else(|| {
            ErrorView::hinted(
                Code::NotFound,
                format!("no document {id}"),
                "take `doc_id` from a hybrid_query hit of this index",
            )
        })?;
        paths.push(RelPath::new(path));
    }
    Ok(paths)
}
