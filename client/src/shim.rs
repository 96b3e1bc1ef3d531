//! The shim's state: what a session needs to survive a restart of the daemon.
//!
//! In: the lines in both directions. Out: which to forward, answer or replay.
//! Invariants: every request of the client is answered exactly once, by the daemon or by us; the
//! client sees one handshake, however many daemons there were; lines are forwarded byte for byte.

use std::collections::HashSet;
use std::time::Duration;

use config::command::ProjectFlags;
use proto::PREAMBLE_VERSION;
use proto::form::Form;
use proto::tool::ToolSet;
use serde_json::{Value, json};

pub(crate) mod line;
pub mod pump;
mod subscriptions;
pub(crate) mod watch;

use subscriptions::Subscriptions;

pub use line::{Kind, MAX_LINE_BYTES, Refusal};
pub use watch::Patience;

/// JSON-RPC code of our own errors.
const UNAVAILABLE: i32 = -32_000;

/// JSON-RPC's code for an unacceptable message.
const INVALID_REQUEST: i32 = -32_600;

/// The error for a request that was lost with its daemon.
pub(crate) const RESTARTED: &str = "daemon restarted";

/// Silent connections in a row before the client gets an error.
pub(crate) const MAX_SILENT: u32 = 4;

/// Pause after the first silent connection in a row; each further one makes it longer.
const PAUSE: Duration = Duration::from_millis(20);

/// What to do with a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Forward {
    /// Forward it.
    Pass,
    /// Drop it.
    Swallow,
    /// Forward this instead.
    Instead(Vec<u8>),
}

/// A message kept for replay.
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
    /// Ids (as JSON) of the client's unanswered requests.
    in_flight: HashSet<String>,
    /// Those of them that are answered only when a subscription ends. Nobody waits for that.
    listening: HashSet<String>,
    /// Ids of the daemon's own unanswered requests to the client.
    asked: HashSet<String>,
    /// Requests sent to a daemon that has not yet answered the replayed handshake. If it ends
    /// before that, it has not read them, and they are sent again.
    held: Vec<Remembered>,
    /// Id of a replayed `initialize`, whose answer the client already has.
    replayed: Option<String>,
    /// The client's subscriptions.
    subscriptions: Subscriptions,
    connected: bool,
    /// Why this connection's daemon refuses us.
    refusal: Option<Refusal>,
    /// Silent connections in a row.
    n_silent: u32,
    /// The project's name.
    project: String,
    patience: Patience,
    /// Whether the last daemon hung, and no other has sent anything since.
    is_hung: bool,
}

impl Shim {
    /// Creates a session for the project with this name that requests these tool sets in the name
    /// of `client`.
    ///
    /// The tool sets of `kgctl` are removed, whoever passed them on.
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
            subscriptions: Subscriptions::default(),
            connected: false,
            refusal: None,
            n_silent: 0,
            project: project.to_string(),
            patience: Patience::USUAL,
            is_hung: false,
        }
    }

    /// Sets what results contain; `None` leaves it to the daemon's settings.
    pub fn in_form(mut self, form: Option<Form>) -> Self {
        if let (Some(form), Ok(Value::Object(mut preamble))) =
            (form, serde_json::from_slice(&self.preamble))
        {
            preamble.insert("form".to_string(), form.as_str().into());
            self.preamble = Value::Object(preamble).to_string().into_bytes();
        }
        self
    }

    /// Sets another patience.
    pub fn patient_for(self, patience: Patience) -> Self {
        Shim { patience, ..self }
    }

    /// Returns how long the next daemon may be silent.
    pub fn patience(&self) -> Patience {
        if self.is_hung { self.patience.shortened() } else { self.patience }
    }

    /// Returns whether a daemon is connected, as far as we know.
    pub fn is_connected(&self) -> bool {
        self.connected
    }

    /// Returns whether a request of the client is unanswered; subscriptions do not count.
    pub fn is_waiting(&self) -> bool {
        !self.in_flight.is_subset(&self.listening)
    }

    /// Returns whether the client's handshake is unanswered.
    pub fn is_opening(&self) -> bool {
        self.initialize.as_ref().is_some_and(|it| self.in_flight.contains(&it.id))
    }

    /// Returns whether daemons keep dying from the client's messages, so that connecting again is
    /// useless. Resets the count.
    pub fn gives_up(&mut self) -> bool {
        let gives_up = self.n_silent >= MAX_SILENT;
        if gives_up {
            self.n_silent = 0;
        }
        gives_up
    }

    /// Records a connection. Returns the lines to send before `first`, the client's line that made us connect: the
    /// preamble, and the handshake if there was one.
    pub fn on_connect(&mut self, first: Option<&Kind>) -> Vec<Vec<u8>> {
        self.connected = true;
        self.refusal = None;
        self.n_silent += 1;
        if matches!(first, Some(Kind::Initialize(_))) {
            // The client starts over; earlier messages are void.
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
                self.initialized
                    .is_some()
                    .then(|| self.subscriptions.repeated())
                    .into_iter()
                    .flatten(),
            );
        }
        lines.extend(self.held.iter().map(|it| it.line.clone()));
        lines
    }

    /// Handles a line from the client. While no daemon is connected, a request is dropped and not
    /// recorded: the caller must connect or refuse it.
    pub fn on_client_line(&mut self, kind: &Kind, line: &[u8]) -> Forward {
        match kind {
            Kind::Initialize(_) | Kind::Request(_) if !self.connected => return Forward::Swallow,
            Kind::Initialize(id) => {
                self.initialize = Some(Remembered { id: id.clone(), line: line.to_vec() });
                self.initialized = None;
                self.subscriptions = Subscriptions::default();
                self.in_flight.insert(id.clone());
            }
            Kind::Initialized => self.initialized = Some(line.to_vec()),
            Kind::Request(id) => {
                self.in_flight.insert(id.clone());
                self.subscriptions.on_request(line);
                if line::listens(line) {
                    self.listening.insert(id.clone());
                }
                if self.replayed.is_some() {
                    self.held.push(Remembered { id: id.clone(), line: line.to_vec() });
                }
            }
            // The daemon need not answer a cancelled request.
            Kind::Cancelled(id) => {
                self.in_flight.remove(id);
                self.listening.remove(id);
                self.held.retain(|it| it.id != *id);
            }
            // An answer to a question of an earlier daemon would confuse the next one.
            Kind::Answer(id) if !self.asked.remove(id) => return Forward::Swallow,
            Kind::Answer(_) | Kind::Notification | Kind::Unreadable | Kind::Refusal(_) => {}
        }
        if self.connected { Forward::Pass } else { Forward::Swallow }
    }

    /// Handles a line from the daemon.
    pub fn on_server_line(&mut self, kind: &Kind) -> Forward {
        let is_first = self.n_silent > 0;
        self.n_silent = 0;
        self.is_hung = false;
        match kind {
            // Reported to waiting requests once the daemon has closed the connection: the client
            // cannot use a line that answers nothing.
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
                if let Some(notification) = self.subscriptions.on_answer(id) {
                    return Forward::Instead(notification);
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

    /// Records that the daemon hangs. Must be called before [`Shim::on_disconnect`], which then answers all waiting
    /// requests.
    pub fn on_hang(&mut self) {
        let name = &self.project;
        let seconds = self.patience().silence.as_secs();
        self.refusal = Some(Refusal {
            code: "unavailable".to_string(),
            message: format!(
                "the daemon for `{name}` does not answer: it sent nothing for {seconds} s, nor reacted to a \
                 second connection"
            ),
            hint: Some(format!(
                "`{}`; after a call that writes, check whether it was carried out",
                ProjectFlags::named(name).command("kgctl restart")
            )),
        });
        self.n_silent = 0;
        self.is_hung = true;
    }

    /// Records that the daemon is gone. Returns the errors for requests in flight. A handshake in flight is kept,
    /// because it can be replayed without the client noticing, and so are requests that the daemon never read.
    pub fn on_disconnect(&mut self) -> Vec<Vec<u8>> {
        self.connected = false;
        self.replayed = None;
        self.asked.clear();
        self.subscriptions.on_disconnect();
        if let Some(refusal) = self.refusal.clone() {
            return self.refuse_all(&refusal);
        }
        let is_kept = |id: &String| self.initialize.iter().chain(&self.held).any(|it| it.id == *id);
        let mut lost: Vec<_> = self.in_flight.extract_if(|id| !is_kept(id)).collect();
        lost.iter().for_each(|id| {
            self.listening.remove(id);
        });
        lost.sort_unstable();
        let hint = "call again: the daemon starts when needed; after a call that writes, first check whether it \
                    was carried out";
        lost.iter().map(|id| unavailable(id, RESTARTED, hint)).collect()
    }

    /// Answers all waiting requests: asking the same daemon again would be useless.
    fn refuse_all(&mut self, refusal: &Refusal) -> Vec<Vec<u8>> {
        if self.is_opening() {
            self.initialize = None;
        }
        self.held.clear();
        let mut waiting: Vec<_> = self.in_flight.drain().collect();
        waiting.sort_unstable();
        waiting.iter().map(|id| refused(id, refusal)).collect()
    }

    /// Returns the answer to a line that came after the daemon had refused us, and before we noticed.
    pub fn on_late_line(&self, kind: &Kind) -> Option<Vec<u8>> {
        match (kind, &self.refusal) {
            (Kind::Initialize(id) | Kind::Request(id), Some(refusal)) => Some(refused(id, refusal)),
            (Kind::Unreadable, Some(refusal)) => Some(refused("null", refusal)),
            _ => None,
        }
    }

    /// Returns the error for a line when no daemon is available, unless the line needs no answer.
    pub fn on_refusal(&mut self, kind: &Kind, why: &str) -> Option<Vec<u8>> {
        let doctor = ProjectFlags::named(&self.project).in_text("see `kgctl doctor`").into_owned();
        let (message, hint) = why.split_once("\nhint: ").unwrap_or((why, &doctor));
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

    /// Returns what waits for the next daemon: the handshake in flight, and held requests.
    pub fn waiting(&self) -> Vec<Kind> {
        let opening = self.initialize.as_ref().filter(|_| self.is_opening());
        let opening = opening.map(|it| Kind::Initialize(it.id.clone()));
        opening.into_iter().chain(self.held.iter().map(|it| Kind::Request(it.id.clone()))).collect()
    }

    /// Returns the pause before the next connection: a daemon that closed the connection silently
    /// may still be shutting down, and would take the next connection, too.
    pub fn pause(&self) -> Duration {
        if self.connected || self.n_silent == 0 { Duration::ZERO } else { PAUSE * self.n_silent }
    }
}

/// Answers a line that is longer than [`MAX_LINE_BYTES`]; `id` as JSON, if it could be read.
pub fn too_long(id: Option<&str>) -> Vec<u8> {
    let message = format!("the message is longer than {MAX_LINE_BYTES} bytes");
    let hint = "use paths of files instead of their text";
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
    // The id is returned verbatim; converting it to a number type might change it.
    format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#).into_bytes()
}

#[cfg(test)]
mod tests;
