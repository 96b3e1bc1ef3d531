//! Child: runs a worker process, `kgd --worker`.
//!
//! In: a socket as standard input; on it an opening, then documents. Out: one reply each, until the socket is closed.
//! Invariants: it is confined before it reads a document; it has one thread, keeps nothing from one document to the
//! next, and exits after a panic; it logs nothing, because a message may contain text of a document.

use std::fs::File;
use std::io::{self, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::sync::Mutex;

use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};

use super::message::{HEAD_BYTES, Job, MAX_SMALL_BYTES, Opening, Reply, TooLong, decode, encode};
use super::{misdeed, restrict};
use crate::reader_for;

/// A worker starts no processes that could inherit what it was given.
#[cfg(target_os = "linux")]
const RECEIVED: RecvFlags = RecvFlags::CMSG_CLOEXEC;
#[cfg(not(target_os = "linux"))]
const RECEIVED: RecvFlags = RecvFlags::empty();

/// The location of the last panic.
static PANICKED_AT: Mutex<String> = Mutex::new(String::new());

/// Runs a worker. Call it only at the start of `main`: it closes files that it did not open.
pub fn run() -> ExitCode {
    let is_alone = sys::close_inherited_files();
    sys::spare_memory();
    // Keep the location only: the message may contain text of the document.
    std::panic::set_hook(Box::new(|info| {
        if let (Some(place), Ok(mut last)) = (info.location(), PANICKED_AT.lock()) {
            *last = format!("{}:{}", short(place.file()), place.line());
        }
    }));
    match serve(is_alone) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn serve(is_alone: bool) -> io::Result<()> {
    let Some((opening, _)) = receive()? else { return Ok(()) };
    let opening: Opening = decode(&opening).ok_or(io::ErrorKind::InvalidData)?;
    // Before the sandbox, which forbids it.
    if opening.niceness > 0 {
        let _ = rustix::process::nice(opening.niceness);
    }
    let mut sandbox = restrict::enter(opening.max_memory_bytes);
    if !is_alone {
        sandbox.missing.push("no inherited files (Linux before 5.9)".to_string());
    }
    send(&Reply::Ready(sandbox), MAX_SMALL_BYTES)?;
    while let Some((job, descriptor)) = receive()? {
        let job: Job = decode(&job).ok_or(io::ErrorKind::InvalidData)?;
        let source = read_source(&job, descriptor)?;
        let reply = answer(&job, source);
        let is_last = matches!(reply, Reply::Panicked(_));
        send(&reply, usize::try_from(job.max_reply_bytes).unwrap_or(usize::MAX))?;
        if is_last {
            return Ok(());
        }
    }
    Ok(())
}

/// Returns a source file without the folder of its crate on the build machine.
fn short(file: &str) -> &str {
    match file.split_once("/registry/src/") {
        Some((_, rest)) => rest.split_once('/').map_or(rest, |(_, in_crate)| in_crate),
        None => file,
    }
}

/// Returns the next message and the descriptor that came with it; `None` when the daemon has closed the socket.
fn receive() -> io::Result<Option<(Vec<u8>, Option<OwnedFd>)>> {
    let stdin = rustix::stdio::stdin();
    let mut head = [0; HEAD_BYTES];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let n_bytes = loop {
        let into = &mut [IoSliceMut::new(&mut head)];
        match recvmsg(stdin, into, &mut control, RECEIVED) {
            Err(rustix::io::Errno::INTR) => {}
            received => break received?.bytes,
        }
    };
    if n_bytes == 0 {
        return Ok(None);
    }
    // At most one is expected; dropping the others closes them.
    let mut descriptor = None;
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(descriptors) = message {
            descriptor = descriptors.last();
        }
    }
    // The daemon sends a message in one piece, so the rest is there.
    read_exact(head.get_mut(n_bytes..).unwrap_or_default())?;
    let length = u32::from_le_bytes(head) as usize;
    if length > MAX_SMALL_BYTES {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut body = vec![0; length];
    read_exact(&mut body)?;
    Ok(Some((body, descriptor)))
}

fn read_exact(mut into: &mut [u8]) -> io::Result<()> {
    while !into.is_empty() {
        match rustix::io::read(rustix::stdio::stdin(), &mut *into) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(n) => into = into.get_mut(n..).unwrap_or_default(),
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

fn send(reply: &Reply, max_bytes: usize) -> io::Result<()> {
    // A reply above the limit is replaced by a short one that says so.
    let framed = encode(reply, max_bytes)
        .or_else(|TooLong| encode(&Reply::TooLarge, max_bytes))
        .map_err(|TooLong| io::ErrorKind::InvalidData)?;
    write_all(&framed)
}

pub(super) fn write_all(mut from: &[u8]) -> io::Result<()> {
    while !from.is_empty() {
        // Standard input is the socket, so it is written to as well.
        match rustix::io::write(rustix::stdio::stdin(), from) {
            Ok(n) => from = from.get(n..).unwrap_or_default(),
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

fn read_source(job: &Job, descriptor: Option<OwnedFd>) -> io::Result<Vec<u8>> {
    let file = File::from(descriptor.ok_or(io::ErrorKind::InvalidData)?);
    let n_bytes = usize::try_from(job.n_bytes).map_err(|_| io::ErrorKind::InvalidData)?;
    let mut source = vec![0; n_bytes];
    // With an offset, since the daemon's writing left the position at the end of the file.
    file.read_exact_at(&mut source, 0)?;
    Ok(source)
}

fn answer(job: &Job, source: Vec<u8>) -> Reply {
    let read = || {
        if job.obeys {
            misdeed::commit(&source);
        }
        reader_for(&job.extension).read(&source, &job.limits())
    };
    // A panic in a format must not end without a reply; the worker exits afterwards.
    match catch_unwind(AssertUnwindSafe(read)) {
        Ok(Ok(parsed)) => {
            drop(source);
            Reply::Parsed(Box::new(parsed.into()))
        }
        Ok(Err(reason)) => Reply::Refused(reason),
        Err(_) => Reply::Panicked(PANICKED_AT.lock().map(|at| at.clone()).unwrap_or_default()),
    }
}
