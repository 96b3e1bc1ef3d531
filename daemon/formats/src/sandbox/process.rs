//! Process: one worker, seen from the daemon.
//!
//! In: documents, one at a time. Out: the result for each, and whether the worker can take another.
//! Invariants: no worker keeps the daemon waiting longer than the budget, or makes it hold more than the longest
//! reply; a worker that broke a rule is never used again; it ends with the daemon, and when dropped. Its standard
//! error is only searched for the two messages of Rust's runtime that explain an abort, because it may contain text
//! of a document.

#[cfg(target_os = "linux")]
use std::fs::File;
use std::io::{self, IoSlice, PipeReader, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use rustix::process::Signal;

use super::message::{HEAD_BYTES, Job, MAX_SMALL_BYTES, Opening, Reply, decode, encode};
use super::restrict::Sandbox;

/// How often the time limits of a worker are checked.
const WATCH_EVERY: Duration = Duration::from_millis(100);

/// Longest time from the start of a worker to its first reply; it usually takes milliseconds.
const START_WITHIN: Duration = Duration::from_secs(20);

/// Longest time from the end of a worker's socket to its exit.
const END_WITHIN: Duration = Duration::from_secs(2);

/// Bytes of standard error that are read.
const MAX_ERROR_BYTES: usize = 4096;

/// Writing to a worker that has ended is an error, not a signal; Rust's runtime ignores that signal as well.
#[cfg(target_os = "linux")]
const SENT: SendFlags = SendFlags::NOSIGNAL;
#[cfg(not(target_os = "linux"))]
const SENT: SendFlags = SendFlags::empty();

/// Size of the buffer for replies, in bytes.
const READ_BYTES: usize = 64 * 1024;

/// Time limits for one document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TimeBudget {
    /// Processor time.
    pub(super) cpu: Duration,
    /// Wall-clock time.
    pub(super) wall: Duration,
}

/// Why a worker did not reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Failure {
    /// The document caused it, and would do so again.
    Document(String),
    /// Wall-clock time ran out before processor time: the machine is more likely to blame than the document.
    Slow(String),
    /// Something else ended the worker, or prevented its start.
    Outside(String),
}

/// A running worker.
#[derive(Debug)]
pub(super) struct Process {
    child: Child,
    socket: UnixStream,
    errors: PipeReader,
    /// The protections that it reported.
    pub(super) sandbox: Sandbox,
    /// Number of documents that it was given.
    pub(super) n_documents: u32,
    /// When it finished the last one.
    pub(super) idle_since: Instant,
}

impl Process {
    /// Starts a worker and waits until it is confined. It is killed when the calling thread ends.
    pub(super) fn start(opening: &Opening) -> io::Result<Process> {
        let (socket, its_socket) = UnixStream::pair()?;
        socket.set_nonblocking(true)?;
        let (errors, its_errors) = io::pipe()?;
        // It may write more than anybody reads; it must not block then, nor may reading.
        rustix::fs::fcntl_setfl(&its_errors, OFlags::NONBLOCK)?;
        rustix::fs::fcntl_setfl(&errors, OFlags::NONBLOCK)?;
        let child = Command::new(sys::own_program()?)
            .arg0("kgd")
            .arg("--worker")
            .env_clear()
            .current_dir("/")
            .stdin(OwnedFd::from(its_socket))
            .stdout(Stdio::null())
            .stderr(its_errors)
            // Ctrl+C in the daemon's terminal must not reach it.
            .process_group(0)
            .spawn()?;
        let (sandbox, idle_since) = (Sandbox::default(), Instant::now());
        let mut process = Process { child, socket, errors, sandbox, n_documents: 0, idle_since };
        process.sandbox = process.open(opening)?;
        Ok(process)
    }

    fn open(&mut self, opening: &Opening) -> io::Result<Sandbox> {
        let message = encode(opening, MAX_SMALL_BYTES).map_err(|_| io::ErrorKind::InvalidData)?;
        self.send(&message, None)?;
        let budget = TimeBudget { cpu: START_WITHIN, wall: START_WITHIN };
        let reply = self.receive(MAX_SMALL_BYTES, budget).map_err(|silence| {
            io::Error::other(match self.verdict(silence, MAX_SMALL_BYTES, budget, 0) {
                Failure::Document(why) | Failure::Slow(why) | Failure::Outside(why) => why,
            })
        })?;
        match decode(&reply) {
            Some(Reply::Ready(sandbox)) => Ok(sandbox),
            _ => Err(io::Error::other("it did not say that it is ready")),
        }
    }

    /// Returns its process id.
    pub(super) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Returns the resident memory, in bytes; 0 where the system does not report it.
    pub(super) fn resident_bytes(&self) -> u64 {
        let statm = std::fs::read_to_string(format!("/proc/{}/statm", self.id()));
        // The second number of `statm` is the resident set, in pages.
        let pages = statm.ok().and_then(|words| words.split(' ').nth(1)?.parse::<u64>().ok());
        pages.unwrap_or(0) * rustix::param::page_size() as u64
    }

    /// Gives it a document and waits for the reply. After an error, the process has ended.
    pub(super) fn ask(
        &mut self,
        job: &Job,
        source: &[u8],
        budget: TimeBudget,
        max_memory_bytes: u64,
    ) -> Result<Vec<u8>, Failure> {
        self.n_documents += 1;
        let outside = |error: io::Error| Failure::Outside(error.to_string());
        let message = encode(job, MAX_SMALL_BYTES);
        let message = message.map_err(|_| Failure::Document("its extension is too long".into()))?;
        let max_bytes = usize::try_from(job.max_reply_bytes).unwrap_or(usize::MAX);
        let document = sealed(source).map_err(outside)?;
        // If sending fails, the worker has died; `verdict` finds out why.
        let sent = self.send(&message, Some(&document)).map_err(|_| Silence::Gone);
        drop(document);
        let reply = sent.and_then(|()| self.receive(max_bytes, budget));
        self.idle_since = Instant::now();
        reply.map_err(|silence| self.verdict(silence, max_bytes, budget, max_memory_bytes))
    }

    fn send(&self, message: &[u8], descriptor: Option<&OwnedFd>) -> io::Result<()> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        let descriptors = descriptor.map(AsFd::as_fd);
        if let Some(descriptor) = &descriptors {
            control.push(SendAncillaryMessage::ScmRights(std::slice::from_ref(descriptor)));
        }
        // Small, and nothing is queued before it: it is sent in one piece or not at all.
        let sent = sendmsg(&self.socket, &[IoSlice::new(message)], &mut control, SENT)?;
        if sent == message.len() { Ok(()) } else { Err(io::ErrorKind::WriteZero.into()) }
    }

    /// Receives the next message, without its length.
    fn receive(&self, max_bytes: usize, budget: TimeBudget) -> Result<Vec<u8>, Silence> {
        let (begin, cpu_before) = (Instant::now(), self.cpu_time());
        let mut received = Vec::new();
        let mut piece = vec![0; READ_BYTES];
        let mut wanted = HEAD_BYTES;
        loop {
            // Checked at every turn, so a worker that sends bytes without end is limited too.
            if begin.elapsed() >= budget.wall {
                return Err(Silence::Wall);
            }
            // Reading the processor time takes a system call, so short parses do without.
            if begin.elapsed() >= WATCH_EVERY
                && self.cpu_time().saturating_sub(cpu_before) >= budget.cpu
            {
                return Err(Silence::Cpu);
            }
            let left = budget.wall.saturating_sub(begin.elapsed());
            self.wait_for_bytes(left.min(WATCH_EVERY))?;
            match (&self.socket).read(&mut piece) {
                Ok(0) => return Err(Silence::Gone),
                Ok(n) => received.extend_from_slice(piece.get(..n).unwrap_or_default()),
                Err(error) if is_passing(&error) => continue,
                Err(_) => return Err(Silence::Gone),
            }
            // Checked before the message is complete, so that a worker cannot make the daemon hold more.
            if let Some(head) = received.first_chunk::<HEAD_BYTES>() {
                let length = u32::from_le_bytes(*head) as usize;
                if length > max_bytes {
                    return Err(Silence::TooMuch);
                }
                wanted = HEAD_BYTES + length;
            }
            // More than one message: the worker does not keep to the protocol.
            if received.len() > wanted {
                return Err(Silence::TooMuch);
            }
            if received.len() == wanted && wanted > HEAD_BYTES {
                return Ok(received.split_off(HEAD_BYTES));
            }
        }
    }

    /// Waits until there are bytes to read; a timeout is not an error.
    fn wait_for_bytes(&self, at_most: Duration) -> Result<(), Silence> {
        match wait_for(&self.socket, at_most) {
            Ok(_) => Ok(()),
            Err(error) if is_passing(&error) => Ok(()),
            Err(_) => Err(Silence::Gone),
        }
    }

    fn cpu_time(&self) -> Duration {
        sys::process_cpu_time(self.id())
    }

    /// Ends the worker, and returns why there was no reply.
    fn verdict(
        &mut self,
        silence: Silence,
        max_bytes: usize,
        budget: TimeBudget,
        max_memory_bytes: u64,
    ) -> Failure {
        let seconds = |limit: Duration| limit.as_secs_f32();
        let document = |why: String| Failure::Document(why);
        let why = match silence {
            Silence::Gone => {
                return match self.ended() {
                    Some(status) => self.death(status, max_memory_bytes),
                    // It closed its socket but did not exit.
                    None => document("the parser closed its socket".into()),
                };
            }
            Silence::Wall => {
                let why = format!("parsing took longer than {} s", seconds(budget.wall));
                self.end();
                return Failure::Slow(why);
            }
            Silence::Cpu => {
                format!("parsing took more than {} s of the processor", seconds(budget.cpu))
            }
            Silence::TooMuch => {
                format!("the parser's output is larger than {} MB", megabytes(max_bytes as u64))
            }
        };
        self.end();
        document(why)
    }

    /// Returns the exit status if it exits by itself soon; otherwise ends it.
    fn ended(&mut self) -> Option<ExitStatus> {
        self.wait_for_end();
        let status = self.child.try_wait().ok().flatten();
        if status.is_none() {
            self.end();
        }
        status
    }

    #[cfg(target_os = "linux")]
    fn wait_for_end(&mut self) {
        use rustix::process::{Pid, PidfdFlags, pidfd_open};

        let pid = i32::try_from(self.id()).ok().and_then(Pid::from_raw);
        if let Some(Ok(pidfd)) = pid.map(|pid| pidfd_open(pid, PidfdFlags::empty())) {
            let _ = wait_for(&pidfd, END_WITHIN);
        }
    }

    /// Polls for its end, because there is no descriptor of a process.
    #[cfg(not(target_os = "linux"))]
    fn wait_for_end(&mut self) {
        let begin = Instant::now();
        while begin.elapsed() < END_WITHIN && matches!(self.child.try_wait(), Ok(None)) {
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Returns what an exit that we did not cause says about the document.
    fn death(&mut self, status: ExitStatus, max_memory_bytes: u64) -> Failure {
        let Some(signal) = status.signal() else {
            let code = status.code().unwrap_or_default();
            return Failure::Document(format!("the parser ended with exit code {code}"));
        };
        let name = name_of(signal);
        if OUTSIDE.iter().any(|(number, _)| *number == signal) {
            return Failure::Outside(format!("the worker was killed from outside ({name})"));
        }
        // An abort looks the same for several reasons, so look for the runtime's message.
        let words = self.last_words();
        Failure::Document(if words.contains("memory allocation of ") {
            format!("parsing needed more than {} MB of memory", megabytes(max_memory_bytes))
        } else if words.contains("has overflowed its stack") {
            format!("the parser overflowed its stack ({name})")
        } else if signal == Signal::SYS.as_raw() {
            format!("the parser tried a system call that is forbidden to it ({name})")
        } else {
            format!("the parser crashed ({name})")
        })
    }

    fn last_words(&mut self) -> String {
        let mut bytes = vec![0; MAX_ERROR_BYTES];
        let n_bytes = self.errors.read(&mut bytes).unwrap_or(0);
        String::from_utf8_lossy(bytes.get(..n_bytes).unwrap_or_default()).into_owned()
    }

    fn end(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.end();
    }
}

/// Why there was no reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Silence {
    /// It closed its end, as it does when it dies.
    Gone,
    /// Wall-clock time ran out.
    Wall,
    /// Processor time ran out.
    Cpu,
    /// The reply is too long.
    TooMuch,
}

/// Signals by which others end a process; every other signal comes from the process itself.
const OUTSIDE: &[(i32, &str)] = &[
    (Signal::KILL.as_raw(), "SIGKILL"),
    (Signal::TERM.as_raw(), "SIGTERM"),
    (Signal::INT.as_raw(), "SIGINT"),
    (Signal::HUP.as_raw(), "SIGHUP"),
    (Signal::QUIT.as_raw(), "SIGQUIT"),
];

/// Signals of crashes.
const CRASHES: &[(i32, &str)] = &[
    (Signal::SEGV.as_raw(), "SIGSEGV"),
    (Signal::ABORT.as_raw(), "SIGABRT"),
    (Signal::BUS.as_raw(), "SIGBUS"),
    (Signal::ILL.as_raw(), "SIGILL"),
    (Signal::FPE.as_raw(), "SIGFPE"),
    (Signal::TRAP.as_raw(), "SIGTRAP"),
    (Signal::SYS.as_raw(), "SIGSYS"),
];

fn name_of(signal: i32) -> String {
    let known = OUTSIDE.iter().chain(CRASHES).find(|(number, _)| *number == signal);
    known.map_or_else(|| format!("signal {signal}"), |(_, name)| name.to_string())
}

fn megabytes(bytes: u64) -> u64 {
    bytes.div_ceil(1_000_000)
}

fn is_passing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::Interrupted | io::ErrorKind::WouldBlock)
}

/// Waits until there is something to read or the time is over.
fn wait_for(descriptor: &impl AsFd, at_most: Duration) -> io::Result<usize> {
    let timeout = Timespec {
        tv_sec: i64::try_from(at_most.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: at_most.subsec_nanos().into(),
    };
    Ok(poll(&mut [PollFd::new(descriptor, PollFlags::IN)], Some(&timeout))?)
}

/// Writes the bytes to an anonymous file that nobody can change any more.
#[cfg(target_os = "linux")]
fn sealed(source: &[u8]) -> io::Result<OwnedFd> {
    use rustix::fs::{MemfdFlags, SealFlags};

    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let mut file = File::from(rustix::fs::memfd_create(c"document", flags)?);
    file.write_all(source)?;
    let seals = SealFlags::SHRINK | SealFlags::GROW | SealFlags::WRITE | SealFlags::SEAL;
    rustix::fs::fcntl_add_seals(&file, seals)?;
    Ok(file.into())
}

/// Writes the bytes to an anonymous file. The worker could change it, but it is read once.
#[cfg(not(target_os = "linux"))]
fn sealed(source: &[u8]) -> io::Result<OwnedFd> {
    let mut file = sys::nameless_file(&std::env::temp_dir())?;
    file.write_all(source)?;
    Ok(file.into())
}
