//! The pump: moves lines between a client's pipes and the daemon's socket.
//!
//! In: the client's input and output, and a way to reach the daemon. Out: nothing; it ends with the client.
//! Invariants: three threads and no async runtime, so that the process stays under 5 MiB; each
//! direction blocks on its own, so a slow side slows only the other end of its own direction; lines
//! are never interleaved; a hanging daemon is given up (`shim/watch.rs`), a daemon that works for a
//! long time is not.

use std::io::{self, BufReader, ErrorKind, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use super::line::{Line, read};
use super::watch::Watched;
use super::{Forward, Kind, MAX_LINE_BYTES, Shim, too_long};

/// How long answers in flight may still arrive after the client closed its end.
const LINGER: Duration = Duration::from_secs(2);

/// Stack of a thread that only copies lines, in bytes.
const STACK_BYTES: usize = 256 << 10;

/// Longest line accepted from the daemon, in bytes: the limit of `kgctl`'s own transport.
const MAX_ANSWER_BYTES: usize = 16 << 20;

enum Event {
    FromClient(Line),
    /// The daemon closed the connection.
    DaemonGone,
    /// Nothing is in flight anymore.
    Drained,
}

/// The state that both directions share.
struct Shared<W> {
    shim: Mutex<Shim>,
    output: Mutex<W>,
}

impl<W: Write> Shared<W> {
    fn shim(&self) -> MutexGuard<'_, Shim> {
        // A thread that panicked left a state that is at worst stale; continuing beats hanging the client.
        self.shim.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_connected(&self) -> bool {
        self.shim().is_connected()
    }

    /// Returns whether a daemon is connected and owes answers to the client.
    fn awaits_answers(&self) -> bool {
        let shim = self.shim();
        shim.is_connected() && shim.is_waiting()
    }

    fn send_to_client(&self, line: &[u8]) -> io::Result<()> {
        let mut output = self.output.lock().unwrap_or_else(PoisonError::into_inner);
        send(&mut *output, line)
    }
}

/// Writes one line and its line break in one call.
fn send(to: &mut impl Write, line: &[u8]) -> io::Result<()> {
    let mut whole = Vec::with_capacity(line.len() + 1);
    whole.extend_from_slice(line);
    whole.push(b'\n');
    to.write_all(&whole)?;
    to.flush()
}

/// One connection to the daemon, and the thread that reads from it.
struct Connection {
    stream: UnixStream,
    reader: JoinHandle<()>,
}

impl Connection {
    fn close(self) {
        let _ = self.stream.shutdown(Shutdown::Both);
        let _ = self.reader.join();
    }
}

/// Pumps lines until the client closes `input`. `dial` connects to the daemon, starting it if none runs; its error is a
/// message, with a hint after `\nhint: `.
///
/// # Errors
/// Only when a thread cannot be started.
pub fn run<R, W>(
    shim: Shim,
    input: R,
    output: W,
    dial: impl FnMut() -> Result<UnixStream, String>,
) -> io::Result<()>
where
    R: Read + Send + 'static,
    W: Write + Send + 'static,
{
    let shared = Arc::new(Shared { shim: Mutex::new(shim), output: Mutex::new(output) });
    let (events, inbox) = channel();
    // At most one line ahead: a client that floods us is slowed by its own pipe.
    let (turn, turns) = std::sync::mpsc::sync_channel(1);
    let from_client = events.clone();
    spawn("from client", move || read_client(input, &from_client, &turns))?;
    let mut pump = Pump { shared, dial, events, inbox, turn, connection: None };
    pump.run()
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<JoinHandle<()>> {
    Builder::new().name(name.to_string()).stack_size(STACK_BYTES).spawn(work)
}

fn read_client(input: impl Read, events: &Sender<Event>, turns: &Receiver<()>) {
    let mut input = BufReader::new(input);
    loop {
        let line = read(&mut input, MAX_LINE_BYTES).unwrap_or(Line::End);
        let ended = line == Line::End;
        if events.send(Event::FromClient(line)).is_err() || ended || turns.recv().is_err() {
            return;
        }
    }
}

struct Pump<W, D> {
    shared: Arc<Shared<W>>,
    dial: D,
    events: Sender<Event>,
    inbox: Receiver<Event>,
    turn: SyncSender<()>,
    connection: Option<Connection>,
}

impl<W, D> Pump<W, D>
where
    W: Write + Send + 'static,
    D: FnMut() -> Result<UnixStream, String>,
{
    fn run(&mut self) -> io::Result<()> {
        while let Ok(event) = self.inbox.recv() {
            let sent = match event {
                Event::FromClient(Line::End) => break,
                Event::FromClient(Line::TooLong(id)) => {
                    self.shared.send_to_client(&too_long(id.as_deref()))
                }
                Event::FromClient(Line::Whole(line)) => self.forward(&line),
                Event::DaemonGone => self.resume(),
                Event::Drained => Ok(()),
            };
            if sent.is_err() {
                // Nobody reads our answers.
                break;
            }
            let _ = self.turn.try_send(());
        }
        self.drain();
        if let Some(connection) = self.connection.take() {
            connection.close();
        }
        Ok(())
    }

    /// Sends a client's line to the daemon, connecting first if necessary. Fails when the client is gone.
    fn forward(&mut self, line: &[u8]) -> io::Result<()> {
        let kind = Kind::of(line);
        let needs_daemon =
            matches!(kind, Kind::Initialize(_) | Kind::Request(_) | Kind::Unreadable);
        loop {
            if needs_daemon
                && !self.shared.is_connected()
                && let Err(why) = self.connect(Some(&kind))
            {
                return self.refuse(&kind, &why);
            }
            // Recorded before it is sent, and only while connected: then either the daemon answers,
            // or the reader does when the connection ends.
            let verdict = self.shared.shim().on_client_line(&kind, line);
            match (verdict, &mut self.connection) {
                (Forward::Pass, Some(connection)) => {
                    if send(&mut connection.stream, line).is_err() {
                        self.hang_up();
                    }
                    return Ok(());
                }
                // The daemon ended between our check and the record. If it refused us, the next one
                // will, too.
                (Forward::Swallow, _) if needs_daemon => {
                    let refusal = self.shared.shim().on_late_line(&kind);
                    if let Some(refusal) = refusal {
                        return self.shared.send_to_client(&refusal);
                    }
                }
                _ => return Ok(()),
            }
        }
    }

    fn refuse(&self, kind: &Kind, why: &str) -> io::Result<()> {
        let refusal = self.shared.shim().on_refusal(kind, why);
        refusal.map_or(Ok(()), |refusal| self.shared.send_to_client(&refusal))
    }

    /// Connects and replays the handshake.
    fn connect(&mut self, first: Option<&Kind>) -> Result<(), String> {
        self.hang_up();
        if self.shared.shim().gives_up() {
            return Err("the daemon keeps stopping".to_string());
        }
        let pause = self.shared.shim().pause();
        std::thread::sleep(pause);
        let stream = (self.dial)()?;
        let opening = self.shared.shim().on_connect(first);
        let reader = stream.try_clone().and_then(|stream| {
            let (shared, events) = (Arc::clone(&self.shared), self.events.clone());
            let patience = self.shared.shim().patience();
            let debtor = Arc::clone(&self.shared);
            let watched = Watched::new(stream, patience, move || debtor.awaits_answers())?;
            spawn("from daemon", move || read_daemon(watched, &shared, &events))
        });
        let reader = reader.map_err(|error| {
            self.shared.shim().on_disconnect();
            error.to_string()
        })?;
        let connection = self.connection.insert(Connection { stream, reader });
        // If this fails, the connection is broken, which the reader notices, too.
        let _ = opening.iter().try_for_each(|line| send(&mut connection.stream, line));
        Ok(())
    }

    /// Disconnects; after this the reader has answered all requests in flight.
    fn hang_up(&mut self) {
        if let Some(connection) = self.connection.take() {
            connection.close();
        }
    }

    /// Handles the end of the daemon. Usually the next request reconnects. But a client that waits
    /// for its handshake sends none, and a request that no daemon has read must reach the next one.
    fn resume(&mut self) -> io::Result<()> {
        let waiting = self.shared.shim().waiting();
        if waiting.is_empty() || self.shared.is_connected() {
            return Ok(());
        }
        match self.connect(None) {
            Ok(()) => Ok(()),
            Err(why) => waiting.iter().try_for_each(|kind| self.refuse(kind, &why)),
        }
    }

    /// Waits for answers in flight.
    fn drain(&mut self) {
        let deadline = Instant::now() + LINGER;
        while self.shared.shim().is_waiting() {
            let left = deadline.saturating_duration_since(Instant::now());
            let sent = match self.inbox.recv_timeout(left) {
                Ok(Event::DaemonGone) => self.resume(),
                Ok(Event::FromClient(_) | Event::Drained) => Ok(()),
                Err(_) => return,
            };
            if sent.is_err() {
                return;
            }
        }
    }
}

fn read_daemon<W: Write>(
    stream: Watched<impl Fn() -> bool>,
    shared: &Shared<W>,
    events: &Sender<Event>,
) {
    let mut from = BufReader::new(stream);
    loop {
        let line = match read(&mut from, MAX_ANSWER_BYTES) {
            Ok(Line::Whole(line)) => line,
            Err(error) if error.kind() == ErrorKind::TimedOut => {
                shared.shim().on_hang();
                // A send may be blocked, too.
                from.get_ref().hang_up();
                break;
            }
            _ => break,
        };
        let kind = Kind::of(&line);
        let verdict = shared.shim().on_server_line(&kind);
        let sent = match verdict {
            Forward::Pass => shared.send_to_client(&line),
            Forward::Instead(other) => shared.send_to_client(&other),
            Forward::Swallow => Ok(()),
        };
        if sent.is_err() {
            let _ = events.send(Event::FromClient(Line::End));
            break;
        }
        if !shared.awaits_answers() {
            let _ = events.send(Event::Drained);
        }
    }
    let lost = shared.shim().on_disconnect();
    let sent = lost.iter().try_for_each(|line| shared.send_to_client(line));
    let _ =
        events.send(if sent.is_ok() { Event::DaemonGone } else { Event::FromClient(Line::End) });
}

#[cfg(test)]
mod tests;
