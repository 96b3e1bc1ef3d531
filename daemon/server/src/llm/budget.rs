//! Budget: limits calls per hour.
//!
//! In: calls with their times. Out: whether another is allowed, or how long until then.
//! Invariant: no window of 60 minutes has more calls than the limit.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// The window.
const HOUR: Duration = Duration::from_secs(3_600);

/// Calls of the last hour.
#[derive(Debug)]
pub(super) struct Budget {
    per_hour: usize,
    calls: VecDeque<Instant>,
}

impl Budget {
    /// Allows `per_hour` calls in each hour.
    pub(super) fn new(per_hour: u32) -> Self {
        Budget { per_hour: per_hour as usize, calls: VecDeque::new() }
    }

    /// Takes a call.
    ///
    /// # Errors
    /// The time until the next call is allowed.
    pub(super) fn take(&mut self, now: Instant) -> Result<(), Duration> {
        match self.left(now) {
            Some(left) => Err(left),
            None => {
                self.calls.push_back(now);
                Ok(())
            }
        }
    }

    /// Returns the time until a call is allowed; none if one is allowed now.
    pub(super) fn left(&mut self, now: Instant) -> Option<Duration> {
        let is_over = |at: &Instant| now.saturating_duration_since(*at) >= HOUR;
        while self.calls.front().is_some_and(is_over) {
            self.calls.pop_front();
        }
        if self.calls.len() < self.per_hour {
            return None;
        }
        // The oldest call leaves the window first. With a limit of 0 there is none: wait a whole hour.
        let since = self.calls.front().map_or(HOUR, |at| now.saturating_duration_since(*at));
        Some(HOUR.saturating_sub(since))
    }

    /// Returns the number of calls in the last hour.
    pub(super) fn n_used(&self) -> usize {
        self.calls.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_hour_has_so_many_calls() {
        let (mut budget, start) = (Budget::new(2), Instant::now());
        let at = |seconds| start + Duration::from_secs(seconds);
        assert_eq!(budget.take(at(0)), Ok(()));
        assert_eq!(budget.take(at(600)), Ok(()));
        assert_eq!(budget.take(at(601)), Err(Duration::from_secs(2_999)));
        assert_eq!(budget.n_used(), 2);
        assert_eq!(budget.take(at(3_600)), Ok(()), "the first is an hour ago");
        assert_eq!(budget.take(at(3_601)), Err(Duration::from_secs(599)));
    }
}
