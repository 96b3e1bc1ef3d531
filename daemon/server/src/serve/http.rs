//! Http: the daemon's second door, MCP over HTTP; off unless a flag or the user's own settings turn
//! it on.
//!
//! In: an address. Out: sessions that are handed to the first door's loop (`accept.rs`), each as
//! one end of a socket pair, so that its limits, tool sets and shutdown apply to them as well.
//! Invariants: the daemon serves one project, so a request need not name it, and may name no other.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use config::limits::{DRAIN_SECONDS, FAREWELL_SECONDS};
use config::settings::Http;
use mcp_http::{Caller, Health, Limits, ListenError, MCP_PATH, PageFile, Server, Workspaces};
use notes::slug::slug;
use proto::PREAMBLE_VERSION;
use proto::tool::ToolSet;
use serde_json::{Value, json};
use tokio::net::UnixStream;
use tokio::sync::mpsc;

use super::accept::limit;
use super::page::{self, PageDoor};
use crate::project::Project;
use sys::fail;

/// Most sessions waiting to be accepted.
const MAX_WAITING: usize = 64;

/// The HTTP server, and the sessions that it opens.
pub struct HttpDoor {
    server: Server,
    sessions: Sessions,
    warning: Option<String>,
}

/// Opens sessions and hands them over.
#[derive(Clone)]
pub(super) struct Sessions {
    project: String,
    tools: Vec<&'static str>,
    visitors: mpsc::Sender<UnixStream>,
    serves: Option<Arc<Project>>,
}

impl Sessions {
    /// Returns the same for an open project.
    pub(super) fn of(&self, project: &Arc<Project>) -> Self {
        Sessions { serves: Some(Arc::clone(project)), ..self.clone() }
    }

    /// Opens a session that starts with this preamble.
    fn open_with(&self, mut preamble: Value) -> io::Result<UnixStream> {
        preamble["kgd"] = PREAMBLE_VERSION.into();
        let (ours, theirs) = UnixStream::pair()?;
        // The buffer is empty, so the line fits.
        ours.try_write(format!("{preamble}\n").as_bytes())?;
        let busy = |_| io::Error::other("the daemon is stopping, or very busy");
        self.visitors.try_send(theirs).map_err(busy)?;
        Ok(ours)
    }
}

impl HttpDoor {
    /// Binds the address of the flag, or else of the settings, with the token at `token` unless
    /// they name another; also returns the door of the page for people, and the receiver of
    /// sessions. `None` if neither names an address, or if only the settings do and another program
    /// uses it: settings may be shared by several projects.
    ///
    /// # Errors
    /// When the address or the settings are invalid.
    pub async fn bind(
        flag: Option<&str>,
        settings: &Http,
        project: &str,
        token: &Path,
    ) -> anyhow::Result<(Option<Self>, PageDoor, mpsc::Receiver<UnixStream>)> {
        let (visitors, coming) = mpsc::channel(MAX_WAITING);
        let tools = sets(&settings.tools)?;
        let sessions = Sessions { project: project.to_string(), tools, visitors, serves: None };
        let mut page = PageDoor {
            address: None,
            settings: settings.clone(),
            http_token: token.to_path_buf(),
            sessions: sessions.clone(),
        };
        let address = flag.unwrap_or(&settings.listen);
        if address.is_empty() {
            return Ok((None, page, coming));
        }
        let access = page::access(settings, token).map_err(ListenError::Access)?;
        let warning = access.warning().map(str::to_string);
        if let Some(warning) = &warning {
            tracing::warn!("{warning}");
        }
        let server = match Server::bind(address, access, limits(settings)).await {
            Ok(server) => server,
            Err(error @ ListenError::Io { .. }) if flag.is_none() => {
                tracing::warn!(%error, "no HTTP: `http.listen` is taken");
                return Ok((None, page, coming));
            }
            Err(error) => return Err(error.into()),
        };
        if page::is_on_loopback(&server) {
            page.address = Some(format!("http://{}/", server.address()));
        }
        let door = HttpDoor { server, sessions, warning };
        tracing::info!(at = door.address(), "serving MCP over HTTP");
        Ok((Some(door), page, coming))
    }

    /// Returns the address that it serves.
    pub fn address(&self) -> String {
        format!("http://{}{MCP_PATH}", self.server.address())
    }

    /// Returns a warning about who can connect, if there is one.
    pub fn warning(&self) -> Option<String> {
        self.warning.clone()
    }

    /// Serves until asked to stop.
    pub async fn serve(self, project: Arc<Project>, stop: impl Future<Output = ()>) {
        self.server.serve(Arc::new(self.sessions.of(&project)), stop).await;
    }
}

/// Parses the tool sets that may be offered.
fn sets(names: &[String]) -> anyhow::Result<Vec<&'static str>> {
    let set = |name: &String| match ToolSet::parse(name) {
        Some(ToolSet::Admin) | None => Err(anyhow::anyhow!(
            "`http.tools` has `{name}`, which is no set of tools for agents\n\
             hint: sets are {}",
            ToolSet::listing()
        )),
        Some(set) => Ok(set.as_str()),
    };
    names.iter().map(set).collect()
}

/// Returns the configured limits, unless a test sets others.
pub(super) fn limits(settings: &Http) -> Limits {
    let usual = Limits::of(settings);
    let count = |name: &str, usual: usize| {
        fail::number(name).and_then(|it| usize::try_from(it).ok()).unwrap_or(usual)
    };
    Limits {
        max_connections: count("http.connections", usual.max_connections),
        max_sessions: count("http.sessions", usual.max_sessions),
        requests_per_second: fail::number("http.rate")
            .map_or(usual.requests_per_second, |it| it as u32),
        burst: fail::number("http.burst").map_or(usual.burst, |it| it as u32),
        idle: limit("http.idle_ms", usual.idle.as_secs()),
        patience: limit("http.patience_ms", usual.patience.as_secs()),
        body: limit("http.body_ms", usual.body.as_secs()),
        // Calls that wait for indexing are answered once the belt is finished.
        farewell: Duration::from_secs(DRAIN_SECONDS + FAREWELL_SECONDS),
        ..usual
    }
}

impl Workspaces for Sessions {
    fn names(&self) -> Vec<String> {
        vec![self.project.clone()]
    }

    fn find(&self, named: &str) -> Option<String> {
        let is_ours = named == self.project || slug(named) == slug(&self.project);
        is_ours.then(|| self.project.clone())
    }

    fn open(&self, _: &str) -> io::Result<UnixStream> {
        self.open_with(json!({ "tools": self.tools, "client": "HTTP" }))
    }

    fn page_file(&self, path: &str) -> Option<PageFile> {
        page::file(path)
    }

    fn open_for_api(&self, tool: &str, caller: Caller) -> Option<io::Result<UnixStream>> {
        let (tools, client): (&[&str], _) = match caller {
            Caller::Person => (&["core", "notes", "memory", "kb", "admin"], "the page"),
            Caller::Program => (&self.tools, "HTTP"),
        };
        let preamble = json!({ "tools": tools, "form": "whole", "client": client });
        page::may_call(tool).then(|| self.open_with(preamble))
    }

    fn health(&self) -> Health {
        match &self.serves {
            Some(project) if project.is_poisoned().is_some() => Health::Degraded,
            Some(project) if project.health().stalled().is_some() => Health::Degraded,
            Some(project) if project.settled().searchable => Health::Ok,
            _ => Health::Starting,
        }
    }
}
