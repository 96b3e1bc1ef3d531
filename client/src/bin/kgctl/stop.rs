//! `kgctl stop`: lets the daemon finish its current work and waits until it has ended.

use std::time::{Duration, Instant};

use ::config::limits::{DRAIN_SECONDS, FAREWELL_SECONDS};
use client::connect::Session;
use client::launch::{Target, is_alive};
use proto::tool::admin::Shutdown;
use proto::tool::core::Status;
use serde_json::json;

use super::context::Context;
use super::failure::{Exit, Failure};

/// Longest wait for a daemon that was asked to stop, and again after it was signaled.
const PATIENCE: Duration = Duration::from_secs(DRAIN_SECONDS + FAREWELL_SECONDS + 2);

const POLL: Duration = Duration::from_millis(20);

pub(crate) async fn run(ctx: &Context) -> Result<Exit, Failure> {
    let target = ctx.target()?;
    let was_running = stop(&target).await?;
    let reply = json!({ "project": target.project.name, "was_running": was_running });
    let word = if was_running { "stopped" } else { "not running" };
    ctx.print_reply(&reply, |_| format!("{}: {word}\n", target.project.name))?;
    Ok(Exit::Done)
}

/// Stops the daemon and waits for its end; returns false if none ran.
pub(crate) async fn stop(target: &Target) -> Result<bool, Failure> {
    let asked = ask(target).await;
    let holder = target.holder();
    let Some(pid) = asked.or(holder.as_ref().map(|holder| holder.pid)) else { return Ok(false) };
    if asked.is_some() && is_gone(pid).await {
        return Ok(true);
    }
    // It does not listen, or does not end. The process id comes from the lock file, and only a
    // process with the daemon's name is signaled.
    if let Some(holder) = holder.filter(|holder| holder.pid == pid && holder.is_daemon()) {
        holder.ask_to_end()?;
    }
    if is_gone(pid).await {
        return Ok(true);
    }
    let failure = Failure::new(Exit::TimedOut, format!("the daemon (pid {pid}) does not end"));
    Err(failure.hint(format!("`kill -9 {pid}` ends it without losing committed data")))
}

/// Asks the daemon to stop; returns its process id if it answered.
async fn ask(target: &Target) -> Option<u32> {
    let session = Session::open(target.connect().ok()?).await.ok()?;
    let pid = session.call(&Status::default()).await.ok()?.pid;
    // A broken connection counts as an answer, too.
    let _ = session.call(&Shutdown {}).await;
    session.close().await;
    Some(pid)
}

async fn is_gone(pid: u32) -> bool {
    let started = Instant::now();
    while is_alive(pid) {
        if started.elapsed() > PATIENCE {
            return false;
        }
        tokio::time::sleep(POLL).await;
    }
    true
}
