//! Definition: the sentence that best says what an entity is.
//!
//! In: an entity. Out: a sentence with its place and the reason for the choice.
//! Invariants: extracted statements and sentences around mentions compete by points; ties go to the
//! first by path and offset, so the result does not depend on the order in which documents were
//! read.
//! Bounded: a limited number of an entity's statements, mentions and documents is considered, with
//! one document's text in memory at a time.
//! Not here: which sentences define something for the graph (`extract/relate/define.rs`), wordings
//! (`forms.rs`), the sentence that a page or section opens with (`opening.rs`).

use proto::tool::core::DefinitionView;
use rusqlite::{OptionalExtension, Row, params};

use super::forms::{Form, form_of};
use super::opening;
use crate::graph::{Statement, is_rejected};
use crate::quote::outline::Outline;
use crate::quote::source::Source;
use crate::{AskError, QueryContext};
use model::terms::norm_of;

/// Most defining statements compared, surest first.
const MAX_STATEMENTS: i64 = 256;

/// Most mentions read per document, and in total: of its own note first, then of the documents that
/// have it in a heading or mention it most.
const MAX_MENTIONS_OF_DOC: i64 = 12;
const MAX_MENTIONS: i64 = 256;

/// Most documents read for mentions.
const MAX_DOCS: usize = 24;

/// Most documents that mention a thing which a remark about its use may define.
const FEW_DOCS: usize = 3;

/// Length of a good definition, characters.
const GOOD_CHARS: std::ops::RangeInclusive<usize> = 25..=300;

/// Parts of the paths of documents whose lists define things.
const GLOSSARIES: [&str; 4] = ["glossar", "definition", "vocabular", "terms"];

/// Points for the place, the length and the end of a sentence, added to those of its wording.
const OWN_NOTE: i32 = 10;
const UNDER_ITS_HEADING: i32 = 6;
/// Points of what the front matter of its own note says: more than an opening, less than `X is a`.
const STATED: i32 = 90;
const TOO_LONG: i32 = -8;
const TOO_SHORT: i32 = -12;
const LEADS_ON: i32 = -12;

/// How a sentence defines an entity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DefinitionKind {
    /// `The Key Vault is a …` in its own note.
    OwnNote,
    /// An entry of a glossary, or of a list or table of definitions.
    Glossary,
    /// `X is a …`, `X means …` in another document.
    Sentence,
    /// The first sentence of its own note.
    Opening,
    /// The first sentence under a heading that is its name.
    Section,
    /// `X is the …`, which is as often a remark.
    Remark,
    /// A sentence about its behavior or purpose: `The X type keeps …`.
    Description,
}

impl DefinitionKind {
    /// Returns the kind of a statement, and its points; `None` for a statement that says only where
    /// something is defined.
    fn of(pattern: &str, is_own_note: bool) -> Option<(DefinitionKind, i32)> {
        let (kind, points) = match pattern {
            "table:definition" | "section:glossary" | "list:definition" => {
                (DefinitionKind::Glossary, 92)
            }
            "sentence:is a"
            | "sentence:is an"
            | "sentence:means"
            | "sentence:is defined as"
            | "sentence:denotes" => (DefinitionKind::Sentence, Form::Kind.points()),
            "sentence:is the" if is_own_note => (DefinitionKind::OwnNote, Form::Kind.points()),
            "sentence:is the" => (DefinitionKind::Remark, Form::Remark.points()),
            _ => return None,
        };
        let kind = match kind {
            DefinitionKind::Sentence if is_own_note => DefinitionKind::OwnNote,
            kind => kind,
        };
        Some((kind, points + if is_own_note { OWN_NOTE } else { 0 }))
    }

    fn of_form(form: Form, is_own_note: bool) -> DefinitionKind {
        match form {
            Form::Kind | Form::Named | Form::Apposition | Form::Are if is_own_note => {
                DefinitionKind::OwnNote
            }
            Form::Kind | Form::Named | Form::Apposition | Form::Are => DefinitionKind::Sentence,
            Form::Entry => DefinitionKind::Glossary,
            Form::Remark if is_own_note => DefinitionKind::OwnNote,
            Form::Remark => DefinitionKind::Remark,
            _ => DefinitionKind::Description,
        }
    }

    fn as_str(self) -> &'static str {
        match self {
            DefinitionKind::OwnNote => "own note",
            DefinitionKind::Glossary => "glossary",
            DefinitionKind::Sentence => "sentence",
            DefinitionKind::Opening => "opening",
            DefinitionKind::Section => "section",
            DefinitionKind::Remark => "remark",
            DefinitionKind::Description => "description",
        }
    }
}

/// A sentence that may be a definition.
#[derive(Debug)]
struct DefinitionCandidate {
    kind: DefinitionKind,
    points: i32,
    path: String,
    doc: i64,
    span: (usize, usize),
    is_own_note: bool,
    /// Whether it only mentions what the entity can do or is used for.
    is_weak: bool,
}

impl DefinitionCandidate {
    /// Ranks an item of some list behind what the note about the entity says: `Ada: write it down` is no definition.
    fn in_some_list(&mut self, has_own_note: bool) {
        let path = self.path.to_lowercase();
        let is_glossary = GLOSSARIES.iter().any(|word| path.contains(word));
        let is_item = self.kind == DefinitionKind::Glossary && !is_glossary;
        if has_own_note && !self.is_own_note && is_item {
            self.points = self.points.min(Form::Use.points());
        }
    }

    fn is_before(&self, other: &DefinitionCandidate) -> bool {
        let place = |it: &'_ DefinitionCandidate| (it.path.clone(), it.span);
        other.points.cmp(&self.points).then_with(|| place(self).cmp(&place(other))).is_lt()
    }
}

/// The best candidate so far that no reviewer rejected.
#[derive(Default)]
struct Choice {
    best: Option<DefinitionCandidate>,
    /// Whether a note is about the entity.
    has_own_note: bool,
    /// Spans of statements that a person rejected.
    rejected: Vec<(i64, (usize, usize))>,
}

impl Choice {
    fn offer(&mut self, candidate: DefinitionCandidate) {
        let is_rejected = self.rejected.contains(&(candidate.doc, candidate.span));
        if !is_rejected && self.best.as_ref().is_none_or(|best| candidate.is_before(best)) {
            self.best = Some(candidate);
        }
    }
}

/// Returns the best defining sentence of an entity, if there is one.
pub(super) fn definition(
    ctx: &QueryContext<'_>,
    entity: i64,
) -> Result<Option<DefinitionView>, AskError> {
    let mut own = ctx
        .snapshot
        .prepare_cached("SELECT 1 FROM entities WHERE id = ?1 AND doc_id IS NOT NULL")?;
    let mut choice = Choice { has_own_note: own.exists([entity])?, ..Choice::default() };
    statements(ctx, entity, &mut choice)?;
    let n_docs = mentions(ctx, entity, &mut choice)?;
    // What many documents mention, such as a language, they rarely explain in passing.
    choice.best = choice.best.filter(|best| !best.is_weak || n_docs <= FEW_DOCS);
    let n_points = choice.best.as_ref().map_or(i32::MIN, |best| best.points);
    if n_points < STATED
        && let Some(stated) = stated(ctx, entity)?
    {
        return Ok(Some(stated));
    }
    let Some(best) = choice.best else { return Ok(None) };
    let source = Source::load(ctx, best.doc)?;
    let source = source.map(|source| source.quote(meaning(&source, &best)));
    Ok(source.map(|source| DefinitionView { source, by: best.kind.as_str().into() }))
}

/// Returns the description that its own note states in its front matter.
fn stated(ctx: &QueryContext<'_>, entity: i64) -> Result<Option<DefinitionView>, AskError> {
    let mut row = ctx.snapshot.prepare_cached(
        "SELECT d.id, json_extract(d.meta, '$.extra.description') FROM entities e JOIN docs d ON d.id = e.doc_id
         WHERE e.id = ?1 AND json_type(d.meta, '$.extra.description') = 'text'",
    )?;
    let found =
        row.query_row([entity], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?)));
    let Some((doc, words)) = found.optional()?.filter(|(_, words)| !words.trim().is_empty()) else {
        return Ok(None);
    };
    let source = Source::load(ctx, doc)?.map(|source| source.words(0, &words));
    Ok(source.map(|source| DefinitionView { source, by: "description".into() }))
}

/// Returns the span of the meaning: a glossary entry may begin with a heading that is its name.
fn meaning(source: &Source, best: &DefinitionCandidate) -> (usize, usize) {
    let (start, end) = best.span;
    let words = source.text.get(start..end).unwrap_or("");
    let below = words.split_once("\n\n").map_or("", |(_, below)| below);
    let is_entry = best.kind == DefinitionKind::Glossary && !below.is_empty();
    (if is_entry { end - below.len() } else { start }, end)
}

/// Offers the sentences that the graph has as definitions.
fn statements(ctx: &QueryContext<'_>, entity: i64, choice: &mut Choice) -> Result<(), AskError> {
    let mut rows = ctx.snapshot.prepare_cached(
        "SELECT e.doc_id, e.start, e.end, e.raw_start, e.raw_end, e.pattern, e.confidence * n.link, d.path,
                coalesce(d.entity_id = ?1, 0), coalesce(s.entity_id, h.entity_id, 0)
         FROM names n JOIN evidence e ON e.object = n.id JOIN docs d ON d.id = e.doc_id
         LEFT JOIN names s ON s.id = e.subject LEFT JOIN docs h ON h.id = -e.subject
         WHERE n.entity_id = ?1 AND e.predicate = 'defines' ORDER BY 7 DESC, d.path, e.start LIMIT ?2",
    )?;
    let read = |row: &Row<'_>| {
        let number = |i: usize| row.get::<_, i64>(i);
        let statement = Statement {
            subject: number(9)?,
            predicate: "defines".into(),
            object: entity,
            confidence: row.get(6)?,
            doc: number(0)?,
            span: (number(1)? as usize, number(2)? as usize),
            raw: (number(3)? as u64, number(4)? as u64),
            pattern: row.get(5)?,
        };
        Ok((statement, row.get::<_, String>(7)?, row.get::<_, bool>(8)?))
    };
    for row in rows.query_map(params![entity, MAX_STATEMENTS], read)? {
        let (statement, path, is_own_note) = row?;
        let (doc, span) = (statement.doc, statement.span);
        if !ctx.decisions.is_empty() && is_rejected(ctx, &statement)? {
            choice.rejected.push((doc, span));
            continue;
        }
        let is_item = statement.pattern == "list:definition";
        let Some((kind, points)) = DefinitionKind::of(&statement.pattern, is_own_note) else {
            continue;
        };
        let is_weak = false;
        let mut candidate =
            DefinitionCandidate { kind, points, path, doc, span, is_own_note, is_weak };
        if is_item {
            candidate.in_some_list(choice.has_own_note);
        }
        choice.offer(candidate);
    }
    Ok(())
}

/// One mention of an entity.
struct MentionRow {
    doc: i64,
    at: usize,
    surface: String,
    path: String,
    in_heading: bool,
    is_own_note: bool,
}

/// Offers the sentences that mention it, and the text below its headings; returns how many documents
/// were read.
fn mentions(ctx: &QueryContext<'_>, entity: i64, choice: &mut Choice) -> Result<usize, AskError> {
    // The lowest bit of `place` means: in a heading. A document without a mention is included only
    // if it is the entity's own note.
    let mut rows = ctx.snapshot.prepare_cached(
        "WITH own AS (SELECT doc_id FROM entities WHERE id = ?1),
           all_of AS (SELECT m.doc_id, m.at, m.surface, m.place & 1 AS is_heading FROM names n
             JOIN mentions m ON m.name_id = n.id WHERE n.entity_id = ?1),
           ranked AS (SELECT *, row_number() OVER (PARTITION BY doc_id ORDER BY at) AS nth,
             count(*) OVER (PARTITION BY doc_id) + 8 * max(is_heading) OVER (PARTITION BY doc_id) AS weight FROM all_of
             UNION ALL SELECT doc_id, 0, '', 0, 0, 0 FROM own WHERE doc_id IS NOT NULL)
         SELECT r.doc_id, r.at, r.surface, d.path, r.is_heading, coalesce(r.doc_id = (SELECT doc_id FROM own), 0)
         FROM ranked r JOIN docs d ON d.id = r.doc_id WHERE r.nth <= ?2
         ORDER BY 6 DESC, max(r.weight) OVER (PARTITION BY r.doc_id) DESC, d.path, r.at LIMIT ?3",
    )?;
    let read = |row: &Row<'_>| {
        Ok(MentionRow {
            doc: row.get(0)?,
            at: row.get::<_, i64>(1)? as usize,
            surface: row.get(2)?,
            path: row.get(3)?,
            in_heading: row.get(4)?,
            is_own_note: row.get(5)?,
        })
    };
    let mut source: Option<(i64, Source, Outline)> = None;
    let mut n_docs = 0;
    for row in rows.query_map(params![entity, MAX_MENTIONS_OF_DOC, MAX_MENTIONS], read)? {
        let row = row?;
        if source.as_ref().is_none_or(|(loaded, ..)| *loaded != row.doc) {
            n_docs += 1;
            if n_docs > MAX_DOCS {
                break;
            }
            source = match Source::load(ctx, row.doc)? {
                Some(loaded) => {
                    let outline = loaded.outline(ctx, row.doc)?;
                    Some((row.doc, loaded, outline))
                }
                None => None,
            };
        }
        let Some((_, loaded, outline)) = &source else { continue };
        if let Some(mut candidate) = candidate(loaded, outline, row) {
            candidate.in_some_list(choice.has_own_note);
            choice.offer(candidate);
        }
    }
    Ok(n_docs)
}

/// Returns a candidate from the text around a mention; without a surface, from the beginning of its
/// own note.
fn candidate(source: &Source, outline: &Outline, row: MentionRow) -> Option<DefinitionCandidate> {
    let text = &source.text;
    let norm = norm_of(&row.surface);
    let is_own = row.is_own_note || outline.title().is_some_and(|it| norm_of(it) == norm);
    let (kind, points, span) = if row.surface.is_empty() {
        let span = opening::of_page(text, outline)?;
        (DefinitionKind::Opening, Form::Purpose.points(), span)
    } else if row.in_heading {
        let span = opening::under_heading(text, row.at, &row.surface, outline)?;
        let kind = if is_own { DefinitionKind::Opening } else { DefinitionKind::Section };
        (kind, Form::Purpose.points(), span)
    } else {
        let start = text.get(..row.at)?.rfind('\n').map_or(0, |newline| newline + 1);
        let line = text.get(start..)?.split('\n').next()?;
        let (form, (from, to)) = form_of(line, row.at - start, &row.surface)?;
        // The row of a table is no sentence; it defines only what its first cell names.
        if line.contains(" | ") && form != Form::Entry {
            return None;
        }
        // In its own note `X is the …` is not just a remark.
        let weighed = if is_own && form == Form::Remark { Form::Kind } else { form };
        (DefinitionKind::of_form(form, is_own), weighed.points(), (start + from, start + to))
    };
    let sentence = text.get(span.0..span.1)?;
    // `A low-level reader of archives.` defines it without a verb.
    let is_kind = matches!(kind, DefinitionKind::Opening | DefinitionKind::Section)
        && (sentence.starts_with("A ") || sentence.starts_with("An "));
    let points = if is_kind { Form::Entry.points() } else { points };
    let is_weak = !is_own && points <= Form::May.points();
    let n_chars = sentence.chars().count();
    let mut points = points + if is_own { OWN_NOTE } else { 0 };
    points += match n_chars {
        n if n > *GOOD_CHARS.end() => TOO_LONG,
        n if n < *GOOD_CHARS.start() => TOO_SHORT,
        _ => 0,
    };
    if sentence.ends_with(':') {
        points += LEADS_ON;
    }
    if outline.nearest(span.0).is_some_and(|it| norm_of(it) == norm) {
        points += UNDER_ITS_HEADING;
    }
    let (path, doc, is_own_note) = (row.path, row.doc, is_own);
    Some(DefinitionCandidate { kind, points, path, doc, span, is_own_note, is_weak })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_thing_is_counts_more_than_a_remark_and_more_in_its_own_note() {
        let of = |pattern, is_own_note| DefinitionKind::of(pattern, is_own_note).expect("defines");
        let points = [
            of("sentence:is a", true).1,
            of("list:definition", false).1,
            of("sentence:is a", false).1,
            Form::Does.points() + OWN_NOTE,
            Form::Apposition.points(),
            Form::Purpose.points() + OWN_NOTE,
            Form::Purpose.points() + UNDER_ITS_HEADING,
            of("sentence:is the", false).1,
        ];
        assert!(points.is_sorted_by(|a, b| a >= b), "{points:?}");
        assert_eq!(of("sentence:is a", true).0, DefinitionKind::OwnNote);
        assert_eq!(DefinitionKind::of("sentence:defined in", false), None);
    }
}
