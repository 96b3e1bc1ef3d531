//! `kb_ask` and `kb_summarize`.

use notes::entry::id_text;
use proto::error::ErrorView;
use proto::tool::kb::{AskedEntry, KbAnswer, KbAsk, KbStep, KbSummarize, KbSummary, Strategy};

use super::library;
use super::search::{check_question, limit_of};
use crate::ask::Desk;
use crate::ask::browse::rfc3339;
use crate::ask::kb::strategy::{self, Question, Told, ask};
use crate::ask::kb::summary::{summarize, text_of};
use crate::ask::kb::{EntryRow, Library};
use crate::project::Project;
use crate::store::Snapshot;

/// Entries of an answer, and at most.
const LIMITS: (u32, u32) = (20, 50);

/// Characters of an entry's content that are told.
const EXCERPT_CHARS: usize = 240;

/// Answers by the graph of entries.
pub fn kb_ask(
    project: &Project,
    snapshot: &Snapshot,
    request: KbAsk,
) -> Result<KbAnswer, ErrorView> {
    check_question("question", &request.question)?;
    let question = Question {
        limit: limit_of(request.limit, LIMITS.0, LIMITS.1)?,
        text: request.question,
        strategy: request.strategy.unwrap_or_default(),
        scope: request.scope.filter(|it| !it.trim().is_empty()),
        target: request.target.filter(|it| !it.trim().is_empty()),
        with_graph: request.include_graph_context != Some(false),
    };
    let library = library(project, snapshot)?;
    let desk = project.desk(snapshot);
    let answer = ask(&desk, &library, &question)?;
    let mut entries = Vec::new();
    for told in &answer.entries {
        entries.push(asked(&desk, &library, told)?);
    }
    for row in strategy::entries_on(&library, &answer.way) {
        let told = Told { row, context: "on the way".into(), via: vec![] };
        entries.push(asked(&desk, &library, &told)?);
    }
    let steps = answer.way.into_iter().map(|step| KbStep {
        edge: if step.is_outgoing { step.edge } else { format!("<{}", step.edge) },
        from: step.from,
        to: step.to,
    });
    Ok(KbAnswer {
        strategy: answer.strategy,
        reason: answer.reason,
        scope: answer.scope,
        target: answer.target,
        entries,
        path: steps.collect(),
        hint: answer.hint,
        freshness: project.freshness(snapshot),
    })
}

fn asked(desk: &Desk<'_>, library: &Library, told: &Told<'_>) -> Result<AskedEntry, ErrorView> {
    let text = text_of(desk, told.row)?;
    let words: Vec<&str> = text.split_whitespace().take(EXCERPT_CHARS).collect();
    let words = words.join(" ");
    let mut excerpt: String = words.chars().take(EXCERPT_CHARS).collect();
    if excerpt.len() < words.len() {
        excerpt.push('…');
    }
    Ok(AskedEntry {
        entry: library.view(told.row),
        context: told.context.clone(),
        via: told.via.clone(),
        created_at: rfc3339(library.times(told.row).created_ms),
        excerpt,
    })
}

/// Answers in sentences of entries.
pub fn kb_summarize(
    project: &Project,
    snapshot: &Snapshot,
    request: KbSummarize,
) -> Result<KbSummary, ErrorView> {
    check_question("question", &request.question)?;
    let library = library(project, snapshot)?;
    let desk = project.desk(snapshot);
    let question = Question {
        limit: limit_of(request.limit, LIMITS.0, LIMITS.1)?,
        text: request.question.clone(),
        strategy: Strategy::Auto,
        scope: request.scope.filter(|it| !it.trim().is_empty()),
        target: None,
        with_graph: true,
    };
    // S2 reads what `auto` finds: search and one step, whatever else the question might ask for.
    let found = strategy::read(&desk, &library, &question)?;
    let rows: Vec<&EntryRow> = found.iter().map(|told| told.row).collect();
    let summary = summarize(&desk, &library, &request.question, &rows)?;
    let answer: Vec<String> = summary
        .sentences
        .iter()
        .map(|it| {
            let ids: String = it.cited.iter().map(|id| format!("[{id}]")).collect();
            format!("{} {ids}", it.text)
        })
        .collect();
    let hint = match (rows.is_empty(), answer.is_empty()) {
        (true, _) => Some("no entry was found for this".to_string()),
        (false, true) => {
            let ids: Vec<String> = rows.iter().take(5).map(|row| id_text(row.number)).collect();
            Some(format!("no sentence answers by itself; read {}", ids.join(", ")))
        }
        _ => None,
    };
    Ok(KbSummary {
        answer: answer.join("\n"),
        sentences: summary.sentences,
        conflicts: summary.conflicts,
        entries: rows.iter().map(|row| library.view(row)).collect(),
        method: "extractive".into(),
        hint,
        freshness: project.freshness(snapshot),
    })
}
