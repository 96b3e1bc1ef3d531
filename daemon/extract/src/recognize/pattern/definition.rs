//! Definition: the terms that a glossary defines.
//!
//! In: the outline of a document. Out: one mention for each defined term: a bold or `term:` lead of
//! a list item, a heading below the heading of a glossary, the first cell of a table with columns
//! such as `Term` and `Meaning`.
//! Invariants: only where the title, the heading or the table's header announces definitions;
//! linear.

use super::proof::mention;
use model::parcel::{Block, BlockKind, Mention, NormalDoc};
use model::terms::{EntityType, Norm, Span};

const SCORE: f32 = 0.9;
/// Longest term, in bytes and in words.
const MAX_TERM_BYTES: usize = 60;
const MAX_TERM_WORDS: usize = 6;

/// Words that announce definitions in a short title or heading: `Glossary`, `Quillgate vocabulary`.
const ANNOUNCING: [&str; 4] = ["glossary", "terminology", "vocabulary", "jargon"];

/// Words that announce definitions only if all words are in this list: `Terms and definitions`, not
/// `Type definitions`.
const ANNOUNCING_ALONE: [&str; 8] =
    ["definitions", "terms", "key", "and", "of", "the", "our", "common"];

/// Most words of a heading that announces definitions.
const MAX_ANNOUNCING_WORDS: usize = 4;

/// Adds the defined terms of a document.
pub(super) fn find(doc: &NormalDoc, out: &mut Vec<Mention>) {
    let mentions = defined_terms(doc).into_iter();
    out.extend(mentions.map(|span| mention(span, span.of(&doc.text), EntityType::Concept, SCORE)));
}

/// Returns the places of the terms that a document defines, in order.
pub(crate) fn defined_terms(doc: &NormalDoc) -> Vec<Span<Norm>> {
    let mut out = Vec::new();
    let is_glossary = is_glossary_heading(&doc.title);
    let mut table = None;
    for block in &doc.blocks {
        let term = match block.kind {
            BlockKind::TableRow { table: idx, is_header: true } => {
                table = is_definition_table(block.span.of(&doc.text)).then_some(idx);
                None
            }
            BlockKind::TableRow { table: idx, .. } if table == Some(idx) => first_cell(doc, block),
            BlockKind::ListItem { .. } | BlockKind::Paragraph
                if is_glossary || is_under(doc, block) =>
            {
                lead(doc, block)
            }
            BlockKind::Heading(level) if is_glossary && level > 1 && !is_announced(doc, block) => {
                Some(block.span)
            }
            _ => None,
        };
        out.extend(term.filter(|span| is_term(span.of(&doc.text))));
    }
    out
}

/// Returns whether a title or heading announces definitions: `Glossary`, `Terms and definitions`.
pub(crate) fn is_glossary_heading(text: &str) -> bool {
    let is_one_of = |word: &str, list: &[&str]| list.iter().any(|it| it.eq_ignore_ascii_case(word));
    let words: Vec<&str> =
        text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    words.len() <= MAX_ANNOUNCING_WORDS
        && (words.iter().any(|word| is_one_of(word, &ANNOUNCING))
            || words.iter().all(|word| is_one_of(word, &ANNOUNCING_ALONE))
                && words.iter().any(|word| is_one_of(word, &["definitions", "terms"])))
}

/// Returns whether a table's header names a term and its meaning.
pub(crate) fn is_definition_table(header: &str) -> bool {
    let mut cells = header.split(" | ").map(|cell| cell.trim().to_lowercase());
    let first = cells.next().unwrap_or_default();
    matches!(
        first.as_str(),
        "term" | "word" | "concept" | "acronym" | "abbreviation" | "expression"
    ) && cells.any(|cell| {
        matches!(cell.as_str(), "definition" | "meaning" | "description" | "explanation")
    })
}

fn is_under(doc: &NormalDoc, block: &Block) -> bool {
    let heading = block.section.and_then(|idx| doc.blocks.get(idx as usize));
    heading.is_some_and(|h| is_glossary_heading(h.span.of(&doc.text)))
}

fn is_announced(doc: &NormalDoc, block: &Block) -> bool {
    is_glossary_heading(block.span.of(&doc.text))
}

fn first_cell(doc: &NormalDoc, block: &Block) -> Option<Span<Norm>> {
    let row = block.span.of(&doc.text);
    let cell = row.split(" | ").next()?.trim_end();
    Some(Span::new(block.span.start(), block.span.start() + cell.len()))
}

/// Returns the text before the first `:` or dash of a block.
fn lead(doc: &NormalDoc, block: &Block) -> Option<Span<Norm>> {
    let text = block.span.of(&doc.text);
    let head = text.get(..text.floor_char_boundary(MAX_TERM_BYTES + 4))?;
    let end = [": ", " - ", " – ", " — "].iter().filter_map(|sign| head.find(sign)).min()?;
    Some(Span::new(block.span.start(), block.span.start() + end))
}

fn is_term(text: &str) -> bool {
    (2..=MAX_TERM_BYTES).contains(&text.len())
        && text.split_whitespace().count() <= MAX_TERM_WORDS
        && text.starts_with(char::is_alphanumeric)
        && !text.contains(['\n', '.', '?', '!', '{', '[', '=', '"'])
        && text
            .match_indices('(')
            .all(|(at, _)| text.get(..at).is_some_and(|head| head.ends_with(' ')))
        && text.contains(char::is_alphabetic)
}
