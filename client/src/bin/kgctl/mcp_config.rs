//! `kgctl mcp-config`: what to paste into an agent's configuration.

use std::path::{Path, PathBuf};

use ::config::Project;
use serde_json::{Value, json};

use super::context::Context;
use super::failure::{Exit, Failure};

pub(crate) fn run(ctx: &Context) -> Result<Exit, Failure> {
    let text = serde_json::to_string_pretty(&snippet(&ctx.project()?))?;
    ctx.print(&(text + "\n"))?;
    Ok(Exit::Done)
}

/// The entry for an agent's `mcpServers`. Absolute paths, because agents start servers anywhere.
pub(crate) fn snippet(project: &Project) -> Value {
    let command = shim().display().to_string();
    let server =
        json!({ "command": command, "args": ["--project", project.root.display().to_string()] });
    json!({ "mcpServers": { project.name.clone(): server } })
}

/// `kg-mcp` beside this program, else by name alone.
fn shim() -> PathBuf {
    let here = std::env::current_exe().ok();
    let beside = here.as_deref().and_then(Path::parent).map(|dir| dir.join("kg-mcp"));
    beside.filter(|path| path.is_file()).unwrap_or_else(|| PathBuf::from("kg-mcp"))
}
