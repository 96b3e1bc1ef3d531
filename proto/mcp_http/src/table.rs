//! Table: all sessions, by the ids that clients were given.
//!
//! Invariants: ids are random, 128 bits, so that none can be guessed; there are at most `max` sessions: to make room
//! for another, one that is not in use is ended: the oldest of those that were only begun, where these hold more than
//! a quarter of the table, else the one that is unused for longest, compared with how long it was used: a client that
//! uses one session after the other ends its own, not those of others.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::seats::{Candidate, who_leaves};
use crate::session::Session;

/// Sessions by their ids.
#[derive(Debug)]
pub(crate) struct Table {
    sessions: Mutex<HashMap<String, Arc<Session>>>,
    max: usize,
}

impl Table {
    pub(crate) fn new(max: usize) -> Self {
        Table { sessions: Mutex::new(HashMap::new()), max }
    }

    fn sessions(&self) -> MutexGuard<'_, HashMap<String, Arc<Session>>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the session with that id, and marks it as used.
    pub(crate) fn find(&self, id: &str) -> Option<Arc<Session>> {
        let found = self.sessions().get(id).cloned()?;
        found.open();
        Some(found)
    }

    /// Adds a session; returns false if the table is full of sessions in use.
    pub(crate) fn add(&self, id: &str, session: Arc<Session>) -> bool {
        let (mut sessions, now) = (self.sessions(), Instant::now());
        if sessions.len() >= self.max {
            let idle = |(id, it): (&String, &Arc<Session>)| {
                let (key, peer, is_opened) = (id.clone(), it.peer, it.is_opened());
                let since = Reverse(neglect(it.begun, it.idle_since()?, now));
                Some(Candidate { key, peer, is_opened, since })
            };
            let candidates = sessions.iter().filter_map(idle).collect();
            let Some(leaving) = who_leaves(candidates, self.max / 4) else { return false };
            sessions.remove(&leaving);
        }
        sessions.insert(id.to_string(), session);
        true
    }

    /// Ends a session; returns false if there is none with that id.
    pub(crate) fn remove(&self, id: &str) -> bool {
        // Dropped after the lock is released, so that ending a session blocks no other.
        let removed = self.sessions().remove(id);
        removed.is_some()
    }

    /// Ends sessions that were unused for `limit`.
    pub(crate) fn sweep(&self, limit: Duration, now: Instant) {
        let is_idle = |it: &Arc<Session>| {
            it.idle_since().is_some_and(|since| now.saturating_duration_since(since) >= limit)
        };
        // Kept until the lock is released, like the one in `remove`.
        let mut ended = Vec::new();
        self.sessions().retain(|_, it| {
            let ends = is_idle(it);
            if ends {
                ended.push(Arc::clone(it));
            }
            !ends
        });
    }

    /// Ends the general streams of all sessions.
    pub(crate) fn hush(&self) {
        self.sessions().values().for_each(|it| it.hush());
    }

    pub(crate) fn clear(&self) {
        let ended = std::mem::take(&mut *self.sessions());
        drop(ended);
    }
}

/// Added to the time for which a session was used, so that the first call decides little.
const LEAST_USED: Duration = Duration::from_millis(100);

/// Returns how long a session is unused, in millionths of the time for which it was used before.
fn neglect(begun: Instant, used: Instant, now: Instant) -> u128 {
    let was_used = used.saturating_duration_since(begun) + LEAST_USED;
    now.saturating_duration_since(used).as_micros() * 1_000_000 / was_used.as_micros()
}

/// Returns a new id.
///
/// # Errors
/// When the system provides no random bytes.
pub(crate) fn new_id() -> std::io::Result<String> {
    let mut bytes = [0_u8; 16];
    getrandom::fill(&mut bytes).map_err(|error| std::io::Error::other(error.to_string()))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use tokio::net::UnixStream;

    use super::*;

    fn session() -> (Arc<Session>, UnixStream) {
        let (ours, theirs) = UnixStream::pair().expect("a pair");
        let peer = std::net::IpAddr::from([127, 0, 0, 1]);
        (Session::begin(ours, "notes".to_string(), peer, || ()), theirs)
    }

    #[tokio::test]
    async fn one_too_many_takes_the_place_of_the_one_unused_longest() {
        let table = Table::new(2);
        let ids: Vec<String> = (0..3).map(|_| new_id().expect("random")).collect();
        let mut others = Vec::new();
        for id in &ids[..2] {
            let (session, theirs) = session();
            assert!(table.add(id, session));
            others.push(theirs);
        }
        assert!(table.find(&ids[0]).is_some(), "which uses it");
        assert!(table.add(&ids[2], session().0));
        let left: Vec<bool> = ids.iter().map(|id| table.find(id).is_some()).collect();
        assert_eq!(left, [true, false, true]);
        let kept: Vec<_> = [0, 2].map(|n| table.find(&ids[n]).expect("there").listen(None)).into();
        assert!(!table.add("one more", session().0), "both are in use");
        drop(kept);
        assert!(table.add("one more", session().0));
    }

    #[tokio::test]
    async fn who_only_begins_sessions_ends_nobody_s_but_his_own() {
        let table = Table::new(4);
        assert!(table.add("live", session().0) && table.find("live").is_some(), "it is used");
        let others: Vec<_> = (0..400).map(|_| session()).collect();
        for (n, (begun, _)) in others.iter().enumerate() {
            assert!(table.add(&n.to_string(), Arc::clone(begun)));
        }
        assert!(table.find("live").is_some());
        assert!(table.find("396").is_none() && table.find("399").is_some());
    }

    #[tokio::test]
    async fn who_uses_one_session_after_the_other_leaves_room_to_begin_one() {
        let table = Table::new(4);
        let others: Vec<_> = (0..400).map(|_| session()).collect();
        assert!(table.add("new", session().0));
        for (n, (begun, _)) in others.iter().enumerate() {
            assert!(table.add(&n.to_string(), Arc::clone(begun)));
            assert!(table.find(&n.to_string()).is_some(), "it is used at once");
        }
        assert!(table.find("new").is_some(), "its client may be about to use it");
    }

    #[test]
    fn a_session_that_was_used_for_long_may_rest_for_longer() {
        let begun = Instant::now();
        let at = |ms| begun + Duration::from_millis(ms);
        let neglect = |used, now| neglect(begun, at(used), at(now));
        assert!(neglect(60_000, 120_000) < neglect(50, 400), "a minute of work, one call");
        assert!(neglect(50, 900) > neglect(50, 400), "of equals the one unused longest");
        assert_eq!(neglect(10, 10), 0);
    }

    #[tokio::test]
    async fn who_is_not_used_ends_and_the_other_side_sees_it() {
        let table = Table::new(9);
        let (session, theirs) = session();
        table.add("a", session);
        table.sweep(Duration::from_secs(60), Instant::now());
        assert!(table.find("a").is_some());
        table.sweep(Duration::from_secs(60), Instant::now() + Duration::from_secs(61));
        assert!(table.find("a").is_none());
        theirs.readable().await.expect("the end");
        assert_eq!(theirs.try_read(&mut [0; 8]).expect("the end"), 0);
    }
}
