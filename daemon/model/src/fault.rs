//! Fault: what is wrong with one document.

/// A document that cannot be processed further: it becomes a quarantine row, and the rest goes on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{stage}: {reason}")]
pub struct DocFault {
    /// The stage that gave up, by its name on the belt.
    pub stage: &'static str,
    /// The reason, for a person: lowercase, values named, with a hint where one helps.
    pub reason: String,
    /// True if trying again later may help (permission, busy), false if only other content can.
    pub is_transient: bool,
}

impl DocFault {
    /// Creates a fault that lasts as long as the content.
    pub fn lasting(stage: &'static str, reason: impl Into<String>) -> Self {
        DocFault { stage, reason: reason.into(), is_transient: false }
    }

    /// Creates a fault that may pass by itself.
    pub fn transient(stage: &'static str, reason: impl Into<String>) -> Self {
        DocFault { stage, reason: reason.into(), is_transient: true }
    }
}
