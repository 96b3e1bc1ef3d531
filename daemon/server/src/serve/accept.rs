//! Accept: one task per connection, from the first byte to the last.
//!
//! In: a door, sessions that came in over HTTP (`http.rs`), a project. Out: sessions, until asked
//! to stop.
//! Invariants: at most `MAX_CLIENTS` at once, and `MAX_HTTP_CLIENTS` over HTTP; one more client
//! takes the place of a connection that has opened no session, and gets an error if all have;
//! nothing that happens in one connection ends another; when asked to stop, no new client is
//! accepted, and connected ones get the replies to their requests.

use std::sync::Arc;
use std::time::Duration;

use config::limits::{
    HALF_LINE_SECONDS, MAX_CLIENTS, MAX_FRAME_BYTES, MAX_HTTP_CLIENTS, OPENING_SECONDS,
    SLOW_READER_SECONDS,
};
use mcp_http::{Leave, Seat, Seats};
use proto::error::{Code, ErrorView};
use rmcp::ServiceExt;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval};

use super::client_reader::{ClientReader, HangUp};
use super::limits::TimedWriter;
use super::lines::Lines;
use super::listen::Door;
use super::preamble::{self, Preamble};
use super::routes::Routes;
use super::session::Session;
use super::tool::memory::begin_reports;
use super::wire::{Wire, refusal_line};
use crate::project::Project;
use crate::project::activity::Visit;
use sys::fail;

/// Interval between checks that the socket exists.
const TEND_INTERVAL: Duration = Duration::from_secs(2);

/// Number of checks after which the socket is touched. Cleaners of temporary files work by days;
/// `systemd-tmpfiles` waits at least 10.
const LOOKS_A_TOUCH: u32 = 300;

/// Pause after the system refused a connection, for example because of too many open files.
const REFUSED_PAUSE: Duration = Duration::from_millis(200);

/// All connected clients.
#[derive(Debug)]
pub struct Sessions {
    tasks: JoinSet<()>,
    hang_up: watch::Sender<bool>,
}

impl Sessions {
    /// Closes all connections once their last replies are written, and waits at most `limit` for
    /// that.
    pub async fn end(mut self, limit: Duration) {
        self.hang_up.send_replace(true);
        let all_gone = async { while self.tasks.join_next().await.is_some() {} };
        if tokio::time::timeout(limit, all_gone).await.is_err() {
            tracing::debug!("some clients did not read their last replies");
        }
    }
}

/// Accepts clients until `stop` returns, then closes the door and returns those still connected.
pub async fn serve(
    mut door: Door,
    mut visitors: mpsc::Receiver<UnixStream>,
    project: Arc<Project>,
    routes: Arc<Routes>,
    stop: impl Future<Output = ()>,
) -> Sessions {
    begin_reports(&project);
    let mut sessions = Sessions { tasks: JoinSet::new(), hang_up: watch::Sender::new(false) };
    // Separate pools, so that neither door can fill the other's.
    let (of_socket, of_http) = (Seats::default(), Seats::default());
    let admit =
        |sessions: &mut Sessions, stream: UnixStream, (seats, most): (&Seats<Peer>, usize)| {
            let peer = stream.peer_cred().ok().and_then(|it| it.pid());
            let guest = Guest {
                project: Arc::clone(&project),
                routes: Arc::clone(&routes),
                hang_up: sessions.hang_up.subscribe(),
            };
            // Taken here, not in the task, so that the last client to arrive is the one refused.
            match seats.take(peer, most) {
                Some((seat, leave)) => {
                    let visit = project.activity().enter();
                    sessions.tasks.spawn(guest.welcome(stream, visit, seat, leave));
                }
                None => {
                    sessions.tasks.spawn(refuse(stream));
                }
            }
        };
    let mut stop = std::pin::pin!(stop);
    let mut tend = interval(TEND_INTERVAL);
    tend.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let (mut n_looks, mut last_trouble) = (0_u32, None);
    loop {
        tokio::select! {
            () = &mut stop => return sessions,
            _ = tend.tick() => {
                let trouble = look_after(&mut door, &project, n_looks).await.err();
                n_looks = n_looks.wrapping_add(1);
                if trouble.is_some() && trouble != last_trouble {
                    tracing::warn!(error = trouble, "the socket may be out of reach");
                }
                last_trouble = trouble;
            }
            // Only to clean up finished tasks.
            Some(_) = sessions.tasks.join_next(), if !sessions.tasks.is_empty() => {}
            Some(stream) = visitors.recv() => {
                admit(&mut sessions, stream, (&of_http, MAX_HTTP_CLIENTS));
            }
            accepted = door.accept() => match accepted {
                Ok(stream) => {
                    admit(&mut sessions, stream, (&of_socket, MAX_CLIENTS));
                }
                Err(error) => {
                    tracing::warn!(%error, "a connection was lost");
                    tokio::time::sleep(REFUSED_PAUSE).await;
                }
            }
        }
    }
}

/// Makes sure that clients find the socket, and that cleaners of temporary files leave it alone.
async fn look_after(door: &mut Door, project: &Project, n_looks: u32) -> Result<(), String> {
    let is_new = door.tend().await.map_err(|error| error.to_string())?;
    if is_new {
        let what = format!("`{}` was removed or replaced; it is made again", door.path().display());
        project.health().mended("socket", what);
    }
    if n_looks.is_multiple_of(LOOKS_A_TOUCH) {
        door.touch().map_err(|error| error.to_string())?;
    }
    Ok(())
}

/// The owner of a connection: a process id, if the system reports it. A process that only
/// reconnects again and again displaces nobody else.
type Peer = Option<i32>;

/// State of a connection's task.
struct Guest {
    project: Arc<Project>,
    routes: Arc<Routes>,
    hang_up: watch::Receiver<bool>,
}

impl Guest {
    async fn welcome(self, stream: UnixStream, visit: Visit, seat: Seat<Peer>, leave: Leave) {
        let mut hang_up = self.hang_up.clone();
        let hang_up = async move {
            // An error means that the sender is gone, which means the same.
            let _ = hang_up.wait_for(|hang_up| *hang_up).await;
        };
        tokio::select! {
            () = self.converse(stream, &seat, hang_up) => {}
            // Displaces only a connection without a session: an open session is in use.
            _ = leave => never_opened("a connection"),
        }
        drop(visit);
    }

    async fn converse(
        &self,
        stream: UnixStream,
        seat: &Seat<Peer>,
        hang_up: impl Future<Output = ()>,
    ) {
        let (reading, writing) = stream.into_split();
        let gone = HangUp::default();
        let reading = ClientReader::new(reading, gone.clone());
        let mut writing =
            TimedWriter::new(writing, limit("serve.slow_reader_ms", SLOW_READER_SECONDS));
        let half_line = limit("serve.half_line_ms", HALF_LINE_SECONDS);
        let mut lines = Lines::new(reading, MAX_FRAME_BYTES).patient_for(half_line);
        let mut hang_up = std::pin::pin!(hang_up);
        let opening = tokio::time::Instant::now() + limit("serve.opening_ms", OPENING_SECONDS);
        let preamble = tokio::select! {
            preamble = open(&mut lines, &mut writing) => preamble,
            () = tokio::time::sleep_until(opening) => return never_opened("a connection"),
            () = &mut hang_up => None,
        };
        let Some(preamble) = preamble else { return };
        tracing::debug!(client = preamble.client, "connected");
        let wire = Wire::new(lines, writing, gone.clone());
        let (project, routes) = (Arc::clone(&self.project), Arc::clone(&self.routes));
        let session = Session::new(project, routes, &preamble, wire.in_flight());
        let served = tokio::select! {
            served = session.serve(wire) => served,
            () = tokio::time::sleep_until(opening) => return never_opened(&preamble.client),
            () = &mut hang_up => return,
        };
        match served {
            Ok(running) => {
                seat.occupy();
                let cancel = running.cancellation_token();
                let mut ended = std::pin::pin!(running.waiting());
                // Without `cancel`, requests received before the end are answered.
                tokio::select! {
                    _ = &mut ended => {}
                    () = gone.wait() => {
                        cancel.cancel();
                        let _ = ended.await;
                    }
                    () = &mut hang_up => {
                        cancel.cancel();
                        let _ = ended.await;
                    }
                }
            }
            Err(error) => tracing::debug!(%error, "a handshake failed"),
        }
        tracing::debug!(client = preamble.client, "disconnected");
    }
}

/// Returns a limit in seconds, unless a test sets another one.
pub(super) fn limit(name: &str, seconds: u64) -> Duration {
    fail::number(name).map_or(Duration::from_secs(seconds), Duration::from_millis)
}

fn never_opened(client: &str) {
    tracing::debug!(client, "no session was opened; the connection is closed");
}

/// Reads the preamble; sends the reason to a client whose preamble is refused.
async fn open<R: AsyncRead + Unpin>(
    lines: &mut Lines<R>,
    writing: &mut (impl AsyncWrite + Unpin),
) -> Option<Preamble> {
    match preamble::read(lines).await {
        Ok(preamble) => Some(preamble),
        Err(error) => {
            tracing::debug!(%error, "a client was refused");
            let _ = writing.write_all(&refusal_line(&error.view())).await;
            None
        }
    }
}

/// Refuses one client too many, with an error if it listens.
async fn refuse(stream: UnixStream) {
    let message = "too many clients are connected".to_string();
    let hint = Some("close some".to_string());
    refuse_with(stream, ErrorView { code: Code::Unavailable, message, hint, conflict: None }).await;
}

/// Refuses a client for this reason, if it listens.
pub async fn refuse_with(mut stream: UnixStream, why: ErrorView) {
    tracing::warn!("a client was refused: {}", why.message);
    let line = refusal_line(&why);
    let _ = tokio::time::timeout(Duration::from_secs(1), stream.write_all(&line)).await;
}
