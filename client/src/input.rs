//! Input: opens the files that a person names on the command line.
//!
//! In: a path, and the most bytes that it may have. Out: the open file, or its bytes.
//! Invariant: a pipe, socket or device is refused, and opening one never blocks: it may have no end, or nobody who
//! writes to it.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::OFlags;

/// Opens a regular file.
///
/// # Errors
/// The system's, and why it is refused, with a hint.
pub fn open(path: &Path, max_bytes: u64) -> io::Result<File> {
    let flags = i32::try_from((OFlags::NONBLOCK | OFlags::NOCTTY).bits()).unwrap_or(0);
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    let metadata = file.metadata()?;
    if metadata.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    if !metadata.is_file() {
        let why = "it is a pipe, socket or device\nhint: save its content as a file first";
        return Err(io::Error::other(why));
    }
    if metadata.len() > max_bytes { Err(too_long(max_bytes)) } else { Ok(file) }
}

/// Reads a regular file.
///
/// # Errors
/// As [`open`], also when it grows beyond the limit.
pub fn read(path: &Path, max_bytes: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    // Files of the system, such as those below `/proc`, have no size beforehand.
    open(path, max_bytes)?.take(max_bytes.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > max_bytes { Err(too_long(max_bytes)) } else { Ok(bytes) }
}

fn too_long(max_bytes: u64) -> io::Error {
    io::Error::other(format!(
        "it has more than {max_bytes} bytes\nhint: split it into several files"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_end_is_refused_at_once() {
        let dir = tempfile::tempdir().expect("a folder");
        let at = |name: &str| dir.path().join(name);
        let pipe = std::process::Command::new("mkfifo").arg(at("pipe")).status();
        assert!(pipe.expect("mkfifo").success());
        let _socket = std::os::unix::net::UnixListener::bind(at("socket")).expect("a socket");
        std::fs::write(at("large"), [b'x'; 11]).expect("written");
        std::fs::write(at("small"), "0123456789").expect("written");
        for (path, why) in [
            (at("pipe"), "pipe, socket or device"),
            ("/dev/zero".into(), "pipe, socket or device"),
            (at("socket"), "No such device"),
            (at(""), "is a directory"),
            (at("large"), "more than 10 bytes"),
            ("/proc/self/status".into(), "more than 10 bytes"),
        ] {
            let error = read(&path, 10).expect_err("refused").to_string();
            assert!(error.contains(why), "{}: {error}", path.display());
        }
        assert_eq!(read(&at("small"), 10).expect("read"), b"0123456789");
    }
}
