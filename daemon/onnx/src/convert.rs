//! Convert: writes an ONNX file from the weights of a BERT-like encoder, for runtimes that read nothing else.
//!
//! In: a folder with `config.json` and `model.safetensors`. Out: an ONNX file whose output `last_hidden_state` has a
//! vector for each token.
//! Invariants: the same weights give the same bytes. Weights stay 32-bit floats unless 8 bits are requested; then only
//! weights of matrix products are rounded, with a scale for each column.

mod encoder;
mod linear;
mod shape;

use std::fs::File;
use std::io::BufWriter;
use std::path::Path;

use crate::ModelError;
use crate::folder::Folder;
use crate::graph::Graph;
use crate::weights::Weights;

pub use linear::Precision;

use shape::Shape;

/// Largest size of all weights, in bytes: a protocol buffer ends at 2 GiB, and the nodes need some room.
const MAX_BYTES: usize = 2_147_483_647 - 10_000_000;

/// Prefixes that models put before the names of all weights.
const PREFIXES: &[&str] = &["", "bert.", "roberta.", "model."];

const TOO_LARGE: &str =
    "export it with `optimum-cli export onnx`, which puts weights into a file of their own";

/// Writes the ONNX file of a folder's weights.
///
/// # Errors
/// When a file is missing, of an unknown family, or cannot be written. `out` may then hold a part of a model.
pub fn convert(folder: &Path, out: &Path, precision: Precision) -> Result<(), ModelError> {
    let folder = Folder(folder);
    let (path, bytes) = folder.weights()?;
    let shape = Shape::read(&folder)?;
    let mut weights = Weights::read(&path, &bytes)?;
    // Every encoder has this tensor, so its name shows the prefix.
    weights.set_prefix("embeddings.word_embeddings.weight", PREFIXES);
    let mut graph = Graph::default();
    let result = encoder::build(&mut graph, &weights, &shape, precision, None)?;
    if graph.n_bytes() > MAX_BYTES {
        return Err(ModelError::new(&path, "is too large for one ONNX file", TOO_LARGE));
    }
    let written = File::create(out).and_then(|file| {
        let mut file = BufWriter::new(file);
        graph.write(&mut file, &result, "last_hidden_state")?;
        file.into_inner()?.sync_all()
    });
    written.map_err(|error| {
        ModelError::new(out, format!("cannot be written: {error}"), "is there room on the disk?")
    })
}

/// Returns the ONNX file of weights that are packed in 4 bits (`packed.rs`), with everything in 8 bits. Its large
/// tensors are written to the file `beside` it, if one is named. Errors name the model `path`.
///
/// # Errors
/// When the weights are malformed, of an unknown family, or the file cannot be written.
pub(crate) fn unpack(
    path: &Path,
    weights: &[u8],
    config: &[u8],
    beside: Option<&Path>,
) -> Result<Vec<u8>, ModelError> {
    let shape = Shape::of_bytes(config, path)?;
    let weights = Weights::read(path, weights)?;
    let unwritten = |error| {
        ModelError::new(path, format!("cannot be unpacked: {error}"), "is there room on the disk?")
    };
    let mut graph = beside.map_or(Ok(Graph::default()), Graph::beside).map_err(unwritten)?;
    let result = encoder::build(&mut graph, &weights, &shape, Precision::Int8Words, None)?;
    let mut model = Vec::with_capacity(graph.n_bytes());
    graph.write(&mut model, &result, "last_hidden_state").map_err(unwritten)?;
    Ok(model)
}

#[cfg(test)]
mod tests;
