//! Settings of knowledge entries.

use serde::{Deserialize, Serialize};

/// Knowledge entries, stored as notes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Kb {
    /// Folder of the notes that the entry tools create. A note with an `id` such as `kb-00042` in its front matter is
    /// an entry wherever it is. Must not be, or be inside, `memory.folder`.
    pub folder: String,
    /// Larger files are not ingested by `kb_ingest`, bytes, 1000 to 10000000.
    pub max_ingest_bytes: u64,
}

impl Default for Kb {
    fn default() -> Self {
        Kb { folder: "kb".into(), max_ingest_bytes: 500_000 }
    }
}
