//! Read: what one commit holds, as types. Other crates read the tables through these readers alone, so a table can
//! change its form without their knowing.
//!
//! A reader is named by what it gives, and is taken from a [`Snapshot`]: `snapshot.documents().at("a.md")`. Row ids
//! (`doc`, `chunk`, `entity`, `name`) are those of that commit.
//! Invariant: nothing is written.

/// Defines a type with the columns that it is read from, in one place: each field states its expression in SQL.
macro_rules! record {
    ($(#[$about:meta])* pub struct $name:ident {
        $($(#[$field_about:meta])* pub $field:ident: $type:ty = $column:expr,)+
    }) => {
        $(#[$about])*
        #[derive(Debug, Clone, PartialEq)]
        pub struct $name { $($(#[$field_about])* pub $field: $type,)+ }

        impl $name {
            /// The columns, as they follow `SELECT`.
            pub(crate) const COLUMNS: &'static str = record!(@joined $($column,)+);
        }

        impl $crate::read::Record for $name {
            const COLUMNS: &'static str = $name::COLUMNS;
        }

        impl $crate::read::FromRow for $name {
            const WIDTH: usize = 0 $(+ <$type as $crate::read::FromRow>::WIDTH)+;
            fn from_row(row: &rusqlite::Row<'_>, mut at: usize) -> rusqlite::Result<Self> {
                Ok($name { $($field: $crate::read::next(row, &mut at)?,)+ })
            }
        }
    };
    (@joined $first:expr, $($rest:expr,)*) => { concat!($first, $(", ", $rest),*) };
}

mod chunks;
mod counts;
mod documents;
mod entities;
mod entries;
mod files;
mod filter;
mod memory;
mod mentions;
mod names;
mod notes;
mod permalinks;
mod proposals;
mod relations;
mod several;
mod text;
mod units;
mod windows;

use rusqlite::types::ValueRef;
use rusqlite::{Params, Row};
use serde_json::{Map, Value};

use crate::store::positions::Positions;
use crate::store::{Snapshot, StoreError};

pub use self::notes::{Field, Link, Note, Notes, Observation, Place, PlaceKind};
pub use chunks::{Chunk, Chunks};
pub use counts::{Counts, ProjectCounts, Tally};
pub use documents::{Dates, Document, Documents, Label, Places, Whole};
pub use entities::{Entities, Entity};
pub use entries::{Entries, EntryNote};
pub use files::{Failure, File, Files};
pub use filter::{Brief, Filter, OfNotes, Order, Under, plain_tag};
pub use memory::{Edge, Fact, Listed, Memory, MemoryCounts, Node};
pub use mentions::{Mention, Mentions, Occurrences, Position};
pub use names::{Name, Names};
pub use permalinks::{Addressed, Permalinks};
pub use proposals::{Proposal, Proposals};
pub use relations::{Relations, Stated, StatedLink, Statement};
pub use text::FullText;
pub use units::Unit;
pub use windows::{SearchedWindow, Window, Windows};

/// The result of a read.
pub type Read<T> = Result<T, StoreError>;

/// A value that a row, or a part of one, is read as.
pub(crate) trait FromRow: Sized {
    /// The number of columns.
    const WIDTH: usize;
    /// Reads it from the columns that begin with `at`.
    fn from_row(row: &Row<'_>, at: usize) -> rusqlite::Result<Self>;
}

/// A type with the columns that it is read from.
pub(crate) trait Record: FromRow {
    /// The columns.
    const COLUMNS: &'static str;
}

/// Reads the next value of a row, and counts its columns.
pub(crate) fn next<T: FromRow>(row: &Row<'_>, at: &mut usize) -> rusqlite::Result<T> {
    let from = *at;
    *at += T::WIDTH;
    T::from_row(row, from)
}

macro_rules! from_one_column {
    ($($type:ty),+) => { $(
        impl FromRow for $type {
            const WIDTH: usize = 1;
            fn from_row(row: &Row<'_>, at: usize) -> rusqlite::Result<Self> { row.get(at) }
        }
    )+ };
}
from_one_column!(i64, u32, f32, f64, bool, String, Vec<u8>, [u8; 16], Positions);

impl<T: FromRow> FromRow for Option<T> {
    const WIDTH: usize = T::WIDTH;
    fn from_row(row: &Row<'_>, at: usize) -> rusqlite::Result<Self> {
        let is_null = row.get_ref(at)? == ValueRef::Null;
        if is_null { Ok(None) } else { T::from_row(row, at).map(Some) }
    }
}

macro_rules! from_size {
    ($($type:ty),+) => { $(
        impl FromRow for $type {
            const WIDTH: usize = 1;
            fn from_row(row: &Row<'_>, at: usize) -> rusqlite::Result<Self> {
                let stored: i64 = row.get(at)?;
                Self::try_from(stored).map_err(|_| rusqlite::Error::IntegralValueOutOfRange(at, stored))
            }
        }
    )+ };
}
from_size!(u64, usize);

macro_rules! from_json {
    ($($type:ty),+) => { $(
        impl FromRow for $type {
            const WIDTH: usize = 1;
            fn from_row(row: &Row<'_>, at: usize) -> rusqlite::Result<Self> {
                Ok(serde_json::from_str(row.get_ref(at)?.as_str().unwrap_or_default()).unwrap_or_default())
            }
        }
    )+ };
}
from_json!(Vec<String>, Map<String, Value>);

macro_rules! from_several {
    ($($part:ident),+) => {
        impl<$($part: FromRow),+> FromRow for ($($part,)+) {
            const WIDTH: usize = 0 $(+ $part::WIDTH)+;
            fn from_row(row: &Row<'_>, mut at: usize) -> rusqlite::Result<Self> {
                Ok(($(next::<$part>(row, &mut at)?,)+))
            }
        }
    };
}
from_several!(A, B);
from_several!(A, B, C);
from_several!(A, B, C, D);
from_several!(A, B, C, D, E);
from_several!(A, B, C, D, E, F);

impl Snapshot {
    /// Reads every row of a statement.
    pub(crate) fn rows<T: FromRow, C: FromIterator<T>>(
        &self,
        sql: &str,
        params: impl Params,
    ) -> Read<C> {
        let mut statement = self.db().prepare_cached(sql)?;
        let rows = statement.query_map(params, |row| T::from_row(row, 0))?;
        Ok(rows.collect::<Result<C, _>>()?)
    }

    /// Reads the first row of a statement; `None` if it has none.
    pub(crate) fn row<T: FromRow>(&self, sql: &str, params: impl Params) -> Read<Option<T>> {
        let mut statement = self.db().prepare_cached(sql)?;
        let mut rows = statement.query(params)?;
        Ok(rows.next()?.map(|row| T::from_row(row, 0)).transpose()?)
    }

    /// Reads the records of a statement, which begins with its `FROM`.
    pub(crate) fn select<T: Record, C: FromIterator<T>>(
        &self,
        from: &str,
        params: impl Params,
    ) -> Read<C> {
        self.rows(&format!("SELECT {} {from}", T::COLUMNS), params)
    }

    /// Reads the first record of a statement, which begins with its `FROM`.
    pub(crate) fn select_one<T: Record>(&self, from: &str, params: impl Params) -> Read<Option<T>> {
        self.row(&format!("SELECT {} {from}", T::COLUMNS), params)
    }

    /// Reads the only row of a statement that always has one, such as a count.
    pub(crate) fn only<T: FromRow>(&self, sql: &str, params: impl Params) -> Read<T> {
        Ok(self.db().prepare_cached(sql)?.query_row(params, |row| T::from_row(row, 0))?)
    }

    /// Calls `see` with every row of a statement until it returns false.
    pub(crate) fn each<T: FromRow>(
        &self,
        sql: &str,
        params: impl Params,
        mut see: impl FnMut(T) -> bool,
    ) -> Read<()> {
        let mut statement = self.db().prepare_cached(sql)?;
        let mut rows = statement.query(params)?;
        while let Some(row) = rows.next()? {
            if !see(T::from_row(row, 0)?) {
                break;
            }
        }
        Ok(())
    }

    /// Calls `see` with every row of a statement.
    pub(crate) fn every<T: FromRow>(
        &self,
        sql: &str,
        params: impl Params,
        mut see: impl FnMut(T),
    ) -> Read<()> {
        self.each(sql, params, |row| {
            see(row);
            true
        })
    }

    /// Returns whether a statement has a row.
    pub(crate) fn has_row(&self, sql: &str, params: impl Params) -> Read<bool> {
        Ok(self.db().prepare_cached(sql)?.exists(params)?)
    }
}

/// Defines the reader of a subject: a view of a snapshot, and the method that returns it.
macro_rules! readers {
    ($($(#[$about:meta])* $method:ident: $name:ident,)+) => {
        impl Snapshot { $($(#[$about])* pub fn $method(&self) -> $name<'_> { $name(self) })+ }
    };
}
readers! {
    /// Returns the reader of documents.
    documents: Documents,
    /// Returns the reader of passages.
    chunks: Chunks,
    /// Returns the reader of canonical entities.
    entities: Entities,
    /// Returns the reader of names.
    names: Names,
    /// Returns the reader of mentions.
    mentions: Mentions,
    /// Returns the reader of notes as entities with facts.
    memory: Memory,
    /// Returns the reader of windows.
    windows: Windows,
    /// Returns the reader of the full-text index.
    full_text: FullText,
    /// Returns the reader of what notes state.
    notes: Notes,
    /// Returns the reader of notes that may be entries.
    entries: Entries,
    /// Returns the reader of names that may denote the same as another.
    proposals: Proposals,
    /// Returns the reader of relations between entities.
    relations: Relations,
    /// Returns the reader of known files.
    files: Files,
    /// Returns the reader of counts.
    counts: Counts,
    /// Returns the reader of the addresses of notes.
    permalinks: Permalinks,
}
