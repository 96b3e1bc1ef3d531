//! The project's graph: what its documents state, and its entries beside them.
//!
//! Not here: what it is made of (`query`), and how it is searched.

use std::sync::Arc;

use index::store::Snapshot;
use query::{AskError, Projection, kb};

use super::Project;

impl Project {
    /// The graph of a snapshot; it is read once a commit.
    ///
    /// # Errors
    /// When the index cannot be read.
    pub fn projection(&self, snapshot: &Snapshot) -> Result<Arc<Projection>, AskError> {
        // Before the shelf is: a reading in between causes another read of the graph.
        let n_readings = self.shelves.n_readings();
        self.projections.at(&self.desk(snapshot), n_readings, || {
            let shelf = self.shelves.at(snapshot, &self.settings.kb.folder)?;
            kb::stated::relations(snapshot, &shelf)
        })
    }
}
