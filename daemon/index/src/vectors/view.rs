//! View: all rows of one index as of a range of commits, from an oldest to a newest.
//!
//! Invariants: immutable, except for removals marked with a commit later than any that this view is used for; all
//! segments but the last are full; a segment with too many rows that nobody can find any more is dropped, and its
//! other rows are appended again.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::VectorChange;
use super::best::{Best, Nearest};
use super::question::Asked;
use super::rows::{Form, Workbench, floats};
use super::segment::{FULL, Segment};
use embed::unit_vector;
use model::document::UnitVector;
use model::terms::Tick;

/// Number of removed rows that triggers a rewrite of a segment.
const TOO_MANY_GONE: usize = FULL / 2;

/// Rows scored exactly for each one wanted, where a scan only estimates, and their least number
/// (`tests/benches/vectors.rs`: 512 of 100,000 near copies keep .936 of the 40 nearest, where bytes keep .981).
const LIKELY_A_WANTED: usize = 16;
const LIKELY_AT_LEAST: usize = 512;

/// A place is `segment << ROW_BITS | row`.
const ROW_BITS: u32 = 16;

/// All vectors of an index, for readers of a range of commits.
#[derive(Debug, Clone)]
pub struct View {
    form: Form,
    /// Components of a row; 0 while there are no rows.
    width: usize,
    segments: Vec<Arc<Segment>>,
    oldest: Tick,
    newest: Tick,
    n_rows: usize,
}

impl View {
    /// Creates a view without rows, as of `tick`.
    pub(super) fn empty(tick: Tick, form: Form) -> Self {
        View { form, width: 0, segments: Vec::new(), oldest: tick, newest: tick, n_rows: 0 }
    }

    /// Creates a view of these rows, as their space stores them, as of `tick`.
    pub fn of_rows<'a>(
        form: Form,
        tick: Tick,
        rows: impl Iterator<Item = (i64, &'a [u8])>,
    ) -> Self {
        let mut view = View::empty(tick, form);
        view.extend(rows, tick);
        view
    }

    /// Returns the last commit that it covers.
    pub fn newest(&self) -> Tick {
        self.newest
    }

    /// Returns whether it is valid for readers of this commit.
    pub fn knows(&self, tick: Tick) -> bool {
        (self.oldest..=self.newest).contains(&tick)
    }

    /// Returns the number of rows at the newest commit.
    pub fn n_rows(&self) -> usize {
        self.n_rows
    }

    /// Returns the number of rows held, removed ones included.
    #[cfg(test)]
    pub(super) fn n_held(&self) -> usize {
        self.segments.iter().map(|segment| segment.n_rows()).sum()
    }

    /// Returns the memory it takes, bytes.
    pub fn n_bytes(&self) -> usize {
        self.segments.iter().map(|segment| segment.n_bytes()).sum()
    }

    /// Returns the `wanted` windows nearest to a question, nearest first, as of `tick`, which must be covered (see
    /// [`View::knows`]).
    pub fn nearest(
        &self,
        question: &[i8],
        tick: Tick,
        wanted: usize,
        among: Option<&FxHashSet<i64>>,
    ) -> Vec<Nearest> {
        let (mut best, mut bench) = (Best::new(wanted), Workbench::default());
        let asked = Asked::new(question, &self.form, tick, among);
        if asked.width() != self.width || wanted == 0 {
            return Vec::new();
        }
        if matches!(self.form, Form::Bit(_)) {
            self.likely(&asked, wanted).into_iter().for_each(|near| best.meet(near));
        } else {
            let mut scan = |segment: &Segment| {
                segment.scan(&asked, &mut best, &mut bench, |_, id| id);
            };
            self.segments.iter().for_each(|segment| scan(segment));
        }
        best.sorted()
    }

    /// Returns the rows that the estimate ranks highest, with their exact cosines.
    fn likely(&self, asked: &Asked<'_>, wanted: usize) -> Vec<Nearest> {
        let n_likely = (wanted * LIKELY_A_WANTED).max(LIKELY_AT_LEAST);
        let (mut likely, mut bench) = (Best::new(n_likely), Workbench::default());
        for (n, segment) in self.segments.iter().enumerate() {
            let place = |row: usize, _| (n as i64) << ROW_BITS | row as i64;
            segment.scan(asked, &mut likely, &mut bench, place);
        }
        let mut places: Vec<i64> = likely.sorted().into_iter().map(|near| near.id).collect();
        // In the order of the file, which is read for each.
        places.sort_unstable();
        let exact = |place: i64| {
            let segment = self.segments.get((place >> ROW_BITS) as usize)?;
            segment.exact(asked, (place & ((1 << ROW_BITS) - 1)) as usize)
        };
        places.into_iter().filter_map(exact).collect()
    }

    /// Returns the cosines of those of these rows that exist at `tick` with a question.
    pub fn cosines_of(
        &self,
        ids: &FxHashSet<i64>,
        question: &[i8],
        tick: Tick,
    ) -> FxHashMap<i64, f32> {
        let asked = Asked::new(question, &self.form, tick, Some(ids));
        let (mut found, mut rising) = (FxHashMap::default(), Vec::from_iter(ids.iter().copied()));
        rising.sort_unstable();
        if asked.width() == self.width {
            self.segments.iter().for_each(|segment| segment.pick(&asked, &rising, &mut found));
        }
        found
    }

    /// Returns the mean of those of these rows, in ascending order, that exist at `tick`, rounded, and how many there
    /// are. Without rows it is a vector of zeros.
    pub fn mean_of(&self, ids: &[i64], tick: Tick) -> (UnitVector, usize) {
        let mut sum = vec![0.0; self.width];
        let added = self.segments.iter().map(|segment| segment.add_to(&mut sum, ids, tick));
        let n = added.sum();
        (unit_vector(&sum), n)
    }

    /// Returns a question's vector, as the space stores it, rounded like means.
    pub fn rounded(&self, question: &UnitVector) -> UnitVector {
        match self.form {
            Form::Int8 | Form::Bit(_) => question.clone(),
            Form::Float32 => {
                let bytes: Vec<u8> = question.0.iter().map(|it| it.cast_unsigned()).collect();
                unit_vector(&floats(&bytes).collect::<Vec<f32>>())
            }
        }
    }

    /// Returns the rows at `tick`.
    pub(super) fn ids_at(&self, tick: Tick) -> FxHashSet<i64> {
        self.segments.iter().flat_map(|segment| segment.ids_at(tick)).collect()
    }

    /// Returns a copy with more rows, for readers of its newest commit.
    pub(super) fn with_more(&self, rows: &[(i64, Vec<u8>)]) -> Self {
        let mut next = self.clone();
        next.extend(rows.iter().map(|(id, bytes)| (*id, bytes.as_slice())), self.newest);
        next
    }

    /// Returns a copy as of the next commit; `None` if `tick` is not the next one, since the changes between are
    /// unknown, or if a row that must be copied cannot be read.
    pub(super) fn with(&self, tick: Tick, change: VectorChange) -> Option<Self> {
        if tick.0 != self.newest.0 + 1 {
            return None;
        }
        let mut next = self.clone();
        if !change.gone.is_empty() {
            let gone: FxHashSet<i64> = change.gone.into_iter().collect();
            // Segments are shared with this view, whose readers see earlier commits: they compare the tick.
            let noted = self.segments.iter().map(|segment| segment.note_gone(&gone, tick));
            next.n_rows = next.n_rows.saturating_sub(noted.sum());
            next.tidy()?;
        }
        next.extend(change.born.iter().map(|(id, bytes)| (*id, bytes.as_slice())), tick);
        next.newest = tick;
        Some(next)
    }

    /// Adds rows that a commit brought.
    pub(super) fn extend<'a>(&mut self, rows: impl Iterator<Item = (i64, &'a [u8])>, born: Tick) {
        let mut rows = rows.peekable();
        let Some((_, first)) = rows.peek() else { return };
        if self.segments.is_empty() {
            self.width = self.form.width(first.len());
        }
        let mut last = self.open_last();
        for (id, bytes) in rows {
            let before = last.n_rows();
            last.push(id, bytes, born);
            self.n_rows += last.n_rows() - before;
            self.close_if_full(&mut last);
        }
        self.segments.push(Arc::new(last));
    }

    /// Rewrites segments with too many removed rows. Afterwards the view is valid for the newest commit only. `None`
    /// if a row cannot be read.
    fn tidy(&mut self) -> Option<()> {
        let newest = self.newest;
        let is_poor = |segment: &Arc<Segment>| segment.n_gone_at(newest) >= TOO_MANY_GONE;
        let (poor, good): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.segments).into_iter().partition(is_poor);
        self.segments = good;
        if poor.is_empty() {
            return Some(());
        }
        self.oldest = newest;
        let mut last = self.open_last();
        for segment in &poor {
            for row in segment.rows_since(newest) {
                last.take_over(segment, row).then_some(())?;
                self.close_if_full(&mut last);
            }
        }
        if last.n_rows() > 0 {
            self.segments.push(Arc::new(last));
        }
        Some(())
    }

    /// Takes out the last segment and returns a copy with room for more, or an empty one if that is full.
    fn open_last(&mut self) -> Segment {
        match self.segments.pop_if(|last| !last.is_full()) {
            Some(last) => Segment::clone(&last),
            None => Segment::with_room(&self.form, self.width),
        }
    }

    fn close_if_full(&mut self, last: &mut Segment) {
        if last.is_full() {
            let mut full = std::mem::replace(last, Segment::with_room(&self.form, self.width));
            full.seal();
            self.segments.push(Arc::new(full));
        }
    }
}
