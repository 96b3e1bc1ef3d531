//! `kgctl memory`: what agents remember, on the command line.

mod consolidate;

use client::render::entries;
use proto::tool::admin::MemoryReport;
use proto::tool::memory::{
    GetConsolidationReport, GetNodesByType, GetRecentlyModified, MemoryNodesReply, OpenNodes,
    ReadGraph,
};

use super::context::Context;
use super::failure::{Exit, Failure};

/// What agents remember: entities with observations and relations.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// List entities with what is known of them.
    List {
        /// Only those of this type, in brief.
        #[arg(long = "type", value_name = "TYPE")]
        entity_type: Option<String>,
        /// Which page, from 1.
        #[arg(long, value_name = "N")]
        page: Option<u32>,
    },
    /// Show entities whole.
    Show {
        /// Their names.
        #[arg(required = true)]
        names: Vec<String>,
    },
    /// Review what could be put in order: summaries, relations, topics, orphans, one at a time.
    ///
    /// On a terminal with keys: `a` does what the candidate says, `r` rejects it, `s` skips it, `q` ends, `d` deletes
    /// an entity that nothing is related to; `:` begins a line with words of your own (`:a works_with`). Else one line
    /// an answer. A rejected relation is never proposed again, everything else next time.
    Consolidate,
    /// Tell what needs attention as Markdown.
    Report {
        /// Keep it as the note of this week, such as `memory/reports/2026-W48.md`; one that is there is left as it is.
        #[arg(long)]
        write: bool,
    },
    /// Show what changed in the last days: counts, and the entities, the last changed first.
    History {
        /// How many days.
        #[arg(long, value_name = "N", default_value_t = 7)]
        days: u32,
    },
}

pub(crate) async fn run(arguments: Arguments, ctx: &Context) -> Result<Exit, Failure> {
    let session = ctx.session().await?;
    let is_empty = match arguments.command {
        Command::Consolidate => return consolidate::run(session, ctx).await,
        Command::List { entity_type: Some(entity_type), page } => {
            let reply = session.call(&GetNodesByType { entity_type, page }).await?;
            ctx.print_reply(&reply, |reply: &MemoryNodesReply| entries::nodes(&reply.nodes))?;
            reply.nodes.is_empty()
        }
        Command::List { entity_type: None, page } => {
            let reply = session.call(&ReadGraph { page }).await?;
            ctx.print_reply(&reply, entries::graph)?;
            reply.entities.is_empty()
        }
        Command::Show { names } => {
            let reply = session.call(&OpenNodes { names }).await?;
            ctx.print_reply(&reply, entries::graph)?;
            reply.entities.is_empty()
        }
        Command::Report { write } => {
            let reply = session.call(&MemoryReport { write: Some(write) }).await?;
            ctx.print_reply(&reply, entries::report)?;
            false
        }
        Command::History { days } => {
            let since = Some(format!("{days}d"));
            let report = session.call(&GetConsolidationReport { since }).await?;
            let request = GetRecentlyModified { days: Some(days), limit: Some(100) };
            let recent = session.call(&request).await?;
            let both = (report.event_summary, recent.nodes);
            ctx.print_reply(&both, |(events, nodes)| {
                let (made, changed, deleted) = (events.creates, events.updates, events.deletes);
                format!(
                    "by tools: {made} made, {changed} changed, {deleted} deleted\n{}",
                    entries::nodes(nodes)
                )
            })?;
            both.1.is_empty()
        }
    };
    session.close().await;
    Ok(if is_empty { Exit::NothingFound } else { Exit::Done })
}
