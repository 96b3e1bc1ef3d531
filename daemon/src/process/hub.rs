//! Hub: the jobs of `kgd` with a hub that need no folder, and the front end that serves copies of its projects.
//!
//! In: a hub's address, and a job. Out: one line of JSON; or a front end, until it is asked to stop.

mod copy;
mod fit;
mod front;
mod waiting;

use config::command::ProjectFlags;
use std::io::Write as _;
use std::process::ExitCode;

use hub::{Address, Grant, Named, Publisher, Settled};
use index::store::Readers;
use serde_json::{Value, json};

use super::Options;
use server::project::predicates_of;

/// A job with a hub.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HubJob {
    /// Serve its projects.
    Serve,
    /// Migrate its tables to the current version.
    Migrate,
    /// Give a role a right to a project.
    Grant {
        /// The project.
        project: String,
        /// The role.
        role: String,
        /// Also the right to publish.
        publish: bool,
    },
    /// Revoke all rights of a role to a project.
    Revoke {
        /// The project.
        project: String,
        /// The role.
        role: String,
    },
    /// State that two entities, each `PROJECT:ENTITY`, are the same thing.
    Same {
        /// The entities.
        pair: [String; 2],
        /// Withdraw the statement.
        undo: bool,
    },
    /// Publish what is committed here.
    Publish {
        /// The project's name there; none means the one in the settings, else its own.
        as_project: Option<String>,
        /// Even if another folder has published it.
        take_over: bool,
    },
    /// Compare its contents with what is committed here.
    Compare {
        /// The project's name there.
        as_project: Option<String>,
    },
}

/// Does the job and returns the exit code.
pub(super) fn run(options: &Options, url: &str, job: &HubJob) -> anyhow::Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(super::N_ASYNC_THREADS)
        .thread_name("kgd")
        .enable_all()
        .build()?;
    if *job == HubJob::Serve {
        let code = runtime.block_on(front::live(options, url));
        runtime.shutdown_timeout(super::LAST_COMMIT);
        return code.or_else(exit_code_of);
    }
    match work(options, &runtime, url, job) {
        Ok(reply) => {
            // The job is done even if nobody reads the reply.
            let _ = writeln!(std::io::stdout(), "{reply}");
            Ok(ExitCode::SUCCESS)
        }
        Err(error) => exit_code_of(error),
    }
}

/// Like [`super::exit_code_of`], for the hub's errors.
fn exit_code_of(error: anyhow::Error) -> anyhow::Result<ExitCode> {
    let Some(known) = error.downcast_ref::<hub::HubError>() else { return Err(error) };
    super::report(&known.to_string(), &ProjectFlags::default());
    Ok(ExitCode::from(known.exit_code()))
}

fn work(
    options: &Options,
    runtime: &tokio::runtime::Runtime,
    url: &str,
    job: &HubJob,
) -> anyhow::Result<Value> {
    let address = || -> anyhow::Result<Address> {
        let settings = super::own_settings(options)?;
        Ok(Address::parse(url, &settings.publish)?)
    };
    Ok(match job {
        HubJob::Serve => Value::Null,
        HubJob::Migrate => {
            let address = address()?;
            let (before, now) = runtime
                .block_on(async { hub::migrate(&mut address.connect_as_owner().await?).await })?;
            json!({"hub": address.shown(), "before": before, "version": now})
        }
        HubJob::Grant { project, role, publish } => {
            let address = address()?;
            let grant = Grant { project: project.clone(), role: role.clone(), publish: *publish };
            runtime.block_on(async { hub::grant(&mut address.connect().await?, &grant).await })?;
            json!({"hub": address.shown(), "project": project, "role": role, "publish": publish})
        }
        HubJob::Revoke { project, role } => {
            let address = address()?;
            let done = runtime.block_on(async {
                hub::revoke(&mut address.connect().await?, project, role).await
            })?;
            json!({"hub": address.shown(), "project": project, "role": role, "revoked": done})
        }
        HubJob::Same { pair: [one, other], undo } => {
            let address = address()?;
            let (one, other) = (Named::parse(one)?, Named::parse(other)?);
            let done = runtime.block_on(async {
                hub::state_same(&address.connect().await?, [&one, &other], *undo).await
            })?;
            let shown = |it: &Named| format!("{}:{}", it.project, it.name);
            json!({"hub": address.shown(), "one": shown(&one), "other": shown(&other), "undo": undo,
                   "changed": done})
        }
        HubJob::Publish { as_project, take_over } => {
            let (project, settings, paths) = super::opened(options)?;
            let address = Address::parse(url, &settings.publish)?;
            let name = name_of(as_project.as_deref(), &settings.publish.project, &project.name);
            let readers = Readers::new(paths.index.clone());
            let mut publisher = Publisher::new(address.clone(), name, &paths.dir, *take_over)?;
            let settled = Settled {
                settings: config::load::of_answers(&settings),
                predicates: predicates_of(&project.root),
            };
            let done = publisher.round(runtime.handle(), &readers, &paths.dir, &settled)?;
            publisher.announce(&paths.dir)?;
            json!({"hub": address.shown(), "project": name, "tick": done.tick, "changed": done.n_rows,
                   "rows": done.n_all, "ms": done.took.as_millis() as u64})
        }
        HubJob::Compare { as_project } => {
            let (project, settings, paths) = super::opened(options)?;
            let address = Address::parse(url, &settings.publish)?;
            let name = name_of(as_project.as_deref(), &settings.publish.project, &project.name);
            let (tick, there) =
                runtime.block_on(async { hub::digest(&address.connect().await?, name).await })?;
            let (own_tick, here) = hub::digest_of(&Readers::new(paths.index), &paths.dir)?;
            json!({"hub": address.shown(), "project": name, "tick": tick, "own_tick": own_tick,
                   "digest": format!("{there:016x}"), "own_digest": format!("{here:016x}"),
                   "same": there == here && tick as u64 == own_tick})
        }
    })
}

fn name_of<'a>(given: Option<&'a str>, set: &'a str, own: &'a str) -> &'a str {
    given.or(Some(set)).filter(|it| !it.is_empty()).unwrap_or(own)
}
