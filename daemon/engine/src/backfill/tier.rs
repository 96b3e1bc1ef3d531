//! Tier: one of the wanted models, and which windows it embeds.
//!
//! In: the models in order, the searched windows. Out: the windows that each model embeds.
//! Invariants: a window belongs to the first model that reads its language. If enough windows of a folder belong to a
//! later model, that model also embeds the others that it reads, after its own: a question in one language then finds
//! text in another.

use std::sync::Arc;

use super::Pace;
use embed::{Embedder, Unrounded};
use index::read::SearchedWindow;
use index::store::{Readers, Space, Spaces, StoreError};
use index::vectors::{Form, Layer};
use model::terms::ContentHash;

/// A folder counts as multilingual if at least one in this many windows is in another language.
const SEVERAL_LANGUAGES: usize = 20;

/// One model and its vector space.
pub(super) struct Tier {
    pub(super) space: Space,
    pub(super) layer: Arc<Layer>,
    /// The space with the same vectors unrounded, if it exists: those need not be embedded again.
    pub(super) unrounded: Option<i64>,
    pub(super) pace: Arc<Pace>,
}

/// The windows that one model embeds.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Share {
    /// Its own windows first.
    pub(super) windows: Vec<(i64, ContentHash)>,
    /// Number of windows that no earlier model reads.
    n_own: usize,
    /// True if it also embeds what other models read.
    is_of_all: bool,
}

impl Tier {
    pub(super) fn new(
        file: &Spaces,
        readers: &Readers,
        space: Space,
        embedder: Arc<dyn Embedder>,
    ) -> Result<Self, StoreError> {
        let name = Unrounded::space_of(&space.name);
        let unrounded = file.list()?.into_iter().find(|it| it.name == name && it.id != space.id);
        let form = match embedder.keeps_floats() {
            true => Form::Float32,
            false => readers.vectors().form(),
        };
        let layer = Arc::new(Layer::new(embedder, form));
        let pace = Arc::new(Pace::new(&space.model, &space.name));
        Ok(Tier { space, layer, unrounded: unrounded.map(|it| it.id), pace })
    }

    /// Returns the model.
    pub(super) fn embedder(&self) -> &Arc<dyn Embedder> {
        self.layer.embedder()
    }
}

/// Assigns the windows to the models.
pub(super) fn shares(models: &[&dyn Embedder], windows: &[SearchedWindow]) -> Vec<Share> {
    let mut shares: Vec<Share> = models.iter().map(|_| Share::default()).collect();
    for window in windows {
        if let Some(share) = owner(models, window.may_be_english).and_then(|at| shares.get_mut(at))
        {
            share.windows.push((window.id, window.hash));
            share.n_own += 1;
        }
    }
    // The first model reads nothing that belongs to another, so only later ones can have more.
    for (at, share) in shares.iter_mut().enumerate().skip(1) {
        share.is_of_all = share.n_own * SEVERAL_LANGUAGES >= windows.len().max(1);
        let is_more = |it: &&SearchedWindow| {
            owner(models, it.may_be_english) != Some(at)
                && share.takes(models, at, it.may_be_english)
        };
        let more: Vec<_> = windows.iter().filter(is_more).map(|it| (it.id, it.hash)).collect();
        share.windows.extend(more);
    }
    shares
}

impl Share {
    /// Returns whether the model at this position embeds a text of this language.
    fn takes(&self, models: &[&dyn Embedder], at: usize, may_be_english: bool) -> bool {
        let reads = |model: &&dyn Embedder| model.reads(may_be_english);
        owner(models, may_be_english) == Some(at)
            || (self.is_of_all && models.get(at).is_some_and(reads))
    }
}

/// Returns the position of the first model that reads a text.
fn owner(models: &[&dyn Embedder], may_be_english: bool) -> Option<usize> {
    models.iter().position(|model| model.reads(may_be_english))
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::document::UnitVector;

    struct Named {
        is_english_only: bool,
    }

    impl Embedder for Named {
        fn space(&self) -> &str {
            "named"
        }
        fn dimensions(&self) -> usize {
            1
        }
        fn is_english_only(&self) -> bool {
            self.is_english_only
        }
        fn embed(&self, _: &[&str]) -> Vec<UnitVector> {
            Vec::new()
        }
    }

    const ENGLISH: &dyn Embedder = &Named { is_english_only: true };
    const ANY: &dyn Embedder = &Named { is_english_only: false };

    /// Ids of each model's windows, where the first `n_other` of `n` are in other languages.
    fn ids(models: &[&dyn Embedder], n_other: i64, n: i64) -> Vec<Vec<i64>> {
        let window = |id| SearchedWindow {
            id,
            hash: ContentHash(id as u128),
            may_be_english: id >= n_other,
            is_first: false,
            is_reference: false,
        };
        let windows: Vec<SearchedWindow> = (0..n).map(window).collect();
        let ids = |share: Share| share.windows.into_iter().map(|(id, _)| id).collect();
        shares(models, &windows).into_iter().map(ids).collect()
    }

    #[test]
    fn a_window_goes_to_the_first_model_that_reads_it() {
        let all: Vec<i64> = (0..100).collect();
        assert_eq!(
            ids(&[ANY], 3, 100),
            std::slice::from_ref(&all),
            "a model of many languages gets everything"
        );
        assert_eq!(ids(&[ENGLISH], 3, 100), [&all[3..]], "one of English nothing else");
        assert_eq!(
            ids(&[ENGLISH, ANY], 0, 100),
            [all.clone(), vec![]],
            "no second one for English alone"
        );
        assert_eq!(ids(&[ENGLISH, ANY], 3, 100), [&all[3..], &all[..3]]);
        let both = ids(&[ENGLISH, ANY], 30, 100);
        assert_eq!(
            both,
            [all[30..].to_vec(), all.clone()],
            "of several languages: its own first, then the rest"
        );
        assert_eq!(ids(&[ENGLISH, ANY], 0, 0), [[0; 0], [0; 0]]);
    }
}
