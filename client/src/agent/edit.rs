//! Edit: adds the entry of one server to an agent's file, or removes it.
//!
//! In: a text, the name of the list of servers, the name and fields of the entry. Out: the new text.
//! Invariants: the new text has the same values as the old one, except for that entry. If an entry
//! is added or removed as a whole, every other byte stays. A text that does not allow this is
//! refused.

use serde_json::{Map, Value};

use super::{json, toml};

/// The languages of agents' files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// JSON, possibly with comments and trailing commas.
    Json,
    /// TOML.
    Toml,
}

/// Why a text is not changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    /// It cannot be parsed.
    #[error("line {line}, column {column}: {why}")]
    Parse {
        /// Line, from 1.
        line: usize,
        /// Column, from 1.
        column: usize,
        /// What is wrong.
        why: String,
    },
    /// Its layout does not allow a change of the entry alone.
    #[error("`{0}` is written in a way that cannot be changed safely")]
    Layout(String),
}

/// The place of an entry: in a list of a text.
#[derive(Debug, Clone, Copy)]
pub struct Place<'a> {
    /// The language.
    pub format: Format,
    /// The key of the list.
    pub list: &'a str,
    /// The key in the list.
    pub name: &'a str,
}

impl Place<'_> {
    /// Returns all entries of the list.
    ///
    /// # Errors
    /// [`EditError::Parse`], or [`EditError::Layout`] if the list is not one.
    pub fn entries(&self, text: &str) -> Result<Map<String, Value>, EditError> {
        match self.value(text)?.get(self.list) {
            None => Ok(Map::new()),
            Some(Value::Object(entries)) => Ok(entries.clone()),
            Some(_) => Err(EditError::Layout(self.list.into())),
        }
    }

    /// Returns the text with the entry. Fields of an existing entry that are not in `fields` stay.
    ///
    /// # Errors
    /// See [`EditError`].
    pub fn put(&self, text: &str, fields: &Map<String, Value>) -> Result<String, EditError> {
        let layout = || EditError::Layout(self.list.into());
        let known = self.entries(text)?.remove(self.name);
        if known.as_ref().is_some_and(|it| !it.is_object()) {
            return Err(layout());
        }
        let patch = Value::Object(Map::from_iter([(self.name.to_string(), fields.clone().into())]));
        let after = match self.format {
            Format::Json => json::put(text, self.list, &patch),
            Format::Toml => toml::put(text, self.list, self.name, fields),
        };
        let after = after.ok_or_else(layout)?;
        let mut wanted = self.value(text)?;
        let patch = Value::Object(Map::from_iter([(self.list.to_string(), patch)]));
        merge(&mut wanted, &patch);
        let is_kept = known.is_some() || text.trim().is_empty() || is_insertion(text, &after);
        if is_kept && self.value(&after)? == wanted { Ok(after) } else { Err(layout()) }
    }

    /// Returns the text without the entry, or `None` if it has none.
    ///
    /// # Errors
    /// See [`EditError`].
    pub fn remove(&self, text: &str) -> Result<Option<String>, EditError> {
        let layout = || EditError::Layout(self.list.into());
        if !self.entries(text)?.contains_key(self.name) {
            return Ok(None);
        }
        let after = match self.format {
            Format::Json => json::remove(text, self.list, self.name),
            Format::Toml => toml::remove(text, self.list, self.name),
        };
        let after = after.ok_or_else(layout)?;
        let mut left = self.entries(text)?;
        left.shift_remove(self.name);
        let is_kept = self.entries(&after)? == left && self.others(&after)? == self.others(text)?;
        if is_kept && is_insertion(&after, text) { Ok(Some(after)) } else { Err(layout()) }
    }

    /// Returns whether the text has the list.
    ///
    /// # Errors
    /// [`EditError::Parse`].
    pub fn has_list(&self, text: &str) -> Result<bool, EditError> {
        Ok(self.value(text)?.get(self.list).is_some())
    }

    /// Returns whether the text holds no value at all.
    pub fn is_empty_text(&self, text: &str) -> bool {
        let is_bare = text.chars().all(|c| c.is_whitespace() || matches!(c, '{' | '}'));
        is_bare && self.value(text).is_ok_and(|it| it.as_object().is_some_and(Map::is_empty))
    }

    /// Returns the text without its empty list.
    ///
    /// # Errors
    /// See [`EditError`].
    pub fn without_list(&self, text: &str) -> Result<String, EditError> {
        if !self.has_list(text)? {
            return Ok(text.to_string());
        }
        let after = match self.format {
            Format::Json => json::remove_outermost(text, self.list),
            Format::Toml => toml::remove_outermost(text, self.list),
        };
        let after = after.filter(|after| is_insertion(after, text));
        let after = after.ok_or_else(|| EditError::Layout(self.list.into()))?;
        let is_kept = !self.has_list(&after)? && self.others(&after)? == self.others(text)?;
        if is_kept { Ok(after) } else { Err(EditError::Layout(self.list.into())) }
    }

    fn value(&self, text: &str) -> Result<Value, EditError> {
        let value = match self.format {
            Format::Json => json::value(text),
            Format::Toml => toml::value(text),
        }?;
        if value.is_object() { Ok(value) } else { Err(EditError::Layout("the whole".into())) }
    }

    /// Returns the values of the text outside the list.
    fn others(&self, text: &str) -> Result<Value, EditError> {
        let mut value = self.value(text)?;
        value.as_object_mut().map(|it| it.shift_remove(self.list));
        Ok(value)
    }
}

fn merge(into: &mut Value, from: &Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => {
            for (key, value) in from {
                match into.get_mut(key) {
                    Some(known) => merge(known, value),
                    None => drop(into.insert(key.clone(), value.clone())),
                }
            }
        }
        (into, from) => *into = from.clone(),
    }
}

/// Returns whether `long` is `short` with additions: every byte of `short` is in it, in the same
/// order.
fn is_insertion(short: &str, long: &str) -> bool {
    let mut rest = long.bytes();
    short.bytes().all(|byte| rest.any(|it| it == byte))
}

#[cfg(test)]
mod tests;
