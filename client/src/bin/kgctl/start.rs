//! `kgctl start`: starts the daemon, to stay until it is stopped.

use std::os::unix::net::UnixStream;

use client::connect::Session;
use client::launch::{Life, Target};
use proto::tool::core::Status;

use super::context::Context;
use super::failure::{Exit, Failure};
use super::stop;

/// Daemons of shims that are replaced, before the last one is good enough.
const MAX_RIVALS: u32 = 5;

pub(crate) async fn run(ctx: &Context) -> Result<Exit, Failure> {
    let target = ctx.target()?;
    let runs = target.connect().is_ok();
    let word = if runs { "runs already" } else { "started" };
    report(ctx, stay(&target).await?, word).await
}

/// Connects to a daemon that stays until it is stopped. One that a client started would end when it is idle, and
/// makes room; while one is stopped, an agent's shim may be faster and start the next of that kind.
pub(super) async fn stay(target: &Target) -> Result<UnixStream, Failure> {
    let mut stream = target.connect_or_start(Life::Stay)?;
    for _ in 0..MAX_RIVALS {
        if target.holder().is_none_or(|holder| holder.life != Some(Life::UntilIdle)) {
            break;
        }
        drop(stream);
        stop::stop(target).await?;
        stream = target.connect_or_start(Life::Stay)?;
    }
    Ok(stream)
}

/// Says that the daemon runs, and under which process id.
pub(super) async fn report(ctx: &Context, stream: UnixStream, word: &str) -> Result<Exit, Failure> {
    let session = Session::open(stream).await?;
    let reply = session.call(&Status {}).await?;
    ctx.print_reply(&reply, |reply| {
        format!("{}: {word}, pid {}\n", reply.freshness.project, reply.pid)
    })?;
    Ok(Exit::Done)
}
