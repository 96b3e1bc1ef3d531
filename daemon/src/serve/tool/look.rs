//! Look: notes that somebody changed a moment ago are indexed before a tool answers from the index.
//!
//! In: a folder of notes. Out: nothing; the index shows that folder, and the notes elsewhere that are entities, as they
//! lie there now, by size and time of change.
//! Invariants: bounded, by the number of notes that are looked at, of those that are indexed, and by time; what is not
//! done by then, the watcher does; it fails nothing.

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::{blocking, unreadable};
use crate::ask::AskError;
use crate::project::Project;
use crate::store::Snapshot;
use crate::terms::RelPath;

/// Most notes that are looked at: 5,000 take some milliseconds.
const MAX_LOOKED: usize = 5_000;

/// Most notes that are indexed: more than that is no edit by hand, but a copy or a first crawl.
const MAX_CHANGED: usize = 256;

/// Longest that an answer waits.
const PATIENCE: Duration = Duration::from_secs(2);

/// Size and time of change.
type Stat = (u64, i64);

/// Has the index show the notes of a folder as they lie there now.
pub async fn look(project: &Arc<Project>, folder: &str) {
    let (worker, folder) = (project.clone(), folder.trim_matches('/').to_string());
    let changed = blocking(move || {
        let snapshot = worker.snapshot().map_err(unreadable)?;
        Ok(changed(&worker.root, &snapshot, &folder)?)
    });
    let Ok(changed) = changed.await else { return };
    if (1..=MAX_CHANGED).contains(&changed.len()) {
        let indexed = project.index_now(&changed, false, &|_| {});
        let _ = tokio::time::timeout(PATIENCE, indexed).await;
    }
}

/// Notes that are not as the index has them: changed, new, or gone.
fn changed(root: &Path, snapshot: &Snapshot, folder: &str) -> Result<Vec<RelPath>, AskError> {
    let mut known = stats(
        snapshot,
        "SELECT path, n_bytes, mtime_ms FROM docs WHERE is_note AND substr(path, 1, length(?1)) = ?1 LIMIT ?2",
        &if folder.is_empty() { String::new() } else { format!("{folder}/") },
    )?;
    let mut there = HashMap::new();
    if known.len() > MAX_LOOKED || !walk(root, folder, &mut there) {
        return Ok(vec![]);
    }
    let elsewhere = stats(
        snapshot,
        "SELECT d.path, d.n_bytes, d.mtime_ms FROM memory_nodes n JOIN docs d ON d.id = n.doc_id
         WHERE n.is_node AND NOT n.in_folder AND ?1 = ?1 LIMIT ?2",
        folder,
    )?;
    if known.len() + elsewhere.len() <= MAX_LOOKED {
        for (path, stat) in elsewhere {
            if let Some(now) = stat_of(&root.join(&path)) {
                there.insert(path.clone(), now);
            }
            known.insert(path, stat);
        }
    }
    let gone = known.keys().filter(|path| !there.contains_key(*path));
    let differs = there.iter().filter(|(path, stat)| known.get(*path) != Some(stat));
    let mut changed: Vec<RelPath> =
        gone.chain(differs.map(|it| it.0)).map(|path| RelPath::new(path.clone())).collect();
    changed.sort();
    Ok(changed)
}

fn stats(snapshot: &Snapshot, sql: &str, about: &str) -> Result<HashMap<String, Stat>, AskError> {
    let mut statement = snapshot.prepare_cached(sql)?;
    let rows = statement.query_map((about, MAX_LOOKED as i64 + 1), |row| {
        Ok((row.get(0)?, (row.get::<_, i64>(1)?.max(0) as u64, row.get(2)?)))
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// The Markdown files below a folder; false when there are too many.
fn walk(root: &Path, folder: &str, found: &mut HashMap<String, Stat>) -> bool {
    let mut folders = vec![folder.to_string()];
    let mut n_seen = 0;
    while let Some(folder) = folders.pop() {
        let Ok(entries) = fs::read_dir(root.join(&folder)) else { continue };
        for entry in entries.flatten() {
            n_seen += 1;
            if n_seen > MAX_LOOKED {
                return false;
            }
            let Ok(name) = entry.file_name().into_string() else { continue };
            let Ok(kind) = entry.file_type() else { continue };
            let path = if folder.is_empty() { name.clone() } else { format!("{folder}/{name}") };
            match kind.is_dir() {
                // Those of programs.
                _ if name.starts_with('.') => {}
                true => folders.push(path),
                false if name.ends_with(".md") => {
                    if let Some(stat) = stat_of(&entry.path()) {
                        found.insert(path, stat);
                    }
                }
                false => {}
            }
        }
    }
    true
}

fn stat_of(path: &Path) -> Option<Stat> {
    let it = fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
    Some((it.len(), it.mtime().saturating_mul(1_000).saturating_add(it.mtime_nsec() / 1_000_000)))
}
