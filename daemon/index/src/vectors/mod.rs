//! Vectors: finds the windows nearest to a question, by scanning all of them in memory.
//!
//! In: the rows of `windows` once, then the changes of each commit. Out: for a question, the windows with the
//! greatest cosine, as of the reader's commit.
//! The table is the stored truth. The copy here is made by a thread of its own when the first question comes; until
//! it is ready, and for readers of a commit that it no longer covers, the same scan runs over the table
//! (`table.rs`): the same numbers, several times slower.
//! `vectors.precision` says in which form they are held (`rows.rs`): stored are int8, or floats of a better model.
//! Invariants: an answer has the rows of its commit, never one of a later or earlier commit; the answer does not
//! depend on which of the two ways computes it, nor on the order in which rows arrived, except for signs, which may
//! miss rows at the edge of the answer; removed rows take at most as much memory as present ones.
//! The better models' vectors, which arrive later, are in layers of their own beside it (`layer.rs`).

mod apart;
mod best;
mod layer;
mod question;
mod rows;
mod segment;
mod table;
mod turn;
mod view;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use std::path::PathBuf;

use arc_swap::{ArcSwap, ArcSwapOption};
use config::settings::Precision;

pub use self::apart::Apart;
pub use self::best::Nearest;
pub use self::layer::Layer;
pub use self::rows::Form;
pub(crate) use self::table::{cosines_in_table, each_in_table, mean_in_table};
pub use self::table::{load, nearest_in_table};
pub use self::view::View;
use model::terms::Tick;

/// Most rows of changes kept while a copy is being made; a copy that falls further behind is abandoned.
const MAX_WAITING_ROWS: usize = 100_000;

/// How one commit changes the searched vectors.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct VectorChange {
    /// Rows that are no longer searched.
    pub gone: Vec<i64>,
    /// Rows searched from now on, with their components; may include a row of `gone`.
    pub born: Vec<(i64, Vec<u8>)>,
    /// Number of new windows that only a better model can embed.
    pub n_bare: usize,
}

/// The better models' vectors.
#[derive(Default)]
pub struct Layers {
    /// Vectors of the previous model, which answers instead of the first wanted one until that is complete.
    pub before: Option<Arc<Layer>>,
    /// Vectors of the wanted models: the first, and one for languages that it does not know.
    pub wanted: Vec<Arc<Layer>>,
}

impl Layers {
    fn all(&self) -> impl Iterator<Item = &Arc<Layer>> {
        self.before.iter().chain(&self.wanted)
    }
}

impl VectorChange {
    fn n_rows(&self) -> usize {
        self.gone.len() + self.born.len()
    }
}

/// The copy in memory of one index, if there is one.
#[derive(Default)]
pub struct Vectors {
    /// `vectors.precision`, and the folder for [`Apart`].
    held: Option<(Precision, PathBuf)>,
    view: ArcSwapOption<View>,
    making: Mutex<Making>,
    layers: ArcSwap<Layers>,
}

#[derive(Default)]
struct Making {
    /// Counts copies started and dropped: a copy with an older number is no longer wanted.
    n_begun: u64,
    /// While a copy is being made: the changes committed since it was started, in order.
    waiting: Option<Vec<(Tick, VectorChange)>>,
}

impl Vectors {
    /// Creates an empty holder; `folder` is where [`Apart`] puts its file.
    pub fn held_as(precision: Precision, folder: PathBuf) -> Self {
        Vectors { held: Some((precision, folder)), ..Vectors::default() }
    }

    /// Returns the form for one more int8 space. (Floats have spaces of their own.)
    pub fn form(&self) -> Form {
        let Some((Precision::Bit, folder)) = &self.held else { return Form::Int8 };
        let apart = Apart::within(folder).inspect_err(|error| {
            tracing::warn!(%error, folder = %folder.display(),
                "no file for vectors beside their bits: `vectors.precision` is int8 until the next start");
        });
        apart.map_or(Form::Int8, Form::Bit)
    }

    /// Returns the copy, if there is one.
    pub fn view(&self) -> Option<Arc<View>> {
        self.view.load_full()
    }

    /// Returns the better models' vectors.
    pub fn layers(&self) -> Arc<Layers> {
        self.layers.load_full()
    }

    /// Replaces the better models' vectors.
    pub fn set_layers(&self, layers: Layers) {
        self.layers.store(Arc::new(layers));
    }

    /// Announces a commit, the next after the last announced one, *before* it is made: a reader that sees it must
    /// find its rows here, and one that does not see it yet skips them. Call [`Vectors::forget`] if the commit fails.
    pub fn publish(&self, tick: Tick, change: VectorChange) {
        self.layers.load().all().for_each(|layer| layer.publish(tick, &change));
        let mut making = self.lock();
        // A copy in the making shows an older commit: it catches up in `finish`.
        if let Some(waiting) = &mut making.waiting {
            waiting.push((tick, change));
            if waiting.iter().map(|(_, change)| change.n_rows()).sum::<usize>() > MAX_WAITING_ROWS {
                making.give_up();
            }
            return;
        }
        let Some(view) = self.view.load_full() else { return };
        self.view.store(view.with(tick, change).map(Arc::new));
    }

    /// Drops the copy, and one that is being made.
    pub fn forget(&self) {
        self.layers.load().all().for_each(|layer| layer.forget());
        let mut making = self.lock();
        making.give_up();
        self.view.store(None);
    }

    /// Starts a copy and returns its number; the caller then reads a snapshot and calls [`Vectors::finish`]. `None`
    /// if there is a copy, or another one is being made.
    pub fn begin(&self) -> Option<u64> {
        let mut making = self.lock();
        if making.waiting.is_some() || self.view.load().is_some() {
            return None;
        }
        making.n_begun += 1;
        making.waiting = Some(Vec::new());
        Some(making.n_begun)
    }

    /// Installs a copy, with the changes committed meanwhile. Without a copy, allows another one to be started.
    pub fn finish(&self, number: u64, copy: Option<View>) {
        let mut making = self.lock();
        if making.n_begun != number {
            return;
        }
        let Some(waiting) = making.waiting.take() else { return };
        // The snapshot may be newer than the first waiting commits.
        let with_later = |view: View, (tick, change): (Tick, VectorChange)| {
            if tick <= view.newest() { Some(view) } else { view.with(tick, change) }
        };
        let copy = copy.and_then(|view| waiting.into_iter().try_fold(view, with_later));
        self.view.store(copy.map(Arc::new));
    }

    fn lock(&self) -> MutexGuard<'_, Making> {
        self.making.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Making {
    fn give_up(&mut self) {
        self.n_begun += 1;
        self.waiting = None;
    }
}

#[cfg(test)]
mod tests;
