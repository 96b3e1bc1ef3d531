//! Fill: packs the units of one group of sections into chunks, greedily and in order.
//!
//! In: units. Out: a range of atoms for each chunk; an overlap with the previous chunk consists of whole sentences.
//! Invariants: without their overlaps, the ranges follow one another and hold every atom; each chunk holds at least
//! one atom that is not part of its overlap, so filling always advances.

use std::ops::Range;

use super::Budget;
use super::outline::{Outline, Unit};

/// Returns the chunks of a group, as ranges of atoms.
pub(super) fn fill(units: Vec<Unit>, outline: &Outline<'_>, budget: &Budget) -> Vec<Range<usize>> {
    let start = units.first().map_or(0, |unit| unit.atoms.start);
    let open = OpenChunk { start, fresh: start, end: start, n_tokens: 0, has_body: false };
    let mut filling = Filling { outline, budget, chunks: Vec::new(), open };
    units.iter().for_each(|unit| filling.place(unit));
    filling.close();
    filling.chunks
}

/// The chunk being filled: atoms `start..end`, of which those before `fresh` repeat the previous chunk.
#[derive(Debug)]
struct OpenChunk {
    start: usize,
    fresh: usize,
    end: usize,
    n_tokens: usize,
    /// True when it holds more than headings.
    has_body: bool,
}

#[derive(Debug)]
struct Filling<'a> {
    outline: &'a Outline<'a>,
    budget: &'a Budget,
    chunks: Vec<Range<usize>>,
    open: OpenChunk,
}

impl Filling<'_> {
    /// Puts a unit into the open chunk if it fits, otherwise into a new chunk, otherwise atom by atom. A heading
    /// never ends a chunk: the text below it is cut instead.
    fn place(&mut self, unit: &Unit) {
        // A fact or a turn shares its chunk with nothing but the headings right above it.
        if unit.is_alone && self.open.has_body {
            self.close();
        }
        let n_together = self.open.n_tokens + unit.n_tokens;
        // A chunk that holds only headings accepts a unit up to the unit's own limit (an ordered list may be twice as
        // large as a chunk): the headings would otherwise be a chunk without text.
        let fits =
            n_together <= self.budget.max || (!self.open.has_body && n_together <= unit.limit);
        if fits {
            self.take(unit.atoms.end, unit.n_tokens);
        } else if unit.n_tokens <= unit.limit && self.open.has_body {
            self.close();
            self.overlap(unit.n_tokens);
            self.take(unit.atoms.end, unit.n_tokens);
        } else {
            unit.atoms.clone().for_each(|atom| self.place_atom(atom));
        }
        self.open.has_body |= !unit.is_heading;
        if unit.is_alone {
            self.close();
        }
    }

    fn place_atom(&mut self, idx: usize) {
        let n_tokens = self.outline.atom(idx).map_or(0, |atom| atom.n_tokens);
        // An atom that is larger than a chunk still goes somewhere: into an empty chunk, alone.
        if self.open.n_tokens > 0 && self.open.n_tokens + n_tokens > self.budget.max {
            self.close();
            self.overlap(n_tokens);
        }
        self.take(idx + 1, n_tokens);
    }

    fn take(&mut self, end: usize, n_tokens: usize) {
        self.open.end = end;
        self.open.n_tokens += n_tokens;
    }

    /// Closes the open chunk, if it holds anything new, and opens an empty one.
    fn close(&mut self) {
        let end = self.open.end;
        if self.open.fresh < end {
            self.chunks.push(self.open.start..end);
        }
        self.open = OpenChunk { start: end, fresh: end, end, n_tokens: 0, has_body: false };
    }

    /// Extends the empty open chunk backwards over whole sentences of the previous chunk, as far as the setting and the
    /// next `n_coming` tokens allow, but never over all of it.
    fn overlap(&mut self, n_coming: usize) {
        let Some(last) = self.chunks.last().cloned() else { return };
        let room = self.budget.overlap.min(self.budget.max.saturating_sub(n_coming));
        let fresh = self.open.fresh;
        // Never the first atom: the overlap must not be the whole previous chunk.
        for idx in (last.start + 1..last.end).rev() {
            let Some(atom) = self.outline.atom(idx) else { return };
            let n_tokens = self.open.n_tokens + atom.n_tokens;
            if !atom.is_sentence || n_tokens > room || !self.outline.is_same_section(idx, fresh) {
                return;
            }
            self.open.start = idx;
            self.open.n_tokens = n_tokens;
        }
    }
}
