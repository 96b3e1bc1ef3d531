//! Embed: models that turn texts into vectors, or compare two texts, and the stage that embeds a document.
//!
//! Depends on `model`, and on `onnx` and `web` to run models; `extract` counts tokens with it, `index` and `query`
//! compare vectors of one space.
//! Invariants: vectors of different spaces are never compared; a user's model is first tried in a process with
//! limits.

pub mod reranker;
pub mod servers;
mod stage;

pub use stage::{EmbedStage, better_text};
pub mod better;
mod builtin;
mod error;
mod folder;
pub mod limit;
pub mod prepare;
mod remote;
mod static_model;
mod transformer;
mod unrounded;
pub mod wordpiece;

pub use better::{better, ignored};
pub use builtin::Builtin;
pub use error::EmbedError;
pub use folder::FolderModel;
pub use remote::RemoteModel;
pub use static_model::{StaticModel, cosine};
pub use transformer::TransformerModel;
pub use unrounded::Unrounded;
pub use wordpiece::WordPiece;

use model::document::UnitVector;

/// The int8 value of a component of 1 in a [`UnitVector`], whose range then ends at ±.5. Hardly any component of a
/// text is larger, most are below .1, and twice the steps of 127 halve the number of neighbors that rounding puts in
/// the wrong order (measured in `tests/benches/vectors.rs`).
pub const UNIT: f32 = 254.0;

/// Turns texts into vectors of one space.
pub trait Embedder: Send + Sync {
    /// Returns the name of the space: model, revision, quantization. Vectors of different spaces are never compared.
    fn space(&self) -> &str;
    /// Returns whether the vectors of a space may be compared with this model's: its own, or an earlier one of the same
    /// weights.
    fn is_comparable(&self, space: &str) -> bool {
        self.space() == space
    }
    /// Returns the number of components of a vector.
    fn dimensions(&self) -> usize;
    /// Returns whether it knows no other language: texts that are certainly in another get no vector.
    fn is_english_only(&self) -> bool {
        false
    }
    /// Returns whether it embeds a text, given whether that may be English.
    fn reads(&self, may_be_english: bool) -> bool {
        may_be_english || !self.is_english_only()
    }
    /// Converts a cosine of two of its vectors to the scale that all spaces share, which is MiniLM's: the cosine at
    /// which as many of a folder's windows, and as many of those that answer a question, are nearer.
    fn nearness(&self, cosine: f32) -> f32 {
        cosine
    }
    /// Returns the number of texts that are best sent together.
    fn batch(&self) -> usize {
        1
    }
    /// Returns one vector per text, in order; a text without known tokens gets a vector of zeros. A failure on one
    /// text fails all of them.
    ///
    /// # Errors
    /// Why it failed, and whether to try again.
    fn try_embed(&self, texts: &[&str]) -> Result<Vec<UnitVector>, EmbedError> {
        Ok(self.embed(texts))
    }
    /// Returns the vector of a question, for models that embed questions differently from documents.
    ///
    /// # Errors
    /// As [`Embedder::try_embed`].
    fn try_question(&self, question: &str) -> Result<UnitVector, EmbedError> {
        let vectors = self.try_embed(&[question])?;
        let none = || EmbedError::Model { why: "it gave no vector for a question".to_string() };
        vectors.into_iter().next().ok_or_else(none)
    }
    /// Returns whether an [`EmbedError::Model`] may be repaired without a restart, so that the model is tried again
    /// on request.
    fn may_recover(&self) -> bool {
        false
    }
    /// Ends a pause after failures, on request.
    fn ask_again(&self) {}
    /// Returns whether the space stores 32-bit floats: its [`UnitVector`]s hold their bytes, little-endian.
    fn keeps_floats(&self) -> bool {
        false
    }
    /// As [`Embedder::try_embed`], scaled to length 1 and not rounded.
    ///
    /// # Errors
    /// As [`Embedder::try_embed`].
    fn try_floats(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        Ok(self.try_embed(texts)?.iter().map(as_floats).collect())
    }
    /// As [`Embedder::try_question`], scaled to length 1 and not rounded.
    ///
    /// # Errors
    /// As [`Embedder::try_embed`].
    fn try_question_floats(&self, question: &str) -> Result<Vec<f32>, EmbedError> {
        Ok(as_floats(&self.try_question(question)?))
    }
    /// As [`Embedder::try_embed`], for models that cannot fail; others return a vector of zeros for a text that they
    /// fail on.
    fn embed(&self, texts: &[&str]) -> Vec<UnitVector>;
}

/// Converts a rounded vector back.
fn as_floats(vector: &UnitVector) -> Vec<f32> {
    vector.0.iter().map(|component| f32::from(*component) / UNIT).collect()
}

/// Scales a vector of floats to length 1 and rounds it to int8; zeros if it has no length.
pub fn unit_vector(numbers: &[f32]) -> UnitVector {
    let length = numbers.iter().map(|number| number * number).sum::<f32>().sqrt();
    let factor = if length.is_finite() && length > 0.0 { UNIT / length } else { 0.0 };
    // `as` saturates: the few components beyond ±.5 are cut off.
    UnitVector(numbers.iter().map(|number| (number * factor).round() as i8).collect())
}
