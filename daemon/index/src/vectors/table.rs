//! Table: the vectors as sqlite-vec stores them, block by block.
//!
//! Querying the virtual table for its rows reads a whole block for each; here a block is read once. The layout is
//! that of the version pinned in `Cargo.toml`; a test compares it with what the table itself returns.
//! A block: a bitmap of the used rows, lowest bit first; the ids, 8 bytes each, little-endian; the components.

use rusqlite::{Connection, OptionalExtension, Row};
use rustc_hash::{FxHashMap, FxHashSet};

use super::best::{Best, Nearest};
use super::question::Asked;
use super::rows::{Form, Workbench};
use super::segment::Segment;
use super::view::View;
use embed::cosine;
use model::document::UnitVector;
use model::terms::Tick;

/// All blocks, in the order in which they were created.
const BLOCKS: &str = "SELECT c.size, c.validity, c.rowids, v.vectors FROM chunk_vec_chunks c
                      JOIN chunk_vec_vector_chunks00 v ON v.rowid = c.chunk_id ORDER BY c.chunk_id";

/// Copies all rows of an index as of `tick`, in a form that holds int8; `None` if `is_called_off` returns true
/// meanwhile.
pub fn load(
    db: &Connection,
    tick: Tick,
    form: Form,
    is_called_off: impl Fn() -> bool,
) -> rusqlite::Result<Option<View>> {
    let mut view = View::empty(tick, form);
    let mut statement = db.prepare(BLOCKS)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        if is_called_off() {
            return Ok(None);
        }
        let block = TableBlock::of(row)?;
        view.extend(block.rows(), tick);
    }
    Ok(Some(view))
}

/// Passes every row with its components to `see` until it returns false.
pub(crate) fn each_in_table(
    db: &Connection,
    mut see: impl FnMut(i64, &[u8]) -> bool,
) -> rusqlite::Result<()> {
    let mut statement = db.prepare(BLOCKS)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        if !TableBlock::of(row)?.rows().all(|(id, bytes)| see(id, bytes)) {
            break;
        }
    }
    Ok(())
}

/// Returns the cosines of those of these rows that exist with a question.
pub(crate) fn cosines_in_table(
    db: &Connection,
    ids: &FxHashSet<i64>,
    question: &UnitVector,
) -> rusqlite::Result<FxHashMap<i64, f32>> {
    let mut statement = db.prepare_cached("SELECT embedding FROM chunk_vec WHERE rowid = ?1")?;
    let mut found = FxHashMap::default();
    for id in ids {
        let bytes: Option<Vec<u8>> = statement.query_row([id], |row| row.get(0)).optional()?;
        if let Some(bytes) = bytes {
            let vector = UnitVector(bytes.iter().map(|byte| byte.cast_signed()).collect());
            found.insert(*id, cosine(&vector, question));
        }
    }
    Ok(found)
}

/// Returns the mean of those of these rows that exist, rounded, and how many there are.
pub(crate) fn mean_in_table(db: &Connection, ids: &[i64]) -> rusqlite::Result<(UnitVector, usize)> {
    let mut statement = db.prepare_cached("SELECT embedding FROM chunk_vec WHERE rowid = ?1")?;
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
    // The transaction decides which rows exist, so all of them get the same tick.
    let now = Tick::default();
    let asked = Asked::new(question, &Form::Int8, now, among);
    let mut statement = db.prepare_cached(BLOCKS)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let block = TableBlock::of(row)?;
        if block.width != asked.width() || wanted == 0 {
            continue;
        }
        let mut segment = Segment::with_room(&Form::Int8, block.width);
        block.rows().for_each(|(id, bytes)| segment.push(id, bytes, now));
        segment.scan(&asked, &mut best, &mut bench, |_, id| id);
    }
    Ok(best.sorted())
}

struct TableBlock<'a> {
    is_taken: &'a [u8],
    ids: &'a [u8],
    components: &'a [u8],
    width: usize,
}

impl<'a> TableBlock<'a> {
    fn of(row: &'a Row<'_>) -> rusqlite::Result<Self> {
        let size = row.get::<_, i64>(0)?.max(1) as usize;
        let (is_taken, ids) = (row.get_ref(1)?.as_blob()?, row.get_ref(2)?.as_blob()?);
        let components = row.get_ref(3)?.as_blob()?;
        Ok(TableBlock { is_taken, ids, components, width: (components.len() / size).max(1) })
    }

    fn rows(&self) -> impl Iterator<Item = (i64, &'a [u8])> {
        let is_taken = self.is_taken;
        let is_taken =
            move |row: &usize| is_taken.get(row / 8).is_some_and(|byte| byte >> (row % 8) & 1 == 1);
        let ids = self.ids.as_chunks::<8>().0.iter().map(|bytes| i64::from_le_bytes(*bytes));
        let rows = ids.zip(self.components.chunks_exact(self.width)).enumerate();
        rows.filter(move |(row, _)| is_taken(row)).map(|(_, found)| found)
    }
}
