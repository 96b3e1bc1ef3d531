//! Page: the page for people, served on loopback once somebody asks for it.
//!
//! In: the tool `open_page`. Out: a server of the page's files and data, at an address that stays
//! the same for a project as long as it is free. If MCP is served over HTTP on loopback, that
//! server also serves the page.
//! Invariants: no TCP socket is opened before a person asks; the page is on loopback only, whatever
//! `http.listen` says; a page cannot call tools that stop the daemon, forget data, or return
//! everything at once.

use std::path::PathBuf;
use std::sync::Arc;

use config::settings::Http;
use mcp_http::{Access, PageFile, Server, token};
use tokio::sync::mpsc;
use xxhash_rust::xxh3::xxh3_64;

use super::http::{Sessions, limits};
use crate::project::{Asked, Project};

/// The files of the page: path, media type, content.
const FILES: &[(&str, &str, &[u8])] = &[
    ("/", HTML, include_bytes!("../../page/index.html")),
    ("/page/icon.svg", "image/svg+xml", include_bytes!("../../page/icon.svg")),
    ("/page/page.css", CSS, include_bytes!("../../page/page.css")),
    ("/page/page.js", SCRIPT, include_bytes!("../../page/page.js")),
    ("/page/base.js", SCRIPT, include_bytes!("../../page/base.js")),
    ("/page/search.js", SCRIPT, include_bytes!("../../page/search.js")),
    ("/page/document.js", SCRIPT, include_bytes!("../../page/document.js")),
    ("/page/entity.js", SCRIPT, include_bytes!("../../page/entity.js")),
    ("/page/map.js", SCRIPT, include_bytes!("../../page/map.js")),
    ("/page/review.js", SCRIPT, include_bytes!("../../page/review.js")),
    ("/page/memory.js", SCRIPT, include_bytes!("../../page/memory.js")),
    ("/page/health.js", SCRIPT, include_bytes!("../../page/health.js")),
    // Shared with `kgctl graph`.
    ("/page/places.js", SCRIPT, include_bytes!("../../../../client/assets/graph/places.js")),
    (
        "/page/cytoscape.js",
        SCRIPT,
        include_bytes!("../../../../client/assets/cytoscape/cytoscape.min.js"),
    ),
];

const HTML: &str = "text/html; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";

/// Tools that a page must not call: they stop the daemon, forget data, or return everything that is
/// stored.
const CLOSED: [&str; 6] = ["shutdown", "forget", "backup", "dump", "verify", "open_page"];

/// Range of project ports: those that are not assigned to anybody (RFC 6335).
const PORTS: std::ops::Range<u16> = 49_152..65_535;

/// Most waiting requests for the address.
const MAX_ASKED: usize = 8;

/// Returns a file of the page.
pub(super) fn file(path: &str) -> Option<PageFile> {
    let found = FILES.iter().find(|(known, ..)| *known == path);
    found.map(|(_, kind, content)| PageFile { kind, content })
}

/// Returns whether a page may call a tool.
pub(super) fn may_call(tool: &str) -> bool {
    !CLOSED.contains(&tool)
}

/// Serves the page on demand.
pub struct PageDoor {
    /// Its address, once it is served.
    pub(super) address: Option<String>,
    pub(super) settings: Http,
    /// Path of the token of MCP over HTTP.
    pub(super) http_token: PathBuf,
    pub(super) sessions: Sessions,
}

impl PageDoor {
    /// Handles requests for the page until asked to stop, and serves it from the first request on.
    pub async fn serve<F: Future<Output = ()> + Send + 'static>(
        mut self,
        project: Arc<Project>,
        stop: impl Fn() -> F,
    ) {
        let (sender, mut asked) = mpsc::channel::<Asked>(MAX_ASKED);
        project.serves_page(sender);
        let mut serving = None;
        let mut stopping = std::pin::pin!(stop());
        loop {
            let asker = tokio::select! {
                () = &mut stopping => break,
                Some(asker) = asked.recv() => asker,
            };
            let address = match self.address.clone() {
                Some(address) => Ok(address),
                None => self.bind(&project).await.map(|server| {
                    let address = format!("http://{}/", server.address());
                    tracing::info!(at = address, "serving the page");
                    self.address = Some(address.clone());
                    let sessions = Arc::new(self.sessions.of(&project));
                    serving = Some(tokio::spawn(server.serve(sessions, stop())));
                    address
                }),
            };
            let _ = asker.send(address);
        }
        if let Some(serving) = serving {
            let _ = serving.await;
        }
    }

    /// Binds the project's own port on loopback, or any.
    async fn bind(&self, project: &Project) -> Result<Server, String> {
        // Only the limits of MCP's settings apply here: no other page may connect, and the token is
        // the page's own.
        let settings = Http { hosts: Vec::new(), origins: Vec::new(), ..self.settings.clone() };
        let state = project.state_dir.as_os_str().as_encoded_bytes();
        let own = PORTS.start + (xxh3_64(state) % u64::from(PORTS.end - PORTS.start)) as u16;
        let mut last = String::new();
        for port in [own, 0] {
            let access = access(&settings, &self.http_token).map_err(|error| error.to_string())?;
            match Server::bind(&format!("127.0.0.1:{port}"), access, limits(&settings)).await {
                Ok(server) => return Ok(server),
                Err(error) => last = error.to_string(),
            }
        }
        Err(last)
    }
}

/// Grants access with the token of MCP, or with the page's own.
pub(super) fn access(
    settings: &Http,
    http_token: &std::path::Path,
) -> Result<Access, mcp_http::AccessError> {
    Access::of(settings, http_token)?.with_page(&token::of_page(http_token))
}

/// Returns whether the server of MCP can serve the page, too.
pub(super) fn is_on_loopback(server: &Server) -> bool {
    server.address().ip().to_canonical().is_loopback()
}
