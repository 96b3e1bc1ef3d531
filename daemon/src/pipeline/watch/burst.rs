//! Burst: decides how many of the changes that settle together ride in the interactive lane.
//!
//! In: how many changes have settled, how many are still unsettled, and the time. Out: how many go first.
//! A person saves a few files; a checkout or an unpacked archive changes thousands, and those must not stand
//! in the way of the next save. Of a burst the first [`ALLOWANCE`] go first, the rest is bulk; a burst that
//! does not end gets a new allowance every [`REFILL`], so that saves during a long one are not lost in it.
//! Not here: the lanes (`belt/lanes.rs`).

use std::time::{Duration, Instant};

/// More changes than this, settled and unsettled together, are a burst.
const MOST_AT_ONCE: usize = 200;

/// How many changes of a burst ride in the interactive lane.
const ALLOWANCE: usize = 50;

/// How long an allowance lasts.
const REFILL: Duration = Duration::from_secs(5);

/// The burst that is going on, if any.
#[derive(Debug, Default)]
pub(super) struct Burst {
    current: Option<Current>,
}

#[derive(Debug)]
struct Current {
    allowance: usize,
    until: Instant,
}

impl Burst {
    /// How many of the `n_settled` changes ride in the interactive lane.
    pub(super) fn n_interactive(
        &mut self,
        n_settled: usize,
        n_unsettled: usize,
        now: Instant,
    ) -> usize {
        if self.current.as_ref().is_some_and(|current| now >= current.until) {
            self.current = None;
        }
        if self.current.is_none() && n_settled + n_unsettled > MOST_AT_ONCE {
            self.current = Some(Current { allowance: ALLOWANCE, until: now + REFILL });
        }
        let Some(current) = &mut self.current else { return n_settled };
        let n_interactive = n_settled.min(current.allowance);
        current.allowance -= n_interactive;
        if n_unsettled == 0 {
            self.current = None;
        }
        n_interactive
    }
}

#[cfg(test)]
mod tests {
    use super::Burst;
    use std::time::{Duration, Instant};

    #[test]
    fn the_first_of_a_burst_go_first() {
        let start = Instant::now();
        let mut burst = Burst::default();
        let rows = [
            // ms, settled, unsettled, interactive
            (0, 3, 10, 3),
            (10, 200, 0, 200),
            (20, 201, 0, 50), // A burst, and over at once.
            (30, 5, 0, 5),
            (40, 30, 971, 30), // A burst that settles bit by bit.
            (50, 30, 941, 20),
            (60, 900, 41, 0),
            (70, 41, 0, 0),
            (80, 41, 0, 41),
            (100, 60, 5_000, 50), // One that goes on and on.
            (200, 60, 5_000, 0),
            (5_100, 60, 5_000, 50),
        ];
        for (ms, n_settled, n_unsettled, expected) in rows {
            let now = start + Duration::from_millis(ms);
            assert_eq!(burst.n_interactive(n_settled, n_unsettled, now), expected, "at {ms} ms");
        }
    }
}
