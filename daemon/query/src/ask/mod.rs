//! Ask: an answer from documents, notes, memory and entries, by one plan.
//!
//! In: a question, optionally a plan. Out: statements quoted from their places, and further passages. `choose.rs`
//! chooses the plan by the words of the question and the names in it, `found.rs` searches and picks statements. What a
//! plan needs is what other tools answer: the search of `hybrid_query`, the paths of `connect`, what `explain_entity`
//! knows. `kb_ask` and `kb_summarize` are views of it (`entries/`).
//! Invariants: every statement is quoted from the place that is cited for it; a plan that finds nothing falls back to
//! the search, and says so; the same index and question give the same answer.
//! Not here: the graph of entries (`kb/graph.rs`), sentences of a model's own.

mod choose;
pub mod entries;
mod found;
mod nearest;

use std::sync::Arc;

use proto::error::ErrorView;
use proto::shape::{EvidenceView, RelationView, SourceView};
use proto::tool::core::{
    Ask, AskPlan, AskReply, ConflictView, Connect, ExplainEntity, FurtherView, StatementView,
};
use rusqlite::OptionalExtension;

pub(crate) use self::choose::choose;
pub(crate) use self::found::{Found, Picked, Search, search};
pub use self::nearest::{Nearest, Told, nearest, said_before, standing};
use crate::connect::connect;
use crate::entities::explain::explain_entity;
use crate::error::invalid;
use crate::graph::entity::entity_view;
use crate::graph::lookup::given;
use crate::graph::projection::Projection;
use crate::kb::{EntryRow, Library};
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

/// Most other places of a statement.
const MAX_ALSO: usize = 3;

/// Most conflicts of an answer.
const MAX_CONFLICTS: usize = 3;

/// What an answer is made from.
pub struct Sources<'a> {
    /// The index.
    pub ctx: &'a QueryContext<'a>,
    /// The entries.
    pub library: &'a Library,
    /// Reads the graph, which a path alone needs.
    pub projection: &'a dyn Fn() -> Result<Arc<Projection>, AskError>,
}

impl<'a> Sources<'a> {
    /// Returns the entry whose note lies at a path.
    pub(crate) fn entry_at(&self, path: &str) -> Result<Option<&'a EntryRow>, AskError> {
        if self.library.shelf.entries().next().is_none() {
            return Ok(None);
        }
        let mut statement =
            self.ctx.snapshot.prepare_cached("SELECT id FROM docs WHERE path = ?1")?;
        let doc = statement.query_row([path], |row| row.get(0)).optional()?;
        Ok(doc.and_then(|doc| self.library.shelf.of_doc(doc)))
    }

    /// Returns the entries that took the place of the one at a path.
    fn superseded_by(&self, path: &str) -> Result<Vec<String>, AskError> {
        let row = self.entry_at(path)?;
        Ok(row.map(|row| self.library.superseded_by(row)).unwrap_or_default())
    }
}

/// Answers a question.
///
/// # Errors
/// `invalid_params`, `not_found` or `ambiguous` for `about`, and when the index cannot be read.
pub fn ask(sources: &Sources<'_>, request: &Ask) -> Result<AskReply, ErrorView> {
    answer(sources, request, true)
}

/// As [`ask`], but in single sentences where `with_passage` is not set.
pub(crate) fn answer(
    sources: &Sources<'_>,
    request: &Ask,
    with_passage: bool,
) -> Result<AskReply, ErrorView> {
    let ctx = sources.ctx;
    let limit = request.limit.unwrap_or(LIMITS.0);
    if !(1..=LIMITS.1).contains(&limit) {
        return Err(invalid(format!("`limit` is {limit}"), "give a number from 1 to 50"));
    }
    let about = match &request.about {
        Some(about) => Some(given(ctx, "about", about)?),
        None => None,
    };
    let wanted = Search { depth: DEPTH, about, ..Search::of(request) };
    let mut found = search(ctx, wanted)?;
    found.add_successors(ctx, sources.library)?;
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
    let asker = Asker { sources, limit, with_passage };
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
    let said: Vec<Vec<Statement>> =
        reply.statements.iter().map(|it| Statement::all_of(&it.source.text)).collect();
    let conflicts = conflicts(&said, |n, m| {
        let path = |at: usize| reply.statements.get(at).map(|it| it.source.path.as_str());
        path(n) == path(m)
    });
    let view = |(one, other, why): (usize, usize, String)| ConflictView {
        statements: [one as u64 + 1, other as u64 + 1],
        why,
    };
    reply.conflicts = conflicts.into_iter().take(MAX_CONFLICTS).map(view).collect();
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
    sources: &'a Sources<'a>,
    limit: usize,
    with_passage: bool,
}

impl Asker<'_> {
    /// The passage that answers best as it stands, then the best sentences of the others.
    fn searched(&self, reply: &mut AskReply, found: &Found) -> Result<(), AskError> {
        // Of a procedure the steps are wanted, not the page that introduces it.
        let has_steps = |hit: &&found::Hit| !hit.is_weak && hit.is_procedure;
        let near = found.hits.iter().take(MAX_TO_STEPS);
        let steps =
            if choose::asks_how(&found.query) { near.clone().find(has_steps) } else { None };
        let first = steps.or(found.hits.first()).filter(|_| self.with_passage);
        if let Some(first) = first {
            reply.statements.push(StatementView {
                source: first.source.clone(),
                date: first.day.clone(),
                relevance: first.relevance,
                kind: "passage".into(),
                superseded_by: self.sources.superseded_by(&first.source.path)?,
                ..StatementView::default()
            });
        }
        let first = first.map(|it| it.chunk);
        let said = Statement::all_of(reply.statements.first().map_or("", |it| &it.source.text));
        let others = self.statements(found, READ, |_| 0.0)?;
        let new = others
            .into_iter()
            .filter(|it| Some(it.chunk) != first && !said.iter().any(|one| one.repeats(&it.says)));
        let room = self.limit.saturating_sub(reply.statements.len());
        for it in new.take(room) {
            reply.statements.push(self.view(it)?);
        }
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
        for it in self.statements(found, DEPTH, bonus)? {
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
        let views = picked.into_iter().map(|it| self.view(it));
        reply.statements = views.collect::<Result<_, _>>()?;
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
        let known = explain_entity(self.sources.ctx, &request)?;
        if let Some(definition) = known.definition {
            reply.statements.push(StatementView {
                source: definition.source,
                relevance: 1.0,
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
        for it in self.statements(found, READ, |_| 0.0)? {
            if reply.statements.len() >= self.limit {
                break;
            }
            if !said.iter().any(|one| one.repeats(&it.says)) {
                said.push(it.says.clone());
                reply.statements.push(self.view(it)?);
            }
        }
        reply.passages = further(found, &reply.statements);
        Ok(())
    }

    /// The paths between two things.
    fn path(&self, reply: &mut AskReply, ends: [i64; 2]) -> Result<(), ErrorView> {
        (_, reply.statements) = paths(self.sources, ends, self.limit)?;
        if reply.statements.first().is_some_and(|it| it.claim.is_none()) {
            reply.hint = Some("no path joins them; these passages mention both".into());
        }
        Ok(())
    }

    fn statements(
        &self,
        found: &Found,
        n_hits: usize,
        bonus: fn(&Picked) -> f64,
    ) -> Result<Vec<Picked>, AskError> {
        found.statements(self.sources.ctx, self.sources.library, n_hits, bonus)
    }

    fn view(&self, it: Picked) -> Result<StatementView, AskError> {
        Ok(StatementView {
            superseded_by: self.sources.superseded_by(&it.source.path)?,
            also: it.also.iter().take(MAX_ALSO).map(|(_, source)| source.place()).collect(),
            source: it.source,
            date: it.day,
            relevance: it.relevance,
            kind: "sentence".into(),
            claim: None,
        })
    }
}

/// The steps of the best path between two things, and what states those of the best two; where there is none, the
/// sentences that mention both.
pub(crate) fn paths(
    sources: &Sources<'_>,
    ends: [i64; 2],
    limit: usize,
) -> Result<(Vec<RelationView>, Vec<StatementView>), ErrorView> {
    let projection = (sources.projection)()?;
    let found = connect(sources.ctx, &projection, &Connect::default(), ends)?;
    let steps = found.paths.iter().take(2).flat_map(|path| &path.steps);
    let stated = steps.filter_map(|step| relation(step, &format!("step {}", step.hop)));
    let together = found.together.into_iter().map(|it| StatementView {
        source: it.source,
        date: it.date,
        relevance: 1.0,
        kind: "sentence".into(),
        ..StatementView::default()
    });
    let statements = stated.chain(together).take(limit).collect();
    Ok((found.paths.into_iter().next().map(|path| path.steps).unwrap_or_default(), statements))
}

/// A relation with its best evidence; none without any.
fn relation(it: &RelationView, kind: &str) -> Option<StatementView> {
    let is_for = |it: &&EvidenceView| !it.pattern.starts_with("against ");
    let best = it.evidence.iter().find(is_for)?;
    let [subject, object] = it.ends();
    Some(StatementView {
        source: SourceView { text: best.source.text.clone(), ..best.source.clone() },
        date: best.date.clone().unwrap_or_default(),
        relevance: 1.0,
        kind: kind.to_string(),
        claim: Some(format!("{subject} {} {object}", it.predicate)),
        ..StatementView::default()
    })
}

/// The places of hits that no statement quotes.
fn further(found: &Found, statements: &[StatementView]) -> Vec<FurtherView> {
    let is_quoted = |path: &str| statements.iter().any(|it| it.source.path == path);
    let others = found.hits.iter().filter(|hit| !hit.is_weak && !is_quoted(&hit.source.path));
    let view = |hit: &found::Hit| FurtherView { at: hit.at.clone(), section: hit.section.clone() };
    others.take(MAX_PASSAGES).map(view).collect()
}

/// Pairs of statements that contradict each other, and why; `is_one_source` tells which are of one document.
pub(crate) fn conflicts(
    said: &[Vec<Statement>],
    is_one_source: impl Fn(usize, usize) -> bool,
) -> Vec<(usize, usize, String)> {
    let mut found = Vec::new();
    for (n, says) in said.iter().enumerate() {
        for (m, denies) in said.iter().enumerate().skip(n + 1) {
            if is_one_source(n, m) {
                continue;
            }
            let mut whys = says.iter().flat_map(|it| denies.iter().map(|that| it.conflict(that)));
            found.extend(whys.find_map(|why| why).map(|why| (n, m, why)));
        }
    }
    found
}
