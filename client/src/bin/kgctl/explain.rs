//! `kgctl explain`: shows everything known about one entity.

use proto::tool::core::ExplainEntity;

use super::context::Context;
use super::failure::{Exit, Failure};

/// Show everything known about one entity, with evidence.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// A name or alias, or `#` and an id from another answer.
    #[arg(required = true)]
    name: Vec<String>,
    /// Hops of relations to include, 1 to 4.
    #[arg(long, value_name = "N")]
    hops: Option<u32>,
    /// Most relations to show, 1 to 200.
    #[arg(long, value_name = "N")]
    limit: Option<u32>,
    /// Also show what linked each name to this entity.
    #[arg(long)]
    why: bool,
}

pub(crate) async fn run(arguments: Arguments, ctx: &Context) -> Result<Exit, Failure> {
    let name = arguments.name.join(" ");
    let entity_id = name.strip_prefix('#').and_then(|id| id.parse().ok());
    let request = ExplainEntity {
        entity_id,
        name: entity_id.is_none().then_some(name),
        hops: arguments.hops,
        limit: arguments.limit,
        why: arguments.why.then_some(true),
    };
    ctx.answer(&request, &[]).await
}
