//! What kgd found: the rows of a dump that concern the annotated documents.
//!
//! In: a dump. Out: mentions, names of entities, relations a document.
//! Not here: comparing.

use std::collections::{BTreeSet, HashMap};

use client::score::{MentionMark, RelationMark};
use serde::Deserialize;
use serde_json::Value;

use super::{Exit, Failure};

/// What kgd found in the annotated documents.
#[derive(Debug, Clone, Default)]
pub(super) struct Found {
    pub(super) mentions: Vec<MentionMark>,
    /// Names of all entities, by id.
    pub(super) names: HashMap<String, String>,
    /// A relation once for each document that states it.
    pub(super) relations: Vec<RelationMark>,
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
    subject: String,
    predicate: String,
    object: String,
    evidence: Vec<EvidenceRow>,
}

#[derive(Deserialize)]
struct EvidenceRow {
    path: String,
}

impl Found {
    /// Picks what concerns `documents` from a dump.
    pub(super) fn read(rows: &[Value], documents: &BTreeSet<String>) -> Result<Self, Failure> {
        let mut found = Found::default();
        for row in rows {
            let row = DumpRow::deserialize(row).map_err(|error| {
                Failure::new(
                    Exit::Failed,
                    format!("a row of the dump is not understood: {error}: {row}"),
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
                    found.relations.extend(stated.map(|path| RelationMark {
                        path: path.clone(),
                        subject: it.subject.clone(),
                        predicate: it.predicate.clone(),
                        object: it.object.clone(),
                    }));
                }
                DumpRow::Mention(_) | DumpRow::Other => {}
            }
        }
        Ok(found)
    }

    /// What was found in some of the documents.
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
            json!({ "kind": "relation", "subject": "KMS", "predicate": "uses", "object": "x",
                "evidence": stated }),
        ];
        let documents = ["a.md".to_string(), "b.md".to_string()].into();
        let found = Found::read(&rows, &documents).unwrap_or_else(|failure| panic!("{failure:?}"));
        let entities: Vec<_> = found.mentions.iter().map(|it| it.entity.as_deref()).collect();
        assert_eq!(entities, [Some("7"), None]);
        assert_eq!(found.names.get("7").map(String::as_str), Some("KMS"));
        let paths: Vec<_> = found.relations.iter().map(|it| it.path.as_str()).collect();
        assert_eq!(paths, ["a.md", "b.md"]);
        assert!(Found::read(&[json!({ "kind": "mention" })], &documents).is_err());
    }
}
