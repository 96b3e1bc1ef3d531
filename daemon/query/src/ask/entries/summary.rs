//! Summary: answers in cited sentences; where entries conflict, with both sides. A view of `ask`.
//!
//! In: a question. Out: [`Summary`]: the statements that `ask` picks (`ask/found.rs`) from the
//! entries that `kb_ask` finds, and from their long titles; where no entry answers, those of the
//! whole folder, cited by their places.
//! Invariants: every sentence is quoted from the source cited for it; the same index gives the same
//! answer.

use std::collections::BTreeSet;

use notes::entry::id_text;
use proto::error::ErrorView;
use proto::tool::kb::{CitedSentence, ConflictOfEntries};

use super::strategy::{CitedEntry, KbQuestion, ask, read};
use crate::ask::{Choosing, Picked, Sources, conflicts, contradiction};
use crate::kb::{EntryRow, Library};
use crate::quote::claim::Claim;
use crate::{AskError, QueryContext};

/// Most sentences of an answer.
const MAX_SENTENCES: usize = 6;

/// Most conflicts of an answer.
const MAX_CONFLICTS: usize = 5;

/// An answer.
#[derive(Debug, Clone, Default)]
pub struct Summary<'l> {
    /// Sentences, best first.
    pub sentences: Vec<CitedSentence>,
    /// Entries that disagree.
    pub conflicts: Vec<ConflictOfEntries>,
    /// The entries that were read.
    pub entries: Vec<CitedEntry<'l>>,
}

/// Answers in sentences.
///
/// # Errors
/// As [`ask`].
pub fn summarize<'l>(
    sources: &Sources<'l>,
    question: &KbQuestion,
) -> Result<Summary<'l>, ErrorView> {
    let (ctx, library) = (sources.ctx, sources.library);
    let answer = read(sources, question)?;
    let (mut found, entries) = (answer.found, answer.entries);
    found.query.clone_from(&question.text);
    found.hits.retain(|hit| entries.iter().any(|it| it.row.doc == hit.doc));
    for it in &entries {
        found.add_entry(ctx, it.row, usize::MAX)?;
    }
    found.add_successors(ctx, library)?;
    let choosing = Choosing { are_titles_read: true, ..Choosing::among(found.hits.len()) };
    let mut picked = found.statements(ctx, library, choosing)?;
    picked.truncate(MAX_SENTENCES);
    if !picked.is_empty() {
        let sentences = picked.iter().map(|it| cited(library, it)).collect();
        return Ok(Summary { sentences, conflicts: of_entries(library, &picked), entries });
    }
    let question = KbQuestion { in_sentences: true, ..question.clone() };
    let beside = ask(sources, &question)?.documents;
    let sentence = |it: proto::tool::core::StatementView| CitedSentence {
        cited: std::iter::once(it.source.place()).chain(it.also).collect(),
        text: it.source.text,
        ..CitedSentence::default()
    };
    let sentences = beside.into_iter().take(MAX_SENTENCES).map(sentence).collect();
    Ok(Summary { sentences, entries, ..Summary::default() })
}

/// Returns the text of an entry, without secrets.
///
/// # Errors
/// When the index cannot be read.
pub fn text_of(ctx: &QueryContext<'_>, row: &EntryRow) -> Result<String, AskError> {
    Ok(ctx.snapshot.documents().text(row.doc)?.unwrap_or_default())
}

/// Builds a sentence with the entries that state it.
fn cited(library: &Library, it: &Picked) -> CitedSentence {
    let docs = std::iter::once(it.doc).chain(it.also.iter().map(|it| it.0));
    let rows: Vec<&EntryRow> = docs.filter_map(|doc| library.entry_index.of_doc(doc)).collect();
    CitedSentence {
        text: it.statement.text.clone(),
        cited: rows.iter().map(|row| id_text(row.number)).collect(),
        superseded_by: rows.first().map(|row| library.superseded_by(row)).unwrap_or_default(),
    }
}

/// Returns pairs of sentences from two entries that contradict each other, or one of which
/// supersedes the other. The superseding side comes first, else the later entry.
fn of_entries(library: &Library, picked: &[Picked]) -> Vec<ConflictOfEntries> {
    let claims: Vec<_> = picked.iter().map(|it| Claim::all_of(&it.statement.text)).collect();
    let doc = |at: usize| picked.get(at).map(|it| it.doc);
    let contradicting = conflicts(&claims, |n, m| doc(n) == doc(m));
    let all = (0..picked.len()).flat_map(|n| (n + 1..picked.len()).map(move |m| (n, m, None)));
    let stated = contradicting.into_iter().map(|(n, m, why)| (n, m, Some(why)));
    let mut seen: BTreeSet<(u64, u64)> = BTreeSet::new();
    let mut listed = Vec::new();
    for (n, m, why) in stated.chain(all) {
        let (Some(one), Some(other)) = (picked.get(n), picked.get(m)) else { continue };
        let rows = [one, other].map(|it| library.entry_index.of_doc(it.doc));
        let [Some(row), Some(other_row)] = rows else { continue };
        let takes = |row: &EntryRow, other: &EntryRow| {
            library.superseded_by(other).contains(&id_text(row.number))
        };
        let is_newer = takes(row, other_row);
        let is_older = takes(other_row, row);
        let ends = (row.number.min(other_row.number), row.number.max(other_row.number));
        if why.is_none() && !is_newer && !is_older || row.number == other_row.number {
            continue;
        }
        if listed.len() == MAX_CONFLICTS || !seen.insert(ends) {
            continue;
        }
        let is_first = is_newer || !is_older && row.number > other_row.number;
        let [newer, older] = if is_first { [row, other_row] } else { [other_row, row] };
        let [(one, n), (other, m)] = match is_first {
            true => [(one, n), (other, m)],
            false => [(other, m), (one, n)],
        };
        let replaces = format!("{} supersedes {}", id_text(newer.number), id_text(older.number));
        // Again, because the sides may have been swapped.
        let why = why.and_then(|_| contradiction(claims.get(n)?, claims.get(m)?));
        let why = match (is_newer || is_older, why) {
            (true, None) => replaces,
            (true, Some(why)) => format!("{replaces}; {why}"),
            (false, why) => why.unwrap_or_default(),
        };
        let side = |it: &Picked, row: &EntryRow| CitedSentence {
            text: it.statement.text.clone(),
            cited: vec![id_text(row.number)],
            ..CitedSentence::default()
        };
        listed.push(ConflictOfEntries { why, one: side(one, newer), other: side(other, older) });
    }
    listed
}
