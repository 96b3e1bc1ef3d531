//! Filter: the documents that may answer, as conditions on their rows.
//!
//! In: the document conditions of a request and its question. Out: SQL with parameters.
//! Not here: the meaning of a path or tag (`condition.rs`), reading the documents (`within.rs`).

use std::borrow::Cow;

use notes::resolve::By;

use super::condition::{Under, has_tag};

/// Which documents may answer.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Filter {
    pub paths: Vec<Under>,
    pub tags: Vec<String>,
    pub doc_type: Option<String>,
    /// Label in the front matter.
    pub security: Option<String>,
    pub language: Option<String>,
    /// Only documents that mention this entity; `Within::mentioning` has the passages that do.
    pub entity: Option<i64>,
    pub after: Option<String>,
    pub before: Option<String>,
    /// Conditions that only note searches have.
    pub of_notes: OfNotes,
}

/// Conditions that only note searches have (S0 §5.5).
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct OfNotes {
    /// One of these types or formats, folded.
    pub types: Vec<String>,
    /// Modified later than this, milliseconds since 1970.
    pub modified_after: Option<i64>,
    /// Words in the title, folded.
    pub title: Option<String>,
    pub permalink: Option<String>,
    /// A prefix of a permalink, or a pattern with `*`.
    pub permalink_match: Option<String>,
    /// If given, only these documents may answer, as ascending row ids.
    pub docs: Option<Vec<i64>>,
}

/// When a document was last changed, by its front matter, else by its file. `$.date` of `meta`
/// would not work: it also holds `created`.
pub(crate) const CHANGED_MS: &str = "coalesce(1000 * CAST(coalesce( \
     strftime('%s', json_extract(d.meta, '$.extra.modified')), \
     strftime('%s', json_extract(d.meta, '$.extra.updated')), \
     strftime('%s', (SELECT json_extract(own.metadata, '$.date') FROM notes own WHERE own.doc_id = d.id))) \
     AS INTEGER), d.mtime_ms)";

impl OfNotes {
    /// Returns whether `docs` accepts a document.
    pub(crate) fn means(&self, doc: i64) -> bool {
        self.docs.as_ref().is_none_or(|docs| docs.binary_search(&doc).is_ok())
    }

    fn add(&self, clauses: &mut Vec<Cow<'_, str>>, values: &mut Vec<String>) {
        if !self.types.is_empty() {
            let types = serde_json::to_string(&self.types).unwrap_or_default();
            let any = "(SELECT value FROM json_each(?))";
            clauses
                .push(format!("(folded(d.doc_type) IN {any} OR folded(d.format) IN {any})").into());
            values.extend([types.clone(), types]);
        }
        if let Some(ms) = self.modified_after {
            clauses.push(format!("{CHANGED_MS} > CAST(? AS INTEGER)").into());
            values.push(ms.to_string());
        }
        if let Some(title) = &self.title {
            let titled = "EXISTS (SELECT 1 FROM doc_names n WHERE n.doc_id = d.id AND n.kind = CAST(? AS INTEGER) \
                          AND instr(n.key, ?) > 0)";
            clauses.push(titled.into());
            values.extend([(By::Title as i64).to_string(), title.clone()]);
        }
        if let Some(permalink) = &self.permalink {
            clauses.push(
                "EXISTS (SELECT 1 FROM notes n WHERE n.doc_id = d.id AND n.permalink = ?)".into(),
            );
            values.push(permalink.clone());
        }
        if let Some(pattern) = &self.permalink_match {
            let (fits, given) = match pattern.contains('*') {
                true => ("GLOB ?", pattern.replace('[', "[[]").replace('?', "[?]")),
                false => ("GLOB ? || '*'", pattern.replace('[', "[[]").replace('?', "[?]")),
            };
            clauses.push(
                format!(
                    "EXISTS (SELECT 1 FROM notes n LEFT JOIN doc_names m ON m.doc_id = n.doc_id \
                     AND m.kind = CAST(? AS INTEGER) WHERE n.doc_id = d.id AND (n.permalink {fits} OR m.key {fits}))"
                )
                .into(),
            );
            values.extend([(By::PathSlug as i64).to_string(), given.clone(), given]);
        }
    }
}

impl Filter {
    /// Returns the condition on `docs d` as SQL with its parameters; `None` if every document may
    /// answer.
    pub(crate) fn sql(&self) -> Option<(String, Vec<String>)> {
        let Some(docs) = &self.of_notes.docs else { return self.sql_beside_docs() };
        let rows = "d.id IN (SELECT value FROM json_each(?))";
        let (beside, mut values) = self.sql_beside_docs().unwrap_or_else(|| ("1".into(), vec![]));
        values.push(serde_json::to_string(docs).unwrap_or_default());
        Some((format!("{beside} AND {rows}"), values))
    }

    /// As [`Filter::sql`], without [`OfNotes::docs`], for which SQLite would scan a list per row.
    pub(crate) fn sql_beside_docs(&self) -> Option<(String, Vec<String>)> {
        let (mut clauses, mut values): (Vec<Cow<'_, str>>, Vec<String>) = Default::default();
        if let Some(entity) = self.entity {
            clauses.push(
                "(d.entity_id = CAST(? AS INTEGER) OR EXISTS (SELECT 1 FROM names n JOIN mentions m ON m.name_id = n.id
                  WHERE n.entity_id = CAST(? AS INTEGER) AND m.doc_id = d.id))"
                    .into(),
            );
            values.extend([entity.to_string(), entity.to_string()]);
        }
        for path in &self.paths {
            clauses.push(path.sql(&mut values).into());
        }
        for tag in &self.tags {
            clauses.push(has_tag(tag, &mut values).into());
        }
        if let Some(doc_type) = &self.doc_type {
            clauses.push("folded(?) IN (folded(d.doc_type), folded(d.format))".into());
            values.push(doc_type.trim().to_string());
        }
        if let Some(label) = &self.security {
            clauses.push("folded(json_extract(d.meta, '$.security')) = folded(?)".into());
            values.push(label.clone());
        }
        if let Some(language) = &self.language {
            clauses.push("folded(d.language) = folded(?)".into());
            values.push(language.clone());
        }
        if let Some(day) = &self.after {
            clauses.push("d.day >= ?".into());
            values.push(day.clone());
        }
        if let Some(day) = &self.before {
            clauses.push("d.day < ?".into());
            values.push(day.clone());
        }
        self.of_notes.add(&mut clauses, &mut values);
        (!clauses.is_empty()).then(|| (clauses.join(" AND "), values))
    }
}
