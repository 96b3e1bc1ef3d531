//! `kgctl list`: lists the registered projects, and whether their daemons run.

use ::config::registry::Registered;
use ::config::{Places, Registry};
use client::render::day;
use client::render::health::{ProjectRow, projects};

use super::context::Context;
use super::failure::{Exit, Failure};

pub(crate) fn run(ctx: &Context) -> Result<Exit, Failure> {
    let places = ctx.places()?;
    let registry = Registry::load(&places.config)?;
    let rows: Vec<_> = registry.projects().iter().map(|it| row(it, &places)).collect();
    ctx.print_reply(&rows, |rows| projects(rows, ctx.style))?;
    Ok(Exit::Done)
}

fn row(it: &Registered, places: &Places) -> ProjectRow {
    // Checks the lock instead of connecting: under systemd, a connection would start the daemon.
    let paths = places.project(&it.project()).ok();
    let pid = paths.and_then(|paths| client::launch::locked_by(&paths.lock));
    let state = match (it.root.is_dir(), pid) {
        (false, _) => "folder missing",
        (true, Some(_)) => "running",
        (true, None) => "stopped",
    };
    ProjectRow {
        name: it.name.clone(),
        root: it.root.display().to_string(),
        default: it.default,
        state: state.to_string(),
        added: day(it.added),
        read_only: it.read_only,
    }
}
