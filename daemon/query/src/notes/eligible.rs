//! Eligible: the notes that may answer a search, by their statements and their front matter.
//!
//! In: a request, conditions. Out: ascending row ids of documents.

use proto::tool::notes::{ItemType, SearchNotes};
use rustc_hash::FxHashMap;
use serde_json::Value;

use super::metadata::Conditions;
use crate::{AskError, QueryContext};
use index::read::Field;

/// Returns whether a request asks only for statements.
pub(super) fn is_of_statements(request: &SearchNotes) -> bool {
    let wanted = request.search_item_types.as_deref().unwrap_or_default();
    !wanted.is_empty() && !wanted.contains(&ItemType::Entity)
}

/// Returns the documents, out of `docs` or of all, that have statements of the wanted kinds.
pub(super) fn stating(
    ctx: &QueryContext<'_>,
    request: &SearchNotes,
    docs: Option<Vec<i64>>,
) -> Result<Vec<i64>, AskError> {
    let notes = ctx.snapshot.notes();
    let mut found = Vec::new();
    for item in request.search_item_types.iter().flatten() {
        match item {
            ItemType::Observation => found.extend(notes.stating(None)?),
            ItemType::Relation => found.extend(notes.linking()?),
            ItemType::Entity => {}
        }
    }
    found.sort_unstable();
    found.dedup();
    if let Some(docs) = docs {
        found.retain(|doc| docs.binary_search(doc).is_ok());
    }
    Ok(found)
}

/// Returns the notes whose front matter meets the conditions.
pub(super) fn fitting(
    ctx: &QueryContext<'_>,
    conditions: &Conditions,
) -> Result<Vec<i64>, AskError> {
    let notes = ctx.snapshot.notes();
    let mut fields: FxHashMap<i64, Vec<Field>> = FxHashMap::default();
    for field in notes.fields(None)?.into_iter().filter(|it| conditions.concern(&it.key)) {
        fields.entry(field.doc).or_default().push(field);
    }
    let mut found = Vec::new();
    notes.each_metadata(|(doc, metadata)| {
        let mut metadata = conditions.concerned(&metadata);
        // `key:: value` in the text extends the front matter.
        for field in fields.remove(&doc).unwrap_or_default() {
            match metadata.entry(field.key).or_insert_with(|| Value::Array(vec![])) {
                Value::Array(values) => values.push(field.value.into()),
                stated => *stated = Value::Array(vec![stated.take(), field.value.into()]),
            }
        }
        if conditions.hold(&metadata) {
            found.push(doc);
        }
    })?;
    found.sort_unstable();
    Ok(found)
}
