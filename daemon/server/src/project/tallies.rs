//! Tallies: the number of rows of each kind, as `status` reports them.
//!
//! In: a snapshot. Out: counts of one commit.
//! Invariant: each commit is counted once, however many callers ask: counting takes a second on a large index.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use index::store::Snapshot;
use model::terms::Tick;
use rusqlite::Connection;

/// The queries, by the name that `status` uses.
const COUNTS: [(&str, &str); 12] = [
    ("documents", "SELECT count(*) FROM docs"),
    ("chunks", "SELECT count(*) FROM chunks"),
    ("vectors", "SELECT count(*) FROM chunk_vec_map"),
    ("names", "SELECT count(*) FROM names"),
    ("entities", "SELECT count(*) FROM entities"),
    ("mentions", "SELECT count(*) FROM mentions"),
    ("evidence", "SELECT count(*) FROM evidence"),
    ("relations", "SELECT count(*) FROM relations"),
    ("gazetteer", "SELECT count(*) FROM gazetteer"),
    ("quarantine", "SELECT count(*) FROM quarantine"),
    (
        "repeated paragraphs",
        "SELECT count(DISTINCT c.text) FROM copies c JOIN prints p
           ON p.doc_id = c.doc_id AND p.kind = 1 AND p.start = c.start AND p.text = c.text",
    ),
    (
        "duplicate paragraphs",
        "SELECT count(*) - count(DISTINCT c.text) + (SELECT count(*) FROM alike) FROM copies c JOIN prints p
           ON p.doc_id = c.doc_id AND p.kind = 1 AND p.start = c.start AND p.text = c.text",
    ),
];

/// Counts the windows that vector search reads.
pub(crate) const WINDOWS: &str = "SELECT count(*) FROM chunk_vec_map WHERE aside IS NULL";

/// Counts entities without a document of their own and without a name: there should be none.
const ORPHANS: &str = "SELECT count(*) FROM entities e WHERE e.doc_id IS NULL
    AND NOT EXISTS (SELECT 1 FROM names n WHERE n.entity_id = e.id)";

/// The counts of one commit.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    /// Rows by the names of `COUNTS`.
    pub(crate) counts: BTreeMap<String, u64>,
    /// Documents by format.
    pub(crate) formats: BTreeMap<String, u64>,
    /// Secrets that were removed, by kind.
    pub(crate) redacted: BTreeMap<String, u64>,
    /// Passages that look like instructions or personal data, by kind.
    pub(crate) flagged: BTreeMap<String, u64>,
    /// Entities without a name.
    pub(crate) n_orphans: u64,
    /// Windows that vector search reads.
    pub(crate) n_windows: u64,
}

/// The counts of the last commit that was asked about.
#[derive(Debug, Default)]
pub(crate) struct Tallies(Mutex<Option<(Tick, Arc<Tally>)>>);

impl Tallies {
    /// Returns the counts of a snapshot.
    pub(crate) fn at(&self, snapshot: &Snapshot) -> rusqlite::Result<Arc<Tally>> {
        let last = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some((tick, tally)) = last
            && tick == snapshot.tick()
        {
            return Ok(tally);
        }
        // Counted outside of the lock: a caller that waited for it would block a reader meanwhile.
        let tally = Arc::new(Tally {
            counts: counts(snapshot)?,
            formats: formats(snapshot)?,
            redacted: findings(snapshot, "$.redacted")?,
            flagged: findings(snapshot, "$.flagged")?,
            n_orphans: count(snapshot, ORPHANS)?,
            n_windows: count(snapshot, WINDOWS)?,
        });
        let counted = Some((snapshot.tick(), tally.clone()));
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = counted;
        Ok(tally)
    }
}

/// Returns the one number of a query.
pub(crate) fn count(db: &Connection, sql: &str) -> rusqlite::Result<u64> {
    db.prepare_cached(sql)?.query_row([], |row| row.get::<_, i64>(0)).map(|n| n as u64)
}

fn counts(db: &Connection) -> rusqlite::Result<BTreeMap<String, u64>> {
    COUNTS.iter().map(|(name, sql)| Ok((name.to_string(), count(db, sql)?))).collect()
}

fn formats(db: &Connection) -> rusqlite::Result<BTreeMap<String, u64>> {
    let mut statement = db.prepare_cached("SELECT format, count(*) FROM docs GROUP BY format")?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get::<_, i64>(1)? as u64)))?;
    rows.collect()
}

/// Sums findings over all documents, by kind.
fn findings(db: &Connection, which: &str) -> rusqlite::Result<BTreeMap<String, u64>> {
    let mut statement = db.prepare_cached(
        "SELECT j.key, sum(j.value) FROM docs d, json_each(d.redactions, ?1) j
         WHERE d.redactions IS NOT NULL GROUP BY j.key",
    )?;
    let rows =
        statement.query_map([which], |row| Ok((row.get(0)?, row.get::<_, i64>(1)? as u64)))?;
    rows.collect()
}
