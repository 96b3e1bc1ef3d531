//! `kgctl doctor`: finds present and likely problems.
//!
//! In: programs, settings, registry, places, and the daemon if it runs. Out: findings, each with a hint.
//! Invariants: changes nothing; starts nothing, except that `--client` starts what an agent would.

use std::path::{Path, PathBuf};

use ::config::boundary::{self, Who};
use ::config::command::operand;
use ::config::load::load;
use ::config::registry::Registered;
use ::config::{Places, Registry};
use client::agent::Agent;
use client::launch::{Target, find_kgd};
use client::render::health::{Finding, Verdict, findings};
use client::render::{counted, thousands};

use super::context::Context;
use super::failure::{Exit, Failure};
use super::setup::agents;

mod agent;
mod daemon;
mod memory;

/// Fewest watches for a large folder. With fewer, the daemon falls back to polling.
const FEW_WATCHES: u64 = 65_536;

/// Check programs, settings, databases, memory and failed files for problems.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Compare all stored data with its checksums now; the daemon does so by itself every 12 hours.
    #[arg(long)]
    scrub: bool,
    /// Only try the entry in this agent's file, as the agent would: start the server and ask for its tools.
    #[arg(long, value_name = "AGENT", value_parser = agents(), conflicts_with = "scrub")]
    client: Option<String>,
}

pub(crate) async fn run(arguments: &Arguments, ctx: &Context) -> Result<Exit, Failure> {
    let mut found = match arguments.client.as_deref().and_then(Agent::of) {
        Some(it) => agent::findings(it, ctx.project().ok().as_ref()).await,
        None => all(arguments, ctx).await?,
    };
    let flags = ctx.flags();
    for it in &mut found {
        it.detail = flags.in_text(&it.detail).into_owned();
        it.hint = it.hint.as_ref().map(|hint| flags.in_text(hint).into_owned());
    }
    ctx.print_reply(&found, |found| findings(found, ctx.style))?;
    let is_bad = found.iter().any(|it| it.verdict == Verdict::Bad);
    Ok(if is_bad { Exit::Failed } else { Exit::Done })
}

/// Checks everything.
async fn all(arguments: &Arguments, ctx: &Context) -> Result<Vec<Finding>, Failure> {
    let mut found = vec![kgd(), shim(), watches()];
    let places = ctx.places()?;
    found.extend(registry(&places));
    found.extend(boundary(&places));
    match ctx.project() {
        Err(failure) => found.push(failed("project", failure)),
        Ok(project) => {
            let loaded = load(&places, Some(&project.root), &[]);
            found.push(match loaded {
                Ok(_) => good("settings", format!("valid for `{}`", project.name)),
                Err(error) => failed("settings", error.into()),
            });
            match Target::new(&places, project) {
                Ok(target) => found.extend(daemon::findings(&target, arguments.scrub).await),
                Err(error) => found.push(failed("places", error.into())),
            }
        }
    }
    Ok(found)
}

fn good(subject: &str, detail: impl Into<String>) -> Finding {
    Finding {
        subject: subject.to_string(),
        verdict: Verdict::Good,
        detail: detail.into(),
        hint: None,
    }
}

fn warning(subject: &str, detail: impl Into<String>, hint: &str) -> Finding {
    Finding { verdict: Verdict::Warning, hint: Some(hint.to_string()), ..good(subject, detail) }
}

fn failed(subject: &str, failure: Failure) -> Finding {
    let text = failure.text().unwrap_or_default();
    let text = text.trim_start_matches("error: ").trim_end();
    let (detail, hint) = text.split_once("\nhint: ").unwrap_or((text, ""));
    let hint = (!hint.is_empty()).then(|| hint.to_string());
    Finding { verdict: Verdict::Bad, hint, ..good(subject, detail) }
}

fn kgd() -> Finding {
    match find_kgd(|name| std::env::var_os(name)) {
        Ok(path) if path.components().count() == 1 || path.is_file() => {
            good("kgd", path.display().to_string())
        }
        Ok(path) => failed(
            "kgd",
            Failure::new(
                Exit::Failed,
                format!("`{}` is not a file\nhint: unset `KGD_BIN`", path.display()),
            ),
        ),
        Err(error) => failed("kgd", error.into()),
    }
}

fn shim() -> Finding {
    let here = std::env::current_exe().ok();
    let beside = here.as_deref().and_then(Path::parent).map(|dir| dir.join("kg-mcp"));
    match beside.filter(|path: &PathBuf| path.is_file()) {
        Some(path) => good("kg-mcp", path.display().to_string()),
        None => warning(
            "kg-mcp",
            "not in the folder of this program",
            "agents need it; install `kgctl` and `kg-mcp` together",
        ),
    }
}

fn watches() -> Finding {
    let limit = std::fs::read_to_string("/proc/sys/fs/inotify/max_user_watches");
    match limit.ok().and_then(|text| text.trim().parse::<u64>().ok()) {
        Some(limit) if limit < FEW_WATCHES => warning(
            "file watches",
            format!("the system allows {}", thousands(limit)),
            "for folders with many subfolders raise `fs.inotify.max_user_watches`, or set `watch.poll: true`",
        ),
        Some(limit) => good("file watches", format!("the system allows {}", thousands(limit))),
        None => warning(
            "file watches",
            "the limit is unknown",
            "if changes are not noticed, set `watch.poll: true`",
        ),
    }
}

fn registry(places: &Places) -> Vec<Finding> {
    let registry = match Registry::load(&places.config) {
        Ok(registry) => registry,
        Err(error) => return vec![failed("registry", error.into())],
    };
    let mut found = vec![good("registry", counted(registry.projects().len() as u64, "project"))];
    for it in registry.projects().iter().filter(|it| !it.root.is_dir()) {
        let detail = format!("the folder of `{}`, `{}`, is missing", it.name, it.root.display());
        found.push(warning(
            "registry",
            detail,
            &format!("mount it, or `kgctl remove {}`", operand(&it.name)),
        ));
    }
    found
}

/// Reports registered projects outside the folders in which agents may create projects, and folders
/// that could not be registered now: older versions let agents register any folder.
fn boundary(places: &Places) -> Vec<Finding> {
    let Ok(registry) = Registry::load(&places.config) else { return Vec::new() };
    let named = match load(places, None, &[]) {
        Ok(loaded) => loaded.settings.projects.roots,
        // No daemon starts with these settings, so it is unknown what the corrected ones will
        // allow.
        Err(error) => return vec![failed("boundary", error.into())],
    };
    let roots = boundary::roots(&named);
    let is_outside = |it: &&Registered| !roots.iter().any(|root| it.root.starts_with(root));
    let (mut found, mut outside) = (Vec::new(), Vec::new());
    for it in registry.projects().iter().filter(is_outside) {
        match boundary::objection(&it.root, Who::Person) {
            Some(why) => {
                let hint =
                    format!("unless you want that, `kgctl project remove {}`", operand(&it.name));
                found.push(warning("boundary", format!("`{}`: {why}", it.name), &hint));
            }
            None => outside.push(format!("`{}` ({})", it.name, it.root.display())),
        }
    }
    let roots = match named.as_slice() {
        [] => "`projects.roots` is empty, so agents cannot create projects".to_string(),
        named => format!("agents can create projects below {}", named.join(", ")),
    };
    let detail = match outside.as_slice() {
        [] => roots,
        outside => format!("{roots}; registered outside: {}", outside.join(", ")),
    };
    found.push(good("boundary", detail));
    found
}
