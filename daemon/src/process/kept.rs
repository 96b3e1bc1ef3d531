//! Kept: lists and restores earlier versions of notes, for `kgctl restore`, and exits.
//!
//! In: a project, running or not, and a job. Out: one line of JSON.
//! Invariants: it takes turns with a running daemon, which then sees the file like any other that was saved; a person
//! may restore in a read-only project, too.

use std::io::Write as _;
use std::process::ExitCode;

use config::command::ProjectFlags;
use serde_json::{Value, json};

use super::{KeptJob, Options};
use server::notes::{NoteError, Notes, Past, Version, Written};

/// Exit code when no version is kept; `kgctl` uses the same.
const NOTHING_FOUND: u8 = 3;

/// Does the job and returns the exit code.
pub(super) fn run(
    options: &Options,
    job: &KeptJob,
    flags: &ProjectFlags,
) -> anyhow::Result<ExitCode> {
    let notes = open(options)?;
    let names = |path: &str| notes.names_typed(path.trim_start_matches("./"));
    let reply = match job {
        KeptJob::List(Some(path)) => names(path)
            .and_then(|names| notes.history(&names, usize::MAX))
            .map(|past| compared(&past)),
        KeptJob::List(None) => notes
            .kept(None)
            .map(|all| json!({ "versions": all.iter().map(row).collect::<Vec<_>>() })),
        KeptJob::Restore { path, at } => names(path)
            .and_then(|names| notes.restore(&names, at))
            .map(|(written, _)| restored(&written)),
    };
    match reply {
        Ok(line) => {
            // The job is done even if nobody reads the reply.
            let _ = writeln!(std::io::stdout(), "{line}");
            Ok(ExitCode::SUCCESS)
        }
        Err(error) => {
            let hint = error.hint().map(|hint| format!("\nhint: {hint}")).unwrap_or_default();
            super::report(&format!("{error}{hint}"), flags);
            let is_missing = matches!(error, NoteError::NotKept(_));
            Ok(if is_missing { ExitCode::from(NOTHING_FOUND) } else { ExitCode::FAILURE })
        }
    }
}

fn open(options: &Options) -> anyhow::Result<Notes> {
    let (project, mut settings, paths) = super::opened(options)?;
    // The setting binds tools, not the person who runs this.
    settings.write = true;
    paths.create_dirs()?;
    Ok(Notes::open(&project.root, &paths.dir, &settings))
}

/// Returns the versions of one note, each compared with its successor.
fn compared(past: &[Past]) -> Value {
    let versions = past.iter().map(|it| {
        let mut row = row(&it.version);
        (row["n_added"], row["n_removed"]) = (it.n_added.into(), it.n_removed.into());
        row
    });
    json!({ "versions": versions.collect::<Vec<_>>() })
}

fn row(it: &Version) -> Value {
    json!({
        "path": it.path, "at": it.at, "why": it.why.as_str(), "by": it.by, "bytes": it.n_bytes, "hash": it.hash,
        "file": it.file,
    })
}

fn restored(written: &Written) -> Value {
    json!({
        "path": written.path.as_str(),
        "checksum": written.checksum,
        "checksum_before": written.checksum_before,
        "changed": written.is_changed(),
    })
}
