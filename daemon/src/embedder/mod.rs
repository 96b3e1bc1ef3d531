//! Embedders: text in, unit vectors out.

mod static_model;
pub mod wordpiece;

pub use static_model::{StaticModel, cosine};
pub use wordpiece::WordPiece;

use crate::pipeline::parcel::UnitVector;

/// Turns texts into vectors of one space.
pub trait Embedder: Send + Sync {
    /// Names the space: model, revision, quantization. Vectors of different spaces are never compared.
    fn space(&self) -> &str;
    /// Components of a vector.
    fn dimensions(&self) -> usize;
    /// True when it has learned no other language: texts that are surely in another get no vector.
    fn is_english_only(&self) -> bool {
        false
    }
    /// One vector for each text, in order; a text without known tokens gives a vector of zeros.
    fn embed(&self, texts: &[&str]) -> Vec<UnitVector>;
}
