//! Folder: finds the files of the project that still contain forgotten text, and others that say the same.
//!
//! In: what was forgotten, and the strings to find it by. Out: paths; what no other document, version or row contains.
//! Invariant: no file is written.

use std::collections::BTreeSet;

use index::erase::{self, Needle, Needles, Traces};
use index::store::{Gone, StoreError, each_text, is_within};

use super::{ForgetError, Pending, ledgers};
use crate::project::Project;

impl Project {
    /// Passes each indexed or quarantined file to `see`: its path, its uid, if it has one, and all text of it in the
    /// index.
    pub(super) fn each_file(
        &self,
        see: &mut dyn FnMut(&str, &str, &str),
    ) -> Result<(), StoreError> {
        self.snapshot()?.files().each_with_words(see)
    }

    /// Returns the files of the project that are meant, and those with one of the strings.
    pub(super) fn files_meant(
        &self,
        gone: &Gone,
        strings: Option<&Needles>,
    ) -> Result<BTreeSet<String>, ForgetError> {
        let mut found = BTreeSet::new();
        // The index has no text for what readers drop, such as markup: look at the bytes, too.
        let bytes = |path: &str| self.notes.bytes_at(path).unwrap_or_default();
        let holds = |it: &Needles, path: &str, text: &str| {
            it.are_in(text.as_bytes()) || it.are_in(&bytes(path))
        };
        self.each_file(&mut |path, uid, text| {
            if is_meant(gone, path, uid) || strings.is_some_and(|it| holds(it, path, text)) {
                found.insert(path.to_string());
            }
        })?;
        Ok(found)
    }

    /// Returns the traces that nothing else has, and who has the others: paths, ids of entries, names of entities. What
    /// is left in the ledger, its copies and the kept versions is others'.
    pub(super) fn own_traces(
        &self,
        pending: &Pending,
    ) -> Result<(BTreeSet<Needle>, BTreeSet<String>), ForgetError> {
        let Pending { gone, traces, .. } = pending;
        if traces.is_empty() {
            return Ok(Default::default());
        }
        let (mut traces, mut others) = (Traces::new(traces)?, BTreeSet::new());
        self.each_file(&mut |path, uid, text| {
            let bytes = || self.notes.bytes_at(path).unwrap_or_default();
            if !is_meant(gone, path, uid)
                && (traces.leave_out(text.as_bytes()) | traces.leave_out(&bytes()))
            {
                others.insert(path.to_string());
            }
        })?;
        for version in self.notes.kept(None).unwrap_or_default() {
            if traces.leave_out(version.path.as_bytes()) | traces.leave_out(&version.bytes()?) {
                others.insert(version.path);
            }
        }
        for ledger in ledgers(self)? {
            let seen = each_text(&ledger, &mut |row, text| {
                if !gone.uids.contains(&row.uid()) && traces.leave_out(text) {
                    others.insert(row.owner());
                }
            });
            // A copy that cannot be read says nothing.
            if ledger.ends_with("ledger.sqlite") {
                seen?;
            }
        }
        Ok((traces.into_own(), others))
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

/// Returns whether a file is a document that is meant, or one that cannot be read at a path that is.
fn is_meant(gone: &Gone, path: &str, uid: &str) -> bool {
    gone.uids.contains(uid) || (uid.is_empty() && gone.paths.iter().any(|it| is_within(path, it)))
}
