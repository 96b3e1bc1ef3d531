//! Table: the vectors as the index stores them, for readers without a copy in memory.
//!
//! In: the table `windows`. Out: what the copy would say; cosines differ by rounding only.

use rusqlite::{Connection, OptionalExtension, params};
use rustc_hash::{FxHashMap, FxHashSet};

use super::best::{Best, Nearest};
use super::question::Asked;
use super::rows::{Form, Workbench};
use super::segment::Segment;
use super::view::View;
use model::document::UnitVector;
use model::terms::Tick;

/// Rows that are copied at once.
const AT_ONCE: usize = 1_024;

/// Copies all rows of an index as of `tick`, in a form that holds int8; `None` if `is_called_off` returns true
/// meanwhile.
pub fn load(
    db: &Connection,
    tick: Tick,
    form: Form,
    is_called_off: impl Fn() -> bool,
) -> rusqlite::Result<Option<View>> {
    let mut view = View::empty(tick, form);
    let mut rows: Vec<(i64, Vec<u8>)> = Vec::with_capacity(AT_ONCE);
    let mut is_wanted = true;
    let mut flush = |rows: &mut Vec<(i64, Vec<u8>)>| {
        view.extend(rows.iter().map(|(id, bytes)| (*id, bytes.as_slice())), tick);
        rows.clear();
    };
    each_in_table(db, |id, bytes| {
        rows.push((id, bytes.to_vec()));
        if rows.len() == AT_ONCE {
            flush(&mut rows);
            is_wanted = !is_called_off();
        }
        is_wanted
    })?;
    flush(&mut rows);
    Ok(is_wanted.then_some(view))
}

/// Passes every searched row with its components to `see` until it returns false, by id.
pub(crate) fn each_in_table(
    db: &Connection,
    mut see: impl FnMut(i64, &[u8]) -> bool,
) -> rusqlite::Result<()> {
    let mut statement = db.prepare_cached(
        "SELECT id, vector FROM windows WHERE is_aside = 0 AND vector IS NOT NULL ORDER BY id",
    )?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        if !see(row.get(0)?, row.get_ref(1)?.as_blob()?) {
            break;
        }
    }
    Ok(())
}

/// Returns the cosines of those of these rows that exist with a question, computed by sqlite-vec.
pub(crate) fn cosines_in_table(
    db: &Connection,
    ids: &FxHashSet<i64>,
    question: &UnitVector,
) -> rusqlite::Result<FxHashMap<i64, f32>> {
    let mut statement = db.prepare_cached(
        // A vector without length has no direction: null, which counts as 0.
        "SELECT coalesce(1.0 - vec_distance_cosine(vec_int8(vector), vec_int8(?2)), 0.0) FROM windows
         WHERE id = ?1 AND is_aside = 0 AND length(vector) = length(?2)",
    )?;
    let asked: Vec<u8> = question.0.iter().map(|component| component.cast_unsigned()).collect();
    let mut found = FxHashMap::default();
    for id in ids {
        let cosine = statement.query_row(params![id, asked], |row| row.get(0)).optional()?;
        found.extend(cosine.map(|cosine| (*id, cosine)));
    }
    Ok(found)
}

/// Returns the mean of those of these rows that exist, rounded, and how many there are.
pub(crate) fn mean_in_table(db: &Connection, ids: &[i64]) -> rusqlite::Result<(UnitVector, usize)> {
    let mut statement = db.prepare_cached(
        "SELECT vector FROM windows WHERE id = ?1 AND is_aside = 0 AND vector IS NOT NULL",
    )?;
    let mut found: Vec<(i64, Vec<u8>)> = Vec::new();
    for id in ids {
        let bytes = statement.query_row([id], |row| row.get(0)).optional()?;
        found.extend(bytes.map(|it| (*id, it)));
    }
    let now = Tick::default();
    let rows = found.iter().map(|(id, bytes)| (*id, bytes.as_slice()));
    Ok(View::of_rows(Form::Int8, now, rows).mean_of(ids, now))
}

/// Returns the `wanted` windows nearest to a question among the rows that `db` sees, nearest first.
pub fn nearest_in_table(
    db: &Connection,
    question: &[i8],
    wanted: usize,
    among: Option<&FxHashSet<i64>>,
) -> rusqlite::Result<Vec<Nearest>> {
    let (mut best, mut bench) = (Best::new(wanted), Workbench::default());
    if wanted == 0 {
        return Ok(Vec::new());
    }
    // The transaction decides which rows exist, so all of them get the same tick.
    let now = Tick::default();
    let asked = Asked::new(question, &Form::Int8, now, among);
    let mut segment = Segment::with_room(&Form::Int8, asked.width());
    each_in_table(db, |id, bytes| {
        segment.push(id, bytes, now);
        if segment.is_full() {
            segment.scan(&asked, &mut best, &mut bench, |_, id| id);
            segment = Segment::with_room(&Form::Int8, asked.width());
        }
        true
    })?;
    segment.scan(&asked, &mut best, &mut bench, |_, id| id);
    Ok(best.sorted())
}
