//! `kgctl project`: manages the registered folders: their names, the default, and which are
//! read-only.

use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use ::config::command::ProjectFlags;
use ::config::load::load;
use ::config::registry::Registered;
use ::config::{Places, Project, Registry};
use client::launch::{Life, Target};
use serde_json::json;

use super::context::Context;
use super::failure::{Exit, Failure};
use super::init::{refuse_overlap, refuse_place};
use super::{list, remove, stop};

/// Add, list and remove projects, and choose the default one.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    Add(Add),
    /// List the registered projects, the default one marked, and whether their daemons run.
    List,
    /// Print or set the default project.
    Default {
        /// The project to set, by name or folder.
        name: Option<String>,
    },
    Remove(Remove),
}

/// Register a folder as a project, or change how it is registered. Nothing in the folder is touched.
#[derive(Debug, clap::Args)]
struct Add {
    /// The folder.
    dir: PathBuf,
    /// The name of the project; the folder's own name when left out.
    #[arg(long)]
    name: Option<String>,
    /// Make it the default project.
    #[arg(long)]
    default: bool,
    /// Forbid tools to write in it, whatever its `kg.yaml` says.
    #[arg(long)]
    read_only: bool,
    /// Allow tools to write in it again.
    #[arg(long, conflicts_with = "read_only")]
    writable: bool,
    /// Do not ask for confirmation.
    #[arg(long)]
    yes: bool,
}

/// Unregister a project and stop its daemon. Documents are not touched; the index is kept unless purged.
#[derive(Debug, clap::Args)]
struct Remove {
    /// Name or folder.
    name: String,
    /// Also delete its index and ledger: review decisions, entry versions and kept versions of notes are lost.
    #[arg(long)]
    purge: bool,
    /// Do not ask for confirmation.
    #[arg(long)]
    yes: bool,
}

pub(crate) async fn run(arguments: Arguments, ctx: &Context) -> Result<Exit, Failure> {
    match arguments.command {
        Command::Add(arguments) => add(&arguments, ctx).await,
        Command::List => list::run(ctx).await,
        Command::Default { name: Some(name) } => set_default(&name, ctx),
        Command::Default { name: None } => print_default(ctx),
        Command::Remove(arguments) => forget(&arguments, ctx).await,
    }
}

async fn add(arguments: &Add, ctx: &Context) -> Result<Exit, Failure> {
    let places = ctx.places()?;
    let folder = Project::at(&arguments.dir).map_err(|error| {
        let dir = arguments.dir.display();
        Failure::new(Exit::Refused, format!("cannot use `{dir}`: {error}"))
            .hint("a project is an existing folder")
    })?;
    let before = Registry::load(&places.config)?.at(&folder.root).cloned();
    if before.is_none() {
        let settings = load(&places, Some(&folder.root), &[])?.settings;
        refuse_place(&folder.root)?;
        refuse_overlap(&places, &folder, &settings)?;
        doubt(&places, &folder, arguments.yes, ctx)?;
    }
    let now = register(&places, &folder, arguments)?;
    // Settings that no daemon would accept are an error now.
    load(&places, Some(&folder.root), &[])?;
    let is_heeded = match &before {
        Some(before) if before.name != now.name || before.read_only != now.read_only => {
            restart(&places, now.project()).await?
        }
        _ => false,
    };
    if ctx.json {
        ctx.print_json(&json!({
            "name": now.name, "root": now.root, "new": before.is_none(), "default": now.default,
            "read_only": now.read_only, "restarted": is_heeded
        }))?;
        return Ok(Exit::Done);
    }
    ctx.print(&summary(&now, before.is_none(), is_heeded))?;
    Ok(Exit::Done)
}

/// Asks for confirmation if the user may have meant something else.
pub(crate) fn doubt(
    places: &Places,
    folder: &Project,
    yes: bool,
    ctx: &Context,
) -> Result<(), Failure> {
    let registry = Registry::load(&places.config)?;
    let Some(other) = registry.overlapping(folder) else { return Ok(()) };
    let (inner, outer) = match folder.root.starts_with(&other.root) {
        true => (&folder.root, &other.root),
        false => (&other.root, &folder.root),
    };
    ctx.confirm(
        &format!(
            "`{}` lies inside `{}`: with `{}` registered, its documents are read twice, into two projects.",
            inner.display(),
            outer.display(),
            other.name
        ),
        yes,
    )
}

/// Registers the folder and returns the project.
fn register(places: &Places, folder: &Project, arguments: &Add) -> Result<Registered, Failure> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let name = arguments.name.as_deref().map(str::trim);
    let registered = Registry::update(&places.config, |registry| {
        if let Some(name) = name {
            registry.check_name(name, folder)?;
        }
        let added = registry.add(&folder.root, name, now)?;
        if arguments.default {
            registry.set_default(&added.name);
        }
        if arguments.read_only || arguments.writable {
            registry.set_read_only(&added.name, arguments.read_only);
        }
        Ok(registry.at(&folder.root).cloned().unwrap_or(added))
    })?;
    Ok(registered)
}

/// Restarts a running daemon, which reads its name and settings only at its start; the new one has
/// the lifetime of the old one. Returns false if none runs.
pub(super) async fn restart(places: &Places, project: Project) -> Result<bool, Failure> {
    let target = Target::new(places, project)?;
    let Some(holder) = target.holder() else { return Ok(false) };
    target.check()?;
    let claim = target.claim()?;
    stop::stop(&target).await?;
    target.start_claimed(holder.life.unwrap_or(Life::Stay), claim)?;
    Ok(true)
}

fn summary(project: &Registered, is_new: bool, is_heeded: bool) -> String {
    let marks = [(project.default, ", the default"), (project.read_only, ", read-only")];
    let marks: String = marks.iter().filter(|(is_so, _)| *is_so).map(|(_, mark)| *mark).collect();
    let what = if is_new { "registered" } else { "already registered" };
    let next = match (is_new, is_heeded) {
        (_, true) => "its daemon was restarted\n".to_string(),
        (true, _) => format!(
            "an agent starts its daemon when it needs it; `{}` indexes now\n",
            ProjectFlags::named(&project.name).command("kgctl start")
        ),
        (false, false) => String::new(),
    };
    format!("{}: {what}{marks}: {}\n{next}", project.name, project.root.display())
}

fn set_default(name: &str, ctx: &Context) -> Result<Exit, Failure> {
    let places = ctx.places()?;
    let found = remove::find(&places, name)?;
    Registry::update(&places.config, |registry| {
        registry.set_default(&found.name);
        Ok(())
    })?;
    show_default(&Registered { default: true, ..found }, ctx)
}

fn print_default(ctx: &Context) -> Result<Exit, Failure> {
    let registry = Registry::load(&ctx.places()?.config)?;
    let found = registry.default_project().ok_or_else(|| {
        let hint = match registry.projects() {
            [] => "register a folder with `kgctl init DIR`",
            _ => "set one with `kgctl project default NAME`; `kgctl project list` lists them",
        };
        Failure::new(Exit::NothingFound, "there is no default project").hint(hint)
    })?;
    show_default(found, ctx)
}

fn show_default(it: &Registered, ctx: &Context) -> Result<Exit, Failure> {
    if ctx.json {
        ctx.print_json(&json!({ "name": it.name, "root": it.root, "set": it.default }))?;
    } else {
        let only = if it.default { "" } else { " (the only one)" };
        ctx.print(&format!("{}: {}{only}\n", it.name, it.root.display()))?;
    }
    Ok(Exit::Done)
}

async fn forget(arguments: &Remove, ctx: &Context) -> Result<Exit, Failure> {
    let places = ctx.places()?;
    let found = remove::find(&places, &arguments.name)?;
    let n_others = Registry::load(&places.config)?.projects().len().saturating_sub(1);
    if found.default && n_others > 0 && !arguments.yes {
        let message = format!("`{}` is the default project", found.name);
        return Err(Failure::new(Exit::Refused, message)
            .hint("choose another one first with `kgctl project default NAME`, or use `--yes` to have none"));
    }
    remove::forget(&found, arguments.purge, arguments.yes, ctx).await
}
