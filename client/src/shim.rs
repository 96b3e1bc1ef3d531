//! The shim's memory: what it must know about a session so that the session survives a restart of the daemon.
//!
//! In: the lines that pass, both ways. Out: which to forward, which to answer, what to replay.
//! Invariants: every request of the client is answered exactly once, by the daemon or by us; the
//! client sees one handshake however many daemons there were; lines are forwarded as they are, byte for byte.
//! Not here: reading and writing (`shim/pump.rs`), and what the messages mean.

use std::collections::HashSet;
use std::time::Duration;

use proto::PREAMBLE_VERSION;
use proto::tool::ToolSet;
use serde_json::{Value, json};

pub(crate) mod line;
pub mod pump;
mod told;
pub(crate) mod watch;

use told::Told;

pub use line::{Kind, MAX_LINE_BYTES, Refusal};
pub use watch::Patience;

/// JSON-RPC code of an error that is ours to give.
const UNAVAILABLE: i32 = -32_000;

/// JSON-RPC's own code of a message that cannot be accepted.
const INVALID_REQUEST: i32 = -32_600;

/// What is said of a request that was lost with its daemon.
pub(crate) const RESTARTED: &str = "daemon restarted";

/// Connections in a row over which no daemon said anything, before the client is told.
pub(crate) const MAX_SILENT: u32 = 4;

/// Wait after the first connection in a row over which no daemon said anything; longer after each.
const PAUSE: Duration = Duration::from_millis(20);

/// What to do with a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Forward {
    /// Send it on.
    Pass,
    /// It ends here.
    Swallow,
    /// Send this on instead.
    Instead(Vec<u8>),
}

/// A message, remembered to be replayed.
#[derive(Debug, Clone)]
struct Remembered {
    id: String,
    line: Vec<u8>,
}

/// One client's session, over any number of connections to the daemon.
#[derive(Debug)]
pub struct Shim {
    preamble: Vec<u8>,
    initialize: Option<Remembered>,
    initialized: Option<Vec<u8>>,
    /// Ids (as JSON) of the client's requests that wait for an answer.
    in_flight: HashSet<String>,
    /// Those of them that are answered when a subscription ends: nobody waits for that.
    listening: HashSet<String>,
    /// Ids of the daemon's own requests that wait for the client's answer.
    asked: HashSet<String>,
    /// Requests sent to a daemon that has not answered the replayed handshake yet, to be sent again if it
    /// is gone before it does: it has not looked at them.
    held: Vec<Remembered>,
    /// Id of a replayed `initialize`, whose answer the client has seen already.
    replayed: Option<String>,
    /// What the client is told of as it changes.
    told: Told,
    connected: bool,
    /// Why this connection's daemon does not let us in.
    refusal: Option<Refusal>,
    /// Connections in a row over which no daemon said anything.
    n_silent: u32,
    /// What the project is called.
    project: String,
    patience: Patience,
    /// The last daemon hung, and none has said anything since.
    is_hung: bool,
}

impl Shim {
    /// A session over the project of that name that asks for these tool sets in the name of `client`.
    ///
    /// Whoever passed them on, an agent never gets those of `kgctl`.
    pub fn new(project: &str, tools: &[String], client: &str) -> Self {
        let is_for_agents = |set: &&String| set.as_str() != ToolSet::Admin.as_str();
        let tools: Vec<&String> = tools.iter().filter(is_for_agents).collect();
        let preamble = json!({ "kgd": PREAMBLE_VERSION, "tools": tools, "client": client });
        Shim {
            preamble: preamble.to_string().into_bytes(),
            initialize: None,
            initialized: None,
            in_flight: HashSet::new(),
            listening: HashSet::new(),
            asked: HashSet::new(),
            held: Vec::new(),
            replayed: None,
            told: Told::default(),
            connected: false,
            refusal: None,
            n_silent: 0,
            project: project.to_string(),
            patience: Patience::USUAL,
            is_hung: false,
        }
    }

    /// The same with another patience.
    pub fn patient_for(self, patience: Patience) -> Self {
        Shim { patience, ..self }
    }

    /// How long the next daemon may be silent.
    pub fn patience(&self) -> Patience {
        if self.is_hung { self.patience.shortened() } else { self.patience }
    }

    /// Whether a daemon is connected, as far as we know.
    pub fn is_connected(&self) -> bool {
        self.connected
    }

    /// Whether a request of the client waits for its answer; a subscription does not.
    pub fn is_waiting(&self) -> bool {
        !self.in_flight.is_subset(&self.listening)
    }

    /// Whether the client waits for the answer to its handshake.
    pub fn is_opening(&self) -> bool {
        self.initialize.as_ref().is_some_and(|it| self.in_flight.contains(&it.id))
    }

    /// Whether daemons die of what this client says, so that connecting once more is no use. Asked
    /// again, it may be.
    pub fn gives_up(&mut self) -> bool {
        let gives_up = self.n_silent >= MAX_SILENT;
        if gives_up {
            self.n_silent = 0;
        }
        gives_up
    }

    /// A daemon is connected. Gives the lines to send it before `first`, the client's line that made
    /// us connect: the preamble, and the handshake if there was one.
    pub fn on_connect(&mut self, first: Option<&Kind>) -> Vec<Vec<u8>> {
        self.connected = true;
        self.refusal = None;
        self.n_silent += 1;
        if matches!(first, Some(Kind::Initialize(_))) {
            // The client starts over; what it said before is void.
            if let Some(before) = self.initialize.take() {
                self.in_flight.remove(&before.id);
            }
            self.initialized = None;
            self.held.drain(..).for_each(|it| {
                self.in_flight.remove(&it.id);
            });
        }
        let mut lines = vec![self.preamble.clone()];
        if let Some(initialize) = &self.initialize {
            lines.push(initialize.line.clone());
            let answered = !self.in_flight.contains(&initialize.id);
            self.replayed = answered.then(|| initialize.id.clone());
            lines.extend(self.initialized.clone());
            lines.extend(
                self.initialized.is_some().then(|| self.told.take_up()).into_iter().flatten(),
            );
        }
        lines.extend(self.held.iter().map(|it| it.line.clone()));
        lines
    }

    /// A line from the client, on its way to the daemon. A request is swallowed, and not recorded,
    /// while no daemon is connected: then it is the caller's to connect or to refuse it.
    pub fn on_client_line(&mut self, kind: &Kind, line: &[u8]) -> Forward {
        match kind {
            Kind::Initialize(_) | Kind::Request(_) if !self.connected => return Forward::Swallow,
            Kind::Initialize(id) => {
                self.initialize = Some(Remembered { id: id.clone(), line: line.to_vec() });
                self.initialized = None;
                self.told = Told::default();
                self.in_flight.insert(id.clone());
            }
            Kind::Initialized => self.initialized = Some(line.to_vec()),
            Kind::Request(id) => {
                self.in_flight.insert(id.clone());
                self.told.on_request(line);
                if line::listens(line) {
                    self.listening.insert(id.clone());
                }
                if self.replayed.is_some() {
                    self.held.push(Remembered { id: id.clone(), line: line.to_vec() });
                }
            }
            // The daemon need not answer a request that was cancelled.
            Kind::Cancelled(id) => {
                self.in_flight.remove(id);
                self.listening.remove(id);
                self.held.retain(|it| it.id != *id);
            }
            // An answer to a question of a daemon that is gone would puzzle the next one.
            Kind::Answer(id) if !self.asked.remove(id) => return Forward::Swallow,
            Kind::Answer(_) | Kind::Notification | Kind::Unreadable | Kind::Refusal(_) => {}
        }
        if self.connected { Forward::Pass } else { Forward::Swallow }
    }

    /// A line from the daemon, on its way to the client.
    pub fn on_server_line(&mut self, kind: &Kind) -> Forward {
        let is_first = self.n_silent > 0;
        self.n_silent = 0;
        self.is_hung = false;
        match kind {
            // Told to whoever waits once the daemon has hung up; the client cannot do anything with a line
            // that answers nothing.
            Kind::Refusal(refusal) if is_first => {
                self.refusal = Some(refusal.clone());
                return Forward::Swallow;
            }
            Kind::Answer(id) if self.replayed.as_ref() == Some(id) => {
                self.replayed = None;
                self.held.clear();
                return Forward::Swallow;
            }
            Kind::Answer(id) => {
                if let Some(told) = self.told.on_answer(id) {
                    return Forward::Instead(told);
                }
                self.in_flight.remove(id);
                self.listening.remove(id);
            }
            Kind::Request(id) | Kind::Initialize(id) => {
                self.asked.insert(id.clone());
            }
            Kind::Cancelled(id) => {
                self.asked.remove(id);
            }
            Kind::Initialized | Kind::Notification | Kind::Unreadable | Kind::Refusal(_) => {}
        }
        Forward::Pass
    }

    /// The daemon hangs. To be told before [`Shim::on_disconnect`], which then answers all that waits.
    pub fn on_hang(&mut self) {
        let name = &self.project;
        let seconds = self.patience().silence.as_secs();
        self.refusal = Some(Refusal {
            code: "unavailable".to_string(),
            message: format!(
                "the daemon for `{name}` does not answer: nothing came for {seconds} s, nor a sign of life over a \
                 second connection"
            ),
            hint: Some(format!(
                "`kgctl --project {name} restart`; of a call that writes, look then whether it was done"
            )),
        });
        self.n_silent = 0;
        self.is_hung = true;
    }

    /// The daemon is gone. Gives the errors that answer what was in flight. A handshake in flight is kept,
    /// since it can be replayed without the client noticing, and so are requests that the daemon never
    /// looked at.
    pub fn on_disconnect(&mut self) -> Vec<Vec<u8>> {
        self.connected = false;
        self.replayed = None;
        self.asked.clear();
        self.told.on_disconnect();
        if let Some(refusal) = self.refusal.clone() {
            return self.refuse_all(&refusal);
        }
        let is_kept = |id: &String| self.initialize.iter().chain(&self.held).any(|it| it.id == *id);
        let mut lost: Vec<_> = self.in_flight.extract_if(|id| !is_kept(id)).collect();
        lost.iter().for_each(|id| {
            self.listening.remove(id);
        });
        lost.sort_unstable();
        let hint = "call again: the daemon starts when needed; of a call that writes, look first whether it was done";
        lost.iter().map(|id| unavailable(id, RESTARTED, hint)).collect()
    }

    /// Answers all that waits: to ask the same daemon again would be no use.
    fn refuse_all(&mut self, refusal: &Refusal) -> Vec<Vec<u8>> {
        if self.is_opening() {
            self.initialize = None;
        }
        self.held.clear();
        let mut waiting: Vec<_> = self.in_flight.drain().collect();
        waiting.sort_unstable();
        waiting.iter().map(|id| refused(id, refusal)).collect()
    }

    /// The answer to a line that came after the daemon had refused us, and before we looked.
    pub fn on_late_line(&self, kind: &Kind) -> Option<Vec<u8>> {
        match (kind, &self.refusal) {
            (Kind::Initialize(id) | Kind::Request(id), Some(refusal)) => Some(refused(id, refusal)),
            (Kind::Unreadable, Some(refusal)) => Some(refused("null", refusal)),
            _ => None,
        }
    }

    /// No daemon can be had. Gives the error that answers `kind`, unless nobody waits for one.
    pub fn on_refusal(&mut self, kind: &Kind, why: &str) -> Option<Vec<u8>> {
        let (message, hint) = why.split_once("\nhint: ").unwrap_or((why, "see `kgctl doctor`"));
        match kind {
            Kind::Initialize(id) | Kind::Request(id) => {
                self.in_flight.remove(id);
                self.held.retain(|it| it.id != *id);
                Some(unavailable(id, message, hint))
            }
            Kind::Unreadable => Some(unavailable("null", message, hint)),
            Kind::Initialized
            | Kind::Cancelled(_)
            | Kind::Answer(_)
            | Kind::Notification
            | Kind::Refusal(_) => None,
        }
    }

    /// What waits for the next daemon, to be refused when none can be had: the handshake in flight, and
    /// requests that are held.
    pub fn waiting(&self) -> Vec<Kind> {
        let opening = self.initialize.as_ref().filter(|_| self.is_opening());
        let opening = opening.map(|it| Kind::Initialize(it.id.clone()));
        opening.into_iter().chain(self.held.iter().map(|it| Kind::Request(it.id.clone()))).collect()
    }

    /// How long to wait before the next connection: a daemon that hung up without a word may be going
    /// still, and would take the next connection, too.
    pub fn pause(&self) -> Duration {
        if self.connected || self.n_silent == 0 { Duration::ZERO } else { PAUSE * self.n_silent }
    }
}

/// Answers a line that is longer than [`MAX_LINE_BYTES`]; `id` as JSON, where it could be read.
pub fn too_long(id: Option<&str>) -> Vec<u8> {
    let message = format!("the message is longer than {MAX_LINE_BYTES} bytes");
    let hint = "give paths of files instead of their text";
    error(
        id.unwrap_or("null"),
        INVALID_REQUEST,
        &message,
        json!({ "code": "invalid_params", "hint": hint }),
    )
}

fn unavailable(id: &str, message: &str, hint: &str) -> Vec<u8> {
    error(id, UNAVAILABLE, message, json!({ "code": "unavailable", "hint": hint }))
}

fn refused(id: &str, refusal: &Refusal) -> Vec<u8> {
    let Refusal { code, message, hint } = refusal;
    error(id, UNAVAILABLE, message, json!({ "code": code, "hint": hint }))
}

fn error(id: &str, code: i32, message: &str, data: Value) -> Vec<u8> {
    let error = json!({ "code": code, "message": message, "data": data });
    // The id goes back as it came, not by way of a number type that might change it.
    format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#).into_bytes()
}

#[cfg(test)]
mod tests;
