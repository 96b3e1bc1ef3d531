//! `kgctl init`: registers a folder, starts its daemon, and prints how to connect an agent.

use std::path::{Component, Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use ::config::boundary::{self, Who};
use ::config::command::ProjectFlags;
use ::config::limits::MANY_FILES;
use ::config::load::load;
use ::config::registry::Registered;
use ::config::{Places, Project, Registry, Settings};
use client::launch::{Life, Target};
use client::render::{Style, counted, thousands};
use proto::shape::Freshness;
use proto::tool::ToolSet;
use proto::tool::core::{Status, StatusReply};
use proto::view::Sheet;
use serde_json::json;

use super::census::holds_more_than;
use super::context::Context;
use super::failure::{Exit, Failure};
use super::mcp_config::snippet;
use super::{project, stop, systemd};

/// Longest wait for the daemon to list the folder.
const PATIENCE: Duration = Duration::from_secs(10);

/// Pause before it is asked again.
const PAUSE: Duration = Duration::from_millis(30);

/// Register a folder as a project and start its daemon.
///
/// Asks where something else may be meant: a folder inside a project, another name for a project, many files.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The folder.
    #[arg(default_value = ".")]
    dir: PathBuf,
    /// The name of the project; the folder's own name when left out.
    #[arg(long)]
    name: Option<String>,
    /// Make it the default project.
    #[arg(long)]
    default: bool,
    /// Let systemd run the daemon from login on.
    #[arg(long)]
    systemd: bool,
    /// Do not ask for confirmation.
    #[arg(long)]
    yes: bool,
}

pub(crate) async fn run(arguments: Arguments, ctx: &Context) -> Result<Exit, Failure> {
    let places = ctx.places()?;
    let found = Project::at(&arguments.dir);
    let folder = found.map_err(|error| {
        Failure::new(Exit::Refused, format!("cannot use `{}`: {error}", arguments.dir.display()))
    })?;
    let settings = load(&places, Some(&folder.root), &[])?.settings;
    refuse_overlap(&places, &folder, &settings)?;
    refuse_place(&folder.root)?;
    let known = Registry::load(&places.config)?.at(&folder.root).cloned();
    match &known {
        None => project::doubt(&places, &folder, arguments.yes, ctx)?,
        Some(known) => ask_about_name(known, &arguments, ctx)?,
    }
    if holds_more_than(MANY_FILES, &folder.root, &settings) {
        let doubt = format!(
            "`{}` has more than {} files.",
            folder.root.display(),
            thousands(MANY_FILES as u64)
        );
        ctx.confirm(&doubt, arguments.yes)?;
    }
    if arguments.systemd {
        systemd::check()?;
    }
    let project = register(&places, &folder, &arguments)?;
    let is_new = known.is_none();
    if known.is_some_and(|it| it.name != project.name) {
        project::restart(&places, project.clone()).await?;
    }
    let target = Target::new(&places, project.clone())?;
    let by_systemd = if arguments.systemd {
        stop::stop(&target).await?;
        Some(systemd::install(&target)?)
    } else {
        target.connect_or_start(Life::Stay)?;
        None
    };
    let reply = surveyed(&target, ctx).await?;
    let tools = ToolSet::Default.as_str();
    if ctx.json {
        let name = project.name.as_str();
        ctx.print_json(&json!({
            "name": name, "root": project.root, "new": is_new,
            "files": reply.survey.as_ref().map(|it| &it.to_read), "skipped": reply.skipped,
            "not_read": reply.survey.as_ref().map(|it| &it.not_read), "tools": tools,
            "mcp": snippet(&project, &places, Some(tools))
        }))?;
        return Ok(Exit::Done);
    }
    if !is_new {
        ctx.print(&format!("{} is already registered\n", project.name))?;
    }
    let flags = ProjectFlags::here(&places, &project);
    ctx.print(&flags.in_text(&summary(&project, &reply, by_systemd.as_deref(), ctx.style)))?;
    let snippet = serde_json::to_string_pretty(&snippet(&project, &places, Some(tools)))?;
    let connect = "\nTo connect an agent: `kgctl setup claude-code`, or with the name of another agent. For any other \
                   agent's MCP configuration:";
    ctx.print(&format!("{}\n{snippet}\n", flags.in_text(connect)))?;
    Ok(Exit::Done)
}

/// Asks before it gives a registered folder another name: agents and scripts may select it by the
/// old one.
fn ask_about_name(known: &Registered, arguments: &Arguments, ctx: &Context) -> Result<(), Failure> {
    let wanted = arguments.name.as_deref().map(str::trim).filter(|it| !it.is_empty());
    let Some(wanted) = wanted.filter(|it| *it != known.name) else { return Ok(()) };
    let doubt = format!(
        "`{}` is registered as `{}`; it would be renamed to `{wanted}`, and what selects it by the old name \
         would fail.",
        known.root.display(),
        known.name
    );
    ctx.confirm(&doubt, arguments.yes)
}

/// Registers the folder and returns the project.
fn register(places: &Places, folder: &Project, arguments: &Arguments) -> Result<Project, Failure> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    Ok(Registry::update(&places.config, |registry| {
        let added = registry.add(&folder.root, arguments.name.as_deref(), now)?;
        if arguments.default {
            registry.set_default(&added.name);
        }
        Ok(added.project())
    })?)
}

/// Refuses state inside the documents, where every commit would be a change to index.
pub(crate) fn refuse_overlap(
    places: &Places,
    folder: &Project,
    settings: &Settings,
) -> Result<(), Failure> {
    let state = places.state.canonicalize().unwrap_or_else(|_| places.state.clone());
    let Ok(inside) = state.strip_prefix(&folder.root) else { return Ok(()) };
    // Hidden folders are not read, so state below one is harmless.
    let is_hidden = |part: Component<'_>| part.as_os_str().as_encoded_bytes().starts_with(b".");
    if inside.components().any(is_hidden) && !settings.watch.hidden {
        return Ok(());
    }
    let message =
        format!("`{}` contains kgd's own state, `{}`", folder.root.display(), state.display());
    Err(Failure::new(Exit::Refused, message).hint("set `KG_STATE_DIR` to a folder elsewhere"))
}

/// Refuses a folder of the system, a whole home folder, or a place for keys.
pub(crate) fn refuse_place(root: &Path) -> Result<(), Failure> {
    let hint = "a project is a folder of documents, such as `~/notes`";
    boundary::objection(root, Who::Person)
        .map_or(Ok(()), |why| Err(Failure::new(Exit::Refused, why).hint(hint)))
}

/// Returns the daemon's status, once it has walked the folder or the patience is over.
async fn surveyed(target: &Target, ctx: &Context) -> Result<StatusReply, Failure> {
    let session = ctx.session_with(target).await?;
    let until = Instant::now() + PATIENCE;
    loop {
        let reply = session.call(&Status::default()).await?;
        if reply.survey.is_some() || Instant::now() > until {
            session.close().await;
            return Ok(reply);
        }
        tokio::time::sleep(PAUSE).await;
    }
}

fn summary(
    project: &Project,
    reply: &StatusReply,
    by_systemd: Option<&str>,
    style: Style,
) -> String {
    let mut text = format!("{}: {}\n", project.name, project.root.display());
    text += &match &reply.survey {
        None => "the folder is still being listed\n".to_string(),
        Some(survey) => {
            let cells = survey.to_read.iter().map(|(name, n)| format!("{} {name}", thousands(*n)));
            let cells: Vec<_> = cells.collect();
            let to_read = match survey.to_read.values().sum() {
                0 => "no files to read yet\n".to_string(),
                n => format!("{} to read: {}\n", counted(n, "file"), cells.join(", ")),
            };
            let mut sheet = Sheet::new(style, &Freshness::default());
            survey.view(&mut sheet);
            to_read + &sheet.finish()
        }
    };
    text +=
        by_systemd.unwrap_or("the daemon is running; `kgctl status --watch` shows its progress");
    text + "\n"
}
