//! Backend: the gateway's conversation with one project, which it opens when it first needs it.
//!
//! In: requests for the project; what came of the handshake. Out: lines for the project, in order.
//! Invariants: nothing is asked before the handshake is answered; what waits for one that fails is told why, and the
//! next request tries again. Where the client shook no hands (newer revisions of MCP do without), we shake none.
//! Not here: connecting, and what a restart of the daemon needs: each project has a shim of its own (`pump.rs`).

use serde_json::{Value, json};

use super::line;

/// One project's side of the gateway.
#[derive(Debug, Default)]
pub(super) struct Backend {
    state: State,
    /// What the project said of itself.
    hello: Option<Value>,
    /// What waits for the handshake: the request's id, and its line; none where only the handshake is waited for.
    waiting: Vec<(u64, Option<Vec<u8>>)>,
    /// Let the last search wait in vain: the next ones wait for it less long.
    pub(super) is_slow: bool,
}

#[derive(Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Closed,
    /// The handshake has this id.
    Opening(u64),
    Open,
}

/// What a request leads to.
pub(super) enum Asked {
    /// It waits for the handshake.
    Waits,
    /// The handshake opens with this line; the request waits for it.
    Opens(Vec<u8>),
    /// It goes out now.
    Goes(Vec<u8>),
    /// It asked for nothing but the handshake, which is long done.
    Done(Value),
}

impl Backend {
    pub(super) fn is_open(&self) -> bool {
        self.state == State::Open
    }

    /// Takes request `id` with its line, or with none if it only waits for the handshake. `params` are those of the
    /// client's handshake, `opening` an id for ours.
    pub(super) fn ask(
        &mut self,
        (id, line): (u64, Option<Vec<u8>>),
        params: Option<&Value>,
        opening: u64,
    ) -> Asked {
        match (&self.state, params, line) {
            (State::Open, _, Some(line)) => Asked::Goes(line),
            (State::Open, _, None) => Asked::Done(self.hello.clone().unwrap_or_default()),
            // Without a handshake of the client's.
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

    /// Whether this id is that of the handshake under way.
    pub(super) fn is_opening_with(&self, id: u64) -> bool {
        self.state == State::Opening(id)
    }

    /// The handshake is answered. Gives the lines that may go out now, and requests that waited for nothing else.
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

    /// The handshake failed. Gives the requests that waited for it.
    pub(super) fn on_refusal(&mut self) -> Vec<u64> {
        self.state = State::Closed;
        self.waiting.drain(..).map(|(id, _)| id).collect()
    }

    /// What the project said of itself, once it did.
    pub(super) fn hello(&self) -> Value {
        self.hello.clone().unwrap_or_default()
    }

    /// Forgets a request that waits; false when it went out already.
    pub(super) fn forget(&mut self, id: u64) -> bool {
        let n = self.waiting.len();
        self.waiting.retain(|(waiting, _)| *waiting != id);
        self.waiting.len() < n
    }
}
