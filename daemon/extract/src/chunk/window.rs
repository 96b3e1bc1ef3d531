//! Windows: cuts a chunk into pieces short enough for one vector each.
//!
//! In: a chunk's span and atoms. Out: windows in order.
//! Invariants: windows tile the chunk, each beginning where the previous one ends; each holds at most the window's
//! tokens (a larger word is alone in one); they begin with an atom unless an atom is longer than a window.

use super::Budget;
use super::atom::{Atom, TokenIndex};
use model::terms::{Norm, Span};

/// Returns the windows of a chunk; at least one.
pub(super) fn windows_of(
    chunk: Span<Norm>,
    atoms: &[Atom],
    index: &TokenIndex,
    budget: &Budget,
) -> Vec<Span<Norm>> {
    let n_all: usize = atoms.iter().map(|atom| atom.n_tokens).sum();
    // Even shares: a last window of ten tokens would give a noisy vector.
    let n_windows = n_all.div_ceil(budget.window).max(1);
    let share = n_all.div_ceil(n_windows);
    let mut starts = vec![chunk.start()];
    let mut n_tokens = 0;
    let mut place = |start: usize, n_piece: usize| {
        if n_tokens > 0 && (n_tokens >= share || n_tokens + n_piece > budget.window) {
            starts.push(start);
            n_tokens = 0;
        }
        n_tokens += n_piece;
    };
    for atom in atoms {
        if atom.n_tokens <= budget.window {
            place(atom.start, atom.n_tokens);
            continue;
        }
        for (start, end) in index.cut(atom.start, atom.end, budget.window) {
            place(start, index.count(start, end));
        }
    }
    let ends = starts.iter().copied().skip(1).chain(std::iter::once(chunk.end()));
    starts.iter().zip(ends).map(|(&start, end)| Span::new(start, end)).collect()
}
