//! `kgctl reload`: has the daemon read its settings again.

use proto::tool::admin::Reload;

use super::context::Context;
use super::failure::{Exit, Failure};

pub(crate) async fn run(ctx: &Context) -> Result<Exit, Failure> {
    // A daemon started for this would already have read them.
    let target = ctx.target()?;
    if target.connect().is_err() {
        return Err(Failure::new(
            Exit::NoDaemon,
            "no daemon runs: the next one reads the settings at its start",
        ));
    }
    let reply = ctx.call(&Reload {}).await?;
    ctx.show_advice(&reply)?;
    Ok(Exit::Done)
}
