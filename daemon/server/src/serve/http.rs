//! Http: the daemon's second door, MCP over HTTP; off unless a flag or the user's own settings ask for it.
//!
//! In: an address. Out: sessions that are handed to the first door's loop (`accept.rs`), each as one end of a pair of
//! sockets, so that all of its limits, sets of tools and farewells hold for them alike.
//! Invariants: the daemon serves one project, so a request need not name it, and may name no other.
//! Not here: HTTP itself (`mcp_http`).

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

/// Sessions that wait to be let in.
const MAX_WAITING: usize = 64;

/// Where HTTP is served, and for whom.
pub struct HttpDoor {
    server: Server,
    sessions: Sessions,
    warning: Option<String>,
}

/// Hands sessions over.
#[derive(Clone)]
pub(super) struct Sessions {
    project: String,
    tools: Vec<&'static str>,
    visitors: mpsc::Sender<UnixStream>,
    serves: Option<Arc<Project>>,
}

impl Sessions {
    /// The same, once the project is open.
    pub(super) fn of(&self, project: &Arc<Project>) -> Self {
        Sessions { serves: Some(Arc::clone(project)), ..self.clone() }
    }

    /// Opens a session that begins with this preamble.
    fn open_with(&self, mut preamble: Value) -> io::Result<UnixStream> {
        preamble["kgd"] = PREAMBLE_VERSION.into();
        let (ours, theirs) = UnixStream::pair()?;
        // Into an empty buffer it goes whole.
        ours.try_write(format!("{preamble}\n").as_bytes())?;
        let busy = |_| io::Error::other("the daemon is stopping, or very busy");
        self.visitors.try_send(theirs).map_err(busy)?;
        Ok(ours)
    }
}

impl HttpDoor {
    /// Takes the address that the flag or else the settings name, with the token at `token` unless they name another;
    /// gives where the page for people will be, and the sessions to come, too. None where neither names one, or where
    /// only the settings do and another program has it: they may be those of several projects.
    ///
    /// # Errors
    /// What is wrong with the address or the settings.
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

    /// Where it serves.
    pub fn address(&self) -> String {
        format!("http://{}{MCP_PATH}", self.server.address())
    }

    /// What the user should know about who may ask.
    pub fn warning(&self) -> Option<String> {
        self.warning.clone()
    }

    /// Answers until asked to stop.
    pub async fn serve(self, project: Arc<Project>, stop: impl Future<Output = ()>) {
        self.server.serve(Arc::new(self.sessions.of(&project)), stop).await;
    }
}

/// The tool sets that may be offered.
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

/// The limits that are set, unless a test asks for others.
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
        // Who waits for indexing is answered when the belt is finished.
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
