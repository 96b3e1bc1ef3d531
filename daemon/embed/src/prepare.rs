//! Prepare: tries a model, and converts it if necessary, in a process with limits.
//!
//! In: its folder. Out: its dimensions and longest text as a line of JSON, or why it cannot be used.
//! Invariants: a graph that takes all memory, endless time or an endless stack ends only this process, neither the
//! daemon nor `kgctl`. The exit status is trusted: the folder is the user's own, so a forged result harms nobody
//! else.

use std::io::Write;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use onnx::{PairModel, Precision, SentenceModel};
use serde::{Deserialize, Serialize};

use super::limit::{MAX_CPU_SECONDS, MAX_MEMORY_BYTES, limit};

/// The properties of a model that was tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tried {
    /// Components of its vectors.
    pub dimensions: usize,
    /// Longest text, tokens.
    pub max_tokens: usize,
}

/// Runs `kgd --prepare-model FOLDER`: replaces `model.safetensors` by `model.onnx`, if there is no ONNX file yet, and
/// tries the model. Without a precision nothing is written.
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
        Err(why) => refused(why),
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

/// Runs `kgd --try-reranking FOLDER`: loads a model that reads two texts together, and scores the longest pair.
pub fn run_pair(folder: &Path) -> ExitCode {
    run_limited(folder, || {
        let model = PairModel::load(folder)?;
        let longest = "a ".repeat(model.max_tokens());
        model.score(&longest, &longest).map(|_| ())
    })
}

/// Runs a trial within limits, in a process of its own. Writes to standard error why the model of a folder cannot be
/// used.
pub fn run_limited(
    folder: &Path,
    trial: impl FnOnce() -> Result<(), onnx::ModelError>,
) -> ExitCode {
    let limited = limit(folder).map_err(|error| error.to_string());
    let tried = limited.and_then(|()| trial().map_err(|error| error.to_string()));
    tried.map_or_else(refused, |()| ExitCode::SUCCESS)
}

fn refused(why: String) -> ExitCode {
    let _ = writeln!(std::io::stderr(), "{why}");
    ExitCode::FAILURE
}

/// Tries the model of a folder in another process, without changing it; `flag` is the option of the trial. Takes as
/// long as loading it and embedding its longest text.
///
/// # Errors
/// Why it cannot be used, with a hint.
pub fn hold(flag: &str, folder: &Path) -> Result<(), String> {
    let not_started = |error| format!("no process could be started to try it: {error}");
    // `arg0`, since `/proc/self/exe` would show as `exe`; a group of its own, so that a signal for the daemon's group
    // does not end the trial.
    let started = Command::new(sys::own_program().map_err(not_started)?)
        .arg0("kgd")
        .arg(flag)
        .arg(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .process_group(0)
        .output();
    let output = started.map_err(not_started)?;
    let output_text = String::from_utf8_lossy(&output.stderr);
    // The library may print panic messages first; the last line of this form is the error itself.
    let error = output_text
        .rfind("model file `")
        .and_then(|at| output_text.get(at..))
        .unwrap_or(&output_text)
        .trim_end();
    match (output.status.success(), output.status.signal()) {
        (true, _) => Ok(()),
        (false, None) => Err(error.to_string()),
        (false, Some(signal)) => Err(format!(
            "signal {signal} ended it when it was tried: it needs more than {MAX_CPU_SECONDS} s of a processor for its \
             longest text, or more memory than {MAX_MEMORY_BYTES} bytes beside six times its files\nhint: use a \
             smaller model"
        )),
    }
}

/// Loads a model and embeds its longest text.
fn tried(folder: &Path) -> Result<Tried, onnx::ModelError> {
    let model = SentenceModel::load(folder)?;
    model.embed(&"a ".repeat(model.max_tokens()))?;
    Ok(Tried { dimensions: model.n_dimensions(), max_tokens: model.max_tokens() })
}
