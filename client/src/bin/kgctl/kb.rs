//! `kgctl kb`: knowledge entries on the command line.
//!
//! In: a subcommand. Out: entries as text or JSON, from the daemon's tools.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use client::connect::Session;
use proto::tool::kb::{
    EntryType, KbAction, KbAnswer, KbAsk, KbGet, KbHit, KbIngest, KbMaintain, KbSearch,
    KbSearchReply, KbStore, KbSummarize, Strategy,
};
use proto::view::View;

use super::context::Context;
use super::failure::{Exit, Failure};

/// Default limits of `list`, for one scope, and for one tag or project: the largest allowed ones.
const MOST_OF_SCOPE: u32 = 500;
const MOST_OF_NODE: u32 = 100;

/// Knowledge entries: list, show, search, ask, summarize, ingest.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// List entries, oldest first.
    List {
        /// Which: `project:X`, `tag:X`, `person:X`, a type such as `decision`; all types when left out.
        #[arg(conflicts_with = "Filter")]
        scope: Option<String>,
        #[command(flatten)]
        filter: Filter,
        /// Most entries to list: of each type 1 to 500, with `--tag` or `--project-ref` 1 to 100 of all.
        #[arg(long, value_name = "N")]
        limit: Option<u32>,
    },
    /// Show whole entries. This counts as use and restarts the decay of their confidence.
    Show {
        /// Their ids, such as `kb-00042`.
        #[arg(required = true)]
        ids: Vec<String>,
    },
    /// Find entries by words and meaning.
    Search {
        /// The question or keywords.
        query: String,
        #[command(flatten)]
        filter: Filter,
        /// Include entries whose confidence has fallen below .3.
        #[arg(long, alias = "stale")]
        include_stale: bool,
        /// Most entries to return, 1 to 100; 10 when left out.
        #[arg(long, value_name = "N")]
        limit: Option<u32>,
    },
    /// Answer a question from entries and their graph.
    Ask {
        /// The question.
        question: String,
        /// How to answer; chosen from the question when left out.
        #[arg(long, value_parser = strategies())]
        strategy: Option<Strategy>,
        /// Which entries to use, or where to begin: `project:X`, `tag:X`, an entry type, an id.
        #[arg(long, value_name = "NODE")]
        scope: Option<String>,
        /// Where `--strategy connection` ends.
        #[arg(long, value_name = "NODE")]
        target: Option<String>,
        /// Do not add related entries from the graph.
        #[arg(long)]
        no_graph_context: bool,
        /// Include entries whose confidence has fallen below .3.
        #[arg(long, alias = "stale")]
        include_stale: bool,
        /// Most entries to return, 1 to 50; 20 when left out.
        #[arg(long, value_name = "N")]
        limit: Option<u32>,
    },
    /// Answer a question with sentences from entries, each with its id.
    Summarize {
        /// The question.
        question: String,
        /// Which entries to use: `project:X`, `tag:X`, an entry type, an id.
        #[arg(long, value_name = "NODE")]
        scope: Option<String>,
        /// Most entries to read, 1 to 50; 20 when left out.
        #[arg(long, value_name = "N")]
        limit: Option<u32>,
    },
    /// Make entries from files of the project, or from standard input.
    Ingest {
        /// A file, a folder, or a pattern such as `docs/**/*.md`.
        #[arg(required_unless_present = "source_url")]
        path: Option<String>,
        /// Where the text on standard input came from.
        #[arg(long, value_name = "URL", conflicts_with = "path")]
        source_url: Option<String>,
        /// The project that the entries belong to; the one of the last ingestion when left out.
        #[arg(long, value_name = "PROJECT")]
        project_ref: Option<String>,
        /// Do not descend into subfolders.
        #[arg(long)]
        no_recursive: bool,
        /// Show what would be done without doing it.
        #[arg(long)]
        dry_run: bool,
    },
    /// Show the history of an entry: what changed, when, by whom and why.
    History {
        /// Its id.
        id: String,
        /// Also show the text of this version.
        #[arg(long, value_name = "N")]
        version: Option<u64>,
    },
    /// Restore an entry to an earlier version.
    Restore {
        /// Its id.
        id: String,
        /// The version, as `history` lists it.
        version: u64,
    },
    /// Deactivate an entry.
    Deactivate {
        /// Its id.
        id: String,
        /// The reason to record.
        #[arg(long, value_name = "WHY")]
        reason: Option<String>,
    },
    /// Reactivate an entry.
    Reactivate {
        /// Its id.
        id: String,
    },
    /// Let the model of `llm.extraction` read entries again, in the background.
    Enrich {
        /// Only this entry.
        id: Option<String>,
    },
    /// Delete what a model read in entries; it reads them again when their text changes, or by `enrich`.
    ForgetEnriched {
        /// Only of this entry.
        id: Option<String>,
    },
    /// Count entries, types, projects, relations.
    Stats,
}

/// Which entries to use, as in `kb_search`.
#[derive(Debug, clap::Args)]
struct Filter {
    /// Only those with this tag; may be given several times.
    #[arg(long = "tag", value_name = "TAG")]
    tags: Vec<String>,
    /// Only those of this type.
    #[arg(long, visible_alias = "type", value_parser = entry_types())]
    entry_type: Option<EntryType>,
    /// Only those of this project.
    #[arg(long, value_name = "PROJECT")]
    project_ref: Option<String>,
}

impl Filter {
    fn request(self, query: String, limit: Option<u32>, include_stale: bool) -> KbSearch {
        let Filter { tags, entry_type, project_ref } = self;
        let (tags, include_stale) = (Some(tags).filter(|it| !it.is_empty()), Some(include_stale));
        KbSearch { query, project_ref, entry_type, tags, limit, include_stale }
    }

    /// Returns a graph node whose entries include all that the filter selects.
    fn node(&self) -> Option<String> {
        let tag = self.tags.first().map(|tag| format!("tag:{}", tag.trim_start_matches('#')));
        tag.or(self.project_ref.as_ref().map(|it| format!("project:{it}")))
    }
}

fn entry_types() -> impl TypedValueParser<Value = EntryType> {
    let names = PossibleValuesParser::new(EntryType::ALL.map(EntryType::as_str));
    names.map(|it| EntryType::parse(&it).unwrap_or_default())
}

fn strategies() -> impl TypedValueParser<Value = Strategy> {
    let names = PossibleValuesParser::new(Strategy::ALL.map(Strategy::as_str));
    names.map(|it| Strategy::parse(&it).unwrap_or_default())
}

pub(crate) async fn run(arguments: Arguments, ctx: &Context) -> Result<Exit, Failure> {
    let session = ctx.session().await?;
    let is_empty = match arguments.command {
        Command::List { scope, filter, limit } => match filter.node() {
            Some(node) => {
                let limit = limit.or(Some(MOST_OF_NODE));
                let mut reply = session.call(&filter.request(node, limit, true)).await?;
                // Hints from the graph are not part of a list.
                reply.hints.clear();
                ctx.show(&reply)?;
                reply.results.is_empty()
            }
            None => {
                let types = filter.entry_type.map_or(EntryType::ALL.to_vec(), |it| vec![it]);
                let types = types.into_iter().map(|it| it.as_str().to_string()).collect();
                let replies =
                    timelines(&session, scope.map_or(types, |it| vec![it]), limit).await?;
                ctx.print_reply(&replies, |replies| in_one(replies).text(ctx.style))?;
                replies.iter().all(|reply| reply.entries.is_empty())
            }
        },
        Command::Show { ids } => {
            let request = KbGet { entry_id: ids, include_inactive: Some(true) };
            let reply = session.call(&request).await?;
            ctx.show(&reply)?;
            reply.entries.is_empty()
        }
        Command::Search { query, filter, include_stale, limit } => {
            let reply = session.call(&filter.request(query, limit, include_stale)).await?;
            ctx.show(&reply)?;
            reply.results.is_empty()
        }
        Command::Ask {
            question,
            strategy,
            scope,
            target,
            no_graph_context,
            include_stale,
            limit,
        } => {
            let request = KbAsk {
                question,
                strategy,
                scope,
                target,
                include_graph_context: Some(!no_graph_context),
                include_stale: Some(include_stale),
                limit,
            };
            let reply = session.call(&request).await?;
            ctx.show(&reply)?;
            reply.entries.is_empty()
        }
        Command::Summarize { question, scope, limit } => {
            let reply = session.call(&KbSummarize { question, scope, limit }).await?;
            ctx.show(&reply)?;
            reply.sentences.is_empty()
        }
        Command::Ingest { path, source_url, project_ref, no_recursive, dry_run } => {
            let content = source_url.as_ref().map(|_| std::io::read_to_string(std::io::stdin()));
            let content = content.transpose()?;
            let (path, dry_run) = (path.unwrap_or_default(), Some(dry_run));
            let recursive = Some(!no_recursive);
            let request = KbIngest { path, content, source_url, project_ref, dry_run, recursive };
            let reply = session.call(&request).await?;
            ctx.show(&reply)?;
            false
        }
        Command::Deactivate { id, reason } => {
            let request = KbStore {
                deactivate_entry_id: Some(id),
                change_reason: reason,
                ..KbStore::default()
            };
            let reply = session.call(&request).await?;
            ctx.show(&reply)?;
            false
        }
        upkeep => {
            let reply = session.call(&maintain(upkeep)).await?;
            ctx.show(&reply)?;
            false
        }
    };
    session.close().await;
    Ok(if is_empty { Exit::NothingFound } else { Exit::Done })
}

/// The entries of all scopes as one list.
fn in_one(replies: &[KbAnswer]) -> KbSearchReply {
    let entries = replies.iter().flat_map(|it| &it.entries).map(|it| it.entry.clone());
    let results = entries.map(|entry| KbHit { entry, ..KbHit::default() }).collect();
    // A hint is only for incomplete lists.
    let cut = replies.iter().filter(|it| !it.entries.is_empty());
    let hints = cut.filter_map(|it| {
        Some(format!("{}: {}", it.scope.as_deref().unwrap_or_default(), it.hint.as_ref()?))
    });
    KbSearchReply { results, hints: hints.collect(), ..KbSearchReply::default() }
}

/// Returns the entries of each scope, oldest first.
async fn timelines(
    session: &Session,
    scopes: Vec<String>,
    limit: Option<u32>,
) -> Result<Vec<KbAnswer>, Failure> {
    let mut replies = Vec::new();
    for scope in scopes {
        let request = KbAsk {
            question: scope.clone(),
            strategy: Some(Strategy::Timeline),
            scope: Some(scope),
            // As for a tag or a project: a list is complete.
            include_stale: Some(true),
            limit: limit.or(Some(MOST_OF_SCOPE)),
            ..KbAsk::default()
        };
        replies.push(session.call(&request).await?);
    }
    Ok(replies)
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

#[cfg(test)]
mod tests {
    use client::render::Style;
    use expect_test::expect;
    use proto::tool::kb::{AskedEntry, EntryView};

    use super::*;

    #[test]
    fn a_list_that_is_cut_says_so() {
        let entry = EntryView { id: "kb-00001".into(), ..EntryView::default() };
        let entries = vec![AskedEntry { entry, ..AskedEntry::default() }];
        let (scope, hint) = (Some("decision".into()), Some("1 of 7 are shown".into()));
        let cut = KbAnswer { entries, scope, hint, ..KbAnswer::default() };
        let none = KbAnswer { hint: Some("no entry".into()), ..KbAnswer::default() };
        expect![[r#"
            1 entry
            [kb-00001] factual_reference:  (0 %)
            decision: 1 of 7 are shown
        "#]]
        .assert_eq(&in_one(&[cut, none.clone()]).text(Style::terminal(false)));
        assert_eq!(in_one(&[none]).text(Style::terminal(false)), "0 entries\n");
    }
}
