//! Folder: the files of a model, read within limits.
//!
//! In: a folder. Out: bytes of its files, and what `config.json` says.
//! Not here: what the bytes mean (`model.rs`, `tokens.rs`).

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::ModelError;

/// Largest model file, bytes; a protocol buffer holds no more. Larger models keep their weights in `*.onnx_data` files.
const MAX_MODEL_BYTES: u64 = 2_147_483_647;

/// Largest `tokenizer.json`, bytes. Vocabularies of 250,000 pieces take 17 MB.
const MAX_TOKENIZER_BYTES: u64 = 64_000_000;

/// Largest `config.json`, bytes. It has some hundred lines.
const MAX_CONFIG_BYTES: u64 = 1_000_000;

/// What an ONNX file begins with: its version is its first field. What is none at all (a page that reports an error, a
/// pointer of git-lfs) is refused by this, because `rten-onnx` 0.27 reads ten bytes of 0xff for ever.
const FIRST_BYTE: [u8; 1] = [0x08];

/// What to do when a folder lacks something.
const WANTED: &str = "the folder needs `model.onnx`, `tokenizer.json` and `config.json`, as `optimum-cli export onnx` \
     writes them";

/// A folder that holds a model.
#[derive(Debug)]
pub(crate) struct Folder<'a>(pub(crate) &'a Path);

/// What `config.json` says of a model.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct ModelConfig {
    /// Names of the labels by their number, which is written as text.
    #[serde(default)]
    pub(crate) id2label: BTreeMap<String, String>,
    /// Longest input, tokens.
    pub(crate) max_position_embeddings: Option<usize>,
    /// The family, such as `bert`.
    #[serde(default)]
    pub(crate) model_type: String,
}

impl ModelConfig {
    /// Longest input, tokens. The RoBERTa family counts positions from 2, and says so in the sum.
    pub(crate) fn max_tokens(&self) -> Option<usize> {
        let n_unused = match self.model_type.contains("roberta") || self.model_type == "camembert" {
            true => 2,
            false => 0,
        };
        self.max_position_embeddings.map(|most| most.saturating_sub(n_unused))
    }
}

impl Folder<'_> {
    /// The place of the model, if a file of a readable size is there. Its bytes are read by the library, which then
    /// finds `*.onnx_data` files beside it.
    pub(crate) fn model(&self) -> Result<PathBuf, ModelError> {
        let path = self.0.join("model.onnx");
        check_size(&path, MAX_MODEL_BYTES)?;
        let mut first = [0];
        let read = File::open(&path).and_then(|mut file| file.read(&mut first));
        let n_read = read
            .map_err(|error| ModelError::new(&path, format!("cannot be read: {error}"), WANTED))?;
        match n_read == 1 && first == FIRST_BYTE {
            true => Ok(path),
            false => Err(ModelError::new(&path, "is no ONNX file", WANTED)),
        }
    }

    /// Place and bytes of the tokenizer.
    pub(crate) fn tokenizer(&self) -> Result<(PathBuf, Vec<u8>), ModelError> {
        self.read("tokenizer.json", MAX_TOKENIZER_BYTES)
    }

    /// Place and contents of the configuration.
    pub(crate) fn config(&self) -> Result<(PathBuf, ModelConfig), ModelError> {
        let (path, bytes) = self.read("config.json", MAX_CONFIG_BYTES)?;
        let config = serde_json::from_slice(&bytes).map_err(|error| {
            ModelError::new(&path, format!("is no configuration: {error}"), WANTED)
        })?;
        Ok((path, config))
    }

    fn read(&self, name: &str, max_bytes: u64) -> Result<(PathBuf, Vec<u8>), ModelError> {
        let path = self.0.join(name);
        check_size(&path, max_bytes)?;
        let mut bytes = Vec::new();
        let read = File::open(&path).and_then(|file| file.take(max_bytes).read_to_end(&mut bytes));
        read.map_err(|error| ModelError::new(&path, format!("cannot be read: {error}"), WANTED))?;
        Ok((path, bytes))
    }
}

/// Looks at the size first, so that neither a device nor a pipe is opened.
fn check_size(path: &Path, max_bytes: u64) -> Result<(), ModelError> {
    let metadata = std::fs::metadata(path)
        .map_err(|error| ModelError::new(path, format!("cannot be read: {error}"), WANTED))?;
    if !metadata.is_file() {
        return Err(ModelError::new(path, "is not a file", WANTED));
    }
    if metadata.len() > max_bytes {
        let why = format!("has {} bytes; at most {max_bytes} are read", metadata.len());
        return Err(ModelError::new(path, why, "use a smaller or a quantized model"));
    }
    Ok(())
}
