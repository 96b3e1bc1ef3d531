//! Folder: the files of a model, read within limits.
//!
//! In: a folder. Out: the path of the model, bytes of its files, and `config.json`.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::ModelError;

/// Largest model file, bytes; a protocol buffer holds no more. Larger models keep their weights in `*.onnx_data` files.
const MAX_MODEL_BYTES: u64 = 2_147_483_647;

/// Largest `tokenizer.json`, bytes. Vocabularies of 250,000 pieces take 17 MB.
const MAX_TOKENIZER_BYTES: u64 = 64_000_000;

/// Largest `config.json`, bytes. It has some hundred lines.
const MAX_CONFIG_BYTES: u64 = 1_000_000;

/// First byte of an ONNX file: the tag of its version. Any other file (an error page, a pointer of git-lfs) is refused
/// early, because `rten-onnx` 0.27 loops forever on ten bytes of 0xff.
const FIRST_BYTE: [u8; 1] = [0x08];

/// Hint for a folder that lacks something.
pub(crate) const WANTED: &str = "the folder needs `model.onnx`, `tokenizer.json` and `config.json`, as \
     `optimum-cli export onnx` writes them";

/// Hint for weights that no runtime reads.
const UNCONVERTED: &str =
    "`kgctl model add FOLDER` converts `model.safetensors` of a BERT-like model";

/// Hint for a folder with several models.
const SEVERAL: &str = "name the one that is meant: `kgctl model add FOLDER --file FILE`";

/// Where exporters put the model's file, in order: the root of a folder, or `onnx` as in the hub's repositories.
const PLACES: [&str; 2] = ["", "onnx"];

/// A folder that holds a model.
#[derive(Debug)]
pub(crate) struct Folder<'a>(pub(crate) &'a Path);

/// The used parts of `config.json`.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct ModelConfig {
    /// Names of the labels by their number, which is written as text.
    #[serde(default)]
    pub(crate) id2label: BTreeMap<String, String>,
    /// Longest input, tokens.
    pub(crate) max_position_embeddings: Option<usize>,
    /// Components of a token's vector, by the names that families give them.
    #[serde(alias = "dim", alias = "d_model", alias = "n_embd")]
    pub(crate) hidden_size: Option<usize>,
    /// The family, such as `bert`.
    #[serde(default)]
    pub(crate) model_type: String,
}

impl ModelConfig {
    /// Returns the longest input in tokens. The RoBERTa family counts positions from 2, and includes these two in the
    /// total.
    pub(crate) fn max_tokens(&self) -> Option<usize> {
        let n_unused = match self.model_type.contains("roberta") || self.model_type == "camembert" {
            true => 2,
            false => 0,
        };
        self.max_position_embeddings.map(|most| most.saturating_sub(n_unused))
    }
}

impl Folder<'_> {
    /// Returns the path of the model, if it is a file of a readable size. The library reads its bytes and finds
    /// `*.onnx_data` files beside it.
    pub(crate) fn model(&self) -> Result<PathBuf, ModelError> {
        let path = self.model_path()?;
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

    /// Returns `model.onnx`, or the only `*.onnx` file, of the folder or of `onnx` in it.
    fn model_path(&self) -> Result<PathBuf, ModelError> {
        // The usual name wins in either place, before other names in the first.
        let folders = PLACES.map(|place| self.0.join(place));
        let usual = folders.each_ref().map(|folder| folder.join("model.onnx"));
        if let Some(path) = usual.iter().find(|path| path.exists()) {
            return Ok(path.clone());
        }
        for folder in &folders {
            let found = onnx_files(folder);
            match found.as_slice() {
                [] => {}
                [path] => return Ok(path.clone()),
                [first, ..] => {
                    let why = format!("is one of {} models of the folder", found.len());
                    return Err(ModelError::new(first, why, SEVERAL));
                }
            }
        }
        let [path, _] = usual;
        match self.0.join("model.safetensors").exists() {
            true => Err(ModelError::new(&path, "is missing", UNCONVERTED)),
            false => Err(ModelError::new(&path, "is missing", WANTED)),
        }
    }

    /// Returns path and bytes of the weights of a model that is not an ONNX file.
    pub(crate) fn weights(&self) -> Result<(PathBuf, Vec<u8>), ModelError> {
        self.read("model.safetensors", MAX_MODEL_BYTES)
    }

    /// Returns path and contents of an optional JSON file.
    pub(crate) fn optional<T: DeserializeOwned>(
        &self,
        name: &str,
    ) -> Result<Option<(PathBuf, T)>, ModelError> {
        match self.0.join(name).exists() {
            true => self.json(name).map(Some),
            false => Ok(None),
        }
    }

    /// Returns path and contents of a JSON file.
    pub(crate) fn json<T: DeserializeOwned>(&self, name: &str) -> Result<(PathBuf, T), ModelError> {
        let (path, bytes) = self.read(name, MAX_CONFIG_BYTES)?;
        let value = serde_json::from_slice(&bytes).map_err(|error| {
            ModelError::new(&path, format!("is no configuration: {error}"), WANTED)
        })?;
        Ok((path, value))
    }

    /// Returns path and bytes of the tokenizer.
    pub(crate) fn tokenizer(&self) -> Result<(PathBuf, Vec<u8>), ModelError> {
        self.read("tokenizer.json", MAX_TOKENIZER_BYTES)
    }

    /// Returns path and contents of the configuration.
    pub(crate) fn config(&self) -> Result<(PathBuf, ModelConfig), ModelError> {
        self.json("config.json")
    }

    pub(crate) fn read(
        &self,
        name: &str,
        max_bytes: u64,
    ) -> Result<(PathBuf, Vec<u8>), ModelError> {
        let path = self.0.join(name);
        check_size(&path, max_bytes)?;
        let mut bytes = Vec::new();
        // Limited again: the file may have grown since its size was checked.
        let read = File::open(&path).and_then(|file| file.take(max_bytes).read_to_end(&mut bytes));
        read.map_err(|error| ModelError::new(&path, format!("cannot be read: {error}"), WANTED))?;
        Ok((path, bytes))
    }
}

/// Returns the `*.onnx` files of a folder, sorted by name.
fn onnx_files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    found.retain(|path| path.extension().is_some_and(|extension| extension == "onnx"));
    found.sort_unstable();
    found
}

/// Checks type and size first, so that neither a device nor a pipe is opened.
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
