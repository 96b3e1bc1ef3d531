//! `search_notes` and `search`.

use jiff::Zoned;
use proto::error::ErrorView;
use proto::tool::core::{self, HybridQuery};
use proto::tool::notes::{FoundNote, FoundReply, Search, SearchNotes, SearchReply};
use rusqlite::{OptionalExtension, params};

use super::when;
use crate::project::Project;
use crate::serve::tool::invalid;
use index::store::Snapshot;
use query::{AskError, browse};

/// Passages asked for, for each note that is wanted: several may be of one note.
const PASSAGES_A_NOTE: u32 = 3;

/// Room that a note takes in an answer beside its text, and that an excerpt takes, characters.
const OVERHEAD_CHARS: usize = 120;
const EXCERPT_CHARS: usize = 300;

/// Notes, and what they state, with S0's filters.
pub fn search_notes(
    project: &Project,
    snapshot: &Snapshot,
    request: SearchNotes,
) -> Result<SearchReply, ErrorView> {
    let after = request.after_date.as_deref();
    let after = after.map(|text| when::since("after_date", text, &Zoned::now())).transpose()?;
    let after = after.map(|moment| moment.as_millisecond());
    let mut reply = query::search_notes(&project.desk(snapshot), &request, after)?;
    reply.freshness = project.freshness(snapshot);
    Ok(reply)
}

/// The best notes, whole as far as they fit.
pub fn search(
    project: &Project,
    snapshot: &Snapshot,
    request: Search,
) -> Result<FoundReply, ErrorView> {
    let limit = request.limit.unwrap_or(10);
    if !(1..=100).contains(&limit) {
        return Err(invalid(format!("`limit` is {limit}"), "give a number from 1 to 100"));
    }
    let question = HybridQuery {
        q: request.query,
        k: Some((limit * PASSAGES_A_NOTE).min(100)),
        max_chars: Some(100_000),
        ..HybridQuery::default()
    };
    let room = core::budget(request.max_chars, request.max_tokens, core::PASSAGE_CHARS) as usize;
    let found = query::answer(&project.desk(snapshot), &question).map_err(|error| ErrorView {
        message: error.message.replace("`q` has", "`query` has"),
        ..error
    })?;
    let mut notes: Vec<FoundNote> = Vec::new();
    let mut docs = Vec::new();
    let mut n_further = 0_usize;
    for hit in found.chunks {
        if docs.contains(&hit.doc_id) {
            continue;
        }
        docs.push(hit.doc_id);
        if notes.len() == limit as usize {
            n_further += 1;
            continue;
        }
        notes.push(FoundNote {
            vault: project.name.clone(),
            note: browse::brief(snapshot, hit.doc_id)?,
            tags: tags_of(snapshot, hit.doc_id)?,
            content: hit.snippet,
            is_whole: false,
            line: hit.lines[0],
            score: hit.score,
            relevance: hit.relevance,
            weak: hit.weak,
        });
    }
    let n_cut = spend(snapshot, &mut notes, &docs, room)?;
    let mut more = Vec::new();
    if n_cut > 0 {
        more.push(format!("{n_cut} of these are excerpts: `read_note` reads a note whole"));
    }
    if n_further > 0 || found.next_cursor.is_some() {
        more.push("there are further notes: raise `limit`, or ask `hybrid_query`".to_string());
    }
    let told: Vec<String> = [found.relaxed, found.hint].into_iter().flatten().collect();
    Ok(FoundReply {
        notes,
        more: (!more.is_empty()).then(|| more.join("; ")),
        hint: (!told.is_empty()).then(|| told.join("; ")),
        nothing_relevant: found.nothing_relevant,
        freshness: project.freshness(snapshot),
    })
}

/// Replaces excerpts by whole texts, best first, while there is room; returns how many are still excerpts.
fn spend(
    snapshot: &Snapshot,
    notes: &mut [FoundNote],
    docs: &[i64],
    room: usize,
) -> Result<usize, ErrorView> {
    let n = notes.len();
    let mut left = room;
    let mut n_cut = 0;
    for (at, (note, doc)) in notes.iter_mut().zip(docs).enumerate() {
        let kept_for_others = (n - at - 1) * (OVERHEAD_CHARS + EXCERPT_CHARS);
        let free = left.saturating_sub(kept_for_others + OVERHEAD_CHARS);
        let text: Option<String> = snapshot
            .query_row("SELECT text FROM docs WHERE id = ?1", params![doc], |row| row.get(0))
            .optional()
            .map_err(AskError::from)?;
        let whole = text.unwrap_or_default();
        if whole.chars().count() <= free {
            note.content = whole;
            note.is_whole = true;
            note.line = 0;
        } else {
            n_cut += 1;
            note.content = note.content.chars().take(EXCERPT_CHARS).collect();
        }
        left = left.saturating_sub(OVERHEAD_CHARS + note.content.chars().count());
    }
    Ok(n_cut)
}

pub(super) fn tags_of(snapshot: &Snapshot, doc: i64) -> Result<Vec<String>, AskError> {
    let mut statement =
        snapshot.prepare_cached("SELECT tag FROM doc_tags WHERE doc_id = ?1 ORDER BY tag")?;
    let tags = statement.query_map([doc], |row| row.get(0))?;
    Ok(tags.collect::<Result<_, _>>()?)
}
