//! Vectors: the windows that are nearest to a question, by a scan of all of them in memory.
//!
//! In: the rows of `chunk_vec` once, then what each commit changes of them. Out: for a question, the windows of
//! greatest cosine, as of the commit that the asker sees.
//! `chunk_vec` is what lasts and what is true. The copy here is made when somebody first asks, by a thread of its own;
//! until it is there, and for whoever sees a commit that it no longer knows, the same scan runs over the table's own
//! blocks (`table.rs`): the same numbers, some times slower.
//! `vectors.precision` says in what form it holds them (`rows.rs`): what is kept are int8, or floats of a better model.
//! Invariants: an answer holds what its commit held, never a row of a later or an earlier one; which of the two ways
//! answers, and in what order rows came, does not change it, but for signs, which may miss what lies at the edge of the
//! answer; what is gone takes at most as much room as what is there.
//! The better model's vectors, which come later, lie in layers of their own beside it (`layer.rs`).
//! Not here: embedding (`embed/`), which rows there are (`store/commit/`), what windows mean (`query/recall.rs`).

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
pub use self::table::{cosines_in_table, each_in_table, load, nearest_in_table};
pub use self::view::View;
use model::terms::Tick;

/// Rows of changes kept for a copy that is being made; one that falls further behind is given up.
const MAX_WAITING_ROWS: usize = 100_000;

/// What one commit changes of the vectors that are searched.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct VectorChange {
    /// Rows that are no longer searched.
    pub gone: Vec<i64>,
    /// Rows searched from now on, with their components; one that was gone may come back.
    pub born: Vec<(i64, Vec<u8>)>,
    /// Windows searched from now on that only a better model can embed.
    pub n_bare: usize,
}

/// The better models' vectors.
#[derive(Default)]
pub struct Layers {
    /// Of a model before, which answers instead of the first wanted one until that has all its vectors.
    pub before: Option<Arc<Layer>>,
    /// Of the models that are wanted: the first, and one for languages that it does not know.
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

/// The copy in memory of one index, or that there is none.
#[derive(Default)]
pub struct Vectors {
    /// `vectors.precision`, and the folder for what is held apart.
    held: Option<(Precision, PathBuf)>,
    view: ArcSwapOption<View>,
    making: Mutex<Making>,
    layers: ArcSwap<Layers>,
}

#[derive(Default)]
struct Making {
    /// Counts the copies begun and forgotten: what was begun before is not wanted any more.
    n_begun: u64,
    /// While a copy is being made: what was committed since it was begun, in order.
    waiting: Option<Vec<(Tick, VectorChange)>>,
}

impl Vectors {
    /// None yet, to be held as the settings say; `folder` has room for what is held apart.
    pub fn held_as(precision: Precision, folder: PathBuf) -> Self {
        Vectors { held: Some((precision, folder)), ..Vectors::default() }
    }

    /// The form in which int8 of one more space are held. (Floats are of spaces of their own.)
    pub fn form(&self) -> Form {
        let Some((Precision::Bit, folder)) = &self.held else { return Form::Int8 };
        let apart = Apart::within(folder).inspect_err(|error| {
            tracing::warn!(%error, folder = %folder.display(),
                "no file for vectors beside their bits: `vectors.precision` is int8 until the next start");
        });
        apart.map_or(Form::Int8, Form::Bit)
    }

    /// The copy, if there is one.
    pub fn view(&self) -> Option<Arc<View>> {
        self.view.load_full()
    }

    /// The better models' vectors.
    pub fn layers(&self) -> Arc<Layers> {
        self.layers.load_full()
    }

    /// Replaces the better models' vectors.
    pub fn set_layers(&self, layers: Layers) {
        self.layers.store(Arc::new(layers));
    }

    /// Announces a commit, the next after the last announced one, *before* it is made: a reader that sees it must find
    /// its rows here, and one that does not see it yet skips them. Call [`Vectors::forget`] when the commit fails.
    pub fn publish(&self, tick: Tick, change: VectorChange) {
        self.layers.load().all().for_each(|layer| layer.publish(tick, &change));
        let mut making = self.lock();
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

    /// Lets go of the copy, and of one that is being made.
    pub fn forget(&self) {
        self.layers.load().all().for_each(|layer| layer.forget());
        let mut making = self.lock();
        making.give_up();
        self.view.store(None);
    }

    /// Whoever makes a copy calls this first, then reads a snapshot, then calls [`Vectors::finish`]. None when there is
    /// a copy, or another one is being made.
    pub fn begin(&self) -> Option<u64> {
        let mut making = self.lock();
        if making.waiting.is_some() || self.view.load().is_some() {
            return None;
        }
        making.n_begun += 1;
        making.waiting = Some(Vec::new());
        Some(making.n_begun)
    }

    /// Puts the copy in its place, with what was committed meanwhile; without one, lets another be begun.
    pub fn finish(&self, number: u64, copy: Option<View>) {
        let mut making = self.lock();
        if making.n_begun != number {
            return;
        }
        let Some(waiting) = making.waiting.take() else { return };
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
