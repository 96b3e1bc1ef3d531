//! kg-mcp: connects an agent that speaks MCP over its standard input and output with a project's daemon.
//!
//! In: flags, and the agent's messages. Out: the daemon's messages.
//! Invariants: light, for every agent starts one; it ends with its agent.
//! Not here: everything about messages (`client::shim`).

use std::io::Write;
use std::process::ExitCode;

use client::launch::{Life, Target, run_if_launcher};
use client::shim::{Shim, pump};
use config::{Places, which_project};
use proto::tool::ToolSet;

const HELP: &str = "\
Connects an agent that speaks MCP over standard input and output with the kgd daemon of one project.
Starts the daemon when none runs.

Usage: kg-mcp [--project NAME|DIR] [--tools SETS] [--client NAME]

  --project NAME|DIR  which project; else `KG_PROJECT`, the registered folder around the current one, or the
                      only or default project
  --tools SETS        tool sets to offer, separated by commas [default: core]
  --client NAME       name shown in the daemon's log [default: kg-mcp]
  --version           print the version
  --help              print this
";

/// What the flags say.
#[derive(Debug, PartialEq, Eq)]
struct Flags {
    project: Option<String>,
    tools: Vec<String>,
    client: String,
}

/// What to do.
#[derive(Debug, PartialEq, Eq)]
enum Command {
    Serve(Flags),
    Print(String),
}

fn main() -> ExitCode {
    if let Some(code) = run_if_launcher() {
        return code;
    }
    let arguments = std::env::args_os().skip(1).map(|it| it.to_string_lossy().into_owned());
    let done = parse(arguments).and_then(|command| match command {
        Command::Print(text) => {
            std::io::stdout().write_all(text.as_bytes()).map_err(|error| error.to_string())
        }
        Command::Serve(flags) => serve(flags),
    });
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            // There is nobody left to tell when this fails.
            let _ = writeln!(std::io::stderr(), "error: {message}");
            ExitCode::from(2)
        }
    }
}

fn serve(flags: Flags) -> Result<(), String> {
    let places = Places::from_env().map_err(|error| error.to_string())?;
    let project =
        which_project(&places, flags.project.as_deref()).map_err(|error| error.to_string())?;
    let target = Target::new(&places, project).map_err(|error| error.to_string())?;
    let mut is_told = false;
    let dial = move || {
        let stream = target.connect_or_start(Life::UntilIdle).map_err(|error| error.to_string())?;
        let note = if is_told { None } else { target.version_note("kg-mcp") };
        if let Some(note) = note {
            // Once; agents keep what their servers say here, and there is nobody left to tell when it fails.
            is_told = true;
            let _ = std::io::stderr().write_all(note.as_bytes());
        }
        Ok(stream)
    };
    let shim = Shim::new(&flags.tools, &flags.client);
    pump::run(shim, std::io::stdin(), std::io::stdout(), dial).map_err(|error| error.to_string())
}

/// By hand, because a library for flags would be half of this program.
fn parse(arguments: impl Iterator<Item = String>) -> Result<Command, String> {
    let mut flags = Flags {
        project: None,
        tools: vec![ToolSet::Core.as_str().to_string()],
        client: "kg-mcp".to_string(),
    };
    let mut arguments = arguments;
    while let Some(argument) = arguments.next() {
        let (name, attached) = match argument.split_once('=') {
            Some((name, value)) if name.starts_with("--") => {
                (name.to_string(), Some(value.to_string()))
            }
            _ => (argument, None),
        };
        let mut value = || {
            let value = attached.clone().or_else(|| arguments.next());
            value.ok_or_else(|| format!("`{name}` needs a value\nhint: `kg-mcp --help`"))
        };
        match name.as_str() {
            "--project" => flags.project = Some(value()?),
            "--tools" => flags.tools = tool_sets(&value()?)?,
            "--client" => flags.client = value()?,
            "--help" | "-h" => return Ok(Command::Print(HELP.to_string())),
            "--version" | "-V" => {
                return Ok(Command::Print(format!("kg-mcp {}\n", proto::version())));
            }
            other => return Err(format!("unknown flag `{other}`\nhint: `kg-mcp --help`")),
        }
    }
    Ok(Command::Serve(flags))
}

fn tool_sets(text: &str) -> Result<Vec<String>, String> {
    let names = text.split(',').map(str::trim).filter(|name| !name.is_empty());
    let sets = names.map(|name| match ToolSet::parse(name) {
        Some(ToolSet::Admin) => Err("tool set `admin` is for `kgctl`, not for agents".to_string()),
        Some(set) => Ok(set.as_str().to_string()),
        None => Err(format!("no tool set is called `{name}`\nhint: sets are `core` and `notes`")),
    });
    sets.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(arguments: &[&str]) -> Result<Command, String> {
        parse(arguments.iter().map(|it| it.to_string()))
    }

    #[test]
    fn flags_may_be_apart_or_attached() {
        let expected = |project: Option<&str>, client: &str| {
            let project = project.map(str::to_string);
            Ok(Command::Serve(Flags { project, tools: vec!["core".into()], client: client.into() }))
        };
        assert_eq!(parsed(&[]), expected(None, "kg-mcp"));
        assert_eq!(parsed(&["--project", "~/a=b", "--client=x=y"]), expected(Some("~/a=b"), "x=y"));
        assert_eq!(parsed(&["--project=a", "--tools", "core,"]), expected(Some("a"), "kg-mcp"));
    }

    #[test]
    fn what_cannot_be_meant_is_refused() {
        for wrong in [&["--project"][..], &["notes"], &["--tools", "admin"], &["--tools=magic"]] {
            assert!(parsed(wrong).is_err(), "{wrong:?}");
        }
        assert!(matches!(parsed(&["--project", "x", "--help"]), Ok(Command::Print(_))));
    }
}
