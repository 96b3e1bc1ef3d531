//! `kgctl lookup`: finds entities by name.

use proto::tool::core::EntityLookup;

use super::context::Context;
use super::failure::{Exit, Failure};

/// Find entities by name, alias, or a misspelled or partial name.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// A name or part of one.
    #[arg(required = true)]
    name: Vec<String>,
    /// Only entities of this type, such as `Service` or `Person`.
    #[arg(long, value_name = "TYPE")]
    r#type: Option<String>,
    /// Most entities to show, 1 to 100.
    #[arg(long, value_name = "N")]
    limit: Option<u32>,
}

pub(crate) async fn run(arguments: Arguments, ctx: &Context) -> Result<Exit, Failure> {
    let request = EntityLookup {
        q: arguments.name.join(" "),
        entity_type: arguments.r#type,
        limit: arguments.limit,
    };
    ctx.answer(&request, &["entities"]).await
}
