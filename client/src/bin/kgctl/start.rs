//! `kgctl start`: starts the daemon, which then runs until it is stopped.

use std::os::unix::net::UnixStream;

use client::connect::Session;
use client::launch::{Claim, Life, Target};
use proto::tool::core::Status;

use super::context::{Context, last_words};
use super::failure::{Exit, Failure};
use super::stop;

pub(crate) async fn run(ctx: &Context) -> Result<Exit, Failure> {
    let target = ctx.target()?;
    let claim = target.claim()?;
    if let (Ok(stream), false) = (target.connect(), is_brief(&target)) {
        return report(ctx, stream, "already running").await;
    }
    // A daemon that a client started ends when it is idle, so it is replaced.
    stop::stop(&target).await?;
    begin(ctx, &target, claim, "started").await
}

/// Starts the daemon, which runs until it is stopped, and prints that it runs.
pub(super) async fn begin(
    ctx: &Context,
    target: &Target,
    claim: Claim,
    word: &str,
) -> Result<Exit, Failure> {
    let n_logged = target.paths.log.metadata().map_or(0, |log| log.len());
    match report(ctx, target.start_claimed(Life::Stay, claim)?, word).await {
        // The daemon's last log lines explain more than the closed connection.
        Err(failure) => Err(last_words(target, n_logged).await.unwrap_or(failure)),
        done => done,
    }
}

fn is_brief(target: &Target) -> bool {
    target.holder().is_some_and(|holder| holder.life == Some(Life::UntilIdle))
}

/// Prints that the daemon runs, with its process id.
async fn report(ctx: &Context, stream: UnixStream, word: &str) -> Result<Exit, Failure> {
    let session = Session::open(stream).await?;
    let reply = session.call(&Status::default()).await?;
    ctx.print_advice(&reply, |reply| {
        format!("{}: {word}, pid {}\n", reply.freshness.project, reply.pid)
    })?;
    Ok(Exit::Done)
}
