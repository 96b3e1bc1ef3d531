//! Ask: an answer from documents, notes, memory and entries, by one plan.
//!
//! In: a question, optionally a plan. Out: statements quoted from their places, and further passages. `choose.rs`
//! chooses the plan by the words of the question and the names in it, `found.rs` searches and picks statements. What a
//! plan needs is what other tools answer: the search of `hybrid_query`, the paths of `connect`, what `explain_entity`
//! knows.
//! Invariants: every statement is quoted from the place that is cited for it; a plan that finds nothing falls back to
//! the search, and says so; the same index and question give the same answer.
//! Not here: entries alone (`kb/`), sentences of a model's own.

mod choose;
mod found;

use std::sync::Arc;

use proto::error::ErrorView;
use proto::shape::{EvidenceView, RelationView, SourceView};
use proto::tool::core::{
    Ask, AskPlan, AskReply, ConflictView, Connect, ExplainEntity, FurtherView, StatementView,
};

use self::choose::choose;
use self::found::{Found, Picked, Search, search};
pub use self::found::{Nearest, nearest};
use crate::connect::connect;
use crate::entities::explain::explain_entity;
use crate::error::invalid;
use crate::graph::entity::entity_view;
use crate::graph::lookup::given;
use crate::graph::projection::Projection;
use crate::quote::statement::Statement;
use crate::{AskError, QueryContext};

/// Statements of an answer, and at most.
const LIMITS: (u32, u32) = (8, 50);

/// Hits that are found, and those of which a search or a summary reads the statements.
const DEPTH: usize = 30;
const READ: usize = 12;

/// Relations of a summary.
const MAX_RELATIONS: u32 = 6;

/// Hits among which a procedure is looked for.
const MAX_TO_STEPS: usize = 6;

/// Statements of one document about a decision: what was decided, and why.
const MAX_OF_DECISION: usize = 3;

/// Least confidence of a relation in a summary.
const SURE: f32 = 0.5;

/// Further passages of an answer.
const MAX_PASSAGES: usize = 4;

/// Most conflicts of an answer.
const MAX_CONFLICTS: usize = 3;

/// Reads the graph, which a path alone needs.
pub type ReadsGraph<'a> = &'a dyn Fn() -> Result<Arc<Projection>, AskError>;

/// Answers a question. `superseded_by` returns the entries that took the place of the one at a path.
///
/// # Errors
/// `invalid_params`, `not_found` or `ambiguous` for `about`, and when the index cannot be read.
pub fn ask(
    ctx: &QueryContext<'_>,
    projection: ReadsGraph<'_>,
    superseded_by: &dyn Fn(&str) -> Vec<String>,
    request: &Ask,
) -> Result<AskReply, ErrorView> {
    let limit = request.limit.unwrap_or(LIMITS.0);
    if !(1..=LIMITS.1).contains(&limit) {
        return Err(invalid(format!("`limit` is {limit}"), "give a number from 1 to 50"));
    }
    let about = match &request.about {
        Some(about) => Some(given(ctx, "about", about)?),
        None => None,
    };
    let wanted = Search { depth: DEPTH, about, ..Search::of(request) };
    let found = search(ctx, &wanted)?;
    let mut names: Vec<i64> = about.into_iter().collect();
    names.extend(found.named.iter().filter(|it| Some(**it) != about));
    let (plan, reason) = match request.plan.unwrap_or_default() {
        AskPlan::Auto => choose(&request.query, names.len()),
        plan => (plan, "it was asked for".to_string()),
    };
    let mut reply = AskReply { plan, reason, ..AskReply::default() };
    for name in names.iter().take(2) {
        reply.about.extend(entity_view(ctx, *name, None)?);
    }
    let limit = limit as usize;
    let asker = Asker { ctx, projection, superseded_by, limit };
    match (plan, names.as_slice()) {
        (AskPlan::Path, [one, other, ..]) => asker.path(&mut reply, [*one, *other])?,
        (AskPlan::Timeline, _) => asker.dated(&mut reply, &found, |_| 0.0)?,
        (AskPlan::Decisions, _) => asker.dated(&mut reply, &found, choose::decides)?,
        (AskPlan::Summary, [name, ..]) => asker.summary(&mut reply, &found, *name)?,
        _ => {}
    }
    if reply.statements.is_empty() {
        if !matches!(reply.plan, AskPlan::Search | AskPlan::Summary) {
            let tried = reply.plan.as_str();
            reply.reason = format!("{}; {tried} found nothing, so it was searched", reply.reason);
            reply.plan = AskPlan::Search;
        }
        asker.searched(&mut reply, &found)?;
    }
    reply.conflicts = conflicts(&reply.statements);
    reply.nothing_relevant = found.nothing_relevant && reply.plan == AskPlan::Search;
    if reply.hint.is_none() {
        reply.hint = match (reply.statements.is_empty(), found.hint) {
            (true, None) => Some("nothing in the folder is about this: try other words".into()),
            (_, hint) => hint,
        };
    }
    Ok(reply)
}

/// What all plans need.
struct Asker<'a> {
    ctx: &'a QueryContext<'a>,
    projection: ReadsGraph<'a>,
    superseded_by: &'a dyn Fn(&str) -> Vec<String>,
    limit: usize,
}

impl Asker<'_> {
    /// The passage that answers best as it stands, then the best sentences of the others.
    fn searched(&self, reply: &mut AskReply, found: &Found) -> Result<(), AskError> {
        // Of a procedure the steps are wanted, not the page that introduces it.
        let has_steps = |hit: &&found::Hit| !hit.is_weak && hit.is_procedure;
        let near = found.hits.iter().take(MAX_TO_STEPS);
        let steps =
            if choose::asks_how(&found.query) { near.clone().find(has_steps) } else { None };
        let first = steps.or(found.hits.first());
        if let Some(first) = first {
            reply.statements.push(StatementView {
                source: first.source.clone(),
                date: first.day.clone(),
                kind: "passage".into(),
                superseded_by: (self.superseded_by)(&first.source.path),
                ..StatementView::default()
            });
        }
        let first = first.map(|it| it.chunk);
        let said = Statement::all_of(reply.statements.first().map_or("", |it| &it.source.text));
        let others = found.statements(self.ctx, READ, |_| 0.0)?;
        let new = others
            .into_iter()
            .filter(|it| Some(it.chunk) != first && !said.iter().any(|one| one.repeats(&it.says)));
        let room = self.limit.saturating_sub(reply.statements.len());
        reply.statements.extend(new.take(room).map(|it| self.view(it)));
        reply.passages = further(found, &reply.statements);
        Ok(())
    }

    /// The best statement of each document, oldest first. `bonus` prefers some.
    fn dated(
        &self,
        reply: &mut AskReply,
        found: &Found,
        bonus: fn(&Picked) -> f64,
    ) -> Result<(), ErrorView> {
        let mut picked: Vec<Picked> = Vec::new();
        for it in found.statements(self.ctx, DEPTH, bonus)? {
            let is_decision = reply.plan != AskPlan::Decisions || bonus(&it) > 0.0;
            let n_of_doc = picked.iter().filter(|one| one.doc == it.doc).count();
            let most = if reply.plan == AskPlan::Decisions { MAX_OF_DECISION } else { 1 };
            let is_known = n_of_doc >= most || picked.iter().any(|one| one.says.repeats(&it.says));
            if is_decision && !is_known && picked.len() < self.limit {
                picked.push(it);
            }
        }
        picked.sort_by(|a, b| {
            let place = |it: &Picked| (it.day.clone(), it.source.path.clone(), it.source.line);
            place(a).cmp(&place(b))
        });
        reply.statements = picked.into_iter().map(|it| self.view(it)).collect();
        reply.passages = further(found, &reply.statements);
        Ok(())
    }

    /// What a thing is, what it is related to, and what is said of it.
    fn summary(&self, reply: &mut AskReply, found: &Found, name: i64) -> Result<(), ErrorView> {
        let request = ExplainEntity {
            entity_id: Some(name),
            limit: Some(MAX_RELATIONS),
            ..ExplainEntity::default()
        };
        let known = explain_entity(self.ctx, &request)?;
        if let Some(definition) = known.definition {
            reply.statements.push(StatementView {
                source: definition.source,
                kind: "definition".into(),
                ..StatementView::default()
            });
        }
        let says_something =
            |it: &&RelationView| it.confidence >= SURE && it.predicate != "related_to";
        let relations = known.relations.iter().filter(says_something);
        reply.statements.extend(relations.filter_map(|it| relation(it, "relation")));
        reply.statements.truncate(self.limit.saturating_sub(2).max(1));
        let mut said: Vec<Statement> = Vec::new();
        for it in &reply.statements {
            said.extend(Statement::all_of(&it.source.text));
        }
        for it in found.statements(self.ctx, READ, |_| 0.0)? {
            if reply.statements.len() >= self.limit {
                break;
            }
            if !said.iter().any(|one| one.repeats(&it.says)) {
                said.push(it.says.clone());
                reply.statements.push(self.view(it));
            }
        }
        reply.passages = further(found, &reply.statements);
        Ok(())
    }

    /// The paths between two things.
    fn path(&self, reply: &mut AskReply, ends: [i64; 2]) -> Result<(), ErrorView> {
        let found = connect(self.ctx, &*(self.projection)()?, &Connect::default(), ends)?;
        for path in found.paths.iter().take(2) {
            for step in &path.steps {
                let kind = format!("step {}", step.hop);
                reply.statements.extend(relation(step, &kind));
            }
        }
        reply.statements.truncate(self.limit);
        if reply.statements.is_empty() && !found.together.is_empty() {
            reply.hint = Some("no path joins them; these passages mention both".into());
            reply.statements = found
                .together
                .into_iter()
                .map(|it| StatementView {
                    source: it.source,
                    date: it.date,
                    kind: "sentence".into(),
                    ..StatementView::default()
                })
                .collect();
        }
        Ok(())
    }

    fn view(&self, it: Picked) -> StatementView {
        StatementView {
            superseded_by: (self.superseded_by)(&it.source.path),
            source: it.source,
            date: it.day,
            kind: "sentence".into(),
            claim: None,
        }
    }
}

/// A relation with its best evidence; none without any.
fn relation(it: &RelationView, kind: &str) -> Option<StatementView> {
    let is_for = |it: &&EvidenceView| !it.pattern.starts_with("against ");
    let best = it.evidence.iter().find(is_for)?;
    let [subject, object] = it.ends();
    Some(StatementView {
        source: SourceView { text: best.source.text.clone(), ..best.source.clone() },
        date: best.date.clone().unwrap_or_default(),
        kind: kind.to_string(),
        claim: Some(format!("{subject} {} {object}", it.predicate)),
        superseded_by: vec![],
    })
}

/// The places of hits that no statement quotes.
fn further(found: &Found, statements: &[StatementView]) -> Vec<FurtherView> {
    let is_quoted = |path: &str| statements.iter().any(|it| it.source.path == path);
    let others = found.hits.iter().filter(|hit| !hit.is_weak && !is_quoted(&hit.source.path));
    let view = |hit: &found::Hit| FurtherView { at: hit.at.clone(), section: hit.section.clone() };
    others.take(MAX_PASSAGES).map(view).collect()
}

/// Pairs of statements from different documents that contradict each other.
fn conflicts(statements: &[StatementView]) -> Vec<ConflictView> {
    let said: Vec<Vec<Statement>> =
        statements.iter().map(|it| Statement::all_of(&it.source.text)).collect();
    let mut found = Vec::new();
    for (n, (one, says)) in statements.iter().zip(&said).enumerate() {
        for (m, (other, denies)) in statements.iter().zip(&said).enumerate().skip(n + 1) {
            if one.source.path == other.source.path || found.len() == MAX_CONFLICTS {
                continue;
            }
            let mut whys = says.iter().flat_map(|it| denies.iter().map(|that| it.conflict(that)));
            if let Some(why) = whys.find_map(|why| why) {
                found.push(ConflictView { statements: [n as u64 + 1, m as u64 + 1], why });
            }
        }
    }
    found
}
