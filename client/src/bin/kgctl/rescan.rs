//! `kgctl rescan`: compares every file with the index.

use proto::tool::admin::Rescan;

use super::context::Context;
use super::failure::{Exit, Failure};
use super::progress;

/// Compare every file with the index now, index what differs, and wait. The daemon also does this by itself: at its
/// start, after lost events, and periodically.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Read every file and compare its content; otherwise its size and time decide.
    #[arg(long)]
    full: bool,
}

pub(crate) async fn run(arguments: &Arguments, ctx: &Context) -> Result<Exit, Failure> {
    let session = ctx.session().await?;
    let reply = progress::call(session, &Rescan { full: arguments.full.then_some(true) }).await?;
    ctx.show_advice(&reply)?;
    Ok(Exit::Done)
}
