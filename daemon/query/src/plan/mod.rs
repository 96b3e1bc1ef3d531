//! Plan, the first step: interprets a request.
//!
//! In: a request, the settings, a snapshot. Out: a [`Plan`], which the later steps only read.
//! Files in the order in which a question passes them: `question.rs` (its words), `expression.rs`
//! (operators), `demand.rs` (conditions on a chunk), `condition.rs` (paths and tags), `within.rs`
//! (the documents that may answer), `when.rs` (times), `event.rs` (times given by events),
//! `unmet.rs` (the condition that excludes everything), `cursor.rs` (the next page).
//! Invariant: a plan is built here and nowhere else; the results of later steps are in their own
//! output.

pub(crate) mod condition;
pub(crate) mod cursor;
pub(crate) mod demand;
pub(crate) mod event;
pub(crate) mod expression;
pub(crate) mod question;
pub(crate) mod unmet;
pub(crate) mod when;
pub(crate) mod within;

use std::collections::BTreeMap;

use config::settings::{Floor, Formula, Retrieval, Weights};
use proto::error::ErrorView;
use proto::tool::core::{self, HybridQuery};

use self::condition::Under;
use self::cursor::Cursor;
use self::event::Event;
use self::question::Question;
use self::when::When;
use self::within::Within;
use crate::error::{in_range, invalid};
use crate::graph::{lookup, relations};
use crate::{AskError, QueryContext};
pub(crate) use index::read::{Filter, OfNotes};

/// Longest question, characters.
pub(crate) const MAX_QUESTION_CHARS: usize = 1_000;

/// Most candidates per signal, and so the number of hits that a cursor can reach.
pub(crate) const MAX_RECALL: usize = 400;

/// A checked request.
#[derive(Debug)]
pub(crate) struct Plan {
    pub question: Question,
    pub filter: Filter,
    /// The documents and passages that pass the filter.
    pub within: Within,
    /// The times that the question names.
    pub when: When,
    /// An event relative to which the question gives a time.
    pub event: Option<Event>,
    /// Hits per page.
    pub k: usize,
    /// Candidates per signal. It depends only on the settings, because another depth gives another
    /// order.
    pub depth: usize,
    pub hops: u32,
    pub rels: Vec<String>,
    pub max_chars: usize,
    /// Most characters of the structured answer: 0 for none; no limit if omitted.
    pub structured_chars: Option<u32>,
    /// The hits of earlier pages.
    pub cursor: Cursor,
    pub formula: Formula,
    /// As in the settings; `recall::Trust` adjusts text and vectors to this question.
    pub weights: Weights,
    pub floor: Floor,
    pub other_names: bool,
    pub relation_weights: BTreeMap<String, f32>,
    /// Least cosine of a hit by meaning, for the formulas `s0` and `vector`; `None` if the request
    /// has none.
    pub min_similarity: Option<f32>,
    /// Most documents listed for a question without words.
    pub max_listed: usize,
    /// Hints for the caller about how the conditions were interpreted.
    pub hints: Vec<String>,
}

/// Checks a request of `hybrid_query` and looks up what it names.
pub(crate) fn plan(ctx: &QueryContext<'_>, request: &HybridQuery) -> Result<Plan, ErrorView> {
    plan_among(ctx, request, None)
}

/// As [`plan`], restricted to some documents, given as ascending row ids.
pub(crate) fn plan_among(
    ctx: &QueryContext<'_>,
    request: &HybridQuery,
    docs: Option<Vec<i64>>,
) -> Result<Plan, ErrorView> {
    let draft = Plan::draft(request, &ctx.settings.retrieval)?;
    if draft.question.is_empty() {
        return Ok(draft);
    }
    let entity = request.entity.as_ref().map(|it| lookup::given(ctx, "entity", it)).transpose()?;
    // Only relations of the request: a wrong one in the settings is reported by `status` and must
    // not fail every question.
    relations::check(ctx, request.rels.as_deref().unwrap_or_default())?;
    let of_notes = OfNotes { docs, ..draft.filter.of_notes };
    let filter = Filter { entity, of_notes, ..draft.filter };
    Ok(Plan { filter, ..draft }.resolve(ctx)?)
}

impl Plan {
    /// Checks a request and fills in its defaults. Does not read the index: [`Plan::resolve`] does
    /// that.
    pub(crate) fn draft(request: &HybridQuery, defaults: &Retrieval) -> Result<Plan, ErrorView> {
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
        // A cursor is valid even if the formula is given on one page and omitted on another.
        let asked = HybridQuery { formula: Some(format!("{formula:?}")), ..request.clone() };
        let cursor = match &request.cursor {
            Some(text) => Cursor::parse(text, &asked)?,
            None => Cursor::first(&asked),
        };
        let question = Question::new(&request.q);
        Ok(Plan {
            filter: filter(request, &question)?,
            within: Within::default(),
            when: When::of(&question.text),
            event: Event::of(&question.text),
            question,
            k,
            depth: (defaults.recall_k as usize).min(MAX_RECALL),
            cursor,
            hops: in_range("hops", request.hops.unwrap_or(defaults.hops), 0, 4)?,
            rels: request.rels.clone().unwrap_or_else(|| defaults.rels.clone()),
            max_chars: budget(request, defaults)?,
            structured_chars: request.structured_chars,
            formula,
            weights: defaults.weights,
            floor: defaults.floor,
            other_names: defaults.other_names,
            relation_weights: defaults.relation_weights.clone(),
            min_similarity: None,
            max_listed: MAX_RECALL,
            hints: Vec::new(),
        })
    }

    /// Resolves paths and tags in the index, and reads the documents that pass the filter.
    pub(crate) fn resolve(mut self, ctx: &QueryContext<'_>) -> Result<Plan, AskError> {
        self.hints = condition::resolve(ctx, &mut self.filter, self.question.demand.as_mut())?;
        self.within = Within::read(ctx, &self.filter)?;
        if self.when.is_relative() {
            let newest = ctx.snapshot.documents().days()?.and_then(|(_, day)| day.parse().ok());
            self.when =
                newest.map(|it| std::mem::take(&mut self.when).resolved(it)).unwrap_or_default();
        }
        Ok(self)
    }

    /// Weight of a relation in the score, in [0, 1].
    pub(crate) fn relation_weight(&self, relation: &str) -> f32 {
        let default = self.relation_weights.get("default").copied().unwrap_or(0.5);
        self.relation_weights.get(relation).copied().unwrap_or(default)
    }

    /// Returns whether text, vectors and the graph are added up to one score.
    pub(crate) fn is_fused(&self) -> bool {
        matches!(self.formula, Formula::Hybrid | Formula::Rrf | Formula::MinMax)
    }
}

fn budget(request: &HybridQuery, defaults: &Retrieval) -> Result<usize, ErrorView> {
    in_range("max_chars", request.max_chars.unwrap_or(200), 200, 100_000)?;
    in_range("max_tokens", request.max_tokens.unwrap_or(70), 70, 33_000)?;
    Ok(core::budget(request.max_chars, request.max_tokens, defaults.max_chars).max(200) as usize)
}

fn filter(request: &HybridQuery, question: &Question) -> Result<Filter, ErrorView> {
    let path = request.path.iter().map(|path| Under::from(path.as_str()));
    let demand = question.demand.as_ref();
    let (paths, tags) = demand.map(|it| (it.paths.clone(), it.tags.clone())).unwrap_or_default();
    Ok(Filter {
        paths: path.filter(|it| !it.is_everywhere()).chain(paths).collect(),
        tags: request.tags.iter().flatten().cloned().chain(tags).collect(),
        doc_type: request.doc_type.clone(),
        security: request.security.clone(),
        language: request.language.clone(),
        entity: None,
        after: day("after", request.after.as_deref())?,
        before: day("before", request.before.as_deref())?,
        of_notes: OfNotes::default(),
    })
}

fn day(name: &str, value: Option<&str>) -> Result<Option<String>, ErrorView> {
    let Some(text) = value else { return Ok(None) };
    match notes::date::stated_day(text) {
        Some(day) => Ok(Some(day)),
        None => Err(invalid(format!("`{name}` is `{text}`"), "give a day as YYYY-MM-DD")),
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
            let error = Plan::draft(&bad, &Retrieval::default()).expect_err("refused");
            assert_eq!(error.message, message);
            assert!(error.hint.is_some());
        }
    }

    #[test]
    fn a_formula_may_be_spelled_out_on_one_page_and_omitted_on_another() {
        let next = |cursor: Option<String>, formula: Option<&str>| {
            let formula = formula.map(String::from);
            let request = HybridQuery { cursor, formula, ..request("a") };
            let planned = Plan::draft(&request, &Retrieval::default());
            planned.map(|plan| plan.cursor.after(&[7]).expect("a cursor"))
        };
        let first = next(None, None).expect("planned");
        assert!(next(Some(first.clone()), Some("Hybrid")).is_ok());
        let error = next(Some(first), Some("text")).expect_err("another order");
        assert_eq!(error.message, "`cursor` belongs to another question or other conditions");
    }

    #[test]
    fn conditions_become_a_filter() {
        let full = HybridQuery {
            path: Some("/docs/".into()),
            tags: Some(vec!["#Ops".into()]),
            doc_type: Some("runbook".into()),
            language: Some("de".into()),
            after: Some("2024-01-01".into()),
            ..request("a")
        };
        let expected = Filter {
            paths: vec![Under::Begins("docs/".into())],
            tags: vec!["#Ops".into()],
            doc_type: Some("runbook".into()),
            language: Some("de".into()),
            after: Some("2024-01-01".into()),
            ..Filter::default()
        };
        assert_eq!(Plan::draft(&full, &Retrieval::default()).expect("planned").filter, expected);
    }
}
