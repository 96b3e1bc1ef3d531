//! Naming: reserves permalinks for notes that are being written, until the index shows them.
//!
//! In: a permalink. Out: a reservation, once nobody else holds one for it; it ends when dropped.
//! Invariant: of two writers that want the same permalink, the second sees the note of the first in the index.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::Notify;

/// The permalinks that are reserved.
#[derive(Debug, Default)]
pub(super) struct Names {
    reserved: Mutex<HashSet<String>>,
    released: Notify,
}

/// A reserved permalink.
#[derive(Debug)]
pub struct Reserved {
    names: Arc<Names>,
    key: String,
}

impl Names {
    /// Waits until nobody else has reserved the permalink, and reserves it. Letter case and slashes around it are
    /// ignored.
    pub(super) async fn reserve(self: &Arc<Self>, permalink: &str) -> Reserved {
        let key = notes::resolve::permalink_key(permalink);
        loop {
            // Registered before the check, so that a release in between is not missed.
            let mut released = std::pin::pin!(self.released.notified());
            released.as_mut().enable();
            if self.locked().insert(key.clone()) {
                return Reserved { names: Arc::clone(self), key };
            }
            released.await;
        }
    }

    fn locked(&self) -> std::sync::MutexGuard<'_, HashSet<String>> {
        self.reserved.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        self.names.locked().remove(&self.key);
        // Wakes all waiters: they wait for different permalinks.
        self.names.released.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn only_writers_of_one_name_wait_for_each_other() {
        let names = Arc::new(Names::default());
        let first = names.reserve("projects/Plan").await;
        let _other = names.reserve("projects/draft").await;
        let mut second = tokio::spawn({
            let names = Arc::clone(&names);
            async move { names.reserve("/projects/plan").await }
        });
        let wait = tokio::time::timeout(Duration::from_millis(20), &mut second).await;
        assert!(wait.is_err(), "the name is taken");
        drop(first);
        second.await.expect("it gets the name");
    }
}
