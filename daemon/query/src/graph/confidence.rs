//! Confidence: the combined confidence of several statements of one relation.
//!
//! In: statements for a relation and against it. Out: one number, independent of their order.

use super::Statement;
use super::entity::rounded;

/// Kinds of sources that corroborate each other. Wording and grammar of sentences are one kind,
/// because they mostly read the same sentence.
const KINDS: [&str; 6] = ["sentence", "section", "list", "table", "title", "link"];

/// Share of the confidence that a certain contradiction removes.
const LOSS: f32 = 0.5;

/// The best confidence of each kind of source, and of all others.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Corroboration([f32; KINDS.len() + 1]);

impl Corroboration {
    /// Adds a statement; the kind is the part of its pattern's name before `:`.
    pub(crate) fn add(&mut self, pattern: &str, confidence: f32) {
        let kind = match pattern.split(':').next().unwrap_or_default() {
            "depend" => "sentence",
            kind => kind,
        };
        let place = KINDS.iter().position(|it| *it == kind).unwrap_or(KINDS.len());
        self.0[place] = self.0[place].max(confidence);
    }

    /// Merges another corroboration into this one.
    pub(crate) fn join(&mut self, other: &Corroboration) {
        for (best, more) in self.0.iter_mut().zip(other.0) {
            *best = best.max(more);
        }
    }

    /// Returns 1 − Π (1 − best of each kind): independent sources raise confidence, repetition does not.
    fn value(&self) -> f32 {
        let doubt: f32 = self.0.iter().map(|confidence| 1.0 - confidence).product();
        rounded(1.0 - doubt)
    }

    /// Returns the confidence of a relation, given the statements for it and against it.
    pub(crate) fn weighed(&self, against: &Corroboration) -> f32 {
        rounded(self.value() * (1.0 - LOSS * against.value()))
    }
}

impl<'s> FromIterator<&'s Statement> for Corroboration {
    fn from_iter<I: IntoIterator<Item = &'s Statement>>(statements: I) -> Self {
        let mut all = Corroboration::default();
        statements.into_iter().for_each(|it| all.add(&it.pattern, it.confidence));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn independent_sources_raise_confidence_and_repetition_does_not() {
        let of = |all: &[(&str, f32)]| {
            let mut sum = Corroboration::default();
            all.iter().for_each(|(pattern, confidence)| sum.add(pattern, *confidence));
            sum
        };
        let twice = of(&[("sentence:uses", 0.6), ("depend:use", 0.6)]);
        assert_eq!(twice.value(), 0.6);
        let two_kinds = of(&[("sentence:uses", 0.6), ("section:dependencies", 0.5)]);
        assert_eq!(two_kinds.value(), 0.8);
        assert_eq!(two_kinds.weighed(&twice), 0.56);
    }
}
