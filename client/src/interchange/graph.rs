//! Graph: the typed rows of the daemon's `dump` that exports need.
//!
//! In: rows, page by page. Out: [`Graph`], in the order of the rows, which is the same for the same index.
//! Invariants: chunks and mentions are not kept, and mostly not even requested; rows of unknown kinds are skipped.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// A document.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Document {
    /// From the project's folder.
    pub path: String,
    /// Stated, else a heading, else the file's name.
    pub title: String,
    /// As stated; may be empty.
    #[serde(rename = "type")]
    pub doc_type: String,
    /// Without `#`.
    pub tags: Option<Vec<String>>,
    /// A code such as `en`; may be empty.
    pub language: String,
    /// The date of the document; may be empty.
    pub day: String,
    /// `md`, `pdf` and so on.
    pub format: String,
    /// The URL of its source.
    pub source_url: Option<String>,
    /// As stated.
    pub author: Option<String>,
    /// Front matter of a note, as texts.
    pub properties: Option<Map<String, Value>>,
    /// Set for an entity of the memory folder.
    pub memory: bool,
}

/// An entity that documents name.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Entity {
    /// Derived from its name and type, so it survives a rebuild.
    pub id: i64,
    /// Its most common name.
    pub name: String,
    /// `Person`, `Technology` and so on.
    #[serde(rename = "type")]
    pub entity_type: String,
    /// The note about it.
    pub home: Option<String>,
    /// Its other names.
    pub aliases: Option<Vec<String>>,
    /// How many documents mention it.
    pub documents: u64,
    /// Of its most certain mention, 0 to 1.
    pub confidence: f64,
}

/// A relation between two entities.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Relation {
    /// The subject.
    pub subject_id: i64,
    /// The type of relation.
    pub predicate: String,
    /// The object.
    pub object_id: i64,
    /// Of all evidence, 0 to 1.
    pub confidence: f64,
    /// Where it is stated.
    pub evidence: Vec<Evidence>,
    /// Where it is denied.
    pub denied: Vec<Evidence>,
}

/// A place that states a relation.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Evidence {
    /// The document.
    pub path: String,
    /// From 1; 0 where the format has pages.
    pub line: u32,
    /// From 1.
    pub page: Option<u32>,
    /// The pattern that found it.
    pub pattern: String,
    /// 0 to 1.
    pub confidence: f64,
}

impl Evidence {
    /// `note.md:12`, `report.pdf p. 3`.
    pub fn place(&self) -> String {
        proto::shape::place(&self.path, [self.line; 2], [self.page; 2])
    }
}

/// A fact stated in a note.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Observation {
    /// The note.
    pub path: String,
    /// From 1.
    pub line: u32,
    /// The text in the brackets.
    pub category: String,
    /// The fact, as written.
    pub content: String,
    /// Without `#`.
    pub tags: Vec<String>,
    /// The text in parentheses at the end.
    pub context: Option<String>,
}

/// A fact of memory.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Fact {
    /// The note.
    pub path: String,
    /// Its text.
    pub content: String,
    /// Its first line and its last, from 1.
    pub lines: [u32; 2],
}

/// A link of a note.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Link {
    /// The note.
    pub path: String,
    /// Its relation; none for embeds.
    pub relation: Option<String>,
    /// Set when the author stated the relation.
    pub typed: bool,
    /// Its target, as written.
    pub target: Option<String>,
    /// The text in parentheses after it.
    pub context: Option<String>,
    /// The document that it leads to.
    pub to: Option<String>,
}

/// A whole graph.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Graph {
    /// By path.
    pub documents: Vec<Document>,
    /// By name.
    pub entities: Vec<Entity>,
    /// Sorted by the names of their subjects.
    pub relations: Vec<Relation>,
    /// By place.
    pub observations: Vec<Observation>,
    /// By place.
    pub facts: Vec<Fact>,
    /// By place.
    pub links: Vec<Link>,
}

impl Graph {
    /// Adds a row of the dump.
    ///
    /// # Errors
    /// When a row of a known kind does not fit.
    pub fn take(&mut self, row: Value) -> Result<(), serde_json::Error> {
        fn add<T: DeserializeOwned>(
            rows: &mut Vec<T>,
            row: Value,
        ) -> Result<(), serde_json::Error> {
            rows.push(T::deserialize(row)?);
            Ok(())
        }
        match row.get("kind").and_then(Value::as_str).unwrap_or_default() {
            "document" => add(&mut self.documents, row),
            "entity" => add(&mut self.entities, row),
            "relation" => add(&mut self.relations, row),
            "observation" => add(&mut self.observations, row),
            "fact" => add(&mut self.facts, row),
            "link" => add(&mut self.links, row),
            _ => Ok(()),
        }
    }

    /// Returns where to continue after a page that ends with rows of this kind: chunks and mentions are most of a dump,
    /// and are skipped.
    pub fn next_cursor(last_kind: &str, cursor: Option<String>) -> Option<String> {
        match last_kind {
            "chunk" => cursor.map(|_| "entity:0".to_string()),
            "mention" => cursor.map(|_| "relation:0".to_string()),
            _ => cursor,
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use serde_json::json;

    use super::*;

    /// Returns a graph with everything that a format could stumble over.
    pub(crate) fn nasty() -> Graph {
        let mut graph = Graph::default();
        let texts = NASTY.iter().enumerate();
        for (idx, text) in texts {
            let id = idx as i64 + 1;
            graph
                .take(json!({"kind": "entity", "id": id, "name": text,
                    "type": if idx % 3 == 0 { "Person" } else { text },
                    "home": if idx % 2 == 0 { Some("dir/a b.md") } else { None }, "aliases": [text, "x;y", "z|\"w\""],
                    "documents": idx, "confidence": 0.5, "norm": text}))
                .expect("a row");
            graph
                .take(json!({"kind": "relation", "subject": text, "subject_id": id, "predicate": text, "object": "x",
                    "object_id": id % NASTY.len() as i64 + 1, "confidence": 0.25, "evidence": [
                        {"path": format!("{text}.md"), "line": 3, "pattern": "p", "confidence": 0.5},
                        {"path": "a.pdf", "page": 2, "pattern": "p", "confidence": 0.5}],
                    "denied": [{"path": "n.md", "line": 1, "pattern": "p", "confidence": 1.0}]}))
                .expect("a row");
            graph
                .take(json!({"kind": "document", "path": format!("{text}.md"), "title": text,
                    "type": "", "tags": [text],
                    "language": "en", "day": "2024-01-01", "format": "md", "source_url": null}))
                .expect("a row");
        }
        graph.take(json!({"kind": "chunk"})).expect("passed over");
        graph
    }

    pub(crate) const NASTY: &[&str] = &[
        "plain",
        "a,b",
        "say \"hi\"",
        "two\nlines",
        "cr\r\nlf",
        "tab\t",
        "C:\\path\\",
        "back\\\"quote",
        "`tick`",
        "'single'",
        "",
        " blank ",
        "<b>&amp;</b>",
        "]]>",
        "<!-- x -->",
        "日本 語 🎉",
        "=cmd()",
        "-1",
        "null",
        "{}",
        "a;b",
        "a|b",
        "[[x]]",
        "#tag",
        "$x$",
        "*b*",
        "%41 /?#",
        "e\u{301}",
        "\u{202e}rtl",
        "\u{feff}bom",
        "\u{2028}",
        "\\u0041",
        "\u{7f}",
        "uses",
        "part of",
        "\u{85}",
    ];

    #[test]
    fn rows_that_are_not_exported_are_not_asked_for() {
        let next = |kind: &str| Graph::next_cursor(kind, Some("x:1".into()));
        assert_eq!(next("chunk").as_deref(), Some("entity:0"));
        assert_eq!(next("mention").as_deref(), Some("relation:0"));
        assert_eq!(next("entity").as_deref(), Some("x:1"));
        assert_eq!(Graph::next_cursor("chunk", None), None);
    }
}
