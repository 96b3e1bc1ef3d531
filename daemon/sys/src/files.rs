//! Files: inherited descriptors.
//!
//! The parent may have left files open by mistake (build tools do), and every child of the daemon would inherit them.

/// The first descriptor after the standard streams.
const FIRST: libc::c_uint = 3;

/// Closes every file except the standard streams. Only for the very beginning of a process, before it opens anything;
/// returns false if the system cannot do it (Linux before 5.9).
pub fn close_inherited_files() -> bool {
    // SAFETY: the call takes three numbers; nothing here owns a descriptor yet, as the contract of this function says.
    unsafe { libc::syscall(libc::SYS_close_range, FIRST, libc::c_uint::MAX, 0) == 0 }
}
