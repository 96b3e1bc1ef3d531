//! Endpoint: routes requests by path and method.
//!
//! In: one request. Out: its reply.
//! In this order: token and rate, Host and Origin, `/health`, the page and its data (`page.rs`), path, workspace, body;
//! then the request is a session's.
//! Invariants: without the token only these are answered: the server's state, the files of the page, and a browser that
//! asks for a listed page whether it may send requests; the page and its data exist on loopback only; an unknown or
//! ended session is 404, which tells a client to begin anew, and nothing else is but an unknown path or method; a
//! session stays with the workspace in which it began.

use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use bytes::Bytes;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::Incoming;
use hyper::header::{
    ACCESS_CONTROL_ALLOW_ORIGIN, ACCESS_CONTROL_EXPOSE_HEADERS, CONTENT_LENGTH, CONTENT_TYPE,
    HeaderMap, HeaderName, HeaderValue, VARY,
};
use hyper::{Method, Request, StatusCode};
use proto::error::Code;
use tokio::net::UnixStream;

use crate::access::Denied;
use crate::head::{check_accept, named_in, preflight, style};
use crate::legacy::Streams;
use crate::message::{self, Posted, Unreadable};
use crate::rate::{Rates, owner};
use crate::refused::{
    not_allowed, nothing_at, refusal_of, stopping, too_large, too_many, too_often, unknown_session,
};
use crate::reply::{
    Answering, Busy, Refusal, Reply, Style, answer, brief, empty, json, over, place_of, resumed,
};
use crate::seats::Seat;
use crate::session::Session;
use crate::table::{Table, new_id};
use crate::{
    Access, HEALTH_PATH, Health, Limits, MCP_PATH, SSE_MESSAGES_PATH, SSE_PATH, Workspaces, legacy,
    oneshot, page,
};

const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");

/// Cost of a request with a wrong token, in requests, so that tokens cannot be guessed by trying.
const WRONG_TOKEN_COST: u32 = 20;

/// Revisions that have sessions over HTTP; 2024-11-05 is that of the older transport, but some clients name it here.
const WITH_SESSIONS: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

/// Everything behind one address.
pub(crate) struct Endpoint {
    pub(crate) workspaces: Arc<dyn Workspaces>,
    pub(crate) access: Access,
    limits: Limits,
    /// Allowances of addresses that send no token, or a wrong one.
    strangers: Mutex<Rates<IpAddr>>,
    /// Allowances of the others, by address and session, which no one else can use up.
    known: Mutex<Rates<(IpAddr, Option<HeaderValue>)>>,
    table: Arc<Table>,
    streams: Arc<Streams>,
    is_closing: AtomicBool,
}

impl Endpoint {
    pub(crate) fn new(workspaces: Arc<dyn Workspaces>, access: Access, limits: Limits) -> Self {
        Endpoint {
            workspaces,
            access,
            strangers: Mutex::new(Rates::new(limits.requests_per_second, limits.burst)),
            known: Mutex::new(Rates::new(limits.requests_per_second, limits.burst)),
            table: Arc::new(Table::new(limits.max_sessions)),
            streams: Arc::default(),
            is_closing: AtomicBool::new(false),
            limits,
        }
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Ends unused sessions.
    pub(crate) fn sweep(&self, now: Instant) {
        self.table.sweep(self.limits.idle, now);
    }

    /// Ends streams that wait for no reply. From now on, a missing session is one that ended because the server stops.
    pub(crate) fn close(&self) {
        self.is_closing.store(true, Ordering::Relaxed);
        self.table.hush();
    }

    /// Ends all sessions.
    pub(crate) fn clear(&self) {
        self.table.clear();
    }

    /// Answers one request, which has the seat of its connection as an extension.
    pub(crate) async fn answer(
        &self,
        request: Request<Incoming>,
        peer: SocketAddr,
        local: SocketAddr,
    ) -> Reply {
        let seat = seat_of(&request);
        let named = named_in(request.headers()).ok().flatten();
        let refused = |refusal: Refusal| -> Reply {
            tracing::debug!(%peer, why = refusal.message, "an HTTP request was refused");
            refusal.about_unless_set(named.as_deref()).into()
        };
        let known = self.access.check_token(request.headers());
        // Rate first: even refusals by Host or Origin count towards it.
        let place =
            self.check_rate(&request, owner(peer.ip()), known.as_ref().err()).and_then(|()| {
                let authority = request.uri().authority();
                let place = self.access.check_place(request.headers(), authority, local.ip());
                place.map_err(|it| refusal_of(&it))
            });
        let leave = match place {
            Ok(page) => page,
            Err(refusal) => return refused(refusal),
        };
        if request.uri().path() == HEALTH_PATH {
            return self.health(request.method()).unwrap_or_else(refused);
        }
        let is_near = is_loopback(peer.ip()) && is_loopback(local.ip());
        if is_near && let Some(file) = self.workspaces.page_file(request.uri().path()) {
            return match *request.method() {
                Method::GET => file.into(),
                _ => refused(not_allowed(request.method(), "GET")),
            };
        }
        if is_near && request.uri().path().starts_with(page::API) {
            let busy = seat.clone().map(Busy::of);
            let mut reply = self.api(request, leave.is_some()).await.unwrap_or_else(refused);
            reply.body_mut().busy = busy;
            return reply;
        }
        // A browser asks without the token whether its page may send requests with it (a preflight).
        let is_preflight = request.method() == Method::OPTIONS && leave.is_some();
        let mut reply = match known {
            Err(denied) if !is_preflight => refused(refusal_of(&denied)),
            _ => {
                // From here on the connection makes no room for others, except while its body comes.
                let busy = seat.clone().map(Busy::of);
                let routed = self.route(request, owner(peer.ip())).await;
                let mut reply = routed.unwrap_or_else(refused);
                reply.body_mut().busy = busy;
                reply
            }
        };
        if let Some(page) = leave {
            let headers = reply.headers_mut();
            headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, page);
            let exposed = HeaderValue::from_static("Mcp-Session-Id, MCP-Protocol-Version");
            headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, exposed);
            headers.insert(VARY, HeaderValue::from_static("Origin"));
        }
        reply
    }

    /// Counts a request towards the sender's allowance: its session's if it has the token, else its address's. On
    /// loopback all share one address, so clients without the token must not use up the allowance of the others.
    fn check_rate(
        &self,
        request: &Request<Incoming>,
        peer: IpAddr,
        denied: Option<&Denied>,
    ) -> Result<(), Refusal> {
        fn lock<T>(rates: &Mutex<T>) -> MutexGuard<'_, T> {
            rates.lock().unwrap_or_else(PoisonError::into_inner)
        }
        let now = Instant::now();
        let Some(denied) = denied else {
            let session = request.headers().get(SESSION).cloned();
            return lock(&self.known).take((peer, session), 1, now).map_err(too_often);
        };
        let mut strangers = lock(&self.strangers);
        strangers.take(peer, 1, now).map_err(too_often)?;
        if *denied == Denied::WrongToken {
            strangers.charge(peer, WRONG_TOKEN_COST, now);
        }
        Ok(())
    }

    /// Returns the server's state, and nothing more.
    fn health(&self, method: &Method) -> Result<Reply, Refusal> {
        if method != Method::GET {
            return Err(not_allowed(method, "GET"));
        }
        let health = self.workspaces.health();
        let status = match health {
            Health::Ok | Health::Starting => StatusCode::OK,
            Health::Degraded => StatusCode::SERVICE_UNAVAILABLE,
        };
        Ok(json(status, serde_json::json!({ "status": health.as_str() }).to_string()))
    }

    async fn route(&self, request: Request<Incoming>, peer: IpAddr) -> Result<Reply, Refusal> {
        let path = request.uri().path().to_string();
        let method = request.method().clone();
        match (path.as_str(), &method) {
            (MCP_PATH, &Method::POST) => self.post(request, peer).await,
            (MCP_PATH, &Method::GET) => self.listen(request.headers()),
            (MCP_PATH, &Method::DELETE) => self.delete(request.headers()),
            (SSE_PATH, &Method::GET) => self.listen_legacy(request.headers()),
            (SSE_MESSAGES_PATH | "/sse/messages", &Method::POST) => self.post_legacy(request).await,
            (MCP_PATH, &Method::OPTIONS) => Ok(preflight("POST, GET, DELETE")),
            (SSE_PATH, &Method::OPTIONS) => Ok(preflight("GET")),
            (SSE_MESSAGES_PATH | "/sse/messages", &Method::OPTIONS) => Ok(preflight("POST")),
            (MCP_PATH, _) => Err(not_allowed(&method, "POST, GET, DELETE")),
            (SSE_PATH, _) => Err(not_allowed(&method, "GET")),
            (SSE_MESSAGES_PATH | "/sse/messages", _) => Err(not_allowed(&method, "POST")),
            (page::METRICS, &Method::GET) => self.metrics().await,
            (page::METRICS, _) => Err(not_allowed(&method, "GET")),
            _ => Err(nothing_at(&path)),
        }
    }

    /// Returns the workspace that a request names, or that is meant by one that names none.
    fn workspace(&self, headers: &HeaderMap) -> Result<String, Refusal> {
        let Some(named) = named_in(headers)? else {
            return self.workspaces.unnamed().ok_or_else(|| {
                let message = "the header `X-Memory-Workspace` must name a workspace".to_string();
                Refusal::new(StatusCode::BAD_REQUEST, Code::InvalidParams, message)
                    .hint(self.listing())
            });
        };
        self.find(&named)
    }

    fn listing(&self) -> String {
        let names: Vec<_> = self.workspaces.names().iter().map(|it| format!("`{it}`")).collect();
        match names.as_slice() {
            [] => "none is served yet: `kgctl init DIR` registers a folder".to_string(),
            names => format!("served are {}", names.join(", ")),
        }
    }

    fn find(&self, named: &str) -> Result<String, Refusal> {
        self.workspaces.find(named).ok_or_else(|| {
            let message = format!("no workspace is called `{}`", brief(named));
            Refusal::new(StatusCode::BAD_REQUEST, Code::NotFound, message)
                .hint(self.listing())
                .about(named)
        })
    }

    /// Refuses a request that names another workspace than its session's, or whose workspace is not served any more.
    fn check_workspace(&self, headers: &HeaderMap, workspace: &str) -> Result<(), Refusal> {
        self.find(workspace)?;
        let Some(named) = named_in(headers)? else { return Ok(()) };
        if self.workspaces.find(&named).as_deref() == Some(workspace) {
            return Ok(());
        }
        let message =
            format!("this session is about the workspace `{workspace}`, not `{}`", brief(&named));
        Err(Refusal::new(StatusCode::BAD_REQUEST, Code::InvalidParams, message)
            .hint("begin another session for another workspace")
            .about(&named))
    }

    fn open(&self, workspace: &str) -> Result<UnixStream, Refusal> {
        self.workspaces.open(workspace).map_err(|error| {
            let message = format!("`{}` cannot be reached: {error}", brief(workspace));
            Refusal::new(StatusCode::SERVICE_UNAVAILABLE, Code::Unavailable, message)
                .hint("try again, or run `kgctl doctor`")
                .about(workspace)
        })
    }

    /// Returns the refusal for an id that no session has.
    fn no_session(&self) -> Refusal {
        if self.is_closing.load(Ordering::Relaxed) { stopping() } else { unknown_session() }
    }

    fn session(&self, headers: &HeaderMap) -> Result<Arc<Session>, Refusal> {
        let id = headers.get(SESSION).and_then(|it| it.to_str().ok());
        let id = id.ok_or_else(|| {
            let message = "the header `Mcp-Session-Id` is missing";
            Refusal::new(StatusCode::BAD_REQUEST, Code::InvalidParams, message)
                .hint("`initialize` begins a session, and its reply has the id")
        })?;
        let session = self.table.find(id).ok_or_else(|| self.no_session())?;
        self.check_workspace(headers, &session.workspace)?;
        let version = headers.get(oneshot::VERSION).map(|it| it.to_str().unwrap_or("?"));
        match version.filter(|it| !WITH_SESSIONS.contains(it)) {
            None => Ok(session),
            Some(version) => {
                let message =
                    format!("sessions are of no revision `{}` of the protocol", brief(version));
                Err(Refusal::new(StatusCode::BAD_REQUEST, Code::VersionMismatch, message)
                    .hint(format!("`MCP-Protocol-Version` is one of {}", WITH_SESSIONS.join(", "))))
            }
        }
    }

    async fn post(&self, request: Request<Incoming>, peer: IpAddr) -> Result<Reply, Refusal> {
        let headers = request.headers().clone();
        check_accept(&headers, true)?;
        let posted = self.body(request).await?;
        if oneshot::is_meant(&headers, &posted) {
            return self.answer_once(&headers, &posted).await;
        }
        let is_hello = posted.messages.iter().any(|it| it.method() == Some("initialize"));
        if is_hello {
            return self.begin(&headers, peer, posted).await;
        }
        let session = self.session(&headers)?;
        let is_batch = posted.is_batch;
        let Some((stream, coming)) = session.post(posted).await? else {
            return Ok(empty(StatusCode::ACCEPTED));
        };
        // Not held during the wait: a session may end before it replies.
        drop(session);
        let answering = Answering { style: style(&headers), is_batch, stream, sets_status: false };
        Ok(answer(coming, answering, None).await)
    }

    /// Begins a session.
    async fn begin(
        &self,
        headers: &HeaderMap,
        peer: IpAddr,
        posted: Posted,
    ) -> Result<Reply, Refusal> {
        let id = posted.messages.first().map(message::Message::id).unwrap_or_default();
        let is_alone = posted.messages.len() == 1 && !posted.is_batch;
        if !is_alone || !posted.messages.iter().all(message::Message::is_request) {
            let message = "`initialize` is a request, and comes alone";
            return Err(Refusal::new(StatusCode::BAD_REQUEST, Code::InvalidParams, message)
                .of_request(id)
                .rpc(-32_600));
        }
        let workspace = self.workspace(headers).map_err(|it| it.of_request(id.clone()))?;
        // The id is made before the stream is opened: a failure must not leave a session behind.
        let key = new_id().map_err(|error| {
            Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, Code::Internal, error.to_string())
        })?;
        let stream = self.open(&workspace).map_err(|it| it.of_request(id.clone()))?;
        let (table, name) = (Arc::downgrade(&self.table), key.clone());
        let session = Session::begin(stream, workspace, peer, move || {
            if let Some(table) = table.upgrade() {
                table.remove(&name);
            }
        });
        if !self.table.add(&key, Arc::clone(&session)) {
            return Err(too_many("sessions").of_request(id));
        }
        let (_, coming) = session.post(posted).await?.ok_or_else(over)?;
        drop(session);
        let answering =
            Answering { style: Style::Plain, is_batch: false, stream: 0, sets_status: true };
        let mut reply = answer(coming, answering, None).await;
        // Only a client that got a successful reply learns the id; any other session is ended at once.
        match HeaderValue::from_str(&key) {
            Ok(key) if reply.status() == StatusCode::OK => {
                reply.headers_mut().insert(SESSION, key);
            }
            _ => {
                self.table.remove(&key);
            }
        }
        Ok(reply)
    }

    /// Answers a request of the revision without sessions.
    async fn answer_once(&self, headers: &HeaderMap, posted: &Posted) -> Result<Reply, Refusal> {
        let Some(message) = posted.messages.first().filter(|it| it.is_request()) else {
            posted.messages.iter().try_for_each(|it| oneshot::check_notification(headers, it))?;
            // No notification of this revision has an effect here.
            return Ok(empty(StatusCode::ACCEPTED));
        };
        let refused = |it: Refusal| it.of_request(message.id());
        oneshot::check(headers, message)?;
        let workspace = self.workspace(headers).map_err(refused)?;
        let stream = self.open(&workspace).map_err(refused)?;
        let (coming, call) = oneshot::ask(stream, message);
        let answering =
            Answering { style: Style::Plain, is_batch: false, stream: 0, sets_status: true };
        Ok(answer(coming, answering, Some(Box::new(call))).await)
    }

    fn listen(&self, headers: &HeaderMap) -> Result<Reply, Refusal> {
        check_accept(headers, false)?;
        let session = self.session(headers)?;
        let after = match headers.get(LAST_EVENT) {
            None => None,
            Some(id) => Some(id.to_str().ok().and_then(place_of).ok_or_else(|| {
                let message = "the header `Last-Event-ID` is unknown";
                Refusal::new(StatusCode::BAD_REQUEST, Code::InvalidParams, message)
            })?),
        };
        Ok(resumed(session.listen(after), style(headers)))
    }

    fn delete(&self, headers: &HeaderMap) -> Result<Reply, Refusal> {
        // Checks the workspace, too, before anything is removed.
        drop(self.session(headers)?);
        let id = headers.get(SESSION).and_then(|it| it.to_str().ok()).unwrap_or_default();
        match self.table.remove(id) {
            true => Ok(empty(StatusCode::NO_CONTENT)),
            false => Err(self.no_session()),
        }
    }

    fn listen_legacy(&self, headers: &HeaderMap) -> Result<Reply, Refusal> {
        check_accept(headers, false)?;
        let workspace = self.workspace(headers)?;
        if !self.streams.make_room(self.limits.max_sessions) {
            return Err(too_many("streams"));
        }
        let id = new_id().map_err(|error| {
            Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, Code::Internal, error.to_string())
        })?;
        let stream = self.open(&workspace)?;
        Ok(legacy::begin(&self.streams, &id, stream, workspace))
    }

    async fn post_legacy(&self, request: Request<Incoming>) -> Result<Reply, Refusal> {
        let query = request.uri().query().unwrap_or_default();
        let id = query.split('&').find_map(|it| it.strip_prefix("session_id="));
        let post = id.and_then(|id| self.streams.open(id)).ok_or_else(|| {
            let message = "no stream has this `session_id`";
            Refusal::new(StatusCode::NOT_FOUND, Code::NotFound, message)
                .hint(format!("the first event of `{SSE_PATH}` names the address for messages"))
        })?;
        self.check_workspace(request.headers(), &post.workspace)?;
        let posted = self.body(request).await?;
        for message in posted.messages {
            post.outgoing.send(message.line).await.map_err(|_| over())?;
        }
        Ok(empty(StatusCode::ACCEPTED))
    }

    /// Reads the body and parses it as messages.
    async fn body(&self, request: Request<Incoming>) -> Result<Posted, Refusal> {
        message::read(&self.bytes(request).await?).map_err(|Unreadable { code, id, why }| {
            Refusal::new(StatusCode::BAD_REQUEST, Code::InvalidParams, why).of_request(id).rpc(code)
        })
    }

    /// Reads the body, whose content type must be JSON.
    pub(crate) async fn bytes(&self, request: Request<Incoming>) -> Result<Bytes, Refusal> {
        let headers = request.headers();
        let kind = headers.get(CONTENT_TYPE).and_then(|it| it.to_str().ok()).unwrap_or_default();
        let essence = kind.split(';').next().unwrap_or_default().trim();
        if !essence.eq_ignore_ascii_case("application/json") {
            let message = format!("a body is `application/json`, not `{}`", brief(essence));
            let status = StatusCode::UNSUPPORTED_MEDIA_TYPE;
            return Err(Refusal::new(status, Code::InvalidParams, message));
        }
        let max = self.limits.max_body_bytes;
        let length = headers.get(CONTENT_LENGTH).and_then(|it| it.to_str().ok()?.parse().ok());
        // Refused early if the length is declared; `Limited` stops bodies that do not declare it.
        if length.is_some_and(|length: usize| length > max) {
            return Err(too_large(max));
        }
        let seat = seat_of(&request);
        let body = Limited::new(request.into_body(), max).collect();
        // Until all of it is here, the connection makes room for others: half a body keeps nobody out.
        seat.iter().for_each(|seat| seat.rest());
        let received = tokio::time::timeout(self.limits.body, body).await;
        seat.iter().for_each(|seat| seat.occupy());
        match received {
            Ok(Ok(whole)) => Ok(whole.to_bytes()),
            Ok(Err(error)) if error.is::<LengthLimitError>() => Err(too_large(max)),
            Ok(Err(_)) => {
                let message = "the body broke off";
                Err(Refusal::new(StatusCode::BAD_REQUEST, Code::InvalidParams, message))
            }
            Err(_) => {
                let message = "the body did not come in time";
                let status = StatusCode::REQUEST_TIMEOUT;
                Err(Refusal::new(status, Code::DeadlineExceeded, message))
            }
        }
    }
}

fn seat_of(request: &Request<Incoming>) -> Option<Arc<Seat<IpAddr>>> {
    request.extensions().get().cloned()
}

/// Returns true for loopback of either family, also as IPv4 mapped to IPv6.
fn is_loopback(address: IpAddr) -> bool {
    address.to_canonical().is_loopback()
}
