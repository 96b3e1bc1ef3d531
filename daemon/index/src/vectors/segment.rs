//! Segment: a fixed number of rows of vectors, appended until it is full, and the scan over them.
//!
//! Invariant: an added row keeps its place and its components; a removal is only marked, with its commit, so that
//! readers of an earlier commit still find the row.

use std::sync::atomic::{AtomicU64, Ordering};

use rustc_hash::{FxHashMap, FxHashSet};

use super::best::{Best, Nearest};
use super::question::Asked;
use super::rows::{Form, Rows, Workbench};
use model::terms::Tick;

/// Rows of a full segment: 256 KiB at 256 components. A commit copies at most the last segment. Few in tests, so that
/// small histories fill some.
pub(super) const FULL: usize = if cfg!(test) { 8 } else { 1_024 };

/// `gone` of a row that was not removed.
const STAYS: u64 = u64::MAX;

/// Rows with their components, one after the other.
#[derive(Debug)]
pub(super) struct Segment {
    form: Form,
    width: usize,
    ids: Vec<i64>,
    /// Whether ids ascend from row to row, as they do unless rows came back.
    is_rising: bool,
    /// The least and the greatest id.
    between: (i64, i64),
    rows: Rows,
    /// The divisor of each row's value, besides the question's length, that gives a cosine: its length, or for signs
    /// the equivalent.
    lengths: Vec<f32>,
    /// The commit that added each row.
    born: Vec<u64>,
    /// The commit that removed each row, or [`STAYS`].
    gone: Vec<AtomicU64>,
}

impl Clone for Segment {
    fn clone(&self) -> Self {
        // A segment is cloned to append to it, so the copy gets room for a full one.
        let mut copy = Segment::with_room(&self.form, self.width);
        for row in 0..self.n_rows() {
            copy.take_over(self, row);
        }
        copy
    }
}

impl Segment {
    pub(super) fn with_room(form: &Form, width: usize) -> Self {
        Segment {
            form: form.clone(),
            width,
            ids: Vec::with_capacity(FULL),
            is_rising: true,
            between: (i64::MAX, i64::MIN),
            rows: Rows::with_room(form, width),
            lengths: Vec::with_capacity(FULL),
            born: Vec::with_capacity(FULL),
            gone: Vec::with_capacity(FULL),
        }
    }

    pub(super) fn n_rows(&self) -> usize {
        self.ids.len()
    }

    pub(super) fn is_full(&self) -> bool {
        self.n_rows() >= FULL
    }

    /// Returns the memory it takes, bytes.
    pub(super) fn n_bytes(&self) -> usize {
        let a_row = size_of::<i64>() + size_of::<f32>() + 2 * size_of::<u64>();
        self.rows.n_bytes() + self.ids.capacity() * a_row
    }

    /// Called once it is full; no row may be added afterwards.
    pub(super) fn seal(&mut self) {
        self.rows.seal();
    }

    /// Adds a row. One with another number of bytes is ignored, since it is of another space.
    pub(super) fn push(&mut self, id: i64, bytes: &[u8], born: Tick) {
        if bytes.len() != self.form.n_bytes(self.width) {
            return;
        }
        self.lengths.push(self.rows.push(bytes));
        self.add_id(id);
        self.born.push(born.0);
        self.gone.push(AtomicU64::new(STAYS));
    }

    /// Copies a row of another segment; returns false if it cannot be read.
    pub(super) fn take_over(&mut self, other: &Segment, row: usize) -> bool {
        let place = (other.ids.get(row), other.lengths.get(row));
        let times = (other.born.get(row), other.gone.get(row));
        let ((Some(id), Some(length)), (Some(born), Some(gone))) = (place, times) else {
            return false;
        };
        // First, because it may fail: all columns must keep the same length.
        if !self.rows.take_over(&other.rows, row, self.width) {
            return false;
        }
        self.add_id(*id);
        self.lengths.push(*length);
        self.born.push(*born);
        self.gone.push(AtomicU64::new(gone.load(Ordering::Relaxed)));
        true
    }

    fn add_id(&mut self, id: i64) {
        let (least, most) = self.between;
        self.is_rising &= id > most;
        self.between = (least.min(id), most.max(id));
        self.ids.push(id);
    }

    /// Marks the present rows with these ids as removed by `tick`; returns how many there were.
    pub(super) fn note_gone(&self, ids: &FxHashSet<i64>, tick: Tick) -> usize {
        let mut n = 0;
        for (id, gone) in self.ids.iter().zip(&self.gone) {
            if ids.contains(id) && gone.load(Ordering::Relaxed) == STAYS {
                gone.store(tick.0, Ordering::Relaxed);
                n += 1;
            }
        }
        n
    }

    /// Returns the number of rows that no reader of `tick` or later finds.
    pub(super) fn n_gone_at(&self, tick: Tick) -> usize {
        self.gone.iter().filter(|gone| gone.load(Ordering::Relaxed) <= tick.0).count()
    }

    /// Returns the rows that a reader of `tick` or later may find.
    pub(super) fn rows_since(&self, tick: Tick) -> impl Iterator<Item = usize> {
        let stays = move |gone: &AtomicU64| gone.load(Ordering::Relaxed) > tick.0;
        self.gone.iter().enumerate().filter(move |(_, gone)| stays(gone)).map(|(row, _)| row)
    }

    /// Passes all rows that the reader sees to `best`, under the number that `name` returns for row and id.
    pub(super) fn scan(
        &self,
        asked: &Asked<'_>,
        best: &mut Best,
        bench: &mut Workbench,
        name: impl Fn(usize, i64) -> i64,
    ) {
        self.rows.values(&asked.question, self.n_rows(), bench);
        let mut floor = best.floor();
        for (row, (value, length)) in bench.values.iter().zip(&self.lengths).enumerate() {
            let cosine = *value / (asked.length * *length);
            // Nearly all rows end here; whether one is visible is checked only for the few others.
            if cosine < floor || !self.is_seen(row, asked) {
                continue;
            }
            if let Some(id) = self.ids.get(row) {
                best.meet(Nearest { id: name(row, *id), cosine: cosine.clamp(-1.0, 1.0) });
                floor = best.floor();
            }
        }
    }

    /// Returns a row with its exact cosine; `None` if there is no such row, or it cannot be read.
    pub(super) fn exact(&self, asked: &Asked<'_>, row: usize) -> Option<Nearest> {
        let id = *self.ids.get(row)?;
        let (dot, length) = self.rows.exact(&asked.question, row, self.width)?;
        Some(Nearest { id, cosine: (dot / (asked.length * length)).clamp(-1.0, 1.0) })
    }

    /// Adds the cosines of those of `ids`, in ascending order, that the reader sees to `found`.
    pub(super) fn pick(&self, asked: &Asked<'_>, ids: &[i64], found: &mut FxHashMap<i64, f32>) {
        self.each_of(ids, |row| {
            // A window may have an older, removed row with the same id.
            let near = self.is_seen(row, asked).then(|| self.exact(asked, row)).flatten();
            found.extend(near.map(|near| (near.id, near.cosine)));
        });
    }

    /// Adds those of `ids`, in ascending order, that a reader of `tick` sees to `sum`, each with length 1; returns how
    /// many there are.
    pub(super) fn add_to(&self, sum: &mut [f32], ids: &[i64], tick: Tick) -> usize {
        let mut n = 0;
        self.each_of(ids, |row| {
            let is_there = self.is_there(row, tick) && self.rows.add_to(sum, row, self.width);
            n += usize::from(is_there);
        });
        n
    }

    /// Calls `pick` with each row that has one of `ids`, which ascend.
    fn each_of(&self, ids: &[i64], mut pick: impl FnMut(usize)) {
        let first = ids.partition_point(|id| *id < self.between.0);
        let end = ids.partition_point(|id| *id <= self.between.1);
        let Some(ids) = ids.get(first..end).filter(|ids| !ids.is_empty()) else { return };
        if self.is_rising {
            ids.iter().filter_map(|id| self.ids.binary_search(id).ok()).for_each(pick);
        } else {
            let wanted = self.ids.iter().enumerate();
            let wanted = wanted.filter(|(_, id)| ids.binary_search(id).is_ok());
            wanted.for_each(|(row, _)| pick(row));
        }
    }

    /// Returns the rows that a reader of `tick` finds.
    pub(super) fn ids_at(&self, tick: Tick) -> impl Iterator<Item = i64> {
        let times = self.born.iter().zip(&self.gone);
        let is_there = move |born: &u64, gone: &AtomicU64| {
            *born <= tick.0 && tick.0 < gone.load(Ordering::Relaxed)
        };
        self.ids
            .iter()
            .zip(times)
            .filter(move |(_, (born, gone))| is_there(born, gone))
            .map(|(id, _)| *id)
    }

    fn is_seen(&self, row: usize, asked: &Asked<'_>) -> bool {
        let Some(id) = self.ids.get(row) else { return false };
        self.is_there(row, asked.tick) && asked.among.is_none_or(|among| among.contains(id))
    }

    fn is_there(&self, row: usize, tick: Tick) -> bool {
        let times = self.born.get(row).zip(self.gone.get(row));
        times.is_some_and(|(born, gone)| *born <= tick.0 && tick.0 < gone.load(Ordering::Relaxed))
    }
}
