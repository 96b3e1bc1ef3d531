//! `kgctl restart`: stops the daemon and starts the installed one.

use super::context::Context;
use super::failure::{Exit, Failure};
use super::{start, stop};

pub(crate) async fn run(ctx: &Context) -> Result<Exit, Failure> {
    stop::stop(&ctx.target()?).await?;
    start::run(ctx).await
}
