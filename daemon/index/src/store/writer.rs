//! Writer: the only code that writes index and ledger.
//!
//! A batch of items is committed in one transaction: rows, quarantine, dirty marks and the tick together. The ledger
//! is written first; both writes are idempotent.

mod ripple;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arc_swap::ArcSwap;
use config::Settings;
use rusqlite::{Connection, params};
use rustc_hash::FxHashMap;

use super::changes::Changes;
use super::journal::{self, Journal};
use super::ledger::{Failing, Ledger};
use super::names::{AllNames, Resolver};
use super::trouble::Trouble;
use super::{Held, Part, StoreError, commit, gazetteer, quarantine};
use crate::vectors::Vectors;
use crate::words::Indexer;
use embed::Embedder;
use extract::recognize::gazetteer::Gazetteer;
use model::document::{Document, Reading};
use model::terms::{Generation, Lane, RelPath, Tick};
use model::{Item, Ticket};

/// Virtual machine instructions of SQLite between two checks whether a write should be interrupted.
const STEPS_A_LOOK: i32 = 100;

/// The outcome of a commit.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Committed {
    /// Its number.
    pub tick: Tick,
    /// Documents written or removed.
    pub n_documents: usize,
    /// The last of them.
    pub last_path: Option<RelPath>,
    /// The last fault, if one was among them.
    pub last_fault: Option<String>,
    /// Of these, documents written because their files changed, not because of names that were learned late.
    pub n_written: usize,
    /// Paths whose files must be checked again, because their row went to another document.
    pub look_again: Vec<RelPath>,
    /// Each interactive item, overtaken ones included: its generation, and its fault if it had one.
    pub interactive: Vec<(RelPath, (Generation, Option<String>))>,
}

pub use ripple::RippleStep;

/// Owns the writing connections.
pub struct IndexWriter {
    pub(super) db: Connection,
    pub(super) path: PathBuf,
    pub(super) answers: PathBuf,
    pub(super) made_by: String,
    pub(super) ledger: Ledger,
    pub(super) held: Held,
    embedder: Arc<dyn Embedder>,
    pub(super) settings: Settings,
    gazetteer: Arc<ArcSwap<Gazetteer>>,
    pub(super) tick: Tick,
    /// The last tick that is reserved in the ledger.
    reserved: Tick,
    /// Everything has been indexed since the index was created.
    pub(super) is_whole: bool,
    pub(super) vectors: Arc<Vectors>,
    pub(super) changes: Arc<Changes>,
    committed: FxHashMap<RelPath, Generation>,
    pub(super) is_reconciled: bool,
    names_a_step: usize,
    /// All names, while they are decided in bulk; dropped as soon as any facts change.
    pub(super) all_names: Option<Arc<AllNames>>,
    requeued: Round,
    unread: Vec<RelPath>,
    pub(super) indexer: Indexer,
    pub(super) deepened: Round,
    pub(super) interruption: Arc<AtomicBool>,
    /// True while an interruption must wait.
    pub(super) is_shielded: Arc<AtomicBool>,
}

/// Progress of handing out documents that must be read again, in order of their rows.
#[derive(Debug, Default)]
pub(super) struct Round {
    /// The last document handed out in this round.
    pub(super) last_id: i64,
    /// The sum of the rows that were left when the round started. If it is the same at the end, the round completed
    /// none.
    pub(super) left: Option<i64>,
}

impl IndexWriter {
    /// Opens both databases in `folder` and loads the gazetteer. `fingerprint` identifies everything that the rows
    /// depend on besides the files; an index with another fingerprint is rebuilt.
    pub fn open(
        folder: &Path,
        fingerprint: &str,
        settings: &Settings,
        embedder: Arc<dyn Embedder>,
    ) -> Result<Self, StoreError> {
        let opened = Self::open_once(folder, fingerprint, settings, embedder.clone());
        match opened {
            // Damage in the tables that are read here shows only after the index was opened.
            Err((Some(path), error)) if error.trouble() == Trouble::Corrupt => {
                tracing::warn!(path = %path.display(), why = %error, "the index is rebuilt from the files");
                super::open::set_aside(&path)?;
                Self::open_once(folder, fingerprint, settings, embedder)
            }
            opened => opened,
        }
        .map_err(|(_, error)| error)
    }

    /// As [`IndexWriter::open`]; an error comes with the index's file if that was opened.
    fn open_once(
        folder: &Path,
        fingerprint: &str,
        settings: &Settings,
        embedder: Arc<dyn Embedder>,
    ) -> Result<Self, (Option<PathBuf>, StoreError)> {
        let early = |error| (None, error);
        // The ledger, not a stand-in from the last run, is the truth now.
        super::open::remove(&folder.join(super::open::STAND_IN)).map_err(early)?;
        let ledger = Ledger::open(&folder.join(super::open::LEDGER_FILE)).map_err(early)?;
        sys::fail::point("open.ledger");
        let floor = ledger.reserved_tick().map_err(early)?;
        let opened = super::open::index(folder, fingerprint, floor).map_err(early)?;
        let path = opened.path.clone();
        let writer = Self::begin(ledger, opened, folder, fingerprint, settings, embedder);
        writer.map_err(|error| (Some(path), error))
    }

    fn begin(
        ledger: Ledger,
        opened: super::open::Opened,
        folder: &Path,
        fingerprint: &str,
        settings: &Settings,
        embedder: Arc<dyn Embedder>,
    ) -> Result<Self, StoreError> {
        let mut db = opened.db;
        let interruption = Arc::new(AtomicBool::new(false));
        let is_shielded = Arc::new(AtomicBool::new(false));
        heed(&mut db, &interruption, &is_shielded)?;
        let changes = Arc::new(Changes::default());
        changes.follow(&mut db)?;
        let tick = meta_number(&db, "tick")?;
        changes.begin_at(Tick(tick));
        let version = meta_number(&db, "gazetteer")?;
        let gazetteer = gazetteer::load(&db, version)?;
        ledger.reconcile(&db)?;
        ledger.load_breakers(&db)?;
        super::permalinks::know_gone(&db, &ledger)?;
        let is_whole = journal::is_whole(&db)?;
        // During a rebuild these rows stay: see `journal.rs`.
        if is_whole {
            ledger.drop_changes_after(Tick(tick))?;
        }
        let reserved = ledger.reserved_tick()?;
        let unread = ripple::unread(&db)?;
        sys::fail::point("open.after");
        let held = Held::default();
        held.hold(Part::Ledger, &folder.join(super::open::LEDGER_FILE));
        held.hold(Part::Index, &opened.path);
        Ok(IndexWriter {
            db,
            path: opened.path,
            answers: opened.answers,
            made_by: super::open::made_by(fingerprint),
            ledger,
            held,
            embedder,
            settings: settings.clone(),
            gazetteer: Arc::new(ArcSwap::from_pointee(gazetteer)),
            tick: Tick(tick),
            reserved,
            is_whole,
            vectors: Arc::new(Vectors::held_as(settings.vectors.precision, folder.to_path_buf())),
            changes,
            committed: FxHashMap::default(),
            is_reconciled: false,
            names_a_step: ripple::NAMES_AT_FIRST,
            all_names: None,
            requeued: Round::default(),
            unread,
            indexer: Indexer::new(),
            deepened: Round::default(),
            interruption,
            is_shielded,
        })
    }

    /// Returns the current gazetteer; recognizers read it, only the writer replaces it.
    pub fn gazetteer(&self) -> Arc<ArcSwap<Gazetteer>> {
        self.gazetteer.clone()
    }

    /// Returns the path of the file that is written.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the path of the file that answers until the written one is complete; the same file if none is being
    /// replaced.
    pub fn answers(&self) -> &Path {
        &self.answers
    }

    /// Returns a flag that, when set, ends the running write with [`StoreError::Interrupted`] and rolls it back. Who
    /// sets it must clear it.
    pub fn interruption(&self) -> Arc<AtomicBool> {
        self.interruption.clone()
    }

    /// Returns the last commit.
    pub fn tick(&self) -> Tick {
        self.tick
    }

    /// Returns the ledger: review decisions and ingestion records.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// Returns the check of whether the open files are still in place.
    pub fn held(&self) -> &Held {
        &self.held
    }

    /// Commits a batch. With `resolve_now`, the names it made dirty are resolved in the same transaction, except
    /// those that take long.
    pub fn commit(
        &mut self,
        items: &[Item<Document>],
        now_ms: i64,
        resolve_now: bool,
    ) -> Result<Committed, StoreError> {
        let done = self.write_batch(items, now_ms, resolve_now);
        if done.is_err()
            && self.is_whole
            && let Err(error) = self.ledger.drop_changes_after(self.tick)
        {
            tracing::warn!(%error, "the journal may name changes that were not committed");
        }
        done.map_err(|error| self.with_interruption(error))
    }

    /// Returns the tick of the next commit, reserving further ticks if necessary.
    pub(super) fn next_tick(&mut self) -> Result<Tick, StoreError> {
        let tick = Tick(self.tick.0 + 1);
        if tick > self.reserved {
            self.reserved = self.ledger.reserve_ticks(tick)?;
        }
        Ok(tick)
    }

    /// Interprets an error, given whether an interruption was requested.
    fn with_interruption(&self, error: StoreError) -> StoreError {
        let was_asked = self.interruption.load(Ordering::SeqCst);
        if was_asked { error.while_interrupted() } else { error }
    }

    fn write_batch(
        &mut self,
        items: &[Item<Document>],
        now_ms: i64,
        resolve_now: bool,
    ) -> Result<Committed, StoreError> {
        sys::fail::point("commit.before");
        self.all_names = None;
        let fresh = self.fresh(items);
        let tick = self.next_tick()?;
        // The ledger is committed before the index's transaction starts. After a crash in between, the items are read
        // again and get the same identities.
        let identities = self.write_ledger(&fresh, tick, now_ms)?;
        let mut done = Committed { tick, ..Committed::default() };
        done.interactive = items.iter().filter_map(interactive_outcome).collect();
        let breakers = self.ledger.breakers().clone();
        let tx = self.db.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
        sys::fail::point("commit.begun");
        let mut touched = Vec::new();
        let mut writes = commit::Deferred::with(std::mem::take(&mut self.indexer));

        for (item, identity) in fresh.iter().zip(&identities) {
            if let Item::Document(_, doc) = item
                && let Reading::Stored(id) = doc.head.reading
            {
                touched.extend(commit::found(&tx, doc, id)?);
                done.n_documents += 1;
                done.last_path = Some(doc.head.path.clone());
                continue;
            }
            let failing = breakers.after(item, now_ms);
            match item {
                Item::Removed(ticket) => super::permalinks::bury(&tx, &ticket.path, now_ms)?,
                _ => super::permalinks::unbury(&tx, &item.ticket().path)?,
            }
            if let Some(gone) = identity.gone_from(&item.ticket().path, now_ms) {
                super::permalinks::remember(&tx, &gone)?;
            }
            let names = write_item(&tx, item, identity, failing.as_ref(), done.tick, &mut writes)?;
            sys::fail::point("commit.document");
            touched.extend(names);
            done.n_documents += 1;
            let is_change = matches!(item, Item::Document(ticket, _) if !ticket.is_forced);
            done.n_written += usize::from(is_change);
            done.last_path = Some(item.ticket().path.clone());
            if let Item::Faulted(ticket, fault) = item {
                done.last_fault = Some(format!("{}: {fault}", ticket.path));
            }
        }
        std::mem::take(&mut writes.terms).write(&tx)?;
        if resolve_now {
            touched.sort_unstable();
            touched.dedup();
            let resolver = Resolver {
                db: &tx,
                embedder: &self.embedder,
                ledger: &self.ledger,
                weights: &self.settings.link,
            };
            resolver.run_soon(&touched)?;
            super::links::settle_soon(&tx)?;
            sys::fail::point("commit.resolved");
        }
        done.look_again = writes.take_look_again();
        sys::fail::point("commit.late");
        // Virtual tables must not be interrupted halfway, and this is the short end of a batch.
        self.is_shielded.store(true, Ordering::SeqCst);
        let written = writes.run(&tx);
        self.is_shielded.store(false, Ordering::SeqCst);
        let (change, indexer) = written?;
        self.indexer = indexer;
        set_meta_number(&tx, "tick", done.tick.0)?;
        sys::fail::point("commit.ticked");
        commit::commit(tx, &self.vectors, &self.changes, done.tick, change)?;
        sys::fail::point("commit.after");
        self.tick = done.tick;
        // Only after the commit: a failed batch must leave no trace in memory.
        for item in fresh.into_iter().filter(|it| !is_stored(it)) {
            breakers.note(&item.ticket().path, breakers.after(item, now_ms));
            self.committed.insert(item.ticket().path.clone(), item.ticket().generation);
        }
        Ok(done)
    }

    /// Returns the items of a batch that were not overtaken, either by what is committed for their path or by an item
    /// before them.
    fn fresh<'a>(&self, items: &'a [Item<Document>]) -> Vec<&'a Item<Document>> {
        let mut newest: FxHashMap<&RelPath, Generation> = FxHashMap::default();
        let is_fresh = |item: &&'a Item<Document>| {
            let Ticket { path, generation, .. } = item.ticket();
            // What the row holds decides about a document of the index.
            if is_stored(item) {
                return true;
            }
            let known = newest.get(path).or_else(|| self.committed.get(path));
            let is_fresh = known.is_none_or(|last| last <= generation);
            if is_fresh {
                newest.insert(path, *generation);
            }
            is_fresh
        };
        items.iter().filter(is_fresh).collect()
    }

    /// Writes a batch to the ledger, in one transaction.
    pub(super) fn write_ledger(
        &self,
        items: &[&Item<Document>],
        tick: Tick,
        now_ms: i64,
    ) -> Result<Vec<commit::Identity>, StoreError> {
        self.ledger.begin()?;
        sys::fail::point("ledger.begun");
        let identities =
            self.ledger.observe(now_ms).and_then(|()| self.identify(items, tick, now_ms));
        sys::fail::point("ledger.written");
        let done = identities.and_then(|identities| self.ledger.commit().map(|()| identities));
        if done.is_err() {
            self.ledger.roll_back();
        }
        sys::fail::point("ledger.committed");
        done
    }

    fn identify(
        &self,
        items: &[&Item<Document>],
        tick: Tick,
        now_ms: i64,
    ) -> Result<Vec<commit::Identity>, StoreError> {
        let mut journal = Journal::begin(&self.db, &self.ledger, tick, now_ms)?;
        let mut out = Vec::with_capacity(items.len());
        for item in items {
            let ticket = item.ticket();
            let mut identity = commit::Identity::default();
            if is_stored(item) {
                out.push(identity);
                continue;
            }
            match item {
                Item::Document(_, doc) => {
                    identity = commit::identify(&self.db, &self.ledger, ticket, doc, now_ms)?;
                    if let Some(journal) = &mut journal {
                        journal.document(doc, &identity)?;
                    }
                }
                // The index keeps what it has, so nothing changes.
                Item::Faulted(_, fault) if fault.is_transient => {}
                Item::Removed(_) | Item::Faulted(..) => {
                    if let Some(journal) = &mut journal {
                        journal.removed(&ticket.path)?;
                    }
                }
            }
            if let Item::Removed(_) = item {
                self.ledger.keep_permalink(&self.db, &ticket.path)?;
                self.ledger.mark_gone(&ticket.path, now_ms)?;
            }
            match self.ledger.breakers().after(item, now_ms) {
                Some(failing) => self.ledger.count_failure(&ticket.path, &failing)?,
                None => self.ledger.forget_failures(&ticket.path)?,
            }
            out.push(identity);
        }
        journal.map_or(Ok(()), Journal::end)?;
        Ok(out)
    }

    /// Empties the caches; they fill again as needed.
    pub fn release_memory(&mut self) -> Result<(), StoreError> {
        self.indexer = Indexer::new();
        self.db.release_memory()?;
        self.ledger.release_memory()
    }

    /// Returns free pages to the file system, up to 512 a call; cheap when there are none.
    pub fn vacuum(&self) -> Result<(), StoreError> {
        sys::fail::point("vacuum.before");
        self.db.execute_batch("PRAGMA incremental_vacuum(512)")?;
        sys::fail::point("vacuum.after");
        Ok(())
    }
}

/// Returns whether an item is a document of the index that was read again for its names.
fn is_stored(item: &Item<Document>) -> bool {
    matches!(item, Item::Document(_, doc) if doc.head.reading != Reading::Whole)
}

fn interactive_outcome(item: &Item<Document>) -> Option<(RelPath, (Generation, Option<String>))> {
    let ticket = item.ticket();
    let fault = match item {
        Item::Faulted(_, fault) => Some(fault.to_string()),
        _ => None,
    };
    (ticket.lane == Lane::Interactive).then(|| (ticket.path.clone(), (ticket.generation, fault)))
}

fn write_item(
    tx: &rusqlite::Transaction<'_>,
    item: &Item<Document>,
    identity: &commit::Identity,
    failing: Option<&Failing>,
    tick: Tick,
    writes: &mut commit::Deferred,
) -> Result<Vec<i64>, StoreError> {
    let path = &item.ticket().path;
    match failing {
        Some(failing) => quarantine::put(tx, path, failing, tick)?,
        None => quarantine::take_out(tx, path)?,
    }
    match item {
        Item::Document(_, doc) => commit::document(tx, doc, identity, writes),
        // A transient fault leaves the old rows; with a permanent one they would be stale.
        Item::Faulted(_, fault) if fault.is_transient => Ok(Vec::new()),
        Item::Removed(_) | Item::Faulted(..) => commit::remove(tx, path, writes),
    }
}

/// Makes every statement on `db` fail soon after `interruption` is set, unless it is shielded.
pub(super) fn heed(
    db: &mut Connection,
    interruption: &Arc<AtomicBool>,
    is_shielded: &Arc<AtomicBool>,
) -> Result<(), StoreError> {
    let (asked, shield) = (interruption.clone(), is_shielded.clone());
    let stops = move || asked.load(Ordering::Relaxed) && !shield.load(Ordering::Relaxed);
    Ok(db.progress_handler(STEPS_A_LOOK, Some(stops))?)
}

pub(super) fn meta_number(db: &Connection, key: &str) -> Result<u64, StoreError> {
    let number: i64 = db
        .prepare_cached("SELECT value FROM meta WHERE key = ?1")?
        .query_row([key], |row| row.get(0))?;
    Ok(number as u64)
}

pub(super) fn set_meta_number(db: &Connection, key: &str, number: u64) -> Result<(), StoreError> {
    db.prepare_cached("UPDATE meta SET value = ?2 WHERE key = ?1")?
        .execute(params![key, number as i64])?;
    Ok(())
}

#[cfg(test)]
mod tests;
