//! Weight: what an item holds of the belt's budget, without knowing the budget.

use std::fmt;
use std::sync::Arc;

/// Bytes that an item holds while it is on the belt; given back when the last copy goes. The default holds none.
#[derive(Clone, Default)]
pub struct Weight(Option<Arc<Held<dyn Send + Sync>>>);

struct Held<Guard: ?Sized> {
    n_bytes: u64,
    /// Gives the bytes back when it is dropped.
    _guard: Guard,
}

impl Weight {
    /// A weight of `n_bytes`, which dropping `guard` gives back.
    pub fn new(n_bytes: u64, guard: impl Send + Sync + 'static) -> Self {
        Weight(Some(Arc::new(Held { n_bytes, _guard: guard })))
    }
}

impl fmt::Debug for Weight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Weight({})", self.0.as_ref().map_or(0, |held| held.n_bytes))
    }
}

/// What an item holds is nothing of what it says.
impl PartialEq for Weight {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Weight {}
