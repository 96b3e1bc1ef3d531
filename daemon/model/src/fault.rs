//! What is wrong with one document.

/// A document that cannot be taken further: it becomes a quarantine row, the rest flows.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{stage}: {reason}")]
pub struct DocFault {
    /// The stage that gave up, by its name on the belt.
    pub stage: &'static str,
    /// What was wrong, for a person: lowercase, values named, with a hint where one helps.
    pub reason: String,
    /// True when trying again later may help (permission, busy), false when only another content can.
    pub is_transient: bool,
}

impl DocFault {
    /// A fault that lasts as long as the content.
    pub fn lasting(stage: &'static str, reason: impl Into<String>) -> Self {
        DocFault { stage, reason: reason.into(), is_transient: false }
    }

    /// A fault that may pass by itself.
    pub fn transient(stage: &'static str, reason: impl Into<String>) -> Self {
        DocFault { stage, reason: reason.into(), is_transient: true }
    }
}
