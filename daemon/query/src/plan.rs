//! Plan: what a request asks for, checked and completed from the settings.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::condition::{Under, has_tag};
use super::cursor::Cursor;
use super::error::invalid;
use super::question::Question;
use super::within::{Rows, Within};
use super::{AskError, Desk};
use config::settings::{Floor, Formula, Retrieval, Weights};
use index::store::links::BY_PATH_SLUG;
use notes::resolve::By;
use proto::error::ErrorView;
use proto::tool::core::{self, HybridQuery};

/// Longest question, characters.
const MAX_QUESTION_CHARS: usize = 1_000;

/// Most candidates of a signal: as far as a cursor leads.
pub(super) const MAX_RECALL: usize = 400;

/// A checked request.
#[derive(Debug, Clone)]
pub(super) struct Plan {
    pub question: Question,
    pub k: usize,
    /// Candidates of a signal. It follows from the settings alone: another depth is another order.
    pub recall_k: usize,
    pub hops: u32,
    pub rels: Vec<String>,
    pub filter: Filter,
    /// The documents that it lets through, once they are read; it does not change afterwards.
    pub within: Within,
    pub max_chars: usize,
    /// What earlier answers to the same question told.
    pub cursor: Cursor,
    pub formula: Formula,
    pub weights: Weights,
    pub floor: Floor,
    pub other_names: bool,
    pub relation_weights: BTreeMap<String, f32>,
    /// Formulas `s0` and `vector`: least cosine of what is found by meaning; none where nothing is said.
    pub min_similarity: Option<f32>,
}

impl Plan {
    /// The documents that may answer; all where there is none.
    pub(super) fn docs(&self, desk: &Desk<'_>) -> Result<Rows, AskError> {
        self.within.of(desk, &self.filter)
    }

    /// The only passages that may answer, where the question is about an entity.
    pub(super) fn mentioning(&self, desk: &Desk<'_>) -> Result<Rows, AskError> {
        self.within.mentioning(desk, &self.filter)
    }

    /// Weight of a relation in the score, in [0, 1].
    pub(super) fn relation_weight(&self, relation: &str) -> f32 {
        let default = self.relation_weights.get("default").copied().unwrap_or(0.5);
        self.relation_weights.get(relation).copied().unwrap_or(default)
    }

    /// Sets the weights of text and vectors by the share of the candidates, 0 to 1, that the better model tells: its
    /// cosines are worth more than static ones.
    pub(super) fn weigh(&mut self, better: f32) {
        let weights = &mut self.weights;
        weights.text += better * (weights.better_text - weights.text);
        weights.vector += better * (weights.better_vector - weights.vector);
    }

    /// Moves weight from words, and from the names among them, to vectors, by how much words tell, 0 to 1.
    pub(super) fn trust(&mut self, told: f32) {
        let weights = &mut self.weights;
        let kept = weights.unsure + (1.0 - weights.unsure) * told;
        weights.vector += (1.0 - kept) * weights.text;
        let Weights { text, graph, stated, names, bridge, .. } = weights;
        for weight in [text, graph, stated, names, bridge] {
            *weight *= kept;
        }
    }

    /// True when the graph takes part in the score.
    pub(super) fn uses_graph(&self) -> bool {
        let Weights { graph, names, bridge, .. } = self.weights;
        match self.formula {
            Formula::S4 => true,
            _ => self.is_fused() && [graph, names, bridge].iter().any(|it| *it > 0.0),
        }
    }

    /// True when text and vectors make one score, with what the graph adds.
    pub(super) fn is_fused(&self) -> bool {
        matches!(self.formula, Formula::Hybrid | Formula::Rrf | Formula::MinMax)
    }
}

/// Which documents may answer.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Filter {
    pub paths: Vec<Under>,
    pub tags: Vec<String>,
    pub doc_type: Option<String>,
    pub language: Option<String>,
    /// Only documents that mention this entity; which of their passages do is [`Plan::mentioning`].
    pub entity: Option<i64>,
    pub after: Option<String>,
    pub before: Option<String>,
    /// What only searches of notes ask for.
    pub of_notes: OfNotes,
}

/// Which documents a search of notes means (S0 §5.5), beside what every question may say.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct OfNotes {
    /// Any of these types or formats, in lower case.
    pub types: Vec<String>,
    /// Modified later than this, milliseconds since 1970.
    pub modified_after: Option<i64>,
    /// Words within the title, folded.
    pub title: Option<String>,
    pub permalink: Option<String>,
    /// How a permalink begins, or a pattern with `*`.
    pub permalink_match: Option<String>,
    /// Rows of documents, ascending, where only these may answer.
    pub docs: Option<Vec<i64>>,
}

impl OfNotes {
    /// Whether a document may answer, as far as rows of documents say.
    pub(super) fn means(&self, doc: i64) -> bool {
        self.docs.as_ref().is_none_or(|docs| docs.binary_search(&doc).is_ok())
    }

    fn add(&self, clauses: &mut Vec<Cow<'_, str>>, values: &mut Vec<String>) {
        if !self.types.is_empty() {
            let types = serde_json::to_string(&self.types).unwrap_or_default();
            let any = "(SELECT value FROM json_each(?))";
            clauses
                .push(format!("(lower(d.doc_type) IN {any} OR lower(d.format) IN {any})").into());
            values.extend([types.clone(), types]);
        }
        if let Some(ms) = self.modified_after {
            clauses.push("d.mtime_ms > CAST(? AS INTEGER)".into());
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
            values.extend([BY_PATH_SLUG.to_string(), given.clone(), given]);
        }
    }
}

impl Filter {
    /// The condition on `docs d` as SQL with its parameters; `None` when every document may answer.
    pub(super) fn sql(&self) -> Option<(String, Vec<String>)> {
        let Some(docs) = &self.of_notes.docs else { return self.sql_beside_docs() };
        let rows = "d.id IN (SELECT value FROM json_each(?))";
        let (beside, mut values) = self.sql_beside_docs().unwrap_or_else(|| ("1".into(), vec![]));
        values.push(serde_json::to_string(docs).unwrap_or_default());
        Some((format!("{beside} AND {rows}"), values))
    }

    /// The same without what [`OfNotes::means`] tells, for which SQLite would have to read all of a list.
    pub(super) fn sql_beside_docs(&self) -> Option<(String, Vec<String>)> {
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
            clauses.push("(d.doc_type = ? COLLATE NOCASE OR d.format = ? COLLATE NOCASE)".into());
            values.extend([doc_type.clone(), doc_type.clone()]);
        }
        if let Some(language) = &self.language {
            clauses.push("d.language = ? COLLATE NOCASE".into());
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

/// Checks a request and fills in what it leaves out.
pub(super) fn plan(request: &HybridQuery, defaults: &Retrieval) -> Result<Plan, ErrorView> {
    let n_chars = request.q.chars().count();
    if request.q.trim().is_empty() || n_chars > MAX_QUESTION_CHARS {
        return Err(invalid(
            format!("`q` has {n_chars} characters"),
            "give a question or keywords of 1 to 1,000 characters",
        ));
    }
    let k = in_range("k", request.k.unwrap_or(defaults.k), 1, 100)? as usize;
    let formula = match &request.formula {
        None => defaults.formula,
        Some(name) => serde_json::from_value(serde_json::Value::String(name.to_lowercase()))
            .map_err(|_| {
                invalid(
                    format!("no formula `{name}`"),
                    "use hybrid, rrf, minmax, s0, s4, text or vector",
                )
            })?,
    };
    // Whether it is spelt out or left out.
    let asked = HybridQuery { formula: Some(format!("{formula:?}")), ..request.clone() };
    let cursor = match &request.cursor {
        Some(text) => Cursor::parse(text, &asked)?,
        None => Cursor::first(&asked),
    };
    let question = Question::new(&request.q);
    Ok(Plan {
        filter: filter(request, &question)?,
        within: Within::default(),
        question,
        k,
        recall_k: (defaults.recall_k as usize).min(MAX_RECALL),
        cursor,
        hops: in_range("hops", request.hops.unwrap_or(defaults.hops), 0, 4)?,
        rels: request.rels.clone().unwrap_or_else(|| defaults.rels.clone()),
        max_chars: budget(request, defaults)?,
        formula,
        weights: defaults.weights,
        floor: defaults.floor,
        other_names: defaults.other_names,
        relation_weights: defaults.relation_weights.clone(),
        min_similarity: None,
    })
}

fn budget(request: &HybridQuery, defaults: &Retrieval) -> Result<usize, ErrorView> {
    in_range("max_chars", request.max_chars.unwrap_or(200), 200, 100_000)?;
    in_range("max_tokens", request.max_tokens.unwrap_or(70), 70, 33_000)?;
    Ok(core::budget(request.max_chars, request.max_tokens, defaults.max_chars).max(200) as usize)
}

fn in_range(name: &str, value: u32, low: u32, high: u32) -> Result<u32, ErrorView> {
    if (low..=high).contains(&value) {
        return Ok(value);
    }
    Err(invalid(format!("`{name}` is {value}"), &format!("give a number from {low} to {high}")))
}

fn filter(request: &HybridQuery, question: &Question) -> Result<Filter, ErrorView> {
    let path = request.path.iter().map(|path| Under::from(path.as_str()));
    let demand = question.demand.as_ref();
    let (paths, tags) = demand.map(|it| (it.paths.clone(), it.tags.clone())).unwrap_or_default();
    Ok(Filter {
        paths: path.filter(|it| !it.is_everywhere()).chain(paths).collect(),
        tags: request.tags.iter().flatten().cloned().chain(tags).collect(),
        doc_type: request.doc_type.clone(),
        language: request.language.clone(),
        entity: None,
        after: day("after", request.after.as_deref())?,
        before: day("before", request.before.as_deref())?,
        of_notes: OfNotes::default(),
    })
}

fn day(name: &str, value: Option<&str>) -> Result<Option<String>, ErrorView> {
    let Some(text) = value else { return Ok(None) };
    match text.parse::<jiff::civil::Date>() {
        Ok(date) => Ok(Some(date.to_string())),
        Err(_) => Err(invalid(format!("`{name}` is `{text}`"), "give a day as YYYY-MM-DD")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(q: &str) -> HybridQuery {
        HybridQuery { q: q.into(), ..HybridQuery::default() }
    }

    #[test]
    fn bad_parameters_name_themselves() {
        let rows = [
            (request("  "), "`q` has 2 characters"),
            (HybridQuery { k: Some(0), ..request("a") }, "`k` is 0"),
            (HybridQuery { hops: Some(9), ..request("a") }, "`hops` is 9"),
            (HybridQuery { formula: Some("magic".into()), ..request("a") }, "no formula `magic`"),
            (HybridQuery { after: Some("soon".into()), ..request("a") }, "`after` is `soon`"),
        ];
        for (bad, message) in rows {
            let error = plan(&bad, &Retrieval::default()).expect_err("refused");
            assert_eq!(error.message, message);
            assert!(error.hint.is_some());
        }
    }

    #[test]
    fn vectors_weigh_more_the_more_of_them_are_the_better_model_s() {
        let weights = |better: f32| {
            let mut plan = plan(&request("a"), &Retrieval::default()).expect("planned");
            plan.weigh(better);
            (plan.weights.text, plan.weights.vector)
        };
        let usual = Weights::default();
        assert_eq!(weights(0.0), (usual.text, usual.vector));
        let (text, vector) = weights(1.0);
        assert!((text - usual.better_text).abs() < 1e-6);
        assert!((vector - usual.better_vector).abs() < 1e-6);
        let (half, _) = weights(0.5);
        assert!(text < half && half < usual.text);
    }

    #[test]
    fn vectors_take_what_words_that_tell_little_lose() {
        let weights = |told: f32| {
            let mut plan = plan(&request("a"), &Retrieval::default()).expect("planned");
            plan.trust(told);
            plan.weights
        };
        let usual = Weights::default();
        assert_eq!(weights(1.0), usual);
        let unsure = weights(0.0);
        assert!((unsure.text - usual.unsure * usual.text).abs() < 1e-6);
        assert!((unsure.text + unsure.vector - usual.text - usual.vector).abs() < 1e-6);
        assert!(unsure.bridge < usual.bridge && unsure.same_document == usual.same_document);
    }

    #[test]
    fn a_formula_may_be_spelt_out_on_one_page_and_left_out_on_another() {
        let next = |cursor: Option<String>, formula: Option<&str>| {
            let formula = formula.map(String::from);
            let request = HybridQuery { cursor, formula, ..request("a") };
            let planned = plan(&request, &Retrieval::default());
            planned.map(|plan| plan.cursor.after(&[7]).expect("a cursor"))
        };
        let first = next(None, None).expect("planned");
        assert!(next(Some(first.clone()), Some("Hybrid")).is_ok());
        let error = next(Some(first), Some("text")).expect_err("another order");
        assert_eq!(error.message, "`cursor` is of another question or other conditions");
    }

    #[test]
    fn filters_become_conditions() {
        let full = HybridQuery {
            path: Some("/docs/".into()),
            tags: Some(vec!["#Ops".into()]),
            doc_type: Some("runbook".into()),
            language: Some("de".into()),
            after: Some("2024-01-01".into()),
            ..request("a")
        };
        let filter = plan(&full, &Retrieval::default()).expect("planned").filter;
        let (sql, values) = filter.sql().expect("a condition");
        assert_eq!(sql.matches('?').count(), values.len());
        assert_eq!(
            values,
            ["docs/", "docs/", "ops", "ops/", "ops0", "runbook", "runbook", "de", "2024-01-01"]
        );
        assert_eq!(Filter::default().sql(), None);
    }
}
