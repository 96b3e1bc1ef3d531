//! Prepare: a model is tried, and converted if it must be, in a process that may use only so much.
//!
//! In: its folder. Out: its dimensions and longest text as a line of JSON, or why it cannot be used.
//! Invariants: what a graph asks for (all memory, endless time) costs this process, neither the daemon nor `kgctl`.
//! Not here: which files a model has (`config::models`), where it lies.

use std::io::Write;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use onnx::{PairModel, Precision, SentenceModel};
use serde::{Deserialize, Serialize};

use super::limit::limit;

/// The program: this one, even when its file was replaced meanwhile.
const PROGRAM: &str = "/proc/self/exe";

/// What a model says of itself when it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tried {
    /// Components of its vectors.
    pub dimensions: usize,
    /// Tokens that it reads of a text.
    pub max_tokens: usize,
}

/// The life of `kgd --prepare-model FOLDER`: writes `model.onnx` in the place of `model.safetensors`, where that is
/// what there is, and tries the model. Without a precision nothing is written.
pub fn run(folder: &Path, precision: Option<Precision>) -> ExitCode {
    let convert = || precision.map_or(Ok(()), |precision| converted(folder, precision));
    match limited(folder, convert) {
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
    limit(folder).map_err(|error| error.to_string())?;
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

/// The life of `kgd --try-reranking FOLDER`: loads a model that reads two texts together, and has it read the longest.
pub fn run_pair(folder: &Path) -> ExitCode {
    let try_it = || {
        limit(folder).map_err(|error| error.to_string())?;
        let model = PairModel::load(folder).map_err(|error| error.to_string())?;
        let longest = "a ".repeat(model.max_tokens());
        model.score(&longest, &longest).map_err(|error| error.to_string())
    };
    match try_it() {
        Ok(_) => ExitCode::SUCCESS,
        Err(why) => {
            let _ = writeln!(std::io::stderr(), "{why}");
            ExitCode::FAILURE
        }
    }
}

/// Has another process try the model of a folder, which is left as it is; `flag` says what it is tried as.
///
/// # Errors
/// Why it cannot be used, with a hint.
pub(crate) fn hold(flag: &str, folder: &Path) -> Result<(), String> {
    let started = Command::new(PROGRAM)
        .arg0("kgd")
        .arg(flag)
        .arg(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .process_group(0)
        .output();
    let output =
        started.map_err(|error| format!("no process could be started to try it: {error}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    // After what panics of the library may have written, the last such line is the error itself.
    let error =
        said.rfind("model file `").and_then(|at| said.get(at..)).unwrap_or(&said).trim_end();
    match (output.status.success(), output.status.signal()) {
        (true, _) => Ok(()),
        (false, None) => Err(error.to_string()),
        (false, Some(signal)) => Err(format!(
            "signal {signal} ended it when it was tried: it needs more time or memory than is sensible\nhint: use a \
             smaller model"
        )),
    }
}

/// Loads a model and has it read its longest text.
fn tried(folder: &Path) -> Result<Tried, onnx::ModelError> {
    let model = SentenceModel::load(folder)?;
    model.embed(&"a ".repeat(model.max_tokens()))?;
    Ok(Tried { dimensions: model.n_dimensions(), max_tokens: model.max_tokens() })
}
