//! Order: which texts get their better vectors next.
//!
//! In: texts without one, in the order of their use, and windows that questions have found. Out: texts, each once;
//! those that a question has found come first, the last question's before others.

use rustc_hash::FxHashMap;

use super::Lacking;
use index::read::SearchedWindow;
use index::store::{Snapshot, StoreError};

/// Returns the searched windows in the order in which their vectors are most useful: the first chunk of each
/// document, which says what it is about, then running text, then tables and code, where words find as much.
pub fn searched_windows(snapshot: &Snapshot) -> Result<Vec<SearchedWindow>, StoreError> {
    let mut windows = snapshot.windows().searched()?;
    // Each class stays in the order of ids. A sort by SQLite would write every row once more.
    windows.sort_by_key(|window| match (window.is_first, window.is_reference) {
        (true, _) => 0,
        (false, is_reference) => 1 + u8::from(is_reference),
    });
    Ok(windows)
}

/// The texts of one round.
pub(super) struct Order {
    texts: Vec<Option<Lacking>>,
    /// The text of each window.
    place_of: FxHashMap<i64, usize>,
    next: usize,
}

impl Order {
    pub(super) fn new(lacking: Vec<Lacking>) -> Self {
        let places = lacking.iter().enumerate();
        let place_of =
            places.flat_map(|(place, (_, ids))| ids.iter().map(move |id| (*id, place))).collect();
        Order { texts: lacking.into_iter().map(Some).collect(), place_of, next: 0 }
    }

    /// Returns whether texts are left; skips those that were taken out of order.
    pub(super) fn has_more(&mut self) -> bool {
        while self.texts.get(self.next).is_some_and(Option::is_none) {
            self.next += 1;
        }
        self.next < self.texts.len()
    }

    /// Takes the next texts: those that questions have found, then others until there are `n`.
    pub(super) fn take(&mut self, n: usize, met: impl IntoIterator<Item = i64>) -> Vec<Lacking> {
        let mut taken = Vec::with_capacity(n);
        for window in met {
            let place = self.place_of.get(&window);
            let text = place.and_then(|place| self.texts.get_mut(*place));
            taken.extend(text.and_then(Option::take));
        }
        while let Some(text) = self.texts.get_mut(self.next).filter(|_| taken.len() < n) {
            taken.extend(text.take());
            self.next += 1;
        }
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::terms::ContentHash;

    #[test]
    fn what_a_question_has_met_comes_first_and_nothing_comes_twice() {
        let text = |n: i64| (ContentHash(n as u128), vec![n, n + 100]);
        let mut order = Order::new((0..6).map(text).collect());
        assert!(order.has_more());
        let mut take = |met: &[i64]| -> Vec<u128> {
            order.take(2, met.iter().copied()).iter().map(|it| it.0.0).collect()
        };
        assert_eq!(take(&[]), [0, 1]);
        assert_eq!(take(&[104, 0, 7]), [4, 2]);
        assert_eq!(take(&[3, 5, 4]), [3, 5]);
        assert_eq!(take(&[]), [0u128; 0]);
        assert!(!order.has_more());
    }
}
