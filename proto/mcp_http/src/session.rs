//! Session: a conversation that began with `initialize`, over any number of HTTP requests.
//!
//! In: posted messages, and listening streams. Out: the lines of the session behind it, on the right streams.
//! Invariants: a request is registered before it is sent; a session that is unused for a while ends; requests continue
//! when their connection breaks, as in MCP up to 2025-11-25, and their replies can be read by resuming.

use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use hyper::StatusCode;
use proto::error::Code;
use tokio::net::UnixStream;
use tokio::task::AbortHandle;

use crate::board::{Answers, Board, Busy, Place, Resumed};
use crate::link::{Outgoing, split};
use crate::message::{Kind, Message, Posted};
use crate::reply::{Refusal, over};

/// One conversation.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) workspace: String,
    /// The address that began it.
    pub(crate) peer: IpAddr,
    pub(crate) begun: Instant,
    /// True once anything followed the first message of the handshake.
    is_opened: AtomicBool,
    outgoing: Outgoing,
    board: Mutex<Board>,
    used: Mutex<Instant>,
    reader: Mutex<Option<AbortHandle>>,
}

impl Session {
    /// Begins a session over `stream`; `on_end` is called when the other side ends it.
    pub(crate) fn begin(
        stream: UnixStream,
        workspace: String,
        peer: IpAddr,
        on_end: impl FnOnce() + Send + 'static,
    ) -> Arc<Self> {
        let (mut incoming, outgoing) = split(stream);
        let session = Arc::new(Session {
            workspace,
            peer,
            begun: Instant::now(),
            is_opened: AtomicBool::new(false),
            outgoing,
            board: Mutex::new(Board::default()),
            used: Mutex::new(Instant::now()),
            reader: Mutex::new(None),
        });
        // Weak, so that a session that was removed from the table is dropped, and its stream with it.
        let weak = Arc::downgrade(&session);
        let reader = tokio::spawn(async move {
            while let Some(line) = incoming.next().await {
                let Some(session) = weak.upgrade() else { return };
                session.board().route(line);
            }
            if let Some(session) = weak.upgrade() {
                session.board().end();
            }
            on_end();
        });
        *session.reader.lock().unwrap_or_else(PoisonError::into_inner) =
            Some(reader.abort_handle());
        session
    }

    fn board(&self) -> MutexGuard<'_, Board> {
        self.board.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Marks it as used now.
    fn touch(&self) {
        *self.used.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    /// Marks it as opened: its client knows its id and came back.
    pub(crate) fn open(&self) {
        self.is_opened.store(true, Ordering::Relaxed);
        self.touch();
    }

    /// Returns true if its client ever came back.
    pub(crate) fn is_opened(&self) -> bool {
        self.is_opened.load(Ordering::Relaxed)
    }

    /// Returns the time since which it is unused; none while a request waits or a stream listens.
    pub(crate) fn idle_since(&self) -> Option<Instant> {
        if self.board().is_in_use() {
            // Idle time counts from the end of the last use.
            self.touch();
            return None;
        }
        Some(*self.used.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Forwards what a client posted; returns the stream of the replies, if there will be any.
    ///
    /// # Errors
    /// When an id is in use, or the session is over.
    pub(crate) async fn post(&self, posted: Posted) -> Result<Option<Answers>, Refusal> {
        self.touch();
        let request = |message: &Message| match &message.kind {
            Kind::Request { id, .. } => Some((id.clone(), message.progress_token())),
            Kind::Notification { .. } | Kind::Answer => None,
        };
        let requests: Vec<_> = posted.messages.iter().filter_map(request).collect();
        let answers = match requests.is_empty() {
            true => None,
            // Before anything is sent, so that no reply can come too early.
            false => Some(self.board().open(requests).map_err(|busy| refusal_of(&busy))?),
        };
        for message in posted.messages {
            // A cancelled request need not be answered any more.
            if message.method() == Some("notifications/cancelled")
                && let Some(id) = message.params().and_then(|it| it.get("requestId"))
            {
                self.board().forget(&id.to_string());
            }
            self.outgoing.send(message.line).await.map_err(|_| over())?;
        }
        Ok(answers)
    }

    /// Listens to the general stream, or resumes where the client was cut off.
    pub(crate) fn listen(&self, after: Option<Place>) -> Resumed {
        self.touch();
        self.board().listen(after)
    }

    /// Ends the general stream, which carries everything but replies.
    pub(crate) fn hush(&self) {
        self.board().hush();
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        if let Some(reader) = self.reader.get_mut().unwrap_or_else(PoisonError::into_inner).take() {
            reader.abort();
        }
    }
}

fn refusal_of(busy: &Busy) -> Refusal {
    match busy {
        Busy::Over => over(),
        Busy::SameId(id) => {
            let message = format!("a request with the id {id} is still being worked on");
            let id = serde_json::from_str(id).unwrap_or_default();
            Refusal::new(StatusCode::BAD_REQUEST, Code::InvalidParams, message)
                .hint("give each request of a session an id of its own")
                .of_request(id)
                .rpc(-32_600)
        }
    }
}
