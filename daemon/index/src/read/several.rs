//! Several: one statement for many values of its parameter.

use std::hash::Hash;

use rustc_hash::{FxHashMap, FxHashSet};

use super::{FromRow, Read, Record};
use crate::store::Snapshot;

/// Up to this many owners are looked up one by one; for more, an index is scanned.
const MAX_LOOKUPS: usize = 1_000;

impl Snapshot {
    /// Reads every row of a statement for each of several values of its parameter, in their order.
    pub(crate) fn rows_of_each<T: FromRow, C: Default + Extend<T>>(
        &self,
        sql: &str,
        values: impl IntoIterator<Item = i64>,
    ) -> Read<C> {
        let mut statement = self.db().prepare_cached(sql)?;
        let mut found = C::default();
        for value in values {
            let mut rows = statement.query([value])?;
            while let Some(row) = rows.next()? {
                found.extend([T::from_row(row, 0)?]);
            }
        }
        Ok(found)
    }

    /// As [`Snapshot::rows_of_each`], for records; the statement begins with its `FROM`.
    pub(crate) fn select_each<T: Record, C: Default + Extend<T>>(
        &self,
        from: &str,
        values: impl IntoIterator<Item = i64>,
    ) -> Read<C> {
        self.rows_of_each(&format!("SELECT {} {from}", T::COLUMNS), values)
    }

    /// As [`Snapshot::rows_of_each`], by value.
    pub(crate) fn rows_by<T: FromRow>(
        &self,
        sql: &str,
        values: impl IntoIterator<Item = i64>,
    ) -> Read<FxHashMap<i64, Vec<T>>> {
        let mut statement = self.db().prepare_cached(sql)?;
        let mut found = FxHashMap::default();
        for value in values {
            let rows = statement.query_map([value], |row| T::from_row(row, 0))?;
            found.insert(value, rows.collect::<Result<_, _>>()?);
        }
        Ok(found)
    }

    /// Returns what some owners have, by one of two statements: `one` selects that of one owner, `all` every owner
    /// with each of its own. Costs no more than the smaller of these owners and the whole index.
    pub(crate) fn rows_of<T: FromRow + Eq + Hash>(
        &self,
        owners: &FxHashSet<i64>,
        one: &str,
        all: &str,
    ) -> Read<FxHashSet<T>> {
        if owners.len() <= MAX_LOOKUPS {
            return self.rows_of_each(one, owners.iter().copied());
        }
        let mut found = FxHashSet::default();
        self.every(all, [], |(owner, own): (i64, T)| {
            if owners.contains(&owner) {
                found.insert(own);
            }
        })?;
        Ok(found)
    }
}
