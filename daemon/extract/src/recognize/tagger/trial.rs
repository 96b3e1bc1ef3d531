//! Trial: loads and runs a model in a process with limits, before the daemon does the same.
//!
//! In: its folder. Out: nothing, or why it cannot be used.
//! Invariants: a graph that asks for all memory, endless time or an endless stack costs the trial's process, not the
//! daemon. The trial's exit status is trusted: the folder is the user's own, so a lie is no concern.
//! Not here: the sandbox of documents, which come from strangers (`formats/sandbox/`).

use std::io::Write;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use super::TaggerError;
use embed::limit::{MAX_CPU_SECONDS, MAX_MEMORY_BYTES, limit};
use onnx::Tagger;

/// The program: this one, even when its file was replaced meanwhile.
const PROGRAM: &str = "/proc/self/exe";

/// Has another process try the model of a folder. Takes as long as loading it and reading 512 tokens.
pub(super) fn hold(folder: &Path) -> Result<(), TaggerError> {
    let failed = |why: String| TaggerError::Trial { path: folder.to_path_buf(), why };
    let output = Command::new(PROGRAM)
        .arg0("kgd")
        .arg("--try-model")
        .arg(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .process_group(0)
        .output()
        .map_err(|error| failed(format!("no process could be started to try it: {error}")))?;
    match (output.status.success(), output.status.signal()) {
        (true, _) => Ok(()),
        (false, None) => {
            // After the library's panic messages, the last line but the hint is the error itself.
            let said = String::from_utf8_lossy(&output.stderr);
            let error = said.rfind("model file `").and_then(|at| said.get(at..)).unwrap_or(&said);
            Err(failed(error.trim_end().to_string()))
        }
        (false, Some(signal)) => Err(failed(format!(
            "signal {signal} ended it when it was tried: it needs more than {MAX_CPU_SECONDS} s of a processor for 512 \
             tokens, or more memory than {MAX_MEMORY_BYTES} bytes beside six times its files\nhint: use a smaller model"
        ))),
    }
}

/// Runs the trial's process: `kgd --try-model FOLDER`.
pub fn run(folder: &Path) -> ExitCode {
    let tried = limit(folder).map_err(|error| error.to_string());
    let tried = tried.and_then(|()| {
        let tagger = Tagger::load(folder).map_err(|error| error.to_string())?;
        tagger.try_out().map_err(|error| error.to_string())
    });
    match tried {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            let _ = writeln!(std::io::stderr(), "{why}");
            ExitCode::FAILURE
        }
    }
}
