//! `kgctl verify`: compares the index with the files.

use proto::tool::admin::Verify;

use super::context::Context;
use super::failure::{Exit, Failure};
use super::progress;

/// Rebuild the index from your files beside the one in use and compare the two row by row. Exits with 0 when they are
/// equal or repaired, with 1 when they differ.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Replace an index that differs. Answers continue meanwhile.
    #[arg(long)]
    repair: bool,
    /// Most differences to print, 0 to 1000.
    #[arg(long, value_name = "N", default_value_t = 20)]
    limit: u32,
}

pub(crate) async fn run(arguments: &Arguments, ctx: &Context) -> Result<Exit, Failure> {
    let session = ctx.session().await?;
    let request = Verify { repair: arguments.repair.then_some(true), limit: Some(arguments.limit) };
    let reply = progress::call(session, &request).await?;
    ctx.show_advice(&reply)?;
    Ok(if reply.same || reply.repaired { Exit::Done } else { Exit::Failed })
}
