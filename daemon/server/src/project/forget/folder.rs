//! Folder: finds the files of the project that still contain forgotten text.
//!
//! In: what was forgotten, and the strings to find it by. Out: paths. Invariant: no file is
//! written.
//! Not here: the state folder (`index::erase`).

use std::collections::BTreeSet;

use index::erase::{self, Needles};
use index::store::{Gone, StoreError};

use super::ForgetError;
use crate::project::Project;

impl Project {
    /// Returns the files of the project that contain it, judging by the index and by their bytes.
    pub(super) fn files_holding(
        &self,
        gone: &Gone,
        needles: &Needles,
    ) -> Result<BTreeSet<String>, ForgetError> {
        let snapshot = self.snapshot()?;
        let sql = "SELECT path, title || char(10) || meta || char(10) || text FROM docs
                   UNION ALL SELECT path, '' FROM quarantine WHERE path NOT IN (SELECT path FROM docs)";
        let mut statement = snapshot.prepare(sql).map_err(StoreError::from)?;
        let mut rows = statement.query([]).map_err(StoreError::from)?;
        // Files that were named themselves hold it by definition, as long as they exist.
        let mut found: BTreeSet<String> = gone.paths.intersection(&gone.present).cloned().collect();
        while let Some(row) = rows.next().map_err(StoreError::from)? {
            let path: String = row.get(0).map_err(StoreError::from)?;
            let text: String = row.get(1).map_err(StoreError::from)?;
            let is_in = |bytes: &[u8]| needles.are_in(bytes);
            let holds = is_in(path.as_bytes()) || is_in(text.as_bytes());
            // The index has no text for what readers drop, such as markup: look at the bytes, too.
            if holds || self.notes.bytes_at(&path).is_some_and(|bytes| is_in(&bytes)) {
                found.insert(path);
            }
        }
        Ok(found)
    }

    /// Adds the files of the folder that contain it although they are not indexed: other formats,
    /// ignored and hidden ones. Skips `.git`, whose objects are compressed, and files that this
    /// user cannot read.
    pub(super) fn add_unindexed(
        &self,
        needles: &Needles,
        found: &mut BTreeSet<String>,
    ) -> Result<(), ForgetError> {
        let root = self.opened_root()?;
        let mut folders = vec![String::new()];
        while let Some(folder) = folders.pop() {
            let Ok(listing) = root.list(&folder) else { continue };
            let names = listing.entries.iter().filter_map(|(name, _)| name.to_str());
            for name in names.filter(|name| *name != ".git") {
                let path = if folder.is_empty() { name.into() } else { format!("{folder}/{name}") };
                let Ok(meta) = listing.meta_of(std::ffi::OsStr::new(name)) else { continue };
                if meta.is_folder() {
                    folders.push(path);
                } else if meta.is_file() && !found.contains(&path) {
                    let Ok(Some(file)) = root.find(&path).map(|it| it.open()).unwrap_or(Ok(None))
                    else {
                        continue;
                    };
                    if needles.are_in(path.as_bytes()) || erase::stands_in(file, needles)? {
                        found.insert(path);
                    }
                }
            }
        }
        Ok(())
    }
}
