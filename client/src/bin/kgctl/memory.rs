//! `kgctl memory`: shows and maintains what agents remember.

mod consolidate;

use proto::tool::admin::MemoryReport;
use proto::tool::memory::{
    GetConsolidationReport, GetNodesByType, GetRecentlyModified, OpenNodes, ReadGraph,
};
use proto::view::View;

use super::context::Context;
use super::failure::{Exit, Failure};

/// Most changes that `history` prints.
const HISTORY: u32 = 1_000;

/// What agents remember: entities with observations and relations.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// List entities with what is known about them.
    List {
        /// Only entities of this type, in brief.
        #[arg(long = "type", value_name = "TYPE")]
        entity_type: Option<String>,
        /// Page number, from 1.
        #[arg(long, value_name = "N")]
        page: Option<u32>,
    },
    /// Show whole entities.
    Show {
        /// Their names.
        #[arg(required = true)]
        names: Vec<String>,
    },
    /// Review proposals one at a time: summaries, relations, topics, orphans.
    ///
    /// Keys on a terminal: `a` accepts a proposal, `r` rejects it, `s` skips it, `q` quits, `d` deletes an orphan;
    /// `:` begins a line with words of your own (`:a works_with`). Otherwise one answer per line. A rejected relation
    /// is never proposed again; everything else is, next time.
    Consolidate,
    /// Print what needs attention as Markdown.
    Report {
        /// Save it as the note of this week, such as `memory/reports/2026-W48.md`; an existing one is not changed.
        #[arg(long)]
        write: bool,
    },
    /// Show recent changes, newest first: counts, entities, and who did what with which tool.
    History {
        /// Only changes of this entity, at any time, even if it is deleted.
        entity: Option<String>,
        /// Number of days.
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
            ctx.show(&reply)?;
            reply.nodes.is_empty()
        }
        Command::List { entity_type: None, page } => {
            let reply = session.call(&ReadGraph { page }).await?;
            ctx.show(&reply)?;
            reply.entities.is_empty()
        }
        Command::Show { names } => {
            let reply = session.call(&OpenNodes { names }).await?;
            ctx.show(&reply)?;
            reply.entities.is_empty()
        }
        Command::Report { write } => {
            let reply = session
                .call(&MemoryReport { write: Some(write), ..MemoryReport::default() })
                .await?;
            ctx.show(&reply)?;
            false
        }
        Command::History { entity: Some(entity), .. } => {
            let request =
                MemoryReport { history: Some(HISTORY), entity: Some(entity), write: None };
            let reply = session.call(&request).await?;
            ctx.print_reply(&reply.history, |_| reply.text(ctx.style))?;
            reply.history.is_empty()
        }
        Command::History { entity: None, days } => {
            let since = Some(format!("{days}d"));
            let report = session.call(&GetConsolidationReport { since }).await?;
            let request = GetRecentlyModified { days: Some(days), limit: Some(100) };
            let recent = session.call(&request).await?;
            let request = MemoryReport { history: Some(HISTORY), ..MemoryReport::default() };
            let mut deeds = session.call(&request).await?;
            deeds.history.retain(|it| it.at >= report.event_summary.since);
            let listed = (&report.event_summary, &recent.nodes, &deeds.history);
            ctx.print_reply(&listed, |(events, ..)| {
                let (made, changed, deleted) = (events.creates, events.updates, events.deletes);
                let counts = format!("by tools: {made} made, {changed} changed, {deleted} deleted");
                format!("{counts}\n{}{}", recent.text(ctx.style), deeds.text(ctx.style))
            })?;
            recent.nodes.is_empty() && deeds.history.is_empty()
        }
    };
    session.close().await;
    Ok(if is_empty { Exit::NothingFound } else { Exit::Done })
}
