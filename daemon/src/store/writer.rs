//! The one writer of the index and the ledger.
//!
//! A batch of items commits in one transaction or not at all: rows, quarantine, dirty marks and the tick together.
//! The ledger is written first; both writes are idempotent.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use config::Settings;
use rusqlite::{Connection, OptionalExtension, params};
use rustc_hash::FxHashMap;

use super::ledger::{IngestRecord, Ledger, Verdict};
use super::names::Resolver;
use super::{StoreError, commit, gazetteer};
use crate::belt::{Item, Ticket};
use crate::embedder::Embedder;
use crate::pipeline::parcel::EmbeddedDoc;
use crate::pipeline::recognize::gazetteer::Gazetteer;
use crate::terms::{Generation, Lane, RelPath, Tick};

/// Names resolved in one transaction of the ripple: at first, at least, and at most.
const NAMES_A_STEP: (usize, usize, usize) = (500, 50, 4_000);

/// How long a step of the ripple should take. An interactive commit interrupts it; but each transaction writes every
/// page of the name keys that it touches, so many small ones cost several times as much.
const STEP_TIME: Duration = Duration::from_millis(150);

/// Steps of one statement between two looks at whether a write should be interrupted: some of its runs.
const STEPS_A_LOOK: i32 = 100;

/// Documents handed out at once to be read again; the rest waits in its table.
const REQUEUE_AT_ONCE: i64 = 5_000;

/// What a commit did.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Committed {
    /// Its number.
    pub tick: Tick,
    /// Documents written or taken away.
    pub n_documents: usize,
    /// The last of them.
    pub last_path: Option<RelPath>,
    /// The last fault, if one was among them.
    pub last_fault: Option<String>,
    /// Each interactive parcel, also an overtaken one: its generation, and its fault if it had one.
    pub interactive: Vec<(RelPath, (Generation, Option<String>))>,
}

/// One step of the ripple.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RippleStep {
    /// Nothing is left to do.
    Settled,
    /// Some work was done; more may be left.
    Progress,
    /// These documents contain names that have since become known, or ceased to be.
    Requeue(Vec<RelPath>),
}

/// Owns the writing connections.
pub struct IndexWriter {
    db: Connection,
    ledger: Ledger,
    embedder: Arc<dyn Embedder>,
    settings: Settings,
    gazetteer: Arc<ArcSwap<Gazetteer>>,
    tick: Tick,
    committed: FxHashMap<RelPath, Generation>,
    names_a_step: usize,
    requeued: Round,
    interruption: Arc<AtomicBool>,
    /// True while an interruption must wait.
    is_shielded: Arc<AtomicBool>,
}

/// Where the handing out of documents to be read again stands.
#[derive(Debug, Default)]
struct Round {
    /// The last document handed out in this round.
    last_id: i64,
    /// The sum of the rows that were left when the round began: one that moves none of them is the last.
    left: Option<i64>,
}

impl IndexWriter {
    /// Opens both databases in `folder` and loads the gazetteer. `fingerprint` names everything that the rows
    /// depend on beside the files; an index of another fingerprint is rebuilt.
    pub fn open(
        folder: &Path,
        fingerprint: &str,
        settings: &Settings,
        embedder: Arc<dyn Embedder>,
    ) -> Result<Self, StoreError> {
        let ledger = Ledger::open(&folder.join("ledger.sqlite"))?;
        let mut db = super::open::index(&folder.join("index.sqlite"), fingerprint)?;
        let interruption = Arc::new(AtomicBool::new(false));
        let is_shielded = Arc::new(AtomicBool::new(false));
        let (asked, shield) = (interruption.clone(), is_shielded.clone());
        let stops = move || asked.load(Ordering::Relaxed) && !shield.load(Ordering::Relaxed);
        db.progress_handler(STEPS_A_LOOK, Some(stops))?;
        let tick = meta_number(&db, "tick")?;
        let version = meta_number(&db, "gazetteer")?;
        let gazetteer = gazetteer::load(&db, version)?;
        Ok(IndexWriter {
            db,
            ledger,
            embedder,
            settings: settings.clone(),
            gazetteer: Arc::new(ArcSwap::from_pointee(gazetteer)),
            tick: Tick(tick),
            committed: FxHashMap::default(),
            names_a_step: NAMES_A_STEP.0,
            requeued: Round::default(),
            interruption,
            is_shielded,
        })
    }

    /// The gazetteer in force; recognizers read it, only the writer replaces it.
    pub fn gazetteer(&self) -> Arc<ArcSwap<Gazetteer>> {
        self.gazetteer.clone()
    }

    /// Setting it ends the write that runs now with an error that says so; it is rolled back. Whoever sets it clears
    /// it.
    pub fn interruption(&self) -> Arc<AtomicBool> {
        self.interruption.clone()
    }

    /// The last commit.
    pub fn tick(&self) -> Tick {
        self.tick
    }

    /// Review decisions and ingestion records.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// Commits a batch. With `resolve_now`, the names it made dirty are resolved in the same transaction, but for those
    /// that take long.
    pub fn commit(
        &mut self,
        items: &[Item<EmbeddedDoc>],
        now_ms: i64,
        resolve_now: bool,
    ) -> Result<Committed, StoreError> {
        let done = self.write_batch(items, now_ms, resolve_now);
        done.map_err(|error| self.heard(error))
    }

    /// What an error means, given whether somebody asked to interrupt.
    fn heard(&self, error: StoreError) -> StoreError {
        let was_asked = self.interruption.load(Ordering::SeqCst);
        if was_asked { error.while_interrupted() } else { error }
    }

    fn write_batch(
        &mut self,
        items: &[Item<EmbeddedDoc>],
        now_ms: i64,
        resolve_now: bool,
    ) -> Result<Committed, StoreError> {
        crate::fail::point("commit.before");
        let fresh: Vec<&Item<EmbeddedDoc>> =
            items.iter().filter(|item| self.is_fresh(item.ticket())).collect();
        let identities = self.write_ledger(&fresh, now_ms)?;
        let mut done = Committed { tick: Tick(self.tick.0 + 1), ..Committed::default() };
        done.interactive = items.iter().filter_map(interactive_outcome).collect();
        let tx = self.db.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
        let mut touched = Vec::new();
        let mut late = commit::Late::default();

        for (item, identity) in fresh.iter().zip(&identities) {
            let names = write_item(&tx, item, identity, (done.tick, &mut late))?;
            touched.extend(names);
            done.n_documents += 1;
            done.last_path = Some(item.ticket().path.clone());
            if let Item::Faulted(ticket, fault) = item {
                done.last_fault = Some(format!("{}: {fault}", ticket.path));
            }
        }
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
        }
        // Virtual tables are not made for being stopped halfway, and this is the short end of a batch.
        self.is_shielded.store(true, Ordering::SeqCst);
        let written = late.run(&tx);
        self.is_shielded.store(false, Ordering::SeqCst);
        written?;
        set_meta_number(&tx, "tick", done.tick.0)?;
        tx.commit()?;
        crate::fail::point("commit.after");
        self.tick = done.tick;
        for item in fresh {
            self.committed.insert(item.ticket().path.clone(), item.ticket().generation);
        }
        Ok(done)
    }

    /// A parcel older than what is committed for its path has been overtaken.
    fn is_fresh(&self, ticket: &Ticket) -> bool {
        self.committed.get(&ticket.path).is_none_or(|last| *last <= ticket.generation)
    }

    fn write_ledger<'a>(
        &self,
        items: &[&'a Item<EmbeddedDoc>],
        now_ms: i64,
    ) -> Result<Vec<commit::Identity<'a>>, StoreError> {
        self.ledger.begin()?;
        let mut out = Vec::with_capacity(items.len());
        for item in items {
            let ticket = item.ticket();
            let mut identity = commit::Identity {
                uid: String::new(),
                ingest: IngestRecord::default(),
                moved_from: ticket.moved_from.as_ref(),
            };
            match item {
                Item::Document(_, doc) => {
                    let hash = doc.doc.doc.doc.doc.head.hash;
                    identity.uid = self.ledger.uid_for(
                        &ticket.path,
                        hash,
                        ticket.moved_from.as_ref(),
                        now_ms,
                    )?;
                    identity.ingest = self.ledger.ingest_record(&identity.uid)?;
                }
                Item::Removed(_) => self.ledger.mark_gone(&ticket.path, now_ms)?,
                Item::Faulted(..) => {}
            }
            out.push(identity);
        }
        self.ledger.commit()?;
        Ok(out)
    }

    /// Does one step of the work that commits left behind: the gazetteer first (only `when_quiet`: while a first
    /// index runs, most of it would change again), then names.
    pub fn ripple(&mut self, when_quiet: bool) -> Result<RippleStep, StoreError> {
        let step = self.ripple_step(when_quiet);
        step.map_err(|error| self.heard(error))
    }

    fn ripple_step(&mut self, when_quiet: bool) -> Result<RippleStep, StoreError> {
        if when_quiet {
            // Nothing is on its way that could be older than what is committed.
            self.committed = FxHashMap::default();
            self.refresh_gazetteer(self.gazetteer.load().version())?;
            let paths = self.next_requeued()?;
            if !paths.is_empty() {
                return Ok(RippleStep::Requeue(paths));
            }
        }
        let mut statement = self.db.prepare_cached("SELECT name_id FROM dirty_names LIMIT ?1")?;
        let dirty: Vec<i64> = statement
            .query_map([self.names_a_step as i64], |row| row.get(0))?
            .collect::<Result<_, _>>()?;
        drop(statement);
        if dirty.is_empty() {
            return Ok(RippleStep::Settled);
        }
        let started = Instant::now();
        let resolved = self.resolve(&dirty);
        if resolved.is_err() {
            // Saves follow each other closely: a smaller step comes to its end between two of them.
            self.pace(dirty.len(), STEP_TIME * 4);
        } else {
            self.pace(dirty.len(), started.elapsed());
        }
        resolved.map(|()| RippleStep::Progress)
    }

    /// Sets the size of the next step by how long this one took.
    fn pace(&mut self, n_names: usize, took: Duration) {
        let share = STEP_TIME.as_secs_f64() / took.as_secs_f64().max(1e-6);
        let next = (n_names as f64 * share.clamp(0.25, 2.0)) as usize;
        self.names_a_step = next.clamp(NAMES_A_STEP.1, NAMES_A_STEP.2);
    }

    /// Some documents that must be read again, in the order of their rows, going round until a whole round has moved
    /// none: those cannot be read now, and are met again by a crawl.
    fn next_requeued(&mut self) -> Result<Vec<RelPath>, StoreError> {
        loop {
            let mut statement = self.db.prepare_cached(
                "SELECT d.id, d.path FROM requeue r JOIN docs d ON d.id = r.doc_id WHERE r.doc_id > ?1
                 ORDER BY r.doc_id LIMIT ?2",
            )?;
            let rows = statement.query_map([self.requeued.last_id, REQUEUE_AT_ONCE], |row| {
                Ok((row.get(0)?, RelPath::new(row.get::<_, String>(1)?)))
            })?;
            let found: Vec<(i64, RelPath)> = rows.collect::<Result<_, _>>()?;
            if let Some((last_id, _)) = found.last() {
                self.requeued.last_id = *last_id;
                return Ok(found.into_iter().map(|(_, path)| path).collect());
            }
            let sum = "SELECT coalesce(sum(doc_id), 0) FROM requeue";
            let left: i64 = self.db.query_row(sum, [], |row| row.get(0))?;
            if left == 0 || self.requeued.left == Some(left) {
                return Ok(Vec::new());
            }
            self.requeued = Round { last_id: 0, left: Some(left) };
        }
    }

    /// Documents that a ripple marked and that have not been read again yet (after a crash, all of them).
    pub fn requeued(&self) -> Result<Vec<RelPath>, StoreError> {
        let mut statement = self.db.prepare(
            "SELECT d.path FROM requeue r JOIN docs d ON d.id = r.doc_id ORDER BY d.path",
        )?;
        let paths = statement.query_map([], |row| Ok(RelPath::new(row.get::<_, String>(0)?)))?;
        Ok(paths.collect::<Result<_, _>>()?)
    }

    fn refresh_gazetteer(&mut self, version: u64) -> Result<(), StoreError> {
        let has_terms: bool =
            self.db.query_row("SELECT EXISTS (SELECT 1 FROM dirty_terms)", [], |row| row.get(0))?;
        // Version 0 means that nothing was mined yet and every document of the first index waits for its second
        // reading: the first refresh ends that, even if it finds nothing.
        if !has_terms && version != Gazetteer::UNMINED {
            return Ok(());
        }
        let tx = self.db.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
        let changed = gazetteer::refresh(&tx, &self.settings.recognize.gazetteer)?;
        if changed.is_empty() && version != Gazetteer::UNMINED {
            tx.commit()?;
            return Ok(());
        }
        let version = version + 1;
        set_meta_number(&tx, "gazetteer", version)?;
        gazetteer::requeue_readers(&tx, &changed)?;
        let loaded = gazetteer::load(&tx, version)?;
        tx.commit()?;
        self.requeued = Round::default();
        self.gazetteer.store(Arc::new(loaded));
        Ok(())
    }

    fn resolve(&mut self, names: &[i64]) -> Result<(), StoreError> {
        let tick = Tick(self.tick.0 + 1);
        let tx = self.db.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
        let resolver = Resolver {
            db: &tx,
            embedder: &self.embedder,
            ledger: &self.ledger,
            weights: &self.settings.link,
        };
        resolver.run(names)?;
        set_meta_number(&tx, "tick", tick.0)?;
        tx.commit()?;
        self.tick = tick;
        Ok(())
    }

    /// Writes or takes back review decisions and resolves the names they concern.
    pub fn decide(
        &mut self,
        decisions: &[(String, Option<Verdict>)],
        now_ms: i64,
    ) -> Result<Tick, StoreError> {
        let mut norms = Vec::new();
        for (key, verdict) in decisions {
            self.ledger.decide(key, *verdict, now_ms)?;
            if let Some(norm) = key.strip_prefix("link:").and_then(|rest| rest.split('>').next()) {
                norms.push(norm.to_string());
            }
        }
        let mut names = Vec::new();
        for norm in norms {
            let mut statement =
                self.db.prepare_cached("SELECT id FROM names WHERE norm = ?1 AND sense = 0")?;
            names.extend(statement.query_row([norm], |row| row.get::<_, i64>(0)).optional()?);
        }
        self.resolve(&names)?;
        Ok(self.tick)
    }

    /// Remembers what a caller said about documents (ledger only; the next commit of each shows it).
    pub fn record_ingest(
        &self,
        paths: &[RelPath],
        record: &IngestRecord,
    ) -> Result<(), StoreError> {
        paths.iter().try_for_each(|path| self.ledger.record_ingest(path, record))
    }

    /// Notes a new modification time of a file whose content did not change.
    pub fn touch(&self, path: &RelPath, mtime_ms: i64) -> Result<(), StoreError> {
        self.db
            .prepare_cached("UPDATE docs SET mtime_ms = ?2 WHERE path = ?1")?
            .execute(params![path.as_str(), mtime_ms])?;
        Ok(())
    }

    /// Empties the page caches; they fill again as needed.
    pub fn release_memory(&self) -> Result<(), StoreError> {
        self.db.release_memory()?;
        self.ledger.release_memory()
    }

    /// Hands freed pages back to the file system; cheap when there are none.
    pub fn vacuum(&self) -> Result<(), StoreError> {
        Ok(self.db.execute_batch("PRAGMA incremental_vacuum(512)")?)
    }
}

fn interactive_outcome(
    item: &Item<EmbeddedDoc>,
) -> Option<(RelPath, (Generation, Option<String>))> {
    let ticket = item.ticket();
    let fault = match item {
        Item::Faulted(_, fault) => Some(fault.to_string()),
        _ => None,
    };
    (ticket.lane == Lane::Interactive).then(|| (ticket.path.clone(), (ticket.generation, fault)))
}

fn write_item(
    tx: &rusqlite::Transaction<'_>,
    item: &Item<EmbeddedDoc>,
    identity: &commit::Identity<'_>,
    (tick, late): (Tick, &mut commit::Late),
) -> Result<Vec<i64>, StoreError> {
    let path = &item.ticket().path;
    match item {
        Item::Document(_, doc) => {
            tx.prepare_cached("DELETE FROM quarantine WHERE path = ?1")?
                .execute([path.as_str()])?;
            commit::document(tx, doc, identity, late)
        }
        Item::Removed(_) => {
            tx.prepare_cached("DELETE FROM quarantine WHERE path = ?1")?
                .execute([path.as_str()])?;
            commit::remove(tx, path, late)
        }
        Item::Faulted(_, fault) => {
            tx.prepare_cached("INSERT OR REPLACE INTO quarantine VALUES(?1, ?2, ?3, ?4, ?5)")?
                .execute(params![
                    path.as_str(),
                    fault.stage,
                    fault.reason,
                    fault.is_transient,
                    tick.0 as i64
                ])?;
            // What was indexed before stays when the trouble may pass; otherwise it would be stale.
            if fault.is_transient { Ok(Vec::new()) } else { commit::remove(tx, path, late) }
        }
    }
}

fn meta_number(db: &Connection, key: &str) -> Result<u64, StoreError> {
    let number: i64 = db
        .prepare_cached("SELECT value FROM meta WHERE key = ?1")?
        .query_row([key], |row| row.get(0))?;
    Ok(number as u64)
}

fn set_meta_number(db: &Connection, key: &str, number: u64) -> Result<(), StoreError> {
    db.prepare_cached("UPDATE meta SET value = ?2 WHERE key = ?1")?
        .execute(params![key, number as i64])?;
    Ok(())
}

#[cfg(test)]
mod tests;
