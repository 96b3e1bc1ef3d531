//! `kgctl review`: doubtful links and relations, and lasting decisions on them.

use client::render::answer;
use proto::tool::core::ReviewLinks;

use super::context::Context;
use super::failure::{Exit, Failure};

/// List doubtful links and relations, or decide them by key.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// This one is right; may be given several times.
    #[arg(long, value_name = "KEY")]
    accept: Vec<String>,
    /// This one is wrong; may be given several times.
    #[arg(long, value_name = "KEY")]
    reject: Vec<String>,
    /// Take a decision back; may be given several times.
    #[arg(long, value_name = "KEY")]
    undo: Vec<String>,
    /// List what has less confidence than this, 0 to 1.
    #[arg(long, value_name = "CONFIDENCE")]
    below: Option<f32>,
    /// Most items to list, 1 to 100.
    #[arg(long, value_name = "N")]
    limit: Option<u32>,
}

pub(crate) async fn run(arguments: Arguments, ctx: &Context) -> Result<Exit, Failure> {
    let some = |keys: Vec<String>| (!keys.is_empty()).then_some(keys);
    let request = ReviewLinks {
        below: arguments.below,
        limit: arguments.limit,
        accept: some(arguments.accept),
        reject: some(arguments.reject),
        undo: some(arguments.undo),
    };
    let session = ctx.session().await?;
    let reply = session.call(&request).await?;
    session.close().await;
    ctx.print_reply(&reply, |reply| answer::review(reply, ctx.style))?;
    Ok(Exit::Done)
}
