//! `kgctl start`: starts the daemon, to stay until it is stopped.

use std::os::unix::net::UnixStream;

use client::connect::Session;
use client::launch::Life;
use proto::tool::core::Status;

use super::context::Context;
use super::failure::{Exit, Failure};

pub(crate) async fn run(ctx: &Context) -> Result<Exit, Failure> {
    let target = ctx.target()?;
    let (stream, word) = match target.connect() {
        Ok(stream) => (stream, "runs already"),
        Err(_) => (target.connect_or_start(Life::Stay)?, "started"),
    };
    report(ctx, stream, word).await
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
