//! Acronym: `KMS`, where the document says what it stands for, or uses it more than once.
//!
//! In: a word of two to six capitals. Out: the acronym, and its long form if the two stand together
//! as `Key Management Service (KMS)` or `KMS (Key Management Service)`.
//! Invariants: the initials of the long form are the acronym's letters, function words skipped;
//! reads a bounded number of words around it; emphasis in capitals (`DO NOT`) is not an acronym,
//! and neither is a kind of thing (`API`, `URL`).

use super::{Finds, Hit, Proof};
use crate::recognize::token::{Shape, View};
use crate::recognize::{lexicon, words};
use model::terms::EntityType;

const SCORE: f32 = 0.6;
const KNOWN_SCORE: f32 = 0.8;
const DEFINED_SCORE: f32 = 0.85;
/// Most function words in a long form that match no letter.
const MAX_SKIPPED: usize = 4;

pub(super) fn read(view: View<'_>, i: usize, finds: &mut Finds<'_>) -> Option<Hit> {
    let word = view.word(i);
    let acronym = letters_of(view, i)?;
    let lower = acronym.to_ascii_lowercase();
    if let Some((from, to)) = long_form(view, i, acronym) {
        let entity_type = lexicon::type_of(view.run(from, to));
        finds.define(acronym);
        finds.push(view, Hit::firm(from, to, entity_type, DEFINED_SCORE));
        return Some(named(i, acronym, entity_type, DEFINED_SCORE, Proof::Firm));
    }
    if words::is_ordinary(acronym) || view.is_glued(i, i) {
        return None;
    }
    if lexicon::is_technology(&lower) {
        return Some(named(i, acronym, EntityType::Technology, KNOWN_SCORE, Proof::OutsideHeading));
    }
    let is_shouted = |gap: Option<&str>, other: usize| {
        gap == Some(" ") && view.shape(other).is_caps() && view.word(other).len() > 1
    };
    let before = i.checked_sub(1).is_some_and(|b| is_shouted(view.gap(b), b));
    let alone = finds.is_heading && view.words.len() == 1;
    if alone || before || is_shouted(view.gap(i), i + 1) || word.len() > acronym.len() + 1 {
        return None;
    }
    Some(named(i, acronym, EntityType::Concept, SCORE, Proof::Twice))
}

/// Returns the letters of an acronym, without a plural `s`.
fn letters_of<'a>(view: View<'a>, i: usize) -> Option<&'a str> {
    let word = view.word(i);
    let shape = view.shape(i);
    let letters = if shape.is_caps() { word } else { word.strip_suffix('s')? };
    let is_caps =
        (2..=6).contains(&letters.len()) && letters.bytes().all(|b| b.is_ascii_uppercase());
    (is_caps && shape.has(Shape::CAPITAL)).then_some(letters)
}

fn named(i: usize, acronym: &str, entity_type: EntityType, score: f32, proof: Proof) -> Hit {
    Hit { proof, name: Some(acronym.to_string()), ..Hit::firm(i, i, entity_type, score) }
}

/// Returns the words that the acronym at `i` stands for: before it, or after it in parentheses.
fn long_form(view: View<'_>, i: usize, acronym: &str) -> Option<(usize, usize)> {
    let is_enclosed =
        i > 0 && view.gap_is(i - 1, " (") && view.after(i).starts_with([')', ',', ';']);
    if is_enclosed {
        return ending_at(view, i - 1, acronym).map(|from| (from, i - 1));
    }
    if !view.gap_is(i, " (") {
        return None;
    }
    let last = (i + 1..(i + 2 + acronym.len() + MAX_SKIPPED).min(view.words.len()))
        .find(|at| view.after(*at).starts_with(')'))?;
    (ending_at(view, last, acronym)? == i + 1).then_some((i + 1, last))
}

/// Walks back from word `last` along the acronym's letters, and returns the word of the first
/// letter.
fn ending_at(view: View<'_>, last: usize, acronym: &str) -> Option<usize> {
    let mut at = last;
    let mut n_skipped = 0;
    let mut letters = acronym.bytes().rev().peekable();
    loop {
        let letter = *letters.peek()?;
        let initial = view.word(at).bytes().next()?;
        if initial.eq_ignore_ascii_case(&letter) {
            letters.next();
            if letters.peek().is_none() {
                return (last > at).then_some(at);
            }
        } else if words::is_function_word(view.word(at)) && n_skipped < MAX_SKIPPED {
            n_skipped += 1;
        } else {
            return None;
        }
        at = at.checked_sub(1)?;
        if !matches!(view.gap(at), Some(" " | "-" | "\n")) {
            return None;
        }
    }
}
