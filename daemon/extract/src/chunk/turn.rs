//! Turn: where the turns of a dialogue begin.
//!
//! In: a document. Out: the first byte of each turn.
//! Labels before colons are common (`Owner:`, `Note:`, `Fixed:`), so a section is a dialogue only if it shows that
//! people talk: at least [`MIN_TURNS`] lines begin with a name and a colon (`notes::turn`), of at least two people; the
//! others have no place between them, since three quarters of the section's blocks begin so; and either each line has
//! a time of day before its name, as exports of chats have, or one turn in [`ASKS`] asks and most are by somebody who
//! speaks again. Names of one letter (`Q:`, `A:`) and in capitals (`ERROR:`) are no people. In a chat with a language
//! model roles stand for names; as headings (`## Assistant, 2024-03-01 12:30`, as `kgctl import` writes them) they
//! begin turns where user and model both have some, and no other heading is of their level.

use std::collections::{BTreeMap, BTreeSet};

use model::document::{Block, BlockKind, Document};
use model::terms::{Norm, Span, line_of};
use notes::turn::{QUESTION_MARKS, is_role, speaker_of};

/// Least turns of a dialogue.
const MIN_TURNS: usize = 4;

/// Of how many turns at least one asks.
const ASKS: usize = 6;

/// The role of the model; the others stand for people or instructions.
const MODEL: &str = "assistant";

/// A line that may begin a turn.
struct Opening<'t> {
    start: usize,
    block: usize,
    name: &'t str,
    /// Whether a time of day stands before its name.
    is_timed: bool,
}

/// Returns the first byte of each turn of a document.
pub(super) fn turns_of(doc: &Document) -> Vec<usize> {
    let mut turns = by_role(doc);
    let is_heading = |block: &Block| matches!(block.kind, BlockKind::Heading(_));
    let mut at = 0;
    for section in doc.blocks.chunk_by(|_, next| !is_heading(next)) {
        let texts = section.iter().zip(at..).filter(|(block, _)| !is_heading(block));
        at += section.len();
        let texts: Vec<(&Block, usize)> = texts.collect();
        let openings = texts.iter().flat_map(|(block, number)| openings_of(doc, block, *number));
        let mut openings: Vec<Opening<'_>> = openings.collect();
        // In the answers of a model a label is no other speaker.
        if openings.iter().any(|it| it.name.eq_ignore_ascii_case(MODEL)) {
            openings.retain(|it| is_role(it.name));
        }
        let end = texts.last().map_or(0, |(block, _)| block.span.end());
        if is_dialogue(doc, &openings, texts.len(), end) {
            turns.extend(openings.iter().map(|it| it.start));
        }
    }
    turns
}

/// Returns the headings that are roles, if they are those of a chat with a language model.
fn by_role(doc: &Document) -> Vec<usize> {
    let level_of = |block: &Block| match block.kind {
        BlockKind::Heading(level) => Some(level),
        _ => None,
    };
    let name_of = |block: &Block| {
        let name = block.span.of(&doc.text).split([',', ':']).next().unwrap_or_default().trim();
        is_role(name).then(|| name.to_lowercase())
    };
    let first = doc.blocks.iter().find(|it| level_of(it).is_some() && name_of(it).is_some());
    let level = first.and_then(level_of);
    let siblings = || doc.blocks.iter().filter(|it| level.is_some() && level_of(it) == level);
    let names: BTreeSet<Option<String>> = siblings().map(name_of).collect();
    let is_chat =
        names.contains(&Some(MODEL.to_string())) && names.len() > 1 && !names.contains(&None);
    siblings().filter(|_| is_chat).map(|it| it.span.start()).collect()
}

/// Returns the lines of a block that begin with a name.
fn openings_of<'t>(doc: &'t Document, block: &Block, number: usize) -> Vec<Opening<'t>> {
    if !matches!(block.kind, BlockKind::Paragraph | BlockKind::Quote) {
        return Vec::new();
    }
    let opening = |start: usize| {
        let line = Span::<Norm>::new(start, block.span.end()).of(&doc.text);
        let name = speaker_of(line)?;
        let is_capital = name.chars().next().is_some_and(char::is_uppercase)
            && name.chars().any(char::is_lowercase);
        let before = line.split(name).next().unwrap_or_default();
        let is_digit = |it: Option<&u8>| it.is_some_and(u8::is_ascii_digit);
        let is_time =
            |it: &[u8]| is_digit(it.first()) && it.get(1) == Some(&b':') && is_digit(it.get(2));
        let is_timed = before.as_bytes().windows(3).any(is_time);
        let is_person = is_capital && name.chars().count() > 1;
        (is_person || is_role(name)).then_some(Opening { start, block: number, name, is_timed })
    };
    lines_of(doc, block).into_iter().filter_map(opening).collect()
}

/// Returns whether people talk in a section of `n_blocks` that ends at `end`.
fn is_dialogue(doc: &Document, openings: &[Opening<'_>], n_blocks: usize, end: usize) -> bool {
    let mut n_of_name: BTreeMap<&str, usize> = BTreeMap::new();
    openings.iter().for_each(|it| *n_of_name.entry(it.name).or_default() += 1);
    if openings.len() < MIN_TURNS || n_of_name.len() < 2 {
        return false;
    }
    let opened: BTreeSet<usize> = openings.iter().map(|it| it.block).collect();
    let is_chat = n_of_name.keys().any(|it| it.eq_ignore_ascii_case(MODEL));
    // The answers of a model have many paragraphs.
    if !is_chat && opened.len() * 4 < n_blocks * 3 {
        return false;
    }
    let ends = openings.iter().skip(1).map(|it| it.start).chain([end]);
    let said = openings.iter().zip(ends).map(|(it, end)| Span::<Norm>::new(it.start, end));
    let n_asking = said.filter(|it| it.of(&doc.text).contains(QUESTION_MARKS)).count();
    let n_again: usize = n_of_name.values().filter(|n| **n > 1).sum();
    openings.iter().all(|it| it.is_timed)
        || is_chat
        || n_asking * ASKS >= openings.len() && n_again * 2 > openings.len()
}

/// Returns where the lines of a block begin: those of its text, and those of its file, of which a paragraph joins some.
fn lines_of(doc: &Document, block: &Block) -> Vec<usize> {
    let text = block.span.of(&doc.text);
    let place = |word: &str| block.span.start() + word.as_ptr() as usize - text.as_ptr() as usize;
    let line_at =
        |at: usize| line_of(&doc.line_starts, doc.map.to_raw(Span::new(at, at + 1)).start());
    let mut starts = Vec::new();
    // Most paragraphs name nobody.
    for line in text.split('\n').filter(|_| text.contains(": ")) {
        let words: Vec<usize> = line.split_whitespace().map(place).collect();
        let mut rest = words.as_slice();
        while let Some(first) = rest.first() {
            starts.push(*first);
            let line = line_at(*first);
            let n = rest.partition_point(|it| line_at(*it) <= line).max(1);
            rest = rest.get(n..).unwrap_or_default();
        }
    }
    starts
}
