//! Identifier: `rotate_keys`, `MAX_BYTES`, `KeyRotationJob` in running text.
//!
//! In: a word. Out: an identifier or CamelCase name at that word.
//! Invariants: skips placeholders (`my_file`, `foo_bar`), pieces of paths, hosts or wildcards, and
//! CamelCase words that occur only in headings.

use super::{Hit, Proof};
use crate::recognize::lexicon;
use crate::recognize::token::{Shape, View};
use model::terms::{EntityType, tokens_of};

const SNAKE_SCORE: f32 = 0.8;
const CAMEL_SCORE: f32 = 0.75;
/// Longest identifier in bytes; longer ones are generated.
const MAX_BYTES: usize = 64;
/// Words that mark an identifier as an example.
const PLACEHOLDERS: [&str; 12] =
    ["foo", "bar", "baz", "qux", "my", "your", "some", "example", "xxx", "xyz", "abc", "here"];

pub(super) fn read(view: View<'_>, i: usize) -> Option<Hit> {
    let (word, shape) = (view.word(i), view.shape(i));
    if word.len() > MAX_BYTES || shape.has(Shape::WIDE) || view.is_glued(i, i) {
        return None;
    }
    if shape.has(Shape::UNDERSCORE) {
        return is_snake(word).then(|| Hit::firm(i, i, EntityType::Identifier, SNAKE_SCORE));
    }
    if !shape.has(Shape::HUMP) || view.after(i).starts_with('(') {
        return None;
    }
    let entity_type = camel_type(word)?;
    Some(Hit { proof: Proof::OutsideHeading, ..Hit::firm(i, i, entity_type, CAMEL_SCORE) })
}

/// Returns whether a word has two or more parts with letters, none of them a placeholder.
pub(super) fn is_snake(word: &str) -> bool {
    let core = word.trim_matches('_');
    let n_parts =
        core.split('_').filter(|part| part.bytes().any(|b| b.is_ascii_alphabetic())).count();
    n_parts >= 2 && core.len() >= 4 && !is_placeholder(core.split('_'))
}

/// Returns the type of a CamelCase word, `None` for other words and placeholders.
pub(super) fn camel_type(word: &str) -> Option<EntityType> {
    let humps = tokens_of(word);
    let is_short = word.len() < 4 || humps.len() < 2;
    if is_short || is_placeholder(humps.iter().map(String::as_str)) {
        return None;
    }
    Some(lexicon::type_of_camel(word))
}

/// Returns whether a part marks an identifier as an example.
pub(super) fn is_placeholder<'a>(mut parts: impl Iterator<Item = &'a str>) -> bool {
    parts.any(|part| PLACEHOLDERS.iter().any(|p| p.eq_ignore_ascii_case(part)))
}
