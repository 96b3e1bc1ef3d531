//! Claim: the right to start a project's daemon, which one client has at a time.
//!
//! In: a project's files. Out: the claim, until it is dropped or its process ends in whatever way.
//! Invariants: who has it is the only one to start a daemon, so that `kgctl restart`, which takes it before it stops
//! the old one, is not overtaken by an agent's shim; the file is never removed.
//! Not here: the daemon's own lock, which is what keeps two from serving one project.

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
    /// Takes it; nothing when another client has it. Does not wait.
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
