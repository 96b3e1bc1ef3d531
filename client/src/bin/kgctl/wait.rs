//! `kgctl wait`: returns when everything is settled.

use std::time::{Duration, Instant};

use client::connect::Session;
use proto::tool::admin::{Wait, WaitReply};

use super::context::Context;
use super::failure::{Exit, Failure};

/// Longest single wait: shorter than the daemon's deadline for a request.
const SLICE: Duration = Duration::from_secs(20);

/// Wait until everything is settled: read, linked and searchable by meaning.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Give up after this many seconds, with exit code 5.
    #[arg(long, default_value_t = 600, value_name = "SECONDS")]
    timeout: u64,
}

pub(crate) async fn run(arguments: &Arguments, ctx: &Context) -> Result<Exit, Failure> {
    let session = ctx.session().await?;
    let reply = settle(&session, Duration::from_secs(arguments.timeout)).await?;
    ctx.print_advice(&reply, |reply| {
        format!("{}: settled at tick {}\n", reply.freshness.project, reply.freshness.tick)
    })?;
    session.close().await;
    Ok(Exit::Done)
}

/// Waits until everything is settled, in slices that fit the daemon's deadline.
pub(crate) async fn settle(session: &Session, timeout: Duration) -> Result<WaitReply, Failure> {
    let deadline = Instant::now() + timeout;
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let slice_ms = u64::try_from(left.min(SLICE).as_millis()).unwrap_or(0);
        let reply = session.call(&Wait { tick: None, timeout_ms: Some(slice_ms.max(1)) }).await?;
        if reply.reached {
            return Ok(reply);
        }
        if left <= SLICE {
            let message = format!("not settled within {} seconds", timeout.as_secs());
            return Err(Failure::new(Exit::TimedOut, message)
                .hint("`kgctl status` shows what is being done"));
        }
    }
}
