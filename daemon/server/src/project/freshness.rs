//! Freshness: how current an answer is, as every reply states it.
//!
//! In: a snapshot. Out: its commit, and what is still missing from the index.

use proto::shape::Freshness;

use super::Project;
use index::store::{Snapshot, StoreError};

impl Project {
    /// Returns how current an answer from this snapshot is.
    pub fn freshness(&self, snapshot: &Snapshot) -> Freshness {
        // Only `settled` also counts documents between two queues. A snapshot from just before the last commit does not
        // show that commit yet.
        let is_building = !self.settled().searchable || snapshot.tick() < self.build.health.tick();
        Freshness {
            project: self.name.clone(),
            tick: snapshot.tick().0,
            building: if is_building { self.building(snapshot) } else { None },
        }
    }

    /// Returns how current the index is now.
    ///
    /// # Errors
    /// When the index cannot be read.
    pub fn freshness_now(&self) -> Result<Freshness, StoreError> {
        Ok(self.freshness(&self.snapshot()?))
    }

    fn building(&self, snapshot: &Snapshot) -> Option<String> {
        let known = self.build.watcher.state().n_known_files();
        // The new file is in place an instant before its readers: a snapshot of it must not be called one of the old
        // index.
        if self.is_being_replaced() && self.tick_before.is_none_or(|tick| snapshot.tick() <= tick) {
            let indexed = self.build.n_documents().unwrap_or(0);
            let (indexed, known) = (grouped(indexed), grouped(known));
            return Some(format!(
                "rebuilding, {indexed} of {known}; this answer is from the index before"
            ));
        }
        // Files that cannot be indexed are not waited for.
        let (indexed, failed) = snapshot.counts().of_files().ok()?;
        if indexed + failed < known {
            return Some(format!("indexed {} of {}", grouped(indexed), grouped(known)));
        }
        (indexed == 0).then(|| "reading the folder, nothing indexed yet".to_string())
    }
}

/// Formats `9800` as `9,800`.
pub(super) fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}
