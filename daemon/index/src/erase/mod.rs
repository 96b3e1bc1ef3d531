//! Erase: finds and removes forgotten strings in everything that kgd keeps.
//!
//! In: strings that a person wants forgotten ([`Needles`]), or the current detectors of secrets ([`Secrets`]). Out:
//! texts and files without them; where a string still occurs.
//! Invariants: only the span itself is replaced, by a mark; a string is searched in every form in which kgd stores
//! text; nothing here writes the strings anywhere, the log included.

mod distinctive;
mod folder;
mod forms;
mod needles;
mod scan;
mod secrets;

pub use distinctive::{MIN_CHARS, Traces, lines_of_all, parts_of};
pub use folder::{Role, clean_logs, files_in, remove_leftovers, remove_pages, role_of};
pub use needles::{Needle, Needles};
pub use scan::read_through;
#[cfg(test)]
pub(crate) use scan::scan;
pub use scan::{Hit, Scan, Wanted, scan_apart, stands_in};
pub use secrets::Secrets;

pub use crate::store::Rewrite;
