//! Tagger: a token-classification model, which finds names in a text.
//!
//! In: a text of any length. Out: names with label and probability.
//! Invariants: a word's label is that of its first token (as models are trained), with its softmax probability; names
//! are joined words (`labels.rs`), with the mean score of their words.

use std::path::Path;

use crate::ModelError;
use crate::folder::Folder;
use crate::labels::{LabeledWord, Labels, Tagged};
use crate::model::Model;
use crate::runtime::Output;
use crate::tokens::{Piece, Tokens, Window, windows};

const UNNAMED: &str =
    "kgd needs the names of the labels, such as `B-PER`, in `id2label` of `config.json`";

/// A loaded model with its tokenizer; shared between threads.
pub struct Tagger {
    model: Model,
    tokens: Tokens,
    labels: Labels,
    window_pieces: usize,
}

impl Tagger {
    /// Loads `model.onnx`, `tokenizer.json` and `config.json` of a folder and runs the model once.
    ///
    /// # Errors
    /// When a file is missing, malformed, or of a kind that is not supported.
    pub fn load(folder: &Path) -> Result<Self, ModelError> {
        let folder = Folder(folder);
        let (config_path, config) = folder.config()?;
        let labels = Labels::read(&config.id2label)
            .map_err(|why| ModelError::new(&config_path, why, UNNAMED))?;
        let tokens = Tokens::load(&folder)?;
        let model = Model::load(&folder.model()?, &["logits"], None)?;
        let window_pieces = tokens.window_pieces(config.max_tokens());
        let tagger = Tagger { model, tokens, labels, window_pieces };
        tagger.tag("Try it, once.")?;
        Ok(tagger)
    }

    /// Reads the longest text that the model takes at once, and drops the result. If this succeeds, other texts will; a
    /// malicious graph may instead use up memory or time, so run it in a process with limits.
    ///
    /// # Errors
    /// When the model fails on it.
    pub fn try_out(&self) -> Result<(), ModelError> {
        self.tag(&"a ".repeat(self.window_pieces)).map(|_| ())
    }

    /// Returns the names of the classes, without prefixes such as `B-`.
    pub fn classes(&self) -> &[String] {
        self.labels.classes()
    }

    /// Returns the names in a text, in order of place.
    ///
    /// # Errors
    /// When the model fails on it.
    pub fn tag(&self, text: &str) -> Result<Vec<Tagged>, ModelError> {
        let pieces = self.tokens.pieces(text)?;
        let mut words: Vec<LabeledWord> = Vec::new();
        for window in windows(pieces.len(), self.window_pieces) {
            self.label(&pieces, &window, &mut words)?;
        }
        Ok(self.labels.names(text, &words))
    }

    /// Labels the pieces that a window keeps: a piece that begins a word adds the word, one that continues it extends
    /// it.
    fn label(
        &self,
        pieces: &[Piece],
        window: &Window,
        words: &mut Vec<LabeledWord>,
    ) -> Result<(), ModelError> {
        let (ids, n_before) =
            self.tokens.with_specials(pieces.get(window.read.clone()).unwrap_or_default());
        let output = self.model.run(&ids)?;
        let n_labels = self.labels.len();
        if output.shape != [1, ids.len(), n_labels] {
            let why = format!(
                "gives {:?} numbers for {} tokens and {n_labels} labels",
                output.shape,
                ids.len()
            );
            return Err(self.model.error(why));
        }
        for at in window.kept.clone() {
            let Some(piece) = pieces.get(at) else { break };
            match words.last_mut().filter(|_| !piece.begins_word) {
                Some(word) => word.span.end = word.span.end.max(piece.span.end),
                None => {
                    // The row of a piece: relative to the window, after the special tokens before it.
                    let (label, probability) =
                        best(&output, at - window.read.start + n_before, n_labels);
                    words.push(LabeledWord { span: piece.span.clone(), label, probability });
                }
            }
        }
        Ok(())
    }
}

/// Returns the most probable label of one row and its softmax probability; the first one among equals. NaN and infinity
/// count as impossible, and a row without any other number as outside of every name (a label that does not exist).
fn best(output: &Output, row: usize, n_labels: usize) -> (usize, f32) {
    let logits = output.numbers.get(row * n_labels..(row + 1) * n_labels).unwrap_or_default();
    let finite = || logits.iter().enumerate().filter(|(_, logit)| logit.is_finite());
    // `max_by` returns the last of equals, so the reversed order gives the first.
    let first_best = finite().rev().max_by(|a, b| a.1.total_cmp(b.1));
    let Some((label, &largest)) = first_best else { return (usize::MAX, 0.0) };
    // Shifted by the largest, so that no exponential overflows; its own is 1.
    let sum: f32 = finite().map(|(_, logit)| (logit - largest).exp()).sum();
    (label, 1.0 / sum)
}

#[cfg(test)]
mod tests;
