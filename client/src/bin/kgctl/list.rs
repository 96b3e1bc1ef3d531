//! `kgctl list`: lists the registered projects, whether their daemons run, and how far a hub is behind.

use std::time::Duration;

use ::config::Registry;
use ::config::registry::Registered;
use client::connect::Session;
use client::launch::{Target, locked_by, paths_of};
use client::render::day;
use client::render::health::{ProjectRow, projects};
use proto::tool::core::{HubView, Status};
use tokio::task::JoinSet;

use super::context::Context;
use super::failure::{Exit, Failure};

/// Longest wait for what daemons say.
const PATIENCE: Duration = Duration::from_secs(2);

pub(crate) async fn run(ctx: &Context) -> Result<Exit, Failure> {
    let places = ctx.places()?;
    let registry = Registry::load(&places.config)?;
    let (mut rows, mut asked) = (Vec::new(), JoinSet::new());
    for (idx, it) in registry.projects().iter().enumerate() {
        let paths = paths_of(&places, &it.project()).ok();
        // Checks the lock before it connects: under systemd, a connection would start the daemon.
        let is_running = paths.is_some_and(|it| locked_by(&it.lock).is_some());
        rows.push(row(it, is_running));
        if is_running && !ctx.is_of_hub() {
            let target = Target::new(&places, it.project())?;
            asked.spawn(async move { (idx, hub(&target).await) });
        }
    }
    let all = async {
        while let Some(said) = asked.join_next().await {
            if let Ok((idx, hub)) = said
                && let Some(row) = rows.get_mut(idx)
            {
                row.hub = hub;
            }
        }
    };
    // What does not answer in time is left out.
    let _ = tokio::time::timeout(PATIENCE, all).await;
    ctx.print_reply(&rows, |rows| projects(rows, ctx.style))?;
    Ok(Exit::Done)
}

async fn hub(target: &Target) -> Option<HubView> {
    let session = Session::open(target.connect().ok()?).await.ok()?;
    let hub = session.call(&Status::default()).await.ok()?.hub;
    session.close().await;
    hub
}

fn row(it: &Registered, is_running: bool) -> ProjectRow {
    let state = match (it.root.is_dir(), is_running) {
        (false, _) => "folder missing",
        (true, true) => "running",
        (true, false) => "stopped",
    };
    ProjectRow {
        name: it.name.clone(),
        root: it.root.display().to_string(),
        default: it.default,
        state: state.to_string(),
        hub: None,
        // Nobody registered a project of a hub.
        added: if it.added == 0 { "-".to_string() } else { day(it.added) },
        read_only: it.read_only,
    }
}
