//! Found: the rows of a dump that concern the annotated documents.
//!
//! In: a dump. Out: mentions, names of entities, relations of each document.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use client::score::{MentionMark, RelationMark};
use serde::Deserialize;
use serde_json::Value;

use super::{Exit, Failure};

/// A relation that a document states.
#[derive(Debug, Clone)]
struct Stated {
    path: String,
    /// The ids of its ends.
    ends: [String; 2],
    predicate: String,
}

/// What kgd found in the annotated documents.
#[derive(Debug, Clone, Default)]
pub(super) struct Found {
    pub(super) mentions: Vec<MentionMark>,
    /// Names of all entities, by id.
    pub(super) names: HashMap<String, String>,
    /// A relation for each document that states it.
    relations: Vec<Stated>,
}

#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum DumpRow {
    Entity(EntityRow),
    Mention(MentionRow),
    Relation(RelationRow),
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
struct EntityRow {
    id: Value,
    name: String,
}

#[derive(Deserialize)]
struct MentionRow {
    path: String,
    span: [usize; 2],
    #[serde(rename = "type", default)]
    kind: String,
    #[serde(default)]
    entity: Value,
}

#[derive(Deserialize)]
struct RelationRow {
    subject_id: Value,
    predicate: String,
    object_id: Value,
    evidence: Vec<EvidenceRow>,
}

#[derive(Deserialize)]
struct EvidenceRow {
    path: String,
}

impl Found {
    /// Picks the rows about `documents` from a dump.
    pub(super) fn read(rows: &[Value], documents: &BTreeSet<String>) -> Result<Self, Failure> {
        let mut found = Found::default();
        for row in rows {
            let row = DumpRow::deserialize(row).map_err(|error| {
                Failure::new(
                    Exit::Failed,
                    format!("cannot parse a row of the dump: {error}: {row}"),
                )
            })?;
            match row {
                DumpRow::Entity(it) => {
                    found.names.insert(it.id.to_string(), it.name);
                }
                DumpRow::Mention(it) if documents.contains(&it.path) => {
                    found.mentions.push(mark(it))
                }
                DumpRow::Relation(it) => {
                    let stated: BTreeSet<_> =
                        it.evidence.iter().map(|evidence| &evidence.path).collect();
                    let stated = stated.into_iter().filter(|path| documents.contains(*path));
                    found.relations.extend(stated.map(|path| Stated {
                        path: path.clone(),
                        ends: [&it.subject_id, &it.object_id].map(Value::to_string),
                        predicate: it.predicate.clone(),
                    }));
                }
                DumpRow::Mention(_) | DumpRow::Other => {}
            }
        }
        Ok(found)
    }

    /// Returns the relations with the names of their ends.
    pub(super) fn relations(&self) -> Vec<RelationMark> {
        let name = |id: &String| self.names.get(id).cloned().unwrap_or_default();
        let mark = |it: &Stated| {
            let [subject, object] = it.ends.each_ref().map(name);
            RelationMark { path: it.path.clone(), subject, predicate: it.predicate.clone(), object }
        };
        self.relations.iter().map(mark).collect()
    }

    /// Renames each entity to the name that `given` used for it, if its mentions agree on one: the
    /// daemon may display another of its names, which other entities have, too.
    pub(super) fn call_as_given(&mut self, given: &[MentionMark]) {
        let spans: HashMap<_, _> =
            given.iter().map(|it| ((&it.path, it.start, it.end), &it.entity)).collect();
        let mut names: BTreeMap<&String, BTreeSet<&String>> = BTreeMap::new();
        for mention in &self.mentions {
            let given = spans.get(&(&mention.path, mention.start, mention.end));
            if let (Some(id), Some(Some(name))) = (&mention.entity, given) {
                names.entry(id).or_default().insert(name);
            }
        }
        for (id, names) in names {
            if let [name] = names.into_iter().collect::<Vec<_>>().as_slice() {
                self.names.insert(id.clone(), name.to_string());
            }
        }
    }

    /// Returns what was found in some of the documents.
    pub(super) fn part(&self, documents: &BTreeSet<String>) -> Found {
        let mut part = self.clone();
        part.mentions.retain(|it| documents.contains(&it.path));
        part.relations.retain(|it| documents.contains(&it.path));
        part
    }
}

fn mark(it: MentionRow) -> MentionMark {
    let entity = (!it.entity.is_null()).then(|| it.entity.to_string());
    MentionMark { path: it.path, start: it.span[0], end: it.span[1], kind: it.kind, entity }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_annotated_documents_count_and_unknown_rows_are_passed_over() {
        let evidence =
            |path: &str| json!({ "path": path, "span": [0, 3], "line": 1, "pattern": "uses" });
        let stated = ["a.md", "a.md", "b.md", "c.md"].map(evidence);
        let mention = |path: &str, entity: Value| {
            json!({ "kind": "mention", "doc": 1, "path": path, "span": [4, 7], "type": "Service",
                "entity": entity, "name": "KMS", "recognizer": "gazetteer", "score": 0.9 })
        };
        let rows = [
            json!({ "kind": "document", "id": 1, "path": "a.md" }),
            json!({ "kind": "novelty" }),
            json!({ "kind": "entity", "id": 7, "name": "KMS", "type": "Service", "home": null }),
            mention("a.md", json!(7)),
            mention("a.md", Value::Null),
            mention("c.md", json!(7)),
            json!({ "kind": "relation", "subject_id": 7, "predicate": "uses", "object_id": 8,
                "evidence": stated }),
        ];
        let documents = ["a.md".to_string(), "b.md".to_string()].into();
        let found = Found::read(&rows, &documents).unwrap_or_else(|failure| panic!("{failure:?}"));
        let entities: Vec<_> = found.mentions.iter().map(|it| it.entity.as_deref()).collect();
        assert_eq!(entities, [Some("7"), None]);
        assert_eq!(found.names.get("7").map(String::as_str), Some("KMS"));
        let relations = found.relations();
        let paths: Vec<_> = relations.iter().map(|it| it.path.as_str()).collect();
        assert_eq!(paths, ["a.md", "b.md"]);
        assert_eq!(relations[0].subject, "KMS");
        let given =
            [MentionMark { entity: Some("Key Service".into()), ..found.mentions[0].clone() }];
        let mut renamed = found.clone();
        renamed.call_as_given(&given);
        assert_eq!(renamed.relations()[0].subject, "Key Service");
        assert!(Found::read(&[json!({ "kind": "mention" })], &documents).is_err());
    }
}
