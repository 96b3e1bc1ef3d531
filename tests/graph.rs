//! Graph: the whole graph as text: the output of `dump`, by path and name, never by row id.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::Value;

/// Rows of a dump.
#[derive(Debug, Clone)]
pub struct Graph {
    rows: Vec<Value>,
    /// Entity ids with names; that of a note with its path.
    names: BTreeMap<i64, String>,
}

impl Graph {
    /// Collects the rows of every page.
    pub fn new(rows: Vec<Value>) -> Self {
        let entities = rows.iter().filter(|row| row["kind"] == "entity");
        let names = entities
            .filter_map(|row| {
                let name = text(&row["name"]);
                let home = row["home"].as_str();
                let shown = home.map_or_else(|| name.clone(), |home| format!("{name} <{home}>"));
                Some((row["id"].as_i64()?, shown))
            })
            .collect();
        Graph { rows, names }
    }

    /// Returns the rows of one kind, as dumped.
    pub fn rows(&self, kind: &str) -> impl Iterator<Item = &Value> {
        self.rows.iter().filter(move |row| row["kind"] == kind)
    }

    /// Renders everything, a line per row, in a fixed order.
    pub fn text(&self) -> String {
        let kinds = ["document", "chunk", "entity", "mention", "relation", "association"];
        kinds.iter().map(|kind| self.lines(kind)).collect()
    }

    /// Returns the sorted lines of one kind.
    pub fn lines(&self, kind: &str) -> String {
        let mut lines: Vec<String> = self.rows(kind).map(|row| self.line(row)).collect();
        lines.sort();
        lines.into_iter().fold(String::new(), |all, line| all + &line + "\n")
    }

    fn name(&self, id: &Value) -> String {
        let id = id.as_i64();
        id.and_then(|id| self.names.get(&id)).cloned().unwrap_or_else(|| "?".to_string())
    }

    fn line(&self, row: &Value) -> String {
        let all = |fields: &[&str]| {
            let shown = fields.iter().map(|field| format!("{field}={}", text(&row[field])));
            shown.collect::<Vec<_>>().join(" ")
        };
        let path = text(&row["path"]);
        match row["kind"].as_str().unwrap_or_default() {
            "document" => {
                let rest = [
                    "title",
                    "type",
                    "tags",
                    "hash",
                    "bytes",
                    "language",
                    "day",
                    "format",
                    "source_url",
                ];
                format!("document {path} {}", all(&rest))
            }
            "chunk" => format!("chunk {path} {}", all(&["span", "lines", "tokens", "section"])),
            "entity" => format!(
                "entity {} {}",
                self.name(&row["id"]),
                all(&["type", "aliases", "documents", "norm"])
            ),
            "mention" => format!(
                "mention {path} {} {} -> {} {}",
                text(&row["span"]),
                text(&row["surface"]),
                if row["entity"].is_null() {
                    "nothing".to_string()
                } else {
                    self.name(&row["entity"])
                },
                all(&["type", "recognizer", "score", "line"]),
            ),
            "association" => {
                let units = row["units"].as_array().into_iter().flatten();
                let places: Vec<String> = units
                    .map(|it| format!("{}:{} {}", text(&it["path"]), it["line"], it["span"]))
                    .collect();
                let (a, b) = (self.name(&row["a_id"]), self.name(&row["b_id"]));
                format!("association {a} + {b} {} {places:?}", all(&["count", "ratio"]))
            }
            _ => {
                let (subject, object) =
                    (self.name(&row["subject_id"]), self.name(&row["object_id"]));
                let mut line = format!(
                    "relation {subject} {} {object} {}",
                    text(&row["predicate"]),
                    all(&["confidence"])
                );
                let mut places: Vec<String> =
                    row["evidence"].as_array().into_iter().flatten().map(place).collect();
                places.sort();
                places.iter().for_each(|place| {
                    let _ = write!(line, " [{place}]");
                });
                line
            }
        }
    }

    /// Renders the mentions as a table that a reader can check: path, line, surface, type, and
    /// entity.
    pub fn mention_table(&self) -> String {
        let mut rows: Vec<_> = self
            .rows("mention")
            .map(|row| {
                let denotes = if row["entity"].is_null() {
                    "-".to_string()
                } else {
                    self.name(&row["entity"])
                };
                let order = (text(&row["path"]), row["span"][0].as_u64().unwrap_or(0));
                let line = format!(
                    "{}:{} {:?} {} {} -> {denotes}",
                    text(&row["path"]),
                    row["line"],
                    text(&row["surface"]),
                    text(&row["recognizer"]),
                    text(&row["type"]),
                );
                (order, line)
            })
            .collect();
        rows.sort();
        rows.into_iter().map(|(_, line)| line + "\n").collect()
    }

    /// Renders the relations as a table: both ends, confidence, patterns with their places.
    pub fn relation_table(&self) -> String {
        let mut lines: Vec<String> = self
            .rows("relation")
            .map(|row| {
                let evidence = row["evidence"].as_array().into_iter().flatten();
                let mut places: Vec<String> = evidence
                    .map(|e| format!("{} {}:{}", text(&e["pattern"]), text(&e["path"]), e["line"]))
                    .collect();
                places.sort();
                format!(
                    "{} -{}-> {} {:.2} ({})\n",
                    self.name(&row["subject_id"]),
                    text(&row["predicate"]),
                    self.name(&row["object_id"]),
                    row["confidence"].as_f64().unwrap_or(0.0),
                    places.join(", ")
                )
            })
            .collect();
        lines.sort();
        lines.concat()
    }
}

fn place(evidence: &Value) -> String {
    let fields = ["path", "span", "line", "pattern", "confidence"];
    fields.map(|field| text(&evidence[field])).join(" ")
}

/// Renders a value as text; numbers to six digits, because sums of floats may differ in the last
/// one.
fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Number(number) if number.is_f64() => {
            format!("{:.6}", number.as_f64().unwrap_or(0.0))
        }
        other => other.to_string(),
    }
}
