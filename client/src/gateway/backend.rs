//! Backend: the gateway's conversation with one project, opened when first needed.
//!
//! In: requests for the project; the result of the handshake. Out: lines for the project, in order.
//! Invariants: nothing is sent before the handshake is answered; requests waiting for a failed handshake get its error,
//! and the next request tries again. If the client uses no handshake (newer revisions of MCP), there is none here,
//! either.

use serde_json::{Value, json};

use super::line;

/// One project's side of the gateway.
#[derive(Debug, Default)]
pub(super) struct Backend {
    state: State,
    /// The project's answer to the handshake.
    hello: Option<Value>,
    /// Requests waiting for the handshake: id and line; no line if only the handshake is needed.
    waiting: Vec<(u64, Option<Vec<u8>>)>,
    /// Whether the last search timed out here; the next ones wait for a shorter time.
    pub(super) is_slow: bool,
}

#[derive(Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Closed,
    /// A handshake with this id is under way.
    Opening(u64),
    Open,
}

/// What happens to a request.
pub(super) enum Asked {
    /// It waits for the handshake.
    Waits,
    /// It waits for the handshake, which starts with this line.
    Opens(Vec<u8>),
    /// It is sent now.
    Goes(Vec<u8>),
    /// It only needed the handshake, which is already done.
    Done(Value),
}

impl Backend {
    pub(super) fn is_open(&self) -> bool {
        self.state == State::Open
    }

    /// Accepts request `id` with its line, or without one if it only needs the handshake. `params` are those of the
    /// client's handshake, `opening` is an id for ours.
    pub(super) fn ask(
        &mut self,
        id: u64,
        line: Option<Vec<u8>>,
        params: Option<&Value>,
        opening: u64,
    ) -> Asked {
        match (&self.state, params, line) {
            (State::Open, _, Some(line)) => Asked::Goes(line),
            (State::Open, _, None) => Asked::Done(self.hello.clone().unwrap_or_default()),
            // The client uses no handshake.
            (State::Closed, None, Some(line)) => Asked::Goes(line),
            (State::Closed, None, None) => Asked::Done(Value::Null),
            (State::Opening(_), _, line) => {
                self.waiting.push((id, line));
                Asked::Waits
            }
            (State::Closed, Some(params), line) => {
                self.waiting.push((id, line));
                self.state = State::Opening(opening);
                Asked::Opens(line::request(opening, "initialize", params))
            }
        }
    }

    /// Returns true if this is the id of the handshake under way.
    pub(super) fn is_opening_with(&self, id: u64) -> bool {
        self.state == State::Opening(id)
    }

    /// Records the answer to the handshake. Returns the lines to send now, and the requests that needed only the
    /// handshake.
    pub(super) fn on_open(&mut self, hello: Value) -> (Vec<Vec<u8>>, Vec<u64>) {
        self.state = State::Open;
        self.hello = Some(hello);
        let mut lines = vec![line::notification("notifications/initialized", &json!({}))];
        let mut done = Vec::new();
        for (id, line) in self.waiting.drain(..) {
            match line {
                Some(line) => lines.push(line),
                None => done.push(id),
            }
        }
        (lines, done)
    }

    /// Records that the handshake failed. Returns the requests that waited for it.
    pub(super) fn on_refusal(&mut self) -> Vec<u64> {
        self.state = State::Closed;
        self.waiting.drain(..).map(|(id, _)| id).collect()
    }

    /// Returns the project's answer to the handshake, once it came.
    pub(super) fn hello(&self) -> Value {
        self.hello.clone().unwrap_or_default()
    }

    /// Removes a waiting request; returns false when it was already sent.
    pub(super) fn forget(&mut self, id: u64) -> bool {
        let n = self.waiting.len();
        self.waiting.retain(|(waiting, _)| *waiting != id);
        self.waiting.len() < n
    }
}
