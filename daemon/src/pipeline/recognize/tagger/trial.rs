//! Trial: a model is loaded and run in a process that may use only so much, before the daemon does the same.
//!
//! In: its folder. Out: nothing, or why it cannot be used.
//! Invariants: what a graph asks for (all memory, endless time, a stack without end) costs the trial's process, not the
//! daemon. Nothing is taken from it but its word: the folder is the user's own, so that it lies is no concern.
//! Not here: the sandbox of documents, which come from strangers (`worker/`).

use std::io::Write;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use onnx::Tagger;
use rustix::process::{Resource, Rlimit, Signal, setrlimit};

use super::TaggerError;

/// The program: this one, even when its file was replaced meanwhile.
const PROGRAM: &str = "/proc/self/exe";

/// Longest trial, seconds of the processor. A BERT of 24 layers reads 512 tokens in 10 s on one slow core.
const MAX_CPU_SECONDS: u64 = 60;

/// Address space that a trial may take beside six times the files, bytes.
const MAX_MEMORY_BYTES: u64 = 2_000_000_000;

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
            // After what panics of the library may have written, the last line but the hint is the error itself.
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

/// The life of the trial's process: `kgd --try-model FOLDER`.
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

/// Limits this process for the model of a folder, and ends it with the one that started it.
///
/// # Errors
/// When the system refuses.
pub(crate) fn limit(folder: &Path) -> rustix::io::Result<()> {
    let at_most = |n| Rlimit { current: Some(n), maximum: Some(n) };
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let n_bytes: u64 = entries.filter_map(|entry| Some(entry.metadata().ok()?.len())).sum();
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
    setrlimit(Resource::Core, at_most(0))?;
    setrlimit(Resource::Cpu, at_most(MAX_CPU_SECONDS))?;
    setrlimit(Resource::As, at_most(MAX_MEMORY_BYTES.saturating_add(n_bytes.saturating_mul(6))))
}
