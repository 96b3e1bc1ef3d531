//! `kgctl kb`: entries of knowledge, on the command line.
//!
//! In: what is wanted. Out: entries as text or JSON, by the daemon's own tools.
//! Not here: what the tools do (`kb_search`, `kb_get`, `kb_ask`, …).

use client::render::entries;
use proto::tool::kb::{
    EntryType, KbAction, KbAsk, KbGet, KbIngest, KbMaintain, KbSearch, KbStore, KbSummarize,
    Strategy,
};

use super::context::Context;
use super::failure::{Exit, Failure};

/// Entries of knowledge: list, show and search them, ask, make them of files, look after them.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// List entries, the oldest first.
    List {
        /// Which: `project:X`, `tag:X`, `person:X`, a type such as `decision`; all types when left out.
        scope: Option<String>,
    },
    /// Show entries whole. That counts as using them: their confidence is fresh again.
    Show {
        /// Their ids, such as `kb-00042`.
        #[arg(required = true)]
        ids: Vec<String>,
    },
    /// Find entries by words and meaning.
    Search {
        /// What is looked for.
        query: String,
        /// Only those with this tag; several times for several.
        #[arg(long = "tag", value_name = "TAG")]
        tags: Vec<String>,
        /// Also those that are stale.
        #[arg(long)]
        stale: bool,
        /// Most entries to tell.
        #[arg(long, value_name = "N")]
        limit: Option<u32>,
    },
    /// Answer a question from entries and their graph.
    Ask {
        /// The question.
        question: String,
        /// Where to begin: an id such as `tag:python`.
        #[arg(long, value_name = "NODE")]
        scope: Option<String>,
    },
    /// Answer a question in sentences of entries, each with its id.
    Summarize {
        /// The question.
        question: String,
    },
    /// Make entries of files of the project, or of a text on standard input.
    Ingest {
        /// A file, a folder, or a pattern such as `docs/**/*.md`.
        #[arg(required_unless_present = "source_url")]
        path: Option<String>,
        /// Read a text on standard input that came from there.
        #[arg(long, value_name = "URL", conflicts_with = "path")]
        source_url: Option<String>,
        /// Tell what would be done, and do nothing.
        #[arg(long)]
        dry_run: bool,
    },
    /// Show what was changed in an entry, when, by whom and why.
    History {
        /// Its id.
        id: String,
        /// Show the text of this version, too.
        #[arg(long, value_name = "N")]
        version: Option<u64>,
    },
    /// Make an entry what it was in a version.
    Restore {
        /// Its id.
        id: String,
        /// The version, as `history` lists it.
        version: u64,
    },
    /// Make an entry not count any more.
    Deactivate {
        /// Its id.
        id: String,
        /// Why.
        #[arg(long, value_name = "WHY")]
        reason: Option<String>,
    },
    /// Make an entry count again.
    Reactivate {
        /// Its id.
        id: String,
    },
    /// Have the model of `llm.extraction` read entries again, in the background.
    Enrich {
        /// Only this one.
        id: Option<String>,
    },
    /// Forget what a model read in entries; it is read again when their text changes, or by `enrich`.
    ForgetEnriched {
        /// Only in this one.
        id: Option<String>,
    },
    /// Count entries, types, projects, relations.
    Stats,
}

pub(crate) async fn run(arguments: Arguments, ctx: &Context) -> Result<Exit, Failure> {
    let session = ctx.session().await?;
    let is_empty = match arguments.command {
        Command::List { scope } => {
            let types = || EntryType::ALL.iter().map(|it| it.as_str().to_string()).collect();
            let scopes: Vec<String> = scope.map_or_else(types, |scope| vec![scope]);
            let mut replies = Vec::new();
            for scope in scopes {
                let request = KbAsk {
                    question: scope.clone(),
                    strategy: Some(Strategy::Timeline),
                    scope: Some(scope),
                    limit: Some(50),
                    ..KbAsk::default()
                };
                replies.push(session.call(&request).await?);
            }
            ctx.print_reply(&replies, |replies| entries::listed(replies))?;
            replies.iter().all(|reply| reply.entries.is_empty())
        }
        Command::Show { ids } => {
            let request = KbGet { entry_id: ids, include_inactive: Some(true) };
            let reply = session.call(&request).await?;
            ctx.print_reply(&reply, entries::shown)?;
            reply.entries.is_empty()
        }
        Command::Search { query, tags, stale, limit } => {
            let tags = Some(tags).filter(|it| !it.is_empty());
            let request =
                KbSearch { query, tags, include_stale: Some(stale), limit, ..KbSearch::default() };
            let reply = session.call(&request).await?;
            ctx.print_reply(&reply, entries::found)?;
            reply.results.is_empty()
        }
        Command::Ask { question, scope } => {
            let reply = session.call(&KbAsk { question, scope, ..KbAsk::default() }).await?;
            ctx.print_reply(&reply, entries::answered)?;
            reply.entries.is_empty()
        }
        Command::Summarize { question } => {
            let reply = session.call(&KbSummarize { question, ..KbSummarize::default() }).await?;
            ctx.print_reply(&reply, entries::summed_up)?;
            reply.sentences.is_empty()
        }
        Command::Ingest { path, source_url, dry_run } => {
            let content = source_url.as_ref().map(|_| std::io::read_to_string(std::io::stdin()));
            let content = content.transpose()?;
            let (path, dry_run) = (path.unwrap_or_default(), Some(dry_run));
            let request = KbIngest { path, content, source_url, dry_run, ..KbIngest::default() };
            let reply = session.call(&request).await?;
            ctx.print_reply(&reply, entries::ingested)?;
            false
        }
        Command::Deactivate { id, reason } => {
            let request = KbStore {
                deactivate_entry_id: Some(id),
                change_reason: reason,
                ..KbStore::default()
            };
            let reply = session.call(&request).await?;
            ctx.print_reply(&reply, entries::stored)?;
            false
        }
        upkeep => {
            let reply = session.call(&maintain(upkeep)).await?;
            ctx.print_reply(&reply, entries::maintained)?;
            false
        }
    };
    session.close().await;
    Ok(if is_empty { Exit::NothingFound } else { Exit::Done })
}

fn maintain(command: Command) -> KbMaintain {
    let upkeep = |action, entry_id, version| KbMaintain {
        action,
        entry_id,
        version,
        ..KbMaintain::default()
    };
    let of = |action, id, version| upkeep(action, Some(id), version);
    match command {
        Command::History { id, version } => of(KbAction::EntryVersions, id, version),
        Command::Restore { id, version } => of(KbAction::Restore, id, Some(version)),
        Command::Reactivate { id } => of(KbAction::Reactivate, id, None),
        Command::Enrich { id } => upkeep(KbAction::Enrich, id, None),
        Command::ForgetEnriched { id } => upkeep(KbAction::ForgetEnriched, id, None),
        _ => KbMaintain::default(),
    }
}
