//! Work: what commits leave to do.
//!
//! In: marks, each of a kind and with a key. Out: the marks that are left, in the order of their keys.
//! Invariants: a mark is stored with the commit that causes it, so it survives a crash; marking twice is as marking
//! once, and the smaller value stays.

use rusqlite::types::ToSqlOutput;
use rusqlite::{Connection, Params, ToSql};

use super::StoreError;

type Result<T> = std::result::Result<T, StoreError>;

/// A kind of work. The value of its rows is 0, unless it says otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Work {
    /// Gather the facts of a name with changes in some document, by its row of sense 0. Value 1: only the deep pass
    /// found something new, so this waits until the pass ends.
    Gather = 1,
    /// Decide a name whose facts are gathered, by its row; [`ALL`](super::names::ALL): every name.
    Decide = 2,
    /// Decide whether a norm is a term of the gazetteer.
    Weigh = 3,
    /// Resolve the links with a key, whose target may have changed. Value: documents up to this one are done.
    Link = 4,
    /// Number the permalinks of a base.
    Number = 5,
    /// Read a document again for its names, from its row.
    Reread = 6,
    /// Read a document's file again at the next start, if that does not happen before.
    Reload = 7,
}

/// Ends each insertion: a mark that is there stays, with the smaller value.
const UNLESS_LESS: &str =
    "ON CONFLICT DO UPDATE SET value = excluded.value WHERE excluded.value < value";

impl Work {
    /// All kinds.
    pub(super) const KINDS: [Work; 7] = [
        Self::Gather,
        Self::Decide,
        Self::Weigh,
        Self::Link,
        Self::Number,
        Self::Reread,
        Self::Reload,
    ];

    /// Marks these keys.
    pub(super) fn add(self, db: &Connection, keys: impl IntoIterator<Item: ToSql>) -> Result<()> {
        self.add_with(0, db, keys)
    }

    /// Marks these keys with a value.
    pub(super) fn add_with(
        self,
        value: i64,
        db: &Connection,
        keys: impl IntoIterator<Item: ToSql>,
    ) -> Result<()> {
        let sql = format!("INSERT INTO work VALUES(?1, ?2, ?3) {UNLESS_LESS}");
        let mut insert = db.prepare_cached(&sql)?;
        keys.into_iter().try_for_each(|key| Ok(insert.execute((self, key, value)).map(drop)?))
    }

    /// Marks the keys that a query returns.
    pub(super) fn add_selected(self, db: &Connection, query: &str, by: impl Params) -> Result<()> {
        // Without the condition, `ON` would belong to the query.
        let sql = format!(
            "INSERT INTO work SELECT {}, found.*, 0 FROM ({query}) found WHERE true {UNLESS_LESS}",
            self as i64
        );
        Ok(db.prepare_cached(&sql)?.execute(by).map(drop)?)
    }

    /// Deletes the marks of these keys.
    pub(super) fn remove(
        self,
        db: &Connection,
        keys: impl IntoIterator<Item: ToSql>,
    ) -> Result<()> {
        let mut delete = db.prepare_cached("DELETE FROM work WHERE kind = ?1 AND key = ?2")?;
        keys.into_iter().try_for_each(|key| Ok(delete.execute((self, key)).map(drop)?))
    }

    /// Returns whether this key is marked.
    pub(super) fn has(self, db: &Connection, key: impl ToSql) -> Result<bool> {
        let sql = "SELECT 1 FROM work WHERE kind = ?1 AND key = ?2";
        Ok(db.prepare_cached(sql)?.exists((self, key))?)
    }

    /// Returns whether more than `n` keys are marked.
    pub(super) fn is_more_than(self, db: &Connection, n: i64) -> Result<bool> {
        let sql = "SELECT 1 FROM work WHERE kind = ?1 LIMIT 1 OFFSET ?2";
        Ok(db.prepare_cached(sql)?.exists((self, n))?)
    }
}

impl ToSql for Work {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok((*self as i64).into())
    }
}
