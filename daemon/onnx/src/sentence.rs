//! Sentence model: a text's vector.
//!
//! In: texts. Out: vectors of length 1, 32-bit floats.
//! Invariants: what a graph gives for a whole text is taken as it is; what it gives for each token is averaged over the
//! tokens, special ones included, as sentence-transformers does; both are scaled to length 1. A text longer than a
//! window is cut: windows are the caller's business.
//! Not here: quantization, spaces.

use std::path::{Path, PathBuf};

use crate::ModelError;
use crate::folder::Folder;
use crate::model::Model;
use crate::tokens::Tokens;

/// The files of a model that a program carries.
#[derive(Debug, Clone, Copy)]
pub struct Carried {
    /// What errors call it.
    pub name: &'static str,
    /// `model.onnx`.
    pub model: &'static [u8],
    /// `tokenizer.json`.
    pub tokenizer: &'static [u8],
    /// Tokens that it reads of a text, special ones included.
    pub max_tokens: usize,
}

/// A loaded model with its tokenizer; shared between threads.
pub struct SentenceModel {
    model: Model,
    tokens: Tokens,
    window_pieces: usize,
    n_dimensions: usize,
}

impl SentenceModel {
    /// Loads `model.onnx`, `tokenizer.json` and `config.json` of a folder and runs the model once.
    ///
    /// # Errors
    /// When a file is missing, malformed, or of a kind that is not supported.
    pub fn load(folder: &Path) -> Result<Self, ModelError> {
        let folder = Folder(folder);
        let (_, config) = folder.config()?;
        let tokens = Tokens::load(&folder)?;
        let model = Model::load(&folder.model()?)?;
        Self::tried(model, tokens, config.max_tokens())
    }

    /// Takes a model that the program carries and runs it once.
    ///
    /// # Errors
    /// When the files are malformed, or of a kind that is not supported.
    pub fn from_carried(carried: &Carried) -> Result<Self, ModelError> {
        let named = |file: &str| -> PathBuf { Path::new(carried.name).join(file) };
        let tokens = Tokens::read(named("tokenizer.json"), carried.tokenizer)?;
        let model = Model::from_bytes(&named("model.onnx"), carried.model)?;
        Self::tried(model, tokens, Some(carried.max_tokens))
    }

    fn tried(model: Model, tokens: Tokens, max_tokens: Option<usize>) -> Result<Self, ModelError> {
        let window_pieces = tokens.window_pieces(max_tokens);
        let mut loaded = SentenceModel { model, tokens, window_pieces, n_dimensions: 0 };
        loaded.n_dimensions = loaded.embed("Try it, once.")?.len();
        match loaded.n_dimensions {
            0 => Err(loaded.model.error("gives vectors without components")),
            _ => Ok(loaded),
        }
    }

    /// Components of a vector.
    pub fn n_dimensions(&self) -> usize {
        self.n_dimensions
    }

    /// The vector of a text; zeros where the model gives no finite numbers.
    ///
    /// # Errors
    /// When the model fails on it.
    pub fn embed(&self, text: &str) -> Result<Vec<f32>, ModelError> {
        let pieces = self.tokens.pieces(text)?;
        let window = pieces.get(..self.window_pieces.min(pieces.len())).unwrap_or_default();
        let (ids, _) = self.tokens.with_specials(window);
        let output = self.model.run(&ids)?;
        match output.shape[..] {
            [1, _] => Ok(unit(output.numbers)),
            [1, n_tokens, n] if n_tokens == ids.len() => Ok(unit(sum_of_rows(&output.numbers, n))),
            _ => Err(self.model.error(format!(
                "gives {:?} numbers for {} tokens",
                output.shape,
                ids.len()
            ))),
        }
    }
}

/// The sum of rows of `n` numbers, which has the direction of their mean.
fn sum_of_rows(numbers: &[f32], n: usize) -> Vec<f32> {
    let mut sum = vec![0.0; n];
    for row in numbers.chunks_exact(n.max(1)) {
        sum.iter_mut().zip(row).for_each(|(total, number)| *total += number);
    }
    sum
}

fn unit(mut numbers: Vec<f32>) -> Vec<f32> {
    let length = numbers.iter().map(|number| number * number).sum::<f32>().sqrt();
    let factor = if length.is_finite() && length > 0.0 { 1.0 / length } else { 0.0 };
    numbers
        .iter_mut()
        .for_each(|number| *number = if factor > 0.0 { *number * factor } else { 0.0 });
    numbers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_have_length_one_or_are_zeros() {
        assert_eq!(unit(vec![3.0, 4.0]), [0.6, 0.8]);
        assert_eq!(unit(vec![0.0, 0.0]), [0.0, 0.0]);
        assert_eq!(unit(vec![f32::NAN, 1.0]), [0.0, 0.0]);
        assert_eq!(unit(vec![f32::INFINITY, 1.0]), [0.0, 0.0]);
        assert_eq!(sum_of_rows(&[1.0, 2.0, 3.0, 4.0], 2), [4.0, 6.0]);
        assert_eq!(sum_of_rows(&[], 0), [0.0; 0]);
    }
}
