//! `kgctl mcp-config`: what to paste into an agent's configuration.

use std::path::{Path, PathBuf};

use ::config::{Places, Project};
use serde_json::{Map, Value, json};

use super::context::Context;
use super::failure::{Exit, Failure};

pub(crate) fn run(ctx: &Context) -> Result<Exit, Failure> {
    let text = serde_json::to_string_pretty(&snippet(&ctx.project()?, &ctx.places()?))?;
    ctx.print(&(text + "\n"))?;
    Ok(Exit::Done)
}

/// The entry for an agent's `mcpServers`. Absolute paths, because agents start servers anywhere.
pub(crate) fn snippet(project: &Project, places: &Places) -> Value {
    let command = shim().display().to_string();
    let mut server =
        json!({ "command": command, "args": ["--project", project.root.display().to_string()] });
    let env = env(places, |name| std::env::var_os(name).is_some_and(|value| !value.is_empty()));
    if !env.is_empty() {
        server["env"] = Value::Object(env);
    }
    json!({ "mcpServers": { project.name.clone(): server } })
}

/// The places that this process was told by variables: an agent must be told them, too, or it would start
/// another daemon elsewhere.
fn env(places: &Places, is_set: impl Fn(&str) -> bool) -> Map<String, Value> {
    let variables = [
        ("KG_STATE_DIR", &places.state),
        ("KG_RUNTIME_DIR", &places.runtime),
        ("KG_CONFIG_DIR", &places.config),
    ];
    let set = variables.into_iter().filter(|(name, _)| is_set(name));
    set.map(|(name, path)| (name.to_string(), path.display().to_string().into())).collect()
}

/// `kg-mcp` beside this program, else by name alone.
fn shim() -> PathBuf {
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
