//! `kb_search` and `kb_get`.

use std::collections::HashMap;
use std::sync::Arc;

use notes::entry::{details, id_text, of};
use notes::resolve::fold;
use proto::error::ErrorView;
use proto::tool::admin::{EntryOfNode, Graph, GraphEdge, GraphNode, GraphReply};
use proto::tool::kb::{KbEntry, KbGet, KbGetReply, KbHit, KbSearch, KbSearchReply};
use proto::tool::memory::ItemError;

use super::{
    blocking, check_id, edges_of, entry_at, invalid, item_error, library, record, refreshed,
    unreadable,
};
use crate::notes::NoteError;
use crate::project::Project;
use crate::serve::Progress;
use index::store::{KbRecord, Snapshot};
use query::browse::rfc3339;
use query::kb::graph::{SUPERSEDES, node_id};
use query::kb::search::{
    EntryHit, EntryQuery, SPARSE_UNDER, Searched, behind_successors, hints, search,
};
use query::kb::{EntryRow, Library};
use query::{AskError, MAX_DRAWN, node_at};

/// Most ids per call (S2).
const MAX_IDS: usize = 20;

/// Most entries returned for a node.
const MAX_LISTED: usize = 100;

/// Longest question, characters.
const MAX_QUESTION: usize = 1_000;

pub(super) fn check_question(name: &str, text: &str) -> Result<(), ErrorView> {
    let n = text.chars().count();
    if text.trim().is_empty() || n > MAX_QUESTION {
        let hint = "give a question or keywords of 1 to 1,000 characters";
        return Err(invalid(format!("`{name}` has {n} characters"), hint));
    }
    Ok(())
}

pub(super) fn limit_of(given: Option<u32>, usual: u32, most: u32) -> Result<usize, ErrorView> {
    let limit = given.unwrap_or(usual);
    if (1..=most).contains(&limit) {
        return Ok(limit as usize);
    }
    Err(invalid(format!("`limit` is {limit}"), &format!("give a number from 1 to {most}")))
}

/// Finds entries.
pub fn kb_search(
    project: &Project,
    snapshot: &Snapshot,
    request: KbSearch,
) -> Result<KbSearchReply, ErrorView> {
    check_question("query", &request.query)?;
    let limit = limit_of(request.limit, 10, 100)?;
    let library = library(project, snapshot)?;
    let tags: Vec<String> =
        request.tags.iter().flatten().map(|tag| fold(tag.trim().trim_start_matches('#'))).collect();
    let wanted_project = request.project_ref.as_deref().map(|it| fold(it.trim()));
    let may = |row: &EntryRow| {
        let of_project = wanted_project
            .as_ref()
            .is_none_or(|wanted| row.entry.project.as_deref().map(fold).as_ref() == Some(wanted));
        let has = |tag: &String| row.entry.tags.iter().any(|own| fold(own) == *tag);
        let is_type = request.entry_type.is_none_or(|it| row.entry_type == it);
        of_project && is_type && tags.iter().all(has)
    };
    let with_stale = request.include_stale == Some(true);
    let wanted = EntryQuery { question: &request.query, limit, with_stale };
    let mut found = match library.of_node(&request.query) {
        Some(rows) => of_node(&library, rows, wanted, may)?,
        None => search(&project.context(snapshot), &library, wanted, may)?,
    };
    let named = node_id(&request.query).and_then(|id| library.entry_index.of_node(&id));
    // The query is its id, so it comes first, whatever its text.
    if let Some(row) = named.filter(|row| row.entry.is_active && may(row)) {
        found.hits.retain(|hit| hit.row != row);
        found.hits.insert(0, EntryHit { row, score: 1.0, relevance: 1.0 });
        found.hits.truncate(limit);
    }
    query::descending(found.hits.iter_mut().map(|it| &mut it.score));
    let rows: Vec<&EntryRow> = found.hits.iter().map(|hit| hit.row).collect();
    let hints = if rows.len() < SPARSE_UNDER { hints(&library, &rows)? } else { vec![] };
    let mut notes = found.readings;
    if rows.is_empty() {
        notes.push(match (found.n_hidden, library.entry_index.entries().next()) {
            (0, None) => "there are no entries yet: `kb_store` creates them".to_string(),
            (0, Some(_)) => "nothing found: try other words, or fewer filters".to_string(),
            (n, _) => {
                format!("{n} stale entries are hidden; set `include_stale` to see them")
            }
        });
    }
    let source_of = |row: &EntryRow| if named == Some(row) { "id" } else { found.source };
    let floor = project.settings.retrieval.floor.relevance;
    let hit = |hit: &EntryHit<'_>| {
        Ok(KbHit {
            entry: library.view(hit.row)?,
            score: (hit.score * 1e6).round() / 1e6,
            match_source: source_of(hit.row).to_string(),
            relevance: (hit.relevance * 1000.0).round() / 1000.0,
            weak: hit.relevance < floor,
        })
    };
    let results = found.hits.iter().map(hit).collect::<Result<Vec<_>, AskError>>()?;
    Ok(KbSearchReply {
        nothing_relevant: !results.is_empty() && results.iter().all(|it| it.weak),
        results,
        hints,
        hidden_stale: found.n_hidden as u64,
        hint: (!notes.is_empty()).then(|| notes.join("; ")),
        freshness: project.freshness(snapshot),
    })
}

/// Returns the entries of a node, such as those of `tag:python`.
fn of_node<'l>(
    library: &'l Library,
    rows: Vec<&'l EntryRow>,
    wanted: EntryQuery<'_>,
    may: impl Fn(&EntryRow) -> bool,
) -> Result<Searched<'l>, AskError> {
    let (mut shown, mut n_hidden) = (Vec::new(), 0);
    for row in rows.into_iter().filter(|row| may(row)) {
        match wanted.with_stale || !library.is_hidden(row)? {
            true => shown.push(row),
            false => n_hidden += 1,
        }
    }
    let hits = shown.into_iter().map(|row| EntryHit { row, score: 1.0, relevance: 1.0 });
    let hits = hits.collect();
    let mut hits = behind_successors(library, hits, |hit| hit.row.number);
    let n = hits.len();
    hits.truncate(wanted.limit);
    let is_cut = hits.len() < n;
    let note =
        is_cut.then(|| format!("showing {} of {n}: raise `limit`, or add filters", hits.len()));
    let note = note.into_iter().collect();
    Ok(Searched { hits, source: "graph", n_hidden, readings: note })
}

/// Opens entries.
pub async fn kb_get(
    project: Arc<Project>,
    request: KbGet,
    _: Progress,
) -> Result<KbGetReply, ErrorView> {
    let n = request.entry_id.len();
    if !(1..=MAX_IDS).contains(&n) {
        return Err(invalid(format!("`entry_id` has {n} ids"), "give 1 to 20"));
    }
    let (mut ids, mut failed): (Vec<String>, Vec<ItemError>) = (Vec::new(), Vec::new());
    for id in &request.entry_id {
        let id = match node_id(id) {
            Some(node) => node,
            None => match check_id(id) {
                Ok(number) => id_text(number),
                // With several ids, an error of one does not affect the others.
                Err(error) if n > 1 => {
                    failed.push(item_error(id, error));
                    continue;
                }
                Err(error) => return Err(error),
            },
        };
        if !ids.contains(&id) {
            ids.push(id);
        }
    }
    let numbers: Vec<u64> = ids.iter().filter_map(|id| check_id(id).ok()).collect();
    refreshed(&project, &numbers).await?;
    let with_inactive = request.include_inactive == Some(true);
    let worker = project.clone();
    let (reply, opened) = blocking(move || {
        let snapshot = worker.snapshot().map_err(unreadable)?;
        let library = library(&worker, &snapshot)?;
        let mut reply =
            KbGetReply { failed, freshness: worker.freshness(&snapshot), ..KbGetReply::default() };
        let mut opened = Vec::new();
        for id in ids {
            if let Some(rows) = library.of_node(&id) {
                for row in rows.into_iter().take(MAX_LISTED) {
                    reply.listed.push(library.view(row)?);
                }
                continue;
            }
            let row = match library.named(&id) {
                Ok(row) if row.entry.is_active || with_inactive => row,
                Ok(_) => {
                    reply.not_found.push(id);
                    continue;
                }
                Err(error) if super::is_missing(&error) => {
                    reply.not_found.push(id);
                    continue;
                }
                Err(error) if n > 1 => {
                    reply.failed.push(item_error(&id, error));
                    continue;
                }
                Err(error) => return Err(error),
            };
            match whole(&worker, &library, row) {
                Ok(Some(entry)) => {
                    reply.entries.push(entry);
                    opened.push(row.number);
                }
                Ok(None) => reply.not_found.push(id),
                Err(error) if n > 1 => reply.failed.push(item_error(&id, error)),
                Err(error) => return Err(error),
            }
        }
        Ok((reply, opened))
    })
    .await?;
    if !opened.is_empty() {
        // If the access cannot be recorded, the entry is returned all the same.
        if let Err(error) = record(&project, vec![KbRecord::Opened(opened)]).await {
            tracing::debug!(%error, "that entries were opened is not recorded");
        }
    }
    Ok(reply)
}

/// Adds to entities the entries whose notes they are, then the entries that supersede these or are
/// superseded by them, and the relations between those.
pub fn add_entries(
    project: &Project,
    snapshot: &Snapshot,
    request: &Graph,
    reply: &mut GraphReply,
) -> Result<(), ErrorView> {
    let library = library(project, snapshot)?;
    let is_wanted = request
        .rels
        .as_ref()
        .is_none_or(|rels| rels.is_empty() || rels.iter().any(|it| it == SUPERSEDES));
    let room = request.limit.unwrap_or(MAX_DRAWN) as usize;
    let mut drawn: HashMap<String, i64> = HashMap::new();
    let mut at = 0;
    // Entries added by a chain are visited, too.
    while let Some(node) = reply.nodes.get_mut(at) {
        at += 1;
        let Some(home) = node.home.as_deref() else { continue };
        let Some(row) = entry_at(snapshot, &library.entry_index, home)? else { continue };
        drawn.insert(id_text(row.number), node.entity.id);
        node.entry = Some(EntryOfNode {
            id: id_text(row.number),
            confidence: library.view(row)?.confidence,
            superseded_by: library.superseded_by(row),
            inactive: !row.entry.is_active,
        });
        let hop = node.hop + 1;
        for number in library.entry_index.graph.chain(row.number) {
            let Some(other) = library.entry_index.get(number) else { continue };
            let is_there = |it: &GraphNode| it.home.as_deref() == Some(other.path.as_str());
            if is_wanted && reply.nodes.len() < room && !reply.nodes.iter().any(is_there) {
                reply.nodes.extend(node_at(&project.context(snapshot), &other.path, hop)?);
            }
        }
    }
    for node in reply.nodes.iter().filter(|_| is_wanted) {
        let newer = node.entry.iter().flat_map(|it| &it.superseded_by);
        for src in newer.filter_map(|id| drawn.get(id)) {
            let is_drawn = |it: &GraphEdge| {
                (it.src, it.dst, it.rel.as_str()) == (*src, node.entity.id, SUPERSEDES)
            };
            if reply.edges.iter().any(is_drawn) {
                continue;
            }
            reply.edges.push(GraphEdge {
                src: *src,
                dst: node.entity.id,
                rel: SUPERSEDES.into(),
                confidence: 1.0,
                n_together: None,
                n_evidence: 1,
                n_against: 0,
                evidence: None,
            });
        }
    }
    Ok(())
}

/// Returns an entry as a whole; `None` if its note is gone.
fn whole(
    project: &Project,
    library: &Library,
    row: &EntryRow,
) -> Result<Option<KbEntry>, ErrorView> {
    let note = match project.notes().read(&row.path) {
        Ok(note) => note,
        Err(NoteError::NotFound(_)) => return Ok(None),
        Err(error) => return Err(error.view()),
    };
    let times = library.times(row)?;
    let shown = project.notes().shown(&row.path, &note.text);
    // The index stores all values as text, so they are parsed from the note.
    let values = notes::parse::frontmatter(&shown).map(|front| front.values).unwrap_or_default();
    Ok(Some(KbEntry {
        entry: library.view(row)?,
        knowledge_details: details(&shown).to_string(),
        base_confidence: row.confidence,
        hints: of(&values).hints,
        supersedes: row.entry.supersedes.iter().map(|it| id_text(*it)).collect(),
        edges: edges_of(library, row.number),
        doubts: library.entry_index.doubts_of(row),
        source_context: row.entry.source_context.clone(),
        version: library.version(row)?,
        created_at: rfc3339(times.created_ms),
        updated_at: rfc3339(times.updated_ms),
    }))
}
