//! Define: what a document defines in sentences, glossaries and tables.
//!
//! In: sentences and the outline. Out: `defines`, subject the document, object the defined name.
//! Invariants: a sentence defines the name it begins with (after an article), once; `is the only`, `is the same` and
//! questions are not definitions; people, dates, versions and steps are not defined. Linear.

use super::cues::{Cue, CueKind, Cues};
use super::page::Page;
use super::{Statement, Statements};
use crate::recognize::pattern::{is_definition_table, is_glossary_heading};
use crate::recognize::words;
use model::parcel::{BlockKind, Party};
use model::terms::{EntityType, Norm, Span};

/// Confidence that a page defines its own name.
const OWN_CONFIDENCE: f32 = 0.9;
const LIST_CONFIDENCE: f32 = 0.8;
const GLOSSARY_CONFIDENCE: f32 = 0.9;
/// Fewest words of a definition.
const MIN_WORDS: usize = 3;
/// Words that make a sentence with `is the` or `is a` a remark, not a definition.
const REMARKS: [&str; 35] = [
    "mix",
    "fine",
    "core",
    "second",
    "third",
    "more",
    "less",
    "name",
    "only",
    "same",
    "best",
    "first",
    "last",
    "most",
    "case",
    "reason",
    "one",
    "default",
    "right",
    "way",
    "next",
    "good",
    "bad",
    "better",
    "great",
    "lot",
    "bit",
    "must",
    "little",
    "few",
    "member",
    "part",
    "component",
    "subsystem",
    "module",
];

/// Adds the definitions.
pub(super) fn relate(page: &Page<'_>, out: &mut Statements) {
    sentences(page, out);
    outline(page, out);
}

fn sentences(page: &Page<'_>, out: &mut Statements) {
    let mut next = 0;
    for sentence in &page.doc.sentences {
        // Sentences and mentions are both in order of place, so one pass suffices.
        while page.mention(next).is_some_and(|m| m.span.start() < sentence.start()) {
            next += 1;
        }
        let Some(mention) = page.mention(next).filter(|m| sentence.contains(m.span)) else {
            continue;
        };
        if !page.doc.doc.is_english_at(sentence.start()) {
            continue;
        }
        let before = page.text.get(sentence.start()..mention.span.start()).unwrap_or("");
        let begins = matches!(before.trim(), "" | "A" | "An" | "The" | "a" | "an" | "the");
        let after = page.text.get(mention.span.end()..sentence.end()).unwrap_or("");
        let Some(cue) =
            cue_after(page.cues(), after).filter(|_| begins && is_definable(page, next))
        else {
            continue;
        };
        let confidence = if page.is_own(next) { OWN_CONFIDENCE } else { cue.weight };
        define(out, *sentence, next, (cue.pattern, confidence));
    }
}

/// Returns the definition cue that follows a name, if at least [`MIN_WORDS`] words follow the cue.
fn cue_after<'v>(cues: &'v Cues, after: &str) -> Option<&'v Cue> {
    let after = after.strip_prefix(' ')?;
    if after.trim_end().ends_with('?') {
        return None;
    }
    let cue = cues
        .of_kind(CueKind::Definition)
        .find(|cue| after.strip_prefix(cue.words).is_some_and(|rest| rest.starts_with(' ')))?;
    let mut rest = after.get(cue.words.len()..)?.split_whitespace();
    let first = rest.next()?.trim_matches(|c: char| !c.is_alphanumeric());
    let is_remark =
        first == "something" || (cue.words.starts_with("is ") && REMARKS.contains(&first));
    (!is_remark && rest.count() + 1 >= MIN_WORDS).then_some(cue)
}

fn outline(page: &Page<'_>, out: &mut Statements) {
    let is_glossary = is_glossary_heading(&page.doc.doc.title);
    let mut table = None;
    for (block_idx, block) in page.blocks().iter().enumerate() {
        let text = block.span.of(page.text);
        let heading = block.section.and_then(|idx| page.blocks().get(idx as usize));
        let is_under =
            is_glossary || heading.is_some_and(|h| is_glossary_heading(h.span.of(page.text)));
        let found = match block.kind {
            BlockKind::TableRow { table: idx, is_header: true } => {
                table = is_definition_table(text).then_some(idx);
                None
            }
            BlockKind::TableRow { table: idx, .. } if table == Some(idx) => {
                leading(page, block_idx, &[" | "])
                    .map(|m| (m, "table:definition", GLOSSARY_CONFIDENCE))
            }
            BlockKind::ListItem { .. } | BlockKind::Paragraph => {
                let term = leading(page, block_idx, &[":", " - ", " – ", " — "]);
                // `- [**Redis**](redis.md): see there` is an index, and `**Note**: …` a remark; neither defines
                // anything.
                let is_bold = term.and_then(|idx| page.mention(idx)).is_some_and(|m| {
                    m.place.in_bold && !m.place.in_link && !words::is_ordinary(&m.name)
                });
                let confidence = if is_under { GLOSSARY_CONFIDENCE } else { LIST_CONFIDENCE };
                term.filter(|_| is_under || is_bold).map(|m| (m, "list:definition", confidence))
            }
            BlockKind::Heading(level) if is_glossary && level > 1 && !is_glossary_heading(text) => {
                whole(page, block_idx).map(|m| (m, "section:glossary", GLOSSARY_CONFIDENCE))
            }
            _ => None,
        };
        if let Some((mention, pattern, confidence)) = found {
            let span = match block.kind {
                BlockKind::Heading(_) => with_text_below(page, block_idx),
                _ => block.span,
            };
            define(out, span, mention, (pattern, confidence));
        }
    }
}

/// Returns the name that a block begins with, if one of the signs and at least [`MIN_WORDS`] words follow it.
fn leading(page: &Page<'_>, block_idx: usize, signs: &[&str]) -> Option<u32> {
    let block = page.blocks().get(block_idx)?;
    let first = page.mentions_of(block_idx).next()?;
    let mention = page.mention(first).filter(|m| m.span.start() == block.span.start())?;
    let after = page.text.get(mention.span.end()..block.span.end())?;
    let meaning = signs.iter().find_map(|sign| after.strip_prefix(sign))?;
    let is_meaning = meaning.split_whitespace().take(MIN_WORDS).count() == MIN_WORDS;
    (is_meaning && is_definable(page, first)).then_some(first)
}

/// Returns a heading with the paragraph below it, which defines it.
fn with_text_below(page: &Page<'_>, block_idx: usize) -> Span<Norm> {
    let heading = page.blocks().get(block_idx).map_or(Span::new(0, 0), |block| block.span);
    let below = page.blocks().get(block_idx + 1).filter(|it| it.kind == BlockKind::Paragraph);
    below.map_or(heading, |it| Span::new(heading.start(), it.span.end()))
}

/// Returns the name that a heading consists of.
fn whole(page: &Page<'_>, block_idx: usize) -> Option<u32> {
    let block = page.blocks().get(block_idx)?;
    let mut mentions = page.mentions_of(block_idx);
    mentions.find(|idx| {
        page.mention(*idx).is_some_and(|m| m.span == block.span) && is_definable(page, *idx)
    })
}

fn is_definable(page: &Page<'_>, idx: u32) -> bool {
    page.is_thing(idx) && page.mention(idx).is_some_and(|m| m.entity_type != EntityType::Person)
}

fn define(out: &mut Statements, span: Span<Norm>, mention: u32, how: (&'static str, f32)) {
    let (pattern, confidence) = how;
    let (subject, object) = (Party::Document, Party::Mention(mention));
    out.add(span, Statement { subject, predicate: "defines", object, pattern, confidence });
}
