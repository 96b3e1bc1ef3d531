//! Errors of a model, or of its results.

use std::path::{Path, PathBuf};

/// Why a model cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("model file `{}` {why}\nhint: {hint}", path.display())]
pub struct ModelError {
    /// The faulty file.
    pub path: PathBuf,
    /// What is wrong with it.
    pub why: String,
    /// What to do.
    pub hint: &'static str,
}

impl ModelError {
    pub(crate) fn new(path: &Path, why: impl Into<String>, hint: &'static str) -> Self {
        ModelError { path: path.to_path_buf(), why: why.into(), hint }
    }
}

/// Runs a library that reads possibly malformed data; its panic becomes an error like any other.
pub(crate) fn caught<T>(run: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    // Half-finished state is dropped with the closure, so no one can see it afterwards.
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<&str>().copied();
        let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
        Err(format!("the library gave up on it: {}", text.unwrap_or("no reason given")))
    })
}
