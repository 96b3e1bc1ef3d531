//! `kgctl import`: imports data of other programs, as a project or as notes.
//!
//! In: a vault, a folder or configuration of basic-memory, a memory of server-memory, an export of ChatGPT or Claude.
//! Out: a registered folder, or new notes in one, and a report.
//! Invariants: a vault is never written to, and is registered read-only unless the user decides
//! otherwise; a folder that its user made read-only gets no notes; with `--dry-run` nothing changes
//! anywhere. Exits with 1 if something could not be read, even if the rest was imported.

use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use ::config::command::{ProjectFlags, operand};
use ::config::load::load;
use ::config::{Places, Project, Registry};
use client::interchange::{Format, InterchangeError, NoteSink, Report, Source};
use client::interchange::{chat, detect, memory, vault};
use client::render::clean;
use serde::Serialize;

use super::context::Context;
use super::failure::{Exit, Failure};
use super::init::{refuse_overlap, refuse_place};

/// Import from another program: an Obsidian vault or basic-memory's folders become projects as they are;
/// server-memory's memory and conversations of ChatGPT and Claude become notes.
#[derive(Debug, clap::Args)]
#[command(override_usage = "kgctl import [OPTIONS] [FORMAT] SOURCE")]
pub(crate) struct Arguments {
    /// `obsidian`, `basic-memory`, `server-memory`, `chatgpt` or `claude`; detected when left out.
    #[arg(value_name = "FORMAT")]
    first: String,
    /// A vault's folder, basic-memory's folder or `config.json`, `memory.json`, or an export as it was downloaded.
    #[arg(value_name = "SOURCE")]
    second: Option<PathBuf>,
    /// The folder that gets the notes; the project's folder when left out. A vault stays where it is.
    #[arg(long, value_name = "FOLDER")]
    into: Option<PathBuf>,
    /// Show what would be done, and do nothing.
    #[arg(long)]
    dry_run: bool,
    /// Add what is missing to existing notes of entities (server-memory).
    #[arg(long)]
    merge: bool,
    /// Let tools write in the vault.
    #[arg(long)]
    writable: bool,
    /// The name of a vault's project; the folder's own name when left out.
    #[arg(long)]
    name: Option<String>,
}

/// The JSON output.
#[derive(Serialize)]
struct Reply {
    reports: Vec<Report>,
    /// Projects that are registered now, old or new.
    projects: Vec<Registered>,
    /// What to do next.
    next: Vec<String>,
}

#[derive(Serialize)]
struct Registered {
    name: String,
    root: PathBuf,
    new: bool,
    read_only: bool,
}

impl From<InterchangeError> for Failure {
    fn from(error: InterchangeError) -> Self {
        let exit = match error {
            InterchangeError::Io { .. } => Exit::Failed,
            InterchangeError::NotThat { .. } => Exit::Refused,
        };
        Failure::new(exit, error)
    }
}

pub(crate) fn run(arguments: &Arguments, ctx: &Context) -> Result<Exit, Failure> {
    let (format, source) = what(arguments)?;
    let reply = match format {
        Format::Obsidian | Format::BasicMemory => register(format, &source, arguments, ctx)?,
        _ => write(format, &source, arguments, ctx)?,
    };
    let n_troubles: usize = reply.reports.iter().map(|it| it.troubles.len()).sum();
    let is_empty = reply.reports.iter().all(|it| it.counts.values().sum::<u64>() == 0);
    ctx.print_reply(&reply, summary)?;
    Ok(match (n_troubles, is_empty) {
        (0, true) => Exit::NothingFound,
        (0, false) => Exit::Done,
        _ => Exit::Failed,
    })
}

/// Returns the given or detected format, and the source.
fn what(arguments: &Arguments) -> Result<(Format, PathBuf), Failure> {
    let (format, source) = match &arguments.second {
        Some(source) => (Some(arguments.first.as_str()), source.clone()),
        None => (None, PathBuf::from(&arguments.first)),
    };
    let source = std::path::absolute(source)?;
    let format = match format {
        None | Some("auto") => detect::detect(&source)?,
        Some(name) => Format::parse(name).ok_or_else(|| {
            let known = Format::ALL.map(Format::name).join("`, `");
            Failure::new(Exit::Refused, format!("no format is called `{name}`"))
                .hint(format!("use `{known}`, or leave it out to detect it"))
        })?,
    };
    Ok((format, source))
}

fn report_of(format: Format, source: &Path, into: &Path, arguments: &Arguments) -> Report {
    Report {
        format: format.name().to_string(),
        source: source.display().to_string(),
        into: into.display().to_string(),
        dry_run: arguments.dry_run,
        ..Report::default()
    }
}

/// Creates notes from a memory or from conversations.
fn write(
    format: Format,
    source: &Path,
    arguments: &Arguments,
    ctx: &Context,
) -> Result<Reply, Failure> {
    let places = ctx.places()?;
    let into = match &arguments.into {
        Some(into) => std::path::absolute(into)?,
        None => ctx.project()?.root,
    };
    let project = project_around(&places, &into)?;
    if let Some(named) = ctx.project_flag()
        && arguments.into.is_some()
    {
        let named = ctx.project().map(|it| it.root).unwrap_or_else(|_| named.into());
        if project.as_ref().is_none_or(|it| it.root != named) {
            let message = format!("`{}` is not inside `{}`", into.display(), named.display());
            return Err(Failure::new(Exit::Refused, message).hint(
                "`--into` is a path from the current folder; leave out `--project` or `--into`",
            ));
        }
    }
    if let Some(project) = &project {
        let settings = load(&places, Some(&project.root), &[])?.settings;
        if !settings.write && !arguments.dry_run {
            let message = format!("`{}` is read-only, so no notes are written to it", project.name);
            return Err(
                Failure::new(Exit::Refused, message).hint("give another folder with `--into`")
            );
        }
    }
    let mut report = report_of(format, source, &into, arguments);
    let io = |source| InterchangeError::Io { path: into.display().to_string(), source };
    let mut sink = NoteSink::open(&into).map_err(io)?;
    if format == Format::ServerMemory {
        let options = memory::Options { dry_run: arguments.dry_run, merge: arguments.merge };
        memory::import(memory::read(source)?, &mut sink, options, &mut report).map_err(io)?;
    } else {
        let source = Source::at(source);
        chat::import(&source, format, &mut sink, arguments.dry_run, &mut report)?;
    }
    let flags = project.as_ref().map(|it| ProjectFlags::here(&places, it)).unwrap_or_default();
    let next: Vec<String> = match project {
        _ if arguments.dry_run => {
            vec!["run it without `--dry-run` to write these notes".to_string()]
        }
        Some(project) => vec![
            format!("the daemon of `{}` indexes them by itself when it runs", project.name),
            "`kgctl status --watch` shows its progress".to_string(),
            match format {
                Format::ServerMemory => {
                    "`kgctl explain NAME` shows what is known about an entity".to_string()
                }
                _ => "`kgctl query \"words of the conversation\"` finds them".to_string(),
            },
        ],
        None => vec![format!(
            "`kgctl init {}` makes the folder a project",
            operand(&into.to_string_lossy())
        )],
    };
    let next = next.iter().map(|line| flags.in_text(line).into_owned()).collect();
    Ok(Reply { reports: vec![report], projects: Vec::new(), next })
}

/// Returns the registered project that contains a folder, which may not exist yet.
fn project_around(places: &Places, folder: &Path) -> Result<Option<Project>, Failure> {
    let registry = Registry::load(&places.config)?;
    let there = folder.ancestors().find_map(|it| it.canonicalize().ok());
    Ok(there.and_then(|there| registry.nearest(&there).map(|it| it.project())))
}

/// Registers vaults without changing them.
fn register(
    format: Format,
    source: &Path,
    arguments: &Arguments,
    ctx: &Context,
) -> Result<Reply, Failure> {
    if arguments.into.is_some() || arguments.merge {
        let message = format!("`--into` and `--merge` cannot be used with `{}`", format.name());
        let hint = "its notes stay where they are, and the folder is registered";
        return Err(Failure::new(Exit::Refused, message).hint(hint));
    }
    let places = ctx.places()?;
    let (folders, default) = match source.is_dir() {
        true => (vec![(arguments.name.clone(), source.to_path_buf())], None),
        false => {
            let (projects, default) = vault::basic_memory_projects(source)?;
            (projects.into_iter().map(|(name, path)| (Some(name), path)).collect(), default)
        }
    };
    let is_one = folders.len() == 1;
    let mut reply = Reply { reports: Vec::new(), projects: Vec::new(), next: Vec::new() };
    for (name, folder) in folders {
        let mut report = report_of(format, &folder, &folder, arguments);
        match Project::at(&folder) {
            Ok(project) => {
                let settings = load(&places, Some(&project.root), &[])?.settings;
                refuse_place(&project.root)?;
                refuse_overlap(&places, &project, &settings)?;
                vault::survey(&project.root, settings.watch.max_bytes_of("md"), &mut report);
                if !arguments.dry_run {
                    let name = arguments.name.clone().filter(|_| is_one).or(name);
                    let is_default = name.is_some() && name == default;
                    reply.projects.push(add(&places, &project, name, is_default, arguments)?);
                }
            }
            Err(error) => {
                let hint = "basic-memory's configuration names a missing folder";
                report.trouble(folder.display().to_string(), error.to_string(), hint);
            }
        }
        reply.reports.push(report);
    }
    reply.next = next(&reply.projects, arguments.dry_run);
    Ok(reply)
}

fn add(
    places: &Places,
    project: &Project,
    name: Option<String>,
    is_default: bool,
    arguments: &Arguments,
) -> Result<Registered, Failure> {
    let known = Registry::load(&places.config)?.at(&project.root).cloned();
    if let Some(known) = known {
        // The user has already decided how it is registered.
        return Ok(Registered {
            name: known.name,
            root: known.root,
            new: false,
            read_only: known.read_only,
        });
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    Ok(Registry::update(&places.config, |registry| {
        let has_default = registry.projects().iter().any(|it| it.default);
        let added = registry.add(&project.root, name.as_deref(), now)?;
        registry.set_read_only(&added.name, !arguments.writable);
        if is_default && !has_default {
            registry.set_default(&added.name);
        }
        Ok(Registered {
            name: added.name,
            root: added.root,
            new: true,
            read_only: !arguments.writable,
        })
    })?)
}

fn next(projects: &[Registered], dry_run: bool) -> Vec<String> {
    if dry_run {
        return vec!["run it without `--dry-run` to register it".to_string()];
    }
    let mut next = Vec::new();
    for it in projects {
        let what = if it.new { "registered as" } else { "is registered already, as" };
        let mark = if it.read_only { ", read-only" } else { "" };
        next.push(format!(
            "`{}` {what} `{}`{mark}; no file in it was touched",
            it.root.display(),
            it.name
        ));
    }
    if let Some(first) = projects.first() {
        next.push("its daemon indexes it by itself when it runs".to_string());
        let flags = ProjectFlags::named(&first.name);
        for line in [
            "`kgctl status --watch` starts it and shows its progress",
            "`kgctl query \"a question\"` searches it",
        ] {
            next.push(flags.in_text(line).into_owned());
        }
    }
    next
}

fn summary(reply: &Reply) -> String {
    let mut text = reply.reports.iter().map(Report::text).collect::<Vec<_>>().join("\n");
    for line in &reply.next {
        text += &format!("{}\n", clean(line));
    }
    text
}
