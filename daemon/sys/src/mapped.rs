//! Mapped: a model whose weights stay in their file.
//!
//! Pages that are used are shared between processes, and given up when memory is short.

use std::path::Path;

use rten::{LoadError, Model, ModelOptions};

/// Loads an ONNX model whose large tensors lie in a file beside it. Only for files of our own that are made whole under
/// another name and never written again: whoever cuts them short under us ends the process.
///
/// # Errors
/// When the files are missing, or hold no model.
pub fn load_mapped(options: &ModelOptions, path: &Path) -> Result<Model, LoadError> {
    // SAFETY: the files do not change while they are mapped, as the contract of this function says.
    unsafe { options.load_mmap(path) }
}
