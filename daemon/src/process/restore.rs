//! Restore: replaces the ledger with a backup, under the lock, and exits.
//!
//! In: a project that no daemon serves, and a file. Out: one line of JSON that lists the restored rows.

use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;

use serde_json::json;

use super::Prepared;
use index::store::restore;

/// Restores `from`. `prepared` holds the lock until this returns.
pub(super) fn run(prepared: &Prepared, from: &Path) -> anyhow::Result<ExitCode> {
    let done = restore(&prepared.place.state_dir, from)?;
    let line = json!({
        "restored": done.backup.path, "version": done.backup.version, "rows": done.backup.rows, "kept": done.kept,
    });
    // The ledger is restored even if nobody reads the reply.
    let _ = writeln!(std::io::stdout(), "{line}");
    Ok(ExitCode::SUCCESS)
}
