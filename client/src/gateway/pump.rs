//! The gateway's pump: moves lines between a client's pipes and one shim per project.
//!
//! In: the client's input and output, and for each project a way to reach its daemon. Out: nothing; it ends with the
//! client. How: each project that is needed gets a shim with a pump of its own (`shim/pump.rs`), connected by channels;
//! a daemon that must be started, or does not answer, blocks only its own threads.
//! Invariants: only one thread writes to the client; it never waits for a project: lines that a project does not take
//! in time are refused; a client that does not read blocks everything, as intended.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::io::{self, BufReader, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::thread::Builder;
use std::time::{Duration, Instant};

use config::Project;
use serde_json::json;

use super::{Gateway, Out, Served, line};
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

/// Makes the way to a project: its shim, and how to connect to its daemon.
pub type Reach = Box<dyn Fn(&Project) -> (Shim, Dial) + Send>;

/// Says what a session serves now, if that may have changed since the last call.
pub type Roster = Box<dyn FnMut() -> Option<Served> + Send>;

enum Event {
    FromClient(Line),
    FromProject(usize, Vec<u8>),
}

/// Pumps lines until the client closes `input`. A project is reached when it is first needed. `roster` is asked before
/// each line, so that a project can be used right after it was made, and is not reached any more once it was removed.
///
/// # Errors
/// Only when a thread cannot be started.
pub fn run<R, W>(
    gateway: Gateway,
    input: R,
    output: W,
    reach: Reach,
    roster: Option<Roster>,
) -> io::Result<()>
where
    R: Read + Send + 'static,
    W: Write,
{
    let (events, inbox) = sync_channel(MAX_WAITING);
    let from_client = events.clone();
    let reader = Builder::new().name("from client".to_string());
    reader.spawn(move || read_client(input, &from_client))?;
    Pump { gateway, output, reach, ways: HashMap::new(), roster, events, inbox }.run()
}

/// Pumps as [`run`] in a thread of its own; whoever has the returned end is the client.
///
/// # Errors
/// When the thread cannot be started.
pub fn spawn(gateway: Gateway, reach: Reach, roster: Option<Roster>) -> io::Result<UnixStream> {
    let (ours, theirs) = UnixStream::pair()?;
    let output = theirs.try_clone()?;
    // It ends with the other end.
    let thread = Builder::new().name("gateway".to_string()).stack_size(STACK_BYTES);
    thread.spawn(move || run(gateway, theirs, output, reach, roster))?;
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
    reach: Reach,
    /// The lines to the pump of each project that was needed.
    ways: HashMap<usize, SyncSender<Vec<u8>>>,
    roster: Option<Roster>,
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
            let mut out = self.follow(now);
            out.extend(match event {
                Ok(Event::FromClient(Line::End)) => {
                    ends_at = Some(now + LINGER);
                    Vec::new()
                }
                Ok(Event::FromClient(Line::TooLong(id))) => {
                    vec![Out::Client(too_long(id.as_deref()))]
                }
                Ok(Event::FromClient(Line::Whole(line))) => self.gateway.on_client_line(&line, now),
                Ok(Event::FromProject(project, line)) => {
                    self.gateway.on_project_line(project, &line, now)
                }
                Err(RecvTimeoutError::Timeout) => self.gateway.on_time(now),
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
            });
            if self.carry_out(out, now).is_err() {
                // Nobody reads our answers.
                return Ok(());
            }
            if ends_at.is_some_and(|at| at <= now) {
                return Ok(());
            }
        }
    }

    /// Adds the projects that were registered meanwhile, and lets go of those that were removed.
    fn follow(&mut self, now: Instant) -> Vec<Out> {
        let Some(served) = self.roster.as_mut().and_then(|it| it()) else { return Vec::new() };
        let (gone, out) = self.gateway.follow(&served, now);
        // Their pumps end with their channels.
        self.ways.retain(|project, _| !gone.contains(project));
        out
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
    fn send(&mut self, idx: usize, line: Vec<u8>) -> Result<(), (String, String)> {
        // What is not served any more was answered already.
        let Some(project) = self.gateway.project(idx) else { return Ok(()) };
        let name = &project.name;
        let refusal = |line: &[u8], why: String| match Kind::of(line) {
            Kind::Request(id) | Kind::Initialize(id) => Err((id, why)),
            _ => Ok(()),
        };
        let lines = match self.ways.entry(idx) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(place) => match open(idx, (self.reach)(project), &self.events) {
                Ok(lines) => place.insert(lines),
                Err(error) => {
                    return refusal(&line, format!("`{name}` cannot be reached: {error}"));
                }
            },
        };
        match lines.try_send(line) {
            Ok(()) => Ok(()),
            Err(TrySendError::Full(line)) => {
                refusal(&line, format!("`{name}` does not take any more requests"))
            }
            Err(TrySendError::Disconnected(line)) => {
                refusal(&line, format!("`{name}` can no longer be reached"))
            }
        }
    }
}

/// Starts the project's own pump.
fn open(
    project: usize,
    reached: (Shim, Dial),
    events: &SyncSender<Event>,
) -> io::Result<SyncSender<Vec<u8>>> {
    let (shim, dial) = reached;
    let (lines, inbox) = sync_channel(MAX_WAITING);
    let input = FromGateway { lines: inbox, line: VecDeque::new() };
    let output = ToGateway { project, events: events.clone(), line: Vec::new() };
    let thread = Builder::new().name(format!("project {project}")).stack_size(STACK_BYTES);
    // It ends with the channel, and so with us.
    thread.spawn(move || pump::run(shim, input, output, dial))?;
    Ok(lines)
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
