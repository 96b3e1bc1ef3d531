//! kgctl: the command line of kgd.
//!
//! In: arguments. Out: text or JSON on standard output, errors in the same form on standard error,
//! and an exit code for scripts: 0 done, 1 failed, 2 refused or misused, 3 nothing found, 4 no
//! daemon, 5 timed out.

use std::io::Write;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use client::launch::run_if_launcher;

mod ask;
mod backup;
mod census;
mod changes;
mod completions;
mod config;
mod connect;
mod context;
mod deep;
mod doctor;
mod dump;
mod eval;
mod explain;
mod export;
mod extract;
mod failure;
mod forget;
mod graph;
mod help;
mod http;
mod hub;
mod import;
mod ingest;
mod init;
mod kb;
mod links;
mod list;
mod logs;
mod lookup;
mod man;
mod mcp_config;
mod memory;
mod model;
mod open;
#[cfg(test)]
mod printed;
mod progress;
mod project;
mod query;
mod read;
#[cfg(test)]
mod reference;
mod reload;
mod remove;
mod rescan;
mod restart;
mod restore;
mod retry;
mod review;
mod setup;
mod several;
mod start;
mod status;
mod stop;
mod systemd;
mod terminal;
mod update;
mod verify;
mod wait;

use context::Context;
use failure::{Exit, Failure};

/// Search a folder of documents as a knowledge graph, and manage the daemon that indexes it.
#[derive(Debug, Parser)]
#[command(name = "kgctl", version = proto::version(), arg_required_else_help = true)]
struct Arguments {
    /// The project, by name or folder; when left out: `KG_PROJECT`, the registered folder around the current one, or
    /// the only or default project.
    #[arg(long, global = true, value_name = "NAME|DIR")]
    project: Option<String>,
    /// Ask the projects of this hub, such as `postgres://ROLE@HOST/DATABASE`, instead of one of this machine: all that
    /// its role may see, or those that `--project` names, with commas between them.
    #[arg(long, global = true, value_name = "URL")]
    hub: Option<String>,
    /// Print JSON instead of text.
    #[arg(long, global = true)]
    json: bool,
    /// Fail if no daemon runs, instead of starting one.
    #[arg(long, global = true)]
    no_start: bool,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Init(init::Arguments),
    /// Start the daemon; it runs until it is stopped.
    Start,
    /// Stop the daemon after it has finished its current work.
    Stop,
    /// Stop the daemon and start the installed version.
    Restart,
    /// Have the daemon read its settings anew; say what changed, and what needs a restart.
    Reload,
    Logs(logs::Arguments),
    /// List the registered projects and whether their daemons run.
    List,
    Remove(remove::Arguments),
    Project(project::Arguments),
    Status(status::Arguments),
    Wait(wait::Arguments),
    Query(query::Arguments),
    Read(read::Arguments),
    Explain(explain::Arguments),
    Connect(connect::Arguments),
    Ask(ask::Question),
    Changes(changes::Arguments),
    Remember(ask::Fact),
    Graph(graph::Arguments),
    Open(open::Arguments),
    Lookup(lookup::Arguments),
    Links(links::Arguments),
    Ingest(ingest::Arguments),
    Kb(kb::Arguments),
    Memory(memory::Arguments),
    Import(import::Arguments),
    Export(export::Arguments),
    Extract(extract::Arguments),
    Review(review::Arguments),
    /// Print the whole graph as JSON lines, all of one tick.
    Dump,
    /// Check programs, settings, databases, memory and failed files for problems.
    Doctor(doctor::Arguments),
    Retry(retry::Arguments),
    Rescan(rescan::Arguments),
    Deep(deep::Arguments),
    Verify(verify::Arguments),
    Backup(backup::Arguments),
    Forget(forget::Arguments),
    Restore(restore::Arguments),
    Hub(hub::Arguments),
    Publish(hub::Publish),
    Config(config::Arguments),
    Model(model::Arguments),
    Setup(setup::Arguments),
    McpConfig(mcp_config::Arguments),
    Http(http::Arguments),
    Completions(completions::Arguments),
    /// Say whether a newer version is published, how this copy was installed, and how to update it.
    Update,
    Man(man::Arguments),
    Eval(eval::Arguments),
}

fn main() -> ExitCode {
    if let Some(code) = run_if_launcher() {
        return code;
    }
    let arguments = match parse() {
        Ok(arguments) => arguments,
        Err(failure) => return report(&failure, true),
    };
    let ctx =
        Context::new(arguments.project, arguments.json, !arguments.no_start).of_hub(arguments.hub);
    // One thread is enough: a command mostly waits for one reply.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let done = match runtime {
        Ok(runtime) => runtime.block_on(run(arguments.command, &ctx)),
        Err(error) => Err(error.into()),
    };
    match done {
        Ok(exit) => exit.into(),
        Err(failure) => report(&failure.named(&ctx.flags()), ctx.json),
    }
}

/// Parses the arguments. Ends the process if clap has something to print; a usage error is returned
/// only with `--json`.
fn parse() -> Result<Arguments, Failure> {
    let parsed = help::grouped(Arguments::command())
        .try_get_matches()
        .and_then(|matches| Arguments::from_arg_matches(&matches));
    parsed.map_err(|error| {
        let is_help = matches!(
            error.kind(),
            ErrorKind::DisplayHelp
                | ErrorKind::DisplayVersion
                | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
        );
        if is_help || !std::env::args_os().any(|it| it == "--json") {
            error.exit();
        }
        let text = error.render().to_string();
        let message = text.split("\n\n").next().unwrap_or_default().trim_start_matches("error: ");
        Failure::new(Exit::Refused, message).hint("`--help` shows what is accepted")
    })
}

async fn run(command: Command, ctx: &Context) -> Result<Exit, Failure> {
    match command {
        Command::Init(arguments) => init::run(arguments, ctx).await,
        Command::Start => start::run(ctx).await,
        Command::Stop => stop::run(ctx).await,
        Command::Restart => restart::run(ctx).await,
        Command::Reload => reload::run(ctx).await,
        Command::Logs(arguments) => logs::run(&arguments, ctx),
        Command::List => list::run(ctx).await,
        Command::Remove(arguments) => remove::run(arguments, ctx).await,
        Command::Project(arguments) => project::run(arguments, ctx).await,
        Command::Status(arguments) => status::run(&arguments, ctx).await,
        Command::Wait(arguments) => wait::run(&arguments, ctx).await,
        Command::Query(arguments) => query::run(arguments, ctx).await,
        Command::Read(arguments) => read::run(arguments, ctx).await,
        Command::Explain(arguments) => explain::run(arguments, ctx).await,
        Command::Connect(arguments) => connect::run(arguments, ctx).await,
        Command::Ask(question) => ask::ask(question, ctx).await,
        Command::Remember(fact) => ask::remember(fact, ctx).await,
        Command::Changes(arguments) => changes::run(arguments, ctx).await,
        Command::Graph(arguments) => graph::run(arguments, ctx).await,
        Command::Open(arguments) => open::run(&arguments, ctx).await,
        Command::Lookup(arguments) => lookup::run(arguments, ctx).await,
        Command::Links(arguments) => links::run(arguments, ctx).await,
        Command::Ingest(arguments) => ingest::run(arguments, ctx).await,
        Command::Kb(arguments) => kb::run(arguments, ctx).await,
        Command::Memory(arguments) => memory::run(arguments, ctx).await,
        Command::Import(arguments) => import::run(&arguments, ctx),
        Command::Export(arguments) => export::run(&arguments, ctx).await,
        Command::Extract(arguments) => extract::run(arguments, ctx).await,
        Command::Review(arguments) => review::run(arguments, ctx).await,
        Command::Dump => dump::run(ctx).await,
        Command::Doctor(arguments) => doctor::run(&arguments, ctx).await,
        Command::Retry(arguments) => retry::run(&arguments, ctx).await,
        Command::Deep(arguments) => deep::run(&arguments, ctx).await,
        Command::Rescan(arguments) => rescan::run(&arguments, ctx).await,
        Command::Verify(arguments) => verify::run(&arguments, ctx).await,
        Command::Backup(arguments) => backup::run(&arguments, ctx).await,
        Command::Forget(arguments) => forget::run(arguments, ctx).await,
        Command::Restore(arguments) => restore::run(&arguments, ctx),
        Command::Hub(arguments) => hub::run(&arguments, ctx),
        Command::Publish(arguments) => hub::publish(&arguments, ctx),
        Command::Config(arguments) => config::run(&arguments, ctx),
        Command::Model(arguments) => model::run(&arguments, ctx),
        Command::Setup(arguments) => setup::run(&arguments, ctx),
        Command::McpConfig(arguments) => mcp_config::run(&arguments, ctx),
        Command::Http(arguments) => http::run(&arguments, ctx).await,
        Command::Completions(arguments) => completions::run(&arguments, ctx),
        Command::Update => update::run(ctx),
        Command::Man(arguments) => man::run(&arguments, ctx),
        Command::Eval(arguments) => eval::run(&arguments, ctx).await,
    }
}

fn report(failure: &Failure, as_json: bool) -> ExitCode {
    // On standard error in either form: standard output is only for replies.
    if let Some(text) = if as_json { failure.json() } else { failure.text() } {
        // Nothing can be done if standard error is gone.
        let _ = std::io::stderr().write_all(text.as_bytes());
    }
    failure.exit().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_arguments_are_sound() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn every_command_and_flag_is_described() {
        for command in Arguments::command().get_subcommands() {
            assert!(command.get_about().is_some(), "{}", command.get_name());
            for argument in command.get_arguments() {
                assert!(
                    argument.get_help().is_some(),
                    "{} {}",
                    command.get_name(),
                    argument.get_id()
                );
            }
        }
    }
}
