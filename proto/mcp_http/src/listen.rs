//! Listen: connections, from the first byte to the last.
//!
//! In: an address, the rules of access, workspaces. Out: a server that runs until it is asked to stop.
//! Invariants: beyond loopback there is a token, or there is no server; at most `max_connections` are open: a further
//! one takes the place of one that was never used, and gets an error if there is none; a client that is slow to send a
//! head or a body, or that does not read, is cut off; once asked to stop, the server accepts nothing new and finishes
//! its requests.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use config::limits;
use config::settings::Http;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use serde_json::json;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;

use crate::endpoint::Endpoint;
use crate::rate::owner;
use crate::seats::{Seat, Seats};
use crate::{Access, AccessError, Workspaces};

/// Largest head of a request, in bytes.
const MAX_HEAD_BYTES: usize = 32 << 10;

/// Most connections that are being refused with an error; further ones are closed at once.
const MAX_REFUSED: usize = 32;

/// Interval between checks for unused sessions.
const SWEEP: Duration = Duration::from_secs(30);

/// Pause after the system refused a connection, such as for too many open files.
const REFUSED_PAUSE: Duration = Duration::from_millis(200);

/// The limits of a server.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Connections at once.
    pub max_connections: usize,
    /// Sessions at once, of each transport.
    pub max_sessions: usize,
    /// Requests of one address per second, on average.
    pub requests_per_second: u32,
    /// Requests of one address in a burst.
    pub burst: u32,
    /// Largest body, in bytes.
    pub max_body_bytes: usize,
    /// Time without use after which a session ends.
    pub idle: Duration,
    /// Longest time to receive a head; a connection without a request is closed after it.
    pub patience: Duration,
    /// Longest time to receive a body after its head.
    pub body: Duration,
    /// Longest time in which a client takes no byte of a reply.
    pub slow_reader: Duration,
    /// Longest time for the last replies after the server was asked to stop.
    pub farewell: Duration,
}

impl Limits {
    /// Returns the limits of the settings, and defaults for the others.
    pub fn of(settings: &Http) -> Self {
        Limits {
            max_connections: settings.max_connections as usize,
            max_sessions: settings.max_sessions as usize,
            requests_per_second: settings.requests_per_second,
            burst: settings.burst,
            max_body_bytes: settings.max_body_bytes as usize,
            ..Limits::default()
        }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            max_connections: limits::MAX_HTTP_CONNECTIONS,
            max_sessions: limits::MAX_HTTP_SESSIONS,
            requests_per_second: limits::HTTP_REQUESTS_PER_SECOND,
            burst: limits::HTTP_BURST,
            max_body_bytes: limits::MAX_FRAME_BYTES,
            idle: Duration::from_secs(limits::HTTP_IDLE_SECONDS),
            patience: Duration::from_secs(limits::OPENING_SECONDS),
            body: Duration::from_secs(limits::HTTP_BODY_SECONDS),
            slow_reader: Duration::from_secs(limits::SLOW_READER_SECONDS),
            farewell: Duration::from_secs(limits::FAREWELL_SECONDS),
        }
    }
}

/// Why there is no server.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    /// The text is not an address.
    #[error("`{0}` is not an address to serve HTTP at\nhint: use one like `127.0.0.1:8765`")]
    NoAddress(String),
    /// Others could reach it, and no token would be required.
    #[error(
        "`{0}` can be reached from other machines, which needs a token\nhint: remove `http.token: none` from your \
         own `config.yaml`, or serve at `127.0.0.1` behind a proxy"
    )]
    NoToken(SocketAddr),
    /// The token cannot be used.
    #[error(transparent)]
    Access(#[from] AccessError),
    /// The system refused.
    #[error("cannot serve HTTP at `{address}`: {source}{}", hint_of(source))]
    Io {
        /// The address.
        address: SocketAddr,
        /// The system's error.
        source: io::Error,
    },
}

fn hint_of(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::AddrInUse => {
            "\nhint: another program has it, perhaps the daemon of another project; `kg-mcp --http` serves several"
        }
        _ => "",
    }
}

/// A server that is bound to its address.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    access: Access,
    limits: Limits,
}

/// Parses `address:port`, `localhost:port`, or a port alone, which is one of loopback.
pub fn address(text: &str) -> Option<SocketAddr> {
    let text = text.trim();
    if let Ok(port) = text.parse::<u16>() {
        return Some(SocketAddr::new(IpAddr::from([127, 0, 0, 1]), port));
    }
    match text.strip_prefix("localhost:") {
        Some(port) => Some(SocketAddr::new(IpAddr::from([127, 0, 0, 1]), port.parse().ok()?)),
        None => text.parse().ok(),
    }
}

impl Server {
    /// Binds the address.
    ///
    /// # Errors
    /// [`ListenError`].
    pub async fn bind(at: &str, access: Access, limits: Limits) -> Result<Self, ListenError> {
        let address = address(at).ok_or_else(|| ListenError::NoAddress(at.to_string()))?;
        if !address.ip().to_canonical().is_loopback() && !access.has_token() {
            return Err(ListenError::NoToken(address));
        }
        let io_error = |source| ListenError::Io { address, source };
        let listener = TcpListener::bind(address).await.map_err(io_error)?;
        // Port 0 asks the system for a free one, so the real address is known only now.
        let address = listener.local_addr().map_err(io_error)?;
        Ok(Server { listener, address, access, limits })
    }

    /// Returns the address that it listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until `stop` returns, then finishes the requests it has.
    pub async fn serve(self, workspaces: Arc<dyn Workspaces>, stop: impl Future<Output = ()>) {
        let Server { listener, access, limits, .. } = self;
        let endpoint = Arc::new(Endpoint::new(workspaces, access, limits.clone()));
        let seats = Seats::default();
        let room_to_refuse = Arc::new(Semaphore::new(MAX_REFUSED));
        let closing = watch::Sender::new(false);
        let mut connections = JoinSet::new();
        let mut sweep =
            tokio::time::interval(SWEEP.min(limits.idle.max(Duration::from_millis(10))));
        let mut stop = std::pin::pin!(stop);
        loop {
            tokio::select! {
                () = &mut stop => break,
                _ = sweep.tick() => endpoint.sweep(Instant::now()),
                // Only to remove finished tasks from the set.
                Some(_) = connections.join_next(), if !connections.is_empty() => {}
                accepted = listener.accept() => match accepted {
                    Ok((stream, peer)) => match seats.take(owner(peer.ip()), limits.max_connections) {
                        Some((seat, leave)) => {
                            let (endpoint, closing) = (Arc::clone(&endpoint), closing.subscribe());
                            let serving = converse( stream, peer, endpoint, closing, Arc::new(seat));
                            connections.spawn(async move {
                                tokio::select! {
                                    () = serving => {}
                                    _ = leave => tracing::debug!(%peer, "an unused connection made room"),
                                }
                            });
                        }
                        None => {
                            tracing::warn!(%peer, "refused a connection over the limit");
                            if let Ok(place) = Arc::clone(&room_to_refuse).try_acquire_owned() {
                                connections.spawn(async move {
                                    refuse(stream).await;
                                    drop(place);
                                });
                            }
                        }
                    },
                    Err(error) => {
                        // Too many open files, for example: without a pause this would loop at full speed.
                        tracing::warn!(%error, "a connection was lost");
                        tokio::time::sleep(REFUSED_PAUSE).await;
                    }
                }
            }
        }
        // In this order: no new connections, then no new requests, then no streams without requests; the rest finishes.
        drop(listener);
        closing.send_replace(true);
        endpoint.close();
        let all_gone = async { while connections.join_next().await.is_some() {} };
        if tokio::time::timeout(limits.farewell, all_gone).await.is_err() {
            tracing::debug!("some HTTP clients did not take their last answers");
        }
        endpoint.clear();
    }
}

async fn converse(
    stream: TcpStream,
    peer: SocketAddr,
    endpoint: Arc<Endpoint>,
    mut closing: watch::Receiver<bool>,
    seat: Arc<Seat<IpAddr>>,
) {
    let Ok(local) = stream.local_addr() else { return };
    let limits = endpoint.limits();
    let _ = stream.set_nodelay(true);
    // If the client acknowledges no byte for this long, the system closes the connection, which ends its writer.
    #[cfg(target_os = "linux")]
    {
        let slow = u32::try_from(limits.slow_reader.as_millis()).unwrap_or(u32::MAX);
        let _ = rustix::net::sockopt::set_tcp_user_timeout(&stream, slow);
    }
    let patience = limits.patience;
    let service = service_fn(|mut request| {
        let endpoint = Arc::clone(&endpoint);
        request.extensions_mut().insert(Arc::clone(&seat));
        async move {
            let reply = endpoint.answer(request, peer, local).await;
            Ok::<_, std::convert::Infallible>(reply)
        }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(patience)
        .max_buf_size(MAX_HEAD_BYTES)
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = std::pin::pin!(connection);
    let closing = async move {
        // An error means that the server is gone, which has the same consequence.
        let _ = closing.wait_for(|it| *it).await;
    };
    let ended = tokio::select! {
        ended = &mut connection => ended,
        () = closing => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%peer, %error, "an HTTP connection broke");
    }
}

/// Refuses a connection beyond the limit, with an error if the client reads it.
async fn refuse(mut stream: TcpStream) {
    let data = json!({ "code": "unavailable", "hint": "close some, or try again" });
    let error =
        json!({ "code": -32_000, "message": "too many connections are open", "data": data });
    let body = json!({ "jsonrpc": "2.0", "id": null, "error": error }).to_string();
    let text = format!(
        "HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\
         retry-after: 1\r\nconnection: close\r\n\r\n{body}",
        body.len()
    );
    let sending = async {
        stream.write_all(text.as_bytes()).await?;
        stream.shutdown().await?;
        // Wait until the other side closes: closing with unread data resets the connection, and the reply would be
        // lost.
        tokio::io::copy(&mut stream, &mut tokio::io::sink()).await
    };
    let _ = tokio::time::timeout(Duration::from_secs(1), sending).await;
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt;
    use tokio::net::UnixStream;

    use super::*;

    struct Nothing;

    impl Workspaces for Nothing {
        fn names(&self) -> Vec<String> {
            vec!["notes".to_string()]
        }

        fn find(&self, named: &str) -> Option<String> {
            Some(named.to_string())
        }

        fn open(&self, _: &str) -> io::Result<UnixStream> {
            Err(io::ErrorKind::NotFound.into())
        }
    }

    /// Sends a request of an unknown session, whose body follows after `between`; returns the whole reply.
    async fn ask(at: SocketAddr, between: impl Future<Output = ()>) -> String {
        let body = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
        let head = format!(
            "POST /mcp HTTP/1.1\r\nhost: localhost\r\naccept: application/json, text/event-stream\r\n\
             content-type: application/json\r\nmcp-session-id: none\r\ncontent-length: {}\r\n\
             expect: 100-continue\r\nconnection: close\r\n\r\n",
            body.len()
        );
        let mut stream = TcpStream::connect(at).await.expect("a connection");
        stream.write_all(head.as_bytes()).await.expect("sent");
        // The answer to `expect` shows that the server has read the head.
        let mut text = vec![0; 25];
        stream.read_exact(&mut text).await.expect("100 Continue");
        between.await;
        stream.write_all(body.as_bytes()).await.expect("sent");
        stream.read_to_end(&mut text).await.expect("a reply");
        String::from_utf8(text).expect("text")
    }

    #[tokio::test]
    async fn a_missing_session_is_unknown_unless_the_server_stops() {
        let server = Server::bind("0", Access::default(), Limits::default()).await.expect("free");
        let at = server.address();
        let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
        let serving = tokio::spawn(server.serve(Arc::new(Nothing), async {
            let _ = stopped.await;
        }));
        let reply = ask(at, async {}).await;
        assert!(reply.contains("404") && reply.contains("no session has this id"), "{reply}");
        let reply = ask(at, async {
            stop.send(()).expect("it serves");
            while TcpStream::connect(at).await.is_ok() {}
        });
        let reply = reply.await;
        assert!(reply.contains("503") && reply.contains("the server is stopping"), "{reply}");
        serving.await.expect("it ends");
    }

    #[tokio::test]
    async fn addresses() {
        let bound =
            async |text: &str| match Server::bind(text, Access::default(), Limits::default()).await
            {
                Ok(server) => server.address().ip().to_string(),
                Err(error) => error.to_string().lines().next().unwrap_or_default().to_string(),
            };
        for (text, expected) in [
            ("127.0.0.1:0", "127.0.0.1"),
            ("localhost:0", "127.0.0.1"),
            ("0", "127.0.0.1"),
            ("0.0.0.0:0", "`0.0.0.0:0` can be reached from other machines, which needs a token"),
            ("[::]:0", "`[::]:0` can be reached from other machines, which needs a token"),
            ("example.org:80", "`example.org:80` is not an address to serve HTTP at"),
            ("", "`` is not an address to serve HTTP at"),
        ] {
            assert_eq!(bound(text).await, expected);
        }
        let taken = Server::bind("0", Access::default(), Limits::default()).await.expect("free");
        let again = bound(&taken.address().to_string()).await;
        assert!(again.starts_with("cannot serve HTTP at"), "{again}");
    }
}
