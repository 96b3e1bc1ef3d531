//! `kgctl changes`: shows which documents were added, changed or removed.

use proto::tool::core::Changes;

use super::context::Context;
use super::failure::{Exit, Failure};

/// Characters of a page. Large, because a terminal scrolls.
const MAX_CHARS: u32 = 100_000;

/// Show what came, went or changed in the documents, with the lines.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// A time such as `7d`, `yesterday` or `2026-11-20`, or a tick; when left out, since this command was last used.
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// Only documents whose path begins with this or matches it: `docs/*.md`.
    #[arg(long, value_name = "PATH")]
    path: Option<String>,
    /// Only changes that name this entity or belong to its note.
    #[arg(long, value_name = "NAME")]
    entity: Option<String>,
    /// Most documents to show, 1 to 200.
    #[arg(long, value_name = "N")]
    limit: Option<u32>,
    /// Where an earlier answer ended.
    #[arg(long, value_name = "CURSOR", conflicts_with_all = ["since", "path", "entity"])]
    cursor: Option<String>,
}

pub(crate) async fn run(arguments: Arguments, ctx: &Context) -> Result<Exit, Failure> {
    let Arguments { since, path, entity, limit, cursor } = arguments;
    let max_chars = Some(MAX_CHARS);
    let request = Changes { since, path, entity, limit, max_chars, cursor, max_tokens: None };
    ctx.answer(&request, &["changes"]).await
}
