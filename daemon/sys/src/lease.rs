//! Lease: whether another process has a file open for writing, and whether one tries to open it.
//!
//! In: a file that is open for reading. Out: a lease on it, or why there is none.
//! Invariant: while a lease is held, whoever opens the file for writing, or cuts it, waits until the lease is dropped.
//! A lease is not to be had on every file system, nor on a file of another user; macOS has none.

use std::fs::File;
use std::io;

/// Why there is no lease.
#[derive(Debug)]
pub enum NoLease {
    /// Another process has the file open for writing.
    Written,
    /// The system gives none for this file, so nobody can tell.
    Unknown,
}

/// A read lease; dropped, it lets those through who wait to write.
#[derive(Debug)]
pub struct Lease<'a>(
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "no leases"))] &'a File,
);

#[cfg(target_os = "linux")]
mod linux {
    use std::os::fd::AsRawFd;

    use super::{File, Lease, NoLease, io};

    /// The command of `fcntl` that chooses the signal of a lease; the crate `libc` lacks it.
    const F_SETSIG: libc::c_int = 10;

    fn fcntl(file: &File, command: libc::c_int, argument: libc::c_int) -> io::Result<libc::c_int> {
        // SAFETY: the commands used here take a number, and the descriptor is open as long as `file` lives.
        match unsafe { libc::fcntl(file.as_raw_fd(), command, argument) } {
            -1 => Err(io::Error::last_os_error()),
            found => Ok(found),
        }
    }

    impl<'a> Lease<'a> {
        /// Takes a read lease on a file.
        ///
        /// # Errors
        /// [`NoLease`].
        pub fn take(file: &'a File) -> Result<Self, NoLease> {
            // The usual signal of a lease, `SIGIO`, would end the process; this one is ignored.
            let taken = fcntl(file, F_SETSIG, libc::SIGURG)
                .and_then(|_| fcntl(file, libc::F_SETLEASE, libc::F_RDLCK));
            match taken {
                Ok(_) => Ok(Lease(file)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => Err(NoLease::Written),
                Err(_) => Err(NoLease::Unknown),
            }
        }

        /// Returns whether somebody waits to write.
        pub fn is_awaited(&self) -> bool {
            !fcntl(self.0, libc::F_GETLEASE, 0).is_ok_and(|kind| kind == libc::F_RDLCK)
        }
    }

    impl Drop for Lease<'_> {
        fn drop(&mut self) {
            let _ = fcntl(self.0, libc::F_SETLEASE, libc::F_UNLCK);
        }
    }
}

#[cfg(not(target_os = "linux"))]
impl<'a> Lease<'a> {
    /// Returns no lease: the system has none.
    ///
    /// # Errors
    /// Always.
    pub fn take(_: &'a File) -> Result<Self, NoLease> {
        Err(NoLease::Unknown)
    }

    /// Returns whether somebody waits to write.
    pub fn is_awaited(&self) -> bool {
        false
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_writer_is_noticed_before_and_waits_during_a_lease() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("a.md");
        std::fs::write(&path, "a").expect("written");
        let file = File::open(&path).expect("there");
        let append = || File::options().append(true).open(&path);
        let writer = append().expect("there");
        match Lease::take(&file) {
            Err(NoLease::Unknown) => return eprintln!("SKIPPED: this file system has no leases"),
            taken => assert!(matches!(taken, Err(NoLease::Written)), "{taken:?}"),
        }
        drop(writer);
        let lease = Lease::take(&file).expect("nobody writes");
        assert!(!lease.is_awaited());
        std::thread::scope(|scope| {
            let writer = scope.spawn(append);
            while !lease.is_awaited() {
                std::thread::yield_now();
            }
            assert!(!writer.is_finished());
            drop(lease);
            writer.join().expect("no panic").expect("opened");
        });
    }
}
