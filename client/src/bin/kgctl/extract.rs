//! `kgctl extract`: extracts and links again, and reports the changes.

use proto::tool::core::ExtractAndLink;

use super::context::Context;
use super::failure::{Exit, Failure};

/// Extract names and relations again, and report what changed.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Ids of documents; whatever is pending when left out.
    #[arg(value_name = "DOC_ID")]
    doc_ids: Vec<i64>,
}

pub(crate) async fn run(arguments: Arguments, ctx: &Context) -> Result<Exit, Failure> {
    let doc_ids = (!arguments.doc_ids.is_empty()).then_some(arguments.doc_ids);
    let reply = ctx.call(&ExtractAndLink { doc_ids }).await?;
    ctx.show(&reply)?;
    Ok(Exit::Done)
}
