//! Memory: an allocator that keeps little free memory.
//!
//! glibc gives every thread an arena, up to eight per core, and returns an arena's free memory only from its end: a
//! daemon whose threads pass documents to each other held twice as much as it used (measured: 90 MB for 42). It also
//! rarely reuses freed blocks that were aligned: see `aligned`. musl's allocator has one lock for all threads: jemalloc
//! takes its place, for SQLite as well. Other C libraries keep theirs.

/// Number of arenas: one per core of a small machine. Threads that compete for an arena wait less than a microsecond.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const N_ARENAS: std::os::raw::c_int = 2;

/// Size from which an allocation is mapped separately, and so returned at once, bytes. By default this grows with the
/// first large allocation that is freed. The buffers of matrix products (.4 MB on average, a thousand a second in the
/// deep pass) stay below: with 256 KiB, mapping them again took a third of its processor time.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const MAPPED_FROM: std::os::raw::c_int = 1024 * 1024;

/// Free memory that an arena keeps at its end, bytes: enough for such buffers.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const KEPT_AT_END: std::os::raw::c_int = 2 * 1024 * 1024;

#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod glibc {
    use std::os::raw::c_int;

    pub(super) const M_TRIM_THRESHOLD: c_int = -1;
    pub(super) const M_MMAP_THRESHOLD: c_int = -3;
    pub(super) const M_ARENA_MAX: c_int = -8;

    unsafe extern "C" {
        pub(super) fn mallopt(parameter: c_int, value: c_int) -> c_int;
        pub(super) fn malloc_trim(kept_bytes: usize) -> c_int;
    }
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[global_allocator]
static ALLOCATOR: crate::aligned::Aligned = crate::aligned::Aligned;

#[cfg(target_env = "musl")]
mod jemalloc {
    #[global_allocator]
    static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

    /// As many arenas as above; free memory goes back after .2 s; a thread's own cache holds small blocks only.
    // SAFETY: jemalloc reads a text that ends with a zero byte through this name, and nothing else has the name.
    #[unsafe(export_name = "malloc_conf")]
    pub(super) static OPTIONS: &[u8; 62] =
        b"narenas:2,dirty_decay_ms:200,muzzy_decay_ms:0,tcache_max:4096\0";
}

/// Limits the arenas, and turns off SQLite's statistics of memory; call it before threads are started.
pub fn spare_memory() {
    // Named here, so that they are linked.
    #[cfg(target_env = "musl")]
    std::hint::black_box(jemalloc::OPTIONS);
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: `mallopt` takes two numbers, may be called at any time, and refuses what it does not know.
    unsafe {
        glibc::mallopt(glibc::M_ARENA_MAX, N_ARENAS);
        glibc::mallopt(glibc::M_MMAP_THRESHOLD, MAPPED_FROM);
        glibc::mallopt(glibc::M_TRIM_THRESHOLD, KEPT_AT_END);
    }
    // By default SQLite counts its memory, with a lock that all its threads take for each allocation.
    // SAFETY: the option takes one number, and SQLite refuses it once it is in use.
    unsafe {
        rusqlite::ffi::sqlite3_config(rusqlite::ffi::SQLITE_CONFIG_MEMSTATUS, 0);
    }
}

/// Returns free memory to the system; takes some milliseconds for a heap of some tens of megabytes.
pub fn release_free_memory() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: `malloc_trim` takes a number and may be called at any time from any thread.
    unsafe {
        glibc::malloc_trim(0);
    }
    #[cfg(target_env = "musl")]
    // SAFETY: the name ends with a zero byte, and jemalloc documents that this command takes and returns nothing. 4096
    // stands for all arenas.
    unsafe {
        use std::ptr::null_mut;
        let purge = c"arena.4096.purge".as_ptr();
        tikv_jemalloc_sys::mallctl(purge, null_mut(), null_mut(), null_mut(), 0);
    }
}
