//! `kgctl restart`: stops the daemon and starts the installed one.

use client::launch::Life;

use super::context::Context;
use super::failure::{Exit, Failure};
use super::{start, stop};

pub(crate) async fn run(ctx: &Context) -> Result<Exit, Failure> {
    let target = ctx.target()?;
    // A daemon that runs is better than one that was stopped and cannot be started again.
    target.check()?;
    stop::stop(&target).await?;
    // An agent's shim may have been faster; then that daemon is the installed one, too.
    start::report(ctx, target.connect_or_start(Life::Stay)?, "restarted").await
}
