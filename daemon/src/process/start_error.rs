//! Start error: why a daemon does not start, with the exit code.

use std::path::PathBuf;

use config::load::LoadError;
use config::registry::WhichError;

use super::lock::LockError;

/// Why a daemon does not start, for the causes with an exit code other than 1.
#[derive(Debug, thiserror::Error)]
pub(super) enum StartError {
    #[error(
        "the folder `{}` of project `{name}` is not there\nhint: mount it, or give another `--project`",
        root.display()
    )]
    NoFolder { name: String, root: PathBuf },
    #[error(transparent)]
    Which(#[from] WhichError),
    #[error(transparent)]
    Settings(#[from] LoadError),
    #[error(transparent)]
    Lock(#[from] LockError),
}

impl StartError {
    /// Returns the exit code.
    pub(super) fn exit_code(&self) -> u8 {
        match self {
            StartError::NoFolder { .. } | StartError::Which(_) | StartError::Settings(_) => 2,
            StartError::Lock(LockError::Held { .. } | LockError::Elsewhere { .. }) => 3,
            StartError::Lock(_) => 1,
        }
    }
}
