//! Eligible: the notes that may answer a search, by their statements and their front matter.
//!
//! In: a request, conditions. Out: ascending row ids of documents.
//! Not here: matching front matter (`metadata.rs`), the search itself (`search.rs`).

use proto::tool::notes::{ItemType, SearchNotes};
use rustc_hash::FxHashMap;
use serde_json::Value;

use super::metadata::Conditions;
use crate::{AskError, QueryContext};

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
    let mut found = Vec::new();
    for item in request.search_item_types.iter().flatten() {
        let sql = match item {
            ItemType::Observation => "SELECT DISTINCT doc_id FROM observations",
            ItemType::Relation => "SELECT DISTINCT doc_id FROM note_links",
            ItemType::Entity => continue,
        };
        let mut statement = ctx.snapshot.prepare_cached(sql)?;
        for doc in statement.query_map([], |row| row.get(0))? {
            found.push(doc?);
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
    let mut fields = fields(ctx, conditions)?;
    let mut statement = ctx.snapshot.prepare_cached("SELECT doc_id, metadata FROM notes")?;
    let mut rows = statement.query([])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let metadata = row.get_ref(1)?.as_str().unwrap_or_default();
        let mut metadata = conditions.concerned(metadata);
        let doc: i64 = row.get(0)?;
        // `key:: value` in the text extends the front matter.
        for (key, value) in fields.remove(&doc).unwrap_or_default() {
            match metadata.entry(key).or_insert_with(|| Value::Array(vec![])) {
                Value::Array(values) => values.push(value.into()),
                stated => *stated = Value::Array(vec![stated.take(), value.into()]),
            }
        }
        if conditions.hold(&metadata) {
            found.push(doc);
        }
    }
    found.sort_unstable();
    Ok(found)
}

/// Returns the inline fields (`key:: value`) that conditions refer to, by document.
fn fields(
    ctx: &QueryContext<'_>,
    conditions: &Conditions,
) -> Result<FxHashMap<i64, Vec<(String, String)>>, AskError> {
    let mut statement =
        ctx.snapshot.prepare_cached("SELECT doc_id, key, value FROM note_fields")?;
    let mut rows = statement.query([])?;
    let mut found: FxHashMap<i64, Vec<(String, String)>> = FxHashMap::default();
    while let Some(row) = rows.next()? {
        let key: String = row.get(1)?;
        if conditions.concern(&key) {
            found.entry(row.get(0)?).or_default().push((key, row.get(2)?));
        }
    }
    Ok(found)
}
