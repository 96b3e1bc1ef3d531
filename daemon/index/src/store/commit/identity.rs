//! Identity: finds a document's row, wherever its file is now.
//!
//! The ledger says which uid is at a path; the row of that uid moves there with its chunks, texts and vectors. The
//! row that was at the path is overwritten, or changes places with it.
//! Invariants: a uid has one row; a row that was moved aside looks stale (a hash that no content has, a time that no
//! file has), so it is read again even if the process dies before its own item arrives.

use rusqlite::{Connection, OptionalExtension, Transaction, params};

use super::names::names_of_doc;
use super::{Deferred, day_of, remove};
use crate::store::ledger::{IngestRecord, Ledger};
use crate::store::permalinks::GoneDocument;
use crate::store::work::Work;
use crate::store::{DocVersion, StoreError, duplicates};
use model::Ticket;
use model::document::Document;
use model::terms::{RelPath, SAME_DOCUMENT, Sketch};

/// A file younger than this that is renamed over a document counts as a save of it, milliseconds. Editors take less
/// than a second; a person who writes a draft to replace a document takes longer.
const SAVE_MS: i64 = 60_000;

/// What a document's row holds besides the results of the stages.
#[derive(Debug, Default)]
pub(in crate::store) struct Identity {
    /// From the ledger.
    pub uid: String,
    /// From the ledger.
    pub ingest: IngestRecord,
    /// Previous path, if it has moved.
    pub moved_from: Option<RelPath>,
    /// True when the document that was here is now at the previous path.
    pub is_exchange: bool,
    /// From the ledger: the last known version.
    pub known: Option<DocVersion>,
}

impl Identity {
    /// Returns the document as it is gone from the path where it was, if it moved to this one.
    pub(in crate::store) fn gone_from(&self, path: &RelPath, now_ms: i64) -> Option<GoneDocument> {
        let was = self.known.as_ref().filter(|it| it.path != path.as_str() && !self.is_exchange)?;
        let (path, uid) = (was.path.clone(), self.uid.clone());
        Some(GoneDocument { path, uid, permalink: None, gone_ms: now_ms })
    }
}

/// The row that a document already has.
pub(super) struct Existing {
    pub(super) id: i64,
    pub(super) terms: String,
    pub(super) mentions_hash: i64,
    pub(super) indexed_as: String,
    pub(super) has_moved: bool,
    hash: Vec<u8>,
    day: String,
    uid: String,
    path: String,
}

impl Existing {
    /// Returns whether this is the row of the same document.
    pub(super) fn is_of(&self, identity: &Identity) -> bool {
        self.uid == identity.uid
    }

    /// Returns whether the rows were made from the same bytes.
    pub(super) fn has_hash(&self, doc: &Document) -> bool {
        self.hash == doc.head.hash.0.to_le_bytes()
    }

    /// Returns whether the rows were made from the same content and day, which may come from the file's time.
    pub(super) fn is_same_content(&self, doc: &Document) -> bool {
        self.has_hash(doc) && self.day == day_of(doc)
    }
}

/// Records in the ledger which document this is.
pub(in crate::store) fn identify(
    db: &Connection,
    ledger: &Ledger,
    ticket: &Ticket,
    doc: &Document,
    now_ms: i64,
) -> Result<Identity, StoreError> {
    let mut moved_from = ticket.moved_from.clone();
    // A save by rename looks like a move: the draft's path is gone. The document then keeps the identity of its path.
    if let Some(from) = &moved_from
        && !ticket.is_exchange
        && is_save(db, ledger, from, doc, now_ms)?
    {
        moved_from = None;
    }
    let (uid, known) = ledger.identify(&ticket.path, doc.head.hash, moved_from.as_ref(), now_ms)?;
    let ingest = ledger.ingest_record(&uid)?;
    Ok(Identity { uid, ingest, moved_from, is_exchange: ticket.is_exchange, known })
}

/// Returns whether a file that was renamed over another document is a new version of it: it was written a moment ago,
/// as editors and sync tools do, or its text is similar.
fn is_save(
    db: &Connection,
    ledger: &Ledger,
    from: &RelPath,
    doc: &Document,
    now_ms: i64,
) -> Result<bool, StoreError> {
    // Nothing was at the path: a plain move.
    if ledger.first_seen_ms(&doc.head.path)?.is_none() {
        return Ok(false);
    }
    let Some(first_seen_ms) = ledger.first_seen_ms(from)? else { return Ok(false) };
    if now_ms - first_seen_ms < SAVE_MS {
        return Ok(true);
    }
    let text: Option<String> = db
        .prepare_cached("SELECT text FROM docs WHERE path = ?1")?
        .query_row([doc.head.path.as_str()], |row| row.get(0))
        .optional()?;
    let (old, new) = (text.as_deref().map(Sketch::of), Sketch::of(&doc.text));
    Ok(old.is_some_and(|old| old.similarity(&new) >= SAME_DOCUMENT))
}

/// Returns the row with this path.
pub(super) fn row_at(tx: &Transaction<'_>, path: &RelPath) -> Result<Option<Existing>, StoreError> {
    row(tx, "path", path.as_str())
}

/// Returns the row of the document that is now at `path`, moved there if it was elsewhere. `here` is the row that has
/// the path so far.
pub(super) fn find(
    tx: &Transaction<'_>,
    here: Option<Existing>,
    path: &RelPath,
    identity: &Identity,
    writes: &mut Deferred,
) -> Result<Option<Existing>, StoreError> {
    if here.as_ref().is_some_and(|here| here.is_of(identity)) {
        return Ok(here);
    }
    let own = row(tx, "uid", &identity.uid)?;
    match (here, own) {
        (here, None) => {
            // The document that was here is nowhere else.
            here.map_or(Ok(Vec::new()), |_| remove(tx, path, writes))?;
            Ok(None)
        }
        (Some(here), Some(own)) if identity.is_exchange => {
            // Paths are unique, so the row here gets an empty one until the other has moved.
            set_path(tx, here.id, "")?;
            set_path(tx, own.id, path.as_str())?;
            set_aside(tx, here.id, &own.path)?;
            Ok(Some(Existing { has_moved: true, ..own }))
        }
        (here, Some(own)) => {
            if here.is_some() {
                remove(tx, path, writes)?;
            }
            set_path(tx, own.id, path.as_str())?;
            if identity.moved_from.as_ref().is_none_or(|from| from.as_str() != own.path) {
                // No move was reported, so its old path may still have a file.
                writes.look_again(RelPath::new(own.path.as_str()));
            }
            Ok(Some(Existing { has_moved: true, ..own }))
        }
    }
}

fn row(tx: &Transaction<'_>, column: &str, value: &str) -> Result<Option<Existing>, StoreError> {
    let mut statement = tx.prepare_cached(&format!(
        "SELECT id, terms, mentions_hash, coalesce(json_extract(meta, '$.indexed_as'), ''), hash, day, uid, path
         FROM docs WHERE {column} = ?1"
    ))?;
    let read = |row: &rusqlite::Row<'_>| {
        Ok(Existing {
            id: row.get(0)?,
            terms: row.get(1)?,
            mentions_hash: row.get(2)?,
            indexed_as: row.get(3)?,
            has_moved: false,
            hash: row.get(4)?,
            day: row.get(5)?,
            uid: row.get(6)?,
            path: row.get(7)?,
        })
    };
    Ok(statement.query_row([value], read).optional()?)
}

fn set_path(tx: &Transaction<'_>, id: i64, path: &str) -> Result<(), StoreError> {
    tx.prepare_cached("UPDATE docs SET path = ?2 WHERE id = ?1")?.execute(params![id, path])?;
    duplicates::moved(tx, id, path)
}

/// Gives a row the path of the document it changed places with. Columns that depend on the path are wrong until its
/// own item arrives, which follows at once; a crawl would find the row changed, too.
fn set_aside(tx: &Transaction<'_>, id: i64, path: &str) -> Result<(), StoreError> {
    tx.prepare_cached(
        "UPDATE docs SET path = ?2, hash = zeroblob(16), mtime_ms = -1, mentions_hash = 0 WHERE id = ?1",
    )?
    .execute(params![id, path])?;
    duplicates::moved(tx, id, path)?;
    Work::Gather.add(tx, names_of_doc(tx, id)?)
}
