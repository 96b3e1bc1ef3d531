//! Claim: the right to start a project's daemon, held by one client at a time.
//!
//! In: a project's files. Out: the claim, until it is dropped or its process ends in any way.
//! Invariants: only the owner starts a daemon, so an agent's shim cannot overtake `kgctl restart`,
//! which takes the claim before it stops the old daemon; the file is never removed.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;

use config::ProjectPaths;
use rustix::fs::{FlockOperation, flock};

/// Name of the file, beside the daemon's lock.
const FILE: &str = "start.lock";

/// The right to start the daemon.
#[derive(Debug)]
pub struct Claim {
    _file: File,
}

impl Claim {
    /// Takes the claim; returns `None` if another client has it. Does not wait.
    pub(super) fn take(paths: &ProjectPaths) -> io::Result<Option<Self>> {
        let path = paths.lock.with_file_name(FILE);
        let mut options = OpenOptions::new();
        let file = options.create(true).append(true).mode(0o600).open(path)?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Some(Claim { _file: file })),
            Err(rustix::io::Errno::WOULDBLOCK) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}
