//! Connect: an MCP client of the daemon, over its socket.
//!
//! In: a connected socket. Out: a session that can call tools of the sets `core`, `notes` and
//! `admin`.
//! Invariants: no other file of the client names the MCP library's connection.

use std::io::Read as _;
use std::os::unix::net::UnixStream as StdUnixStream;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use proto::PREAMBLE_VERSION;
use proto::error::{Code, ErrorView};
use proto::form::Form;
use proto::tool::ToolSet;
use rmcp::model::{ClientConfig, Implementation, ProgressNotificationParam};
use rmcp::service::{NotificationContext, Peer, RunningService};
use rmcp::{ClientHandler, RoleClient, ServiceExt};
use serde_json::json;
use tokio::io::{AsyncRead, AsyncWriteExt, ReadBuf};
use tokio::net::UnixStream;
use tokio::net::unix::OwnedReadHalf;

use crate::shim::Kind;

/// Why a session could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The socket broke.
    #[error("the connection to the daemon broke: {0}")]
    Io(#[from] std::io::Error),
    /// The listener does not speak MCP.
    #[error("the handshake with the daemon failed: {0}")]
    Handshake(String),
    /// The daemon accepts connections, but does not answer.
    #[error("the daemon did not answer within {} s\nhint: `kgctl restart`", HANDSHAKE.as_secs())]
    Silent,
    /// The daemon refuses the client, with a reason.
    #[error(transparent)]
    Refused(ErrorView),
}

/// The progress of a call, as reported by its tool.
#[derive(Debug, Clone, PartialEq)]
pub struct Progress {
    /// Units done.
    pub done: f64,
    /// Units in all, if known.
    pub total: Option<f64>,
    /// The current activity.
    pub message: Option<String>,
}

type Listener = Box<dyn FnMut(Progress) + Send>;

/// Receives the notifications of the daemon.
#[derive(Clone, Default)]
struct NotificationReceiver {
    listener: Arc<Mutex<Option<Listener>>>,
}

impl ClientHandler for NotificationReceiver {
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
        info.client_info = Implementation::new("kgctl", proto::version());
        info
    }
}

/// Longest wait for the daemon's part of the handshake, which costs it no work.
const HANDSHAKE: Duration = Duration::from_secs(20);

/// Most bytes kept of the daemon's first output; a refusal is shorter.
const MAX_OVERHEARD_BYTES: usize = 4_096;

/// The daemon's first output. The library reports only that the handshake failed.
#[derive(Clone, Default)]
struct Overheard(Arc<Mutex<Vec<u8>>>);

impl Overheard {
    fn add(&self, bytes: &[u8]) {
        let mut recorded = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let room = MAX_OVERHEARD_BYTES.saturating_sub(recorded.len());
        recorded.extend(bytes.iter().take(room));
    }

    /// Returns the daemon's refusal, if it sent one; unread output is still in the socket.
    fn refusal(&self, mut spare: StdUnixStream) -> Option<ConnectError> {
        let mut rest = [0; MAX_OVERHEARD_BYTES];
        while let Ok(n @ 1..) = spare.read(&mut rest) {
            self.add(rest.get(..n)?);
        }
        let recorded = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Kind::Refusal(refusal) = Kind::of(recorded.split(|byte| *byte == b'\n').next()?) else {
            return None;
        };
        // An unknown code, from a newer daemon, still means a refusal.
        let code = serde_json::from_value(refusal.code.into()).unwrap_or(Code::Unavailable);
        let view = ErrorView { code, message: refusal.message, hint: refusal.hint, conflict: None };
        Some(ConnectError::Refused(view))
    }
}

/// A reader that records the first bytes.
struct Overhearing {
    inner: OwnedReadHalf,
    recorded: Overheard,
}

impl AsyncRead for Overhearing {
    fn poll_read(
        mut self: Pin<&mut Self>,
        ctx: &mut Context<'_>,
        out: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        let before = out.filled().len();
        let read = ready!(Pin::new(&mut self.inner).poll_read(ctx, out));
        self.recorded.add(out.filled().get(before..).unwrap_or_default());
        Poll::Ready(read)
    }
}

/// A connection to one daemon, ready for calls.
pub struct Session {
    service: RunningService<RoleClient, NotificationReceiver>,
    receiver: NotificationReceiver,
}

impl Session {
    /// Opens a session over a connected socket, with the tool sets `core`, `notes` and `admin`.
    ///
    /// # Errors
    /// [`ConnectError`] when the socket breaks, or the other side does not speak MCP.
    pub async fn open(stream: StdUnixStream) -> Result<Self, ConnectError> {
        let tools = ToolSet::ALL.map(ToolSet::as_str);
        let preamble = json!({
            "kgd": PREAMBLE_VERSION, "tools": tools, "form": Form::Whole.as_str(), "client": "kgctl",
        });
        Self::open_after(&format!("{preamble}\n"), stream).await
    }

    /// Opens a session with a gateway, which has preambles of its own for daemons.
    ///
    /// # Errors
    /// As [`Session::open`].
    pub async fn open_gateway(stream: StdUnixStream) -> Result<Self, ConnectError> {
        Self::open_after("", stream).await
    }

    async fn open_after(preamble: &str, stream: StdUnixStream) -> Result<Self, ConnectError> {
        stream.set_nonblocking(true)?;
        let spare = stream.try_clone()?;
        let (reading, mut writing) = UnixStream::from_std(stream)?.into_split();
        let overheard = Overheard::default();
        let reading = Overhearing { inner: reading, recorded: overheard.clone() };
        let sent = writing.write_all(preamble.as_bytes()).await;
        if let Err(error) = sent {
            return Err(overheard.refusal(spare).unwrap_or(ConnectError::Io(error)));
        }
        let receiver = NotificationReceiver::default();
        let shaken =
            tokio::time::timeout(HANDSHAKE, receiver.clone().serve((reading, writing))).await;
        match shaken.map_err(|_| ConnectError::Silent)? {
            Ok(service) => Ok(Session { service, receiver }),
            Err(error) => {
                let otherwise = || ConnectError::Handshake(error.to_string());
                Err(overheard.refusal(spare).unwrap_or_else(otherwise))
            }
        }
    }

    /// Returns the daemon's version from its handshake.
    pub fn daemon_version(&self) -> Option<String> {
        Some(self.service.peer_info()?.server_info.as_ref()?.version.clone())
    }

    /// Calls `listener` with the progress of calls from now on.
    pub fn on_progress(&self, listener: impl FnMut(Progress) + Send + 'static) {
        let mut slot = self.receiver.listener.lock().unwrap_or_else(PoisonError::into_inner);
        *slot = Some(Box::new(listener));
    }

    /// Returns the library's side of the session.
    pub(crate) fn peer(&self) -> &Peer<RoleClient> {
        self.service.peer()
    }

    /// Closes the connection. Dropping a session does so too, but does not wait.
    pub async fn close(self) {
        // The outcome of the library's task no longer matters.
        let _ = self.service.cancel().await;
    }
}
