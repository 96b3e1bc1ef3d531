//! Watch: distinguishes a hanging daemon from one that takes a long time.
//!
//! In: a connection, and whether the daemon owes an answer. Out: its bytes; an error of kind `TimedOut` once it hangs.
//! Rule: a daemon that owes an answer and is silent for some time is probed over a second
//! connection. It hangs if it neither answers there, nor closes the connection, nor refuses it. So
//! a call may take any time, and the daemon need not report progress.

use std::io::{self, ErrorKind, Read, Write};
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use proto::PREAMBLE_VERSION;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketType, connect};

/// Pause between attempts to connect to a daemon whose queue of connections is full.
const POLL: Duration = Duration::from_millis(50);

/// How long a daemon may be silent.
#[derive(Debug, Clone, Copy)]
pub struct Patience {
    /// While it owes an answer, before it is probed; up to twice as long if the call came in between.
    pub silence: Duration,
    /// For the answer to a probe.
    pub sign: Duration,
}

impl Patience {
    /// For a daemon without known problems.
    pub const USUAL: Patience =
        Patience { silence: Duration::from_secs(10), sign: Duration::from_secs(10) };

    /// Returns the patience for a daemon that just hung.
    pub(super) fn shortened(self) -> Self {
        Patience { silence: self.silence / 10, sign: self.sign / 5 }
    }
}

/// A reader of a connection to a daemon.
pub(super) struct Watched<F> {
    stream: UnixStream,
    /// The daemon's socket; a connection without a path cannot be probed.
    socket: Option<PathBuf>,
    patience: Patience,
    owes_answer: F,
    /// Whether it owed an answer at the last check and has been silent since.
    is_suspect: bool,
}

impl<F: Fn() -> bool> Watched<F> {
    pub(super) fn new(stream: UnixStream, patience: Patience, owes_answer: F) -> io::Result<Self> {
        stream.set_read_timeout(Some(patience.silence))?;
        let socket = stream.peer_addr()?.as_pathname().map(Path::to_path_buf);
        Ok(Watched { stream, socket, patience, owes_answer, is_suspect: false })
    }

    pub(super) fn hang_up(&self) {
        let _ = self.stream.shutdown(Shutdown::Both);
    }

    fn hangs(&mut self) -> bool {
        let owes_answer = (self.owes_answer)();
        if !std::mem::replace(&mut self.is_suspect, owes_answer) || !owes_answer {
            return false;
        }
        self.socket
            .as_ref()
            .is_some_and(|socket| !gives_sign(socket, &self.stream, self.patience.sign))
    }
}

impl<F: Fn() -> bool> Read for Watched<F> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.stream.read(into) {
                Err(error) if is_late(&error) => {
                    if self.hangs() {
                        return Err(ErrorKind::TimedOut.into());
                    }
                }
                read => {
                    self.is_suspect = false;
                    return read;
                }
            }
        }
    }
}

fn is_late(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
}

/// Returns whether a daemon reacts to a further connection, or on the existing one, within
/// `patience`. Refusing a connection is a reaction.
fn gives_sign(socket: &Path, there: &UnixStream, patience: Duration) -> bool {
    let until = Instant::now() + patience;
    let ask = || -> io::Result<bool> {
        let mut further = connect_within(socket, patience)?;
        let ping = r#"{"jsonrpc":"2.0","id":0,"method":"ping"}"#;
        let opening = format!(r#"{{"kgd":{PREAMBLE_VERSION},"tools":[],"client":"watch"}}"#);
        further.write_all(format!("{opening}\n{ping}\n").as_bytes())?;
        let mut either = [&further, there].map(|it| PollFd::new(it, PollFlags::IN));
        let left = Timespec::try_from(until.saturating_duration_since(Instant::now()));
        Ok(poll(&mut either, left.ok().as_ref())? > 0)
    };
    ask().unwrap_or_else(|error| !is_late(&error))
}

/// Returns a socket that does not block, and that no child inherits.
#[cfg(target_os = "linux")]
fn unblocked() -> Result<OwnedFd, Errno> {
    use rustix::net::{SocketFlags, socket_with};

    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)
}

/// The same in three steps, where a system has no single one.
#[cfg(not(target_os = "linux"))]
fn unblocked() -> Result<OwnedFd, Errno> {
    use rustix::fs::{OFlags, fcntl_setfl};
    use rustix::io::{FdFlags, fcntl_setfd};

    let socket = rustix::net::socket(AddressFamily::UNIX, SocketType::STREAM, None)?;
    fcntl_setfd(&socket, FdFlags::CLOEXEC)?;
    fcntl_setfl(&socket, OFlags::NONBLOCK)?;
    Ok(socket)
}

/// Connects to a socket. The queue of a daemon that accepts no connections fills up, and then all
/// clients wait.
///
/// # Errors
/// Of kind `TimedOut` if there is no place in the queue for `patience`.
pub(crate) fn connect_within(path: &Path, patience: Duration) -> io::Result<UnixStream> {
    let until = Instant::now() + patience;
    let address = SocketAddrUnix::new(path)?;
    let socket = unblocked()?;
    loop {
        match connect(&socket, &address) {
            Ok(()) => break,
            Err(Errno::AGAIN) if Instant::now() < until => std::thread::sleep(POLL),
            Err(Errno::AGAIN) => return Err(ErrorKind::TimedOut.into()),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    let stream = UnixStream::from(socket);
    stream.set_nonblocking(false)?;
    Ok(stream)
}
