//! Weight: an item's share of the belt's budget, without knowledge of the budget.

use std::fmt;
use std::sync::Arc;

/// Bytes that an item takes while it is on the belt; released when the last copy is dropped. The default takes none.
#[derive(Clone, Default)]
pub struct Weight(Option<Arc<Held<dyn Send + Sync>>>);

struct Held<Guard: ?Sized> {
    n_bytes: u64,
    /// Releases the bytes when it is dropped.
    _guard: Guard,
}

impl Weight {
    /// Creates a weight of `n_bytes`, which dropping `guard` releases.
    pub fn new(n_bytes: u64, guard: impl Send + Sync + 'static) -> Self {
        Weight(Some(Arc::new(Held { n_bytes, _guard: guard })))
    }
}

impl fmt::Debug for Weight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Weight({})", self.0.as_ref().map_or(0, |held| held.n_bytes))
    }
}

/// Always equal: the weight is not part of an item's content.
impl PartialEq for Weight {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Weight {}
