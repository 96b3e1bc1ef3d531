//! `kgctl connect`: shows how two things are connected.

use proto::tool::core::Connect;

use super::context::Context;
use super::failure::{Exit, Failure};

/// Show how two things hang together: the best paths between them, with what states each step.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// A name, alias or path, or `#` and an id from another answer.
    a: String,
    /// The other one.
    b: String,
    /// Most steps of a path, 1 to 6.
    #[arg(long, value_name = "N")]
    max_hops: Option<u32>,
    /// Most paths to show, 1 to 20.
    #[arg(long, value_name = "N")]
    limit: Option<u32>,
}

pub(crate) async fn run(arguments: Arguments, ctx: &Context) -> Result<Exit, Failure> {
    let Arguments { a, b, max_hops, limit } = arguments;
    let request = Connect { a, b, max_hops, limit, ..Connect::default() };
    ctx.answer(&request, &["paths", "together"]).await
}
