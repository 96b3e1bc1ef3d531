//! Look: notes that somebody changed a moment ago are indexed before a tool answers from the index.
//!
//! In: a folder of notes. Out: nothing; the index shows that folder, and the notes elsewhere that are entities, as they
//! lie there now, as far as the watcher would notice.
//! Invariants: bounded, by the number of notes that are looked at, of those that are indexed, and by time; what is not
//! done by then, the watcher does; it fails nothing.
//! Not here: what differs (`pipeline/watch/digest.rs`).

use std::sync::Arc;
use std::time::Duration;

use super::{blocking, unreadable};
use crate::ask::AskError;
use crate::project::Project;
use crate::store::Snapshot;
use crate::terms::RelPath;

/// Most notes that are looked at: each call costs a look at the size and time of every one.
const MAX_LOOKED: usize = 5_000;

/// Most notes that are indexed: more than that is no edit by hand, but a copy or a first crawl.
const MAX_CHANGED: usize = 256;

/// Longest that an answer waits.
const PATIENCE: Duration = Duration::from_secs(2);

/// Has the index show the notes of a folder as they lie there now.
pub async fn look(project: &Arc<Project>, folder: &str) {
    let (worker, folder) = (project.clone(), folder.trim_matches('/').to_string());
    let changed = blocking(move || {
        let snapshot = worker.snapshot().map_err(unreadable)?;
        Ok(worker.watcher().changed(&folder, &elsewhere(&snapshot)?, MAX_LOOKED))
    });
    let Ok(changed) = changed.await else { return };
    if (1..=MAX_CHANGED).contains(&changed.len()) {
        let indexed = project.index_now(&changed, false, &|_| {});
        let _ = tokio::time::timeout(PATIENCE, indexed).await;
    }
}

/// Notes that are entities and lie outside the folder of memory.
fn elsewhere(snapshot: &Snapshot) -> Result<Vec<RelPath>, AskError> {
    let mut statement = snapshot.prepare_cached(
        "SELECT d.path FROM memory_nodes n JOIN docs d ON d.id = n.doc_id
         WHERE n.is_node AND NOT n.in_folder LIMIT ?1",
    )?;
    let rows = statement.query_map([MAX_LOOKED as i64 + 1], |row| row.get::<_, String>(0))?;
    Ok(rows.map(|path| path.map(RelPath::new)).collect::<Result<_, _>>()?)
}
