//! Mapped: models whose weights stay in their file.
//!
//! Pages in use are shared between processes, and dropped when memory is short.

use std::path::Path;

use rten::{LoadError, Model, ModelOptions};

/// Loads an ONNX model whose large tensors are in a file beside it. Only for files of our own that are written
/// completely under another name and never changed afterwards: truncating a mapped file ends the process.
///
/// # Errors
/// When the files are missing, or are not a model.
pub fn load_mapped(options: &ModelOptions, path: &Path) -> Result<Model, LoadError> {
    // SAFETY: the files do not change while they are mapped, as the contract of this function says.
    unsafe { options.load_mmap(path) }
}
