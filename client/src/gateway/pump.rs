//! The gateway's pump: moves lines between a client's pipes and one shim per project.
//!
//! In: the client's input and output, and for each project a way to reach its daemon. Out: nothing; it ends with the
//! client. How: each project that is needed gets a shim with a pump of its own (`shim/pump.rs`), connected by channels;
//! a daemon that must be started, or does not answer, blocks only its own threads.
//! Invariants: only one thread writes to the client; it never waits for a project: lines that a project does not take
//! in time are refused; a client that does not read blocks everything, as intended.
//! Not here: routing (`gateway.rs`).

use std::collections::VecDeque;
use std::io::{self, BufReader, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::thread::Builder;
use std::time::{Duration, Instant};

use config::Project;
use serde_json::json;

use super::{Gateway, Out, line};
use crate::shim::line::{Line, read};
use crate::shim::{Kind, MAX_LINE_BYTES, Shim, pump, too_long};

/// How long answers in flight may still arrive after the client closed its end.
const LINGER: Duration = Duration::from_secs(2);

/// Most lines queued for one project, or for the gateway. A full queue means that the project does
/// not read.
const MAX_WAITING: usize = 64;

/// Stack of a thread that connects to a daemon, in bytes: it reads settings before starting one.
const STACK_BYTES: usize = 2 << 20;

/// Connects to a project's daemon, starting it if none runs; an error is a message, with a hint after `\nhint: `.
pub type Dial = Box<dyn FnMut() -> Result<UnixStream, String> + Send>;

/// A project that joins a session: whether its tools cannot write, and the way to it.
pub struct Newcomer {
    /// The project.
    pub project: Project,
    /// Whether its tools cannot write.
    pub is_read_only: bool,
    /// Its name, its shim, and how to connect to its daemon.
    pub way: (String, Shim, Dial),
}

/// Returns the projects that were registered since the last call.
pub type Newcomers = Box<dyn FnMut() -> Vec<Newcomer> + Send>;

enum Event {
    FromClient(Line),
    FromProject(usize, Vec<u8>),
}

/// The connection to one project.
struct Way {
    name: String,
    /// The parts of its pump until it is first needed.
    unopened: Option<(Shim, Dial)>,
    lines: Option<SyncSender<Vec<u8>>>,
}

impl Way {
    fn to((name, shim, dial): (String, Shim, Dial)) -> Way {
        Way { name, unopened: Some((shim, dial)), lines: None }
    }
}

/// Pumps lines until the client closes `input`. `projects` are those of the gateway, in its order, each with its name;
/// `newcomers` is asked before each line of the client, so that a project can be used right after it was made.
///
/// # Errors
/// Only when a thread cannot be started.
pub fn run<R, W>(
    gateway: Gateway,
    input: R,
    output: W,
    projects: Vec<(String, Shim, Dial)>,
    newcomers: Option<Newcomers>,
) -> io::Result<()>
where
    R: Read + Send + 'static,
    W: Write,
{
    let (events, inbox) = sync_channel(MAX_WAITING);
    let from_client = events.clone();
    let reader = Builder::new().name("from client".to_string());
    reader.spawn(move || read_client(input, &from_client))?;
    let ways = projects.into_iter().map(Way::to).collect();
    Pump { gateway, output, ways, newcomers, events, inbox }.run()
}

/// Pumps as [`run`] in a thread of its own; whoever has the returned end is the client.
///
/// # Errors
/// When the thread cannot be started.
pub fn spawn(gateway: Gateway, projects: Vec<(String, Shim, Dial)>) -> io::Result<UnixStream> {
    let (ours, theirs) = UnixStream::pair()?;
    let output = theirs.try_clone()?;
    // It ends with the other end.
    let thread = Builder::new().name("gateway".to_string()).stack_size(STACK_BYTES);
    thread.spawn(move || run(gateway, theirs, output, projects, None))?;
    Ok(ours)
}

fn read_client(input: impl Read, events: &SyncSender<Event>) {
    let mut input = BufReader::new(input);
    loop {
        let line = read(&mut input, MAX_LINE_BYTES).unwrap_or(Line::End);
        let ended = line == Line::End;
        if events.send(Event::FromClient(line)).is_err() || ended {
            return;
        }
    }
}

struct Pump<W> {
    gateway: Gateway,
    output: W,
    ways: Vec<Way>,
    newcomers: Option<Newcomers>,
    events: SyncSender<Event>,
    inbox: Receiver<Event>,
}

impl<W: Write> Pump<W> {
    fn run(mut self) -> io::Result<()> {
        let mut ends_at: Option<Instant> = None;
        loop {
            if ends_at.is_some() && !self.gateway.is_waiting() {
                return Ok(());
            }
            let next = self.gateway.deadline().into_iter().chain(ends_at).min();
            let event = match next {
                None => self.inbox.recv().map_err(|_| RecvTimeoutError::Disconnected),
                Some(at) => self.inbox.recv_timeout(at.saturating_duration_since(Instant::now())),
            };
            let now = Instant::now();
            let out = match event {
                Ok(Event::FromClient(Line::End)) => {
                    ends_at = Some(now + LINGER);
                    Vec::new()
                }
                Ok(Event::FromClient(Line::TooLong(id))) => {
                    vec![Out::Client(too_long(id.as_deref()))]
                }
                Ok(Event::FromClient(Line::Whole(line))) => {
                    self.welcome();
                    self.gateway.on_client_line(&line, now)
                }
                Ok(Event::FromProject(project, line)) => {
                    self.gateway.on_project_line(project, &line, now)
                }
                Err(RecvTimeoutError::Timeout) => self.gateway.on_time(now),
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
            };
            if self.carry_out(out, now).is_err() {
                // Nobody reads our answers.
                return Ok(());
            }
            if ends_at.is_some_and(|at| at <= now) {
                return Ok(());
            }
        }
    }

    /// Adds the projects that were registered meanwhile.
    fn welcome(&mut self) {
        for it in self.newcomers.as_mut().map(|more| more()).unwrap_or_default() {
            if self.gateway.add(&it.project, it.is_read_only) {
                self.ways.push(Way::to(it.way));
            }
        }
    }

    fn carry_out(&mut self, out: Vec<Out>, now: Instant) -> io::Result<()> {
        let mut out = VecDeque::from(out);
        while let Some(next) = out.pop_front() {
            match next {
                Out::Client(mut line) => {
                    line.push(b'\n');
                    self.output.write_all(&line)?;
                    self.output.flush()?;
                }
                Out::Project(project, line) => {
                    if let Err((id, why)) = self.send(project, line) {
                        let refusal = line::error(
                            &id,
                            &json!({
                                "code": -32_000, "message": why,
                                "data": { "code": "unavailable", "hint": "ask again later, or another project" },
                            }),
                        );
                        out.extend(self.gateway.on_project_line(project, &refusal, now));
                    }
                }
            }
        }
        Ok(())
    }

    /// Hands a line to the project's pump. If it is not taken and is a request, returns its id and the reason.
    fn send(&mut self, project: usize, line: Vec<u8>) -> Result<(), (String, String)> {
        let Some(way) = self.ways.get_mut(project) else { return Ok(()) };
        let refusal = |line: &[u8], why: String| match Kind::of(line) {
            Kind::Request(id) | Kind::Initialize(id) => Err((id, why)),
            _ => Ok(()),
        };
        if let Err(error) = way.open(project, &self.events) {
            return refusal(&line, format!("`{}` cannot be reached: {error}", way.name));
        }
        let Some(lines) = &way.lines else { return Ok(()) };
        match lines.try_send(line) {
            Ok(()) => Ok(()),
            Err(TrySendError::Full(line)) => {
                refusal(&line, format!("`{}` does not take any more requests", way.name))
            }
            Err(TrySendError::Disconnected(line)) => {
                refusal(&line, format!("`{}` can no longer be reached", way.name))
            }
        }
    }
}

impl Way {
    /// Starts the project's own pump, when it is first needed.
    fn open(&mut self, project: usize, events: &SyncSender<Event>) -> io::Result<()> {
        let Some((shim, dial)) = self.unopened.take() else { return Ok(()) };
        let (lines, inbox) = sync_channel(MAX_WAITING);
        let input = FromGateway { lines: inbox, line: VecDeque::new() };
        let output = ToGateway { project, events: events.clone(), line: Vec::new() };
        let thread = Builder::new().name(format!("project {project}")).stack_size(STACK_BYTES);
        // It ends with the channel, and so with us.
        thread.spawn(move || pump::run(shim, input, output, dial))?;
        self.lines = Some(lines);
        Ok(())
    }
}

/// The input of a project's pump.
struct FromGateway {
    lines: Receiver<Vec<u8>>,
    line: VecDeque<u8>,
}

impl Read for FromGateway {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.line.is_empty() {
            // The end of the channel is the end of the input.
            let Ok(line) = self.lines.recv() else { return Ok(0) };
            self.line = line.into();
            self.line.push_back(b'\n');
        }
        self.line.read(into)
    }
}

/// The output of a project's pump.
struct ToGateway {
    project: usize,
    events: SyncSender<Event>,
    line: Vec<u8>,
}

impl Write for ToGateway {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let end = bytes.iter().position(|byte| *byte == b'\n');
        self.line.extend_from_slice(bytes.get(..end.unwrap_or(bytes.len())).unwrap_or_default());
        let Some(end) = end else { return Ok(bytes.len()) };
        let line = std::mem::take(&mut self.line);
        let sent = self.events.send(Event::FromProject(self.project, line));
        sent.map_err(|_| io::Error::from(ErrorKind::BrokenPipe))?;
        Ok(end + 1)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests;
