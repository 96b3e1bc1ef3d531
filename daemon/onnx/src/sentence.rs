//! Sentence model: the vector of a text.
//!
//! In: texts. Out: vectors of length 1, 32-bit floats.
//! Invariants: a vector that the graph gives for a whole text is used as it is; vectors of tokens are pooled as the
//! folder states (`recipe.rs`), by default averaged over the tokens, special ones included, as sentence-transformers
//! does; both are scaled to length 1, and again if only the first components are kept. A text longer than a window is
//! cut: splitting it into windows is up to the caller.

use std::path::{Path, PathBuf};

use crate::ModelError;
use crate::folder::Folder;
use crate::model::Model;
use crate::recipe::{Prompts, Recipe};
use crate::runtime::Runtime;
use crate::tokens::{MAX_WINDOW_TOKENS, Tokens};
use crate::unigram::Unigram;
use crate::unpacked;

/// The outputs that are vectors, by their usual names: of the whole text, else of each token.
const OUTPUTS: [&str; 3] = ["sentence_embedding", "last_hidden_state", "token_embeddings"];

const FEWER: &str = "leave `embed.dimensions` out, or set it to at most that; only models that were trained for it \
     (Matryoshka) are good with fewer";

/// Options that override the folder.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Number of components to keep.
    pub dimensions: Option<usize>,
    /// Prompts that replace the folder's own; an empty one replaces nothing.
    pub prompts: Prompts,
    /// The library that computes; by default ONNX Runtime if it is available.
    pub runtime: Option<Runtime>,
}

/// The files of a model that is built into the program.
#[derive(Debug, Clone, Copy)]
pub struct Carried {
    /// Its name in errors.
    pub name: &'static str,
    /// Its weights.
    pub weights: CarriedWeights,
    /// `tokenizer.json`.
    pub tokenizer: CarriedTokens,
    /// Longest text in tokens, special ones included.
    pub max_tokens: usize,
    /// Prompt for questions.
    pub query_prompt: &'static str,
    /// Prompt for documents.
    pub document_prompt: &'static str,
}

/// The tokenizer of a built-in model.
#[derive(Debug, Clone, Copy)]
pub enum CarriedTokens {
    /// Of any kind, read by a library.
    Any(&'static [u8]),
    /// Of a unigram model, read into a fraction of the memory.
    Unigram(&'static [u8]),
}

/// The weights of a built-in model.
#[derive(Debug, Clone, Copy)]
pub enum CarriedWeights {
    /// `model.onnx`, used as it is.
    Graph(&'static [u8]),
    /// 4-bit weights, unpacked once to 8 bits into files that are mapped (`unpacked.rs`).
    Packed {
        /// `model_q4.safetensors`.
        weights: &'static [u8],
        /// `config.json`.
        config: &'static [u8],
        /// Name and revision of the unpacked files; it must change with the weights.
        revision: &'static str,
    },
}

/// A loaded model with its tokenizer; shared between threads.
pub struct SentenceModel {
    model: Model,
    tokens: Splitter,
    recipe: Recipe,
    /// Longest text in tokens, special ones included.
    max_tokens: usize,
    n_dimensions: usize,
}

/// Splits a text into tokens.
enum Splitter {
    Any(Box<Tokens>),
    Unigram(Box<Unigram>),
}

impl Splitter {
    /// Returns the ids of a text, special ones included, at most `most` of them.
    fn ids(&self, text: &str, most: usize) -> Result<Vec<u32>, ModelError> {
        match self {
            Splitter::Unigram(unigram) => unigram.ids(text, most),
            Splitter::Any(tokens) => {
                let pieces = tokens.pieces(text)?;
                let n_pieces = most.saturating_sub(tokens.n_special()).min(pieces.len());
                Ok(tokens.with_specials(pieces.get(..n_pieces).unwrap_or_default()).0)
            }
        }
    }
}

impl SentenceModel {
    /// Loads a folder with an ONNX file, `tokenizer.json`, `config.json` and, if there are some, the files of
    /// sentence-transformers, and runs the model once.
    ///
    /// # Errors
    /// When a file is missing, malformed, or of a kind that is not supported.
    pub fn load(folder: &Path) -> Result<Self, ModelError> {
        Self::load_as(folder, Wanted::default())
    }

    /// Loads a folder as [`SentenceModel::load`] does, with options.
    ///
    /// # Errors
    /// As [`SentenceModel::load`], and when more components are requested than there are.
    pub fn load_as(folder: &Path, wanted: Wanted) -> Result<Self, ModelError> {
        let folder = Folder(folder);
        let (_, config) = folder.config()?;
        let mut recipe = Recipe::read(&folder)?;
        // The stricter of both limits: one is about training, the other about the position table.
        recipe.max_tokens = recipe.max_tokens.into_iter().chain(config.max_tokens()).min();
        let Prompts { query, document } = wanted.prompts;
        recipe.prompts.query =
            Some(query).filter(|it| !it.is_empty()).unwrap_or(recipe.prompts.query);
        recipe.prompts.document =
            Some(document).filter(|it| !it.is_empty()).unwrap_or(recipe.prompts.document);
        let tokens = Tokens::load(&folder)?;
        let model = Model::load(&folder.model()?, &OUTPUTS, wanted.runtime)?;
        Self::tried(model, Splitter::Any(Box::new(tokens)), recipe)?.cut_to(wanted.dimensions)
    }

    /// Loads a built-in model and runs it once. The folder `unpacked` holds the files of packed weights; without one
    /// they are unpacked in memory.
    ///
    /// # Errors
    /// When the files are malformed, or of a kind that is not supported.
    pub fn from_carried(carried: &Carried, unpacked: Option<&Path>) -> Result<Self, ModelError> {
        let named = |file: &str| -> PathBuf { Path::new(carried.name).join(file) };
        let tokenizer = named("tokenizer.json");
        let tokens = match carried.tokenizer {
            CarriedTokens::Any(bytes) => Splitter::Any(Box::new(Tokens::read(tokenizer, bytes)?)),
            CarriedTokens::Unigram(bytes) => {
                Splitter::Unigram(Box::new(Unigram::read(&tokenizer, bytes)?))
            }
        };
        let model = match carried.weights {
            CarriedWeights::Graph(model) => {
                Model::from_bytes(&named("model.onnx"), &OUTPUTS, model)
            }
            CarriedWeights::Packed { weights, config, revision } => {
                let packed =
                    unpacked::Packed { path: &named("model_q4.safetensors"), weights, config };
                packed.load(&OUTPUTS, unpacked.map(|folder| folder.join(revision)).as_deref())
            }
        }?;
        let prompts = Prompts {
            query: carried.query_prompt.to_string(),
            document: carried.document_prompt.to_string(),
        };
        let recipe = Recipe { max_tokens: Some(carried.max_tokens), prompts, ..Recipe::default() };
        Self::tried(model, tokens, recipe)
    }

    fn tried(model: Model, tokens: Splitter, recipe: Recipe) -> Result<Self, ModelError> {
        let max_tokens = match &tokens {
            Splitter::Any(tokens) => tokens.window_pieces(recipe.max_tokens) + tokens.n_special(),
            Splitter::Unigram(_) => recipe.max_tokens.unwrap_or(MAX_WINDOW_TOKENS),
        };
        // No limit yet: the first vector shows how many components there are.
        let mut loaded =
            SentenceModel { model, tokens, recipe, max_tokens, n_dimensions: usize::MAX };
        loaded.n_dimensions = loaded.embed("Try it, once.")?.len();
        match loaded.n_dimensions {
            0 => Err(loaded.model.error("gives vectors without components")),
            _ => Ok(loaded),
        }
    }

    fn cut_to(mut self, dimensions: Option<usize>) -> Result<Self, ModelError> {
        match dimensions {
            Some(n) if n > self.n_dimensions => {
                let why = format!("gives {} dimensions, fewer than {n}", self.n_dimensions);
                return Err(ModelError::new(self.model.path(), why, FEWER));
            }
            Some(n) => self.n_dimensions = n,
            None => {}
        }
        Ok(self)
    }

    /// Returns the number of components that the files of a folder state, without loading the model; `None` where they
    /// do not.
    ///
    /// # Errors
    /// When a file is malformed.
    pub fn declared_dimensions(folder: &Path) -> Result<Option<usize>, ModelError> {
        let folder = Folder(folder);
        let recipe = Recipe::read(&folder)?;
        let (_, config) = folder.config()?;
        Ok(recipe.dense.last().map(|layer| layer.n_out()).or(config.hidden_size))
    }

    /// Returns the number of components of a vector.
    pub fn n_dimensions(&self) -> usize {
        self.n_dimensions
    }

    /// Returns the longest text in tokens, special ones included.
    pub fn max_tokens(&self) -> usize {
        self.max_tokens
    }

    /// Returns the texts put before questions and documents.
    pub fn prompts(&self) -> &Prompts {
        &self.recipe.prompts
    }

    /// Returns the vector of a question, with the model's prompt for questions.
    ///
    /// # Errors
    /// When the model fails on it.
    pub fn embed_query(&self, question: &str) -> Result<Vec<f32>, ModelError> {
        self.embed(&format!("{}{question}", self.recipe.prompts.query))
    }

    /// Returns the vector of a document, with the model's prompt for documents.
    ///
    /// # Errors
    /// When the model fails on it.
    pub fn embed_document(&self, text: &str) -> Result<Vec<f32>, ModelError> {
        self.embed(&format!("{}{text}", self.recipe.prompts.document))
    }

    /// Returns the vector of a text without a prompt; zeros if the model gives no finite numbers.
    ///
    /// # Errors
    /// When the model fails on it.
    pub fn embed(&self, text: &str) -> Result<Vec<f32>, ModelError> {
        let ids = self.tokens.ids(text, self.max_tokens)?;
        let output = self.model.run(&ids)?;
        match output.shape[..] {
            // Two sizes: a vector of the whole text. Three: one for each token.
            [1, _] => Ok(self.finished(output.numbers)),
            [1, n_tokens, n] if n_tokens == ids.len() => {
                let mut vector = self.recipe.pooling.pool(&output.numbers, n);
                for layer in &self.recipe.dense {
                    vector = layer.apply(&vector, self.model.path())?;
                }
                Ok(self.finished(vector))
            }
            _ => Err(self.model.error(format!(
                "gives {:?} numbers for {} tokens",
                output.shape,
                ids.len()
            ))),
        }
    }

    /// Scales to length 1, keeps the requested components, and scales again.
    fn finished(&self, numbers: Vec<f32>) -> Vec<f32> {
        // Truncated vectors are shorter than 1, hence the second scaling (Matryoshka).
        let mut vector = unit(numbers);
        if vector.len() > self.n_dimensions {
            vector.truncate(self.n_dimensions);
            vector = unit(vector);
        }
        vector
    }
}

fn unit(mut numbers: Vec<f32>) -> Vec<f32> {
    let length = numbers.iter().map(|number| number * number).sum::<f32>().sqrt();
    // A NaN or infinite number makes the length non-finite, and the whole vector 0.
    let factor = if length.is_finite() && length > 0.0 { 1.0 / length } else { 0.0 };
    numbers
        .iter_mut()
        .for_each(|number| *number = if factor > 0.0 { *number * factor } else { 0.0 });
    numbers
}

#[cfg(test)]
mod tests;
