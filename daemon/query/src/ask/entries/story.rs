//! Story: how a decision evolved: matching decisions with those that they supersede and those that
//! supersede them.
//!
//! In: a question, optionally a scope. Out: entries, oldest first within each story, each with its
//! role.
//! Invariants: a question that names only a scope returns all its decisions; inactive entries may
//! be part of a story but never start one.

use std::collections::{BTreeSet, HashSet};

use notes::entry::id_text;
use proto::error::ErrorView;
use proto::tool::kb::EntryType;

use super::strategy::{CitedEntry, KbAnswer, KbQuestion, entries_found, scoped};
use super::summary::text_of;
use crate::QueryContext;
use crate::ask::Sources;
use crate::ask::choose::ASKING;
use crate::kb::graph::SUPERSEDES;
use crate::kb::planner::words_beside;
use crate::kb::{EntryIndex, EntryRow, Library};
use crate::quote::statement::words_of;

/// Decisions returned when none contains a word of the question.
const MAX_NEAR: usize = 3;

/// Adds the matching decisions with their stories; all decisions of a scope if the question asks
/// for nothing else.
pub(super) fn traced<'l>(
    sources: &Sources<'l>,
    question: &KbQuestion,
    scope: Option<&str>,
    answer: &mut KbAnswer<'l>,
) -> Result<(), ErrorView> {
    let (ctx, library) = (sources.ctx, sources.library);
    let scope = scoped(library, scope, answer)?;
    let is_decision = |row: &EntryRow| row.entry_type == EntryType::Decision;
    let may =
        |row: &EntryRow| is_decision(row) && scope.as_ref().is_none_or(|scope| scope.holds(row));
    let all =
        || library.entry_index.entries().filter(|row| row.entry.is_active && may(row)).collect();
    let beside =
        scope.as_ref().map(|it| words_beside(&question.text, &it.name(), &library.entry_index));
    // The scope's name does not help to choose among its decisions.
    let text = beside.map_or_else(|| question.text.clone(), |it| it.join(" "));
    let asked = asked(&text);
    let asks_all = scope.is_some() && asked.is_empty();
    let found: Vec<&EntryRow> = match asks_all {
        true => all(),
        false => {
            let found = entries_found(sources, &text, (question.limit, true), may)?.0;
            found.into_iter().map(|it| it.0).collect()
        }
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
        let mut chain: Vec<(usize, i64, &EntryRow)> = Vec::new();
        let numbers = library.entry_index.graph.chain(row.number).into_iter();
        let new =
            numbers.filter(|it| seen.insert(*it)).filter_map(|it| library.entry_index.get(it));
        for row in new {
            // A superseding entry follows the superseded one, whatever their dates; otherwise the
            // day decides.
            let place = chain_depth(&library.entry_index, row.number);
            chain.push((place, library.times(row)?.created_ms, row));
        }
        chain.sort_by_key(|(place, created_ms, row)| (*place, *created_ms, row.number));
        answer.entries.extend(chain.into_iter().map(|(_, _, row)| in_story(library, row)));
    }
    Ok(())
}

/// Describes the role of an entry in a story: what it supersedes, and whether it is current. A
/// story with branches may have several current entries.
fn in_story<'l>(library: &'l Library, row: &'l EntryRow) -> CitedEntry<'l> {
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
    CitedEntry { row, context, via }
}

/// Returns the words of a question that say what it is about.
fn asked(question: &str) -> BTreeSet<String> {
    let asking = words_of(ASKING);
    words_of(question).into_iter().filter(|word| !asking.contains(word)).collect()
}

/// Keeps the decisions that contain at least half as many of the question's words, in title or
/// text, as the best one. If none contains any, keeps the first few, which are near in meaning.
fn about<'l>(
    ctx: &QueryContext<'_>,
    asked: &BTreeSet<String>,
    found: Vec<&'l EntryRow>,
) -> Result<Vec<&'l EntryRow>, ErrorView> {
    let mut held = Vec::new();
    for row in found {
        let words = words_of(&format!("{} {}", row.title, text_of(ctx, row)?));
        held.push((asked.intersection(&words).count(), row));
    }
    let best = held.iter().map(|it| it.0).max().unwrap_or(0);
    let most = if best == 0 && !asked.is_empty() { MAX_NEAR } else { usize::MAX };
    Ok(held.into_iter().filter(|(n, _)| 2 * n >= best).map(|it| it.1).take(most).collect())
}

/// Returns the length of the longest chain of supersession that leads to an entry.
fn chain_depth(entry_index: &EntryIndex, number: u64) -> usize {
    let mut seen = HashSet::from([number]);
    let mut at = vec![number];
    let mut depth = 0;
    while !at.is_empty() {
        let older = at.iter().flat_map(|it| {
            let own = id_text(*it);
            let ends: Vec<u64> = entry_index
                .graph
                .neighbors(&own)
                .filter(|it| it.is_outgoing && it.edge == SUPERSEDES)
                .filter_map(|it| entry_index.of_node(it.node).map(|row| row.number))
                .collect();
            ends
        });
        at = older.filter(|it| seen.insert(*it)).collect();
        depth += usize::from(!at.is_empty());
    }
    depth
}
