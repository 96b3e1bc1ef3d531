//! Ask: answers a question from documents, notes, memory and entries, with one plan.
//!
//! In: a question, optionally a plan. Out: statements quoted from their places, and further
//! passages. `choose.rs` chooses the plan by the question's words and names, `found.rs` searches,
//! `picked.rs` picks statements, `dated.rs` dates them; `steps.rs` and `decided.rs` handle
//! procedures and decisions. For the rest a plan uses what other tools return: the search of
//! `hybrid_query`, the paths of `connect`, the facts of `explain_entity`. `kb_ask` and
//! `kb_summarize` are views of it (`entries/`).
//! Invariants: every statement is quoted from the place cited for it; the floor of `hybrid_query`
//! judges the results of every plan; a plan that finds nothing falls back to the search and says
//! so; the same index and question give the same answer.

mod choose;
mod dated;
mod decided;
pub mod entries;
mod found;
mod nearest;
mod picked;
mod steps;

use std::sync::Arc;

use proto::error::ErrorView;
use proto::shape::{EvidenceView, RelationView, SourceView};
use proto::tool::core::{
    Ask, AskPlan, AskReply, ConflictView, Connect, ExplainEntity, FurtherView, StatementView,
};

pub(crate) use self::choose::connects;
use self::choose::{Choice, Share, choose};
use self::dated::Dated;
use self::decided::{Wanted, decided};
pub(crate) use self::found::{Found, Search, search};
pub use self::nearest::{Nearest, NewText, existing_statement, nearest, standing};
pub(crate) use self::picked::{Choosing, Picked};
use crate::connect::connect;
use crate::entities::explain::explain_entity;
use crate::error::in_range;
use crate::graph::entity::entity_view;
use crate::graph::lookup::given;
use crate::graph::projection::Projection;
use crate::kb::{EntryRow, Library};
use crate::plan::when::When;
use crate::quote::claim::Claim;
use crate::quote::statement::Statement;
use crate::{AskError, QueryContext};

/// Statements in an answer: default and maximum.
const LIMITS: (u32, u32) = (8, 50);

/// Hits fetched, and how many of them a search or a summary reads for statements.
const DEPTH: usize = 30;
const READ: usize = 12;

/// Most relations in a summary.
const MAX_RELATIONS: u32 = 6;

/// Bonus of a statement in a timeline that has its own day.
const OWN_DAY: f64 = 0.15;

/// A name that covers at least this share of a question is its subject.
const HALF: f32 = 0.5;

/// Most statements without their own day from a daily note that was asked for.
const MAX_OF_NOTE: usize = 3;

/// A further statement must contain at least this fraction of the question's share that the best
/// statement, or the passage that answers, contains.
const LEAST_OF_BEST: f32 = 0.6;

/// A statement whose share of the question is this much higher than the best passage's moves its
/// own passage to the front.
const AHEAD: f32 = 0.3;

/// Least confidence of a relation in a summary.
const SURE: f32 = 0.5;

/// Relations that say only that two things have to do with each other.
const UNSHOWN: [&str; 2] = ["related_to", "links_to"];

/// Most further passages in an answer.
const MAX_PASSAGES: usize = 4;

/// Most other places of a statement.
const MAX_ALSO: usize = 3;

/// Most conflicts of an answer.
const MAX_CONFLICTS: usize = 3;

/// Sources of an answer.
pub struct Sources<'a> {
    /// The index.
    pub ctx: &'a QueryContext<'a>,
    /// The entries.
    pub library: &'a Library,
    /// Reads the graph; only a path needs it.
    pub projection: &'a dyn Fn() -> Result<Arc<Projection>, AskError>,
}

impl<'a> Sources<'a> {
    /// Returns the entry whose note lies at a path.
    pub(crate) fn entry_at(&self, path: &str) -> Result<Option<&'a EntryRow>, AskError> {
        if self.library.entry_index.entries().next().is_none() {
            return Ok(None);
        }
        let doc = self.ctx.snapshot.documents().at(path)?;
        Ok(doc.and_then(|doc| self.library.entry_index.of_doc(doc)))
    }

    /// Returns the entries that supersede the one at a path.
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

/// As [`ask`], but in single sentences unless `with_passage` is set.
pub(crate) fn answer(
    sources: &Sources<'_>,
    request: &Ask,
    with_passage: bool,
) -> Result<AskReply, ErrorView> {
    let ctx = sources.ctx;
    let limit = in_range("limit", request.limit.unwrap_or(LIMITS.0), 1, LIMITS.1)?;
    let about = match &request.about {
        Some(about) => Some(given(ctx, "about", about)?),
        None => None,
    };
    let wanted = Search { depth: DEPTH, about, ..Search::of(request) };
    let whole = search(ctx, wanted.clone())?;
    let mut names: Vec<i64> = about.into_iter().collect();
    names.extend(whole.named.iter().filter(|it| Some(**it) != about));
    let subject = |rest: &str, share| whole.subject(ctx, (rest, share), about);
    let choice = match request.plan.unwrap_or_default() {
        AskPlan::Auto => {
            let has_subject = |rest: &str, share| matches!(subject(rest, share), Ok(Some(_)));
            choose(&request.query, names.len(), has_subject)
        }
        plan => Choice::given(plan, &request.query),
    };
    let subject = match choice.plan {
        AskPlan::Summary => subject(&choice.rest, Share::Most)?,
        _ => None,
    };
    let is_narrower = !choice.rest.is_empty() && choice.rest != request.query;
    let mut found = match is_narrower {
        true => search(ctx, Search { query: &choice.rest, ..wanted })?,
        false => whole.clone(),
    };
    found.add_successors(ctx, sources.library)?;
    let Choice { plan, reason, rest } = choice;
    let mut reply = AskReply { plan, reason, ..AskReply::default() };
    let limit = limit as usize;
    let asker = Asker { sources, limit, with_passage };
    match (plan, names.as_slice()) {
        (AskPlan::Path, [one, other, ..]) => asker.path(&mut reply, [*one, *other])?,
        (AskPlan::Timeline, _) => asker.timeline(&mut reply, &found, &rest)?,
        (AskPlan::Decisions, _) => {
            let wanted = Wanted { request, rest: &rest, about, limit };
            let picked = decided(sources, &found, &wanted)?;
            asker.show(&mut reply, &found, picked)?;
        }
        (AskPlan::Summary, _) => {
            if let Some(subject) = subject {
                names.retain(|it| *it != subject);
                names.insert(0, subject);
                asker.summary(&mut reply, &found, subject)?;
            }
        }
        _ => {}
    }
    for name in names.iter().take(2) {
        reply.about.extend(entity_view(ctx, *name)?);
    }
    if reply.statements.is_empty() {
        // Without the words that ask for a plan, which would otherwise be searched.
        let found = if is_narrower { &found } else { &whole };
        if reply.plan != AskPlan::Search {
            let tried = reply.plan.as_str();
            reply.reason = format!("{}; {tried} found nothing, so it was searched", reply.reason);
            reply.plan = AskPlan::Search;
        }
        asker.searched(&mut reply, found)?;
        reply.nothing_relevant = found.nothing_relevant;
    }
    let claims: Vec<Vec<Claim>> =
        reply.statements.iter().map(|it| Claim::all_of(&it.source.text)).collect();
    let conflicts = conflicts(&claims, |n, m| {
        let path = |at: usize| reply.statements.get(at).map(|it| it.source.path.as_str());
        path(n) == path(m)
    });
    let view = |(one, other, why): (usize, usize, String)| ConflictView {
        statements: [one as u64 + 1, other as u64 + 1],
        why,
    };
    reply.conflicts = conflicts.into_iter().take(MAX_CONFLICTS).map(view).collect();
    if reply.hint.is_none() {
        reply.hint = match (reply.statements.is_empty(), found.hint) {
            (true, None) => Some("nothing in the folder is about this: try other words".into()),
            (_, hint) => hint,
        };
    }
    Ok(reply)
}

/// Shared state of all plans.
struct Asker<'a> {
    sources: &'a Sources<'a>,
    limit: usize,
    with_passage: bool,
}

impl Asker<'_> {
    /// Returns the passage that answers best, in full, then the best sentences of the others.
    fn searched(&self, reply: &mut AskReply, found: &Found) -> Result<(), AskError> {
        let others = self.statements(found, READ)?;
        // A procedure is answered by its steps, not by the page that introduces it.
        let steps = match choose::asks_how(&found.query) {
            true => steps::hit_with_steps(self.sources.ctx, &found.hits)?,
            false => None,
        };
        let best = || best_passage(found, &others);
        let first = steps.as_ref().or_else(best).filter(|_| self.with_passage);
        if let Some(first) = first {
            let source = match &steps {
                Some(hit) => steps::whole(self.sources.ctx, hit)?,
                None => first.source.clone(),
            };
            reply.statements.push(StatementView {
                superseded_by: self.sources.superseded_by(&first.source.path)?,
                ..dated_view(source, &first.dated, first.relevance, "passage")
            });
        }
        let chunk = first.map(|it| it.chunk);
        let stated = Statement::all_of(reply.statements.first().map_or("", |it| &it.source.text));
        let best = first.map_or(0.0, |it| found.asked.share_of(it));
        let least = LEAST_OF_BEST * others.iter().map(|it| it.share).fold(best, f32::max);
        let new = others.into_iter().filter(|it| {
            let is_repeated =
                Some(it.chunk) == chunk || stated.iter().any(|one| one.repeats(&it.statement));
            !is_repeated && it.share >= least
        });
        let room = self.limit.saturating_sub(reply.statements.len());
        for it in new.take(room) {
            reply.statements.push(self.view(it)?);
        }
        reply.passages = further(found, &reply.statements);
        Ok(())
    }

    /// Returns statements about a subject, oldest first: all that have their own day, and the best
    /// one of each other document. If the question names dates, returns statements of those dates,
    /// wherever they are.
    fn timeline(&self, reply: &mut AskReply, found: &Found, rest: &str) -> Result<(), ErrorView> {
        let Sources { ctx, library, .. } = self.sources;
        let bonus = |it: &Picked| if it.dated.is_own() { OWN_DAY } else { 0.0 };
        let choosing = Choosing { is_above_read: true, bonus, ..Choosing::among(DEPTH) };
        let mut all = found.statements(ctx, library, choosing)?;
        all.retain(|it| found.asked.fits(it.own));
        let when = &found.asked.when;
        if !when.is_empty() {
            let (_, topic) = When::parted(rest);
            all.extend(found.of_times(ctx, &topic)?);
            all.retain(|it| when.holds(&it.dated.day));
            all = Found::merge_repeats(all.into_iter());
        }
        let most = if when.is_empty() { 1 } else { MAX_OF_NOTE };
        let mut picked: Vec<Picked> = Vec::new();
        for it in all {
            let beside =
                picked.iter().filter(|one| one.doc == it.doc && !one.dated.is_own()).count();
            if (it.dated.is_own() || beside < most) && picked.len() < self.limit {
                picked.push(it);
            }
        }
        picked.sort_by(|a, b| {
            let place =
                |it: &Picked| (it.dated.day.clone(), it.source.path.clone(), it.source.line);
            place(a).cmp(&place(b))
        });
        Ok(self.show(reply, found, picked)?)
    }

    fn show(
        &self,
        reply: &mut AskReply,
        found: &Found,
        picked: Vec<Picked>,
    ) -> Result<(), AskError> {
        // The name alone does not answer a question about an attribute.
        let best = picked.iter().map(|it| it.share).fold(0.0, f32::max);
        if best > 0.0 && best < HALF && !found.named.is_empty() {
            return Ok(());
        }
        let views = picked.into_iter().map(|it| self.view(it));
        reply.statements = views.collect::<Result<_, _>>()?;
        reply.passages = further(found, &reply.statements);
        Ok(())
    }

    /// Returns what a thing is, its relations, and statements about it.
    fn summary(&self, reply: &mut AskReply, found: &Found, name: i64) -> Result<(), ErrorView> {
        let request = ExplainEntity {
            entity_id: Some(name),
            limit: Some(MAX_RELATIONS),
            ..ExplainEntity::default()
        };
        let ctx = self.sources.ctx;
        let known = explain_entity(ctx, &request)?;
        if let Some(definition) = known.definition {
            let dated = Dated::of_path(ctx, &definition.source.path)?;
            reply.statements.push(dated_view(definition.source, &dated, 1.0, "definition"));
        }
        let day = match &known.home {
            Some(home) => Dated::of_path(ctx, home)?,
            None => Dated::default(),
        };
        let facts = known.facts.into_iter().map(|fact| dated_view(fact, &day, 1.0, "fact"));
        reply.statements.extend(facts);
        let is_worth_showing =
            |it: &&RelationView| it.confidence >= SURE && !UNSHOWN.contains(&it.predicate.as_str());
        let relations = known.relations.iter().filter(is_worth_showing);
        for it in relations {
            reply.statements.extend(relation(ctx, it, "relation")?);
        }
        reply.statements.truncate(self.limit.saturating_sub(2).max(1));
        let mut stated: Vec<Statement> = Vec::new();
        for it in &reply.statements {
            stated.extend(Statement::all_of(&it.source.text));
        }
        for it in self.statements(found, READ)? {
            if reply.statements.len() >= self.limit {
                break;
            }
            let is_claimed = |one: &StatementView| {
                let place = |source: &SourceView| (source.path.clone(), source.line);
                one.claim.is_some() && place(&one.source) == place(&it.source)
            };
            let is_repeated = stated.iter().any(|one| one.repeats(&it.statement));
            if !is_repeated && !reply.statements.iter().any(is_claimed) {
                stated.push(it.statement.clone());
                reply.statements.push(self.view(it)?);
            }
        }
        reply.passages = further(found, &reply.statements);
        Ok(())
    }

    /// Returns the paths between two things.
    fn path(&self, reply: &mut AskReply, ends: [i64; 2]) -> Result<(), ErrorView> {
        (_, reply.statements) = paths(self.sources, ends, self.limit)?;
        if reply.statements.first().is_some_and(|it| it.claim.is_none()) {
            reply.hint = Some("no path joins them; these passages mention both".into());
        }
        Ok(())
    }

    fn statements(&self, found: &Found, n_hits: usize) -> Result<Vec<Picked>, AskError> {
        let Sources { ctx, library, .. } = self.sources;
        found.statements(ctx, library, Choosing::among(n_hits))
    }

    fn view(&self, it: Picked) -> Result<StatementView, AskError> {
        Ok(StatementView {
            superseded_by: self.sources.superseded_by(&it.source.path)?,
            also: it.also.iter().take(MAX_ALSO).map(|(_, source)| source.place()).collect(),
            ..dated_view(it.source, &it.dated, it.relevance.max(it.own), "sentence")
        })
    }
}

fn dated_view(source: SourceView, dated: &Dated, relevance: f32, kind: &str) -> StatementView {
    StatementView {
        source,
        date: dated.day.clone(),
        dated_by: dated.by.to_string(),
        relevance,
        kind: kind.to_string(),
        ..StatementView::default()
    }
}

/// Returns the steps of the best path between two things, and the evidence for the best two; if
/// there is no path, sentences that mention both.
pub(crate) fn paths(
    sources: &Sources<'_>,
    ends: [i64; 2],
    limit: usize,
) -> Result<(Vec<RelationView>, Vec<StatementView>), ErrorView> {
    let projection = (sources.projection)()?;
    let found = connect(sources.ctx, &projection, &Connect::default(), ends)?;
    let steps = found.paths.iter().take(2).flat_map(|path| &path.steps);
    let mut statements = Vec::new();
    for step in steps {
        statements.extend(relation(sources.ctx, step, &format!("step {}", step.hop))?);
    }
    for it in found.together {
        let dated = Dated::of_path(sources.ctx, &it.source.path)?;
        statements.push(dated_view(it.source, &dated, 1.0, "sentence"));
    }
    statements.truncate(limit);
    Ok((found.paths.into_iter().next().map(|path| path.steps).unwrap_or_default(), statements))
}

/// Returns a relation with its best evidence, or `None` without evidence.
fn relation(
    ctx: &QueryContext<'_>,
    it: &RelationView,
    kind: &str,
) -> Result<Option<StatementView>, AskError> {
    let is_for = |it: &&EvidenceView| !it.pattern.starts_with("against ");
    let Some(best) = it.evidence.iter().find(is_for) else { return Ok(None) };
    let [subject, object] = it.ends();
    let dated = Dated::of_path(ctx, &best.source.path)?;
    Ok(Some(StatementView {
        claim: Some(format!("{subject} {} {object}", it.words())),
        ..dated_view(best.source.clone(), &dated, 1.0, kind)
    }))
}

/// Returns the first hit, unless a statement of another hit contains much more of the question.
fn best_passage<'f>(found: &'f Found, statements: &[Picked]) -> Option<&'f found::Hit> {
    let first = found.hits.first()?;
    let best = statements.iter().max_by(|a, b| a.share.total_cmp(&b.share));
    let ahead = best.filter(|it| it.share >= found.asked.share_of(first) + AHEAD);
    let ahead = ahead.and_then(|it| found.hits.iter().find(|hit| hit.chunk == it.chunk));
    Some(ahead.unwrap_or(first))
}

/// Returns the places of hits that no statement quotes and that contain about as much of the
/// question as the best hit.
fn further(found: &Found, statements: &[StatementView]) -> Vec<FurtherView> {
    let is_quoted = |path: &str| statements.iter().any(|it| it.source.path == path);
    let share = |hit: &&found::Hit| found.asked.share_of(hit);
    let least = LEAST_OF_BEST * found.hits.iter().map(|it| share(&it)).fold(0.0, f32::max);
    let others = found
        .hits
        .iter()
        .filter(|hit| !hit.is_weak && !is_quoted(&hit.source.path) && share(hit) >= least);
    let view = |hit: &found::Hit| FurtherView { at: hit.at.clone(), section: hit.section.clone() };
    others.take(MAX_PASSAGES).map(view).collect()
}

/// Returns pairs of statements that contradict each other, with the reason; `is_one_source` returns
/// whether two are of one document.
pub(crate) fn conflicts(
    claims: &[Vec<Claim>],
    is_one_source: impl Fn(usize, usize) -> bool,
) -> Vec<(usize, usize, String)> {
    let mut found = Vec::new();
    for (n, one) in claims.iter().enumerate() {
        for (m, other) in claims.iter().enumerate().skip(n + 1) {
            if is_one_source(n, m) {
                continue;
            }
            found.extend(contradiction(one, other).map(|why| (n, m, why)));
        }
    }
    found
}

/// Returns why the claims of one text and those of another cannot both be true, or `None`.
pub(crate) fn contradiction(one: &[Claim], other: &[Claim]) -> Option<String> {
    one.iter().find_map(|it| other.iter().find_map(|that| it.contradicts(that)))
}
