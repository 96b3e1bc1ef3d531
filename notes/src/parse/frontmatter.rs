//! Front matter: the YAML between two `---` lines at the start of a note.
//!
//! In: the whole text. Out: values, the lines of each key, where the body begins. What cannot be read gives a warning
//! with the line of the file; the other keys and the body are read anyway.
//! Invariants: size, depth, nodes and alias expansion are bounded, so that hostile YAML costs milliseconds; anchors
//! and merges are resolved in the values; scalars are as they were written.

use std::collections::HashSet;
use std::ops::Range;

use serde_json::{Map, Value};

use super::Place;
use crate::yaml::{self, MAX_BYTES};

/// Most tags and most aliases kept for one note: each is compared with all before it.
pub(super) const MAX_NAMES: usize = 500;

/// Most values that the warning names.
const MAX_TOLD: usize = 5;

/// The front matter of a note.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Frontmatter {
    /// From the opening `---` to the end of the closing line, including its line end.
    pub span: Range<usize>,
    /// The YAML between the two lines, including its last line end.
    pub yaml: Range<usize>,
    /// Where the body begins: `span.end`.
    pub body: usize,
    /// Its values, in the order of the file; empty when it could not be read. Of a duplicate key, the first.
    pub values: Map<String, Value>,
    /// Its keys in the order of the file, including duplicates. Empty for a map in braces.
    pub keys: Vec<Key>,
    /// Why it, or which part of it, could not be read.
    pub warning: Option<String>,
}

/// A key at the outermost level.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key {
    /// Its name, without quotation marks.
    pub name: String,
    /// From the key to the end of its value's last line, including the line end; without comments and blank lines
    /// after it.
    pub place: Place,
    /// From after the `:` to the end of the value's last line, without the line end.
    pub value: Range<usize>,
}

/// Reads the front matter that begins at `start` (after a byte order mark), if there is any.
pub(crate) fn read(text: &str, start: usize) -> Option<Frontmatter> {
    let (yaml, body) = split(text.get(start..)?)?;
    let yaml = start + yaml.start..start + yaml.end;
    let body = start + body;
    let found =
        Frontmatter { span: start..body, yaml: yaml.clone(), body, ..Frontmatter::default() };
    let source = text.get(yaml.clone())?;
    let warned = |why: String| Some(Frontmatter { warning: Some(why), ..found.clone() });
    if source.len() > MAX_BYTES {
        return warned(format!(
            "front matter of {} bytes is not read; hint: keep it under {MAX_BYTES}",
            source.len()
        ));
    }
    let read = match yaml::read_map(source) {
        Ok(read) => read,
        Err(fault) => {
            return warned(format!(
                "front matter is not YAML: line {}: {}",
                fault.line + 1,
                fault.why
            ));
        }
    };
    match read.value {
        Value::Object(values) => {
            let keys = keys_of(source, yaml.start, read.entries);
            Some(Frontmatter { values, keys, warning: told(&read.faults), ..found })
        }
        // Plain words between two thematic breaks: not front matter, so the text keeps them.
        Value::String(_) => None,
        Value::Null => Some(found),
        _ => warned("front matter is not a mapping of keys to values".to_string()),
    }
}

/// Returns the YAML and the offset of the body.
fn split(text: &str) -> Option<(Range<usize>, usize)> {
    let rest = text.strip_prefix("---")?;
    let first_end = rest.find('\n')?;
    if !rest.get(..first_end)?.trim_ascii().is_empty() {
        return None;
    }
    let start = 3 + first_end + 1;
    let mut at = start;
    for line in text.get(start..)?.split_inclusive('\n') {
        let bare = line.trim_ascii_end();
        if bare == "---" || bare == "..." {
            return Some((start..at, at + line.len()));
        }
        at += line.len();
    }
    None
}

/// Returns the keys at the outermost level with their lines.
fn keys_of(yaml: &str, offset: usize, entries: Vec<yaml::Entry>) -> Vec<Key> {
    let key = |entry: yaml::Entry| {
        let line_end = |at: usize| {
            yaml.get(at..).and_then(|rest| rest.find('\n')).map_or(yaml.len(), |n| at + n + 1)
        };
        // A scalar of several lines ends with its line end.
        let end = yaml.get(..entry.end).map_or(0, |it| it.trim_ascii_end().len());
        let end = line_end(end.max(entry.key.end));
        let start = yaml.get(..entry.key.start)?.rfind('\n').map_or(0, |at| at + 1);
        let colon = entry.key.end + yaml.get(entry.key.end..)?.find(':')? + 1;
        let bare = yaml.get(colon..end)?.trim_ascii_end().len();
        Some(Key {
            name: entry.name,
            place: Place { span: offset + start..offset + end, line: entry.line + 1 },
            value: offset + colon..offset + colon + bare,
        })
    };
    entries.into_iter().filter_map(key).collect()
}

/// Names what could not be read, with the line in the file.
fn told(faults: &[yaml::Fault]) -> Option<String> {
    let named = faults.iter().take(MAX_TOLD).map(|yaml::Fault { key, line, why }| {
        let key = key.as_deref().unwrap_or_default();
        // The parser does not see the opening `---`, so its first line is the second.
        format!("`{key}` (line {}): {why}", line + 1)
    });
    let named = named.collect::<Vec<_>>().join("; ");
    let more = faults.len().saturating_sub(MAX_TOLD);
    let more = if more > 0 { format!("; and {more} more") } else { String::new() };
    (!faults.is_empty()).then(|| format!("front matter is read without {named}{more}"))
}

impl Frontmatter {
    /// Returns the lines of a key.
    pub fn key(&self, name: &str) -> Option<&Key> {
        self.keys.iter().find(|key| key.name == name)
    }

    /// Returns repeated keys, of which the first counts, with their lines, in order.
    pub fn repeated(&self) -> Vec<(&str, usize)> {
        let mut seen = HashSet::new();
        let again = self.keys.iter().filter(|key| !seen.insert(key.name.as_str()));
        again.map(|key| (key.name.as_str(), key.place.line)).collect()
    }

    /// Returns its values in the form of S0 §3.2: strings as they were written, lists and maps of such; null values
    /// are left out.
    pub fn normalized(&self) -> Map<String, Value> {
        normalized(&self.values)
    }

    pub(super) fn title(&self) -> Option<String> {
        self.scalar(&["title"])
    }

    pub(super) fn note_type(&self) -> Option<String> {
        self.scalar(&["type"])
    }

    pub(super) fn permalink(&self) -> Option<String> {
        self.scalar(&["permalink"])
    }

    pub(super) fn aliases(&self) -> Vec<String> {
        let mut out = Vec::new();
        self.each(&["aliases", "alias"], |value| names(value, |c| c == ',', &mut out));
        out
    }

    /// Returns its tags without `#`, in their first spelling, each once.
    pub fn tags(&self) -> Vec<String> {
        let mut out = Vec::new();
        self.each(&["tags", "tag"], |value| {
            let mut tags = Vec::new();
            names(value, |c| c == ',' || c.is_whitespace(), &mut tags);
            tags.iter().for_each(|tag| add_tag(&mut out, tag));
        });
        out
    }

    fn each(&self, names: &[&str], mut found: impl FnMut(&Value)) {
        for (key, value) in &self.values {
            if names.iter().any(|name| key.eq_ignore_ascii_case(name)) {
                found(value);
            }
        }
    }

    fn scalar(&self, names: &[&str]) -> Option<String> {
        let mut out = None;
        self.each(names, |value| out = out.take().or_else(|| scalar_text(value)));
        out
    }
}

/// Adds a tag without its `#`, unless it is empty or already there in the same spelling.
pub fn add_tag(tags: &mut Vec<String>, tag: &str) {
    let tag = tag.trim().trim_start_matches('#').trim_end_matches('/');
    if !tag.is_empty() && tags.len() < MAX_NAMES && !tags.iter().any(|known| known == tag) {
        tags.push(tag.to_string());
    }
}

/// Adds a list of names, or those in one string that `is_separator` divides.
pub fn names(value: &Value, is_separator: fn(char) -> bool, out: &mut Vec<String>) {
    let mut add = |name: &str| {
        let name = name.trim();
        if !name.is_empty() && out.len() < MAX_NAMES && !out.iter().any(|known| known == name) {
            out.push(name.to_string());
        }
    };
    match value {
        Value::Array(items) => items.iter().filter_map(scalar_text).for_each(|item| add(&item)),
        _ => {
            if let Some(text) = scalar_text(value) {
                text.split(is_separator).for_each(&mut add);
            }
        }
    }
}

/// Returns the text of a string, number or boolean; `None` for the empty string, null, lists and maps.
pub fn scalar_text(value: &Value) -> Option<String> {
    let text = match value {
        Value::String(text) => text.trim().to_string(),
        Value::Number(number) => number.to_string(),
        Value::Bool(truth) => truth.to_string(),
        Value::Null | Value::Array(_) | Value::Object(_) => return None,
    };
    (!text.is_empty()).then_some(text)
}

fn normalized(values: &Map<String, Value>) -> Map<String, Value> {
    let kept = values.iter().filter_map(|(key, value)| Some((key.clone(), normal(value)?)));
    kept.collect()
}

fn normal(value: &Value) -> Option<Value> {
    Some(match value {
        Value::Null => return None,
        Value::Bool(_) | Value::Number(_) => Value::from(value.to_string()),
        Value::String(text) => Value::from(iso_date(text).unwrap_or_else(|| text.clone())),
        Value::Array(items) => items.iter().filter_map(normal).collect(),
        Value::Object(keys) => Value::Object(normalized(keys)),
    })
}

/// Converts a date and time of YAML 1.1 (`2025-01-15 10:30:00`) to ISO 8601: with a `T`, without blanks.
fn iso_date(text: &str) -> Option<String> {
    let (date, time) = text.trim().split_once(' ')?;
    let is_date = date.len() == 10
        && date.bytes().enumerate().all(|(i, byte)| match i {
            4 | 7 => byte == b'-',
            _ => byte.is_ascii_digit(),
        });
    let time = time.trim();
    let is_time = time.len() >= 5
        && time.bytes().enumerate().take(5).all(|(i, byte)| match i {
            2 => byte == b':',
            _ => byte.is_ascii_digit(),
        })
        && time.bytes().all(|byte| byte.is_ascii_digit() || b":.+-Z ".contains(&byte));
    (is_date && is_time).then(|| format!("{date}T{}", time.replace(' ', "")))
}

#[cfg(test)]
mod tests;
