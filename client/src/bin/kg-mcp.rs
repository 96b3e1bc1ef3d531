//! kg-mcp: connects an agent that speaks MCP on its standard input and output to the daemon of one project, or to those
//! of several.
//!
//! In: flags, and the agent's messages. Out: the daemon's messages. With `--http`, agents come over HTTP instead.
//! Invariants: stays small, because every agent starts one; ends with its agent; for a single project, messages pass
//! through unchanged.

use std::ffi::OsString;
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command as Process, ExitCode};

use client::gateway::pump::{Dial, Reach, Roster};
use client::gateway::{self, Choice, Gateway, Served, Surroundings, choose};
use client::http;
use client::launch::{Life, Target, run_if_launcher};
use client::shim::{Shim, pump};
use config::command::{ProjectFlags, operand, path_word};
use config::{Places, Project, Registry, Settings, which_project};
use proto::form::Form;
use proto::tool::ToolSet;

const HELP: &str = "\
Connects an agent that speaks MCP over standard input and output with the kgd daemon of one project, or of several.
Starts a daemon when none runs.

Usage: kg-mcp [--project NAME|DIR]... [--all-projects] [--hub URL] [--tools SETS] [--structured]
              [--client NAME] [--http ADDRESS]

  --project NAME|DIR  which project; else `KG_PROJECT`, the registered folder around the current one, or the only or
                      default project. Repeat it, or separate names by commas, to serve several: tools then take a
                      `project`; searches without one go to all projects, other reads to the project of the current
                      folder or the default one, and writes to that of the current folder only
  --all-projects      every registered project, also those that are registered, renamed or removed while this runs
  --hub URL           the projects of a hub instead of those of this machine, such as postgres://ROLE@HOST/DATABASE; all
                      that its role may see, or those that `--project` names. The password is taken from `PGPASSWORD`
  --tools SETS        tool sets to offer, separated by commas: default, core, notes, memory, kb [default: default]
  --structured        return structured content beside the text, and list the schemas of replies
  --client NAME       name shown in the daemon's log [default: kg-mcp]
  --http ADDRESS      serve agents over HTTP, such as at 127.0.0.1:8765, until stopped: Streamable HTTP at /mcp, SSE
                      for older clients at /sse. With several projects, the header `X-Memory-Workspace` names the one
                      of a session; with `--hub`, one that names none is about all. Clients need the token that
                      `kgctl http token --all-projects` prints; see the settings `http.*`
  --version           print the version
  --help              print this
";

/// The parsed flags.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Flags {
    projects: Vec<String>,
    all_projects: bool,
    tools: Vec<String>,
    /// What results contain, if the user set it.
    form: Option<Form>,
    client: String,
    http: Option<String>,
    /// The address of the hub to ask, if any.
    hub: Option<String>,
}

/// What to run.
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
            // Nothing can be done if standard error is gone.
            let _ = writeln!(std::io::stderr(), "error: {message}");
            ExitCode::from(2)
        }
    }
}

fn serve(mut flags: Flags) -> Result<(), String> {
    let mut places = Places::from_env().map_err(|error| error.to_string())?;
    if let Some(url) = &flags.hub {
        without_password(url);
        places = client::hub::reach(&places, url).map_err(|error| error.to_string())?;
        flags.all_projects = flags.projects.is_empty();
    }
    if let Some(address) = &flags.http {
        return serve_http(&flags, &places, address);
    }
    let project = match flags.projects.as_slice() {
        [only] if !flags.all_projects && !only.contains(',') => which_project(&places, Some(only)),
        _ => return serve_chosen(&flags, &places),
    };
    serve_one(&flags, &places, project.map_err(|error| error.to_string())?)
}

/// Begins again without the password in the arguments, which other users of this machine could read for as long as this
/// runs. Goes on as it is where that is not possible.
fn without_password(url: &str) {
    let mut again = Process::new("/proc/self/exe");
    let shown = client::hub::pass_password(&mut again, url);
    if shown != url {
        let argument = |it: OsString| it.to_string_lossy().replace(url, &shown);
        let _ = again.args(std::env::args_os().skip(1).map(argument)).exec();
    }
}

fn serve_one(flags: &Flags, places: &Places, project: Project) -> Result<(), String> {
    let shim = Shim::new(&project.name, &flags.tools, &flags.client).in_form(flags.form);
    let target = Target::new(places, project).map_err(|error| error.to_string())?;
    let dial = dial(target);
    pump::run(shim, std::io::stdin(), std::io::stdout(), dial).map_err(|error| error.to_string())
}

fn dial(target: Target) -> impl FnMut() -> Result<UnixStream, String> {
    let mut has_warned = false;
    let is_registered = {
        let (config, root) = (target.places.config.clone(), target.project.root.clone());
        // A registry that cannot be read says nothing.
        move || Registry::load(&config).ok().map(|it| it.at(&root).is_some())
    };
    let was_registered = is_registered() == Some(true);
    move || {
        // Its daemon was stopped, and must not start again for a session that began before.
        if was_registered && is_registered() == Some(false) {
            let folder = path_word(&target.project.root);
            return Err(format!(
                "the project `{}` was removed\nhint: `kgctl init {folder}` registers its folder again",
                target.project.name
            ));
        }
        let stream = target
            .connect_or_start(Life::UntilIdle)
            .map_err(|error| advice(&target.places, &target.project, &error))?;
        let note = if has_warned { None } else { target.version_note("kg-mcp") };
        if let Some(note) = note {
            // Only once: agents show or store what their servers print here.
            has_warned = true;
            let flags = ProjectFlags::anywhere(&target.places, &target.project);
            let _ = std::io::stderr().write_all(flags.in_text(&note).as_bytes());
        }
        Ok(stream)
    }
}

/// Returns why a project cannot be reached, and what to do about it.
fn advice(places: &Places, project: &Project, error: &dyn std::fmt::Display) -> String {
    let mut text = error.to_string();
    if !text.contains("\nhint: ") {
        text += "\nhint: see `kgctl doctor`";
    }
    ProjectFlags::anywhere(places, project).in_text(&text).into_owned()
}

/// Serves the projects that a list or a wildcard selects; that may still be a single one, or none yet.
fn serve_chosen(flags: &Flags, places: &Places) -> Result<(), String> {
    let served = match chosen(flags, places)? {
        Choice::One(project) => return serve_one(flags, places, project),
        Choice::Several(served) => dressed(flags, places, served)?,
    };
    let chosen = served.projects().cloned().collect();
    let (gateway, reach) = (gateway(flags, served), reach(flags, places));
    gateway::pump::run(
        gateway,
        std::io::stdin(),
        std::io::stdout(),
        reach,
        roster(flags, places, chosen),
    )
    .map_err(|error| error.to_string())
}

fn chosen(flags: &Flags, places: &Places) -> Result<Choice, String> {
    among(places, |around| choose(&flags.projects, flags.all_projects, around))
}

/// Chooses among the projects that are registered now.
fn among<T>(
    places: &Places,
    choose: impl FnOnce(Surroundings<'_>) -> Result<T, String>,
) -> Result<T, String> {
    let registry = Registry::load(&places.config).map_err(|error| error.to_string())?;
    let env = std::env::var("KG_PROJECT").ok();
    let cwd = std::env::current_dir().unwrap_or_default();
    choose(Surroundings { registry: &registry, env: env.as_deref(), cwd: &cwd })
}

/// Completes the projects with what their places say.
fn dressed(flags: &Flags, places: &Places, served: Served) -> Result<Served, String> {
    match flags.hub {
        Some(_) => client::hub::serving(places, served).map_err(|error| error.to_string()),
        None => Ok(served.with_read_only(|root| !is_writable(places, root))),
    }
}

/// Returns whether tools may write. Settings that no daemon would accept do not make a project writable.
fn is_writable(places: &Places, root: &Path) -> bool {
    config::load::load(places, Some(root), &[]).is_ok_and(|it| it.settings.write)
}

/// What the user has set, also for the projects of a hub, whose places have no settings.
fn settings() -> Result<Settings, String> {
    let places = Places::from_env().map_err(|error| error.to_string())?;
    let loaded = config::load::load(&places, None, &[]).map_err(|error| error.to_string())?;
    Ok(loaded.settings)
}

fn gateway(flags: &Flags, served: Served) -> Gateway {
    let is_structured = match flags.form {
        Some(form) => form != Form::Text,
        None => settings().is_ok_and(|it| it.serve.structured),
    };
    Gateway::new(served, gateway::PATIENCE).structured(is_structured).offering(&flags.tools)
}

fn reach(flags: &Flags, places: &Places) -> Reach {
    let (flags, places) = (flags.clone(), places.clone());
    Box::new(move |project| {
        let shim = Shim::new(&project.name, &flags.tools, &flags.client).in_form(flags.form);
        (shim, lazy_dial(places.clone(), project.clone()))
    })
}

/// Opens sessions over all projects of a hub.
fn whole(flags: &Flags, places: &Places) -> http::Whole {
    let (flags, places) = (flags.clone(), places.clone());
    Box::new(move |projects| {
        let served = match flags.all_projects {
            true => among(&places, gateway::all)?,
            false => Served::new(&projects)?,
        };
        let gateway = gateway(&flags, dressed(&flags, &places, served)?);
        gateway::pump::spawn(gateway, reach(&flags, &places), roster(&flags, &places, projects))
            .map_err(|error| error.to_string())
    })
}

/// Follows the registry: of those that were chosen, what is removed or renamed while this runs, such as by a tool; if
/// all of its projects are served, also what is added. It is read again only when its file has changed.
fn roster(flags: &Flags, places: &Places, chosen: Vec<Project>) -> Option<Roster> {
    let (flags, places) = (flags.clone(), places.clone());
    let file = places.config.join(config::registry::FILE_NAME);
    // The file is replaced as a whole.
    let state = move || file.metadata().map(|it| (it.ino(), it.mtime_nsec(), it.len())).ok();
    let mut seen = None;
    let then = Registry::load(&places.config).ok()?;
    Some(Box::new(move || {
        let now = Some(state());
        if now == seen {
            return None;
        }
        let served = among(&places, |around| match flags.all_projects {
            true => gateway::all(around),
            false => gateway::left(&chosen, &then, around),
        });
        let served = dressed(&flags, &places, served.ok()?).ok()?;
        seen = now;
        Some(served)
    }))
}

/// Serves the selected projects over HTTP.
fn serve_http(flags: &Flags, places: &Places, address: &str) -> Result<(), String> {
    let projects = match chosen(flags, places)? {
        Choice::One(project) => vec![project],
        Choice::Several(served) => served.projects().cloned().collect(),
    };
    let dials = places.clone();
    let served = http::Served {
        projects,
        registry: flags.all_projects.then(|| places.config.clone()),
        tools: flags.tools.clone(),
        form: flags.form,
        client: flags.client.clone(),
        dial: Box::new(move |project| lazy_dial(dials.clone(), project)),
        whole: flags.hub.is_some().then(|| whole(flags, places)),
    };
    http::serve(address, &settings()?.http, &places.http_token(), served)
}

/// Like [`dial`], for a project that may be unusable without affecting the others.
fn lazy_dial(places: Places, project: Project) -> Dial {
    let mut reach = None;
    Box::new(move || {
        let target = Target::new(&places, project.clone());
        let target = target.map_err(|error| advice(&places, &project, &error))?;
        // Checked on each call: a folder can disappear while this runs.
        if !project.root.is_dir() && target.holder().is_none() {
            return Err(format!(
                "the folder of `{}`, `{}`, is not there\nhint: `kgctl project remove {}` if it is gone for good",
                project.name,
                project.root.display(),
                operand(&project.name),
            ));
        }
        reach.get_or_insert_with(|| dial(target))()
    })
}

/// Parses flags by hand; a library for it would be half of this program.
fn parse(arguments: impl Iterator<Item = String>) -> Result<Command, String> {
    let mut flags = Flags {
        projects: Vec::new(),
        all_projects: false,
        tools: vec![ToolSet::Default.as_str().to_string()],
        form: None,
        client: "kg-mcp".to_string(),
        http: None,
        hub: None,
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
            "--project" => flags.projects.push(value()?),
            "--all-projects" => flags.all_projects = true,
            "--tools" => flags.tools = tool_sets(&value()?)?,
            "--structured" => flags.form = Some(Form::Structured),
            "--client" => flags.client = value()?,
            "--http" => flags.http = Some(value()?),
            "--hub" => flags.hub = Some(value()?),
            "--help" | "-h" => return Ok(Command::Print(HELP.to_string())),
            "--version" | "-V" => {
                return Ok(Command::Print(format!("kg-mcp {}\n", proto::version())));
            }
            other => return Err(format!("unknown flag `{other}`\nhint: `kg-mcp --help`")),
        }
    }
    if flags.all_projects && !flags.projects.is_empty() {
        return Err("`--all-projects` and `--project` cannot both be given\nhint: leave one out"
            .to_string());
    }
    Ok(Command::Serve(flags))
}

fn tool_sets(text: &str) -> Result<Vec<String>, String> {
    let names = text.split(',').map(str::trim).filter(|name| !name.is_empty());
    let sets = names.map(|name| match ToolSet::parse(name) {
        Some(ToolSet::Admin) => Err("tool set `admin` is for `kgctl`, not for agents".to_string()),
        Some(set) => Ok(set.as_str().to_string()),
        None => {
            Err(format!("no tool set is called `{name}`\nhint: sets are {}", ToolSet::listing()))
        }
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
        let expected = |projects: &[&str], client: &str| {
            let projects = projects.iter().map(|it| it.to_string()).collect();
            let (tools, client) = (vec!["default".into()], client.into());
            let (all_projects, form, http, hub) = (false, None, None, None);
            Ok(Command::Serve(Flags { projects, all_projects, tools, form, client, http, hub }))
        };
        assert_eq!(parsed(&[]), expected(&[], "kg-mcp"));
        assert_eq!(parsed(&["--project", "~/a=b", "--client=x=y"]), expected(&["~/a=b"], "x=y"));
        assert_eq!(parsed(&["--project=a", "--tools", "default,"]), expected(&["a"], "kg-mcp"));
        assert_eq!(parsed(&["--project=a", "--project", "b"]), expected(&["a", "b"], "kg-mcp"));
    }

    #[test]
    fn what_cannot_be_meant_is_refused() {
        for wrong in [
            &["--project"][..],
            &["notes"],
            &["--all-projects", "--project=a"],
            &["--tools", "admin"],
            &["--tools=magic"],
            &["--http"],
        ] {
            assert!(parsed(wrong).is_err(), "{wrong:?}");
        }
        assert!(matches!(parsed(&["--project", "x", "--help"]), Ok(Command::Print(_))));
    }
}
