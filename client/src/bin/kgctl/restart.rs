//! `kgctl restart`: stops the daemon and starts the installed one.

use super::context::Context;
use super::failure::{Exit, Failure};
use super::{start, stop};

pub(crate) async fn run(ctx: &Context) -> Result<Exit, Failure> {
    let target = ctx.target()?;
    // Checked first: a running daemon is better than a stopped one that cannot be started again.
    target.check()?;
    // Claimed before the stop: otherwise an agent's shim might start one that ends when it is idle.
    let claim = target.claim()?;
    stop::stop(&target).await?;
    start::begin(ctx, &target, claim, "restarted").await
}
