//! TOML: changes one table of a file and keeps every other byte.
//!
//! In: a text, a key, a value. Out: the text with the entry, or without it.

use serde_json::{Map, Value};
use toml_edit::{Array, DocumentMut, InlineTable, Item, Table, TableLike};

use super::edit::EditError;

/// Parses a text.
pub(super) fn value(text: &str) -> Result<Value, EditError> {
    toml_edit::de::from_str(text).map_err(|error| {
        let at = error.span().map_or(0, |it| it.start);
        let before = text.get(..at).unwrap_or_default();
        let line_start = before.rfind('\n').map_or(0, |it| it + 1);
        EditError::Parse {
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
            why: error.message().to_string(),
        }
    })
}

/// Returns the text with a table `name` in `list`. Tables are merged: fields that are not in
/// `fields` stay.
pub(super) fn put(
    text: &str,
    list: &str,
    name: &str,
    fields: &Map<String, Value>,
) -> Option<String> {
    edited(text, |document| {
        let lists = document.entry(list).or_insert_with(|| {
            let mut table = Table::new();
            table.set_implicit(true);
            Item::Table(table)
        });
        let entries = lists.as_table_like_mut()?;
        match entries.get_mut(name).and_then(Item::as_table_like_mut) {
            Some(entry) => fields.iter().for_each(|(key, field)| set(entry, key, field)),
            None => {
                let mut entry = Table::new();
                fields.iter().for_each(|(key, field)| set(&mut entry, key, field));
                entries.insert(name, Item::Table(entry));
            }
        }
        Some(())
    })
}

fn set(table: &mut dyn TableLike, key: &str, value: &Value) {
    match (table.get_mut(key).and_then(Item::as_table_like_mut), value) {
        (Some(inner), Value::Object(fields)) => {
            fields.iter().for_each(|(key, field)| set(inner, key, field));
        }
        _ => {
            table.insert(key, Item::Value(written(value)));
        }
    }
}

fn written(value: &Value) -> toml_edit::Value {
    match value {
        Value::Array(items) => items.iter().map(written).collect::<Array>().into(),
        Value::Object(fields) => fields
            .iter()
            .map(|(key, field)| (key.as_str(), written(field)))
            .collect::<InlineTable>()
            .into(),
        Value::Bool(it) => (*it).into(),
        Value::String(text) => text.as_str().into(),
        other => other.to_string().into(),
    }
}

/// Returns the text without the table `name` in `list`.
pub(super) fn remove(text: &str, list: &str, name: &str) -> Option<String> {
    edited(text, |document| document.get_mut(list)?.as_table_like_mut()?.remove(name).map(drop))
}

/// Returns the text without the table `list`.
pub(super) fn remove_outermost(text: &str, list: &str) -> Option<String> {
    edited(text, |document| document.remove(list).map(drop))
}

/// Applies a change. The library writes `\n`, so a text with `\r\n` is changed without its `\r`.
fn edited(text: &str, change: impl FnOnce(&mut DocumentMut) -> Option<()>) -> Option<String> {
    let has_returns = text.contains("\r\n");
    let mut document: DocumentMut = text.replace("\r\n", "\n").parse().ok()?;
    change(&mut document)?;
    let after = document.to_string();
    Some(if has_returns { after.replace('\n', "\r\n") } else { after })
}
