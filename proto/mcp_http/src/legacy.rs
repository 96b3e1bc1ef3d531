//! Legacy: the transport of revision 2024-11-05: a stream of events by GET, and messages by POST beside it.
//!
//! In: a session's stream. Out: events: first the address for messages, then everything that the session sends.
//! Invariant: the stream is the session: when it breaks, the session ends, and its requests are cancelled.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use bytes::Bytes;
use tokio::net::UnixStream;
use tokio::sync::mpsc;
use tokio::task::AbortHandle;

use crate::SSE_MESSAGES_PATH;
use crate::board::{Event, GENERAL};
use crate::link::{Outgoing, split};
use crate::reply::{Reply, Style, events};

/// Most unread events.
const MAX_WAITING: usize = 64;

/// The receiver of messages for a session of the older transport.
#[derive(Debug, Clone)]
pub(crate) struct Post {
    pub(crate) workspace: String,
    pub(crate) outgoing: Outgoing,
    /// True once anything was posted.
    is_opened: bool,
    begun: Instant,
    reader: AbortHandle,
}

/// The sessions of the older transport, by their ids.
#[derive(Debug, Default)]
pub(crate) struct Streams(Mutex<HashMap<String, Post>>);

impl Streams {
    fn posts(&self) -> MutexGuard<'_, HashMap<String, Post>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the session with that id, and marks it as used.
    pub(crate) fn open(&self, id: &str) -> Option<Post> {
        let mut posts = self.posts();
        let post = posts.get_mut(id)?;
        post.is_opened = true;
        Some(post.clone())
    }

    /// Makes room for one more of `max` sessions, by ending the oldest one to which nothing was posted; returns false
    /// if there is none.
    pub(crate) fn make_room(&self, max: usize) -> bool {
        let mut posts = self.posts();
        if posts.len() < max {
            return true;
        }
        let unopened = posts.iter().filter(|(_, it)| !it.is_opened);
        let oldest = unopened.min_by_key(|(_, it)| it.begun).map(|(id, _)| id.clone());
        let leaving = oldest.and_then(|id| posts.remove(&id));
        // Its stream ends when the task that feeds it does.
        leaving.map(|it| it.reader.abort()).is_some()
    }
}

/// Ends a session when its stream is dropped.
struct Held {
    streams: Arc<Streams>,
    id: String,
    reader: AbortHandle,
}

impl Drop for Held {
    fn drop(&mut self) {
        self.streams.posts().remove(&self.id);
        self.reader.abort();
    }
}

/// Begins a session; returns its stream.
pub(crate) fn begin(
    streams: &Arc<Streams>,
    id: &str,
    stream: UnixStream,
    workspace: String,
) -> Reply {
    let (mut incoming, outgoing) = split(stream);
    let (sink, coming) = mpsc::channel(MAX_WAITING);
    let reader = tokio::spawn(async move {
        let mut number = 0;
        while let Some(line) = incoming.next().await {
            number += 1;
            let event = Event { stream: GENERAL, number, line, is_last: false, error: None };
            // Waits for a slow client: it is the only one that this session serves.
            if sink.send(event).await.is_err() {
                return;
            }
        }
    });
    let (begun, reader) = (Instant::now(), reader.abort_handle());
    let post = Post { workspace, outgoing, is_opened: false, begun, reader: reader.clone() };
    streams.posts().insert(id.to_string(), post);
    let (streams, id) = (Arc::clone(streams), id.to_string());
    let place = format!("event: endpoint\ndata: {SSE_MESSAGES_PATH}?session_id={id}\n\n");
    let held = Held { streams, id, reader };
    events(VecDeque::from([Bytes::from(place)]), Some(coming), Style::Legacy, Some(Box::new(held)))
}
