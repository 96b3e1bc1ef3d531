//! What every command starts from: the places of files, the selected project, and a connection to
//! its daemon.
//!
//! In: the flags that all commands share. Out: a target, a session, a place to print.

use std::io::{IsTerminal, Write};
use std::time::Duration;

use ::config::command::ProjectFlags;
use ::config::{Places, Project, Registry, which_project};
use client::connect::{ConnectError, Session};
use client::launch::{Life, Target, version_note};
use client::render::{Style, for_stdout};
use proto::PROTOCOL_VERSION;
use proto::tool::Tool;
use proto::tool::core::StatusReply;
use proto::view::View;
use proto::visible::show_json;
use serde::Serialize;

use super::failure::{Exit, Failure};

/// Connection attempts. A daemon that is shutting down can break one or two connections.
const N_ATTEMPTS: u32 = 4;

/// Pause before the next attempt.
const PAUSE: Duration = Duration::from_millis(50);

/// How often, and with what pause, to look for the last words of a daemon that closed the
/// connection: it logs them just before it ends.
const FAREWELL_LOOKS: u32 = 50;
const FAREWELL_LOOK: Duration = Duration::from_millis(20);

/// The flags that all commands share, and how to print.
pub(crate) struct Context {
    project: Option<String>,
    may_start: bool,
    hub: Option<String>,
    /// Whether to print JSON instead of text.
    pub(crate) json: bool,
    /// How text is styled.
    pub(crate) style: Style,
}

impl Context {
    pub(crate) fn new(project: Option<String>, json: bool, may_start: bool) -> Self {
        Context { project, json, may_start, hub: None, style: for_stdout() }
    }

    /// Returns the same context for the projects of a hub.
    pub(crate) fn of_hub(self, hub: Option<String>) -> Self {
        Context { hub, ..self }
    }

    /// Whether it is about projects of a hub.
    pub(crate) fn is_of_hub(&self) -> bool {
        self.hub.is_some()
    }

    /// Returns the value of `--project`.
    pub(crate) fn project_flag(&self) -> Option<&str> {
        self.project.as_deref()
    }

    pub(crate) fn places(&self) -> Result<Places, Failure> {
        let places = Places::from_env()?;
        match &self.hub {
            Some(url) => Ok(client::hub::reach(&places, url)?),
            None => Ok(places),
        }
    }

    /// Returns the selected project.
    pub(crate) fn project(&self) -> Result<Project, Failure> {
        let found = which_project(&self.places()?, self.project_flag());
        found.map_err(|error| match error.to_string().split_once("\nhint: ") {
            // Projects of a hub are not registered by hand.
            Some((message, _)) if self.is_of_hub() => Failure::new(Exit::Refused, message)
                .hint("use `--project NAME` with one of those that `kgctl --hub URL list` shows"),
            _ => error.into(),
        })
    }

    /// Returns the registered project around the current folder.
    pub(crate) fn project_here(&self) -> Result<Option<Project>, Failure> {
        let registry = Registry::load(&self.places()?.config)?;
        let cwd = std::env::current_dir()?;
        Ok(registry.nearest(&cwd.canonicalize().unwrap_or(cwd)).map(|it| it.project()))
    }

    /// Returns how commands in messages name the selected project.
    pub(crate) fn flags(&self) -> ProjectFlags {
        if let Some(url) = &self.hub {
            return ProjectFlags::of_hub(url, self.project_flag());
        }
        let found = self.places().and_then(|places| Ok((self.project()?, places)));
        found.map(|(project, places)| ProjectFlags::here(&places, &project)).unwrap_or_default()
    }

    /// Returns the daemon of the selected project, running or not.
    pub(crate) fn target(&self) -> Result<Target, Failure> {
        Ok(Target::new(&self.places()?, self.project()?)?)
    }

    /// Opens a session with the daemon, and starts it first if none runs and starting is allowed.
    pub(crate) async fn session(&self) -> Result<Session, Failure> {
        self.session_with(&self.target()?).await
    }

    /// Like [`Context::session`], for a daemon that is already known.
    pub(crate) async fn session_with(&self, target: &Target) -> Result<Session, Failure> {
        let n_logged = target.paths.log.metadata().map_or(0, |log| log.len());
        let mut n_left = N_ATTEMPTS;
        loop {
            n_left -= 1;
            let stream = if self.may_start {
                target.connect_or_start(Life::UntilIdle)?
            } else {
                target.connect().map_err(|error| {
                    Failure::from(error).hint("leave out `--no-start` to start it")
                })?
            };
            match Session::open(stream).await {
                Ok(session) => {
                    self.warn_of_version(session.daemon_version().as_deref());
                    return Ok(session);
                }
                // The daemon was idle and ended just as we connected; the next attempt gets a new
                // one.
                Err(ConnectError::Io(_) | ConnectError::Handshake(_))
                    if self.may_start && n_left > 0 =>
                {
                    tokio::time::sleep(PAUSE).await;
                }
                Err(error) => {
                    return Err(last_words(target, n_logged).await.unwrap_or_else(|| error.into()));
                }
            }
        }
    }

    /// Calls one tool over a session of its own.
    pub(crate) async fn call<T: Tool>(&self, request: &T) -> Result<T::Reply, Failure> {
        let session = self.session().await?;
        let reply = session.call(request).await?;
        session.close().await;
        Ok(reply)
    }

    fn warn_of_version(&self, daemon: Option<&str>) {
        if let Some(note) = daemon.and_then(|daemon| version_note(daemon, "kgctl")) {
            warn(&self.flags().in_text(&note));
        }
    }

    /// Warns when the daemon speaks another version of the protocol.
    pub(crate) fn warn_of_protocol(&self, reply: &StatusReply) {
        let daemon = reply.protocol;
        if daemon != PROTOCOL_VERSION {
            let restart = self.flags().command("kgctl restart").into_owned();
            warn(&format!(
                "note: the daemon speaks protocol {daemon}, not {PROTOCOL_VERSION}; `{restart}` may help\n"
            ));
        }
    }

    /// Prints text unchanged.
    pub(crate) fn print(&self, text: &str) -> Result<(), Failure> {
        let mut out = std::io::stdout().lock();
        out.write_all(text.as_bytes())?;
        Ok(out.flush()?)
    }

    /// Prints a message of ours: its commands name the project.
    pub(crate) fn advise(&self, text: &str) -> Result<(), Failure> {
        self.print(&self.flags().in_text(text))
    }

    /// Prints JSON: indented on a terminal, one line otherwise.
    pub(crate) fn print_json(&self, value: &impl Serialize) -> Result<(), Failure> {
        let pretty = std::io::stdout().is_terminal();
        let text = if pretty {
            serde_json::to_string_pretty(value)?
        } else {
            serde_json::to_string(value)?
        };
        self.print(&(show_json(&text) + "\n"))
    }

    /// Prints a reply: as JSON if requested, otherwise as rendered by `text`.
    pub(crate) fn print_reply<T: Serialize>(
        &self,
        reply: &T,
        text: impl FnOnce(&T) -> String,
    ) -> Result<(), Failure> {
        if self.json { self.print_json(reply) } else { self.print(&text(reply)) }
    }

    /// Prints a reply as [`Context::print_reply`] does, as text in its own view.
    pub(crate) fn show<T: View + Serialize>(&self, reply: &T) -> Result<(), Failure> {
        self.print_reply(reply, |reply| reply.text(self.style))
    }

    /// Like [`Context::show`], for a reply that holds no text of documents: its commands name the project.
    pub(crate) fn show_advice<T: View + Serialize>(&self, reply: &T) -> Result<(), Failure> {
        self.print_advice(reply, |reply| reply.text(self.style))
    }

    /// Like [`Context::print_reply`], for what holds no text of documents: its commands name the project.
    pub(crate) fn print_advice<T: Serialize>(
        &self,
        reply: &T,
        text: impl FnOnce(&T) -> String,
    ) -> Result<(), Failure> {
        if self.json { self.print_json(reply) } else { self.advise(&text(reply)) }
    }

    /// Asks whether to continue despite a doubt; `yes` answers for the user. Without a terminal the
    /// answer is no.
    pub(crate) fn confirm(&self, doubt: &str, yes: bool) -> Result<(), Failure> {
        self.ask(&format!("{doubt} Continue?"), doubt.trim_end_matches('.'), yes)
    }

    /// Like [`Context::confirm`], with a question, and the message if the answer is no.
    pub(crate) fn ask(&self, question: &str, refusal: &str, yes: bool) -> Result<(), Failure> {
        if yes {
            return Ok(());
        }
        let refused = || Failure::new(Exit::Refused, refusal).hint("`--yes` skips this question");
        if !std::io::stdin().is_terminal() {
            return Err(refused());
        }
        warn(&format!("{question} [y/N] "));
        let mut answer = String::new();
        std::io::stdin().read_line(&mut answer)?;
        if matches!(answer.trim(), "y" | "Y" | "yes") { Ok(()) } else { Err(refused()) }
    }
}

/// Prints a note on standard error. If that fails, nothing can be done.
pub(crate) fn warn(text: &str) {
    let _ = std::io::stderr().write_all(text.as_bytes());
}

/// Returns why a daemon that already listened ended, such as a damaged ledger: what it logged after
/// byte `n_logged`.
pub(crate) async fn last_words(target: &Target, n_logged: u64) -> Option<Failure> {
    for _ in 0..FAREWELL_LOOKS {
        if target.pid().is_none() {
            break;
        }
        tokio::time::sleep(FAREWELL_LOOK).await;
    }
    let log = std::fs::read(&target.paths.log).ok()?;
    let fresh = usize::try_from(n_logged).ok().and_then(|from| log.get(from..)).unwrap_or(&log);
    let text = String::from_utf8_lossy(fresh);
    let own = text
        .rfind("\nkgd: ")
        .map(|at| at + 1)
        .or_else(|| text.starts_with("kgd: ").then_some(0))?;
    let words = text.get(own..)?.trim_end().trim_start_matches("kgd: ");
    Some(Failure::new(
        Exit::NoDaemon,
        format!("the daemon for `{}` ended: {words}", target.project.name),
    ))
}
