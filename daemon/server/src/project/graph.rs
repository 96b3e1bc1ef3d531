//! The project's graph: the relations that its documents state, and those of its entries.

use std::sync::Arc;

use index::store::Snapshot;
use query::{AskError, Projection, kb};

use super::Project;

impl Project {
    /// Returns the graph of a snapshot; it is read once per commit.
    ///
    /// # Errors
    /// When the index cannot be read.
    pub fn projection(&self, snapshot: &Snapshot) -> Result<Arc<Projection>, AskError> {
        // Taken before the entry index: a reading that is stored in between causes one more read of the graph, never a
        // stale graph.
        let n_readings = self.indexes.n_readings();
        self.projections.at(&self.context(snapshot), n_readings, || {
            let entry_index = self.indexes.at(snapshot, &self.settings.kb.folder)?;
            kb::stated::relations(snapshot, &entry_index)
        })
    }
}
