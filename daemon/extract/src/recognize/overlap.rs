//! Overlap: which mentions stay when several recognizers claim the same text.
//!
//! In: mentions in any order. Out: mentions in order of place; names do not overlap names, steps do
//! not overlap steps.
//! Invariants: the most trusted wins, then the longest, then the earliest; further ties are broken
//! by name and type, so the order of the recognizers does not matter. A step is a clause and may
//! contain names, so both stay; if a name covers the whole step, only the name stays. A name of
//! unknown type takes the type from the next most trusted recognizer that found exactly the same
//! words.

use super::words;
use config::limits::{MAX_MENTIONS, MAX_SURFACE_BYTES};
use model::document::{Mention, RecognizerKind};
use model::terms::{EntityType, Norm, Span};
use rustc_hash::FxHashMap;

/// Resolves the overlaps.
pub(super) fn resolve(text: &str, mut found: Vec<Mention>) -> Vec<Mention> {
    found.retain(|m| is_sound(m, text));
    yield_to_longer(text, &mut found);
    found.sort_unstable_by(|a, b| {
        let key =
            |m: &Mention| (is_step(m), m.recognizer, usize::MAX - m.span.len(), m.span.start());
        key(a)
            .cmp(&key(b))
            .then_with(|| a.name.cmp(&b.name))
            .then(a.entity_type.cmp(&b.entity_type))
    });
    let mut claimed = Claimed::new(text.len());
    let mut steps = Claimed::new(text.len());
    let mut kept: Vec<Mention> = Vec::with_capacity(found.len());
    // Names of unknown type, by place.
    let mut untyped: FxHashMap<Span<Norm>, usize> = FxHashMap::default();
    for mention in found {
        if kept.len() >= MAX_MENTIONS {
            break;
        }
        let claimed = match is_step(&mention) {
            true if kept.iter().any(|name| name.span == mention.span) => continue,
            true => &mut steps,
            false => &mut claimed,
        };
        if claimed.is_free(mention.span.start(), mention.span.end()) {
            claimed.claim(mention.span.start(), mention.span.end());
            if mention.entity_type == EntityType::Concept {
                untyped.insert(mention.span, kept.len());
            }
            kept.push(mention);
        } else if mention.entity_type.is_specific()
            && let Some(kept) = untyped.remove(&mention.span).and_then(|at| kept.get_mut(at))
        {
            // The trusted recognizer knows that it is a name, the other one its type.
            kept.entity_type = mention.entity_type;
            kept.place.is_type_guessed = mention.place.is_type_guessed;
        }
    }
    kept.sort_unstable_by_key(|m| m.span);
    kept
}

/// Drops parts of a longer name: `Computational Linguistics` in
/// `Association for Computational Linguistics`, `Philip K` in `Philip K. Dick`. A part yields only
/// if its type is unknown or the same, and only to a person, organization, place or event whose
/// every word is written like a name.
fn yield_to_longer(text: &str, found: &mut Vec<Mention>) {
    let mut longer: Vec<(Span<Norm>, EntityType)> = found
        .iter()
        .filter(|m| m.recognizer == RecognizerKind::Statistical && is_proper(m, text))
        .map(|m| (m.span, m.entity_type))
        .collect();
    longer.sort_unstable();
    longer.dedup_by_key(|(span, _)| *span);
    found.retain(|m| {
        let may_yield = matches!(m.recognizer, RecognizerKind::Gazetteer | RecognizerKind::Pattern);
        let before = longer.partition_point(|(span, _)| span.start() <= m.span.start());
        let around = before.checked_sub(1).and_then(|at| longer.get(at));
        !around.is_some_and(|(span, entity_type)| {
            let is_inside = m.span.end() <= span.end() && m.span != *span;
            let is_alike = !m.entity_type.is_specific() || m.entity_type == *entity_type;
            may_yield && is_inside && is_alike
        })
    });
}

/// Returns whether a name has a type that a model knows best, and only capitalized or function
/// words.
fn is_proper(mention: &Mention, text: &str) -> bool {
    let is_kind = matches!(
        mention.entity_type,
        EntityType::Person | EntityType::Organization | EntityType::Location | EntityType::Event
    );
    let is_name = |word: &str| {
        words::is_function_word(word)
            || word.chars().find(|c| c.is_alphanumeric()).is_none_or(|c| !c.is_lowercase())
    };
    is_kind && mention.span.of(text).split([' ', '-']).all(is_name)
}

fn is_step(mention: &Mention) -> bool {
    mention.entity_type == EntityType::Step
}

/// Keeps a recognizer's mistakes out of the store: the span must fit the text, nothing may be empty
/// or overlong.
fn is_sound(mention: &Mention, text: &str) -> bool {
    let surface = mention.span.of(text);
    !surface.is_empty()
        && !mention.name.is_empty()
        && surface.len() <= MAX_SURFACE_BYTES
        && mention.name.len() <= MAX_SURFACE_BYTES
}

/// The claimed bytes, one bit each.
struct Claimed {
    bits: Vec<u64>,
}

impl Claimed {
    fn new(n_bytes: usize) -> Self {
        Claimed { bits: vec![0; n_bytes / 64 + 1] }
    }

    fn is_free(&self, start: usize, end: usize) -> bool {
        words(start, end).all(|(word, mask)| self.bits.get(word).is_none_or(|b| b & mask == 0))
    }

    fn claim(&mut self, start: usize, end: usize) {
        for (word, mask) in words(start, end) {
            if let Some(bits) = self.bits.get_mut(word) {
                *bits |= mask;
            }
        }
    }
}

/// Yields the 64-bit words that contain the bits `start..end`, each with the mask of those bits.
fn words(start: usize, end: usize) -> impl Iterator<Item = (usize, u64)> {
    let last = end.saturating_sub(1).max(start);
    (start / 64..=last / 64).map(move |word| {
        let from = if word == start / 64 { start % 64 } else { 0 };
        let to = if word == last / 64 { last % 64 } else { 63 };
        (word, (u64::MAX << from) & (u64::MAX >> (63 - to)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::document::{PlaceFeatures, RecognizerKind};
    use model::terms::Confidence;
    use model::terms::Span;
    use proptest::prelude::*;

    const TEXT: &str =
        "Rotate the Signing Service keys in Porto every ninety days and then some more words here.";

    fn mention(start: usize, end: usize, recognizer: RecognizerKind, step: bool) -> Mention {
        Mention {
            span: Span::new(start, end),
            name: "name".to_string(),
            entity_type: if step { EntityType::Step } else { EntityType::Concept },
            recognizer,
            score: Confidence::STATED,
            place: PlaceFeatures::default(),
        }
    }

    #[test]
    fn trust_then_length_then_place_decides() {
        use RecognizerKind::{Gazetteer, Pattern, Stated};
        let rows = [
            (vec![(0, 6, Pattern), (0, 10, Pattern)], vec![(0, 10)]),
            (vec![(0, 10, Pattern), (4, 8, Gazetteer)], vec![(4, 8)]),
            (vec![(0, 5, Stated), (4, 20, Gazetteer), (20, 22, Pattern)], vec![(0, 5), (20, 22)]),
            (vec![(2, 6, Pattern), (0, 4, Pattern)], vec![(0, 4)]),
        ];
        for (found, kept) in rows {
            let found = found.into_iter().map(|(s, e, kind)| mention(s, e, kind, false)).collect();
            let spans: Vec<_> =
                resolve(TEXT, found).iter().map(|m| (m.span.start(), m.span.end())).collect();
            assert_eq!(spans, kept);
        }
    }

    #[test]
    fn a_step_is_whole_and_holds_its_names() {
        let found = vec![
            mention(0, 31, RecognizerKind::Pattern, true),
            mention(11, 26, RecognizerKind::Gazetteer, false),
        ];
        let surfaces: Vec<&str> = resolve(TEXT, found).iter().map(|m| m.span.of(TEXT)).collect();
        assert_eq!(surfaces, ["Rotate the Signing Service keys", "Signing Service"]);
    }

    proptest! {
        #[test]
        fn what_stays_is_sorted_and_disjoint(
            places in proptest::collection::vec((0usize..80, 1usize..12, 0usize..3, any::<bool>()), 0..40)
        ) {
            let kinds = [RecognizerKind::Stated, RecognizerKind::Gazetteer, RecognizerKind::Pattern];
            let of = |&(s, n, k, step): &(usize, usize, usize, bool)| mention(s, s + n, kinds[k], step);
            let found: Vec<Mention> = places.iter().map(of).collect();
            let kept = resolve(TEXT, found.clone());
            let mut shuffled = found;
            shuffled.reverse();
            prop_assert_eq!(&kept, &resolve(TEXT, shuffled));
            for step in [false, true] {
                let alike: Vec<&Mention> = kept.iter().filter(|m| is_step(m) == step).collect();
                for pair in alike.windows(2) {
                    prop_assert!(pair[0].span.end() <= pair[1].span.start());
                }
            }
        }
    }
}
