//! Learned: relations that a trained classifier finds between the things of a scene, within a sentence and beyond.
//!
//! In: a document whose names are known. Out: statements of the pattern [`PATTERN`]; their confidence is the share of
//! such statements that were right on documents that the classifier was not trained on.
//! Invariants: a function of the document and the committed weights; at most one statement for two things of a scene;
//! only kinds of pairs that are often related in the training sets are classified (`Gate`); linear in the text.

mod features;
mod net;
mod scene;

use model::parcel::{Evidence, LinkedDoc, Party};
use model::terms::Span;

use super::{Statement, Statements};
pub use features::{Context, Input, N_FEATURES, N_INPUTS, see, text_of};
use features::{distance, nearest};
pub use net::{Gate, Net, Projected};
pub use scene::{Scene, scenes_of};

/// The pattern of these statements.
pub const PATTERN: &str = "learned";
/// Lowest confidence that is kept.
pub const KEPT: f32 = 0.38;
/// Lowest confidence that answers show; others count only in ranking and are dumped. Of those shown, at least .85
/// were right on documents that the classifier was not trained on.
pub const SHOWN: f32 = 0.65;
/// Longest evidence that spans two places, in bytes; beyond this, the evidence is the object's sentence.
const MAX_EVIDENCE: usize = 600;

/// Returns whether answers show a statement of this pattern and confidence.
pub fn is_shown(pattern: &str, confidence: f32) -> bool {
    Evidence::pattern_of(pattern) != PATTERN || confidence >= SHOWN
}

/// Adds the classifier's statements.
pub(super) fn relate(linked: &LinkedDoc, out: &mut Statements) {
    let net = Net::shared();
    let mut features = Vec::new();
    for scene in scenes_of(linked) {
        let context = Context::of(&scene);
        let mut projected = Projected::of_scene(&scene);
        for a in 0..scene.n_things() {
            for b in a + 1..scene.n_things() {
                // Both directions are scored; only the better one is kept.
                let mut best: Option<((usize, usize), &'static str, f32)> = None;
                for pair in [(a, b), (b, a)] {
                    if !kind_of(&scene, pair).is_some_and(|kind| net.is_likely(kind)) {
                        continue;
                    }
                    let inputs = see(&scene, &context, pair, &mut features);
                    let found = net.best(&features, &inputs, &mut projected);
                    if let Some((predicate, score)) = found
                        && best.is_none_or(|(.., known)| score > known)
                    {
                        best = Some((pair, predicate, score));
                    }
                }
                let Some((pair, predicate, score)) = best else { continue };
                let confidence = net.confidence(score);
                if confidence >= KEPT {
                    state(&scene, pair, (predicate, confidence), out);
                }
            }
        }
    }
}

/// Returns the kind of a pair, as a number of the gate; `None` for types that are never related.
pub fn kind_of(scene: &Scene<'_>, pair: (usize, usize)) -> Option<usize> {
    let types = (scene.entity_type(pair.0)?, scene.entity_type(pair.1)?);
    Gate::kind(types, distance(scene, pair), pair.0 == 0 || pair.1 == 0)
}

fn state(
    scene: &Scene<'_>,
    pair: (usize, usize),
    claim: (&'static str, f32),
    out: &mut Statements,
) {
    let Some((apart, a, b)) = nearest(scene, pair) else { return };
    let (Some(subject), Some(object)) = (a.mention, b.mention) else { return };
    let sentence = |idx: usize| scene.sentences.get(idx).map(|(_, span)| *span);
    let (Some(first), Some(last)) =
        (sentence(a.sentence.min(b.sentence)), sentence(a.sentence.max(b.sentence)))
    else {
        return;
    };
    let both = Span::new(first.start(), last.end());
    let span = if both.len() <= MAX_EVIDENCE { Some(both) } else { sentence(b.sentence) };
    let (subject, object) = (Party::Mention(subject), Party::Mention(object));
    let (predicate, confidence) = claim;
    if let Some(span) = span {
        out.add(span, Statement { subject, predicate, object, pattern: PATTERN, confidence });
        // A pronoun was closer than any name, so the statement depends on what it refers to.
        out.note_referring(distance(scene, pair) < apart);
    }
}

#[cfg(test)]
mod tests;
