//! Look: notes that somebody changed a moment ago are indexed before a tool answers from the index.
//!
//! In: a folder of notes, the arguments of the call. Out: nothing; the index shows that folder, and the notes elsewhere
//! that are entities, as they lie there now, as far as the watcher would notice.
//! Invariants: bounded, by the number of notes that are looked at, of those that are indexed, and by time; where there
//! are more notes, those of the entities that the call names are looked at; what is not done by then, the watcher does;
//! it fails nothing. After a start the bounds are wider: the first crawl must have compared everything, or what was
//! deleted while no daemon ran would still seem to be there.
//! Not here: what differs (`engine/watch/digest.rs`).

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};
use tokio::time::Instant;

use super::{blocking, unreadable};
use crate::project::Project;
use index::store::Snapshot;
use model::terms::RelPath;
use query::{AskError, memory as rows};

/// Most notes that are looked at: each call costs a look at the size and time of every one.
const MAX_LOOKED: usize = 5_000;

/// Most names of one call by which notes are looked at where there are more.
const MAX_NAMED: usize = 100;

/// Parameters that name entities.
const NAMES: [&str; 11] = [
    "name",
    "names",
    "entity_name",
    "entityName",
    "entity_names",
    "entityNames",
    "from",
    "to",
    "from_entity",
    "to_entity",
    "nodes",
];

/// Most notes that are indexed: more than that is no edit by hand, but a copy.
const MAX_CHANGED: usize = 256;

/// Longest that an answer waits.
const PATIENCE: Duration = Duration::from_secs(2);

/// Has the index show the notes of a folder as they lie there now.
pub async fn look(project: &Arc<Project>, folder: &str, arguments: &Map<String, Value>) {
    let (mut most, mut patience) = (MAX_CHANGED, PATIENCE);
    if project.is_catching_up() {
        // Half of what the request may take: the answer must be made, too.
        patience = Duration::from_millis(project.settings.serve.request_deadline_ms / 2);
        most = MAX_LOOKED;
    }
    let until = Instant::now() + patience;
    let _ = tokio::time::timeout_at(until, project.watcher().opened()).await;
    let (worker, folder) = (project.clone(), folder.trim_matches('/').to_string());
    let names = names_in(arguments);
    let changed = blocking(move || {
        let snapshot = worker.snapshot().map_err(unreadable)?;
        let named = if is_large(&snapshot)? { named(&snapshot, &names) } else { vec![] };
        let others = elsewhere(&snapshot)?;
        Ok(worker.watcher().changed(&folder, &others, &named, MAX_LOOKED))
    });
    let Ok(changed) = changed.await else { return };
    if (1..=most).contains(&changed.len()) {
        let indexed = project.index_now(&changed, false, &|_| {});
        let _ = tokio::time::timeout_at(until, indexed).await;
    }
}

/// The names of entities in the arguments of a call.
fn names_in<'a>(arguments: &'a Map<String, Value>) -> Vec<String> {
    let fields = |map: &'a Map<String, Value>| {
        map.iter().map(|(key, value)| (NAMES.contains(&key.as_str()), value))
    };
    let mut open: Vec<(bool, &Value)> = fields(arguments).collect();
    let mut names = Vec::new();
    while let Some((is_name, value)) = open.pop() {
        match value {
            Value::String(name) if is_name && names.len() < MAX_NAMED => names.push(name.clone()),
            Value::Array(all) => open.extend(all.iter().map(|it| (is_name, it))),
            Value::Object(map) => open.extend(fields(map)),
            _ => {}
        }
    }
    names
}

/// Whether there are more entities than are looked at.
fn is_large(snapshot: &Snapshot) -> Result<bool, AskError> {
    let sql = "SELECT count(*) FROM (SELECT 1 FROM memory_nodes WHERE is_node LIMIT ?1)";
    let n: i64 = snapshot.query_row(sql, [MAX_LOOKED as i64 + 1], |row| row.get(0))?;
    Ok(n > MAX_LOOKED as i64)
}

/// Where the notes of entities lie.
fn named(snapshot: &Snapshot, names: &[String]) -> Vec<RelPath> {
    let found = names.iter().filter_map(|name| rows::named(snapshot, name).ok());
    found.map(|node| RelPath::new(node.path)).collect()
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_call_names_entities_by_many_parameters() {
        for (arguments, names) in [
            (json!({"names": ["Ada", "Bob"], "query": "x"}), vec!["Ada", "Bob"]),
            (json!({"observations": [{"entityName": "Ada", "contents": ["to x"]}]}), vec!["Ada"]),
            (
                json!({"relations": [{"from": "Ada", "to": "Bob", "relationType": "t"}]}),
                vec!["Ada", "Bob"],
            ),
            (json!({"query": "x", "limit": 3}), vec![]),
        ] {
            let mut found = names_in(arguments.as_object().expect("a map"));
            found.sort();
            assert_eq!(found, names, "{arguments}");
        }
    }
}
