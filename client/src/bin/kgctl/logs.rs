//! `kgctl logs`: prints or follows the end of the daemon's log.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::time::Duration;

use serde_json::json;

use super::context::Context;
use super::failure::{Exit, Failure};

/// How often a followed log is checked.
const POLL: Duration = Duration::from_millis(200);

/// Show the end of the daemon's log.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Follow the log until interrupted.
    #[arg(short, long)]
    follow: bool,
    /// Lines to show.
    #[arg(short = 'n', long, default_value_t = 50, value_name = "N")]
    lines: usize,
}

pub(crate) fn run(arguments: &Arguments, ctx: &Context) -> Result<Exit, Failure> {
    let target = ctx.target()?;
    let at = target.paths.log.metadata().map(|found| found.len()).unwrap_or(0);
    let tail = target.log_tail(arguments.lines);
    if tail.is_empty() && !arguments.follow {
        let message = format!("`{}` is empty or missing", target.paths.log.display());
        return Err(Failure::new(Exit::NothingFound, message).hint(
            "a daemon run by systemd writes to the journal: `journalctl --user -u 'kgd@*'`",
        ));
    }
    if ctx.json {
        if arguments.follow {
            let message = "a log that is followed has no end, and so is no JSON";
            return Err(
                Failure::new(Exit::Refused, message).hint("leave out `--follow` or `--json`")
            );
        }
        ctx.print_json(&json!({ "path": target.paths.log, "lines": tail }))?;
        return Ok(Exit::Done);
    }
    ctx.print(&tail.iter().map(|line| format!("{line}\n")).collect::<String>())?;
    if arguments.follow { follow(&target.paths.log, at) } else { Ok(Exit::Done) }
}

/// Prints what is appended to the log after byte `at`, until interrupted.
fn follow(log: &Path, mut at: u64) -> Result<Exit, Failure> {
    loop {
        std::thread::sleep(POLL);
        let Ok(mut log) = File::open(log) else { continue };
        let length = log.metadata()?.len();
        // A shorter file is a new one: a daemon rotates the log at its start.
        at = if length < at { 0 } else { at };
        log.seek(SeekFrom::Start(at))?;
        let mut fresh = Vec::new();
        at += log.take(length - at).read_to_end(&mut fresh)? as u64;
        let mut out = std::io::stdout().lock();
        out.write_all(&fresh)?;
        out.flush()?;
    }
}
