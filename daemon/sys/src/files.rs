//! Files: descriptors that nobody in this process knows of.
//!
//! Whoever started the daemon may have left files open in it by mistake (build tools do), and what it starts inherits
//! them.

/// The first descriptor that is no standard stream.
const FIRST: libc::c_uint = 3;

/// Closes every file but the standard streams. Only for the very beginning of a process, before it opens anything;
/// false when the system cannot (Linux before 5.9).
pub fn close_inherited_files() -> bool {
    // SAFETY: the call takes three numbers; nothing here owns a descriptor yet, as the contract of this function says.
    unsafe { libc::syscall(libc::SYS_close_range, FIRST, libc::c_uint::MAX, 0) == 0 }
}
