//! Turn: where the turns of a dialogue begin.
//!
//! In: a document. Out: the first byte of each turn.
//! A section is a dialogue if lines of it begin with a name and a colon (`notes::turn`), of at least two people, one of
//! whom speaks again or is a role of a chat with a language model; if three quarters of its blocks begin so, where not
//! all are roles, whose answers have many; and if they say something: `Status: done` is no turn. A heading that is a
//! role (`## Assistant, 2024-03-01 12:30`, as `kgctl import` writes it) begins a turn, too.

use std::collections::{BTreeMap, BTreeSet};

use model::parcel::{Block, BlockKind, NormalDoc};
use model::terms::{Norm, Span, line_of};
use notes::turn::{is_role, speaker_of};

/// Least turns of a dialogue, and their least average length in words.
const MIN_TURNS: usize = 4;
const MIN_WORDS: usize = 5;

/// The role without which headings are no dialogue.
const MODEL: &str = "assistant";

/// A line that may begin a turn.
struct Opening<'t> {
    start: usize,
    block: usize,
    name: &'t str,
}

/// Returns the first byte of each turn of a document.
pub(super) fn turns_of(doc: &NormalDoc) -> Vec<usize> {
    let is_heading = |block: &Block| matches!(block.kind, BlockKind::Heading(_));
    let may_be_said = |block: &Block| matches!(block.kind, BlockKind::Paragraph | BlockKind::Quote);
    // For each section, its lines with a name, and its blocks but for the heading.
    let mut sections: Vec<(Vec<Opening<'_>>, Vec<&Block>)> = vec![Default::default()];
    let (mut n_of_name, mut by_role): (BTreeMap<&str, usize>, Vec<(usize, &str)>) =
        Default::default();
    for (number, block) in doc.blocks.iter().enumerate() {
        if is_heading(block) {
            sections.push(Default::default());
            let name = block.span.of(&doc.text).trim().split(',').next();
            by_role
                .extend(name.filter(|name| is_role(name)).map(|name| (block.span.start(), name)));
            continue;
        }
        let Some((openings, texts)) = sections.last_mut() else { continue };
        texts.push(block);
        if !may_be_said(block) {
            continue;
        }
        for start in lines_of(doc, block) {
            let line: Span<Norm> = Span::new(start, block.span.end());
            if let Some(name) = speaker_of(line.of(&doc.text)) {
                *n_of_name.entry(name).or_default() += 1;
                openings.push(Opening { start, block: number, name });
            }
        }
    }
    // A manual may have a section `User` and one `System`.
    let is_chat = by_role.iter().any(|(_, name)| name.eq_ignore_ascii_case(MODEL));
    let said = by_role.into_iter().filter(|_| is_chat);
    let mut turns: Vec<usize> = said.map(|(start, _)| start).collect();
    for (openings, texts) in sections {
        let names: BTreeSet<&str> = openings.iter().map(|it| it.name).collect();
        let opened: BTreeSet<usize> = openings.iter().map(|it| it.block).collect();
        let is_most = names.iter().all(|it| is_role(it)) || opened.len() * 4 >= texts.len() * 3;
        let words = texts.iter().flat_map(|it| it.span.of(&doc.text).split_whitespace());
        let speaks_again =
            |name: &&str| is_role(name) || n_of_name.get(*name).is_some_and(|n| *n > 1);
        if openings.len() >= MIN_TURNS
            && names.len() > 1
            && names.iter().any(speaks_again)
            && is_most
            && words.count() >= MIN_WORDS * openings.len()
        {
            turns.extend(openings.iter().map(|it| it.start));
        }
    }
    turns
}

/// Returns where the lines of a block begin: those of its file, since the text of a paragraph is one line.
fn lines_of(doc: &NormalDoc, block: &Block) -> Vec<usize> {
    let text = block.span.of(&doc.text);
    let line_at = |at: usize| {
        let place: Span<Norm> = Span::new(block.span.start() + at, block.span.start() + at + 1);
        line_of(&doc.line_starts, doc.map.to_raw(place).start())
    };
    // Most paragraphs name nobody.
    let mut starts = Vec::new();
    if !text.contains(": ") {
        return starts;
    }
    let (mut line, mut before) = (None, '\n');
    for (at, sign) in text.char_indices() {
        let begins = before.is_whitespace() && !sign.is_whitespace();
        if begins && (before == '\n' || line != Some(line_at(at))) {
            line = Some(line_at(at));
            starts.push(block.span.start() + at);
        }
        before = sign;
    }
    starts
}
