//! Thin: keeps a long list of identifiers from flooding the graph.
//!
//! In: the mentions of one document. Out: the same, except that identifiers the document writes
//! only once, with no words about them, are dropped if it has many distinct ones.
//! Invariants: a document with few identifiers is left alone, and so is an identifier that a
//! sentence, item or row says something about; the result does not depend on the order of mentions.

use rustc_hash::FxHashMap;

use model::document::{Document, Mention};
use model::terms::EntityType;

/// Distinct identifiers in one document that a reader may still care about individually. A
/// service's page names a dozen, a reference of flags or metrics hundreds.
const MAX_SINGLE_IDENTIFIERS: usize = 60;

/// Words beside an identifier in its block that count as saying something about it.
const SAYING_WORDS: usize = 2;

/// Drops identifiers that occur once and alone if there are too many.
pub(super) fn identifiers(doc: &Document, mentions: &mut Vec<Mention>) {
    let is_code = |m: &Mention| matches!(m.entity_type, EntityType::Identifier | EntityType::Api);
    let mut uses: FxHashMap<&str, u32> = FxHashMap::default();
    for mention in mentions.iter().filter(|m| is_code(m)) {
        *uses.entry(mention.name.as_str()).or_default() += 1;
    }
    if uses.len() <= MAX_SINGLE_IDENTIFIERS {
        return;
    }
    let single: Vec<bool> = mentions
        .iter()
        .map(|m| is_code(m) && uses.get(m.name.as_str()) == Some(&1) && is_bare(doc, m))
        .collect();
    let mut single = single.into_iter();
    mentions.retain(|_| single.next() != Some(true));
}

/// Returns whether an identifier is all that its item or row says.
fn is_bare(doc: &Document, mention: &Mention) -> bool {
    let after = doc.blocks.partition_point(|block| block.span.start() <= mention.span.start());
    let block = after.checked_sub(1).and_then(|idx| doc.blocks.get(idx));
    block.is_none_or(|block| {
        let around = [
            doc.text.get(block.span.start()..mention.span.start()),
            doc.text.get(mention.span.end()..block.span.end()),
        ];
        let words = around.into_iter().flatten().flat_map(str::split_whitespace);
        words.filter(|word| word.contains(char::is_alphabetic)).nth(SAYING_WORDS - 1).is_none()
    })
}
