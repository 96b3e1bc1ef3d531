//! Definition: the sentence that best says what an entity is.
//!
//! In: an entity, the documents that mention it. Out: a sentence with its place and the reason for the choice.
//! Invariants: extracted statements and sentences around mentions compete by points; ties go to the
//! first by path and offset, so the result does not depend on the order in which documents were
//! read.
//! Bounded: a limited number of an entity's statements, mentions and documents is considered, with
//! one document's text in memory at a time.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use proto::tool::core::DefinitionView;

use super::forms::{Form, form_of};
use super::opening;
use crate::graph::is_rejected;
use crate::quote::outline::Outline;
use crate::quote::source::Source;
use crate::{AskError, QueryContext};
use index::read::{Entity, Mention, Occurrences};
use model::terms::norm_of;

/// Most defining statements compared, surest first.
const MAX_STATEMENTS: usize = 256;

/// Most mentions considered per document, and in total: of its own note first, then of the documents
/// that have it in a heading or mention it most.
const MAX_MENTIONS_OF_DOC: usize = 12;
const MAX_MENTIONS: usize = 256;

/// Mentions that a mention in a heading counts as much as.
const HEADING: usize = 8;

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
/// Points of an entry of a glossary, or of a list or table of definitions.
const LISTED: i32 = 92;
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
        let own = if is_own_note { OWN_NOTE } else { 0 };
        let form = match pattern {
            "table:definition" | "section:glossary" | "list:definition" => {
                return Some((DefinitionKind::Glossary, LISTED + own));
            }
            "sentence:is a"
            | "sentence:is an"
            | "sentence:means"
            | "sentence:is defined as"
            | "sentence:denotes" => Form::Kind,
            "sentence:is the" => Form::Remark,
            _ => return None,
        };
        let (kind, points) = DefinitionKind::of_form(form, is_own_note);
        Some((kind, points + own))
    }

    /// Returns the kind of a wording, and its points.
    fn of_form(form: Form, is_own_note: bool) -> (DefinitionKind, i32) {
        let kind = match form {
            Form::Kind | Form::Named | Form::Apposition | Form::Are if !is_own_note => {
                DefinitionKind::Sentence
            }
            Form::Remark if !is_own_note => DefinitionKind::Remark,
            Form::Kind | Form::Named | Form::Apposition | Form::Are | Form::Remark => {
                DefinitionKind::OwnNote
            }
            Form::Entry => DefinitionKind::Glossary,
            _ => DefinitionKind::Description,
        };
        // In its own note `X is the …` is not just a remark.
        let weighed = if is_own_note && form == Form::Remark { Form::Kind } else { form };
        (kind, weighed.points())
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
    entity: &Entity,
    mentioning: &[Occurrences],
) -> Result<Option<DefinitionView>, AskError> {
    let mut choice = Choice { has_own_note: entity.doc.is_some(), ..Choice::default() };
    statements(ctx, entity.id, &mut choice)?;
    let n_docs = mentions(ctx, entity, mentioning, &mut choice)?;
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
fn stated(ctx: &QueryContext<'_>, entity: &Entity) -> Result<Option<DefinitionView>, AskError> {
    let Some(doc) = entity.doc else { return Ok(None) };
    let words = ctx.snapshot.documents().description(doc)?;
    let Some(words) = words.filter(|words| !words.trim().is_empty()) else { return Ok(None) };
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
    let own = ctx.snapshot.documents().about(entity)?;
    for (statement, path) in ctx.snapshot.relations().definitions(entity, MAX_STATEMENTS)? {
        let is_own_note = own.contains(&statement.doc);
        let (doc, span) = (statement.doc, statement.span);
        if is_rejected(ctx, &statement)? {
            choice.rejected.push((doc, span));
            continue;
        }
        let of = DefinitionKind::of(&statement.pattern, is_own_note);
        let Some((kind, points)) = of else { continue };
        let is_weak = false;
        let mut candidate =
            DefinitionCandidate { kind, points, path, doc, span, is_own_note, is_weak };
        if statement.pattern == "list:definition" {
            candidate.in_some_list(choice.has_own_note);
        }
        choice.offer(candidate);
    }
    Ok(())
}

/// A document with mentions of an entity.
struct Mentioning<'m> {
    doc: i64,
    path: &'m String,
    is_own_note: bool,
    mentions: Vec<Mention>,
}

/// Returns the documents to look at: the entity's own note, even if it has no mention, then those that
/// have it in a heading or mention it most.
fn documents<'m>(
    ctx: &QueryContext<'_>,
    entity: &'m Entity,
    mentioning: &'m [Occurrences],
) -> Result<Vec<Mentioning<'m>>, AskError> {
    let own = entity.doc.zip(entity.path.as_ref());
    let paths = mentioning.iter().map(|it| (it.doc, &it.path)).chain(own);
    let empty = |(doc, path)| {
        let is_own_note = entity.doc == Some(doc);
        (doc, Mentioning { doc, path, is_own_note, mentions: Vec::new() })
    };
    let mut by_doc: BTreeMap<i64, Mentioning<'_>> = paths.map(empty).collect();
    for mention in ctx.snapshot.mentions().of_entity(entity.id)? {
        if let Some(document) = by_doc.get_mut(&mention.doc) {
            document.mentions.push(mention);
        }
    }
    let mut found = Vec::from_iter(by_doc.into_values());
    found.sort_by_cached_key(|it| {
        let in_heading = it.mentions.iter().any(|it| it.is_heading);
        let weight = it.mentions.len() + if in_heading { HEADING } else { 0 };
        (!it.is_own_note, Reverse(weight), it.path)
    });
    Ok(found)
}

/// Offers the sentences that mention it, and the text below its headings; returns how many documents
/// were read.
fn mentions(
    ctx: &QueryContext<'_>,
    entity: &Entity,
    mentioning: &[Occurrences],
    choice: &mut Choice,
) -> Result<usize, AskError> {
    let (mut n_docs, mut n_left) = (0, MAX_MENTIONS);
    for document in documents(ctx, entity, mentioning)?.iter().take(MAX_DOCS) {
        let mentions = document.mentions.iter().take(MAX_MENTIONS_OF_DOC);
        let mut mentions: Vec<_> = mentions.map(Some).collect();
        if document.is_own_note {
            // Its opening, behind mentions at the first byte.
            mentions.insert(mentions.partition_point(|it| it.is_some_and(|it| it.at == 0)), None);
        }
        mentions.truncate(n_left);
        if mentions.is_empty() {
            break;
        }
        n_docs += 1;
        n_left -= mentions.len();
        let Some(source) = Source::load(ctx, document.doc)? else { continue };
        let outline = Outline::read(ctx, &source)?;
        for mention in mentions {
            if let Some(mut candidate) = candidate(&source, &outline, document, mention) {
                candidate.in_some_list(choice.has_own_note);
                choice.offer(candidate);
            }
        }
    }
    Ok(n_docs)
}

/// Returns a candidate from the text around a mention; without a mention, from the beginning of its
/// own note.
fn candidate(
    source: &Source,
    outline: &Outline,
    document: &Mentioning<'_>,
    mention: Option<&Mention>,
) -> Option<DefinitionCandidate> {
    let text = &source.text;
    let norm = norm_of(mention.map_or("", |it| &it.surface));
    let is_own = document.is_own_note || outline.title().is_some_and(|it| norm_of(it) == norm);
    let (kind, points, span) = match mention {
        None => {
            let span = opening::of_page(text, outline)?;
            (DefinitionKind::Opening, Form::Purpose.points(), span)
        }
        Some(it) if it.is_heading => {
            let span = opening::under_heading(text, it.at, &it.surface, outline)?;
            let kind = if is_own { DefinitionKind::Opening } else { DefinitionKind::Section };
            (kind, Form::Purpose.points(), span)
        }
        Some(it) => {
            let start = text.get(..it.at)?.rfind('\n').map_or(0, |newline| newline + 1);
            let line = text.get(start..)?.split('\n').next()?;
            let (form, (from, to)) = form_of(line, it.at - start, &it.surface)?;
            // The row of a table is no sentence; it defines only what its first cell names.
            if line.contains(" | ") && form != Form::Entry {
                return None;
            }
            let (kind, points) = DefinitionKind::of_form(form, is_own);
            (kind, points, (start + from, start + to))
        }
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
    let (path, doc, is_own_note) = (document.path.clone(), document.doc, is_own);
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
