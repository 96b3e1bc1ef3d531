//! Definition: the sentence that best says what an entity is.
//!
//! In: an entity. Out: a sentence with its place and why it was chosen.
//! Invariants: chosen by pattern and position, in the order of [`DefinitionKind`]; then by confidence, path and place,
//! so that the same documents give the same sentence in whatever order they were read. Bounded: a limited number of
//! statements and headings of an entity is considered, and one document's text at a time.
//! Not here: which sentences define something (`extract/relate/define.rs`).

use proto::tool::core::DefinitionView;
use rusqlite::{OptionalExtension, Row, params};

use super::describe;
use crate::graph::{Statement, is_rejected};
use crate::quote::source::{Source, quote};
use crate::{AskError, QueryContext};
use extract::chunk::sentences;
use model::terms::norm_of;

/// Most defining statements that are compared; the surest.
const MAX_STATEMENTS: i64 = 256;

/// Most headings that are considered; the first by path and place.
const MAX_HEADINGS: i64 = 8;

/// Bytes that are read below a heading, and at the beginning of a note.
const MAX_SECTION_BYTES: usize = 4_000;

/// Shortest paragraph that is running text, words, and how it ends; headings and captions are shorter or have no stop.
const MIN_PARAGRAPH_WORDS: usize = 5;
const STOPS: [char; 9] = ['.', ':', ';', '?', '!', ')', '"', '”', '…'];

/// How a sentence defines an entity, the best kind first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum DefinitionKind {
    /// `The Key Vault is a …` in its own note.
    OwnNote,
    /// An entry of a glossary, of a list or table of definitions.
    Glossary,
    /// `X is a …`, `X means …` in another document.
    Sentence,
    /// The first sentence of its own note.
    Opening,
    /// The first sentence under a heading that is its name.
    Section,
    /// `X is the …`, which is as often a remark; `X is defined in …`.
    Remark,
    /// A sentence that begins with the name: `The X type keeps …`.
    Description,
}

impl DefinitionKind {
    fn of(pattern: &str, is_own_note: bool) -> DefinitionKind {
        match pattern {
            "list:definition" | "table:definition" | "section:glossary" => DefinitionKind::Glossary,
            "sentence:is a" | "sentence:is an" | "sentence:is the" if is_own_note => {
                DefinitionKind::OwnNote
            }
            "sentence:means" | "sentence:is defined as" | "sentence:denotes" if is_own_note => {
                DefinitionKind::OwnNote
            }
            "sentence:is a" | "sentence:is an" | "sentence:means" => DefinitionKind::Sentence,
            "sentence:is defined as" | "sentence:denotes" => DefinitionKind::Sentence,
            _ => DefinitionKind::Remark,
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

/// A statement that defines, and what decides about it.
struct DefinitionCandidate {
    kind: DefinitionKind,
    path: String,
    statement: Statement,
}

/// The best defining sentence of an entity, if there is one.
pub(super) fn definition(
    ctx: &QueryContext<'_>,
    entity: i64,
) -> Result<Option<DefinitionView>, AskError> {
    let stated = best_statement(ctx, entity)?;
    if let Some(best) = stated.as_ref().filter(|best| best.kind < DefinitionKind::Opening) {
        return view(ctx, best);
    }
    if let Some(opening) = opening(ctx, entity)? {
        return Ok(Some(opening));
    }
    if let Some(section) = section(ctx, entity)? {
        return Ok(Some(section));
    }
    if let Some(best) = stated {
        return view(ctx, &best);
    }
    let by = DefinitionKind::Description.as_str().to_string();
    Ok(describe::description(ctx, entity)?.map(|source| DefinitionView { source, by }))
}

fn view(
    ctx: &QueryContext<'_>,
    best: &DefinitionCandidate,
) -> Result<Option<DefinitionView>, AskError> {
    let source = quote(ctx, best.statement.doc, best.statement.span)?;
    Ok(source.map(|source| DefinitionView { source, by: best.kind.as_str().into() }))
}

fn best_statement(
    ctx: &QueryContext<'_>,
    entity: i64,
) -> Result<Option<DefinitionCandidate>, AskError> {
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
        let kind = DefinitionKind::of(&statement.pattern, row.get(8)?);
        Ok(DefinitionCandidate { kind, path: row.get(7)?, statement })
    };
    let mut best: Option<DefinitionCandidate> = None;
    for candidate in rows.query_map(params![entity, MAX_STATEMENTS], read)? {
        let candidate = candidate?;
        if best.as_ref().is_none_or(|best| is_before(&candidate, best))
            && (ctx.decisions.is_empty() || !is_rejected(ctx, &candidate.statement)?)
        {
            best = Some(candidate);
        }
    }
    Ok(best)
}

fn is_before(one: &DefinitionCandidate, other: &DefinitionCandidate) -> bool {
    let place = |it: &DefinitionCandidate| (it.path.clone(), it.statement.span);
    let by_confidence = other.statement.confidence.total_cmp(&one.statement.confidence);
    one.kind
        .cmp(&other.kind)
        .then(by_confidence)
        .then_with(|| place(one).cmp(&place(other)))
        .is_lt()
}

/// The first sentence of running text of its own note.
fn opening(ctx: &QueryContext<'_>, entity: i64) -> Result<Option<DefinitionView>, AskError> {
    let home: Option<i64> = ctx
        .snapshot
        .prepare_cached("SELECT doc_id FROM entities WHERE id = ?1 AND doc_id IS NOT NULL")?
        .query_row([entity], |row| row.get(0))
        .optional()?;
    let Some(home) = home else { return Ok(None) };
    let Some(source) = Source::load(ctx, home)? else { return Ok(None) };
    let found = paragraphs(&source.text, 0).find_map(|(at, text)| first_sentence(at, text));
    Ok(found.map(|span| DefinitionView {
        source: source.quote(span),
        by: DefinitionKind::Opening.as_str().into(),
    }))
}

/// The first sentence right under a heading that is one of its names.
fn section(ctx: &QueryContext<'_>, entity: i64) -> Result<Option<DefinitionView>, AskError> {
    // The lowest bit of `place`: in a heading.
    let mut rows = ctx.snapshot.prepare_cached(
        "SELECT m.doc_id, m.at, m.surface FROM names n JOIN mentions m ON m.name_id = n.id
         JOIN docs d ON d.id = m.doc_id WHERE n.entity_id = ?1 AND m.place & 1 ORDER BY d.path, m.at LIMIT ?2",
    )?;
    let read = |row: &Row<'_>| {
        Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)? as usize, row.get::<_, String>(2)?))
    };
    for row in rows.query_map(params![entity, MAX_HEADINGS], read)? {
        let (doc, at, surface) = row?;
        let Some(source) = Source::load(ctx, doc)? else { continue };
        if let Some(span) = under_heading(&source.text, at, &surface) {
            let by = DefinitionKind::Section.as_str().into();
            return Ok(Some(DefinitionView { source: source.quote(span), by }));
        }
    }
    Ok(None)
}

/// Where the first sentence of the paragraph below a heading stands, if the heading is all the name at `at`.
fn under_heading(text: &str, at: usize, name: &str) -> Option<(usize, usize)> {
    let start = text.get(..at)?.rfind('\n').map_or(0, |newline| newline + 1);
    let end = at + text.get(at..)?.find('\n')?;
    if norm_of(text.get(start..end)?) != norm_of(name) {
        return None;
    }
    let (at, paragraph) = paragraphs(text, end).next()?;
    first_sentence(at, paragraph)
}

/// Paragraphs from a place on, without blanks around, within [`MAX_SECTION_BYTES`].
fn paragraphs(text: &str, from: usize) -> impl Iterator<Item = (usize, &str)> {
    let mut end = text.len().min(from + MAX_SECTION_BYTES);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let window = text.get(from..end).unwrap_or("");
    let mut next = from;
    window.split("\n\n").filter_map(move |paragraph| {
        let at = next + paragraph.len() - paragraph.trim_start().len();
        next += paragraph.len() + 2;
        let paragraph = paragraph.trim();
        (!paragraph.is_empty()).then_some((at, paragraph))
    })
}

/// The first sentence of a paragraph of running text.
fn first_sentence(at: usize, paragraph: &str) -> Option<(usize, usize)> {
    let is_long = paragraph.split_whitespace().nth(MIN_PARAGRAPH_WORDS - 1).is_some();
    let is_running = is_long && (paragraph.ends_with(STOPS) || paragraph.contains(". "));
    let sentence = sentences(paragraph).next().filter(|_| is_running)?;
    Some((at + sentence.start, at + sentence.end))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_pattern_counts_more_in_its_own_note() {
        let kinds = [
            DefinitionKind::of("sentence:is the", true),
            DefinitionKind::of("list:definition", false),
            DefinitionKind::of("sentence:is a", false),
            DefinitionKind::Opening,
            DefinitionKind::Section,
            DefinitionKind::of("sentence:is the", false),
        ];
        assert!(
            kinds.is_sorted()
                && kinds[0] == DefinitionKind::OwnNote
                && kinds[5] == DefinitionKind::Remark
        );
        assert_eq!(DefinitionKind::of("sentence:is defined in", true), DefinitionKind::Remark);
    }

    #[test]
    fn only_a_heading_that_is_the_name_leads_to_its_sentence() {
        let text = "Key Vault\n\nKeeps the keys of all services. More.\n\nUsing the Key Vault\n\n\
            Ask for it first, please.\n";
        let (start, end) = under_heading(text, 0, "Key Vault").expect("a sentence");
        assert_eq!(&text[start..end], "Keeps the keys of all services.");
        assert_eq!(
            first_sentence(0, "ADR-7: Use two keys for seals"),
            None,
            "a heading has no stop"
        );
        assert_eq!(first_sentence(3, "Use two keys for seals."), Some((3, 26)));
        let other = text.find("Using the ").expect("there") + 10;
        assert_eq!(under_heading(text, other, "Key Vault"), None);
        assert_eq!(
            under_heading("Key Vault\n\nTasks\n\nIt keeps the keys, I think.", 0, "Key Vault"),
            None
        );
    }

    proptest! {
        #[test]
        fn any_text_gives_valid_spans(text in "(\\PC|\n){0,200}", at in 0usize..220, name in "\\PC{0,9}") {
            if let Some((start, end)) = under_heading(&text, at, &name) {
                prop_assert!(text.get(start..end).is_some());
            }
            for (at, paragraph) in paragraphs(&text, 0) {
                prop_assert_eq!(text.get(at..at + paragraph.len()), Some(paragraph));
            }
        }
    }
}
