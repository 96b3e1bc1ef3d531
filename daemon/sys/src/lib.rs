//! Sys: the lowest layer of the daemon: clocks, memory, descriptors, kernels in wide instructions, threads of lower
//! priority (`crew`), the share of the whole session (`courtesy`), the last line of a process that a signal ends
//! (`fatal`) and the points where a test may kill the process (`fail`).
//!
//! It depends only on external crates; every layer may use it.
//! Invariants: no other crate of the daemon has `unsafe`; nothing here knows a document, a database or a setting.

#![allow(unsafe_code)]

#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod aligned;
mod clock;
pub mod courtesy;
pub mod crew;
pub mod dots;
pub mod fail;
mod fatal;
mod files;
pub mod lease;
mod mapped;
mod memory;
pub mod product;
mod scans;
mod sums;

pub use clock::{process_cpu_time, thread_cpu_time};
pub use dots::dots;
pub use fatal::mind_fatal_signals;
pub use files::{close_inherited_files, nameless_file, own_program};
pub use mapped::load_mapped;
pub use memory::{release_free_memory, spare_memory};
pub use product::{Rows, product, products};
pub use scans::{N_PLANES, float_dots, sign_sums};
pub use sums::{SUMS_AT_ONCE, add_byte_rows, add_rows};

/// Makes the statically linked sqlite-vec available to every connection opened from now on.
pub fn register_sqlite_vec() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        type EntryPoint = unsafe extern "C" fn(
            *mut rusqlite::ffi::sqlite3,
            *mut *mut std::os::raw::c_char,
            *const rusqlite::ffi::sqlite3_api_routines,
        ) -> std::os::raw::c_int;
        // SAFETY: `sqlite3_vec_init` is an extension entry point of exactly this signature; the crate declares
        // it without arguments, as sqlite-vec's own documentation for Rust shows.
        unsafe {
            let init = std::mem::transmute::<*const (), EntryPoint>(
                sqlite_vec::sqlite3_vec_init as *const (),
            );
            rusqlite::ffi::sqlite3_auto_extension(Some(init));
        }
    });
}
