//! Reply: the HTTP side of a reply: JSON, or a stream of events.
//!
//! In: events of a stream, or why a request is refused. Out: responses.
//! Invariants: a refusal is JSON-RPC with code, message and hint, whatever the status, and repeats the workspace of the
//! request; a stream sends something at least every [`KEEP_ALIVE`], so that neither a client nor a proxy takes it for
//! dead.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::net::IpAddr;
use std::ops::Deref;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Frame, SizeHint};
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderName, HeaderValue, X_CONTENT_TYPE_OPTIONS};
use hyper::{Response, StatusCode};
use proto::error::Code;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at};

use crate::board::{Event, Resumed};
use crate::seats::Seat;

/// Longest silence of a stream.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// Time without an event after which a reply becomes a stream, so that the client sees that work goes on.
const SHORT: Duration = Duration::from_secs(5);

/// Longest quotation of a client's text in an error, in characters.
const MAX_ECHO_CHARS: usize = 60;

pub(crate) type Reply = Response<Content>;

/// The content of a response.
pub(crate) struct Content {
    body: Body,
    /// Dropped with the response, when its connection is no longer in use.
    pub(crate) busy: Option<Busy>,
}

/// Marks a connection's seat as in use until dropped.
pub(crate) struct Busy(Arc<Seat<IpAddr>>);

impl Busy {
    pub(crate) fn of(seat: Arc<Seat<IpAddr>>) -> Self {
        seat.occupy();
        Busy(seat)
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.rest();
    }
}

enum Body {
    /// All of it.
    Whole(Option<Bytes>),
    /// Events, as they come.
    Events(Events),
}

/// A stream of events.
pub(crate) struct Events {
    ready: VecDeque<Bytes>,
    coming: Option<mpsc::Receiver<Event>>,
    style: Style,
    pulse: Interval,
    /// Dropped with the stream, which may cancel something.
    _held: Option<Box<dyn Send>>,
}

/// The format of events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    /// Without ids.
    Plain,
    /// With ids, for resuming.
    Numbered,
    /// With ids, and one event with an id before all others.
    Primed,
    /// In the format of the older transport.
    Legacy,
}

impl Style {
    fn write(self, event: &Event) -> Bytes {
        let id = match self {
            Style::Numbered | Style::Primed => format!("id: {}-{}\n", event.stream, event.number),
            Style::Plain | Style::Legacy => String::new(),
        };
        [b"event: message\n", id.as_bytes(), b"data: ", &event.line[..], b"\n\n"].concat().into()
    }
}

/// Parses the id of an event: stream and number.
pub(crate) fn place_of(id: &str) -> Option<(u64, u64)> {
    let (stream, number) = id.trim().split_once('-')?;
    Some((stream.parse().ok()?, number.parse().ok()?))
}

impl hyper::body::Body for Content {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        ctx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match &mut self.body {
            Body::Whole(bytes) => Poll::Ready(bytes.take().map(|it| Ok(Frame::data(it)))),
            Body::Events(events) => {
                let next = ready!(events.poll_next(ctx));
                Poll::Ready(next.map(|it| Ok(Frame::data(it))))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self.body, Body::Whole(None))
    }

    fn size_hint(&self) -> SizeHint {
        match &self.body {
            Body::Whole(bytes) => {
                SizeHint::with_exact(bytes.as_ref().map_or(0, |it| it.len() as u64))
            }
            Body::Events(_) => SizeHint::default(),
        }
    }
}

impl Events {
    fn poll_next(&mut self, ctx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        if let Some(ready) = self.ready.pop_front() {
            return Poll::Ready(Some(ready));
        }
        let Some(coming) = &mut self.coming else { return Poll::Ready(None) };
        if let Poll::Ready(event) = coming.poll_recv(ctx) {
            // The last event ends the response; so does a closed channel.
            if event.as_ref().is_none_or(|it| it.is_last) {
                self.coming = None;
            }
            self.pulse.reset();
            return Poll::Ready(event.map(|it| self.style.write(&it)));
        }
        // Only after silence: `reset` above restarts the interval with every event.
        ready!(self.pulse.poll_tick(ctx));
        Poll::Ready(Some(Bytes::from_static(b": still here\n\n")))
    }
}

fn response(status: StatusCode, kind: &'static str, body: Body) -> Reply {
    let mut response = Response::new(Content { body, busy: None });
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache, no-store"));
    response
}

/// Returns a response without a body.
pub(crate) fn empty(status: StatusCode) -> Reply {
    let mut response = Response::new(Content { body: Body::Whole(None), busy: None });
    *response.status_mut() = status;
    response
}

/// Returns a response with a complete body of this media type.
pub(crate) fn whole(status: StatusCode, kind: &'static str, bytes: Bytes) -> Reply {
    response(status, kind, Body::Whole(Some(bytes)))
}

/// Returns a response with JSON.
pub(crate) fn json(status: StatusCode, text: impl Into<Bytes>) -> Reply {
    response(status, "application/json", Body::Whole(Some(text.into())))
}

/// Returns a stream: first what is ready, then what comes. `held` is dropped with it.
pub(crate) fn events(
    ready: VecDeque<Bytes>,
    coming: Option<mpsc::Receiver<Event>>,
    style: Style,
    held: Option<Box<dyn Send>>,
) -> Reply {
    let mut pulse = interval_at(Instant::now() + KEEP_ALIVE, KEEP_ALIVE);
    pulse.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let events = Events { ready, coming, style, pulse, _held: held };
    let mut response = response(StatusCode::OK, "text/event-stream", Body::Events(events));
    // Tells nginx not to buffer the stream.
    let name = HeaderName::from_static("x-accel-buffering");
    response.headers_mut().insert(name, HeaderValue::from_static("no"));
    response
}

/// Returns a stream of missed events, followed by those to come.
pub(crate) fn resumed((place, missed, coming): Resumed, style: Style) -> Reply {
    let prime = (style == Style::Primed).then(|| primer(place.0, place.1));
    let ready = prime.into_iter().chain(missed.iter().map(|it| style.write(it))).collect();
    events(ready, coming, style, None)
}

/// Returns an event with nothing but an id, so that a client that is cut off now can resume.
fn primer(stream: u64, number: u64) -> Bytes {
    format!("id: {stream}-{number}\ndata: \n\n").into()
}

/// How to send the reply to a request.
pub(crate) struct Answering {
    pub(crate) style: Style,
    /// Several replies, which need a stream.
    pub(crate) is_batch: bool,
    /// The number of the stream.
    pub(crate) stream: u64,
    /// Whether an error sets the HTTP status, as revision 2026-07-28 demands.
    pub(crate) sets_status: bool,
}

/// Waits for the first event: if it is the only one, the reply is JSON, else a stream. `held` is dropped with it.
pub(crate) async fn answer(
    mut coming: mpsc::Receiver<Event>,
    answering: Answering,
    held: Option<Box<dyn Send>>,
) -> Reply {
    let Answering { style, is_batch, stream, sets_status } = answering;
    let first = match tokio::time::timeout(SHORT, coming.recv()).await {
        Ok(Some(event)) if event.is_last && !is_batch => {
            let status = if sets_status { status_of(event.error) } else { StatusCode::OK };
            return json(status, event.line);
        }
        // Progress, or one reply of a batch: more will follow.
        Ok(Some(event)) => Some(event),
        Ok(None) => return over().into(),
        Err(_) => None,
    };
    let is_done = first.as_ref().is_some_and(|it| it.is_last);
    let prime = (style == Style::Primed && first.is_none()).then(|| primer(stream, 0));
    let ready = prime.into_iter().chain(first.map(|it| style.write(&it))).collect();
    events(ready, (!is_done).then_some(coming), style, held)
}

/// Returns the status that revision 2026-07-28 demands for errors of the protocol; refusals of our own have the code 0.
fn status_of(error: Option<i64>) -> StatusCode {
    match error {
        Some(-32_601) => StatusCode::NOT_FOUND,
        Some(-32_022..=-32_020) => StatusCode::BAD_REQUEST,
        Some(0) => StatusCode::SERVICE_UNAVAILABLE,
        _ => StatusCode::OK,
    }
}

/// Why a request gets no reply from a session. Boxed, because it is rare, and larger than the results beside it.
#[derive(Debug, Clone)]
pub(crate) struct Refusal(Box<Terms>);

/// The content of a refusal.
#[derive(Debug, Clone)]
pub(crate) struct Terms {
    pub(crate) status: StatusCode,
    /// The request's id.
    pub(crate) id: Value,
    /// The code of JSON-RPC.
    pub(crate) rpc_code: i64,
    pub(crate) code: Code,
    pub(crate) message: String,
    pub(crate) hint: Option<String>,
    pub(crate) workspace: Option<String>,
    pub(crate) headers: Vec<(HeaderName, HeaderValue)>,
}

impl Deref for Refusal {
    type Target = Terms;

    fn deref(&self) -> &Terms {
        &self.0
    }
}

impl Refusal {
    pub(crate) fn new(status: StatusCode, code: Code, message: impl Into<String>) -> Self {
        Refusal(Box::new(Terms {
            status,
            id: Value::Null,
            rpc_code: -32_000,
            code,
            message: message.into(),
            hint: None,
            workspace: None,
            headers: Vec::new(),
        }))
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.0.hint = Some(hint.into());
        self
    }

    pub(crate) fn of_request(mut self, id: Value) -> Self {
        self.0.id = id;
        self
    }

    pub(crate) fn rpc(mut self, rpc_code: i64) -> Self {
        self.0.rpc_code = rpc_code;
        self
    }

    pub(crate) fn about(mut self, workspace: &str) -> Self {
        self.0.workspace = Some(brief(workspace));
        self
    }

    /// Sets the workspace that the request named, unless the refusal is already about one.
    pub(crate) fn about_unless_set(mut self, workspace: Option<&str>) -> Self {
        self.0.workspace = self.0.workspace.or(workspace.map(brief));
        self
    }

    pub(crate) fn header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.0.headers.push((name, value));
        self
    }
}

impl From<Refusal> for Reply {
    fn from(refusal: Refusal) -> Reply {
        let Terms { status, id, rpc_code, code, message, hint, workspace, headers } = *refusal.0;
        let mut data = json!({ "code": code, "hint": hint });
        if let Some(workspace) = workspace {
            data["workspace"] = workspace.into();
        }
        let error = json!({ "code": rpc_code, "message": message, "data": data });
        let body = json!({ "jsonrpc": "2.0", "id": id, "error": error }).to_string();
        let mut reply = self::json(status, body);
        reply.headers_mut().extend(headers.into_iter().map(|(name, value)| (Some(name), value)));
        reply
    }
}

/// Returns the refusal for a session that ended before it replied.
pub(crate) fn over() -> Refusal {
    let message = "the session ended before it answered";
    Refusal::new(StatusCode::SERVICE_UNAVAILABLE, Code::Unavailable, message)
        .hint("call again; of a call that writes, look first whether it was done")
}

/// Shortens a client's text for an error.
pub(crate) fn brief(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(MAX_ECHO_CHARS).collect()
}
