//! Errors of answering, as the caller sees them.

use proto::error::{Code, ErrorView};

use index::store::StoreError;

/// A request that cannot be answered.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    /// The index could not be read.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<AskError> for ErrorView {
    fn from(error: AskError) -> Self {
        ErrorView {
            code: Code::Internal,
            message: error.to_string(),
            hint: Some("see `kgctl logs`; if it lasts, `kgctl restart`".into()),
            conflict: None,
        }
    }
}

/// A parameter out of range or malformed.
pub(crate) fn invalid(message: String, hint: &str) -> ErrorView {
    ErrorView { code: Code::InvalidParams, message, hint: Some(hint.into()), conflict: None }
}
