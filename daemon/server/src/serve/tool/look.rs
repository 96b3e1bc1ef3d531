//! Look: indexes notes that changed a moment ago before a tool answers from the index.
//!
//! In: a folder of notes, the arguments of the call. Out: nothing; the index then shows that
//! folder, and the notes elsewhere that are entities, in their current state, as far as the watcher
//! would notice.
//! Invariants: bounded by the number of notes that are checked, by the number that are indexed, and
//! by time; if there are more notes, only those of the entities that the call names are checked;
//! whatever is not done by then is left to the watcher; a failure here never fails the call. After
//! a start the bounds are wider: the first crawl must have compared everything, or notes that were
//! deleted while no daemon ran would still seem to exist.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};
use tokio::time::Instant;

use super::{blocking, unreadable};
use crate::project::Project;
use index::store::Snapshot;
use model::terms::RelPath;
use query::memory as rows;

/// Most notes that are checked: each call reads the size and time of every one.
const MAX_LOOKED: usize = 5_000;

/// Most names in one call whose notes are checked if there are more notes than that.
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

/// Most notes that are indexed: more changes come from a copy, not from editing by hand.
const MAX_CHANGED: usize = 256;

/// Longest delay of an answer.
const PATIENCE: Duration = Duration::from_secs(2);

/// Indexes the notes of a folder in their current state.
pub async fn look(project: &Arc<Project>, folder: &str, arguments: &Map<String, Value>) {
    let (mut most, mut patience) = (MAX_CHANGED, PATIENCE);
    if project.is_catching_up() {
        // Half of the request's time; the rest is for the answer.
        patience = Duration::from_millis(project.settings.serve.request_deadline_ms / 2);
        most = MAX_LOOKED;
    }
    let until = Instant::now() + patience;
    let _ = tokio::time::timeout_at(until, project.watcher().opened()).await;
    let (worker, folder) = (project.clone(), folder.trim_matches('/').to_string());
    let names = names_in(arguments);
    let changed = blocking(move || {
        let snapshot = worker.snapshot().map_err(unreadable)?;
        let files = snapshot.files();
        let is_large = files.are_more_of_memory(MAX_LOOKED).map_err(unreadable)?;
        let named = if is_large { named(&snapshot, &names) } else { vec![] };
        let others = files.of_memory_elsewhere(MAX_LOOKED + 1).map_err(unreadable)?;
        let others: Vec<RelPath> = others.into_iter().map(RelPath::new).collect();
        Ok(worker.watcher().changed(&folder, &others, &named, MAX_LOOKED))
    });
    let Ok(changed) = changed.await else { return };
    if (1..=most).contains(&changed.len()) {
        let indexed = project.index_now(&changed, false, &|_| {});
        let _ = tokio::time::timeout_at(until, indexed).await;
    }
}

/// Returns the names of entities in the arguments of a call.
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

/// Returns the paths of the notes of entities.
fn named(snapshot: &Snapshot, names: &[String]) -> Vec<RelPath> {
    let found = names.iter().filter_map(|name| rows::named(snapshot, name).ok());
    found.map(|node| RelPath::new(node.path)).collect()
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
