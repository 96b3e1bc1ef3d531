//! What two processes must agree on: the tools, their parameters and replies, and the errors.
//!
//! Additions are optional fields; nothing is removed or given a new meaning within a protocol version.

pub mod catalog;
pub mod error;
pub mod fit;
pub mod form;
pub mod lenient;
pub mod reference;
pub mod shape;
pub mod tool;
pub mod view;
pub mod visible;

use std::sync::OnceLock;

/// Version of the tools' contract, reported by `status`.
pub const PROTOCOL_VERSION: u32 = 1;

/// Version of the first line of a connection, `{"kgd":1,…}`. A side that does not know the other's version answers with
/// the code `version_mismatch` and closes the connection.
pub const PREAMBLE_VERSION: u64 = 1;

/// The variable with which a test makes a program report another version, such as `0.2.0`.
const TEST_VERSION: &str = "KG_TEST_VERSION";

/// Returns the version of this program.
pub fn version() -> &'static str {
    static VERSION: OnceLock<String> = OnceLock::new();
    VERSION.get_or_init(|| {
        let played = std::env::var(TEST_VERSION).ok().filter(|version| !version.is_empty());
        played.unwrap_or_else(|| env!("CARGO_PKG_VERSION").to_string())
    })
}

/// Returns true if version `one` is older than `other`, by their numbers; false if either is not a version.
pub fn is_older(one: &str, other: &str) -> bool {
    let numbers = |version: &str| -> Option<Vec<u64>> {
        let release = version.split(['-', '+']).next()?;
        release.split('.').map(|part| part.parse().ok()).collect()
    };
    // Compares the lists of numbers: `0.10.0` is newer than `0.9.0`.
    numbers(one).zip(numbers(other)).is_some_and(|(one, other)| one < other)
}

#[cfg(test)]
mod tests {
    #[test]
    fn versions_are_compared_by_number() {
        let table = [("0.1.0", "0.2.0"), ("0.9.0", "0.10.0"), ("0.1.9", "1.0.0-rc.1")];
        for (older, newer) in table {
            assert!(super::is_older(older, newer) && !super::is_older(newer, older), "{older}");
        }
        assert!(!super::is_older("0.1.0", "0.1.0") && !super::is_older("odd", "0.1.0"));
    }
}
