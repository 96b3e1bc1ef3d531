//! `kgctl doctor --client`: tries the entry in an agent's file as the agent would.
//!
//! In: an agent. Out: findings: the file, and each step of the handshake with its time.
//! Invariants: changes no file; the server that it starts is stopped.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use ::config::Project;
use client::agent::handshake::{self, PATIENCE};
use client::agent::{Agent, Scope, Server, file};
use client::render::health::{Finding, Verdict};
use serde_json::Value;

use super::super::setup::entry_name;
use super::{good, warning};

/// Tries each entry of kgd for the project; without a project, each entry of kgd.
pub(super) async fn findings(agent: &Agent, project: Option<&Project>) -> Vec<Finding> {
    let here = std::env::current_dir().unwrap_or_default();
    let folder = project.map_or(here.as_path(), |it| it.root.as_path());
    let (mut found, entries, paths) = entries(agent, folder, project);
    if entries.is_empty() && found.is_empty() {
        let detail = format!("no entry of kgd in {}", paths.join(" or "));
        found.push(bad("file", detail, Some(format!("`kgctl setup {}` adds one", agent.name))));
    }
    let environment: BTreeMap<_, _> = agent.environment(&std::env::vars_os().collect());
    for Entry { path, name, server } in entries {
        let command: Vec<&str> =
            std::iter::once(&server.command).chain(&server.args).map(String::as_str).collect();
        found.push(good(
            "file",
            format!("{}: `{name}` runs `{}`", path.display(), command.join(" ")),
        ));
        let mut steps = Vec::new();
        let done = handshake::run(&server, &environment, folder, PATIENCE, &mut steps).await;
        found.extend(
            steps
                .into_iter()
                .map(|it| good(&it.name, format!("{} ({} ms)", it.detail, it.took.as_millis()))),
        );
        if let Err(trouble) = done {
            found.push(bad(&trouble.name, trouble.why, trouble.hint));
        }
    }
    found
}

fn bad(subject: &str, detail: String, hint: Option<String>) -> Finding {
    Finding { verdict: Verdict::Bad, hint, ..good(subject, detail) }
}

/// An entry that starts a server.
struct Entry {
    path: PathBuf,
    name: String,
    server: Server,
}

/// Returns the problems of the agent's files, the entries to try, and the files that were read. As
/// for agents, an entry of a folder takes precedence over one of the user with the same name.
fn entries(
    agent: &Agent,
    folder: &Path,
    project: Option<&Project>,
) -> (Vec<Finding>, Vec<Entry>, Vec<String>) {
    let (mut found, mut paths) = (Vec::new(), Vec::new());
    let mut entries: Vec<Entry> = Vec::new();
    let scopes = [Scope::Folder, Scope::User].into_iter();
    for path in scopes.filter_map(|scope| agent.path(scope, folder, &|name| std::env::var_os(name)))
    {
        paths.push(format!("`{}`", path.display()));
        let listed = file::read(&path).map_err(|error| error.to_string());
        let listed = listed
            .and_then(|text| agent.place("").entries(&text).map_err(|error| error.to_string()));
        match listed {
            Err(why) => found.push(bad("file", format!("{}: {why}", path.display()), None)),
            Ok(listed) => {
                entries.extend(listed.into_iter().filter_map(|(name, entry): (String, Value)| {
                    let server = Server::read(&entry).filter(Server::is_ours)?;
                    Some(Entry { path: path.clone(), name, server })
                }))
            }
        }
    }
    let mut known = std::collections::BTreeSet::new();
    entries.retain(|it| known.insert(it.name.clone()));
    let own = project.map(entry_name);
    if entries.iter().any(|it| Some(&it.name) == own.as_ref()) {
        entries.retain(|it| Some(&it.name) == own.as_ref());
    } else if let (Some(own), [_, ..]) = (own, entries.as_slice()) {
        let hint = format!("`kgctl setup {}` adds it", agent.name);
        found.push(warning("file", format!("no entry `{own}`; trying the others of kgd"), &hint));
    }
    (found, entries, paths)
}
