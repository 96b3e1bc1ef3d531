//! `kgctl links`: lists the links to a note, or all broken links.

use proto::tool::admin::BrokenLinks;
use proto::tool::notes::Backlinks;

use super::context::Context;
use super::failure::{Exit, Failure};

/// Show the links to a note, each with its line; without a note, list broken links.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The note: path, permalink, title or `memory://…`.
    note: Option<String>,
    /// Only broken links in notes whose path begins with this.
    #[arg(long, value_name = "PREFIX", conflicts_with = "note")]
    path: Option<String>,
    /// Most links to show.
    #[arg(long, value_name = "N")]
    limit: Option<u32>,
}

pub(crate) async fn run(arguments: Arguments, ctx: &Context) -> Result<Exit, Failure> {
    let session = ctx.session().await?;
    let is_empty = match arguments.note {
        Some(path) => {
            let page_size = arguments.limit.or(Some(500));
            let request = Backlinks { path, page_size, ..Backlinks::default() };
            let reply = session.call(&request).await?;
            ctx.show(&reply)?;
            reply.backlinks.is_empty()
        }
        None => {
            let request = BrokenLinks { path: arguments.path, limit: arguments.limit };
            let reply = session.call(&request).await?;
            ctx.show(&reply)?;
            reply.links.is_empty()
        }
    };
    session.close().await;
    Ok(if is_empty { Exit::NothingFound } else { Exit::Done })
}
