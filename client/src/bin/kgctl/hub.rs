//! `kgctl hub` and `kgctl publish`: the tables and rights of a hub, and one round of publishing.
//!
//! In: the address of its PostgreSQL. Out: what `kgd` did; this program never speaks to a database.

use std::process::Command;

use ::config::load::load;
use client::hub::pass_password;
use client::launch::find_kgd;
use serde_json::Value;

use super::context::Context;
use super::failure::{Exit, Failure};

/// Set up the PostgreSQL of a hub: its tables, and which roles may read or publish its projects.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Create the tables, or bring them to this version. The role needs the right to create roles, and owns the tables.
    Migrate {
        /// Address, such as `postgres://ROLE@HOST/DATABASE`; the password is taken from `PGPASSWORD`.
        url: String,
    },
    /// Let a role, and its members, read a project; the project is created if it is new.
    Grant {
        /// Address, as the owner of the tables.
        url: String,
        /// The project's name in the hub.
        #[arg(long = "name", value_name = "PROJECT")]
        name: String,
        /// An existing role of PostgreSQL.
        #[arg(long)]
        role: String,
        /// Let it publish, too.
        #[arg(long)]
        publish: bool,
    },
    /// Take all rights of a role to a project.
    Revoke {
        /// Address, as the owner of the tables.
        url: String,
        /// The project's name in the hub.
        #[arg(long = "name", value_name = "PROJECT")]
        name: String,
        /// The role.
        #[arg(long)]
        role: String,
    },
    /// State that an entity of one project and one of another are the same thing: whoever may read both sees it.
    SameAs {
        /// Address, as a role that may publish both projects.
        url: String,
        /// `PROJECT:ENTITY`.
        one: String,
        /// `PROJECT:ENTITY`, of another project.
        other: String,
        /// Take it back.
        #[arg(long)]
        undo: bool,
    },
    /// Compare what the hub holds of this project, row by row, with the index here; 3 when they differ.
    Compare {
        /// Address, as a role that may read the project.
        url: String,
        /// The project's name in the hub, if it has another one there.
        #[arg(long = "name", value_name = "PROJECT")]
        name: Option<String>,
    },
}

/// Publish the index of this project to a hub, once. A daemon publishes by itself where `publish.url` is set.
#[derive(Debug, clap::Args)]
pub(crate) struct Publish {
    /// Address, such as `postgres://ROLE@HOST/DATABASE`; that of `publish.url` when left out.
    url: Option<String>,
    /// The project's name in the hub, if it has another one there.
    #[arg(long = "name", value_name = "PROJECT")]
    name: Option<String>,
    /// Publish although another folder has published this project.
    #[arg(long)]
    take_over: bool,
}

pub(crate) fn run(arguments: &Arguments, ctx: &Context) -> Result<Exit, Failure> {
    let named = |name: &str, role: &str| {
        vec!["--hub-project".into(), name.into(), "--hub-role".into(), role.into()]
    };
    let (url, job, more): (_, _, Vec<String>) = match &arguments.action {
        Action::Migrate { url } => (url, "migrate", Vec::new()),
        Action::Grant { url, name, role, publish } => {
            let mut more = named(name, role);
            more.extend(publish.then(|| "--hub-more".to_string()));
            (url, "grant", more)
        }
        Action::Revoke { url, name, role } => (url, "revoke", named(name, role)),
        Action::SameAs { url, one, other, undo } => {
            let mut more = named(one, other);
            more.extend(undo.then(|| "--hub-more".to_string()));
            (url, "same-as", more)
        }
        Action::Compare { url, name } => {
            let reply = ask(ctx, url, "compare", true, &of_name(name.as_deref()))?;
            ctx.print_reply(&reply, text)?;
            return Ok(if reply["same"] == true { Exit::Done } else { Exit::NothingFound });
        }
    };
    let reply = ask(ctx, url, job, false, &more)?;
    ctx.print_reply(&reply, text)?;
    Ok(Exit::Done)
}

pub(crate) fn publish(arguments: &Publish, ctx: &Context) -> Result<Exit, Failure> {
    let mut more = of_name(arguments.name.as_deref());
    more.extend(arguments.take_over.then(|| "--hub-more".to_string()));
    let own = || -> Result<String, Failure> {
        let url = load(&ctx.places()?, None, &[])?.settings.publish.url;
        let none = || Failure::new(Exit::Refused, "no hub is named").hint("`kgctl publish URL`");
        Some(url).filter(|it| !it.is_empty()).ok_or_else(none)
    };
    let url = arguments.url.clone().map_or_else(own, Ok)?;
    let reply = ask(ctx, &url, "publish", true, &more)?;
    ctx.print_reply(&reply, text)?;
    Ok(Exit::Done)
}

fn of_name(name: Option<&str>) -> Vec<String> {
    name.map(|name| vec!["--hub-project".to_string(), name.to_string()]).unwrap_or_default()
}

/// Runs `kgd` and returns its line of JSON.
fn ask(
    ctx: &Context,
    url: &str,
    job: &str,
    of_project: bool,
    more: &[String],
) -> Result<Value, Failure> {
    let mut command = Command::new(find_kgd(|name| std::env::var_os(name))?);
    if of_project {
        let target = ctx.target()?;
        target.check()?;
        command.arg("--project").arg(&target.project.root);
    }
    let url = pass_password(&mut command, url);
    let output = command
        .args(["--log-level", "error", "--hub", &url, "--hub-job", job])
        .args(more)
        .output()?;
    if output.status.success() {
        return Ok(serde_json::from_slice(&output.stdout)?);
    }
    let message = String::from_utf8_lossy(&output.stderr);
    let message = message.trim().strip_prefix("kgd: ").unwrap_or(message.trim());
    // Its exit codes mean what ours do.
    let known = [Exit::Refused, Exit::NoDaemon];
    let exit = known.into_iter().find(|exit| output.status.code() == Some(*exit as i32));
    let message = if message.is_empty() { "`kgd` failed" } else { message };
    Err(Failure::new(exit.unwrap_or(Exit::Failed), message))
}

/// Renders a reply as one line of `key value` pairs.
fn text(reply: &Value) -> String {
    let word = |value: &Value| value.as_str().map_or_else(|| value.to_string(), String::from);
    let pairs = reply.as_object().into_iter().flatten();
    let pairs: Vec<String> = pairs.map(|(key, value)| format!("{key} {}", word(value))).collect();
    pairs.join(", ") + "\n"
}
