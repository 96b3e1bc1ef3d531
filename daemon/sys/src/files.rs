//! Files: inherited descriptors, files without names, and the file of the program that runs.
//!
//! The parent may have left files open by mistake (build tools do), and every child of the daemon would inherit them.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

#[cfg(target_os = "linux")]
use rustix::fs::{Mode, OFlags};

/// The first descriptor after the standard streams.
const FIRST: libc::c_uint = 3;

/// Number of descriptors that are closed where the system has no call that closes all; processes have fewer unless they
/// ask for more.
#[cfg(not(target_os = "linux"))]
const MANY: libc::c_int = 10_240;

/// Closes every file except the standard streams. Only for the very beginning of a process, before it opens anything;
/// returns false if the system cannot do it (Linux before 5.9).
#[cfg(target_os = "linux")]
pub fn close_inherited_files() -> bool {
    // SAFETY: the call takes three numbers; nothing here owns a descriptor yet, as the contract of this function says.
    unsafe { libc::syscall(libc::SYS_close_range, FIRST, libc::c_uint::MAX, 0) == 0 }
}

/// The same, one by one.
#[cfg(not(target_os = "linux"))]
pub fn close_inherited_files() -> bool {
    for descriptor in FIRST as libc::c_int..MANY {
        // SAFETY: the call takes a number and refuses what is not open; nothing here owns a descriptor yet.
        unsafe { libc::close(descriptor) };
    }
    true
}

/// Returns the running program; on Linux also after its file was replaced.
///
/// # Errors
/// When the system does not know it.
pub fn own_program() -> io::Result<PathBuf> {
    if cfg!(target_os = "linux") { Ok("/proc/self/exe".into()) } else { std::env::current_exe() }
}

/// Creates an anonymous file for reading and writing.
///
/// # Errors
/// When the file system has no such files (some network file systems), or no room.
#[cfg(target_os = "linux")]
pub fn nameless_file(folder: &Path) -> io::Result<File> {
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    Ok(rustix::fs::open(folder, flags, Mode::RUSR | Mode::WUSR)?.into())
}

/// Creates a file and removes its name.
#[cfg(not(target_os = "linux"))]
pub fn nameless_file(folder: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    use std::sync::atomic::{AtomicU64, Ordering};

    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let path = folder.join(format!(".kgd-{}-{number}.tmp", std::process::id()));
    let file = File::options().read(true).write(true).create_new(true).mode(0o600).open(&path)?;
    std::fs::remove_file(path)?;
    Ok(file)
}
