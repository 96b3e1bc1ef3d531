//! Settings of entries.

use serde::{Deserialize, Serialize};

/// Entries of knowledge, kept as notes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Kb {
    /// Folder of the notes that the tools of entries make. A note with an `id` such as `kb-00042` in its front matter
    /// is an entry wherever it lies. It is not, and does not lie in, `memory.folder`.
    pub folder: String,
    /// Larger files are not ingested by `kb_ingest`, bytes, 1000 to 10000000.
    pub max_ingest_bytes: u64,
}

impl Default for Kb {
    fn default() -> Self {
        Kb { folder: "kb".into(), max_ingest_bytes: 500_000 }
    }
}
