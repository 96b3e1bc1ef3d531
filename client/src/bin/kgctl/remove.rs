//! `kgctl remove`: unregisters a project; its documents are kept, and unless purged its index too.

use ::config::registry::Registered;
use ::config::{Places, Registry};
use client::launch::Target;
use serde_json::json;

use super::context::Context;
use super::failure::{Exit, Failure};
use super::stop::stop;
use super::systemd;

/// Unregister a project and stop its daemon. The documents stay as they are.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Name or folder; the current project when left out.
    name: Option<String>,
    /// Also delete its index and ledger: review decisions, entry versions and kept versions of notes are lost.
    #[arg(long)]
    purge: bool,
    /// Do not ask for confirmation.
    #[arg(long)]
    yes: bool,
}

pub(crate) async fn run(arguments: Arguments, ctx: &Context) -> Result<Exit, Failure> {
    let places = ctx.places()?;
    let wanted = match (&arguments.name, ctx.project_flag()) {
        (Some(name), _) => name.clone(),
        (None, Some(flag)) => flag.to_string(),
        (None, None) => ctx.project()?.name,
    };
    let found = find(&places, &wanted)?;
    forget(&found, arguments.purge, arguments.yes, ctx).await
}

/// Returns the registered project of that name or folder.
pub(crate) fn find(places: &Places, name: &str) -> Result<Registered, Failure> {
    let registry = Registry::load(&places.config)?;
    registry.find(name).cloned().ok_or_else(|| {
        Failure::new(Exit::NothingFound, format!("no project is called `{name}`"))
            .hint("`kgctl list` lists the projects")
    })
}

/// Stops the daemon and unregisters the project; with `purge` also deletes its index, after a
/// confirmation unless `yes`.
pub(crate) async fn forget(
    found: &Registered,
    purge: bool,
    yes: bool,
    ctx: &Context,
) -> Result<Exit, Failure> {
    let places = ctx.places()?;
    let target = Target::new(&places, found.project())?;
    if purge {
        let dir = target.paths.dir.display();
        ctx.confirm(&format!("`{dir}` with all review decisions would be deleted."), yes)?;
    }
    systemd::uninstall(&target);
    // Before its daemon ends: a session that serves all projects would start it again.
    Registry::update(&places.config, |registry| Ok(registry.remove(&found.name)))?;
    stop(&target).await?;
    if purge {
        std::fs::remove_dir_all(&target.paths.dir)?;
    }
    let reply = json!({ "name": found.name, "root": found.root, "purged": purge });
    let rest = if purge { "its index was deleted" } else { "its index is kept" };
    ctx.print_reply(&reply, |_| {
        format!("{}: removed; its documents are kept, {rest}\n", found.name)
    })?;
    Ok(Exit::Done)
}
