//! `kgctl start`: starts the daemon, which then runs until it is stopped.

use std::os::unix::net::UnixStream;

use client::connect::Session;
use client::launch::{Life, Target};
use proto::tool::core::Status;

use super::context::Context;
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
    report(ctx, target.start_claimed(Life::Stay, claim)?, "started").await
}

fn is_brief(target: &Target) -> bool {
    target.holder().is_some_and(|holder| holder.life == Some(Life::UntilIdle))
}

/// Prints that the daemon runs, with its process id.
pub(super) async fn report(ctx: &Context, stream: UnixStream, word: &str) -> Result<Exit, Failure> {
    let session = Session::open(stream).await?;
    let reply = session.call(&Status::default()).await?;
    ctx.print_advice(&reply, |reply| {
        format!("{}: {word}, pid {}\n", reply.freshness.project, reply.pid)
    })?;
    Ok(Exit::Done)
}
