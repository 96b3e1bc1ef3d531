//! Table: the form of a published row.
//!
//! In: rows of an index. Out: rows with a key, a checksum and cells; and the reverse.
//! Invariants: a row depends on the commit alone. Every table of the hub starts with the same four columns (`project`,
//! `generation`, `row_key`, `row_sum`). Rows that are only read together with their document are packed into one row a
//! document.

use index::store::published::{Cell, Origin, Source, Table};
use serde::Serialize;
use xxhash_rust::xxh3::xxh3_64;

use crate::{HubError, outline};

/// A published row.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Published {
    pub key: i64,
    pub sum: i64,
    /// One cell for each column of the hub's table; a packed row has one blob.
    pub cells: Vec<Cell>,
}

/// Returns the columns of the hub's table after the first four.
pub(crate) fn hub_columns(table: &Table) -> Vec<(&'static str, char)> {
    if table.is_packed() { vec![("rows", 'b')] } else { table.columns() }
}

/// Calls `show` with every row; sorted by key, except where the source has another order.
pub(crate) fn each(
    table: &Table,
    source: &Source<'_>,
    show: &mut dyn FnMut(Published) -> Result<(), HubError>,
) -> Result<(), HubError> {
    if table.from == Origin::Outline {
        return outline::each(source.index(), &mut |key, block| {
            show(row_of(key, vec![Cell::Blob(block)]))
        });
    }
    let mut shown = Ok(());
    table.each(source, |key, rows| {
        let cells = if table.is_packed() {
            vec![Cell::Blob(pack(rows))]
        } else {
            rows.into_iter().flatten().collect()
        };
        shown = show(row_of(key, cells));
        shown.is_ok()
    })?;
    shown
}

/// Returns the index's rows of one row of the hub.
pub(crate) fn unpack(table: &Table, cells: Vec<Cell>) -> Result<Vec<Vec<Cell>>, HubError> {
    let torn = HubError::Torn(table.hub);
    match cells.first() {
        Some(Cell::Blob(bytes)) if table.is_packed() => {
            postcard::from_bytes(bytes).map_err(|_| torn)
        }
        Some(Cell::Blob(_)) => Ok(vec![cells]),
        _ if table.is_packed() => Err(torn),
        _ => Ok(vec![cells]),
    }
}

fn pack(mut group: Vec<Vec<Cell>>) -> Vec<u8> {
    group.sort_by_cached_key(bytes_of);
    bytes_of(&group)
}

fn bytes_of<T: Serialize>(value: &T) -> Vec<u8> {
    postcard::to_allocvec(value).expect("cells have a form in bytes")
}

fn row_of(key: i64, cells: Vec<Cell>) -> Published {
    let sum = xxh3_64(&bytes_of(&cells)).cast_signed();
    Published { key, sum, cells }
}
