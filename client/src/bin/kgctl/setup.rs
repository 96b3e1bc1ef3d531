//! `kgctl setup`: connects an agent by an entry in the file with its MCP servers.
//!
//! In: an agent, a project. Out: the change, shown and, once confirmed, written.
//! Invariants: nothing is written that was not shown; a file that cannot be parsed is not changed,
//! and the entry is printed for pasting.

use std::io::{IsTerminal, stdin};
use std::path::{Path, PathBuf};

use ::config::{Places, Project, Registry};
use clap::builder::PossibleValuesParser;
use client::agent::edit::EditError;
use client::agent::made::{Left, Made, Records};
use client::agent::{AGENTS, Agent, Scope, Server, diff, file};
use proto::catalog::CATALOG;
use proto::tool::ToolSet;
use serde_json::{Map, Value, json};

use super::context::{Context, warn};
use super::failure::{Exit, Failure};
use super::mcp_config::shim;

/// Connect an agent: show the entry for its configuration, ask, and write it.
///
/// Comments and everything else in the file stay as they are. `kgctl doctor --client AGENT` then tries the entry.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The agent.
    #[arg(value_name = "AGENT", value_parser = agents())]
    agent: String,
    /// Tool sets to offer, separated by commas: default, core, notes, memory, kb.
    #[arg(long, value_name = "SETS", default_value = ToolSet::Default.as_str(), value_parser = tool_sets)]
    tools: String,
    /// Write the user's file, for all folders.
    #[arg(long, conflicts_with = "folder")]
    user: bool,
    /// Write the file of a folder in which the agent works; that of the project when no folder is named.
    #[arg(long, value_name = "DIR", num_args = 0..=1, require_equals = true)]
    folder: Option<Option<PathBuf>>,
    /// Take the entry out again.
    #[arg(long)]
    undo: bool,
    /// Only show the change.
    #[arg(long, alias = "print")]
    dry_run: bool,
    /// Do not ask for confirmation.
    #[arg(long)]
    yes: bool,
}

/// Accepts the names of agents.
pub(crate) fn agents() -> PossibleValuesParser {
    PossibleValuesParser::new(AGENTS.iter().map(|it| it.name))
}

fn tool_sets(text: &str) -> Result<String, String> {
    let names: Vec<&str> = text.split(',').map(str::trim).filter(|it| !it.is_empty()).collect();
    let is_offered = |name: &str| ToolSet::parse(name).is_some_and(|set| set != ToolSet::Admin);
    match names.iter().find(|name| !is_offered(name)) {
        Some(name) => Err(format!("no tool set is called `{name}`")),
        None if names.is_empty() => Err("name at least one tool set".into()),
        None => Ok(names.join(",")),
    }
}

/// A change of the agent's file.
struct Change {
    agent: &'static Agent,
    scope: Scope,
    path: PathBuf,
    /// The name of the entry.
    name: String,
    /// The entry; `None` if it is to be removed.
    fields: Option<Map<String, Value>>,
    before: String,
    after: String,
}

pub(crate) fn run(arguments: &Arguments, ctx: &Context) -> Result<Exit, Failure> {
    let places = ctx.places()?;
    let project = ctx.project()?;
    let agent = Agent::of(&arguments.agent).expect("clap accepts only names of the table");
    let (scope, path) = target(agent, arguments, &project)?;
    let name = entry_name(&project);
    let before = file::read(&path).map_err(|error| unusable(&path, error))?;
    let place = agent.place(&name);
    let mut records = Records::load(&places.state);
    let mut left = None;
    let (fields, after) = if arguments.undo {
        let after = place.remove(&before).map_err(|error| refused(&path, error))?;
        let missing = || {
            let message = format!("`{}` has no entry `{name}`", path.display());
            Failure::new(Exit::NothingFound, message)
                .hint("`--user`, `--folder` and `--project` say which entry is meant")
        };
        let after = records.of(&path).taken_from(after.ok_or_else(missing)?, &place);
        let after = after.map_err(|error| refused(&path, error))?;
        let text = match &after {
            Left::Text(text) => text.clone(),
            Left::Nothing => String::new(),
        };
        left = Some(after);
        (None, text)
    } else {
        let fields = agent.fields(&server(agent, &project, &places, &arguments.tools)?);
        let after = place.put(&before, &fields).map_err(|error| {
            let entry = agent.pasted(&name, &fields);
            refused(&path, error)
                .hint(format!("nothing was written; this is the entry to add:\n{entry}"))
        })?;
        (Some(fields), after)
    };
    let change = Change { agent, scope, path, name, fields, before, after };
    let is_written = change.before != change.after && !arguments.dry_run;
    change.show(arguments, ctx)?;
    if is_written {
        ctx.ask("Write it?", "nothing was written", arguments.yes)?;
        change.write(left, &mut records).map_err(|error| unusable(&change.path, error))?;
    }
    change.report(is_written, ctx)?;
    Ok(Exit::Done)
}

/// Returns the file to change.
fn target(
    agent: &Agent,
    arguments: &Arguments,
    project: &Project,
) -> Result<(Scope, PathBuf), Failure> {
    let scope = match (&arguments.folder, arguments.user) {
        (Some(_), _) => Scope::Folder,
        (None, true) => Scope::User,
        (None, false) => agent.usual_scope(),
    };
    let folder = match &arguments.folder {
        Some(Some(dir)) => dir.canonicalize().map_err(|error| {
            Failure::new(Exit::Refused, format!("cannot use `{}`: {error}", dir.display()))
        })?,
        _ => project.root.clone(),
    };
    let path = agent.path(scope, &folder, &|name| std::env::var_os(name));
    let path = path.ok_or_else(|| match scope {
        Scope::Folder => {
            Failure::new(Exit::Refused, format!("{} has no file for a folder", agent.title))
                .hint("leave out `--folder`")
        }
        Scope::User => Failure::new(Exit::Refused, "`HOME` is not set"),
    })?;
    Ok((scope, path))
}

/// Returns the entry's name for a project. Some agents accept only these characters.
pub(crate) fn entry_name(project: &Project) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    let name = project.name.chars().map(|c| if is_plain(c) { c } else { '-' });
    format!("kgd-{}", name.collect::<String>())
}

fn server(
    agent: &Agent,
    project: &Project,
    places: &Places,
    tools: &str,
) -> Result<Server, Failure> {
    let is_registered = Registry::load(&places.config)?.at(&project.root).is_some();
    let selected =
        if is_registered { project.name.clone() } else { project.root.display().to_string() };
    let args = ["--project".into(), selected, "--tools".into(), tools.to_string()];
    Ok(Server {
        command: shim().display().to_string(),
        args: args.to_vec(),
        env: agent.needed(
            places,
            &|name| std::env::var_os(name),
            rustix::process::getuid().as_raw(),
        ),
    })
}

fn unusable(path: &Path, error: std::io::Error) -> Failure {
    Failure::new(Exit::Failed, format!("cannot use `{}`: {error}", path.display()))
}

fn refused(path: &Path, error: EditError) -> Failure {
    Failure::new(Exit::Refused, format!("`{}`: {error}", path.display()))
}

impl Change {
    /// Writes the change, and records what is needed to undo it.
    fn write(&self, left: Option<Left>, records: &mut Records) -> std::io::Result<()> {
        let place = self.agent.place(&self.name);
        match left {
            Some(Left::Nothing) => records.of(&self.path).remove(&self.path, &self.before)?,
            Some(Left::Text(_)) => file::replace(&self.path, &self.before, &self.after)?,
            None => {
                // Before the entry: a record without an entry does no harm.
                let made = Made::of(&self.path, &self.before, &place);
                records.note(&self.path, made.ok())?;
                return file::replace(&self.path, &self.before, &self.after);
            }
        }
        match place.entries(&self.after).is_ok_and(|it| it.is_empty()) {
            true => records.note(&self.path, None),
            false => Ok(()),
        }
    }

    fn kind(&self) -> &'static str {
        let is_known = || {
            self.agent
                .place(&self.name)
                .entries(&self.before)
                .is_ok_and(|it| it.contains_key(&self.name))
        };
        match (self.before == self.after, &self.fields) {
            (true, _) => "none",
            (_, None) => "remove",
            (_, Some(_)) if is_known() => "change",
            (_, Some(_)) => "add",
        }
    }

    /// Shows what would be written. With `--json` this is not the reply, so it goes to standard
    /// error, where the person who is asked sees it.
    fn show(&self, arguments: &Arguments, ctx: &Context) -> Result<(), Failure> {
        let mut text = match self.kind() {
            "none" => format!("`{}` is in {} already\n", self.name, self.path.display()),
            _ => format!(
                "In {}:\n{}",
                self.path.display(),
                diff::changes(&self.before, &self.after, ctx.style)
            ),
        };
        if self.fields.is_some() {
            text += &format!("{}\n", offered(&arguments.tools));
        }
        match ctx.json {
            true if arguments.yes || arguments.dry_run || !stdin().is_terminal() => {}
            true => warn(&text),
            false => ctx.print(&text)?,
        }
        Ok(())
    }

    fn report(&self, is_written: bool, ctx: &Context) -> Result<(), Failure> {
        let agent = self.agent;
        if ctx.json {
            return ctx.print_json(&json!({
                "agent": agent.name, "path": self.path, "scope": self.scope.as_str(), "server": self.name,
                "change": self.kind(), "entry": self.fields, "written": is_written
            }));
        }
        if !is_written {
            return Ok(());
        }
        let mut same = String::new();
        if self.scope != agent.usual_scope() {
            same += &format!(" --{}", self.scope.as_str());
        }
        let flags = ctx.flags();
        let command = |text: &str| flags.command(text).into_owned();
        let text = match self.fields {
            None => format!("Taken out. {} no longer starts it.\n", agent.title),
            Some(_) => format!(
                "Written. {}.\nTake it back: {}\nTry it: {}\n",
                agent.reload,
                command(&format!("kgctl setup {}{same} --undo", agent.name)),
                command(&format!("kgctl doctor --client {}{same}", agent.name)),
            ),
        };
        ctx.print(&text)
    }
}

/// Describes which tools the agent gets, and which other sets there are.
fn offered(tools: &str) -> String {
    let sets = tools.split(',').filter_map(ToolSet::parse).map(|set| {
        let n_tools = CATALOG.iter().filter(|it| it.is_in(set)).count();
        let what = match set {
            ToolSet::Default => "to ask, connect, read and write notes",
            ToolSet::Core => "to search, explain and review",
            ToolSet::Notes => "to read, write and move notes",
            ToolSet::Memory => "to remember entities and relations",
            ToolSet::Kb => "to keep entries with versions",
            ToolSet::Admin => "for `kgctl`",
        };
        format!("{} ({n_tools} {what})", set.as_str())
    });
    format!("Tools: {}. Others: --tools default,kb,memory", sets.collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tool_sets_are_checked() {
        assert_eq!(tool_sets("default, kb,").as_deref(), Ok("default,kb"));
        for wrong in ["", "admin", "default,magic"] {
            assert!(tool_sets(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn names_of_entries_are_plain() {
        let project = |name: &str| Project { name: name.into(), root: "/x".into() };
        assert_eq!(entry_name(&project("notes")), "kgd-notes");
        assert_eq!(entry_name(&project("Büro 2.0")), "kgd-B-ro-2-0");
    }
}
