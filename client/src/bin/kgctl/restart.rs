//! `kgctl restart`: stops the daemon and starts the installed one.

use client::launch::Life;

use super::context::Context;
use super::failure::{Exit, Failure};
use super::{start, stop};

pub(crate) async fn run(ctx: &Context) -> Result<Exit, Failure> {
    let target = ctx.target()?;
    // A daemon that runs is better than one that was stopped and cannot be started again.
    target.check()?;
    // Before it is stopped: else an agent's shim might be faster, and start one that ends when it is idle.
    let claim = target.claim()?;
    stop::stop(&target).await?;
    start::report(ctx, target.start_claimed(Life::Stay, claim)?, "restarted").await
}
