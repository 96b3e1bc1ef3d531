//! Read: reads the bytes of one regular file, up to a limit, without ever blocking on a pipe or device.
//!
//! In: a file that was found (`confine`) and a limit. Out: the bytes with the size and time they belong to, or an
//! error.
//! Invariant: the file that is checked is the one that is read: both go through its open descriptor.

use std::io;
use std::path::Path;

use confine::{Content, Error, Found, Meta, Root};

/// The values that a crawl compares.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Stat {
    /// Size in bytes.
    pub n_bytes: u64,
    /// Modification time, milliseconds since 1970.
    pub mtime_ms: i64,
}

impl Stat {
    pub(super) fn of(meta: &Meta) -> Self {
        Stat { n_bytes: meta.n_bytes, mtime_ms: meta.mtime_ms }
    }
}

/// Reads at most `max_bytes` of a regular file that was found at a path; `None` for anything else.
pub(super) fn read(found: &Found, path: &str, max_bytes: u64) -> Result<Option<Content>, Error> {
    if sys::fail::number("read.refused").is_some() && Path::new(path).ends_with("refused.md") {
        return Err(Error::Io(io::Error::from(rustix::io::Errno::IO)));
    }
    found.read(max_bytes)
}

/// The same for a path, without applying the rules.
pub(super) fn read_regular(
    root: &Root,
    path: &str,
    max_bytes: u64,
) -> Result<Option<Content>, Error> {
    read(&root.find(path)?, path, max_bytes)
}
