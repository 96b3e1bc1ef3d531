//! Board: routes the lines of a session to streams.
//!
//! In: waiting requests, listening streams, lines of the session. Out: each line on one stream: a reply and its
//! progress on the stream of its request, everything else on the general one.
//! Invariants: a line goes to one stream only; nothing here waits: a stream that is not read is cut off and may be
//! resumed; the last events are kept for that, within [`MAX_KEPT_BYTES`], including those that no stream received.

use std::collections::{BTreeMap, HashMap, VecDeque};

use bytes::Bytes;
use serde_json::Value;
use tokio::sync::mpsc;

use crate::message::LineKind;

/// The stream that a client opens by GET.
pub(crate) const GENERAL: u64 = 0;

/// Most unread events of one stream; with more it is cut off. Progress comes ten times a second.
const MAX_WAITING: usize = 64;

/// Most that is kept for resuming, in bytes and in events.
const MAX_KEPT_BYTES: usize = 256 << 10;
const MAX_KEPT: usize = 256;

/// One message on a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Event {
    /// The stream's number.
    pub(crate) stream: u64,
    /// The event's number, unique in the session.
    pub(crate) number: u64,
    pub(crate) line: Bytes,
    /// True if nothing follows on this stream.
    pub(crate) is_last: bool,
    /// The error code, if it is a reply with an error.
    pub(crate) error: Option<i64>,
}

/// Where a client was cut off: stream and last event received.
pub(crate) type Place = (u64, u64);

/// A stream for replies: its number, and its events.
pub(crate) type Answers = (u64, mpsc::Receiver<Event>);

/// A resumed stream: the place after which it resumes, the events missed since, and those to come, unless it has ended.
pub(crate) type Resumed = (Place, Vec<Event>, Option<mpsc::Receiver<Event>>);

/// One session's streams.
#[derive(Debug, Default)]
pub(crate) struct Board {
    streams: BTreeMap<u64, Stream>,
    waiting: HashMap<String, Waiting>,
    kept: VecDeque<Event>,
    n_kept_bytes: usize,
    last_stream: u64,
    last_event: u64,
    /// The last event of the general stream that was delivered.
    last_delivered: u64,
    is_over: bool,
}

#[derive(Debug, Default)]
struct Stream {
    sink: Option<mpsc::Sender<Event>>,
    n_open: usize,
}

/// A request that has no reply yet.
#[derive(Debug)]
struct Waiting {
    stream: u64,
    token: Option<String>,
}

/// Why a request cannot be accepted.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Busy {
    /// The session is over.
    Over,
    /// Another request with this id has no reply yet.
    SameId(String),
}

impl Board {
    /// Opens a stream for requests, each with its id and its progress token.
    pub(crate) fn open(
        &mut self,
        requests: Vec<(String, Option<String>)>,
    ) -> Result<Answers, Busy> {
        if self.is_over {
            return Err(Busy::Over);
        }
        // Ids must be unique within a batch and among all waiting requests: replies are matched by id.
        let mut ids: Vec<&String> = requests.iter().map(|(id, _)| id).collect();
        ids.sort_unstable();
        let twice =
            ids.windows(2).find(|pair| pair.first() == pair.last()).and_then(|it| it.first());
        let taken = ids.iter().find(|id| self.waiting.contains_key(**id));
        if let Some(id) = twice.or(taken) {
            return Err(Busy::SameId(id.to_string()));
        }
        self.last_stream += 1;
        let (sink, events) = mpsc::channel(MAX_WAITING);
        let stream = self.last_stream;
        self.streams.insert(stream, Stream { sink: Some(sink), n_open: requests.len() });
        for (id, token) in requests {
            self.waiting.insert(id, Waiting { stream, token });
        }
        Ok((stream, events))
    }

    /// Removes a request that needs no reply any more.
    pub(crate) fn forget(&mut self, id: &str) {
        if let Some(waiting) = self.waiting.remove(id) {
            self.close_one(waiting.stream);
        }
    }

    fn close_one(&mut self, stream: u64) -> bool {
        let Some(found) = self.streams.get_mut(&stream) else { return false };
        found.n_open = found.n_open.saturating_sub(1);
        let is_done = found.n_open == 0;
        // The stream's sender is dropped with it, which ends the response.
        if is_done {
            self.streams.remove(&stream);
        }
        is_done
    }

    /// Listens to the general stream, or resumes a stream where a client was cut off; missed events come first. There
    /// is no receiver if the stream has ended.
    pub(crate) fn listen(&mut self, after: Option<Place>) -> Resumed {
        let place = after.unwrap_or((GENERAL, self.last_delivered));
        let (stream, number) = place;
        let missed = self.kept.iter().filter(|it| it.stream == stream && it.number > number);
        let missed: Vec<Event> = missed.cloned().collect();
        if self.is_over || (stream != GENERAL && !self.streams.contains_key(&stream)) {
            return (place, missed, None);
        }
        let (sink, events) = mpsc::channel(MAX_WAITING);
        self.streams.entry(stream).or_default().sink = Some(sink);
        // The caller delivers these first; without this they would be delivered again to the next listener.
        if let Some(last) = missed.last().filter(|_| stream == GENERAL) {
            self.last_delivered = self.last_delivered.max(last.number);
        }
        (place, missed, Some(events))
    }

    /// Routes a line of the session.
    pub(crate) fn route(&mut self, line: Bytes) {
        match LineKind::of(&line) {
            Some(LineKind::Answer { id, error }) => self.answer(&id, line, error),
            Some(LineKind::Progress(token)) => {
                let fits = |it: &&Waiting| it.token.as_ref() == Some(&token);
                let stream = self.waiting.values().find(fits).map_or(GENERAL, |it| it.stream);
                self.put(stream, line, false, None);
            }
            Some(LineKind::Request) => {
                let stream = self.who_listens();
                self.put(stream, line, false, None);
            }
            Some(LineKind::Notification) => self.put(GENERAL, line, false, None),
            Some(LineKind::Refusal) => self.refuse_all(&line),
            None => tracing::debug!("a session sent something that is not a message"),
        }
    }

    fn answer(&mut self, id: &str, line: Bytes, error: Option<i64>) {
        // Without a waiting request: it was cancelled meanwhile.
        let Some(waiting) = self.waiting.remove(id) else { return };
        // The last reply of a batch ends its stream.
        let is_last = self.streams.get(&waiting.stream).is_some_and(|it| it.n_open == 1);
        self.put(waiting.stream, line, is_last, error);
        self.close_one(waiting.stream);
    }

    /// Sends an error without a request id as the reply to every waiting request.
    fn refuse_all(&mut self, line: &[u8]) {
        let Ok(mut refusal) = serde_json::from_slice::<Value>(line) else { return };
        let mut ids: Vec<String> = self.waiting.keys().cloned().collect();
        ids.sort_unstable();
        for id in ids {
            refusal["id"] = serde_json::from_str(&id).unwrap_or_default();
            self.answer(&id, refusal.to_string().into(), Some(0));
        }
    }

    /// Returns a stream that is being read, for a request of the server; the general one if possible.
    fn who_listens(&self) -> u64 {
        let is_read = |stream: &Stream| stream.sink.as_ref().is_some_and(|it| !it.is_closed());
        let general = self.streams.get(&GENERAL).is_some_and(is_read);
        let any = self.streams.iter().find(|(_, it)| is_read(it)).map(|(number, _)| *number);
        if general { GENERAL } else { any.unwrap_or(GENERAL) }
    }

    fn put(&mut self, stream: u64, line: Bytes, is_last: bool, error: Option<i64>) {
        self.last_event += 1;
        let event = Event { stream, number: self.last_event, line, is_last, error };
        if let Some(found) = self.streams.get_mut(&stream)
            && let Some(sink) = &found.sink
        {
            match sink.try_send(event.clone()) {
                Ok(()) if stream == GENERAL => self.last_delivered = event.number,
                Ok(()) => {}
                // It is closed, or nobody reads it.
                Err(_) => found.sink = None,
            }
        }
        // Kept even if delivered: the connection may break with bytes on their way.
        self.n_kept_bytes += event.line.len();
        self.kept.push_back(event);
        while self.n_kept_bytes > MAX_KEPT_BYTES || self.kept.len() > MAX_KEPT {
            let Some(oldest) = self.kept.pop_front() else { break };
            self.n_kept_bytes -= oldest.line.len();
        }
    }

    /// Ends the general stream.
    pub(crate) fn hush(&mut self) {
        self.streams.remove(&GENERAL);
    }

    /// Ends every stream, because the session is over.
    pub(crate) fn end(&mut self) {
        self.is_over = true;
        self.streams.clear();
        self.waiting.clear();
    }

    /// Returns true if a request waits for its reply or a stream is being read.
    pub(crate) fn is_in_use(&self) -> bool {
        let is_read = |it: &Stream| it.sink.as_ref().is_some_and(|sink| !sink.is_closed());
        !self.waiting.is_empty() || self.streams.values().any(is_read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(ids: &[&str]) -> Vec<(String, Option<String>)> {
        ids.iter().map(|id| (id.to_string(), Some(format!("\"t{id}\"")))).collect()
    }

    fn route(board: &mut Board, line: &str) {
        board.route(Bytes::copy_from_slice(line.as_bytes()));
    }

    fn result(id: &str) -> String {
        format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#)
    }

    const NEWS: &str = r#"{"jsonrpc":"2.0","method":"notifications/resources/list_changed"}"#;

    fn progress(token: &str) -> String {
        format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":"{token}"}}}}"#
        )
    }

    /// Returns what a stream has received so far, as numbers; `!` follows the last.
    fn received(events: &mut mpsc::Receiver<Event>) -> String {
        let mut out = Vec::new();
        while let Ok(event) = events.try_recv() {
            out.push(format!(
                "{}-{}{}",
                event.stream,
                event.number,
                if event.is_last { "!" } else { "" }
            ));
        }
        out.join(" ")
    }

    #[test]
    fn answers_and_progress_go_to_their_request_and_news_to_the_general_stream() {
        let mut board = Board::default();
        let (_, mut one) = board.open(asked(&["1"])).expect("open");
        let (_, mut two) = board.open(asked(&["2", "3"])).expect("open");
        let (_, _, general) = board.listen(None);
        let mut general = general.expect("it goes on");
        route(&mut board, &progress("t2"));
        route(&mut board, NEWS);
        route(&mut board, &result("3"));
        route(&mut board, &result("1"));
        route(&mut board, &result("2"));
        route(&mut board, &result("2"));
        route(&mut board, &progress("t2"));
        assert_eq!(received(&mut one), "1-4!");
        assert_eq!(received(&mut two), "2-1 2-3 2-5!");
        assert_eq!(received(&mut general), "0-2 0-6");
        assert!(one.try_recv().is_err() && board.is_in_use());
    }

    #[test]
    fn ids_are_the_client_s_to_keep_apart() {
        let mut board = Board::default();
        let _one = board.open(asked(&["1"])).expect("open");
        assert_eq!(board.open(asked(&["1"])).err(), Some(Busy::SameId("1".into())));
        assert_eq!(board.open(asked(&["2", "2"])).err(), Some(Busy::SameId("2".into())));
        assert!(board.open(asked(&["\"1\""])).is_ok());
        board.forget("1");
        assert!(board.open(asked(&["1"])).is_ok());
        board.end();
        assert_eq!(board.open(asked(&["9"])).err(), Some(Busy::Over));
    }

    #[test]
    fn what_was_missed_is_told_again_on_its_own_stream() {
        let mut board = Board::default();
        route(&mut board, NEWS);
        let (_, missed, general) = board.listen(None);
        assert_eq!(missed.iter().map(|it| it.number).collect::<Vec<_>>(), [1]);
        drop(general);
        assert!(board.listen(None).1.is_empty(), "told once");

        let (_, lost) = board.open(asked(&["1"])).expect("open");
        drop(lost);
        route(&mut board, &progress("t1"));
        let (_, missed, resumed) = board.listen(Some((1, 0)));
        assert_eq!(missed.iter().map(|it| it.number).collect::<Vec<_>>(), [2]);
        route(&mut board, &result("1"));
        assert_eq!(received(&mut resumed.expect("it goes on")), "1-3!");
        let (_, missed, over) = board.listen(Some((1, 2)));
        assert!(missed.first().is_some_and(|it| it.is_last) && over.is_none());
        assert_eq!(board.listen(Some((77, 0))).1.len(), 0);
    }

    #[test]
    fn who_does_not_read_is_cut_off_and_little_is_kept() {
        let mut board = Board::default();
        let mut general = board.listen(None).2.expect("it goes on");
        (0..1_000).for_each(|_| route(&mut board, NEWS));
        assert_eq!(received(&mut general).split(' ').count(), MAX_WAITING);
        assert!(general.try_recv().is_err_and(|it| it == mpsc::error::TryRecvError::Disconnected));
        assert_eq!(board.kept.len(), MAX_KEPT);
        assert_eq!(board.listen(Some((GENERAL, 900))).1.len(), 100);
        let long =
            format!(r#"{{"jsonrpc":"2.0","id":1,"result":"{}"}}"#, "x".repeat(MAX_KEPT_BYTES));
        let (_, mut one) = board.open(asked(&["1"])).expect("open");
        route(&mut board, &long);
        assert!(received(&mut one).ends_with('!') && board.kept.is_empty());
    }

    #[test]
    fn who_is_not_let_in_is_told_so_by_each_request() {
        let mut board = Board::default();
        let (_, mut one) = board.open(asked(&["1"])).expect("open");
        route(
            &mut board,
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"full"}}"#,
        );
        let error = one.try_recv().expect("told");
        assert_eq!(
            &error.line[..],
            br#"{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"full"}}"#
        );
        assert!(error.is_last && !board.is_in_use());
    }

    #[test]
    fn a_question_of_the_server_goes_to_somebody_who_hears_it() {
        let question = r#"{"jsonrpc":"2.0","id":1,"method":"sampling/createMessage"}"#;
        let mut board = Board::default();
        let (_, mut one) = board.open(asked(&["1"])).expect("open");
        route(&mut board, question);
        assert_eq!(received(&mut one), "1-1");
        let mut general = board.listen(None).2.expect("it goes on");
        route(&mut board, question);
        assert_eq!(received(&mut general), "0-2");
    }
}
