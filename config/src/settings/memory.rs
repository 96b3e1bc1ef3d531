//! Settings of what agents learn.

use serde::{Deserialize, Serialize};

/// What agents learn, kept as notes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Memory {
    /// Folder of the notes that the tools of memory make. Every outermost list item of a note in it is an observation,
    /// unless it states a relation.
    pub folder: String,
}

impl Default for Memory {
    fn default() -> Self {
        Memory { folder: "memory".into() }
    }
}

impl Memory {
    /// Whether a path lies in that folder.
    pub fn holds(&self, path: &str) -> bool {
        let folder = self.folder.trim_matches('/');
        folder.is_empty() || path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
    }
}
