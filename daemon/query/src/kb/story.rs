//! Story: how a decision came about: the decisions that fit, each with what it took the place of and what took its.
//!
//! In: a question, maybe a scope. Out: entries, oldest first in each story, with what each is in it.
//! Invariants: of a scope of which nothing else is asked all its decisions are told; entries that do not count are told
//! in a story, but begin none.

use std::collections::{BTreeSet, HashSet};

use notes::entry::id_text;
use proto::error::ErrorView;
use proto::tool::kb::EntryType;

use super::Library;
use super::graph::SUPERSEDES;
use super::planner::words_beside;
use super::search::{Wanted, search};
use super::shelf::{EntryRow, Shelf};
use super::strategy::{Answer, Question, Told, scoped};
use super::summary::{text_of, words_of};
use crate::QueryContext;

/// Decisions that are told where none holds a word of what is asked.
const MAX_NEAR: usize = 3;

/// Words that ask for a decision and say nothing of what it is about.
const ASKING: &str = "decide decided decision choose chose chosen choice rationale reason reasons supersede superseded \
    instead switch switched change changed evolve evolved come came story history";

/// Decisions that fit, each with what it took the place of and what took its. Of a scope of which nothing else is asked
/// all.
pub(super) fn traced<'l>(
    ctx: &QueryContext<'_>,
    library: &'l Library,
    (question, scope): (&Question, Option<&str>),
    answer: &mut Answer<'l>,
) -> Result<(), ErrorView> {
    let scope = scoped(library, scope, answer)?;
    let is_decision = |row: &EntryRow| row.entry_type == EntryType::Decision;
    let may =
        |row: &EntryRow| is_decision(row) && scope.as_ref().is_none_or(|scope| scope.holds(row));
    let wanted = Wanted { question: &question.text, limit: question.limit, with_stale: true };
    let all = || library.shelf.entries().filter(|row| row.entry.is_active && may(row)).collect();
    let beside = scope.as_ref().map(|it| words_beside(&question.text, &it.name(), &library.shelf));
    let asked = asked(&beside.as_ref().map_or_else(|| question.text.clone(), |it| it.join(" ")));
    let asks_all = scope.is_some() && asked.is_empty();
    let found: Vec<&EntryRow> = match asks_all {
        true => all(),
        false => search(ctx, library, wanted, may)?.hits.into_iter().map(|hit| hit.row).collect(),
    };
    let found = match found.is_empty() && scope.is_some() {
        true => all(),
        false => found,
    };
    let found = if asks_all { found } else { about(ctx, &asked, found)? };
    let mut seen: HashSet<u64> = HashSet::new();
    for row in found {
        if seen.contains(&row.number) {
            continue;
        }
        let mut chain: Vec<&EntryRow> = library
            .shelf
            .graph
            .chain(row.number)
            .into_iter()
            .filter(|it| seen.insert(*it))
            .filter_map(|it| library.shelf.get(it))
            .collect();
        // What took another's place came after it, whatever the clocks say; beside that the day decides.
        let place = |row: &&EntryRow| chain_depth(&library.shelf, row.number);
        chain.sort_by_key(|row| (place(row), library.times(row).created_ms, row.number));
        answer.entries.extend(chain.into_iter().map(|row| told_of_story(library, row)));
    }
    Ok(())
}

/// What an entry is in the story of a decision: whose places it took, and whether it counts still. Of a story with
/// branches several may.
fn told_of_story<'l>(library: &'l Library, row: &'l EntryRow) -> Told<'l> {
    let via = library.supersedes(row);
    let older = via.join(", ");
    let is_replaced = !library.superseded_by(row).is_empty();
    let context = match (is_replaced, row.entry.is_active, older.is_empty()) {
        (true, _, true) => "original decision".to_string(),
        (true, _, false) => format!("supersedes {older}"),
        (false, true, true) => "current decision".to_string(),
        (false, true, false) => format!("current (supersedes {older})"),
        (false, false, _) => "inactive decision".to_string(),
    };
    Told { row, context, via }
}

/// The words of a question that say what it is about.
fn asked(question: &str) -> BTreeSet<String> {
    let asking = words_of(ASKING);
    words_of(question).into_iter().filter(|word| !asking.contains(word)).collect()
}

/// Those decisions that are about what is asked, the words of asking aside: whose titles and texts hold at least half
/// as many of its words as the best of them. Where none holds any, the first few, which are near in meaning.
fn about<'l>(
    ctx: &QueryContext<'_>,
    asked: &BTreeSet<String>,
    found: Vec<&'l EntryRow>,
) -> Result<Vec<&'l EntryRow>, ErrorView> {
    let mut held = Vec::new();
    for row in found {
        let said = words_of(&format!("{} {}", row.title, text_of(ctx, row)?));
        held.push((asked.intersection(&said).count(), row));
    }
    let best = held.iter().map(|it| it.0).max().unwrap_or(0);
    let most = if best == 0 && !asked.is_empty() { MAX_NEAR } else { usize::MAX };
    Ok(held.into_iter().filter(|(n, _)| 2 * n >= best).map(|it| it.1).take(most).collect())
}

/// How many entries in a row lead from the oldest to one, by supersession.
fn chain_depth(shelf: &Shelf, number: u64) -> usize {
    let mut seen = HashSet::from([number]);
    let mut at = vec![number];
    let mut depth = 0;
    while !at.is_empty() {
        let older = at.iter().flat_map(|it| {
            let own = id_text(*it);
            let ends: Vec<u64> = shelf
                .graph
                .neighbors(&own)
                .filter(|it| it.is_outgoing && it.edge == SUPERSEDES)
                .filter_map(|it| shelf.of_node(it.node).map(|row| row.number))
                .collect();
            ends
        });
        at = older.filter(|it| seen.insert(*it)).collect();
        depth += usize::from(!at.is_empty());
    }
    depth
}
