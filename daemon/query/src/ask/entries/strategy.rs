//! Strategy: answers a question from entries and their graph (the five strategies of S2).
//!
//! In: a question, optionally a strategy, scope and target. Out: entries, each with a reason, or a
//! path; where entries have nothing, what `ask` answers from the whole folder (`beside.rs`).
//! Entries are searched as in `ask`, with the same plan, ranking and floor, restricted to documents
//! that are entries.
//! Invariants: `auto` uses the strategy that `planner.rs` chooses and falls back to the search if
//! that finds nothing; the answer names the strategy and the reason for it; inactive entries appear
//! only in the story of a decision.

use std::collections::HashSet;

use notes::entry::id_text;
use proto::error::{Code, ErrorView};
use proto::tool::core::StatementView;
use proto::tool::kb::{EntryType, Strategy};

use super::{beside, story};
use crate::ask::{Found, Search, Sources, search};
use crate::error::{invalid, quoted};
use crate::kb::graph::{By, Step, edge_label, node_id};
use crate::kb::planner::{
    Planned, around, asks_how_many, named_entries, plan, resolve, type_asked,
};
use crate::kb::search::{behind_successors, plain};
use crate::kb::{EntryRow, Library};

/// Depth of `related`, in steps.
const RELATED_STEPS: usize = 2;

/// Longest path of `connection`, in steps.
pub const CONNECTION_STEPS: usize = 4;

/// Hits fetched, as a multiple of the limit: several may belong to one entry, and some are stale.
const OVER_FETCH: usize = 3;

/// Most hits of a search.
const MAX_HITS: usize = 100;

/// Neighbors of one hit that `auto` considers.
const MAX_NEIGHBORS: usize = 10;

/// A question with the caller's choices.
#[derive(Debug, Clone, Default)]
pub struct KbQuestion {
    /// The question.
    pub text: String,
    /// The strategy.
    pub strategy: Strategy,
    /// Scope, as in `kb_ask`.
    pub scope: Option<String>,
    /// Target, as in `kb_ask`.
    pub target: Option<String>,
    /// Whether `auto` adds neighbors in the graph.
    pub with_graph: bool,
    /// Whether stale entries are included; the story of a decision always includes them.
    pub with_stale: bool,
    /// Most entries.
    pub limit: usize,
    /// Whether documents answer in single sentences instead of passages.
    pub in_sentences: bool,
    /// The plan that a model made; `None` plans by rules.
    pub planned: Option<Planned>,
}

/// An entry and the reason why it is in the answer.
#[derive(Debug, Clone)]
pub struct CitedEntry<'l> {
    /// The entry.
    pub row: &'l EntryRow,
    /// The reason.
    pub context: String,
    /// The nodes on the path to it.
    pub via: Vec<String>,
}

/// An answer.
#[derive(Debug, Clone, Default)]
pub struct KbAnswer<'l> {
    /// The strategy that was used.
    pub strategy: Strategy,
    /// The reason for it.
    pub reason: String,
    /// The node that the scope resolved to.
    pub scope: Option<String>,
    /// The node that the target resolved to.
    pub target: Option<String>,
    /// Entries in the order of the strategy.
    pub entries: Vec<CitedEntry<'l>>,
    /// The path, for `connection`.
    pub way: Vec<Step>,
    /// Statements from documents, notes and memory, where entries have nothing.
    pub documents: Vec<StatementView>,
    /// What the search found.
    pub(crate) found: Found,
    /// Why there is no entry, or how the question was interpreted.
    pub hint: Option<String>,
}

/// Answers a question.
///
/// # Errors
/// `invalid_params` where a strategy lacks a parameter, `not_found` for an unknown node.
pub fn ask<'l>(sources: &Sources<'l>, question: &KbQuestion) -> Result<KbAnswer<'l>, ErrorView> {
    if let Some(answer) = beside::of_scope(sources, question)? {
        return Ok(answer);
    }
    let answer = of_entries(sources, question)?;
    let is_open = question.strategy == Strategy::Auto && question.scope.is_none();
    let beside = if is_open { beside::of_folder(sources, question, &answer)? } else { None };
    Ok(beside.unwrap_or(answer))
}

fn of_entries<'l>(sources: &Sources<'l>, question: &KbQuestion) -> Result<KbAnswer<'l>, ErrorView> {
    if question.strategy != Strategy::Auto {
        let planned = Planned {
            strategy: question.strategy,
            reason: "it was asked for".into(),
            scope: question.scope.clone(),
            target: question.target.clone(),
        };
        return run(sources, question, planned);
    }
    let by_rules = || plan(&question.text, &sources.library.entry_index);
    let mut planned = question.planned.clone().unwrap_or_else(by_rules);
    if question.scope.is_some() {
        planned.scope.clone_from(&question.scope);
    }
    if question.target.is_some() {
        planned.target.clone_from(&question.target);
    }
    let fallback = Planned {
        strategy: Strategy::Auto,
        reason: format!(
            "{}; {} found nothing, so it was searched",
            planned.reason,
            planned.strategy.as_str()
        ),
        scope: question.scope.clone(),
        target: None,
    };
    if planned.strategy == Strategy::Auto {
        // Only an explicit scope narrows the search; a name in the question does not.
        let (named, scope) = (planned.scope.clone(), question.scope.clone());
        let planned = Planned { scope, target: None, ..planned };
        let why = planned.reason.clone();
        let answer = run(sources, question, planned)?;
        let named = named.filter(|_| question.scope.is_none() && answer.entries.is_empty());
        return match named.map(|node| {
            around(node, |node| {
                format!("{why}; the search found nothing, so what belongs to {node}")
            })
        }) {
            Some(planned) => run(sources, question, planned),
            None => Ok(answer),
        };
    }
    let answer = run(sources, question, planned)?;
    match answer.entries.is_empty() && answer.way.is_empty() {
        true => run(sources, question, fallback),
        false => Ok(answer),
    }
}

/// Returns what `auto` finds by search and graph, without planning. Returns the entries of a node
/// if the question is one, and the answer of [`ask`] if the search finds nothing.
///
/// # Errors
/// As [`ask`].
pub(super) fn read<'l>(
    sources: &Sources<'l>,
    question: &KbQuestion,
) -> Result<KbAnswer<'l>, ErrorView> {
    let mut answer = KbAnswer::default();
    if sources.library.of_node(&question.text).is_none() {
        searched(sources, question, question.scope.as_deref(), &mut answer)?;
    }
    if answer.entries.is_empty() {
        answer = of_entries(sources, question)?;
    }
    Ok(answer)
}

fn run<'l>(
    sources: &Sources<'l>,
    question: &KbQuestion,
    planned: Planned,
) -> Result<KbAnswer<'l>, ErrorView> {
    let library = sources.library;
    let Planned { strategy, reason, scope, target } = planned;
    let mut answer = KbAnswer { strategy, reason, ..KbAnswer::default() };
    match strategy {
        Strategy::Auto => searched(sources, question, scope.as_deref(), &mut answer)?,
        Strategy::DecisionTrace => story::traced(sources, question, scope.as_deref(), &mut answer)?,
        Strategy::Timeline => {
            dated(library, needed("scope", scope, strategy)?, &mut answer)?;
            // A question about one type returns only that type, within a given scope, too.
            if let Some(wanted) = type_asked(&question.text, &library.entry_index) {
                answer.entries.retain(|it| it.row.entry_type == wanted);
            }
        }
        Strategy::Related => {
            let scope = needed("scope", scope, strategy)?;
            near(library, question, &scope, &mut answer)?
        }
        Strategy::Connection => {
            let ends = [("scope", scope), ("target", target)];
            let [from, to] = ends.map(|(name, value)| needed(name, value, strategy));
            connected(sources, [&from?, &to?], &mut answer)?;
        }
    }
    if matches!(strategy, Strategy::Timeline | Strategy::Related) && !question.with_stale {
        let n = answer.entries.len();
        let mut shown = Vec::with_capacity(n);
        for it in std::mem::take(&mut answer.entries) {
            if !library.is_hidden(it.row)? {
                shown.push(it);
            }
        }
        let n_hidden = n - shown.len();
        answer.entries = shown;
        answer.hint = (n_hidden > 0).then(|| {
            format!("{n_hidden} stale entries are hidden; set `include_stale` to see them")
        });
    }
    let n = answer.entries.len();
    let n_shown = n.min(question.limit);
    // The search stops at the limit, so its count means nothing; the other strategies find
    // everything.
    let counts = match strategy == Strategy::Auto {
        true => None,
        false if n_shown < n => {
            Some(format!("{n_shown} of {n} are shown: raise `limit` or narrow the scope"))
        }
        false if n > 0 && asks_how_many(&question.text) => Some(format!("there are {n}")),
        false => None,
    };
    if let Some(counts) = counts {
        answer.hint = Some(answer.hint.map_or(counts.clone(), |hint| format!("{counts}; {hint}")));
    }
    answer.entries.truncate(question.limit);
    let is_empty = answer.way.is_empty() && answer.documents.is_empty();
    if answer.entries.is_empty() && is_empty && answer.hint.is_none() {
        answer.hint = Some(nothing(strategy).into());
    }
    Ok(answer)
}

fn nothing(strategy: Strategy) -> &'static str {
    match strategy {
        Strategy::Auto => "nothing found: try other words, or `include_stale`",
        Strategy::DecisionTrace => "no entry of the type `decision` is about this",
        Strategy::Timeline => "no entry belongs to this scope",
        Strategy::Related => "no entry is within two steps",
        Strategy::Connection => "no path of at most four steps connects them",
    }
}

fn needed(name: &str, value: Option<String>, strategy: Strategy) -> Result<String, ErrorView> {
    let missing = || {
        let hint = "give an id such as `project:kgd`, `tag:python` or `kb-00042`";
        invalid(format!("the strategy `{}` needs `{name}`", strategy.as_str()), hint)
    };
    value.filter(|it| !it.trim().is_empty()).ok_or_else(missing)
}

pub(super) fn node(library: &Library, text: &str) -> Result<String, ErrorView> {
    resolve(text, &library.entry_index).ok_or_else(|| {
        let hint = "ids look like `kb-00042`, `tag:python`, `project:kgd`; `kb_maintain` counts what there is";
        ErrorView::hinted(Code::NotFound, format!("no entry or node `{}`", quoted(text, 80)), hint)
    })
}

/// The entries that belong to a scope.
pub(super) enum Scope {
    Type(EntryType),
    Node(String, HashSet<u64>),
}

impl Scope {
    fn of(text: &str, library: &Library) -> Result<Scope, ErrorView> {
        let bare = text.trim().strip_prefix("type:").unwrap_or(text.trim());
        if let Some(entry_type) = EntryType::parse(bare) {
            return Ok(Scope::Type(entry_type));
        }
        let node = node(library, text)?;
        let own = library.entry_index.of_node(&node).map(|row| row.number);
        let near = library.entry_index.graph.neighbors(&node);
        let near = near.filter_map(|it| library.entry_index.of_node(it.node)).map(|row| row.number);
        let members = near.chain(own).collect();
        Ok(Scope::Node(node, members))
    }

    pub(super) fn holds(&self, row: &EntryRow) -> bool {
        match self {
            Scope::Type(entry_type) => row.entry_type == *entry_type,
            Scope::Node(_, members) => members.contains(&row.number),
        }
    }

    pub(super) fn name(&self) -> String {
        match self {
            Scope::Type(entry_type) => entry_type.as_str().to_string(),
            Scope::Node(node, _) => node.clone(),
        }
    }
}

/// Resolves a scope, if given, and records it in the answer.
pub(super) fn scoped(
    library: &Library,
    scope: Option<&str>,
    answer: &mut KbAnswer<'_>,
) -> Result<Option<Scope>, ErrorView> {
    let scope = scope.map(|it| Scope::of(it, library)).transpose()?;
    answer.scope = scope.as_ref().map(Scope::name);
    Ok(scope)
}

/// Entries, each with its relevance.
type Relevant<'l> = Vec<(&'l EntryRow, f32)>;

/// Searches the entries that `may` accepts; returns them best first, with their relevance, and the
/// search result.
pub(super) fn entries_found<'l>(
    sources: &Sources<'l>,
    text: &str,
    (limit, with_stale): (usize, bool),
    may: impl Fn(&EntryRow) -> bool,
) -> Result<(Relevant<'l>, Found), ErrorView> {
    let (ctx, library) = (sources.ctx, sources.library);
    let may = |row: &&EntryRow| row.entry.is_active && may(row);
    let mut docs: Vec<i64> = library.entry_index.entries().filter(may).map(|row| row.doc).collect();
    docs.sort_unstable();
    let words = plain(text);
    if docs.is_empty() || words.is_empty() {
        return Ok(Default::default());
    }
    let depth = (limit * OVER_FETCH).clamp(1, MAX_HITS);
    let among = Some(docs);
    let found = search(ctx, Search { query: &words, among, depth, ..Search::default() })?;
    let mut entries: Relevant<'l> = Vec::new();
    for hit in found.hits.iter().filter(|hit| !hit.is_weak) {
        let Some(row) = library.entry_index.of_doc(hit.doc) else { continue };
        let is_new = !entries.iter().any(|(known, _)| known.doc == row.doc);
        if is_new && entries.len() < limit && (with_stale || !library.is_hidden(row)?) {
            entries.push((row, hit.relevance));
        }
    }
    Ok((entries, found))
}

/// Searches, and adds the neighbors of each hit.
fn searched<'l>(
    sources: &Sources<'l>,
    question: &KbQuestion,
    scope: Option<&str>,
    answer: &mut KbAnswer<'l>,
) -> Result<(), ErrorView> {
    let library = sources.library;
    let scope = scoped(library, scope, answer)?;
    let may = |row: &EntryRow| scope.as_ref().is_none_or(|scope| scope.holds(row));
    let (limit, with_stale) = (question.limit, question.with_stale);
    let (hits, found) = entries_found(sources, &question.text, (limit, with_stale), may)?;
    let mut seen: HashSet<u64> = HashSet::new();
    // Entries named in the question come first, whatever their texts contain.
    for row in named_entries(&question.text, &library.entry_index) {
        if row.entry.is_active && may(row) && seen.insert(row.number) {
            let context = "named in the question".to_string();
            answer.entries.push(CitedEntry { row, context, via: vec![] });
        }
    }
    for (row, relevance) in &hits {
        if !seen.insert(row.number) {
            continue;
        }
        let context = format!("search match (relevance {relevance:.2})");
        answer.entries.push(CitedEntry { row, context, via: vec![] });
    }
    answer.hint = (!found.readings.is_empty()).then(|| found.readings.join("; "));
    answer.found = found;
    let hits = if question.with_graph { hits.as_slice() } else { &[] };
    for (hit, _) in hits {
        let own = id_text(hit.number);
        for it in library.entry_index.graph.neighbors(&own).take(MAX_NEIGHBORS) {
            let Some(row) = library.entry_index.of_node(it.node) else { continue };
            if answer.entries.len() >= limit {
                break;
            }
            let may_show = with_stale || !library.is_hidden(row)?;
            if row.entry.is_active && may_show && seen.insert(row.number) {
                let how = if it.is_outgoing { "linked from" } else { "links to" };
                let context = format!("{how} {own} via {}", edge_label(it.edge, it.by));
                answer.entries.push(CitedEntry { row, context, via: vec![own.clone()] });
            }
        }
    }
    let entries = std::mem::take(&mut answer.entries);
    answer.entries = behind_successors(library, entries, |it| it.row.number);
    Ok(())
}

/// Adds the entries of a scope, ordered by the day of their creation.
fn dated<'l>(
    library: &'l Library,
    scope: String,
    answer: &mut KbAnswer<'l>,
) -> Result<(), ErrorView> {
    let Some(scope) = scoped(library, Some(&scope), answer)? else { return Ok(()) };
    let mut found = Vec::new();
    for row in library.entry_index.entries().filter(|row| row.entry.is_active && scope.holds(row)) {
        found.push((library.times(row)?.created_ms, row));
    }
    found.sort_by_key(|(created_ms, row)| (*created_ms, row.number));
    for (created_ms, row) in found {
        let day = crate::notes::browse::rfc3339(created_ms);
        let context = format!("created {}", day.get(..10).unwrap_or(&day));
        answer.entries.push(CitedEntry { row, context, via: vec![] });
    }
    Ok(())
}

/// Adds the entries within two steps of a node, preceded by its own entry where the question names it.
fn near<'l>(
    library: &'l Library,
    question: &KbQuestion,
    scope: &str,
    answer: &mut KbAnswer<'l>,
) -> Result<(), ErrorView> {
    let from = node(library, scope)?;
    let named = named_entries(&question.text, &library.entry_index).into_iter();
    let named = named.filter(|row| id_text(row.number) == from);
    answer.entries.extend(named.map(|row| CitedEntry {
        row,
        context: "named in the question".into(),
        via: vec![],
    }));
    for way in library.entry_index.graph.around(&from, RELATED_STEPS) {
        let Some(last) = way.last() else { continue };
        let Some(row) = library.entry_index.of_node(&last.to).filter(|row| row.entry.is_active)
        else {
            continue;
        };
        let between: Vec<String> =
            way.iter().take(way.len() - 1).map(|step| step.to.clone()).collect();
        let context = match between.is_empty() {
            true => format!("directly connected ({})", edge_label(&last.edge, last.by)),
            false if way.iter().any(|step| step.by == By::Llm) => {
                format!("connected via {} (llm)", between.join(", "))
            }
            false => format!("connected via {}", between.join(", ")),
        };
        answer.entries.push(CitedEntry { row, context, via: between });
    }
    answer.scope = Some(from);
    Ok(())
}

/// Adds the shortest path between two nodes; if the entry graph has none, the best path through the
/// whole folder.
fn connected(
    sources: &Sources<'_>,
    ends: [&str; 2],
    answer: &mut KbAnswer<'_>,
) -> Result<(), ErrorView> {
    let library = sources.library;
    let [from, to] = ends.map(|text| resolve(text, &library.entry_index));
    if let (Some(from), Some(to)) = (&from, &to) {
        match library.entry_index.graph.way(from, to, CONNECTION_STEPS) {
            Some(way) if way.is_empty() => {
                answer.hint = Some(format!("{from} and {to} are the same node"))
            }
            Some(way) => answer.way = way,
            None => {}
        }
    }
    if answer.way.is_empty() && answer.hint.is_none() {
        beside::connected(sources, ends, answer)?;
    }
    let [one, other] = ends.map(String::from);
    (answer.scope, answer.target) = (from.or(Some(one)), to.or(Some(other)));
    Ok(())
}

/// Returns the entries on a path, in order.
pub fn entries_on<'l>(library: &'l Library, way: &[Step]) -> Vec<&'l EntryRow> {
    let nodes = way.iter().take(1).map(|step| &step.from).chain(way.iter().map(|step| &step.to));
    nodes.filter_map(|node| node_id(node).and_then(|id| library.entry_index.of_node(&id))).collect()
}
