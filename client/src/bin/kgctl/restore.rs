//! `kgctl restore`: lists or restores the versions of a note that tools replaced or removed.
//!
//! In: a note, or none; a time. Out: the kept versions, or the note as it was.
//! Invariant: the version that a restore replaces is kept, too.

use std::process::Command;

use client::launch::find_kgd;
use client::render::notes;
use serde_json::Value;

use super::context::Context;
use super::failure::{Exit, Failure};

/// Exit code of a `kgd` that has no kept versions.
const NOTHING_FOUND: i32 = 3;

/// List earlier versions of notes that tools replaced or removed in the last 30 days, or restore one. The current
/// version is kept in turn. Works with and without a daemon.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The note, by its path from the project's folder; all notes when left out.
    note: Option<String>,
    /// Restore the version of this time, as listed (a prefix is enough), or `last`.
    #[arg(long, value_name = "TIME", requires = "note")]
    at: Option<String>,
}

pub(crate) fn run(arguments: &Arguments, ctx: &Context) -> Result<Exit, Failure> {
    let note = arguments.note.as_deref();
    match (&arguments.at, note) {
        (Some(at), Some(note)) => {
            let reply = ask_kgd(ctx, &[format!("--bring-back={note}"), format!("--at={at}")])?;
            ctx.print_advice(&reply, notes::restored)?;
        }
        _ => {
            let reply = ask_kgd(ctx, &[format!("--kept={}", note.unwrap_or(""))])?;
            if reply["versions"].as_array().is_none_or(Vec::is_empty) {
                let what =
                    note.map_or("of this project".to_string(), |note| format!("of `{note}`"));
                return Err(Failure::new(
                    Exit::NothingFound,
                    format!("no versions are kept {what}"),
                ));
            }
            ctx.print_advice(&reply, |reply| notes::kept(reply, ctx.style))?;
        }
    }
    Ok(Exit::Done)
}

/// Runs `kgd` and returns its line of JSON.
fn ask_kgd(ctx: &Context, job: &[String]) -> Result<Value, Failure> {
    let target = ctx.target()?;
    target.check()?;
    let output = Command::new(find_kgd(|name| std::env::var_os(name))?)
        .arg("--project")
        .arg(&target.project.root)
        .args(["--log-level", "error"])
        .args(job)
        .env("KG_STATE_DIR", &target.places.state)
        .env("KG_RUNTIME_DIR", &target.places.runtime)
        .env("KG_CONFIG_DIR", &target.places.config)
        .output()?;
    if output.status.success() {
        return Ok(serde_json::from_slice(&output.stdout)?);
    }
    let message = String::from_utf8_lossy(&output.stderr);
    let message = message.trim().strip_prefix("kgd: ").unwrap_or(message.trim());
    let exit = match output.status.code() {
        Some(NOTHING_FOUND) => Exit::NothingFound,
        _ => Exit::Failed,
    };
    Err(Failure::new(exit, if message.is_empty() { "`kgd` failed" } else { message }))
}
