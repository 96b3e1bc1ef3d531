//! Read: takes the bytes of one regular file, at most so many, without ever waiting for a pipe or device.
//!
//! In: an absolute path and a limit. Out: the bytes with the size and time they belong to, or why not.
//! Invariant: what is opened is what is judged; the file is stated through its open descriptor.
//! Not here: which paths may be read (`rules.rs`, `links.rs`).

use std::fmt;
use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::OFlags;

/// A file as read.
#[derive(Debug)]
pub(super) struct FileRead {
    /// The bytes, at most the limit.
    pub bytes: Vec<u8>,
    /// True when there were more.
    pub is_cut: bool,
    /// Size and time before the first byte was read.
    pub stat: Stat,
}

/// What a crawl compares.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Stat {
    /// Size in bytes.
    pub n_bytes: u64,
    /// Modification time, milliseconds since 1970.
    pub mtime_ms: i64,
}

impl Stat {
    pub(super) fn of(metadata: &Metadata) -> Self {
        let mtime_ms = metadata
            .mtime()
            .saturating_mul(1_000)
            .saturating_add(metadata.mtime_nsec() / 1_000_000);
        Stat { n_bytes: metadata.len(), mtime_ms }
    }
}

/// Why a file was not read.
#[derive(Debug)]
pub(super) enum ReadTrouble {
    /// Not a regular file.
    NotAFile,
    /// The system said no.
    Io(io::Error),
}

impl ReadTrouble {
    /// True when there is nothing at the path.
    pub(super) fn is_missing(&self) -> bool {
        matches!(self, ReadTrouble::Io(error) if is_missing(error))
    }
}

impl fmt::Display for ReadTrouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReadTrouble::NotAFile => f.write_str("not a regular file"),
            ReadTrouble::Io(error) => error.fmt(f),
        }
    }
}

/// True when an error says that there is nothing at a path (a file where a folder should be counts, too).
pub(super) fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// True when an error says that symlinks lead to each other.
pub(super) fn is_endless(error: &io::Error) -> bool {
    rustix::io::Errno::from_io_error(error) == Some(rustix::io::Errno::LOOP)
}

/// Reads a regular file, at most `max_bytes` of it.
pub(super) fn read_regular(path: &Path, max_bytes: u64) -> Result<FileRead, ReadTrouble> {
    let (file, metadata) = open_regular(path)?;
    let stat = Stat::of(&metadata);
    let expected = metadata.len().min(max_bytes).saturating_add(1);
    let mut bytes = Vec::with_capacity(usize::try_from(expected).unwrap_or(0));
    // One byte more than the limit tells a file that grew from one that fits.
    file.take(max_bytes.saturating_add(1)).read_to_end(&mut bytes).map_err(ReadTrouble::Io)?;
    let limit = usize::try_from(max_bytes).unwrap_or(usize::MAX);
    let is_cut = bytes.len() > limit;
    bytes.truncate(limit);
    Ok(FileRead { bytes, is_cut, stat })
}

fn open_regular(path: &Path) -> Result<(File, Metadata), ReadTrouble> {
    if crate::fail::number("read.refused").is_some() && path.ends_with("refused.md") {
        return Err(ReadTrouble::Io(rustix::io::Errno::IO.into()));
    }
    // Looking comes before opening, because opening some devices does something.
    if !std::fs::metadata(path).map_err(ReadTrouble::Io)?.is_file() {
        return Err(ReadTrouble::NotAFile);
    }
    // Without `NONBLOCK` opening a pipe waits for its writer; without `NOCTTY` a terminal could become ours.
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    let flags = i32::try_from(flags.bits()).unwrap_or(0);
    let file =
        OpenOptions::new().read(true).custom_flags(flags).open(path).map_err(ReadTrouble::Io)?;
    let metadata = file.metadata().map_err(ReadTrouble::Io)?;
    if metadata.is_file() { Ok((file, metadata)) } else { Err(ReadTrouble::NotAFile) }
}
