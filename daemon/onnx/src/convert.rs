//! Convert: an ONNX file from the weights of a BERT-like encoder, for runtimes that read nothing else.
//!
//! In: a folder with `config.json` and `model.safetensors`. Out: an ONNX file whose output `last_hidden_state` has a
//! vector for each token.
//! Invariants: the same weights give the same bytes; weights stay as they are (32-bit floats), unless 8-bit ones are
//! asked for: then only those of matrix products are rounded, a scale for each column.
//! Not here: pooling and what follows (`recipe.rs`), tokenizers.

mod encoder;
mod family;
mod linear;

use std::fs::File;
use std::io::BufWriter;
use std::path::Path;

use crate::ModelError;
use crate::folder::Folder;
use crate::graph::Graph;
use crate::weights::Weights;

pub use linear::Precision;

use family::Family;

/// Largest file that a protocol buffer may be, with room for what is beside the weights.
const MAX_BYTES: usize = 2_147_483_647 - 10_000_000;

const TOO_LARGE: &str =
    "export it with `optimum-cli export onnx`, which puts weights into a file of their own";

/// Writes the ONNX file of a folder's weights.
///
/// # Errors
/// When a file is missing, of a family that is not known, or cannot be written; what was written is then of no use.
pub fn convert(folder: &Path, out: &Path, precision: Precision) -> Result<(), ModelError> {
    let folder = Folder(folder);
    let config = family::read_config(&folder)?;
    let (path, bytes) = folder.weights()?;
    let family = Family::of(&config, &folder.0.join("config.json"))?;
    let mut weights = Weights::read(&path, &bytes)?;
    weights.set_prefix("embeddings.word_embeddings.weight", family.names.prefixes);
    let mut graph = Graph::default();
    let result = encoder::build(&mut graph, &weights, (&family, precision))?;
    if graph.n_bytes() > MAX_BYTES {
        return Err(ModelError::new(&path, "is too large for one ONNX file", TOO_LARGE));
    }
    let written = File::create(out).and_then(|file| {
        let mut file = BufWriter::new(file);
        graph.write(&mut file, (&result, "last_hidden_state"))?;
        file.into_inner()?.sync_all()
    });
    written.map_err(|error| {
        ModelError::new(out, format!("cannot be written: {error}"), "is there room on the disk?")
    })
}

#[cfg(test)]
mod tests;
