//! Ripple: does the work that commits left behind, in steps that an interactive commit interrupts.
//!
//! In: the rows that commits marked. Out: a gazetteer of the current terms, names resolved again, documents that must
//! be read again.
//! Invariants: each step is one transaction with a tick of its own; once nothing is marked, nothing is left to do,
//! whatever the order of the steps was.

use std::sync::Arc;
use std::time::Duration;

use rusqlite::{Connection, params};
use rustc_hash::FxHashMap;

use super::{IndexWriter, Round, set_meta_number};
use crate::store::names::{ALL, AllNames, IS_COMMON, MANY_WHEN_BUSY, Resolver};
use crate::store::work::Work;
use crate::store::{StoreError, commit, gazetteer};
use crate::vectors::VectorChange;
use extract::recognize::gazetteer::Gazetteer;
use model::terms::RelPath;

/// Names resolved in the first step.
pub(super) const NAMES_AT_FIRST: usize = 500;

/// Limits of the number of names in later steps.
const NAMES_A_STEP: std::ops::RangeInclusive<usize> = 8..=4_000;

/// Processor time that a step should take. An interactive commit interrupts it; but each transaction writes every
/// page of the name keys that it touches, so many small steps cost several times as much.
const STEP_TIME: Duration = Duration::from_millis(150);

/// Names that wait, above which they are worked on in bulk.
const MANY_DUE: i64 = 1_000;

/// Documents handed out at once to be read again; the rest wait in their table.
const REQUEUE_AT_ONCE: i64 = 5_000;

/// The result of one step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RippleStep {
    /// Nothing is left to do.
    Settled,
    /// Some work was done; more may be left.
    Progress,
    /// The documents in these rows contain names that have entered or left the gazetteer.
    Requeue(Vec<i64>),
}

/// Returns the documents whose files are to be read again.
pub(super) fn unread(db: &Connection) -> Result<Vec<RelPath>, StoreError> {
    let mut statement = db.prepare(
        "SELECT d.path FROM work w JOIN docs d ON d.id = w.key WHERE w.kind = ?1 ORDER BY d.path",
    )?;
    let paths =
        statement.query_map([Work::Reload], |row| Ok(RelPath::new(row.get::<_, String>(0)?)))?;
    Ok(paths.collect::<Result<_, _>>()?)
}

impl IndexWriter {
    /// Does one step of the work that commits left behind: the gazetteer first (only `when_quiet`: during a first
    /// index, most of it would change again), then names.
    pub fn ripple(&mut self, when_quiet: bool) -> Result<RippleStep, StoreError> {
        self.ripple_step(when_quiet).map_err(|error| self.with_interruption(error))
    }

    fn ripple_step(&mut self, when_quiet: bool) -> Result<RippleStep, StoreError> {
        if when_quiet {
            // The belt is empty, so no item can be older than what is committed: the generations can be dropped.
            self.committed = FxHashMap::default();
            self.refresh_gazetteer(self.gazetteer.load().version())?;
            // Re-reading comes before duplicates: it may change texts.
            let documents = self.next_requeued()?;
            if !documents.is_empty() {
                sys::fail::point("requeue.read");
                return Ok(RippleStep::Requeue(documents));
            }
            if self.settle_duplicates()? {
                return Ok(RippleStep::Progress);
            }
        }
        if self.resolve_some(when_quiet)? || self.settle_links(when_quiet)? {
            return Ok(RippleStep::Progress);
        }
        Ok(RippleStep::Settled)
    }

    /// Gathers the facts of some names that are due, or decides some once all facts are gathered: so each name is
    /// decided once, however many of its neighbors changed. Common names wait until no document comes. Returns false
    /// if there are none.
    fn resolve_some(&mut self, when_quiet: bool) -> Result<bool, StoreError> {
        let mut ids = self.some_due(Work::Gather, when_quiet)?;
        let is_gathered = ids.is_empty();
        if is_gathered {
            self.mark_all()?;
            ids = self.some_due(Work::Decide, when_quiet)?;
        }
        if ids.is_empty() {
            self.all_names = None;
            return Ok(false);
        }
        let started = sys::thread_cpu_time();
        let resolved = if is_gathered {
            if self.all_names.is_none() && Work::Decide.is_more_than(&self.db, MANY_DUE)? {
                self.all_names = AllNames::read(&self.db)?.map(Arc::new);
            }
            let all = self.all_names.clone();
            self.with_resolver(|resolver| resolver.decide_only(&ids, all))
        } else {
            self.all_names = None;
            let marks_all = self.are_most_due()?;
            self.with_resolver(|resolver| resolver.gather_only(&ids, marks_all))
        };
        // An error is nearly always an interruption by a save. Saves come in quick succession, so a smaller step has
        // a chance to finish between two of them.
        let took = match resolved {
            Ok(()) => sys::thread_cpu_time().saturating_sub(started),
            Err(_) => STEP_TIME * 4,
        };
        self.pace(ids.len(), took);
        resolved.map(|()| true)
    }

    /// Returns some of the names that are due.
    fn some_due(&self, due: Work, when_quiet: bool) -> Result<Vec<i64>, StoreError> {
        let mut statement = self.db.prepare_cached(&format!(
            "SELECT key FROM work WHERE kind = ?4 AND key <> {ALL} AND value = 0 AND (?3 OR NOT {IS_COMMON}) LIMIT ?1"
        ))?;
        let values = params![self.names_a_step as i64, MANY_WHEN_BUSY, when_quiet, due];
        let ids = statement.query_map(values, |row| row.get(0))?;
        Ok(ids.collect::<Result<_, _>>()?)
    }

    /// Returns whether so many facts change that all names are decided again, rather than looking up which ones.
    fn are_most_due(&self) -> Result<bool, StoreError> {
        let sql = "WITH due AS (SELECT count(*) AS n FROM work WHERE kind = ?1 AND value = 0)
                   SELECT n > ?2 AND 2 * n > (SELECT count(*) FROM names) FROM due";
        let values = params![Work::Gather, MANY_DUE];
        Ok(Work::Decide.has(&self.db, ALL)?
            || self.db.prepare_cached(sql)?.query_row(values, |row| row.get(0))?)
    }

    /// Marks all names as undecided if that is due.
    fn mark_all(&mut self) -> Result<(), StoreError> {
        if !Work::Decide.has(&self.db, ALL)? {
            return Ok(());
        }
        let tx = self.db.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
        Work::Decide.add_selected(&tx, "SELECT id FROM names WHERE sense = 0", [])?;
        Work::Decide.remove(&tx, [ALL])?;
        Ok(tx.commit()?)
    }

    /// Makes due what the deep pass changed, because it has ended or is waiting. Returns false if that is nothing.
    pub fn end_deep_pass(&mut self) -> Result<bool, StoreError> {
        let due = "UPDATE work SET value = 0 WHERE kind = ?1 AND value <> 0";
        let n = self.db.execute(due, [Work::Gather]);
        Ok(n.map_err(|error| self.with_interruption(error.into()))? > 0)
    }

    /// Sets the size of the next step by the processor time of this one, so that other programs do not make it
    /// smaller.
    fn pace(&mut self, n_names: usize, took: Duration) {
        // At most double or a quarter: one outlier must not spoil the next steps.
        let share = STEP_TIME.as_secs_f64() / took.as_secs_f64().max(1e-6);
        let next = (n_names as f64 * share.clamp(0.25, 2.0)) as usize;
        self.names_a_step = next.clamp(*NAMES_A_STEP.start(), *NAMES_A_STEP.end());
    }

    /// Returns some documents that must be read again, in the order of their rows, again and again until a whole
    /// round has completed none: those cannot be read now, and a crawl will retry them.
    fn next_requeued(&mut self) -> Result<Vec<i64>, StoreError> {
        loop {
            let mut statement = self.db.prepare_cached(
                "SELECT key FROM work WHERE kind = ?1 AND key > ?2 ORDER BY key LIMIT ?3",
            )?;
            let values = params![Work::Reread, self.requeued.last_id, REQUEUE_AT_ONCE];
            let rows = statement.query_map(values, |row| row.get(0))?;
            let found: Vec<i64> = rows.collect::<Result<_, _>>()?;
            if let Some(last_id) = found.last() {
                self.requeued.last_id = *last_id;
                return Ok(found);
            }
            let sum = "SELECT coalesce(sum(key), 0) FROM work WHERE kind = ?1";
            let left: i64 = self.db.query_row(sum, [Work::Reread], |row| row.get(0))?;
            if left == 0 || self.requeued.left == Some(left) {
                return Ok(Vec::new());
            }
            self.requeued = Round { last_id: 0, left: Some(left) };
        }
    }

    /// Returns the documents whose files were to be read again when the index was opened; nothing the second time.
    pub fn take_unread(&mut self) -> Vec<RelPath> {
        std::mem::take(&mut self.unread)
    }

    fn refresh_gazetteer(&mut self, version: u64) -> Result<(), StoreError> {
        let has_terms = Work::Weigh.is_more_than(&self.db, 0)?;
        // Version 0 means that nothing was mined yet, and every document of the first index waits for its second
        // reading: the first refresh ends that, even if it finds nothing.
        if !has_terms && version != Gazetteer::UNMINED {
            return Ok(());
        }
        // `status` shows the gazetteer's terms, so this is a commit like any other.
        let tick = self.next_tick()?;
        let tx = self.db.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
        sys::fail::point("gazetteer.begun");
        let changed = gazetteer::refresh(&tx, &self.settings.recognize.gazetteer)?;
        // Only counts moved: the dirty marks are gone, and no document reads differently.
        if changed.is_empty() && version != Gazetteer::UNMINED {
            tx.commit()?;
            return Ok(());
        }
        let version = version + 1;
        set_meta_number(&tx, "gazetteer", version)?;
        set_meta_number(&tx, "tick", tick.0)?;
        gazetteer::requeue_readers(&tx, &changed)?;
        let loaded = gazetteer::load(&tx, version)?;
        sys::fail::point("gazetteer.before");
        commit::commit(tx, &self.vectors, &self.changes, tick, VectorChange::default())?;
        sys::fail::point("gazetteer.after");
        self.tick = tick;
        // New documents are queued, so the round starts over.
        self.requeued = Round::default();
        self.gazetteer.store(Arc::new(loaded));
        Ok(())
    }

    pub(in crate::store) fn resolve(&mut self, names: &[i64]) -> Result<(), StoreError> {
        self.all_names = None;
        self.with_resolver(|resolver| resolver.run(names))
    }

    fn with_resolver(
        &mut self,
        work: impl FnOnce(&Resolver<'_>) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let tick = self.next_tick()?;
        let tx = self.db.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
        sys::fail::point("resolve.begun");
        let resolver = Resolver {
            db: &tx,
            embedder: &self.embedder,
            ledger: &self.ledger,
            weights: &self.settings.link,
        };
        work(&resolver)?;
        set_meta_number(&tx, "tick", tick.0)?;
        sys::fail::point("resolve.before");
        commit::commit(tx, &self.vectors, &self.changes, tick, VectorChange::default())?;
        sys::fail::point("resolve.after");
        self.tick = tick;
        Ok(())
    }
}
