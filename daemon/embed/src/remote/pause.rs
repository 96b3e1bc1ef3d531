//! Pause: how long a server that failed is not asked.
//!
//! In: failures and their times. Out: how long to wait.
//! Invariants: a pause is as long as the server asked for, within limits, and never shorter than one that doubles
//! with each consecutive failure: a server that rounds half a second down to 0, or whose clock is behind, is not
//! asked at once.

use std::time::{Duration, Instant};

/// Pause after the first failure.
const FIRST: Duration = Duration::from_secs(1);

/// Longest pause, unless a server asks for more.
const LONGEST: Duration = Duration::from_secs(300);

/// Longest pause that a server may ask for.
const LONGEST_ASKED: Duration = Duration::from_secs(3_600);

/// The failures of a server.
#[derive(Debug, Default)]
pub(super) struct Pause {
    n_failures: u32,
    until: Option<Instant>,
    why: String,
}

impl Pause {
    /// Returns what is left of the pause; `None` if there is none.
    pub(super) fn left(&self, now: Instant) -> Option<Duration> {
        self.until?.checked_duration_since(now).filter(|left| !left.is_zero())
    }

    /// Returns the last failure.
    pub(super) fn why(&self) -> &str {
        &self.why
    }

    /// Records a failure; returns how long to wait: at least as long as the server asks for.
    pub(super) fn failed(&mut self, now: Instant, asked: Option<Duration>, why: &str) -> Duration {
        self.why = why.to_string();
        let doubled = FIRST.saturating_mul(2u32.saturating_pow(self.n_failures)).min(LONGEST);
        let wait = asked.map_or(doubled, |asked| asked.min(LONGEST_ASKED).max(doubled));
        self.n_failures = self.n_failures.saturating_add(1);
        self.until = now.checked_add(wait);
        wait
    }

    /// Records a success.
    pub(super) fn went_well(&mut self) {
        *self = Pause::default();
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;
    use web::retry_after;

    #[test]
    fn pauses_double_and_end() {
        let (mut pause, now) = (Pause::default(), Instant::now());
        assert_eq!(pause.left(now), None);
        let waits: Vec<u64> = (0..11).map(|_| pause.failed(now, None, "500").as_secs()).collect();
        assert_eq!(waits, [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300]);
        assert_eq!(pause.left(now), Some(LONGEST));
        assert_eq!(pause.left(now + LONGEST), None);
        pause.went_well();
        assert_eq!(pause.why(), "");
        assert_eq!(pause.failed(now, None, "503"), FIRST);
        assert_eq!(pause.why(), "503");
    }

    #[test]
    fn a_server_may_say_how_long() {
        let at: Timestamp = "2026-10-21T07:26:30Z".parse().expect("a moment");
        let (mut pause, now) = (Pause::default(), Instant::now());
        let asked = |text| retry_after(Some(text), at);
        assert_eq!(pause.failed(now, asked("7"), "429").as_secs(), 7);
        assert_eq!(pause.failed(now, asked("999999999"), "429"), LONGEST_ASKED);
        pause.went_well();
        for (at, text) in ["0", "Wed, 21 Oct 2015 07:28:00 GMT", "1", "x"].into_iter().enumerate() {
            assert_eq!(pause.failed(now, asked(text), "429").as_secs(), 1 << at, "{text}");
        }
    }
}
