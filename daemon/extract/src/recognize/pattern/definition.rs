//! Definition: the entries of glossaries: blocks that explain term after term.
//!
//! In: the outline of a document. Out: the entries, each a term and what is said about it; a mention for each term of
//! a block that announces definitions.
//! Invariants: a list, a table or the paragraphs of a section are a glossary as a whole or not at all. They are one if
//! the title, the heading or the table's header announces it, or if most of their rows have a label that is no field
//! (no label twice on the page) and a text about that label. A heading below a glossary's title is a term. Linear.

use rustc_hash::FxHashMap;

use super::proof::mention;
use model::document::{Block, BlockKind, Document, Mention};
use model::terms::{EntityType, Norm, NormKey, Span, norm_of};

const SCORE: f32 = 0.9;
/// Longest term, in bytes and in words.
const MAX_TERM_BYTES: usize = 60;
const MAX_TERM_WORDS: usize = 6;
/// Fewest words of a definition, and fewest entries of a block that does not announce itself.
const MIN_WORDS: usize = 2;
const MIN_ENTRIES: usize = 2;

/// Words that announce definitions in a short title or heading: `Glossary`, `Quillgate vocabulary`.
const ANNOUNCING: [&str; 4] = ["glossary", "terminology", "vocabulary", "jargon"];

/// Words that announce definitions only if all words are in this list: `Terms and definitions`, not
/// `Type definitions`.
const ANNOUNCING_ALONE: [&str; 8] =
    ["definitions", "terms", "key", "and", "of", "the", "our", "common"];

/// Most words of a heading that announces definitions.
const MAX_ANNOUNCING_WORDS: usize = 4;

/// Heads of the columns of a table that defines: of terms, and of what is said about the first column.
const TERMS: [&str; 6] = ["term", "word", "concept", "acronym", "abbreviation", "expression"];
const MEANINGS: [&str; 5] = ["definition", "meaning", "description", "explanation", "purpose"];

/// What separates a term from its definition in a list or a paragraph.
const SIGNS: [&str; 4] = [": ", " - ", " – ", " — "];

/// A term and what is said about it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Entry {
    pub(crate) term: Span<Norm>,
    pub(crate) meaning: Span<Norm>,
    /// Whether the title, a heading or the header of the table announces definitions.
    pub(crate) is_announced: bool,
    pub(crate) is_row: bool,
}

/// Adds the terms of a document whose definition is announced.
pub(super) fn find(doc: &Document, out: &mut Vec<Mention>) {
    let mentions = defined_terms(doc).into_iter();
    out.extend(mentions.map(|span| mention(span, span.of(&doc.text), EntityType::Concept, SCORE)));
}

/// Returns the places of the terms whose definition a document announces, in order.
pub(crate) fn defined_terms(doc: &Document) -> Vec<Span<Norm>> {
    entries(doc).into_iter().filter(|it| it.is_announced).map(|it| it.term).collect()
}

/// The rows that are a glossary together, or none of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Rows {
    List(u32),
    Table(u32),
    /// Paragraphs of a section, by its heading.
    Section(Option<u32>),
}

/// Returns the entries of a document's glossaries, in order.
pub(crate) fn entries(doc: &Document) -> Vec<Entry> {
    let is_glossary = is_glossary_heading(&doc.title);
    let mut out: Vec<(Option<Rows>, Entry)> = Vec::new();
    // For each group of rows: all of them, and those that read like a definition.
    let mut counts: FxHashMap<Rows, (usize, usize)> = FxHashMap::default();
    let mut n_labels: FxHashMap<NormKey, usize> = FxHashMap::default();
    let mut table = None;
    for (block_idx, block) in doc.blocks.iter().enumerate() {
        let is_announced = is_glossary || is_under(doc, block);
        let (rows, found) = match block.kind {
            BlockKind::TableRow { is_header: true, .. } => {
                table = columns(block.span.of(&doc.text));
                continue;
            }
            BlockKind::TableRow { table: idx, .. } => {
                let Some((column, has_terms)) = table else { continue };
                let found = row(doc, block, column);
                (Rows::Table(idx), found.map(|it| (it, is_announced || has_terms)))
            }
            BlockKind::ListItem { list, .. } => {
                (Rows::List(list), lead(doc, block).map(|it| (it, is_announced)))
            }
            BlockKind::Paragraph => {
                (Rows::Section(block.section), lead(doc, block).map(|it| (it, is_announced)))
            }
            BlockKind::Heading(level) if is_glossary && level > 1 && !is_announcing(doc, block) => {
                let below = doc.blocks.get(block_idx + 1);
                let below = below.filter(|it| it.kind == BlockKind::Paragraph);
                if let Some(below) = below.filter(|_| is_term(block.span.of(&doc.text))) {
                    let (term, meaning) = (block.span, below.span);
                    let entry = Entry { term, meaning, is_announced: true, is_row: true };
                    out.push((None, entry));
                }
                continue;
            }
            _ => continue,
        };
        let count = counts.entry(rows).or_default();
        count.0 += 1;
        let Some(((term, meaning), is_announced)) = found else { continue };
        let (label, text) = (term.of(&doc.text), meaning.of(&doc.text));
        *n_labels.entry(norm_of(label)).or_default() += 1;
        if is_term(label) && has_words(text, MIN_WORDS) {
            let reads = reads_about(text, label);
            count.1 += usize::from(reads);
            if is_announced || reads || begins_with(text, &["the"]) {
                let is_row = matches!(rows, Rows::Table(_));
                out.push((Some(rows), Entry { term, meaning, is_announced, is_row }));
            }
        }
    }
    // Filtered afterwards: only the end of a block shows what it is.
    out.retain(|(rows, entry)| {
        let (n, n_reading) = rows.and_then(|it| counts.get(&it)).copied().unwrap_or_default();
        let is_field = n_labels.get(&norm_of(entry.term.of(&doc.text))).is_some_and(|n| *n > 1);
        entry.is_announced || (n_reading >= MIN_ENTRIES && 2 * n_reading > n && !is_field)
    });
    out.into_iter().map(|it| it.1).collect()
}

/// Returns whether a text says what its label is: `a log of …`, `This is …`, `API lets …`.
pub fn reads_about(text: &str, label: &str) -> bool {
    let own = text.get(..label.len()).filter(|it| norm_of(it) == norm_of(label));
    let is_subject = own.is_some() && text.get(label.len()..).is_some_and(|it| it.starts_with(' '));
    is_subject || begins_with(text, &["a", "an", "any", "it", "it's", "it’s", "this is"])
}

fn begins_with(text: &str, words: &[&str]) -> bool {
    words.iter().any(|it| {
        let is_it = text.get(..it.len()).is_some_and(|head| head.eq_ignore_ascii_case(it));
        is_it && text.get(it.len()..).is_some_and(|rest| rest.starts_with(' '))
    })
}

fn has_words(text: &str, n: usize) -> bool {
    text.split_whitespace().filter(|it| it.contains(char::is_alphabetic)).take(n).count() == n
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

/// Returns which column of a table says what the first one names, and whether its header announces terms.
fn columns(header: &str) -> Option<(usize, bool)> {
    let cells: Vec<String> = header.split(" | ").map(|cell| cell.trim().to_lowercase()).collect();
    let column = cells.iter().position(|cell| MEANINGS.contains(&cell.as_str()))?;
    let is_announced = cells.first().is_some_and(|cell| TERMS.contains(&cell.as_str()));
    (column > 0).then_some((column, is_announced))
}

fn is_under(doc: &Document, block: &Block) -> bool {
    let heading = block.section.and_then(|idx| doc.blocks.get(idx as usize));
    heading.is_some_and(|h| is_glossary_heading(h.span.of(&doc.text)))
}

fn is_announcing(doc: &Document, block: &Block) -> bool {
    is_glossary_heading(block.span.of(&doc.text))
}

/// Returns the first cell of a row and the one in a column.
fn row(doc: &Document, block: &Block, column: usize) -> Option<(Span<Norm>, Span<Norm>)> {
    let mut start = block.span.start();
    let mut cells = block.span.of(&doc.text).split(" | ").map(|cell| {
        let span = Span::new(start, start + cell.trim_end().len());
        start += cell.len() + " | ".len();
        span
    });
    Some((cells.next()?, cells.nth(column.checked_sub(1)?)?))
}

/// Returns the text before the first `:` or dash of a block, and the text behind it.
fn lead(doc: &Document, block: &Block) -> Option<(Span<Norm>, Span<Norm>)> {
    let text = block.span.of(&doc.text);
    let head = text.get(..text.floor_char_boundary(MAX_TERM_BYTES + 4))?;
    let found = SIGNS.iter().filter_map(|sign| Some((head.find(sign)?, sign.len()))).min()?;
    let (start, end) = (block.span.start(), block.span.end());
    Some((Span::new(start, start + found.0), Span::new(start + found.0 + found.1, end)))
}

fn is_term(text: &str) -> bool {
    (2..=MAX_TERM_BYTES).contains(&text.len())
        && text.split_whitespace().count() <= MAX_TERM_WORDS
        && text.starts_with(char::is_alphanumeric)
        && !text.contains(['\n', '?', '!', '{', '[', '=', '"'])
        && !text.contains(". ")
        && !text.ends_with('.')
        && text
            .match_indices('(')
            .all(|(at, _)| text.get(..at).is_some_and(|head| head.ends_with(' ')))
        && text.contains(char::is_alphabetic)
}
