//! `search_notes` and `search`.

use std::collections::BTreeSet;
use std::ops::Range;

use jiff::Zoned;
use notes::uri::SCHEME;
use proto::error::ErrorView;
use proto::shape::Id;
use proto::tool::core::{self, HybridQuery};
use proto::tool::notes::{
    FoundLink, FoundNote, FoundReply, ItemType, OutputFormat, ResultView, Search, SearchNotes,
    SearchReply, SearchType,
};

use super::when;
use crate::project::Project;
use crate::serve::tool::invalid;
use index::read::Chunk;
use index::store::Snapshot;
use query::{AskError, QueryContext, browse};

/// Passages fetched per wanted note: several may be of one note.
const PASSAGES_A_NOTE: u32 = 3;

/// Longest excerpt of a note before the remaining room is distributed, characters.
const EXCERPT_CHARS: usize = 300;

/// Characters reserved for number, score and brackets in a note's first line, and for the text
/// around a list of notes.
const HEAD_CHARS: usize = 40;
const AROUND_CHARS: usize = 200;

/// Separator between parts of a note that are not adjacent.
const GAP: &str = "\n…\n";

/// Searches notes and their statements, with S0's filters.
pub fn search_notes(
    project: &Project,
    snapshot: &Snapshot,
    request: SearchNotes,
) -> Result<SearchReply, ErrorView> {
    let after = request.after_date.as_deref();
    let after = after.map(|text| when::after("after_date", text, &Zoned::now())).transpose()?;
    let after = after.map(|moment| moment.as_millisecond());
    let request = by_name(filed(request))?;
    let is_compact = request.compact == Some(true);
    let mut reply = query::search_notes(&project.context(snapshot), &request, after)?;
    reply.results.iter_mut().filter(|_| is_compact).for_each(|it| it.snippet.clear());
    reply.freshness = project.freshness(snapshot);
    Ok(reply)
}

/// Turns `status` and `categories` into the filters that they are short for.
fn filed(mut request: SearchNotes) -> SearchNotes {
    if let Some(status) = request.status.take() {
        request.metadata_filters.get_or_insert_default().insert("status".into(), status.into());
    }
    if request.categories.as_ref().is_some_and(|it| !it.is_empty()) {
        request.search_item_types = Some(vec![ItemType::Observation]);
    }
    request
}

/// Turns a search in titles or permalinks into one with that filter.
fn by_name(request: SearchNotes) -> Result<SearchNotes, ErrorView> {
    let query = Some(request.query.clone());
    let (title, permalink, permalink_match) = match request.search_type {
        Some(SearchType::Title) => (query, None, None),
        Some(SearchType::Permalink) if request.query.contains('*') => (None, None, query),
        Some(SearchType::Permalink) => (None, query, None),
        _ => return Ok(request),
    };
    if request.query.trim().is_empty() {
        return Err(invalid("`query` is empty".into(), "give a part of a title, or a permalink"));
    }
    Ok(SearchNotes {
        query: String::new(),
        search_type: None,
        title: title.or(request.title),
        permalink: permalink.or(request.permalink),
        permalink_match: permalink_match.or(request.permalink_match),
        ..request
    })
}

/// Returns the best notes, whole as far as they fit.
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
    let context = project.context(snapshot);
    let found = query::answer(&context, &question)?;
    let mut notes: Vec<FoundNote> = Vec::new();
    let mut hits: Vec<HitsOf> = Vec::new();
    let mut n_further = 0_usize;
    for hit in found.chunks {
        if let Some(of) = hits.iter_mut().find(|it| it.doc == hit.doc_id) {
            of.chunks.push(hit.id);
            continue;
        }
        hits.push(HitsOf { doc: hit.doc_id, chunks: vec![hit.id] });
        if notes.len() == limit as usize {
            n_further += 1;
            continue;
        }
        notes.push(FoundNote {
            vault: project.name.clone(),
            note: browse::brief(snapshot, hit.doc_id)?,
            tags: snapshot.documents().tags(hit.doc_id).map_err(AskError::from)?,
            content: hit.snippet,
            is_whole: false,
            line: hit.lines[0],
            score: hit.score,
            relevance: hit.relevance,
            weak: hit.weak,
        });
    }
    let mut nothing_relevant = found.nothing_relevant;
    if nothing_relevant && let Some(near) = near_alone(&context, question.q)? {
        let meant = notes.iter_mut().find(|it| it.note.path == near.note.path);
        if let Some(note) = meant {
            (note.weak, nothing_relevant) = (false, false);
            note.relevance = near.relevance.unwrap_or_default();
        }
    }
    let mut pairs: Vec<(FoundNote, HitsOf)> = notes.into_iter().zip(hits).collect();
    query::weak_last(&mut pairs, |(note, _)| (note.weak, note.relevance));
    (notes, hits) = pairs.into_iter().unzip();
    query::descending(notes.iter_mut().map(|it| &mut it.score));
    let n_cut = spend(snapshot, &mut notes, &hits, room)?;
    let is_json = request.output_format == Some(OutputFormat::Json);
    let results = notes.iter().filter(|_| is_json).map(link).collect();
    let mut more = Vec::new();
    if n_cut > 0 {
        more.push(format!("{n_cut} of these are excerpts: `read_note` reads a note whole"));
    }
    if n_further > 0 || found.next_cursor.is_some() {
        more.push(
            "there are further notes: raise `limit`, or page through `search_notes`".to_string(),
        );
    }
    let hints: Vec<String> = [found.relaxed, found.hint].into_iter().flatten().collect();
    Ok(FoundReply {
        notes,
        results,
        more: (!more.is_empty()).then(|| more.join("; ")),
        hint: (!hints.is_empty()).then(|| hints.join("; ")),
        nothing_relevant,
        freshness: project.freshness(snapshot),
    })
}

/// Returns the note that a question means although they share few words: the one that is near it while all others are
/// far.
fn near_alone(context: &QueryContext<'_>, q: String) -> Result<Option<ResultView>, ErrorView> {
    let search_type = Some(SearchType::Vector);
    let request = SearchNotes { query: q, search_type, page_size: Some(1), ..Default::default() };
    let found = query::search_notes(context, &request, None)?;
    Ok(found.results.into_iter().next().filter(|it| !it.weak))
}

/// The matching passages of one note, best first.
struct HitsOf {
    doc: Id,
    chunks: Vec<i64>,
}

fn link(found: &FoundNote) -> FoundLink {
    let id = found.note.permalink.clone().unwrap_or_else(|| found.note.path.clone());
    FoundLink { url: format!("{SCHEME}{id}"), title: found.note.title.clone(), id }
}

/// Replaces excerpts with whole texts, or with the matching sections of a text that is too long,
/// best note first, while there is room; hardly relevant notes come last. Returns how many are not
/// whole.
fn spend(
    snapshot: &Snapshot,
    notes: &mut [FoundNote],
    hits: &[HitsOf],
    room: usize,
) -> Result<usize, ErrorView> {
    let mut left = room.saturating_sub(AROUND_CHARS);
    for note in notes.iter_mut() {
        note.content = note.content.chars().take(EXCERPT_CHARS).collect();
        left = left.saturating_sub(head_chars(note) + shown_chars(&note.content));
    }
    let mut n_cut = 0;
    for (note, hits) in notes.iter_mut().zip(hits) {
        let free = left + shown_chars(&note.content);
        let document = Document::read(snapshot, hits.doc)?;
        let whole = document.whole();
        if shown_chars(&whole) <= free {
            (note.content, note.is_whole, note.line) = (whole, true, 0);
        } else {
            n_cut += 1;
            if let Some((content, line)) = document.sections(&hits.chunks, free) {
                (note.content, note.line) = (content, line);
            }
        }
        left = free.saturating_sub(shown_chars(&note.content));
    }
    Ok(n_cut)
}

/// Returns the length of a note's first line in an answer, characters.
fn head_chars(note: &FoundNote) -> usize {
    let named = [&note.note.title, &note.note.path, &note.vault].into_iter().chain(&note.tags);
    HEAD_CHARS + named.map(|it| it.chars().count() + 2).sum::<usize>()
}

/// Returns the length of a text in an answer, characters: its lines are indented, and blank ones
/// left out.
fn shown_chars(text: &str) -> usize {
    let lines = text.lines().map(str::trim_end).filter(|it| !it.is_empty());
    lines.map(|it| it.chars().count() + 4).sum()
}

/// A document with its passages.
struct Document {
    text: String,
    /// The lines of its file, if it is kept.
    lines: Option<Vec<String>>,
    chunks: Vec<Chunk>,
}

impl Document {
    fn read(snapshot: &Snapshot, doc: Id) -> Result<Document, AskError> {
        let text = snapshot.documents().text(doc)?;
        let chunks = snapshot.chunks().of(doc)?;
        let written = index::store::written(snapshot, doc)?;
        let lines = written.map(|it| it.lines().map(String::from).collect());
        Ok(Document { text: text.unwrap_or_default(), lines, chunks })
    }

    /// Returns the whole text as written, without what precedes its first passage.
    fn whole(&self) -> String {
        let first = self.chunks.first().map_or(1, |it| it.line_start);
        self.lines_between(first, u32::MAX).unwrap_or_else(|| self.text.clone())
    }

    /// Returns lines of the file; `None` if it is not kept, or the format has no lines.
    fn lines_between(&self, first: u32, last: u32) -> Option<String> {
        let lines = self.lines.as_ref().filter(|_| first > 0)?;
        let last = (last as usize).min(lines.len());
        Some(lines.get(first as usize - 1..last).unwrap_or_default().join("\n"))
    }

    /// Returns the sections of passages, else only the passages, as many as there is room for; with
    /// the first line.
    fn sections(&self, hits: &[i64], room: usize) -> Option<(String, u32)> {
        let mut taken: BTreeSet<usize> = BTreeSet::new();
        for hit in hits {
            let Some(at) = self.chunks.iter().position(|it| it.id == *hit) else { continue };
            for part in [self.section_of(at), at..at + 1] {
                let with: BTreeSet<usize> = taken.iter().copied().chain(part).collect();
                if shown_chars(&self.joined(&with)) <= room {
                    taken = with;
                    break;
                }
            }
        }
        let first = self.chunks.get(*taken.first()?)?;
        Some((self.joined(&taken), first.line_start))
    }

    /// Returns the range of passages around one below the same heading.
    fn section_of(&self, at: usize) -> Range<usize> {
        let is_same = |it: &&Chunk| it.section == self.chunks[at].section;
        let n_before = self.chunks[..at].iter().rev().take_while(is_same).count();
        let n_after = self.chunks[at..].iter().take_while(is_same).count();
        at - n_before..at + n_after
    }

    fn joined(&self, taken: &BTreeSet<usize>) -> String {
        let mut out = String::new();
        let mut before: Option<(usize, &Chunk)> = None;
        for at in taken {
            let chunk = &self.chunks[*at];
            let beside = before.filter(|(before, _)| before + 1 == *at).map(|it| it.1);
            if before.is_some() && beside.is_none() {
                out.push_str(GAP);
            }
            // Text that a passage repeats from the one before it is shown once.
            let line = beside.map_or(chunk.line_start, |it| (it.line_end + 1).max(1));
            match self.lines_between(line.min(chunk.line_end + 1), chunk.line_end) {
                Some(lines) if beside.is_some() => out = format!("{}\n{lines}", out.trim_end()),
                Some(lines) => out.push_str(&lines),
                None => {
                    let from = beside.map_or(chunk.start, |it| it.end);
                    out.push_str(self.text.get(from.min(chunk.end)..chunk.end).unwrap_or_default());
                }
            }
            before = Some((*at, chunk));
        }
        out
    }
}
