//! Error: why there is no vector, and what can be done about it.

use std::time::Duration;

/// Why texts got no vectors.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EmbedError {
    /// The failure may pass by itself: a server that is away, busy, or asks to wait. The same texts are retried.
    #[error("not now: {why}")]
    Later {
        /// What failed.
        why: String,
        /// Shortest wait, if the server stated one.
        after: Option<Duration>,
    },
    /// One of these texts cannot be embedded, however often it is tried. If there were several, the caller tries them
    /// one by one; a single text is still found by its words and by its static vector.
    #[error("this text cannot be embedded: {why}")]
    Text {
        /// What failed.
        why: String,
    },
    /// The model returns nothing usable (a folder that is missing, vectors of another dimension): it is not tried
    /// again until somebody requests it (`kgctl retry`, where [`super::Embedder::may_recover`] allows it) or the
    /// daemon restarts.
    #[error("the model cannot be used: {why}")]
    Model {
        /// What failed.
        why: String,
    },
}
