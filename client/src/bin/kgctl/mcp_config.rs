//! `kgctl mcp-config`: prints the MCP configuration for an agent.

use std::path::{Path, PathBuf};

use ::config::{Places, Project, Registry, which_project};
use client::agent::needed;
use serde_json::{Value, json};

use super::context::{Context, warn};
use super::failure::{Exit, Failure};

/// Print what to paste into an agent's MCP configuration.
///
/// One server can serve several projects: name them, or give `--all-projects`. Its tools then take a `project`;
/// searches without one go to all projects, other calls to the project of the folder in which the agent starts.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Projects to serve, by name or folder; the current project when left out.
    projects: Vec<String>,
    /// Serve every project that is registered when the agent starts.
    #[arg(long, conflicts_with = "projects")]
    all_projects: bool,
}

pub(crate) fn run(arguments: &Arguments, ctx: &Context) -> Result<Exit, Failure> {
    let places = ctx.places()?;
    let entry = if arguments.all_projects {
        server(SEVERAL, vec!["--all-projects".to_string()], &places)
    } else if arguments.projects.is_empty() {
        let project = ctx.project()?;
        if Registry::load(&places.config)?.projects().len() > 1 {
            warn(&format!(
                "note: this serves only `{}`; for several projects: `kgctl mcp-config --all-projects`, or name \
                 them\n",
                project.name
            ));
        }
        snippet(&project, &places, None)
    } else {
        let named = arguments.projects.iter().map(|name| which_project(&places, Some(name)));
        let named = named.collect::<Result<Vec<_>, _>>()?;
        match named.as_slice() {
            [only] => snippet(only, &places, None),
            several => server(SEVERAL, several.iter().flat_map(flag).collect(), &places),
        }
    };
    ctx.print(&(serde_json::to_string_pretty(&entry)? + "\n"))?;
    Ok(Exit::Done)
}

/// Name of a server for several projects.
const SEVERAL: &str = "kgd";

/// Returns the entry for an agent's `mcpServers`, with the tool sets if they differ from the
/// default of `kg-mcp`. Paths are absolute, because agents start servers in any folder.
pub(crate) fn snippet(project: &Project, places: &Places, tools: Option<&str>) -> Value {
    let mut args = flag(project).to_vec();
    args.extend(tools.into_iter().flat_map(|tools| ["--tools".to_string(), tools.to_string()]));
    server(&project.name, args, places)
}

fn flag(project: &Project) -> [String; 2] {
    ["--project".to_string(), project.root.display().to_string()]
}

fn server(name: &str, args: Vec<String>, places: &Places) -> Value {
    let mut server = json!({ "command": shim().display().to_string(), "args": args });
    // The agent is not known. If it passes on no variables, the server would otherwise start
    // another daemon elsewhere.
    let uid = rustix::process::getuid().as_raw();
    let env = needed(false, places, &|name| std::env::var_os(name), uid);
    if !env.is_empty() {
        server["env"] = json!(env);
    }
    json!({ "mcpServers": { name: server } })
}

/// Returns `kg-mcp` in the folder of this program, otherwise only its name.
pub(crate) fn shim() -> PathBuf {
    let here = std::env::current_exe().ok();
    let beside = here.as_deref().and_then(Path::parent).map(|dir| dir.join("kg-mcp"));
    beside.filter(|path| path.is_file()).unwrap_or_else(|| PathBuf::from("kg-mcp"))
}
