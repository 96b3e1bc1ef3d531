//! `kb_ask` and `kb_summarize`.

use std::collections::HashSet;

use notes::entry::{id_text, number_of};
use proto::error::ErrorView;
use proto::tool::kb::{
    AskedEntry, CitedSentence, EntryView, KbAnswer, KbAsk, KbStep, KbSummarize, KbSummary, Strategy,
};

use super::library;
use super::search::{check_question, limit_of};
use crate::llm::plan::{self, QueryPlan, Vocabulary};
use crate::llm::{Asker, Prompt, answer};
use crate::project::Project;
use index::store::Snapshot;
use query::QueryContext;
use query::ask::Sources;
use query::ask::entries::strategy;
use query::ask::entries::strategy::{CitedEntry, KbQuestion, ask};
use query::ask::entries::summary::{summarize, text_of};
use query::browse::rfc3339;
use query::kb::graph::By;
use query::kb::planner::Planned;
use query::kb::{EntryRow, Library};

/// Entries in an answer: default and maximum; and the maximum of an explicit timeline, which lists
/// everything.
const LIMITS: (u32, u32) = (20, 50);
const MAX_OF_TIMELINE: u32 = 500;

/// Characters of an entry's content that are sent to a model.
const ENTRY_CHARS: usize = 6_000;

/// Most entries that `kb_summarize` shows as they are.
const MAX_RAW: usize = 5;

/// Most characters of an entry's content in an answer.
const EXCERPT_CHARS: usize = 240;

/// A prompt for planning, and the nodes that the plan may name.
pub struct ToPlan {
    prompt: Prompt,
    nodes: HashSet<String>,
}

/// Returns the prompt for planning a question; `None` if there is no model, or the strategy is
/// given.
pub fn to_plan(
    project: &Project,
    snapshot: &Snapshot,
    request: &KbAsk,
) -> Result<Option<ToPlan>, ErrorView> {
    let is_open = request.strategy.unwrap_or_default() == Strategy::Auto;
    if project.llms().query().is_none() || !is_open {
        return Ok(None);
    }
    check_question("question", &request.question)?;
    let library = library(project, snapshot)?;
    let graph = &library.entry_index.graph;
    let nodes: HashSet<String> = graph.nodes().map(String::from).collect();
    let mut named: Vec<String> = nodes.iter().filter(|id| id.contains(':')).cloned().collect();
    named.sort_by(|a, b| graph.degree(b).cmp(&graph.degree(a)).then_with(|| a.cmp(b)));
    let n_relations: Vec<(String, u64)> = graph.counts().1.into_iter().collect();
    let n_entries = library.entry_index.entries().filter(|row| row.entry.is_active).count() as u64;
    let vocabulary = Vocabulary { n_entries, nodes: &named, n_relations: &n_relations };
    Ok(Some(ToPlan { prompt: plan::prompt(&request.question, &vocabulary), nodes }))
}

/// A plan with the model that made it, or why there is none.
pub(super) type ModelPlan = Result<(QueryPlan, String), String>;

/// Asks the model of questions for a plan.
pub fn plan_by_model(project: &Project, to_plan: ToPlan, asker: &Asker) -> ModelPlan {
    let slot = project.llms().query().ok_or("there is no model")?;
    let completion = slot.generate(&to_plan.prompt, asker).map_err(|error| error.to_string())?;
    let plan = plan::parse(&completion.text, |id| to_plan.nodes.contains(id));
    Ok((plan.ok_or("the model's answer is not a plan")?, completion.model))
}

/// Answers from the graph of entries.
pub fn kb_ask(
    project: &Project,
    snapshot: &Snapshot,
    request: KbAsk,
    planned: Option<ModelPlan>,
) -> Result<KbAnswer, ErrorView> {
    check_question("question", &request.question)?;
    let (planned, planned_by, llm) = match planned {
        None => (None, None, None),
        Some(Ok((plan, model))) => (Some(plan), Some(format!("llm:{model}")), None),
        Some(Err(why)) => (None, None, Some(format!("planned without `llm.query`: {why}"))),
    };
    let search = planned.as_ref().filter(|plan| plan.strategy == Strategy::Auto);
    let search = search.and_then(|plan| plan.search_query.clone());
    let planned = planned.map(|plan| Planned {
        strategy: plan.strategy,
        reason: plan.reasoning.unwrap_or_else(|| "the model gave no reason".into()),
        scope: plan.scope,
        target: plan.target,
    });
    let most = match request.strategy {
        Some(Strategy::Timeline) => MAX_OF_TIMELINE,
        _ => LIMITS.1,
    };
    let question = KbQuestion {
        planned,
        limit: limit_of(request.limit, LIMITS.0, most)?,
        text: search.unwrap_or(request.question),
        strategy: request.strategy.unwrap_or_default(),
        scope: request.scope.filter(|it| !it.trim().is_empty()),
        target: request.target.filter(|it| !it.trim().is_empty()),
        with_graph: request.include_graph_context != Some(false),
        with_stale: request.include_stale == Some(true),
        in_sentences: false,
    };
    let library = library(project, snapshot)?;
    let context = project.context(snapshot);
    let projection = || project.projection(snapshot);
    let answer =
        ask(&Sources { ctx: &context, library: &library, projection: &projection }, &question)?;
    let mut entries = Vec::new();
    for cited in &answer.entries {
        entries.push(asked(&context, &library, cited)?);
    }
    for row in strategy::entries_on(&library, &answer.way) {
        let cited = CitedEntry { row, context: "on the way".into(), via: vec![] };
        entries.push(asked(&context, &library, &cited)?);
    }
    let steps = answer.way.into_iter().map(|step| KbStep {
        edge: edge(step.is_outgoing, &step.edge),
        from: step.from,
        to: step.to,
        llm: step.by == By::Llm,
    });
    let path = steps.collect();
    Ok(KbAnswer {
        strategy: answer.strategy,
        reason: answer.reason,
        scope: answer.scope,
        target: answer.target,
        entries,
        path,
        documents: answer.documents,
        hint: answer.hint,
        planned_by,
        llm,
        freshness: project.freshness(snapshot),
    })
}

/// Renders a relation, with `<` before it if a path follows it backwards.
fn edge(is_outgoing: bool, relation: &str) -> String {
    if is_outgoing { relation.to_string() } else { format!("<{relation}") }
}

fn asked(
    context: &QueryContext<'_>,
    library: &Library,
    cited: &CitedEntry<'_>,
) -> Result<AskedEntry, ErrorView> {
    Ok(AskedEntry {
        entry: library.view(cited.row)?,
        context: cited.context.clone(),
        via: cited.via.clone(),
        created_at: rfc3339(library.times(cited.row)?.created_ms),
        excerpt: excerpt(context, cited.row)?,
    })
}

/// Returns the first words of an entry's content.
fn excerpt(context: &QueryContext<'_>, row: &EntryRow) -> Result<String, ErrorView> {
    let text = text_of(context, row)?;
    let words: Vec<&str> = text.split_whitespace().take(EXCERPT_CHARS).collect();
    let words = words.join(" ");
    let mut excerpt: String = words.chars().take(EXCERPT_CHARS).collect();
    if excerpt.len() < words.len() {
        excerpt.push('…');
    }
    Ok(excerpt)
}

/// An answer in sentences from entries, and the entries from which a model may write another one.
pub struct Summed {
    reply: KbSummary,
    question: String,
    /// Ids and texts; empty if there is no model.
    texts: Vec<(String, String)>,
}

/// Lets the model of questions, if there is one, write the answer; otherwise leaves it unchanged.
pub fn with_answer(
    project: &Project,
    summed: Summed,
    asker: &Asker,
) -> Result<KbSummary, ErrorView> {
    let Summed { mut reply, question, texts } = summed;
    let Some(slot) = project.llms().query().filter(|_| !texts.is_empty()) else {
        return Ok(reply);
    };
    let pairs: Vec<(&str, &str)> =
        texts.iter().map(|(id, text)| (id.as_str(), text.as_str())).collect();
    let ids: Vec<&str> = pairs.iter().map(|(id, _)| *id).collect();
    let completion = slot.generate(&answer::prompt(&question, &pairs), asker);
    let written = completion.map_err(|error| error.to_string()).and_then(|completion| {
        let none = "it answered without naming an entry that says so".to_string();
        Ok((answer::parse(&completion.text, &ids).ok_or(none)?, completion.model))
    });
    match written {
        Ok((written, model)) => {
            let statements = answer::statements(&written.text).into_iter();
            reply.sentences = statements
                .map(|(text, cited)| cited_sentence(text, cited, &reply.entries))
                .collect();
            reply.answer = written.text;
            reply.method = format!("llm:{model}");
            reply.hint = (!written.invented.is_empty()).then(|| {
                format!("it also named {}, which it was not given", written.invented.join(", "))
            });
        }
        Err(why) => reply.llm = Some(format!("written without `llm.query`: {why}")),
    }
    Ok(reply)
}

/// Builds a sentence, with what superseded the entry that it cites first.
fn cited_sentence(text: String, cited: Vec<String>, entries: &[EntryView]) -> CitedSentence {
    let first = entries.iter().find(|it| Some(&it.id) == cited.first());
    let superseded_by = first.map(|it| it.superseded_by.clone()).unwrap_or_default();
    CitedSentence { text, cited, superseded_by }
}

/// Returns the number of the entry that a sentence is quoted from.
fn number_of_first(it: &CitedSentence) -> Option<u64> {
    it.cited.first().and_then(|id| number_of(id))
}

/// Answers in sentences from entries.
pub fn kb_summarize(
    project: &Project,
    snapshot: &Snapshot,
    request: KbSummarize,
) -> Result<Summed, ErrorView> {
    check_question("question", &request.question)?;
    let library = library(project, snapshot)?;
    let context = project.context(snapshot);
    let question = KbQuestion {
        limit: limit_of(request.limit, LIMITS.0, LIMITS.1)?,
        text: request.question.clone(),
        scope: request.scope.filter(|it| !it.trim().is_empty()),
        with_graph: true,
        ..KbQuestion::default()
    };
    let projection = || project.projection(snapshot);
    // S2 reads what `auto` finds: search and one step, whatever else the question might ask for.
    let summary = summarize(
        &Sources { ctx: &context, library: &library, projection: &projection },
        &question,
    )?;
    let rows: Vec<&EntryRow> = summary.entries.iter().map(|cited| cited.row).collect();
    let mut answer: Vec<String> = summary
        .sentences
        .iter()
        .map(|it| {
            let ids: String = it.cited.iter().map(|id| format!("[{id}]")).collect();
            let newer = it.superseded_by.join(", ");
            let newer = if newer.is_empty() { newer } else { format!(" (superseded by {newer})") };
            format!("{}{newer} {ids}", it.text)
        })
        .collect();
    let hint = match (rows.is_empty(), answer.is_empty()) {
        (_, false) if summary.sentences.iter().all(|it| number_of_first(it).is_none()) => {
            Some("no entry answers; these are sentences of documents".to_string())
        }
        (true, true) => Some("no entry was found for this".to_string()),
        // S2: without a model the entries themselves, if no sentence answers.
        (false, true) => {
            for row in rows.iter().take(MAX_RAW) {
                let title = row.entry.long_title.as_deref().unwrap_or(&row.title);
                let words = excerpt(&context, row)?;
                answer.push(format!("{title}: {words} [{}]", id_text(row.number)));
            }
            Some("LLM unavailable — showing raw results".to_string())
        }
        _ => None,
    };
    let mut texts = Vec::new();
    if project.llms().query().is_some() {
        for row in &rows {
            let text: String = text_of(&context, row)?.chars().take(ENTRY_CHARS).collect();
            texts.push((id_text(row.number), format!("{}\n{text}", row.title)));
        }
    }
    let reply = KbSummary {
        answer: answer.join("\n"),
        sentences: summary.sentences,
        conflicts: summary.conflicts,
        entries: rows.iter().map(|row| library.view(row)).collect::<Result<_, _>>()?,
        method: "extractive".into(),
        llm: None,
        hint,
        freshness: project.freshness(snapshot),
    };
    Ok(Summed { reply, question: request.question, texts })
}
