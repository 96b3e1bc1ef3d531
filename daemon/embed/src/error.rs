//! Errors: why there is no vector, and what may be done about it.

use std::time::Duration;

/// Why texts got no vectors.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EmbedError {
    /// What failed may pass by itself: a server that is away, busy, or asks to wait. The same texts are tried again.
    #[error("not now: {why}")]
    Later {
        /// What failed.
        why: String,
        /// How long to wait at least, if it was said.
        after: Option<Duration>,
    },
    /// One of these texts cannot be embedded, however often it is tried. Whoever sent several tries them one by one;
    /// what was sent alone is found by its words and by its static vector.
    #[error("this text cannot be embedded: {why}")]
    Text {
        /// What failed.
        why: String,
    },
    /// The model gives nothing that can be used (a folder that is gone, vectors of another dimension): it is not asked
    /// again until somebody wants that (`kgctl retry`, where [`super::Embedder::may_recover`] says so) or the daemon
    /// starts anew.
    #[error("the model cannot be used: {why}")]
    Model {
        /// What failed.
        why: String,
    },
}
