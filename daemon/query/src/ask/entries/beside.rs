//! Beside: answers questions about entries from the whole folder: documents, notes and memory.
//!
//! In: a question with a scope or names that entries do not have, or that no entry answers. Out:
//! the answer of `ask`, under the strategy that corresponds to its plan.
//! Invariants: entries are quoted only as steps of a path, because those that answer were found
//! before; an answer that `ask` marks as irrelevant is dropped.

use notes::entry::id_text;
use proto::error::ErrorView;
use proto::shape::RelationView;
use proto::tool::core::{Ask, AskPlan};
use proto::tool::kb::{EntryType, Strategy};

use super::strategy::{KbAnswer, KbQuestion, node};
use crate::ask::{Sources, answer, connects, paths};
use crate::connect::entity_given;
use crate::kb::graph::{By, Step};
use crate::kb::planner::resolve;
use crate::kb::stated;

/// Each strategy with the corresponding plan.
const PLANS: [(Strategy, AskPlan); 5] = [
    (Strategy::Auto, AskPlan::Search),
    (Strategy::DecisionTrace, AskPlan::Decisions),
    (Strategy::Timeline, AskPlan::Timeline),
    (Strategy::Related, AskPlan::Summary),
    (Strategy::Connection, AskPlan::Path),
];

/// Most statements in an answer.
const MAX_STATEMENTS: usize = 50;

/// Answers for a scope that is not a node of the entry graph but is known to the folder.
pub(super) fn of_scope<'l>(
    sources: &Sources<'l>,
    question: &KbQuestion,
) -> Result<Option<KbAnswer<'l>>, ErrorView> {
    let scope = question.scope.as_ref().filter(|_| question.strategy != Strategy::Connection);
    let Some(scope) = scope else { return Ok(None) };
    let bare = scope.trim().strip_prefix("type:").unwrap_or(scope.trim());
    let entry_index = &sources.library.entry_index;
    if EntryType::parse(bare).is_some() || resolve(scope, entry_index).is_some() {
        return Ok(None);
    }
    let Ok(entity) = entity_given(sources.ctx, "scope", scope) else { return Ok(None) };
    let plan = PLANS.iter().find(|it| it.0 == question.strategy).map_or(AskPlan::Auto, |it| it.1);
    let plan = if question.strategy == Strategy::Auto { AskPlan::Auto } else { plan };
    let answered = asked(sources, question, plan, Some(entity))?;
    let nothing = || KbAnswer {
        strategy: question.strategy,
        reason: "no entry belongs to this scope".into(),
        hint: Some("no document says anything about it either".into()),
        ..KbAnswer::default()
    };
    let scope = Some(scope.clone());
    Ok(Some(KbAnswer { scope, ..answered.unwrap_or_else(nothing) }))
}

/// Answers where entries have nothing, and connects two things that only the folder knows.
pub(super) fn of_folder<'l>(
    sources: &Sources<'l>,
    question: &KbQuestion,
    known: &KbAnswer<'l>,
) -> Result<Option<KbAnswer<'l>>, ErrorView> {
    let is_open = known.strategy == Strategy::Auto;
    if is_open && known.found.named.len() > 1 && connects(&question.text) {
        let answered = asked(sources, question, AskPlan::Path, None)?;
        let answered = answered.filter(|it| it.strategy == Strategy::Connection);
        if answered.is_some() {
            return Ok(answered);
        }
    }
    match known.entries.is_empty() && known.way.is_empty() {
        true => asked(sources, question, AskPlan::Auto, None),
        false => Ok(None),
    }
}

/// Adds the best path through the whole folder, with the statements that support its steps.
pub(super) fn connected(
    sources: &Sources<'_>,
    ends: [&str; 2],
    known: &mut KbAnswer<'_>,
) -> Result<(), ErrorView> {
    let mut entities = [0; 2];
    for (entity, text) in entities.iter_mut().zip(ends) {
        let entry_index = &sources.library.entry_index;
        let found = match resolve(text, entry_index) {
            Some(node) => stated::entity_of(sources.ctx.snapshot, entry_index, &node)?,
            None => entity_given(sources.ctx, "scope", text).ok(),
        };
        let Some(found) = found else {
            // A tag is a node only of the entry graph.
            return node(sources.library, text).map(|_| ());
        };
        *entity = found;
    }
    let [from, to] = entities;
    if from == to {
        return Ok(());
    }
    let (steps, statements) = paths(sources, entities, MAX_STATEMENTS)?;
    known.way = way(sources, from, &steps)?;
    known.documents = statements;
    Ok(())
}

/// Returns what `ask` answers with a plan, or `None` if that is empty.
fn asked<'l>(
    sources: &Sources<'l>,
    question: &KbQuestion,
    plan: AskPlan,
    about: Option<i64>,
) -> Result<Option<KbAnswer<'l>>, ErrorView> {
    let request = Ask {
        query: question.text.clone(),
        plan: Some(plan),
        about: about.map(|it| it.to_string()),
        limit: Some(question.limit.min(MAX_STATEMENTS) as u32),
        ..Ask::default()
    };
    let mut reply = answer(sources, &request, !question.in_sentences)?;
    if reply.nothing_relevant {
        return Ok(None);
    }
    let strategy = PLANS.iter().find(|it| it.1 == reply.plan).map_or(Strategy::Auto, |it| it.0);
    let mut answered = KbAnswer {
        strategy,
        reason: format!("no entry answers, so the whole folder was asked: {}", reply.reason),
        hint: reply.hint,
        ..KbAnswer::default()
    };
    if let (Strategy::Connection, [one, other, ..]) = (strategy, reply.about.as_slice()) {
        let (steps, statements) = paths(sources, [one.id, other.id], MAX_STATEMENTS)?;
        answered.way = way(sources, one.id, &steps)?;
        answered.documents = statements;
        (answered.scope, answered.target) = (Some(one.name.clone()), Some(other.name.clone()));
        return Ok(Some(answered));
    }
    for it in std::mem::take(&mut reply.statements) {
        if sources.entry_at(&it.source.path)?.is_none() {
            answered.documents.push(it);
        }
    }
    Ok((!answered.documents.is_empty()).then_some(answered))
}

/// Returns the steps of a path from an entity, with the surest relation of each.
fn way(sources: &Sources<'_>, from: i64, steps: &[RelationView]) -> Result<Vec<Step>, ErrorView> {
    let (mut at, mut hop, mut way) = (from, 0, Vec::new());
    for it in steps {
        if it.hop == hop {
            continue;
        }
        hop = it.hop;
        let subject = node_of(sources, &it.subject, it.subject_path.as_deref())?;
        let object = node_of(sources, &it.object, it.object_path.as_deref())?;
        let is_outgoing = it.subject_id == Some(at);
        let (from, to) = if is_outgoing { (subject, object) } else { (object, subject) };
        let edge = it.predicate.clone();
        way.push(Step { from, edge, to, is_outgoing, by: By::Note });
        at = if is_outgoing { it.object_id } else { it.subject_id }.unwrap_or(at);
    }
    Ok(way)
}

/// Returns the id of the entry at a path, else the name.
fn node_of(sources: &Sources<'_>, name: &str, path: Option<&str>) -> Result<String, ErrorView> {
    let entry = path.map(|path| sources.entry_at(path)).transpose()?.flatten();
    Ok(entry.map_or_else(|| name.to_string(), |row| id_text(row.number)))
}
