//! Unrounded: an embedder whose vectors are stored as 32-bit floats, in a space of their own.
//!
//! In: any embedder. Out: the bytes of its vectors before rounding, little-endian.

use std::sync::Arc;

use super::transformer::quiet;
use super::{EmbedError, Embedder};
use model::document::UnitVector;

/// Suffix of the names of int8 spaces.
const ROUNDED: &str = "/i8x254";

/// Suffix of the names of float spaces.
const UNROUNDED: &str = "/f32";

/// The same model, unrounded.
pub struct Unrounded {
    rounded: Arc<dyn Embedder>,
    space: String,
}

impl Unrounded {
    /// Wraps a model.
    pub fn of(rounded: Arc<dyn Embedder>) -> Self {
        let space = Self::space_of(rounded.space());
        Unrounded { rounded, space }
    }

    /// Returns the name of the float space that belongs to an int8 space.
    pub fn space_of(rounded: &str) -> String {
        format!("{}{UNROUNDED}", rounded.strip_suffix(ROUNDED).unwrap_or(rounded))
    }

    /// Returns the numbers of a stored vector; `None` if the bytes are malformed.
    pub fn floats(bytes: &[u8]) -> Option<Vec<f32>> {
        let (numbers, rest) = bytes.as_chunks::<4>();
        let floats = || numbers.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
        rest.is_empty().then(floats)
    }
}

impl Embedder for Unrounded {
    fn space(&self) -> &str {
        &self.space
    }

    fn dimensions(&self) -> usize {
        self.rounded.dimensions()
    }

    fn is_english_only(&self) -> bool {
        self.rounded.is_english_only()
    }

    fn nearness(&self, cosine: f32) -> f32 {
        self.rounded.nearness(cosine)
    }

    fn batch(&self) -> usize {
        self.rounded.batch()
    }

    fn may_recover(&self) -> bool {
        self.rounded.may_recover()
    }

    fn ask_again(&self) {
        self.rounded.ask_again();
    }

    fn keeps_floats(&self) -> bool {
        true
    }

    fn try_embed(&self, texts: &[&str]) -> Result<Vec<UnitVector>, EmbedError> {
        Ok(self.rounded.try_floats(texts)?.iter().map(|vector| kept(vector)).collect())
    }

    fn try_question(&self, question: &str) -> Result<UnitVector, EmbedError> {
        Ok(kept(&self.rounded.try_question_floats(question)?))
    }

    fn embed(&self, texts: &[&str]) -> Vec<UnitVector> {
        quiet(self, texts)
    }
}

fn kept(vector: &[f32]) -> UnitVector {
    let bytes = vector.iter().flat_map(|number| number.to_le_bytes());
    UnitVector(bytes.map(u8::cast_signed).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{StaticModel, WordPiece, unit_vector};

    #[test]
    fn floats_are_kept_whole_and_round_to_what_the_model_gives() {
        let model = Arc::new(StaticModel::builtin(WordPiece::builtin()));
        let unrounded = Unrounded::of(model.clone());
        assert_eq!(unrounded.space(), "potion-base-8M@bf8b056/f32");
        let texts = ["Keys are rotated every ninety days.", ""];
        let found = unrounded.try_embed(&texts).expect("vectors");
        let rounded = model.embed(&texts);
        for (kept, rounded) in found.iter().zip(&rounded) {
            let bytes: Vec<u8> = kept.0.iter().map(|byte| byte.cast_unsigned()).collect();
            let floats = Unrounded::floats(&bytes).expect("numbers");
            assert_eq!(floats.len(), model.dimensions());
            assert_eq!(&unit_vector(&floats), rounded);
        }
        assert_eq!(Unrounded::floats(&[1, 2, 3]), None);
    }
}
