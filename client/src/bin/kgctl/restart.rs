//! `kgctl restart`: stops the daemon and starts the installed one.

use super::context::Context;
use super::failure::{Exit, Failure};
use super::{start, stop};

pub(crate) async fn run(ctx: &Context) -> Result<Exit, Failure> {
    let target = ctx.target()?;
    // A daemon that runs is better than one that was stopped and cannot be started again.
    target.check()?;
    stop::stop(&target).await?;
    start::report(ctx, start::stay(&target).await?, "restarted").await
}
