//! Pattern: names that their form reveals: dates, versions, identifiers, acronyms,
//! capitalized names, steps and defined terms.
//!
//! In: a document and its sentences. Out: mentions, in any order.
//! Invariants: one pass over the words, and each pattern looks a bounded way ahead, so time is
//! linear; nothing is found inside fenced code; a form that proves little (`SLO`, `Redwood`) needs
//! more proof from the same document.
//! Rejected: one regex a pattern. Fifteen automata over every text cost more than reading the words
//! and their shapes once.

mod acronym;
mod code;
mod date;
mod definition;
mod identifier;
mod name;
mod order;
mod proof;
mod reference;
mod standard;
mod step;
mod term;
mod thin;
mod version;

use super::Recognizer;
use super::token::{Shape, View, Words};
use model::document::{BlockKind, Document, Mention, RecognizerKind};
use model::terms::{EntityType, Norm, Span};
use name::Names;
use proof::{Finds, Proof};

pub use definition::reads_about;
pub(crate) use definition::{defined_terms, entries};
pub(crate) use order::ordered_lists;
pub(crate) use step::{clause_of, is_in_sequence};
pub(super) use term::{introduced, is_introduced, singular};

/// Finds names by their form.
pub struct PatternRecognizer;

impl Recognizer for PatternRecognizer {
    fn kind(&self) -> RecognizerKind {
        RecognizerKind::Pattern
    }

    fn recognize(&self, doc: &Document, sentences: &[Span<Norm>], out: &mut Vec<Mention>) {
        let words = Words::of(doc, sentences);
        let mut finds = Finds::new(&doc.text);
        let mut found = Vec::new();
        for (block_idx, block) in doc.blocks.iter().enumerate() {
            let is_heading = matches!(block.kind, BlockKind::Heading(_));
            let is_header = matches!(block.kind, BlockKind::TableRow { is_header: true, .. });
            if !is_header {
                finds.is_heading = is_heading;
                finds.capitals_name = !matches!(doc.language_at(block.span.start()), "de" | "lb");
                read_block(words.of_block(block_idx), &mut finds);
            }
        }
        finds.settle(&words, &mut found);
        code::find(doc, &mut found);
        thin::identifiers(doc, &mut found);
        step::find(doc, &mut found);
        definition::find(doc, &mut found);
        term::find(doc, &words, &mut found);
        reference::find(doc, &mut found);
        out.append(&mut found);
    }
}

/// What one pattern found at one word.
struct Hit {
    /// First word.
    from: usize,
    /// Last word.
    to: usize,
    entity_type: EntityType,
    score: f32,
    proof: Proof,
    /// The name, if it differs from the surface.
    name: Option<String>,
}

impl Hit {
    /// Makes a hit that needs no further proof and whose name is its surface.
    fn firm(from: usize, to: usize, entity_type: EntityType, score: f32) -> Self {
        Hit { from, to, entity_type, score, proof: Proof::Firm, name: None }
    }
}

fn read_block(view: View<'_>, finds: &mut Finds<'_>) {
    let mut names = Names::default();
    let mut i = 0;
    while i < view.words.len() {
        let shape = view.shape(i);
        if shape.has(Shape::CODE) || (shape.is_quiet() && view.byte_before(i) != b'@') {
            i += 1;
            continue;
        }
        let hit = by_form(view, i).or_else(|| match (finds.capitals_name, finds.is_heading) {
            (false, _) => None,
            (true, true) => name::read_heading(view, i),
            (true, false) => names.read(view, i, finds),
        });
        let hit = hit.or_else(|| acronym::read(view, i, finds));
        match hit {
            Some(hit) => {
                i = hit.to + 1;
                finds.push(view, hit);
            }
            None => i += 1,
        }
    }
}

/// Tries the patterns whose form alone is proof enough, the most specific first.
fn by_form(view: View<'_>, i: usize) -> Option<Hit> {
    let shape = view.shape(i);
    if shape.has(Shape::DIGIT) || shape.has(Shape::CAPITAL) {
        let hit = date::read(view, i).or_else(|| standard::read_id(view, i));
        if hit.is_some() {
            return hit;
        }
    }
    let version = if shape.has(Shape::DIGIT) { version::read(view, i) } else { None };
    version.or_else(|| name::read_handle(view, i)).or_else(|| identifier::read(view, i))
}

#[cfg(test)]
mod tests;
