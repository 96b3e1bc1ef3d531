//! `kgctl mcp-config`: prints the MCP configuration for an agent.

use std::path::{Path, PathBuf};

use ::config::{Places, Project, Registry, which_project};
use serde_json::{Map, Value, json};

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

/// Returns the entry for an agent's `mcpServers`, with the tool sets to offer if not those of `kg-mcp` itself. Paths
/// are absolute, because agents start servers anywhere.
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
    let env = env(places, |name| std::env::var_os(name).is_some_and(|value| !value.is_empty()));
    if !env.is_empty() {
        server["env"] = Value::Object(env);
    }
    json!({ "mcpServers": { name: server } })
}

/// Returns the places that were set by variables: the agent needs the same ones, or it would start another daemon
/// elsewhere.
fn env(places: &Places, is_set: impl Fn(&str) -> bool) -> Map<String, Value> {
    let variables = [
        ("KG_STATE_DIR", &places.state),
        ("KG_RUNTIME_DIR", &places.runtime),
        ("KG_CONFIG_DIR", &places.config),
    ];
    let set = variables.into_iter().filter(|(name, _)| is_set(name));
    set.map(|(name, path)| (name.to_string(), path.display().to_string().into())).collect()
}

/// `kg-mcp` in the folder of this program, else only its name.
pub(crate) fn shim() -> PathBuf {
    let here = std::env::current_exe().ok();
    let beside = here.as_deref().and_then(Path::parent).map(|dir| dir.join("kg-mcp"));
    beside.filter(|path| path.is_file()).unwrap_or_else(|| PathBuf::from("kg-mcp"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_places_that_were_chosen_are_passed_on() {
        let places = Places { state: "/s".into(), runtime: "/r".into(), config: "/c".into() };
        assert!(env(&places, |_| false).is_empty());
        let chosen = Value::from(env(&places, |name| name != "KG_RUNTIME_DIR"));
        assert_eq!(chosen, json!({ "KG_STATE_DIR": "/s", "KG_CONFIG_DIR": "/c" }));
    }
}
