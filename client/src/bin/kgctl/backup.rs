//! `kgctl backup`: copies the ledger while the daemon keeps running, or restores a copy.
//!
//! In: a file, or none. Out: what the copy contains.
//! Invariants: a backup is checked before it replaces anything, and the replaced ledger is kept; a daemon that was
//! running is started again, whether or not the restore worked.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use ::config::command::word;
use client::launch::{Life, Target, find_kgd};
use client::render::{clean, maintain};
use proto::tool::admin::Backup;
use proto::view::View;
use serde_json::Value;

use super::context::Context;
use super::failure::{Exit, Failure};
use super::stop;

/// Exit code of a `kgd` that found the project locked by another one.
const HELD: i32 = 3;

/// Attempts to catch the project without a daemon: agents start one whenever they need it.
const ATTEMPTS: u32 = 3;

/// First bytes of every SQLite database.
const MAGIC: &[u8] = b"SQLite format 3\0";

/// Back up what your files cannot say - document ids, ingestion tags, review decisions, entry versions - or restore
/// such a backup. The index needs none: it is rebuilt from your files.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The file to write; left out, a new one in the project's `backups` folder, which keeps the last 7.
    file: Option<PathBuf>,
    /// Replace the file if it exists.
    #[arg(long, requires = "file")]
    force: bool,
    /// Restore this backup. Stops the daemon meanwhile, keeps the current ledger beside it, and rebuilds the index.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["file", "force"])]
    restore: Option<PathBuf>,
}

pub(crate) async fn run(arguments: &Arguments, ctx: &Context) -> Result<Exit, Failure> {
    if let Some(from) = &arguments.restore {
        return restore(from, ctx).await;
    }
    let path = arguments.file.as_deref().map(std::path::absolute).transpose()?;
    let session = ctx.session().await?;
    let request = Backup {
        path: path.map(|path| path.display().to_string()),
        force: arguments.force.then_some(true),
    };
    let reply = session.call(&request).await?;
    session.close().await;
    ctx.print_advice(&reply, |reply| {
        let (text, path) = (reply.text(ctx.style), clean(&reply.path));
        let path = word(&path);
        format!("{text}`kgctl backup --restore {path}` puts it back; the index needs no backup\n")
    })?;
    Ok(Exit::Done)
}

async fn restore(from: &Path, ctx: &Context) -> Result<Exit, Failure> {
    let target = ctx.target()?;
    let from = std::path::absolute(from)?;
    // A file that is not a database is no reason to stop the daemon.
    look_at(&from)?;
    target.check()?;
    let was_running = stop::stop(&target).await?;
    let done = put_back(&target, &from).await;
    let started = was_running.then(|| target.connect_or_start(Life::Stay));
    let reply: Value = serde_json::from_str(&done?)?;
    started.transpose()?;
    ctx.print_advice(&reply, |reply| maintain::restored(&target.project.name, reply, was_running))?;
    Ok(Exit::Done)
}

fn look_at(file: &Path) -> Result<(), Failure> {
    let refused = |why: &str| {
        let message = format!("`{}` is not a backup: {why}", file.display());
        Failure::new(Exit::Refused, message).hint("give a file that `kgctl backup` wrote")
    };
    let mut head = Vec::new();
    let opened =
        client::input::open(file, u64::MAX).map_err(|error| refused(&error.to_string()))?;
    let read = opened.take(MAGIC.len() as u64).read_to_end(&mut head);
    read.map_err(|error| refused(&error.to_string()))?;
    if head == MAGIC { Ok(()) } else { Err(refused("it is not an SQLite database")) }
}

/// Runs `kgd --restore` and returns its line of JSON.
async fn put_back(target: &Target, from: &Path) -> Result<String, Failure> {
    let mut output = run_kgd(target, from)?;
    for _ in 1..ATTEMPTS {
        if output.status.code() != Some(HELD) {
            break;
        }
        stop::stop(target).await?;
        output = run_kgd(target, from)?;
    }
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let message = String::from_utf8_lossy(&output.stderr);
    let message = message.trim().strip_prefix("kgd: ").unwrap_or(message.trim());
    Err(Failure::new(
        Exit::Failed,
        if message.is_empty() { "`kgd --restore` failed" } else { message },
    ))
}

fn run_kgd(target: &Target, from: &Path) -> Result<Output, Failure> {
    let kgd = find_kgd(|name| std::env::var_os(name))?;
    let output = Command::new(kgd)
        .arg("--project")
        .arg(&target.project.root)
        .arg("--restore")
        .arg(from)
        .env("KG_STATE_DIR", &target.places.state)
        .env("KG_RUNTIME_DIR", &target.places.runtime)
        .env("KG_CONFIG_DIR", &target.places.config)
        .output()?;
    Ok(output)
}
