//! Connect: `kgctl` as an MCP client of the daemon, over its socket.
//!
//! In: a connected socket. Out: a session that has shaken hands and may call tools of the sets `core`
//! and `admin`.
//! Invariants: this is the only file of the client that names the MCP library's connection.
//! Not here: starting the daemon (`launch.rs`), or what tools say (`call.rs`).

use std::os::unix::net::UnixStream as StdUnixStream;
use std::sync::{Arc, Mutex, PoisonError};

use proto::tool::ToolSet;
use rmcp::model::{ClientConfig, Implementation, ProgressNotificationParam};
use rmcp::service::{NotificationContext, Peer, RunningService};
use rmcp::{ClientHandler, RoleClient, ServiceExt};
use serde_json::json;
use tokio::io::AsyncWriteExt;
use tokio::net::UnixStream;

/// Why there is no session.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The socket broke.
    #[error("the connection to the daemon broke: {0}")]
    Io(#[from] std::io::Error),
    /// What listens there does not speak MCP, or refused us.
    #[error("the daemon did not shake hands: {0}")]
    Handshake(String),
}

/// How far a call is, as its tool reports it.
#[derive(Debug, Clone, PartialEq)]
pub struct Progress {
    /// Units done.
    pub done: f64,
    /// Units in all, where they are known.
    pub total: Option<f64>,
    /// What is being done.
    pub message: Option<String>,
}

type Listener = Box<dyn FnMut(Progress) + Send>;

/// Hears what the daemon says without being asked.
#[derive(Clone, Default)]
struct Ear {
    listener: Arc<Mutex<Option<Listener>>>,
}

impl ClientHandler for Ear {
    fn on_progress(
        &self,
        params: ProgressNotificationParam,
        _: NotificationContext<RoleClient>,
    ) -> impl Future<Output = ()> + Send + '_ {
        let mut listener = self.listener.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(listener) = listener.as_mut() {
            listener(Progress {
                done: params.progress,
                total: params.total,
                message: params.message,
            });
        }
        std::future::ready(())
    }

    fn get_info(&self) -> ClientConfig {
        let mut info = ClientConfig::default();
        info.client_info = Implementation::new("kgctl", env!("CARGO_PKG_VERSION"));
        info
    }
}

/// A connection to one daemon, ready for calls.
pub struct Session {
    service: RunningService<RoleClient, Ear>,
    ear: Ear,
}

impl Session {
    /// Shakes hands over a connected socket, asking for the tool sets `core` and `admin`.
    ///
    /// # Errors
    /// [`ConnectError`] when the socket breaks, or the other side does not speak MCP.
    pub async fn open(stream: StdUnixStream) -> Result<Self, ConnectError> {
        stream.set_nonblocking(true)?;
        let mut stream = UnixStream::from_std(stream)?;
        let tools = [ToolSet::Core, ToolSet::Admin].map(ToolSet::as_str);
        let preamble = json!({ "kgd": 1, "tools": tools, "client": "kgctl" });
        stream.write_all(format!("{preamble}\n").as_bytes()).await?;
        let ear = Ear::default();
        let service = ear.clone().serve(stream).await;
        let service = service.map_err(|error| ConnectError::Handshake(error.to_string()))?;
        Ok(Session { service, ear })
    }

    /// The daemon's version, as it introduced itself.
    pub fn daemon_version(&self) -> Option<String> {
        Some(self.service.peer_info()?.server_info.as_ref()?.version.clone())
    }

    /// Has `listener` told how far calls are, from now on.
    pub fn on_progress(&self, listener: impl FnMut(Progress) + Send + 'static) {
        let mut slot = self.ear.listener.lock().unwrap_or_else(PoisonError::into_inner);
        *slot = Some(Box::new(listener));
    }

    /// The library's side of the session.
    pub(crate) fn peer(&self) -> &Peer<RoleClient> {
        self.service.peer()
    }

    /// Hangs up. Dropping a session does so too, but does not wait.
    pub async fn close(self) {
        // Whether the library's task ended well no longer matters.
        let _ = self.service.cancel().await;
    }
}
