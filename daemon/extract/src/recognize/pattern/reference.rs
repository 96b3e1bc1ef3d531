//! Reference: pages of other sites that authors link to, named by the words of the link:
//! `[PromLens](https://…)`, `[rc-zip](https://…)`, `[Monitoring Python Batch Jobs](https://…)`.
//!
//! In: the links of a document to other sites. Out: one mention for each link whose words are
//! written like a name.
//! Invariants: a name begins with a capital, or its first word has a hyphen or an inner capital, or
//! is the handle to which the link leads;
//! text with function words at its ends, single ordinary words, addresses and whole sentences are
//! not names. Linear.
//! Measured on `corpus/real` (tuning half): readers take five of six such links for names.

use super::proof::mention;
use crate::recognize::{lexicon, people, words};
use model::document::{BlockKind, Document, InlineKind, LinkKind, Mention};
use model::terms::{EntityType, Norm, Span};

const SCORE: f32 = 0.6;
/// Longest name, in words and in bytes.
const MAX_WORDS: usize = 6;
const MAX_BYTES: usize = 60;

/// Adds the names that links to other sites have.
pub(super) fn find(doc: &Document, out: &mut Vec<Mention>) {
    for link in doc.links.iter().filter(|link| link.kind == LinkKind::Url) {
        let text = link.span.of(&doc.text);
        let from = doc.inlines.partition_point(|it| it.span.start() < link.span.start());
        let mut within = doc.inlines.iter().skip(from);
        let has_code = within
            .next()
            .is_some_and(|it| it.kind == InlineKind::Code && it.span.start() < link.span.end());
        // Numbered links are a table of contents: there, ordinary words are titles of pages.
        let is_page = words::all_ordinary(text) && is_numbered(doc, link.span);
        let is_handle = people::profile(link).is_some_and(|it| it.eq_ignore_ascii_case(text));
        if has_code
            || !(is_handle || is_written_so(text))
            || (words::all_ordinary(text) && !is_page)
        {
            continue;
        }
        let span: Span<Norm> = link.span;
        let entity_type = if is_page { EntityType::Document } else { type_of(text) };
        let mut found = mention(span, text, entity_type, SCORE);
        found.place.is_type_guessed = found.entity_type.is_specific();
        out.push(found);
    }
}

/// Returns whether a link begins an item of a numbered list.
fn is_numbered(doc: &Document, link: Span<Norm>) -> bool {
    let at = doc.blocks.partition_point(|b| b.span.end() <= link.start());
    let block = doc.blocks.get(at).filter(|b| b.span.start() == link.start());
    block.is_some_and(|b| matches!(b.kind, BlockKind::ListItem { ordinal: Some(_), .. }))
}

fn is_written_so(text: &str) -> bool {
    let all: Vec<&str> = text.split(' ').collect();
    let is_plain = |c: char| {
        c.is_alphanumeric() || matches!(c, ' ' | '-' | '_' | '\'' | '’' | '+' | '#' | '&')
    };
    let first = all.first().copied().unwrap_or("");
    let is_written = first.starts_with(char::is_uppercase)
        || first.chars().skip(1).any(|c| c.is_uppercase() || c == '-');
    let is_bound = [all.first(), all.last()]
        .into_iter()
        .flatten()
        .any(|word| words::is_function_word(word) || word.ends_with("-based"));
    (2..=MAX_BYTES).contains(&text.len())
        && all.len() <= MAX_WORDS
        && text.chars().all(is_plain)
        && text.contains(char::is_alphabetic)
        && is_written
        && !is_bound
}

/// Returns the type of a name: a single word is most often a program, words in lowercase mean a
/// title.
fn type_of(text: &str) -> EntityType {
    let small = |word: &str| word.starts_with(char::is_lowercase);
    match lexicon::type_of(text) {
        EntityType::Concept if !text.contains(' ') => EntityType::Product,
        EntityType::Concept if text.split(' ').any(small) => EntityType::Document,
        found => found,
    }
}
