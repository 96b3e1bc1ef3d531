//! Http: `kg-mcp` as a server of HTTP in front of the daemons of one or several projects.
//!
//! In: an address, projects, settings. Out: nothing; it ends when it is told to.
//! How: each session is about one project, which its client names (`X-Memory-Workspace`), and has a shim with a pump
//! of its own (`shim/`), as an agent at standard input has: the daemon is started when it is needed, and a session
//! survives its restart.
//! Invariants: a project that cannot be reached harms the sessions of no other.
//! Not here: HTTP itself (`mcp_http`), which projects are served (`gateway::choose`).

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
use crate::shim::{Shim, pump};
use crate::signals::told_to_stop;

/// Stack of a thread that reaches a daemon, in bytes: it reads settings before it starts one.
const STACK_BYTES: usize = 2 << 20;

/// What is served.
pub struct Served {
    /// The projects known at the start.
    pub projects: Vec<Project>,
    /// Where to look for those registered since; none where only the known ones are served.
    pub registry: Option<std::path::PathBuf>,
    /// Tool sets.
    pub tools: Vec<String>,
    /// The name in the daemons' logs.
    pub client: String,
    /// How a project's daemon is reached.
    pub dial: Box<dyn Fn(Project) -> Dial + Send + Sync>,
}

impl Served {
    fn projects(&self) -> Vec<Project> {
        let registry = self.registry.as_ref().and_then(|it| Registry::load(it).ok());
        match registry {
            Some(registry) => registry.projects().iter().map(|it| it.project()).collect(),
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
        let exact = projects.iter().find(|it| it.name == named);
        let like = |it: &&Project| is_same_name(&it.name, named) || permalink(&it.name) == named;
        exact.or_else(|| projects.iter().find(like)).map(|it| it.name.clone())
    }

    fn open(&self, name: &str) -> io::Result<UnixStream> {
        let projects = self.projects();
        let project = projects.into_iter().find(|it| it.name == name);
        let project = project.ok_or_else(|| io::Error::other("it is not registered any more"))?;
        let (ours, theirs) = StdUnixStream::pair()?;
        let shim = Shim::new(&project.name, &self.tools, &self.client);
        let dial = (self.dial)(project);
        let output = theirs.try_clone()?;
        // It ends when the session lets go of its end.
        let thread = Builder::new().name("session".to_string()).stack_size(STACK_BYTES);
        thread.spawn(move || pump::run(shim, theirs, output, dial))?;
        ours.set_nonblocking(true)?;
        UnixStream::from_std(ours)
    }
}

/// Serves HTTP until SIGTERM, SIGINT or SIGHUP, with the token at `token` unless the settings name another; says where
/// on standard error.
///
/// # Errors
/// What is wrong with the address or the settings; the message may end in a line `hint: …`.
pub fn serve(
    address: &str,
    (settings, token): (&Http, &Path),
    served: Served,
) -> Result<(), String> {
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
        let stop = told_to_stop().map_err(|error| error.to_string())?;
        let names = served.names().join(", ");
        let told = format!("kg-mcp: serving {names} at http://{}{MCP_PATH}\n", server.address());
        // There is nobody left to tell when this fails.
        let _ = io::stderr().write_all((told + &warning.unwrap_or_default()).as_bytes());
        server.serve(Arc::new(served), stop).await;
        Ok(())
    })
}
