//! Pool: assigns documents to worker processes, and starts and ends these.
//!
//! In: documents, from any number of threads. Out: the same as parsing them in this process would return, or their
//! fault.
//! Invariants: a bounded number of processes for the bulk lane, and one more reserved for the interactive lane, so
//! that a save never waits for a bulk document. (Killing the bulk parse instead would repeat its work at each save,
//! and a process cannot lower its nice value.) A process that broke a rule is not used again; if one is killed from
//! outside, the document is retried. Processes end when they are idle for long, and with the pool. A separate thread
//! starts them, because the kernel kills a worker when the thread that started it ends.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::check::{self, Bounds};
use super::message::{Job, Opening, Reply, decode};
use super::process::{Failure, Process, TimeBudget};
use super::restrict::Sandbox;
use crate::FormatLimits;
use model::DocFault;
use model::document::Parsed;
use model::terms::Lane;
use sys::crew;

/// Most workers for the bulk lane if the settings do not say; more gain nothing, since one thread writes.
const MOST_BY_DEFAULT: usize = 8;

/// Documents after which a worker is ended, and with it whatever one of them did to it. A start takes milliseconds.
const MAX_DOCUMENTS: u32 = 500;

/// Resident memory above which a worker is ended after a document, in bytes.
const MAX_RESIDENT_BYTES: u64 = 64 << 20;

/// How often a document is tried when its worker is killed from outside.
const MAX_TRIES: u32 = 3;

/// Longest reply relative to the longest text; the rest is places of blocks, marks and links.
const REPLY_PER_TEXT: usize = 4;

/// Room in a reply for everything else, in bytes.
const REPLY_BASE_BYTES: usize = 1 << 20;

/// Longest reason accepted from a worker, in characters.
const MAX_REASON_CHARS: usize = 300;

/// The worker processes.
pub struct Workers {
    shared: Arc<Shared>,
    starter: Mutex<Sender<Start>>,
}

/// A document to parse.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// The stage that asks, for faults.
    pub stage: &'static str,
    /// The lane of the document.
    pub lane: Lane,
    /// Selects the format: lowercase, without dot.
    pub extension: &'a str,
    /// What the format reads.
    pub source: &'a [u8],
    /// True when `source` is text, to which the reply's map leads back.
    pub is_text: bool,
    /// Limits of the format.
    pub limits: FormatLimits,
}

/// The pool at one moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WorkersNow {
    /// Number of running processes.
    pub n_running: u64,
    /// Number of processes with a document.
    pub n_busy: u64,
    /// Most processes that may run, including the one for the interactive lane.
    pub n_most: u64,
    /// Number of processes started since the daemon started.
    pub n_started: u64,
    /// Number of documents that ended their worker.
    pub n_failed: u64,
    /// Resident memory of the idle processes, in bytes.
    pub idle_bytes: u64,
    /// The protections of the workers, once one has been started.
    pub sandbox: Option<Sandbox>,
}

struct Shared {
    settings: config::settings::Worker,
    n_bulk: usize,
    /// Number of documents that may still misbehave on request; 0 outside of tests.
    n_obeyed: AtomicU64,
    state: Mutex<PoolState>,
    freed: Condvar,
}

#[derive(Default)]
struct PoolState {
    interactive: Team,
    bulk: Team,
    n_started: u64,
    n_failed: u64,
    sandbox: Option<Sandbox>,
}

/// The workers of one lane.
#[derive(Default)]
struct Team {
    idle: Vec<Process>,
    /// Turns in use; some still wait for their process to start.
    n_out: usize,
    /// Processes with a document.
    n_busy: usize,
}

/// An order to the starting thread.
struct Start {
    niceness: i32,
    reply: Sender<io::Result<Process>>,
}

impl Workers {
    /// Makes a pool with one process; more are started when there is work.
    ///
    /// # Errors
    /// If the system cannot start a thread.
    pub fn new(settings: &config::settings::Worker) -> io::Result<Arc<Workers>> {
        let n_cores = std::thread::available_parallelism().map_or(1, usize::from);
        let n_bulk = match usize::try_from(settings.processes).unwrap_or(usize::MAX) {
            0 => n_cores.clamp(1, MOST_BY_DEFAULT),
            n => n,
        };
        let shared = Arc::new(Shared {
            settings: settings.clone(),
            n_bulk,
            n_obeyed: AtomicU64::new(sys::fail::number("worker.obeys").unwrap_or(0)),
            state: Mutex::default(),
            freed: Condvar::new(),
        });
        let (starter, orders) = channel();
        let own = shared.clone();
        let thread = std::thread::Builder::new().name("kgd-workers".into());
        thread.spawn(move || own.keep(&orders))?;
        Ok(Arc::new(Workers { shared, starter: Mutex::new(starter) }))
    }

    /// Returns the number of bulk documents that can be parsed in parallel.
    pub fn n_bulk(&self) -> usize {
        self.shared.n_bulk
    }

    /// Returns the current state of the pool.
    pub fn now(&self) -> WorkersNow {
        let state = self.shared.lock();
        let teams = [&state.interactive, &state.bulk];
        let n_busy: usize = teams.iter().map(|team| team.n_busy).sum();
        let n_idle: usize = teams.iter().map(|team| team.idle.len()).sum();
        WorkersNow {
            n_running: (n_busy + n_idle) as u64,
            n_busy: n_busy as u64,
            n_most: self.shared.n_bulk as u64 + 1,
            n_started: state.n_started,
            n_failed: state.n_failed,
            idle_bytes: teams.iter().flat_map(|team| &team.idle).map(Process::resident_bytes).sum(),
            sandbox: state.sandbox.clone(),
        }
    }

    /// Parses a document in a worker. Blocks until one is free and has replied.
    ///
    /// # Errors
    /// A lasting fault if the document is to blame; a transient one if parsing was slow or no worker could be used.
    pub fn read(&self, request: &Request<'_>) -> Result<Parsed, DocFault> {
        let mut last = String::new();
        for _ in 0..MAX_TRIES {
            let mut turn = self.shared.turn(request.lane);
            let job = self.shared.job(request);
            let budget = self.shared.budget();
            let max_memory_bytes = self.shared.settings.max_memory_bytes;
            // A failed start is retried like a worker killed from outside.
            let asked = self.worker(&mut turn).map_err(|error| error.to_string());
            let asked = asked.map_err(Failure::Outside);
            let asked = asked.and_then(|it| it.ask(&job, request.source, budget, max_memory_bytes));
            match asked {
                Ok(reply) => {
                    let judged = judge(&reply, request);
                    turn.end(judged.is_reusable);
                    return judged.outcome.map_err(|it| DocFault::lasting(request.stage, it));
                }
                // The document did it, so a retry would do it again.
                Err(Failure::Document(reason)) => {
                    turn.end(false);
                    return Err(DocFault::lasting(request.stage, reason));
                }
                // The time limit passed without much use of the processor: the machine is busy, so try again later,
                // not now.
                Err(Failure::Slow(reason)) => {
                    turn.end(false);
                    return Err(DocFault::transient(request.stage, reason));
                }
                Err(Failure::Outside(why)) => {
                    turn.end(false);
                    last = why;
                }
            }
        }
        Err(DocFault::transient(request.stage, format!("no worker could parse it: {last}")))
    }

    /// Returns the worker of this turn: an idle one, or a new one.
    fn worker<'a>(&self, turn: &'a mut Turn<'_>) -> io::Result<&'a mut Process> {
        let lane = turn.lane;
        if turn.process.is_none() {
            turn.process = Some(self.start(lane)?);
        }
        self.shared.lock().team(lane).n_busy += 1;
        turn.process.as_mut().ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn start(&self, lane: Lane) -> io::Result<Process> {
        let niceness = match lane {
            Lane::Interactive => 0,
            Lane::Bulk => crew::NICENESS,
        };
        let (reply, answer) = channel();
        let ended = || io::Error::other("the daemon is ending");
        // Clone the sender, so that the lock is not held while the process starts.
        let starter = self.starter.lock().unwrap_or_else(PoisonError::into_inner).clone();
        starter.send(Start { niceness, reply }).map_err(|_| ended())?;
        let process = answer.recv().map_err(|_| ended())??;
        let mut state = self.shared.lock();
        state.n_started += 1;
        state.sandbox = Some(process.sandbox.clone());
        Ok(process)
    }
}

impl std::fmt::Debug for Workers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Workers({})", self.shared.n_bulk)
    }
}

/// The result of checking a reply.
struct Judged {
    outcome: Result<Parsed, String>,
    is_reusable: bool,
}

fn judge(reply: &[u8], request: &Request<'_>) -> Judged {
    let bounds = Bounds {
        max_text_bytes: request.limits.max_output_bytes,
        source_bytes: request.is_text.then_some(request.source.len()),
    };
    let (outcome, is_reusable) = match decode::<Reply>(reply) {
        // A worker is only used again if its reply was valid and it did not panic.
        Some(Reply::Parsed(wire)) => match check::sound(*wire, bounds) {
            Ok(parsed) => (Ok(parsed), true),
            Err(why) => (Err(format!("the parser's reply cannot be used: {why}")), false),
        },
        Some(Reply::Refused(reason)) => (Err(line(&reason)), true),
        Some(Reply::Panicked(place)) => {
            (Err(format!("the parser panicked at {}", line(&place))), false)
        }
        Some(Reply::TooLarge) => {
            let megabytes = max_reply_bytes(&request.limits).div_ceil(1_000_000);
            (Err(format!("the parser's output is larger than {megabytes} MB")), true)
        }
        Some(Reply::Ready(_)) | None => (Err("the parser's reply is not a document".into()), false),
    };
    Judged { outcome, is_reusable }
}

/// Returns one line of bounded length, without control characters.
fn line(text: &str) -> String {
    let printable = |c: char| if c.is_control() { ' ' } else { c };
    text.chars().take(MAX_REASON_CHARS).map(printable).collect()
}

fn max_reply_bytes(limits: &FormatLimits) -> usize {
    limits.max_output_bytes.saturating_mul(REPLY_PER_TEXT).saturating_add(REPLY_BASE_BYTES)
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, PoolState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn job(&self, request: &Request<'_>) -> Job {
        // A frame states its length in 4 bytes.
        let max_reply_bytes = max_reply_bytes(&request.limits).min(i32::MAX as usize);
        Job {
            extension: request.extension.to_string(),
            n_bytes: request.source.len() as u64,
            max_output_bytes: request.limits.max_output_bytes as u64,
            max_nesting: request.limits.max_nesting as u64,
            max_reply_bytes: max_reply_bytes as u64,
            obeys: self.obeys(),
        }
    }

    fn obeys(&self) -> bool {
        // Counts down to 0; an error means that none are left.
        let less = |n: u64| n.checked_sub(1);
        self.n_obeyed.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).is_ok()
    }

    fn budget(&self) -> TimeBudget {
        TimeBudget {
            cpu: Duration::from_secs(self.settings.max_cpu_seconds),
            wall: Duration::from_secs(self.settings.max_seconds),
        }
    }

    /// Waits until the lane may use another worker.
    fn turn(&self, lane: Lane) -> Turn<'_> {
        let most = match lane {
            Lane::Interactive => 1,
            Lane::Bulk => self.n_bulk,
        };
        let state = self.lock();
        let is_full = |state: &mut PoolState| state.team(lane).n_out >= most;
        let mut state =
            self.freed.wait_while(state, is_full).unwrap_or_else(PoisonError::into_inner);
        // Counted under the same lock as the check above.
        let team = state.team(lane);
        team.n_out += 1;
        Turn { shared: self, lane, process: team.idle.pop(), is_reusable: false }
    }

    /// Starts the worker for the interactive lane, so that `status` shows its protections from the start.
    fn start_first(&self) {
        match Process::start(&self.opening(0)) {
            Ok(process) => {
                tracing::info!(sandbox = %process.sandbox, "documents are parsed in workers");
                let mut state = self.lock();
                state.n_started += 1;
                state.sandbox = Some(process.sandbox.clone());
                state.interactive.idle.push(process);
            }
            Err(error) => tracing::warn!(%error, "cannot start a parser process; retrying"),
        }
    }

    fn opening(&self, niceness: i32) -> Opening {
        Opening { max_memory_bytes: self.settings.max_memory_bytes, niceness }
    }

    /// Runs the starting thread: starts workers on request, and ends idle ones.
    fn keep(&self, orders: &Receiver<Start>) {
        self.start_first();
        let max_idle = Duration::from_secs(self.settings.idle_seconds);
        loop {
            // Without any process there is nothing to end, so wait without a timeout.
            let has_any = self.lock().has_any();
            let order = match has_any {
                true => orders.recv_timeout((max_idle / 2).max(Duration::from_millis(100))),
                false => orders.recv().map_err(|_| RecvTimeoutError::Disconnected),
            };
            match order {
                Ok(Start { niceness, reply }) => {
                    let _ = reply.send(Process::start(&self.opening(niceness)));
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            let now = Instant::now();
            // Ended outside the lock, because it takes a moment.
            let ended = self.lock().take_idle(|it| now.duration_since(it.idle_since) >= max_idle);
            drop(ended);
        }
    }
}

impl PoolState {
    fn team(&mut self, lane: Lane) -> &mut Team {
        match lane {
            Lane::Interactive => &mut self.interactive,
            Lane::Bulk => &mut self.bulk,
        }
    }

    /// True when a process is running or about to be started.
    fn has_any(&self) -> bool {
        [&self.interactive, &self.bulk].iter().any(|team| team.n_out > 0 || !team.idle.is_empty())
    }

    fn take_idle(&mut self, is_over: impl Fn(&Process) -> bool) -> Vec<Process> {
        let mut taken: Vec<Process> =
            self.interactive.idle.extract_if(.., |it| is_over(it)).collect();
        taken.extend(self.bulk.idle.extract_if(.., |it| is_over(it)));
        taken
    }
}

/// The right to use one worker of a lane; returned when dropped.
struct Turn<'a> {
    shared: &'a Shared,
    lane: Lane,
    process: Option<Process>,
    is_reusable: bool,
}

impl Turn<'_> {
    /// Ends the turn; keeps the worker if it can take another document.
    fn end(mut self, is_reusable: bool) {
        self.is_reusable = is_reusable;
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let is_good = |process: &Process| {
            self.is_reusable
                && process.n_documents < MAX_DOCUMENTS
                && process.resident_bytes() <= MAX_RESIDENT_BYTES
        };
        let had_process = self.process.is_some();
        let kept = self.process.take_if(|process| is_good(process));
        // End a worker that is not kept before its place becomes free, so that there are never more than allowed.
        let is_failed = !self.is_reusable && self.process.is_some();
        self.process = None;
        let mut state = self.shared.lock();
        state.n_failed += u64::from(is_failed);
        let team = state.team(self.lane);
        team.n_out -= 1;
        team.n_busy -= usize::from(had_process);
        team.idle.extend(kept);
        drop(state);
        self.shared.freed.notify_all();
    }
}
