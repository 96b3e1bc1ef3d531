//! Front matter: the YAML between two `---` lines at the start of a note.
//!
//! In: the whole text. Out: values, the lines of each key, where the body begins. YAML that cannot be read gives a
//! warning with the line of the file; the body is read anyway.
//! Invariants: size, depth, nodes and alias expansion are bounded, so that hostile YAML costs milliseconds; anchors
//! and merges are resolved in the values; dates, and numbers that would change when written back (`007`, `1_000`),
//! are strings.

use std::collections::HashSet;
use std::ops::Range;

use serde_json::{Map, Value};

use super::Place;
use crate::yaml::{self, DuplicateKeyPolicy, MAX_BYTES};

/// Most tags and most aliases kept for one note: each is compared with all before it.
pub(super) const MAX_NAMES: usize = 500;

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
    /// Its keys in the order of the file, including duplicates. Empty unless they agree with `values`: YAML that is
    /// not written as one key a line is not taken apart.
    pub keys: Vec<Key>,
    /// Why it could not be read.
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
    match parse(source) {
        Ok(Value::Object(values)) => {
            let keys = keys_of(source, yaml.start, &values);
            Some(Frontmatter { values, keys, ..found })
        }
        // Plain words between two thematic breaks: not front matter, so the text keeps them.
        Ok(Value::String(_)) => None,
        Ok(Value::Null) => Some(found),
        Ok(_) => warned("front matter is not a mapping of keys to values".to_string()),
        Err(why) => warned(why),
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

fn parse(yaml: &str) -> Result<Value, String> {
    // The parser does not see the opening `---`, so its first line is the second.
    yaml::read(yaml, DuplicateKeyPolicy::FirstWins).map_err(|(line, why)| match line {
        Some(line) => format!("front matter is not YAML: line {}: {why}", line + 1),
        None => format!("front matter is not YAML: {why}"),
    })
}

/// Returns the keys at the outermost level with their lines; none if they do not agree with the parsed values.
fn keys_of(yaml: &str, offset: usize, values: &Map<String, Value>) -> Vec<Key> {
    let mut keys: Vec<Key> = Vec::new();
    let mut at = offset;
    for (line_idx, line) in yaml.split_inclusive('\n').enumerate() {
        let bare = line.trim_ascii_end();
        let is_blank = bare.is_empty() || bare.trim_ascii_start().starts_with('#');
        if let Some((name, n_key)) = key_of(bare) {
            keys.push(Key {
                name,
                place: Place { span: at..at + line.len(), line: line_idx + 2 },
                value: at + n_key..at + bare.len(),
            });
        } else if let (false, Some(key)) = (is_blank, keys.last_mut()) {
            key.place.span.end = at + line.len();
            key.value.end = at + bare.len();
        }
        at += line.len();
    }
    // Values from a merge have no line of their own, so with a merge there may be more values than keys.
    let merges = keys.iter().any(|key| key.name == "<<");
    let names: HashSet<&str> = keys.iter().map(|key| key.name.as_str()).collect();
    let is_whole = names.iter().all(|name| *name == "<<" || values.contains_key(*name))
        && (merges || values.keys().all(|name| names.contains(name.as_str())));
    if is_whole { keys } else { Vec::new() }
}

/// Returns the key at the start of a line, and the length of everything before its value.
fn key_of(line: &str) -> Option<(String, usize)> {
    let first = line.chars().next()?;
    if let quote @ ('"' | '\'') = first {
        let end = line.get(1..)?.find(quote)? + 1;
        let rest = line.get(end + 1..)?;
        let colon =
            rest.find(':').filter(|at| rest.get(..*at).is_some_and(|s| s.trim().is_empty()))?;
        let n_key = end + 1 + colon + 1;
        let after = line.get(n_key..)?;
        return (after.is_empty() || after.starts_with([' ', '\t']))
            .then(|| (line.get(1..end).unwrap_or("").to_string(), n_key));
    }
    if first.is_whitespace() || "#-?[]{},&*!|>%@`".contains(first) && !line.starts_with("<<") {
        // `-` begins a key if no blank follows it.
        let is_key = first == '-' && line.chars().nth(1).is_some_and(|c| !c.is_whitespace());
        if !is_key {
            return None;
        }
    }
    let colon = line.match_indices(':').map(|(at, _)| at).find(|at| {
        line.get(at + 1..).is_some_and(|s| s.is_empty() || s.starts_with([' ', '\t']))
    })?;
    let name = line.get(..colon)?.trim_end();
    (!name.is_empty() && !name.contains(" #")).then(|| (name.to_string(), colon + 1))
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

    /// Returns its values in the form of S0 §3.2: dates and numbers as strings, `True` and `False`, lists and maps of
    /// such; null values are left out.
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
        Value::Bool(truth) => Value::from(if *truth { "True" } else { "False" }),
        Value::Number(number) => Value::from(number.to_string()),
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
