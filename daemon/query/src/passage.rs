//! Passage: reads a whole passage with its neighbors.
//!
//! In: a hit's `ref`, or a place as answers cite it. Out: the passage's text with its place, and
//! the `ref`s of the neighbors.
//! Invariants: a `ref` identifies a document and words, so it survives moves, edits elsewhere and a
//! rebuilt index, and never resolves to other words (of passages with the same words in one
//! document it is the first); text beyond the budget is cut at the far ends, and the reply says so.

use std::ops::RangeInclusive;

use notes::resolve::fold;
use proto::error::{Code, ErrorView};
use proto::tool::core::{self, PassageReply, ReadPassage};

use crate::address;
use crate::error::{budget, in_range};
use crate::plan::cursor::mark;
use crate::quote::written::{Cells, written};
use crate::{AskError, QueryContext};
use index::read::{Chunk, Document, Places, Whole};

/// Digits in a `ref`: of the document's uid, and of the mark.
const UID_DIGITS: usize = 4;
const MARK_DIGITS: usize = 8;

/// Characters in an answer besides the text.
const OVERHEAD_CHARS: usize = 260;

/// A passage up to this length also returns those around it, characters.
pub(crate) const SHORT_CHARS: usize = 1_700;

/// Most neighbors on each side.
const MAX_AROUND: u32 = 20;

/// Most documents suggested for an unknown path.
const MAX_PROPOSALS: usize = 3;

/// Returns the `ref` of a passage.
pub(crate) fn handle(uid: &str, mark: u32) -> String {
    format!("{}{mark:08x}", uid.get(..UID_DIGITS).unwrap_or(uid))
}

/// Reads a passage and its neighbors.
pub fn read_passage(
    ctx: &QueryContext<'_>,
    request: &ReadPassage,
) -> Result<PassageReply, ErrorView> {
    let around = in_range("around", request.around.unwrap_or(0), 0, MAX_AROUND)?;
    let budget = budget(request.max_chars, request.max_tokens, core::PASSAGE_CHARS)?;
    let at = request.at.trim();
    let (doc, idx) = match by_handle(ctx, at)? {
        Some(found) => found,
        None => by_place(ctx, at)?,
    };
    let room = (budget as usize).saturating_sub(OVERHEAD_CHARS).max(100);
    let own = match request.around {
        None => together(idx, doc.all.len(), room.min(SHORT_CHARS), |first, last| {
            doc.n_chars(first, last)
        }),
        Some(_) => idx..=idx,
    };
    Ok(doc.reply(own, around as usize, room))
}

/// Returns the passages to show with one of `n` by default: as many after and before it as have at
/// most `most` characters in total. A heading with one sentence thus brings the text below it, a
/// table the text that introduces it.
pub(crate) fn together(
    own: usize,
    n: usize,
    most: usize,
    n_chars: impl Fn(usize, usize) -> usize,
) -> RangeInclusive<usize> {
    let (mut first, mut last) = (own, own);
    loop {
        if last + 1 < n && n_chars(first, last + 1) <= most {
            last += 1;
        } else if first > 0 && n_chars(first - 1, last) <= most {
            first -= 1;
        } else {
            return first..=last;
        }
    }
}

/// A document with its passages.
struct Passages {
    of: Document,
    text: String,
    places: Places,
    all: Vec<Chunk>,
    /// The file, if it may be shown verbatim.
    file: Option<String>,
}

impl Passages {
    fn load(ctx: &QueryContext<'_>, id: i64) -> Result<Option<Passages>, AskError> {
        let Some(whole) = ctx.snapshot.documents().whole(id)? else { return Ok(None) };
        let Whole { document: of, text, places } = whole;
        let all = ctx.snapshot.chunks().of(id)?;
        let file = index::store::written(ctx.snapshot, id)?;
        Ok(Some(Passages { of, text, places, all, file }))
    }

    fn words(&self, idx: usize) -> &str {
        self.all.get(idx).and_then(|it| self.text.get(it.start..it.end)).unwrap_or("")
    }

    fn handle_of(&self, idx: usize) -> Option<String> {
        self.all.get(idx)?;
        Some(handle(&self.of.uid, mark(&self.of.uid, self.words(idx))))
    }

    /// Returns the byte range from the first to the last of some passages.
    fn stretch(&self, first: usize, last: usize) -> (usize, usize) {
        let start = self.all.get(first).map_or(0, |it| it.start);
        let end = self.all.get(last).map_or(start, |it| it.end);
        (start, end.max(start))
    }

    fn n_chars(&self, first: usize, last: usize) -> usize {
        let (start, end) = self.stretch(first, last);
        self.text.get(start..end).map_or(0, |text| text.chars().count())
    }

    /// Returns the passages with as many of the wanted neighbors as fit.
    fn reply(&self, own: RangeInclusive<usize>, around: usize, room: usize) -> PassageReply {
        let (mut first, mut last) = (*own.start(), *own.end());
        let wanted = (
            first.saturating_sub(around),
            last.saturating_add(around).min(self.all.len().saturating_sub(1)),
        );
        let mut is_cut = self.n_chars(first, last) > room;
        for _ in 0..around {
            if last < wanted.1 {
                match self.n_chars(first, last + 1) <= room {
                    true => last += 1,
                    false => is_cut = true,
                }
            }
            if first > wanted.0 {
                match self.n_chars(first - 1, last) <= room {
                    true => first -= 1,
                    false => is_cut = true,
                }
            }
        }
        let (start, end) = self.stretch(first, last);
        let whole = self.text.get(start..end).unwrap_or("");
        let text: String = whole.chars().take(room).collect();
        let end = start + text.len();
        let is_all = !text.is_empty() && text.len() == whole.len();
        let as_written = self.as_written(first, last, room).filter(|_| is_all);
        let section = match &self.places.headings {
            Some(headings) => headings.path_at(&self.text, start),
            None => self.all.get(first).map(|it| it.section.clone()).unwrap_or_default(),
        };
        let (from, to) =
            (self.places.lines.line_at(start), self.places.lines.line_at(end.max(start + 1) - 1));
        let inner = end.max(start + 1) - 1;
        let pages = self.places.pages.page_at(start).zip(self.places.pages.page_at(inner));
        PassageReply {
            path: self.of.path.clone(),
            title: self.of.title.clone(),
            section,
            lines: [from, to.max(from)],
            pages: pages.map(|(first, last)| [first, last]),
            passages: [first as u32 + 1, last as u32 + 1],
            n_passages: self.all.len() as u32,
            before: first.checked_sub(1).and_then(|idx| self.handle_of(idx)),
            after: self.handle_of(last + 1),
            truncated: is_cut.then(|| {
                let (n_shown, n_wanted) = (text.chars().count(), self.n_chars(wanted.0, wanted.1));
                format!("{n_shown} of {n_wanted} characters; raise `max_chars` for more")
            }),
            text: as_written.unwrap_or(text),
            ..PassageReply::default()
        }
    }

    /// Returns the lines of some passages as written in their file, if they fit.
    fn as_written(&self, first: usize, last: usize, room: usize) -> Option<String> {
        let file = self.file.as_ref()?;
        let (from, to) = (self.all.get(first)?.line_start, self.all.get(last)?.line_end);
        Some(written(file, from..=to, from..=to, room, Cells::AsWritten)?.text)
    }
}

/// Returns the passage of a `ref`; `None` if the text is not a `ref`.
fn by_handle(ctx: &QueryContext<'_>, at: &str) -> Result<Option<(Passages, usize)>, ErrorView> {
    let is_handle = at.len() == UID_DIGITS + MARK_DIGITS
        && at.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    let Some((uid, digits)) = at.split_at_checked(UID_DIGITS).filter(|_| is_handle) else {
        return Ok(None);
    };
    let wanted = u32::from_str_radix(digits, 16).unwrap_or_default();
    let documents = ctx.snapshot.documents();
    for id in documents.with_uid_digits(uid).map_err(AskError::from)? {
        let Some(doc) = Passages::load(ctx, id)? else { continue };
        let is_it = |idx: &usize| mark(&doc.of.uid, doc.words(*idx)) == wanted;
        if let Some(idx) = (0..doc.all.len()).find(is_it) {
            return Ok(Some((doc, idx)));
        }
    }
    // A file name may look like a `ref`.
    if document_at(ctx, at)?.is_some() {
        return Ok(None);
    }
    let hint =
        "its words changed or its document is gone: ask again, or give the hit's path and line";
    Err(ErrorView::hinted(Code::NotFound, format!("no passage has the ref `{at}` any more"), hint))
}

/// A position in a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Spot {
    Beginning,
    Line(u32),
    Page(u32),
}

/// Returns the passage at a place as answers cite it.
fn by_place(ctx: &QueryContext<'_>, at: &str) -> Result<(Passages, usize), ErrorView> {
    let readings = readings(at);
    let mut found = None;
    for (path, spot) in &readings {
        if let Some(id) = document_at(ctx, path)? {
            found = Some((id, *spot));
            break;
        }
    }
    // Otherwise the name of a document, with the most that may be a place taken off.
    let named = || {
        let (path, spot) = readings.last()?;
        address::document(ctx.snapshot, path).ok().map(|id| (id, *spot))
    };
    let found = match found.or_else(named) {
        Some((id, spot)) => Passages::load(ctx, id)?.map(|doc| (doc, spot)),
        None => None,
    };
    let Some((doc, spot)) = found else { return Err(no_document(ctx, at)?) };
    if doc.all.is_empty() {
        let message = format!("`{}` has no text", doc.of.path);
        return Err(ErrorView { code: Code::NotFound, message, hint: None, conflict: None });
    }
    let idx = match spot {
        Spot::Beginning => Some(0),
        Spot::Line(line) => doc.all.iter().position(|it| it.line_end >= line && it.line_start > 0),
        Spot::Page(page) => doc.all.iter().position(|it| {
            doc.places.pages.page_at(it.end.max(it.start + 1) - 1).is_some_and(|last| last >= page)
        }),
    };
    match idx {
        Some(idx) => Ok((doc, idx)),
        None => Err(beyond(&doc, spot)),
    }
}

fn beyond(doc: &Passages, spot: Spot) -> ErrorView {
    let last = doc.all.last();
    let (what, hint) = match spot {
        Spot::Line(line) => (
            format!("line {line}"),
            match last.map_or(0, |it| it.line_end) {
                0 => "it has no lines: give a hit's `ref`, or the path alone".into(),
                last => format!("its text ends with line {last}"),
            },
        ),
        Spot::Page(page) => (
            format!("page {page}"),
            match last.and_then(|it| doc.places.pages.page_at(it.end.max(1) - 1)) {
                None => "it has no pages: give a hit's `ref`, or the path alone".into(),
                Some(last) => format!("its text ends with page {last}"),
            },
        ),
        Spot::Beginning => ("text".into(), String::new()),
    };
    ErrorView::hinted(Code::NotFound, format!("`{}` has no {what}", doc.of.path), hint)
}

/// Returns the possible readings of a place: all of it as a path, then a path followed by a line,
/// page or section.
fn readings(at: &str) -> Vec<(&str, Spot)> {
    let at = at.split(" § ").next().unwrap_or(at).trim().trim_start_matches("./");
    let mut out = vec![(at, Spot::Beginning)];
    let first = |range: &str| range.split('-').next().and_then(|it| it.parse::<u32>().ok());
    let line: fn(u32) -> Spot = Spot::Line;
    for (sign, spot) in [(":", line), (" p. ", Spot::Page)] {
        let place = at.rsplit_once(sign);
        out.extend(place.and_then(|(path, range)| Some((path, spot(first(range)?)))));
    }
    out
}

fn document_at(ctx: &QueryContext<'_>, path: &str) -> Result<Option<i64>, AskError> {
    let documents = ctx.snapshot.documents();
    if let Some(exact) = documents.at(path)? {
        return Ok(Some(exact));
    }
    let key = fold(path);
    let found = documents.by_path()?.into_iter().find(|(_, other)| fold(other) == key);
    Ok(found.map(|(doc, _)| doc))
}

/// Returns the error for an unknown path, with similar paths.
fn no_document(ctx: &QueryContext<'_>, at: &str) -> Result<ErrorView, AskError> {
    let path = readings(at).last().map_or(at, |(path, _)| *path);
    let name = path.rsplit('/').next().unwrap_or(path);
    let stem = fold(name.split('.').next().unwrap_or(name));
    let mut like: Vec<String> = Vec::new();
    if !stem.is_empty() {
        let paths = ctx.snapshot.documents().by_path()?.into_iter().map(|(_, path)| path);
        like.extend(paths.filter(|path| fold(path).contains(&stem)));
    }
    // Equally long ones stay in their order.
    like.sort_by_key(|path| path.chars().count());
    like.truncate(MAX_PROPOSALS);
    let hint = match like.is_empty() {
        true => "give a hit's `ref`, or its path with `:line`".to_string(),
        false => format!("there is {}", like.join(", ")),
    };
    Ok(ErrorView::hinted(Code::NotFound, format!("no document `{path}`"), hint))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_passage_comes_with_what_is_around_it() {
        let sizes = [300, 100, 500, 900, 10];
        let n_chars = |first: usize, last: usize| sizes[first..=last].iter().sum::<usize>();
        for (own, most, expected) in [
            (1, 50, 1..=1),
            (1, 900, 0..=2),
            (1, 400, 0..=1),
            (2, 700, 1..=2),
            (4, 1_000, 3..=4),
            (0, 9_999, 0..=4),
        ] {
            assert_eq!(together(own, sizes.len(), most, n_chars), expected, "{own}, {most}");
        }
    }

    #[test]
    fn places_are_parsed_as_answers_cite_them() {
        let rows: [(&str, (&str, Spot)); 8] = [
            ("a.md", ("a.md", Spot::Beginning)),
            ("./a/b.md:12", ("a/b.md", Spot::Line(12))),
            ("a.md:12-18", ("a.md", Spot::Line(12))),
            ("report.pdf p. 3", ("report.pdf", Spot::Page(3))),
            ("report.pdf p. 3-4", ("report.pdf", Spot::Page(3))),
            ("letter.docx § Terms › Payment", ("letter.docx", Spot::Beginning)),
            ("12:30.md", ("12:30.md", Spot::Beginning)),
            ("a.md:x", ("a.md:x", Spot::Beginning)),
        ];
        for (at, expected) in rows {
            assert_eq!(readings(at).last(), Some(&expected), "{at}");
        }
    }
}
