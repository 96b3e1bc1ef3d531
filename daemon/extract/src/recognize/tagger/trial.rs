//! Trial: loads and runs a model in a process with limits before the daemon does.
//!
//! In: the model's folder. Out: nothing, or why it cannot be used.

use std::path::Path;
use std::process::ExitCode;

use super::TaggerError;
use embed::prepare;
use onnx::Tagger;

/// Has another process try the model in a folder.
pub(super) fn hold(folder: &Path) -> Result<(), TaggerError> {
    let failed = |why| TaggerError::Trial { path: folder.to_path_buf(), why };
    prepare::hold("--try-model", folder).map_err(failed)
}

/// Runs in the trial's process: `kgd --try-model FOLDER`.
pub fn run(folder: &Path) -> ExitCode {
    prepare::run_limited(folder, || Tagger::load(folder)?.try_out())
}
