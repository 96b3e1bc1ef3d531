//! Segment: some rows of vectors, which are only ever added to while they fill up, and the scan over them.
//!
//! Invariant: a row once in keeps its place and its components; only that it is gone may be noted later, with the
//! commit since when, so that those who see an earlier one still find it.

use std::sync::atomic::{AtomicU64, Ordering};

use rustc_hash::{FxHashMap, FxHashSet};

use super::best::{Best, Nearest};
use crate::terms::Tick;

/// Rows of a full segment: 256 KiB of 256 components each. A commit copies the last one at most. Few in tests, so that
/// small histories fill some.
pub(super) const FULL: usize = if cfg!(test) { 8 } else { 1_024 };

/// `gone` of a row that is there.
const STAYS: u64 = u64::MAX;

/// A question's vector, prepared for scans.
pub(super) struct Asked<'a> {
    components: &'a [i8],
    length: f32,
    /// The commit that the asker sees.
    tick: Tick,
    /// The only rows wanted; all when none.
    among: Option<&'a FxHashSet<i64>>,
}

impl<'a> Asked<'a> {
    pub(super) fn new(components: &'a [i8], tick: Tick, among: Option<&'a FxHashSet<i64>>) -> Self {
        Asked { components, length: length(components), tick, among }
    }

    pub(super) fn width(&self) -> usize {
        self.components.len()
    }
}

/// Rows with their components, one after the other.
#[derive(Debug, Default)]
pub(super) struct Segment {
    width: usize,
    ids: Vec<i64>,
    components: Vec<i8>,
    /// Of each row's vector, as it is rounded.
    lengths: Vec<f32>,
    /// The commit that brought a row.
    born: Vec<u64>,
    /// The commit since which it is gone.
    gone: Vec<AtomicU64>,
}

impl Clone for Segment {
    fn clone(&self) -> Self {
        // It is copied to be filled.
        let mut copy = Segment::with_room(self.width);
        for row in 0..self.n_rows() {
            copy.take_over(self, row);
        }
        copy
    }
}

impl Segment {
    pub(super) fn with_room(width: usize) -> Self {
        Segment {
            width,
            ids: Vec::with_capacity(FULL),
            components: Vec::with_capacity(FULL * width),
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

    /// Bytes that it takes.
    pub(super) fn n_bytes(&self) -> usize {
        let a_row = size_of::<i64>() + size_of::<f32>() + 2 * size_of::<u64>();
        self.components.capacity() + self.ids.capacity() * a_row
    }

    /// Adds a row; one of another width is left out, since it is of another space.
    pub(super) fn push(&mut self, id: i64, bytes: &[u8], born: Tick) {
        if bytes.len() != self.width {
            return;
        }
        let first = self.components.len();
        self.components.extend(bytes.iter().map(|byte| byte.cast_signed()));
        let row = self.components.get(first..).unwrap_or_default();
        self.lengths.push(length(row));
        self.ids.push(id);
        self.born.push(born.0);
        self.gone.push(AtomicU64::new(STAYS));
    }

    /// Adds a row of another segment as it is.
    pub(super) fn take_over(&mut self, other: &Segment, row: usize) {
        let components = other.components.get(row * self.width..(row + 1) * self.width);
        let place = (other.ids.get(row), other.lengths.get(row));
        let times = (other.born.get(row), other.gone.get(row));
        if let (Some(components), (Some(id), Some(length)), (Some(born), Some(gone))) =
            (components, place, times)
        {
            self.components.extend_from_slice(components);
            self.ids.push(*id);
            self.lengths.push(*length);
            self.born.push(*born);
            self.gone.push(AtomicU64::new(gone.load(Ordering::Relaxed)));
        }
    }

    /// Notes that the rows of these ids that are there are gone since `tick`; how many that were.
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

    /// Rows that nobody who sees `tick` or later finds.
    pub(super) fn n_gone_at(&self, tick: Tick) -> usize {
        self.gone.iter().filter(|gone| gone.load(Ordering::Relaxed) <= tick.0).count()
    }

    /// Rows that somebody who sees `tick` or later may find.
    pub(super) fn rows_since(&self, tick: Tick) -> impl Iterator<Item = usize> {
        let stays = move |gone: &AtomicU64| gone.load(Ordering::Relaxed) > tick.0;
        self.gone.iter().enumerate().filter(move |(_, gone)| stays(gone)).map(|(row, _)| row)
    }

    /// Lets `best` meet all rows that the asker sees. `dots` is room to work in.
    pub(super) fn scan(&self, asked: &Asked<'_>, best: &mut Best, dots: &mut Vec<i32>) {
        dots.clear();
        dots.resize(self.n_rows(), 0);
        crate::sys::dots(asked.components, &self.components, dots);
        let mut floor = best.floor();
        for (row, (dot, length)) in dots.iter().zip(&self.lengths).enumerate() {
            let cosine = *dot as f32 / (asked.length * *length);
            // Most rows end here: whether one is there at all is only asked for the few others.
            if cosine < floor || !self.is_seen(row, asked) {
                continue;
            }
            if let Some(id) = self.ids.get(row) {
                best.meet(Nearest { id: *id, cosine: cosine.clamp(-1.0, 1.0) });
                floor = best.floor();
            }
        }
    }

    /// Puts the cosines of those of `ids` that the asker sees into `found`.
    pub(super) fn pick(
        &self,
        asked: &Asked<'_>,
        ids: &FxHashSet<i64>,
        found: &mut FxHashMap<i64, f32>,
    ) {
        let wanted = self.ids.iter().enumerate().filter(|(_, id)| ids.contains(id));
        for (row, id) in wanted {
            let components = self.components.get(row * self.width..(row + 1) * self.width);
            let (Some(components), Some(length)) = (components, self.lengths.get(row)) else {
                continue;
            };
            if self.is_seen(row, asked) {
                let mut dot = [0];
                crate::sys::dots(asked.components, components, &mut dot);
                let cosine = dot.iter().sum::<i32>() as f32 / (asked.length * *length);
                found.insert(*id, cosine.clamp(-1.0, 1.0));
            }
        }
    }

    /// The rows that somebody who sees `tick` finds.
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
        let (Some(id), Some(born), Some(gone)) =
            (self.ids.get(row), self.born.get(row), self.gone.get(row))
        else {
            return false;
        };
        let is_there = *born <= asked.tick.0 && asked.tick.0 < gone.load(Ordering::Relaxed);
        is_there && asked.among.is_none_or(|among| among.contains(id))
    }
}

/// Length of a rounded vector; that of zeros is infinite, so that its cosine with any other is 0.
fn length(components: &[i8]) -> f32 {
    let squared: i32 = components.iter().map(|x| i32::from(*x) * i32::from(*x)).sum();
    if squared == 0 { f32::INFINITY } else { (squared as f32).sqrt() }
}
