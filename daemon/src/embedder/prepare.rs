//! Prepare: a model is tried, and converted if it must be, in a process that may use only so much.
//!
//! In: its folder. Out: its dimensions and longest text as a line of JSON, or why it cannot be used.
//! Invariants: what a graph asks for (all memory, endless time) costs this process, neither the daemon nor `kgctl`.
//! Not here: which files a model has (`config::models`), where it lies.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use onnx::{Precision, SentenceModel};
use serde::{Deserialize, Serialize};

use crate::pipeline::recognize::tagger::trial;

/// What a model says of itself when it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tried {
    /// Components of its vectors.
    pub dimensions: usize,
    /// Tokens that it reads of a text.
    pub max_tokens: usize,
}

/// The life of `kgd --prepare-model FOLDER`: writes `model.onnx` in the place of `model.safetensors`, where that is what
/// there is, and tries the model.
pub fn run(folder: &Path, precision: Precision) -> ExitCode {
    match limited(folder, || converted(folder, precision)) {
        Ok(tried) => {
            let text = serde_json::to_string(&tried).unwrap_or_default();
            match writeln!(std::io::stdout(), "{text}") {
                Ok(()) => ExitCode::SUCCESS,
                Err(_) => ExitCode::FAILURE,
            }
        }
        Err(why) => {
            let _ = writeln!(std::io::stderr(), "{why}");
            ExitCode::FAILURE
        }
    }
}

fn limited(folder: &Path, run: impl FnOnce() -> Result<(), String>) -> Result<Tried, String> {
    trial::limit(folder).map_err(|error| error.to_string())?;
    run()?;
    tried(folder).map_err(|error| error.to_string())
}

fn converted(folder: &Path, precision: Precision) -> Result<(), String> {
    let files = config::models::files(folder, None)
        .map_err(|why| format!("model folder `{}` {why}", folder.display()))?;
    if files.iter().any(|path| path.extension().is_some_and(|it| it == "onnx")) {
        return Ok(());
    }
    onnx::convert(folder, &folder.join("model.onnx"), precision)
        .map_err(|error| error.to_string())?;
    std::fs::remove_file(folder.join("model.safetensors")).map_err(|error| error.to_string())
}

/// Loads a model and has it read its longest text.
fn tried(folder: &Path) -> Result<Tried, onnx::ModelError> {
    let model = SentenceModel::load(folder)?;
    model.embed(&"a ".repeat(model.max_tokens()))?;
    Ok(Tried { dimensions: model.n_dimensions(), max_tokens: model.max_tokens() })
}
