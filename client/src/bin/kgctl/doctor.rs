//! `kgctl doctor`: what is wrong, or about to go wrong.
//!
//! In: programs, settings, registry, places, and the daemon if it runs. Out: findings, each with a hint.
//! Invariants: it changes and starts nothing.
//! Not here: repairing.

use std::path::{Path, PathBuf};

use ::config::load::load;
use ::config::{Places, Registry};
use client::connect::Session;
use client::launch::{Target, find_kgd};
use client::render::health::{Finding, Verdict, findings};
use client::render::{counted, thousands};
use proto::PROTOCOL_VERSION;
use proto::tool::core::{Status, StatusReply};

use super::context::Context;
use super::failure::{Exit, Failure};

/// Watches that a large folder needs at least; fewer, and the daemon falls back to looking now and then.
const FEW_WATCHES: u64 = 65_536;

pub(crate) async fn run(ctx: &Context) -> Result<Exit, Failure> {
    let mut found = vec![kgd(), shim(), watches()];
    let places = ctx.places()?;
    found.extend(registry(&places));
    match ctx.project() {
        Err(failure) => found.push(failed("project", failure)),
        Ok(project) => {
            let loaded = load(&places, Some(&project.root), &[]);
            found.push(match loaded {
                Ok(_) => good("settings", format!("valid for `{}`", project.name)),
                Err(error) => failed("settings", error.into()),
            });
            match Target::new(&places, project) {
                Ok(target) => found.extend(daemon(&target).await),
                Err(error) => found.push(failed("places", error.into())),
            }
        }
    }
    ctx.print_reply(&found, |found| findings(found, ctx.style))?;
    let is_bad = found.iter().any(|it| it.verdict == Verdict::Bad);
    Ok(if is_bad { Exit::Failed } else { Exit::Done })
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
                format!("`{}` is no file\nhint: unset `KGD_BIN`", path.display()),
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
            "not beside this program",
            "agents need it; install the client's programs together",
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
            "the limit is not known",
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
            &format!("mount it, or `kgctl remove {}`", it.name),
        ));
    }
    found
}

async fn daemon(target: &Target) -> Vec<Finding> {
    let Ok(stream) = target.connect() else {
        return vec![silent(target)];
    };
    let reply = match Session::open(stream).await {
        Ok(session) => session.call(&Status {}).await.map_err(Failure::from),
        Err(error) => Err(error.into()),
    };
    match reply {
        Ok(reply) => of_status(&reply),
        Err(failure) => vec![failed("daemon", failure)],
    }
}

fn silent(target: &Target) -> Finding {
    match target.pid() {
        Some(pid) => failed(
            "daemon",
            Failure::new(
                Exit::Failed,
                format!("pid {pid} holds the lock but does not listen\nhint: `kgctl restart`"),
            ),
        ),
        None => good("daemon", "does not run; it is started when it is needed"),
    }
}

fn of_status(reply: &StatusReply) -> Vec<Finding> {
    let mut found = Vec::new();
    let detail =
        format!("pid {}, version {}, tick {}", reply.pid, reply.version, reply.freshness.tick);
    let same = reply.version == proto::version() && reply.protocol == PROTOCOL_VERSION;
    found.push(if same {
        good("daemon", detail)
    } else {
        warning("daemon", format!("{detail}; this is {}", proto::version()), "`kgctl restart`")
    });
    let progress =
        format!("{} of {}", reply.progress.indexed, counted(reply.progress.known, "file"));
    found.push(good(
        "index",
        format!("{progress}, {}", if reply.settled { "settled" } else { "working" }),
    ));
    if reply.orphaned_entities > 0 {
        let detail = format!("entities without a mention: {}", reply.orphaned_entities);
        found.push(failed(
            "index",
            Failure::new(Exit::Failed, detail).hint("this is a bug: please report it"),
        ));
    }
    found.extend(documents(reply));
    if let Some(error) = &reply.last_error {
        found.push(warning("last error", error.clone(), "`kgctl logs` has more"));
    }
    found
}

/// Documents that failed or were odd.
fn documents(reply: &StatusReply) -> Vec<Finding> {
    let mut found = Vec::new();
    for it in &reply.quarantine {
        let hint = "correct the file; it is read again when it changes";
        found.push(warning(
            "document",
            format!("`{}` failed in {}: {}", it.path, it.stage, it.reason),
            hint,
        ));
    }
    for it in &reply.warnings {
        found.push(warning(
            "document",
            format!("`{}`: {}", it.path, it.warning),
            "its text is indexed all the same",
        ));
    }
    found
}
