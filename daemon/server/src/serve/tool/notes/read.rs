//! `read_note` and `build_context`.

use std::collections::HashSet;
use std::sync::Arc;

use jiff::Zoned;
use notes::target::heading_and_block;
use notes::uri::{self, Address};
use proto::error::ErrorView;
use proto::tool::core::{self, ExplainEntity};
use proto::tool::notes::{
    BuildContext, ContextNote, ContextReply, ReadNote, ReadNoteReply, RelatedView,
};

use super::browse::backlink_view;
use super::{Named, index, named, path_of, stated, when};
use crate::notes::NoteError;
use crate::project::Project;
use crate::serve::Progress;
use crate::serve::tool::{blocking, found_at, invalid, unreadable};
use ::index::store::Snapshot;
use model::terms::RelPath;
use query::browse;
use query::browse::Page;
use query::connect::memory::notes_around;
use query::{AskError, Projection, QueryContext, address, notes as rows};

/// Most notes that an address with `*` matches.
const MAX_MATCHES: usize = 1_000;

/// Most backlinks returned with a note.
const MAX_BACKLINKS: usize = 20;

/// Notes per page of a pattern.
const CONTEXT_PAGE: u32 = 10;

/// Most statements about a note from other documents.
const MAX_STATED_ELSEWHERE: usize = 10;

/// Most characters of a related note.
const SUMMARY_CHARS: usize = 160;

/// Characters that are read for a summary: its title and blanks are left out of it.
const HEAD_CHARS: usize = 2_000;

/// Most notes visited around one.
const MAX_VISITED: usize = 5_000;

/// Most links to or from one note on the way.
const MAX_LINKS: usize = 500;

/// Reads the current file of a note.
pub async fn read_note(
    project: Arc<Project>,
    request: ReadNote,
    _: Progress,
) -> Result<ReadNoteReply, ErrorView> {
    let room = core::budget(request.max_chars, request.max_tokens, core::PASSAGE_CHARS) as usize;
    let (address, part) = split(&project, &request.path).await?;
    let path = path_of(&project, &address).await?;
    let warnings = index(&project, &[RelPath::new(path.clone())]).await?;
    let worker = project.clone();
    blocking(move || {
        let snapshot = worker.snapshot().map_err(unreadable)?;
        let note = named(&worker, &snapshot, &path)?;
        let mut reply = read(&worker, &snapshot, &note, part.as_deref(), &request, room)?;
        reply.warnings.extend(warnings);
        reply.freshness = worker.freshness(&snapshot);
        Ok(reply)
    })
    .await
}

/// Splits `note#Heading` and `note#^block`, unless a file has that name.
async fn split(project: &Arc<Project>, given: &str) -> Result<(String, Option<String>), ErrorView> {
    let whole = (given.to_string(), None);
    let Some((note, part)) = given.split_once('#') else { return Ok(whole) };
    match path_of(project, given).await {
        Ok(_) => Ok(whole),
        Err(_) => Ok((note.to_string(), Some(part.to_string()))),
    }
}

fn read(
    project: &Project,
    snapshot: &Snapshot,
    note: &Named,
    part: Option<&str>,
    request: &ReadNote,
    room: usize,
) -> Result<ReadNoteReply, ErrorView> {
    let asked = (request.from_line, request.to_line);
    let is_wanted = request.include_content != Some(false);
    let row = snapshot.notes().get(note.doc).map_err(AskError::from)?;
    let view = browse::brief(snapshot, note.doc)?;
    let mut reply = ReadNoteReply {
        tags: snapshot.documents().tags(note.doc).map_err(AskError::from)?,
        warnings: warnings_of(snapshot, note.doc)?,
        ..ReadNoteReply::default()
    };
    let file = row.as_ref().map(|_| project.notes().read(&note.path)).transpose();
    let file = match file {
        Err(error @ (NoteError::NotText(_) | NoteError::NoFolder { .. })) => {
            reply.warnings.push(format!("{error}; this is its indexed text"));
            None
        }
        file => file.map_err(|error| error.view())?,
    };
    let (Some(row), Some(file)) = (row, file) else {
        // Not a note, or one that cannot be edited: return its indexed text.
        let text = snapshot.documents().text(note.doc).map_err(AskError::from)?;
        let text = text.filter(|_| is_wanted).unwrap_or_default();
        let (content, lines, next) = window(&text, 1, asked, room)?;
        (reply.note, reply.content, reply.lines, reply.next_line) = (view, content, lines, next);
        return Ok(reply);
    };
    let body = match request.include_frontmatter {
        Some(true) => 0,
        _ => notes::parse::parse(&file.text).body,
    };
    let span = match part {
        Some(part) => part_of(snapshot, note, part)?,
        None => (body, file.text.len()),
    };
    let first_line = file.text.get(..span.0).unwrap_or("").matches('\n').count() as u32 + 1;
    let text = project.notes().shown(&note.path, file.text.get(span.0..span.1).unwrap_or(""));
    if is_wanted {
        let (content, lines, next) = window(&text, first_line, asked, room)?;
        (reply.content, reply.lines, reply.next_line) = (content, lines, next);
    }
    (reply.checksum, reply.metadata) = (file.checksum, row.metadata);
    for field in snapshot.notes().fields(Some(note.doc)).map_err(AskError::from)? {
        reply.fields.entry(field.key).or_default().push(field.value);
    }
    (reply.observations, reply.relations) =
        stated(project, snapshot, note.doc, view.permalink.as_deref())?;
    let leading = query::stated::backlinks(&project.context(snapshot), note.doc, 0, MAX_BACKLINKS)?;
    reply.backlinks = leading.into_iter().map(backlink_view).collect();
    reply.note = view;
    reply.truncated = fit(&mut reply, room * 2);
    Ok(reply)
}

/// Returns the bytes of a heading with its section, or of a block.
fn part_of(snapshot: &Snapshot, note: &Named, part: &str) -> Result<(usize, usize), ErrorView> {
    let (heading, block) = heading_and_block(part);
    let has_heading = match heading {
        Some(heading) => rows::heading_place(snapshot, note.doc, heading)?.is_some(),
        None => true,
    };
    let found = match (heading, block) {
        // A link to a missing heading is broken, whatever else it names.
        (_, Some(_)) if !has_heading => None,
        // The id alone identifies a block; the heading in front of it is for people.
        (_, Some(block)) => rows::block_place(snapshot, note.doc, block)?,
        _ => rows::heading_place(snapshot, note.doc, heading.unwrap_or(part))?,
    };
    let what = if block.is_some() && has_heading { "block" } else { "heading" };
    let name: String = part.chars().filter(|c| !c.is_control()).take(100).collect();
    if let Some(place) = found {
        return Ok(place.span);
    }
    let near = match heading {
        Some(heading) if !has_heading => rows::nearest_headings(snapshot, note.doc, heading)?,
        _ => Vec::new(),
    };
    let near: Vec<String> = near.iter().map(|it| format!("`{it}`")).collect();
    let near =
        if near.is_empty() { String::new() } else { format!("it has {}; ", near.join(", ")) };
    Err(ErrorView::hinted(
        proto::error::Code::NotFound,
        format!("`{}` has no {what} `{name}`", note.path),
        format!("{near}`read_note` without `#…` reads all of it"),
    ))
}

/// Returns whole lines of a text from a line on, and to one, as many as there is room for but at
/// least a part of one; with the first and last line returned, and the next one. A line that is
/// longer than the room is shown without the data in it, such as pictures, so that its words are.
pub(super) fn window(
    text: &str,
    first_line: u32,
    wanted: (Option<u32>, Option<u32>),
    room: usize,
) -> Result<(String, [u32; 2], Option<u32>), ErrorView> {
    let (from_line, to_line) = wanted;
    let mut lines: Vec<&str> = text.split_inclusive('\n').collect();
    let last_line = first_line + (lines.len() as u32).saturating_sub(1);
    let from = from_line.unwrap_or(first_line).max(first_line);
    if from_line == Some(0) || from > last_line {
        let hint = format!("it has lines {first_line} to {last_line}");
        return Err(invalid(format!("`from_line` is {}", from_line.unwrap_or(0)), &hint));
    }
    if let Some(to) = to_line {
        if to < from {
            return Err(invalid(format!("`to_line` is {to}"), &format!("give {from} or more")));
        }
        lines.truncate((to - first_line + 1) as usize);
    }
    let mut part = String::new();
    let (mut left, mut line) = (room, from);
    for text in lines.iter().skip((from - first_line) as usize) {
        let n_chars = text.chars().count();
        if n_chars > left && !part.is_empty() {
            return Ok((part, [from, line - 1], Some(line)));
        }
        match n_chars > room {
            true => part.extend(formats::without_data(text).chars().take(left)),
            false => part.push_str(text),
        }
        left = left.saturating_sub(n_chars);
        line += 1;
    }
    Ok((part, [from, (line - 1).max(from)], None))
}

/// Drops statements until the answer fits its budget.
fn fit(reply: &mut ReadNoteReply, room: usize) -> Option<String> {
    let size = |reply: &ReadNoteReply| serde_json::to_string(reply).map_or(0, |text| text.len());
    let n_all = reply.observations.len() + reply.relations.len() + reply.backlinks.len();
    let room = room + 1_000;
    while size(reply) > room {
        let list_lengths = [reply.observations.len(), reply.relations.len(), reply.backlinks.len()];
        let longest = list_lengths.into_iter().max().filter(|n| *n > 5)?;
        let n = longest - longest.div_ceil(4);
        reply.observations.truncate(n.max(5));
        reply.relations.truncate(n.max(5));
        reply.backlinks.truncate(n.max(5));
    }
    let n_left = reply.observations.len() + reply.relations.len() + reply.backlinks.len();
    (n_left < n_all).then(|| {
        format!(
            "{} of {n_all} facts, relations and backlinks are shown; raise `max_chars` for more",
            n_left
        )
    })
}

fn warnings_of(snapshot: &Snapshot, doc: i64) -> Result<Vec<String>, AskError> {
    let warnings = snapshot.files().warnings(doc)?;
    Ok(warnings.iter().flat_map(|text| text.lines()).map(str::to_string).collect())
}

/// Returns the neighborhood of a note, or of the notes of a pattern.
pub fn build_context(
    project: &Project,
    snapshot: &Snapshot,
    request: BuildContext,
) -> Result<ContextReply, ErrorView> {
    let depth = request.depth.unwrap_or(1);
    if depth > 3 {
        return Err(invalid(format!("`depth` is {depth}"), "give a number from 0 to 3"));
    }
    let max_related = request.max_related.unwrap_or(10);
    if !(1..=100).contains(&max_related) {
        return Err(invalid(
            format!("`max_related` is {max_related}"),
            "give a number from 1 to 100",
        ));
    }
    let since = request.timeframe.as_deref();
    let since = since.map(|text| when::since("timeframe", text, &Zoned::now())).transpose()?;
    let page = Page::of(request.page, None, CONTEXT_PAGE, CONTEXT_PAGE)?;
    let room = core::budget(request.max_chars, request.max_tokens, core::PASSAGE_CHARS) as usize;
    let docs = documents(project, snapshot, &request.path)?;
    let shown: Vec<i64> = docs.iter().copied().skip(page.skip()).take(page.size as usize).collect();
    let mut notes = Vec::new();
    // Half of the room is for the notes, the rest for their neighborhood.
    let is_compact = request.compact == Some(true);
    let each = if is_compact { 0 } else { room / 2 / shown.len().max(1) };
    let mut n_cut = 0;
    for doc in &shown {
        let (note, is_cut) = context_note(project, snapshot, *doc, each)?;
        n_cut += usize::from(is_cut);
        notes.push(note);
    }
    let newest = since.map(|moment| moment.as_millisecond());
    let projection = project.projection(snapshot)?;
    let context = project.context(snapshot);
    let related = around(&context, &projection, &shown, depth, max_related as usize, newest)?;
    Ok(ContextReply {
        notes,
        n_notes: docs.len() as u64,
        next_page: page.next(docs.len()),
        related,
        truncated: (n_cut > 0 && !is_compact).then(|| {
            "only the beginning of the text is shown; `read_note` returns all of it".to_string()
        }),
        freshness: project.freshness(snapshot),
    })
}

/// Returns the documents that an address denotes; several only for a pattern.
fn documents(project: &Project, snapshot: &Snapshot, given: &str) -> Result<Vec<i64>, ErrorView> {
    if let Ok(Address::Pattern(pattern)) = uri::parse(given)
        && snapshot.documents().at(given).map_err(AskError::from)?.is_none()
    {
        let found = snapshot.notes().matching(&pattern, MAX_MATCHES).map_err(AskError::from)?;
        if found.is_empty() {
            let hint = "`list_notes` shows what there is";
            let message = format!("no note's address fits `{pattern}`");
            return Err(ErrorView::hinted(proto::error::Code::NotFound, message, hint));
        }
        return Ok(found);
    }
    Ok(vec![found_at(project, given, |path| address::document(snapshot, path))?])
}

/// Returns a note with its statements, and whether its text was cut.
fn context_note(
    project: &Project,
    snapshot: &Snapshot,
    doc: i64,
    room: usize,
) -> Result<(ContextNote, bool), ErrorView> {
    let note = browse::brief(snapshot, doc)?;
    let text = snapshot.documents().text(doc).map_err(AskError::from)?.unwrap_or_default();
    let content: String = text.chars().take(room).collect();
    let is_cut = content.len() < text.len();
    let (observations, relations) = stated(project, snapshot, doc, note.permalink.as_deref())?;
    let mut stated_elsewhere = Vec::new();
    if let Some(id) = note.entity_id {
        let request = ExplainEntity { entity_id: Some(id), ..ExplainEntity::default() };
        if let Ok(explained) = query::explain_entity(&project.context(snapshot), &request) {
            let is_elsewhere = |path: &String| path != &note.path;
            stated_elsewhere = explained.relations;
            stated_elsewhere
                .retain(|it| it.evidence.iter().any(|it| is_elsewhere(&it.source.path)));
            stated_elsewhere.truncate(MAX_STATED_ELSEWHERE);
        }
    }
    let tags = snapshot.documents().tags(doc).map_err(AskError::from)?;
    let note = ContextNote { note, tags, content, observations, relations, stated_elsewhere };
    Ok((note, is_cut))
}

/// Returns the notes and documents around some, step by step; within each step first link targets,
/// then notes that link here, then those with any other relation.
fn around(
    context: &QueryContext<'_>,
    projection: &Projection,
    shown: &[i64],
    depth: u32,
    most: usize,
    newest: Option<i64>,
) -> Result<Vec<RelatedView>, ErrorView> {
    let snapshot = context.snapshot;
    let mut seen: HashSet<i64> = shown.iter().copied().collect();
    let mut edge: Vec<i64> = shown.to_vec();
    let mut related = Vec::new();
    for step in 1..=depth {
        let mut next = Vec::new();
        for doc in &edge {
            let from = browse::brief(snapshot, *doc)?;
            let out = query::stated::relations(context, *doc)?.into_iter().take(MAX_LINKS);
            let out = out.filter_map(|it| {
                let by = format!("{} →", it.relation.as_deref().unwrap_or(rows::EMBEDS));
                Some((it.to?, by))
            });
            let back =
                query::stated::backlinks(context, *doc, 0, MAX_LINKS)?.into_iter().map(|it| {
                    let by =
                        format!("← {}", it.relation.clone().unwrap_or_else(|| rows::EMBEDS.into()));
                    (it.from_path, by)
                });
            let mut steps: Vec<(i64, String)> = out.collect();
            for (path, by) in back {
                let doc = snapshot.documents().at(&path).map_err(AskError::from)?;
                steps.extend(doc.map(|doc| (doc, by)));
            }
            steps.extend(notes_around(snapshot, projection, *doc, MAX_LINKS)?);
            for (to, by) in steps {
                if seen.len() >= MAX_VISITED || !seen.insert(to) {
                    continue;
                }
                if related.len() == most {
                    // Nothing farther can change the result, and a note with many links has many
                    // neighbors.
                    return Ok(related);
                }
                next.push(to);
                if is_new_enough(snapshot, to, newest)? {
                    related.push(RelatedView {
                        note: browse::brief(snapshot, to)?,
                        depth: step,
                        by,
                        from: from.path.clone(),
                        summary: summary(snapshot, to)?,
                    });
                }
            }
        }
        edge = next;
    }
    Ok(related)
}

fn is_new_enough(snapshot: &Snapshot, doc: i64, newest: Option<i64>) -> Result<bool, AskError> {
    let Some(since) = newest else { return Ok(true) };
    Ok(snapshot.files().of(doc)?.is_some_and(|file| file.mtime_ms >= since))
}

/// Returns the first words of a document, without its title.
fn summary(snapshot: &Snapshot, doc: i64) -> Result<String, AskError> {
    let label = snapshot.documents().labels([doc])?.remove(&doc);
    let title = label.map(|label| label.title).unwrap_or_default();
    let text = snapshot.documents().heads([doc], HEAD_CHARS)?.remove(&doc).unwrap_or_default();
    let rest = text.trim_start().strip_prefix(title.as_str()).unwrap_or(&text);
    let words: Vec<&str> = rest.split_whitespace().collect();
    let line = words.join(" ");
    let cut: String = line.chars().take(SUMMARY_CHARS).collect();
    Ok(if cut.len() < line.len() { format!("{cut}…") } else { cut })
}

#[cfg(test)]
mod tests {
    use super::window;

    #[test]
    fn a_long_text_is_told_in_windows_of_whole_lines_that_join_again() {
        let text = "one\ntwo\nthree\nfour";
        let (first, lines, next) = window(text, 5, (None, None), 8).expect("lines");
        assert_eq!((first.as_str(), lines, next), ("one\ntwo\n", [5, 6], Some(7)));
        let (second, lines, next) = window(text, 5, (next, None), 100).expect("lines");
        assert_eq!((second.as_str(), lines, next), ("three\nfour", [7, 8], None));
        // A line that does not fit is cut, so that reading makes progress.
        let (cut, lines, next) = window("a long line\nb", 1, (None, None), 4).expect("lines");
        assert_eq!((cut.as_str(), lines, next), ("a lo", [1, 1], Some(2)));
        // What stands after a picture on its line is within reach.
        let picture = format!("a ![m](data:image/png;base64,{}) b\nc", "Ab3d".repeat(100));
        let (shown, lines, next) = window(&picture, 1, (None, None), 60).expect("lines");
        let expected = ("a ![m](data:image/png;base64,[…]) b\n", [1, 1], Some(2));
        assert_eq!((shown.as_str(), lines, next), expected);
        assert_eq!(window(&picture, 1, (None, None), 600).expect("lines").0, picture);
        assert_eq!(window("", 1, (None, None), 10).expect("none"), (String::new(), [1, 1], None));
        assert!(window(text, 5, (Some(9), None), 10).is_err());
        assert!(window(text, 5, (Some(0), None), 10).is_err());
        let part = window(text, 5, (Some(6), Some(7)), 100).expect("lines");
        assert_eq!(part, ("two\nthree\n".to_string(), [6, 7], None));
        assert!(window(text, 5, (Some(7), Some(6)), 100).is_err());
    }
}
