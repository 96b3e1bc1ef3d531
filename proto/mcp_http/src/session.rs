//! Session: a conversation that began with `initialize`, over any number of requests of HTTP.
//!
//! In: posted messages, and streams that listen. Out: what the session behind it says, on the right stream.
//! Invariants: a request that was posted is waited for before it is sent; a session that nobody uses for a while ends;
//! what was asked goes on when its connection breaks, as MCP has it up to 2025-11-25, and can be heard when resumed.
//! Not here: which line goes to which stream (`board.rs`), looking up sessions (`table.rs`).

use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use hyper::StatusCode;
use proto::error::Code;
use tokio::net::UnixStream;
use tokio::task::AbortHandle;

use crate::board::{Answers, Board, Busy, Heard, Place};
use crate::link::{Outgoing, split};
use crate::message::{Kind, Message, Posted};
use crate::reply::{Refusal, over};

/// One conversation.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) workspace: String,
    /// Who began it.
    pub(crate) peer: IpAddr,
    /// Whether anything followed the handshake's first message.
    is_opened: AtomicBool,
    outgoing: Outgoing,
    board: Mutex<Board>,
    used: Mutex<Instant>,
    reader: Mutex<Option<AbortHandle>>,
}

impl Session {
    /// Begins one over `stream`; `on_end` is called when the other side ends it.
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
            is_opened: AtomicBool::new(false),
            outgoing,
            board: Mutex::new(Board::default()),
            used: Mutex::new(Instant::now()),
            reader: Mutex::new(None),
        });
        // Weak, so that a session nobody knows any more is gone, and its stream with it.
        let weak = Arc::downgrade(&session);
        let reader = tokio::spawn(async move {
            while let Some(line) = incoming.next().await {
                let Some(session) = weak.upgrade() else { return };
                session.board().tell(line);
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

    /// Somebody uses it.
    fn touch(&self) {
        *self.used.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    /// Its client knows its id, and comes back.
    pub(crate) fn open(&self) {
        self.is_opened.store(true, Ordering::Relaxed);
        self.touch();
    }

    /// Whether its client ever came back.
    pub(crate) fn is_opened(&self) -> bool {
        self.is_opened.load(Ordering::Relaxed)
    }

    /// Since when nobody uses it; none while somebody waits or listens.
    pub(crate) fn idle_since(&self) -> Option<Instant> {
        if self.board().is_in_use() {
            // From when that ends.
            self.touch();
            return None;
        }
        Some(*self.used.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Hands on what a client posted; gives the stream of the answers, where there will be some.
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
            false => Some(self.board().open(requests).map_err(|busy| refusal_of(&busy))?),
        };
        for message in posted.messages {
            // It need not be answered any more.
            if message.method() == Some("notifications/cancelled")
                && let Some(id) = message.params().and_then(|it| it.get("requestId"))
            {
                self.board().forget(&id.to_string());
            }
            self.outgoing.send(message.line).await.map_err(|_| over())?;
        }
        Ok(answers)
    }

    /// Listens to what comes without being asked for, or goes on where the client was cut off.
    pub(crate) fn listen(&self, after: Option<Place>) -> Heard {
        self.touch();
        self.board().listen(after)
    }

    /// Ends the general stream, of messages that answer no request.
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
