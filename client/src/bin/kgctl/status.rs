//! `kgctl status`: shows indexing progress and daemon health.

use std::time::Duration;

use client::connect::Session;
use client::launch::Target;
use client::render::health;
use indicatif::{ProgressBar, ProgressStyle};
use proto::tool::core::{Status, StatusReply};
use proto::view::View;
use serde::Serialize;

use super::context::Context;
use super::failure::{Exit, Failure};

/// How often a watched status is fetched.
const POLL: Duration = Duration::from_millis(250);

/// Show indexing progress and daemon health.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Show progress until everything is settled, then the status.
    #[arg(long)]
    watch: bool,
    /// Only list what is not read and why, all of it.
    #[arg(long, conflicts_with = "watch")]
    not_read: bool,
    /// Only if the current folder is in a registered project; else end in silence, with 3.
    #[arg(long)]
    here: bool,
}

/// The daemon's reply, and what only the client knows.
#[derive(Serialize)]
struct StatusView<'a> {
    #[serde(flatten)]
    reply: &'a StatusReply,
    socket: String,
    log: String,
    client_version: &'static str,
}

pub(crate) async fn run(arguments: &Arguments, ctx: &Context) -> Result<Exit, Failure> {
    let target = match arguments.here {
        true => match ctx.project_here()? {
            Some(project) => Target::new(&ctx.places()?, project)?,
            None => return Ok(Exit::NothingFound),
        },
        false => ctx.target()?,
    };
    let session = ctx.session_with(&target).await?;
    let reply = if arguments.watch {
        watch(&session).await?
    } else {
        let not_read = arguments.not_read.then_some(true);
        session.call(&Status { not_read, ..Status::default() }).await?
    };
    if arguments.not_read {
        let survey = reply.survey.unwrap_or_default();
        ctx.print_advice(&survey, health::all_not_read)?;
        session.close().await;
        return Ok(Exit::Done);
    }
    ctx.warn_of_protocol(&reply);
    let view = StatusView {
        reply: &reply,
        socket: target.paths.socket.display().to_string(),
        log: target.paths.log.display().to_string(),
        client_version: proto::version(),
    };
    ctx.print_advice(&view, |view| {
        let text = view.reply.text(ctx.style);
        format!(
            "{text}{}\n",
            ctx.style.dim(&format!("socket {}\nlog    {}", view.socket, view.log))
        )
    })?;
    session.close().await;
    Ok(Exit::Done)
}

/// Shows a progress bar until everything is settled; returns the last reply.
pub(crate) async fn watch(session: &Session) -> Result<StatusReply, Failure> {
    let bar = ProgressBar::new(0);
    if let Ok(style) = ProgressStyle::with_template("{bar:30} {pos}/{len} files  {msg}") {
        bar.set_style(style);
    }
    loop {
        let reply = session.call(&Status::default()).await?;
        bar.set_length(reply.progress.known);
        bar.set_position(reply.progress.indexed);
        bar.set_message(doing(&reply));
        if reply.settled {
            bar.finish_and_clear();
            return Ok(reply);
        }
        tokio::time::sleep(POLL).await;
    }
}

fn doing(reply: &StatusReply) -> String {
    let parts = &reply.stages_settled;
    if let Some(deep) = reply.deep.as_ref().filter(|_| parts.resolved && parts.vectors) {
        return deep.describe();
    }
    let what = match (parts.searchable, parts.resolved) {
        (false, _) => "reading",
        (true, false) => "linking",
        (true, true) => "computing vectors",
    };
    format!("{what}, {:.0} documents a second", reply.ingest_rate)
}
