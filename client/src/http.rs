//! Http: `kg-mcp` as an HTTP server in front of the daemons of one or several projects.
//!
//! In: an address, projects, settings. Out: nothing; it ends on a signal. How: each session is for one project, which
//! its client names (`X-Memory-Workspace`), and has a shim with a pump of its own (`shim/`), like an agent at standard
//! input, or a gateway over all projects of a hub: the daemon is started when it is needed, and a session survives
//! its restart.
//! Invariants: an unreachable project does not affect the sessions of others.

use proto::form::Form;
use std::io::{self, Write};
use std::os::unix::net::UnixStream as StdUnixStream;
use std::path::Path;
use std::sync::Arc;
use std::thread::Builder;

use config::place::create_private_dir;
use config::registry::{is_same_name, permalink};
use config::settings::Http;
use config::{Project, Registry};
use mcp_http::{Access, Limits, MCP_PATH, Server, Workspaces};
use tokio::net::UnixStream;

use crate::gateway::pump::Dial;
use crate::gateway::registered;
use crate::shim::{Shim, pump};
use crate::signals::stop_requested;

/// Stack of a thread that connects to a daemon, in bytes: it reads settings before starting one.
const STACK_BYTES: usize = 2 << 20;

/// What to serve.
pub struct Served {
    /// The projects known at the start.
    pub projects: Vec<Project>,
    /// Where to look for projects registered since; `None` if only the known ones are served.
    pub registry: Option<std::path::PathBuf>,
    /// Tool sets.
    pub tools: Vec<String>,
    /// What results contain; `None` leaves it to each project's settings.
    pub form: Option<Form>,
    /// The client's name in the daemons' logs.
    pub client: String,
    /// Connects to a project's daemon.
    pub dial: Box<dyn Fn(Project) -> Dial + Send + Sync>,
    /// Opens a session over all of these projects, for clients that name none; none if they must.
    pub whole: Option<Whole>,
}

/// See [`Served::whole`].
pub type Whole = Box<dyn Fn(Vec<Project>) -> Result<StdUnixStream, String> + Send + Sync>;

/// What a session over all projects is about; no project can have this name.
const ALL: &str = "/";

impl Served {
    fn projects(&self) -> Vec<Project> {
        let registry = self.registry.as_ref().and_then(|it| Registry::load(it).ok());
        match registry {
            Some(registry) => registered(&registry),
            None => self.projects.clone(),
        }
    }
}

impl Workspaces for Served {
    fn names(&self) -> Vec<String> {
        self.projects().into_iter().map(|it| it.name).collect()
    }

    fn find(&self, named: &str) -> Option<String> {
        let projects = self.projects();
        if named == ALL && self.whole.is_some() {
            return Some(named.to_string());
        }
        let exact = projects.iter().find(|it| it.name == named);
        let like = |it: &&Project| is_same_name(&it.name, named) || permalink(&it.name) == named;
        exact.or_else(|| projects.iter().find(like)).map(|it| it.name.clone())
    }

    fn unnamed(&self) -> Option<String> {
        match (self.projects().as_slice(), &self.whole) {
            ([only], _) => Some(only.name.clone()),
            (_, Some(_)) => Some(ALL.to_string()),
            _ => None,
        }
    }

    fn open(&self, name: &str) -> io::Result<UnixStream> {
        let projects = self.projects();
        if let (ALL, Some(whole)) = (name, &self.whole) {
            let ours = whole(projects).map_err(io::Error::other)?;
            ours.set_nonblocking(true)?;
            return UnixStream::from_std(ours);
        }
        let project = projects.into_iter().find(|it| it.name == name);
        let project = project.ok_or_else(|| io::Error::other("it is not registered any more"))?;
        let (ours, theirs) = StdUnixStream::pair()?;
        let shim = Shim::new(&project.name, &self.tools, &self.client).in_form(self.form);
        let dial = (self.dial)(project);
        let output = theirs.try_clone()?;
        // It ends when the session drops its end.
        let thread = Builder::new().name("session".to_string()).stack_size(STACK_BYTES);
        thread.spawn(move || pump::run(shim, theirs, output, dial))?;
        ours.set_nonblocking(true)?;
        UnixStream::from_std(ours)
    }
}

/// Serves HTTP until SIGTERM, SIGINT or SIGHUP, with the token at `token` unless the settings name another; prints the
/// address on standard error.
///
/// # Errors
/// What is wrong with the address or the settings; the message may end in a line `hint: …`.
pub fn serve(address: &str, settings: &Http, token: &Path, served: Served) -> Result<(), String> {
    if let Some(folder) = token.parent() {
        create_private_dir(folder).map_err(|error| error.to_string())?;
    }
    let access = Access::of(settings, token).map_err(|error| error.to_string())?;
    let warning = access.warning().map(|it| format!("kg-mcp: warning: {it}\n"));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| error.to_string())?;
    runtime.block_on(async {
        let server = Server::bind(address, access, Limits::of(settings)).await;
        let server = server.map_err(|error| error.to_string())?;
        let stop = stop_requested().map_err(|error| error.to_string())?;
        let names = Some(served.names().join(", ")).filter(|it| !it.is_empty());
        let names = names.as_deref().unwrap_or("projects that are registered from now on");
        let address = format!("kg-mcp: serving {names} at http://{}{MCP_PATH}\n", server.address());
        // If standard error is gone, nothing can be done.
        let _ = io::stderr().write_all((address + &warning.unwrap_or_default()).as_bytes());
        server.serve(Arc::new(served), stop).await;
        Ok(())
    })
}
