//! `kgctl read`: prints a whole passage.

use proto::tool::core::ReadPassage;

use super::context::Context;
use super::failure::{Exit, Failure};

/// Print the whole passage of a hit.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// A hit's place as `kgctl query` prints it (`notes/a.md:12`, `report.pdf p. 3`), a path, or a hit's `ref`.
    #[arg(required = true)]
    at: Vec<String>,
    /// Number of neighboring passages to add on both sides, 0 to 20.
    #[arg(long, value_name = "N")]
    around: Option<u32>,
    /// Longest text in characters, 200 to 100,000.
    #[arg(long, value_name = "N")]
    max_chars: Option<u32>,
    /// Longest text in tokens of 3 characters, 70 to 33,000.
    #[arg(long, value_name = "N")]
    max_tokens: Option<u32>,
}

pub(crate) async fn run(arguments: Arguments, ctx: &Context) -> Result<Exit, Failure> {
    let request = ReadPassage {
        at: arguments.at.join(" "),
        around: arguments.around,
        max_chars: arguments.max_chars,
        max_tokens: arguments.max_tokens,
    };
    let reply = ctx.call(&request).await?;
    ctx.show(&reply)?;
    Ok(Exit::Done)
}
