//! Journal: how a batch changes documents, compared with the index.
//!
//! In: the items of a batch with their identities, before they are written; the index as of the last commit. Out:
//! rows of the ledger's journal, in the ledger's transaction.
//! Invariants: a document with the same content at the same path gets no row, however often it is read. A document is
//! compared with the index; during a rebuild, one that the index does not have yet is compared with the ledger, which
//! knows paths and hashes but no lines. Nothing is written until a first index is complete. Rows of a failed commit
//! are dropped, at once or when the index is opened again. During a rebuild they stay, since the ledger knows the new
//! version by then; the next row of the document replaces them.

mod lines;

use rusqlite::{Connection, OptionalExtension, params};
use rustc_hash::FxHashMap;

pub(crate) use self::lines::of_row as lines_of;
pub use self::lines::{Line, first as first_lines};
use super::commit::Identity;
use super::ledger::Ledger;
use super::{DocChange, DocVersion, StoreError};
use model::document::{Document, Reading};
use model::terms::{RelPath, Tick};

/// Key of `meta` that exists once everything is indexed.
const WHOLE: &str = "whole";

/// The hash of a row that was moved aside; no content has it.
const ASIDE: [u8; 16] = [0; 16];

/// Returns whether everything has been indexed since this index was created.
pub(super) fn is_whole(index: &Connection) -> Result<bool, StoreError> {
    let sql = "SELECT 1 FROM meta WHERE key = ?1";
    Ok(index.prepare_cached(sql)?.exists([WHOLE])?)
}

/// Records that everything is indexed: from now on, what the index does not have is new.
pub(super) fn mark_whole(index: &Connection) -> Result<(), StoreError> {
    index.execute("INSERT OR REPLACE INTO meta VALUES(?1, 1)", [WHOLE])?;
    Ok(())
}

/// A row of the index.
struct Indexed {
    id: i64,
    uid: String,
    version: DocVersion,
}

/// Writes the changes of one batch.
pub(super) struct Journal<'a> {
    index: &'a Connection,
    ledger: &'a Ledger,
    tick: Tick,
    now_ms: i64,
    is_whole: bool,
    /// Documents that have a path after this batch, by uid, with their versions before it.
    placed: FxHashMap<String, Option<DocVersion>>,
    n_written: usize,
}

impl<'a> Journal<'a> {
    /// Starts the journal of the commit `tick`; `None` while a first index is built.
    pub(super) fn begin(
        index: &'a Connection,
        ledger: &'a Ledger,
        tick: Tick,
        now_ms: i64,
    ) -> Result<Option<Self>, StoreError> {
        if !ledger.has_journal()? {
            return Ok(None);
        }
        let is_whole = is_whole(index)?;
        let placed = FxHashMap::default();
        Ok(Some(Journal { index, ledger, tick, now_ms, is_whole, placed, n_written: 0 }))
    }

    /// Records a document that will be written; the ledger has its new path already.
    pub(super) fn document(
        &mut self,
        doc: &Document,
        identity: &Identity,
    ) -> Result<(), StoreError> {
        if doc.head.reading != Reading::Whole {
            // Its content is what the index has, or it will not be written.
            return Ok(());
        }
        let path = doc.head.path.as_str();
        self.displaced(path, identity)?;
        let hash = doc.head.hash.0.to_le_bytes().to_vec();
        let after = DocVersion { path: path.to_string(), hash };
        let own = self.indexed("uid", &identity.uid)?;
        // The ledger replaces the index only during a rebuild: then a missing row does not mean a new document.
        let known = identity.known.clone().filter(|_| !self.is_whole);
        let (before, is_unseen) = match (&own, known) {
            (Some(own), _) => (Some(own.version.clone()), false),
            (None, known) => {
                let is_unseen = known.is_some();
                (known, is_unseen)
            }
        };
        let is_again = self.placed.insert(identity.uid.clone(), before.clone()).is_some();
        if before.as_ref() == Some(&after) {
            // An earlier version of it may be in this batch; its row is void now.
            return if is_again {
                self.ledger.drop_change(self.tick, &identity.uid)
            } else {
                Ok(())
            };
        }
        // Lines exist for changed and for new documents. A moved document has none, and neither has one whose old
        // text is unknown.
        let (lines, n_more) = match (&own, &before) {
            (Some(own), Some(before)) if before.hash != after.hash => {
                let old = lines::of_row(self.index, own.id)?;
                lines::changed(&old, &lines::of_document(doc))
            }
            (None, None) => lines::first(&lines::of_document(doc)),
            _ => (Vec::new(), 0),
        };
        let was_aside = own.as_ref().is_some_and(|own| own.version.hash == ASIDE);
        if was_aside && lines.is_empty() {
            // The exchange was recorded with the other document.
            return Ok(());
        }
        self.keep(identity.uid.clone(), before, Some(after), is_unseen, (lines, n_more))
    }

    /// Records what happens to the document at `path` when another one takes its place.
    fn displaced(&mut self, path: &str, identity: &Identity) -> Result<(), StoreError> {
        let here = self.indexed("path", path)?;
        let Some(here) =
            here.filter(|it| it.uid != identity.uid && !self.placed.contains_key(&it.uid))
        else {
            return Ok(());
        };
        let mut after = None;
        if identity.is_exchange {
            let own = self.indexed("uid", &identity.uid)?;
            // It goes to the old path of the other one; without an exchange it is gone.
            after = own.map(|own| DocVersion { path: own.version.path, ..here.version.clone() });
        }
        self.keep(here.uid, Some(here.version), after, false, Default::default())
    }

    /// Records a document that will be deleted; the ledger does not know yet.
    pub(super) fn removed(&mut self, path: &RelPath) -> Result<(), StoreError> {
        let known = self.ledger.version_at(path)?;
        if let Some((uid, _)) = &known
            && let Some(before) = self.placed.remove(uid)
        {
            // This batch wrote it: the row covers both, or nothing if it did not exist before.
            return match before {
                Some(_) => self.keep(uid.clone(), before, None, false, Default::default()),
                None => self.ledger.drop_change(self.tick, uid),
            };
        }
        let (uid, before, is_unseen) = match (self.indexed("path", path.as_str())?, known) {
            // It has moved away in this batch.
            (Some(it), _) if self.placed.contains_key(&it.uid) => return Ok(()),
            (Some(it), _) => (it.uid, it.version, false),
            (None, Some((uid, version))) if !self.is_whole => (uid, version, true),
            (None, _) => return Ok(()),
        };
        self.keep(uid, Some(before), None, is_unseen, Default::default())
    }

    /// Records documents that disappeared while the daemon was not running.
    pub(super) fn vanished(
        &mut self,
        documents: Vec<(String, DocVersion)>,
    ) -> Result<(), StoreError> {
        for (uid, before) in documents {
            self.keep(uid, Some(before), None, true, Default::default())?;
        }
        Ok(())
    }

    /// Drops rows that are too old; must be the last call.
    pub(super) fn end(self) -> Result<(), StoreError> {
        if self.n_written > 0 { self.ledger.prune_changes() } else { Ok(()) }
    }

    fn keep(
        &mut self,
        uid: String,
        before: Option<DocVersion>,
        after: Option<DocVersion>,
        is_unseen: bool,
        (lines, n_more): (Vec<super::ChangedLine>, u32),
    ) -> Result<(), StoreError> {
        self.n_written += 1;
        let (tick, at_ms) = (self.tick, self.now_ms);
        self.ledger.keep_change(&DocChange {
            tick,
            uid,
            at_ms,
            before,
            after,
            is_unseen,
            lines,
            n_more,
        })
    }

    fn indexed(&self, column: &str, value: &str) -> Result<Option<Indexed>, StoreError> {
        let sql = format!("SELECT id, uid, path, hash FROM docs WHERE {column} = ?1");
        let row = |row: &rusqlite::Row<'_>| {
            let version = DocVersion { path: row.get(2)?, hash: row.get(3)? };
            Ok(Indexed { id: row.get(0)?, uid: row.get(1)?, version })
        };
        Ok(self.index.prepare_cached(&sql)?.query_row(params![value], row).optional()?)
    }
}

#[cfg(test)]
mod tests;
