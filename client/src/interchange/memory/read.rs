//! Read: parses the file of server-memory into entities and relations, line by line.
//!
//! Invariants: an invalid line is skipped alone; memory is bounded by [`MAX_BYTES`].

use std::path::Path;

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::super::{InterchangeError, Trouble};
use super::{Entity, Relation};
use crate::input;

/// Largest file, bytes; it is read as a whole, as the server itself does on every call.
const MAX_BYTES: u64 = 1 << 30;

/// The contents of a file.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Read {
    /// Entities, each with its place.
    pub entities: Vec<(String, Entity)>,
    /// Relations, likewise.
    pub relations: Vec<(String, Relation)>,
    /// Keys that are not part of the format, and known data that is not kept.
    pub remarks: Vec<Trouble>,
    /// What could not be read.
    pub troubles: Vec<Trouble>,
}

/// Reads a file.
///
/// # Errors
/// When it cannot be read at all.
pub fn read(path: &Path) -> Result<Read, InterchangeError> {
    let shown = path.display().to_string();
    let io = |source| InterchangeError::Io { path: shown.clone(), source };
    let bytes = input::read(path, MAX_BYTES).map_err(io)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    Ok(of_bytes(&name, bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes)))
}

fn of_bytes(name: &str, bytes: &[u8]) -> Read {
    let mut out = Read::default();
    if is_one_object(bytes) {
        match serde_json::from_slice::<Value>(bytes) {
            Ok(value) => out.of_object(name, &value),
            Err(error) => {
                let at = format!("{name}:{}", error.line());
                let hint = "the object is broken; `server-memory` rewrites it with the next change";
                out.trouble(at, error.to_string(), hint);
            }
        }
        return out;
    }
    for (idx, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
        let at = format!("{name}:{}", idx + 1);
        if line.trim_ascii().is_empty() {
            continue;
        }
        match super::super::elements::value(1, line) {
            Ok(value) => out.of_line(at, value),
            Err((_, why)) => {
                let hint =
                    "a line is one JSON object with `type`; repair or remove it, then import again";
                out.trouble(at, format!("not JSON: {why}"), hint);
            }
        }
    }
    out
}

/// Returns true for `{"entities": …}` on one line or many; false for lines of objects with `type`.
fn is_one_object(bytes: &[u8]) -> bool {
    let head = bytes.trim_ascii_start();
    let Some(inner) = head.strip_prefix(b"{") else { return false };
    let inner = inner.trim_ascii_start();
    let first_line = head.split(|byte| *byte == b'\n').next().unwrap_or(head);
    let stated = |key: &[u8]| inner.strip_prefix(key).is_some();
    // Cheap checks of the beginning first: parsing a large file just to tell the forms apart is the last resort.
    stated(b"\"entities\"")
        || stated(b"\"relations\"")
        || first_line.trim_ascii() == b"{"
        || serde_json::from_slice::<Value>(bytes).is_ok_and(|value| value.get("entities").is_some())
}

impl Read {
    fn trouble(&mut self, at: String, what: String, hint: &str) {
        self.troubles.push(Trouble { at, what, hint: Some(hint.to_string()) });
    }

    fn of_object(&mut self, name: &str, value: &Value) {
        for (key, is_entity) in [("entities", true), ("relations", false)] {
            let rows = value.get(key).and_then(Value::as_array);
            for (idx, row) in rows.into_iter().flatten().enumerate() {
                let at = format!("{name}: {key}[{idx}]");
                if is_entity { self.entity(at, row) } else { self.relation(at, row) }
            }
        }
        if value.get("entities").is_none() && value.get("relations").is_none() {
            let hint = "it should have `entities` and `relations`";
            self.trouble(name.to_string(), "not a memory of server-memory".to_string(), hint);
        }
    }

    fn of_line(&mut self, at: String, value: Value) {
        match value.get("type").and_then(Value::as_str) {
            Some("entity") => self.entity(at, &value),
            Some("relation") => self.relation(at, &value),
            Some(other) => {
                let what = format!("`type` is `{other}`, neither `entity` nor `relation`");
                self.trouble(at, what, "other types are unknown");
            }
            None => {
                self.trouble(at, "no `type`".to_string(), "it is `entity` or `relation`");
            }
        }
    }

    fn entity(&mut self, at: String, value: &Value) {
        let known = ["type", "name", "entityType", "observations"];
        self.note_others(&at, value, &known);
        if let Some(entity) = self.typed::<Entity>(&at, value) {
            self.entities.push((at, entity));
        }
    }

    fn relation(&mut self, at: String, value: &Value) {
        self.note_others(&at, value, &["type", "from", "to", "relationType"]);
        if let Some(relation) = self.typed::<Relation>(&at, value) {
            self.relations.push((at, relation));
        }
    }

    fn typed<T: DeserializeOwned>(&mut self, at: &str, value: &Value) -> Option<T> {
        match T::deserialize(value) {
            Ok(typed) => Some(typed),
            Err(error) => {
                let hint = "an entity has `name`, `entityType` and `observations` (strings), a relation `from`, \
                            `to` and `relationType`";
                self.trouble(at.to_string(), error.to_string(), hint);
                None
            }
        }
    }

    fn note_others(&mut self, at: &str, value: &Value, known: &[&str]) {
        let others = value.as_object().into_iter().flatten().map(|(key, _)| key.as_str());
        let others: Vec<&str> = others.filter(|key| !known.contains(key)).collect();
        if !others.is_empty() {
            let what = format!("not kept: `{}`", others.join("`, `"));
            self.remarks.push(Trouble { at: at.to_string(), what, hint: None });
        }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(text: &str, expected: Expect) {
        let read = of_bytes("m", text.as_bytes());
        let mut out = String::new();
        for (at, it) in &read.entities {
            out += &format!("{at} {} <{}> {:?}\n", it.name, it.entity_type, it.observations);
        }
        for (at, it) in &read.relations {
            out += &format!("{at} {} -{}-> {}\n", it.from, it.relation_type, it.to);
        }
        read.remarks.iter().for_each(|it| out += &format!("? {} {}\n", it.at, it.what));
        read.troubles.iter().for_each(|it| out += &format!("! {} {}\n", it.at, it.what));
        expected.assert_eq(&out);
    }

    #[test]
    fn lines_and_one_object_are_read() {
        let lines = r#"{"type":"entity","name":"Ada","entityType":"person","observations":["a","b"]}

{"type":"relation","from":"Ada","to":"Bob","relationType":"knows"}
"#;
        check(
            lines,
            expect![[r#"
                m:1 Ada <person> ["a", "b"]
                m:3 Ada -knows-> Bob
            "#]],
        );
        let object = r#"{
 "entities": [{"name":"Ada","entityType":"person","observations":["a"]}],
 "relations": [{"from":"Ada","to":"Bob","relationType":"knows"}]}"#;
        check(
            object,
            expect![[r#"
                m: entities[0] Ada <person> ["a"]
                m: relations[0] Ada -knows-> Bob
            "#]],
        );
        check(r#"{"relations": [], "entities": []}"#, expect![[""]]);
    }

    #[test]
    fn what_is_no_line_of_memory_is_told() {
        check(
            "nonsense\n{\"type\":\"entity\",\"name\":\"A\"}\n{\"type\":\"entity\"}\n{\"type\":\"event\"}\n\
             {\"name\":\"x\"}\n[]\n\
             {\"type\":\"entity\",\"name\":\"B\",\"observations\":[1]}\n\
             {\"type\":\"entity\",\"name\":\"C\",\"extra\":1}\n\
             {\"type\":\"ent",
            expect![[r#"
                m:2 A <> []
                m:8 C <> []
                ? m:8 not kept: `extra`
                ! m:1 not JSON: expected ident at line 1 column 2
                ! m:3 missing field `name`
                ! m:4 `type` is `event`, neither `entity` nor `relation`
                ! m:5 no `type`
                ! m:6 no `type`
                ! m:7 invalid type: integer `1`, expected a string
                ! m:9 not JSON: EOF while parsing a string at line 1 column 12
            "#]],
        );
        check(
            "{\n \"entities\": [\n  {\"name\": ",
            expect![[r#"
                ! m:3 EOF while parsing a value at line 3 column 11
            "#]],
        );
    }
}
