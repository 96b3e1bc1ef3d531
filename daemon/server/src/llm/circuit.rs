//! Circuit: pauses calls to a model that keeps failing (a circuit breaker).
//!
//! In: failures and successes with their times. Out: how long the model is left alone.
//! Invariants: a passing failure causes no pause; from the third failure in a row, and from the first lasting one,
//! pauses double up to a limit; a server that asks for a pause gets it; after each pause the model is tried again, and
//! one success resets everything.

use std::time::{Duration, Instant};

/// Number of failures in a row from which on there are pauses.
const PATIENT_FOR: u32 = 3;

/// First pause.
const FIRST: Duration = Duration::from_secs(30);

/// Longest pause, unless a server asks for more.
const LONGEST: Duration = Duration::from_secs(900);

/// Longest pause that a server may ask for.
const LONGEST_ASKED: Duration = Duration::from_secs(3_600);

/// The failures since the last success.
#[derive(Debug, Default)]
pub(super) struct Circuit {
    n_failures: u32,
    n_pauses: u32,
    until: Option<Instant>,
}

impl Circuit {
    /// Returns the rest of a pause.
    pub(super) fn left(&self, now: Instant) -> Option<Duration> {
        self.until?.checked_duration_since(now).filter(|left| !left.is_zero())
    }

    /// Records a failure: `lasts` if it will not pass by itself, `asked` is the pause that the server asked for.
    pub(super) fn failed(&mut self, now: Instant, lasts: bool, asked: Option<Duration>) {
        self.n_failures = self.n_failures.saturating_add(1);
        let is_due = lasts || self.n_failures >= PATIENT_FOR;
        let own = is_due.then(|| {
            // The exponent is capped only to avoid overflow: `LONGEST` is reached at 5.
            let doubled = FIRST.saturating_mul(2u32.saturating_pow(self.n_pauses.min(16)));
            self.n_pauses = self.n_pauses.saturating_add(1);
            doubled.min(LONGEST)
        });
        let asked = asked.map(|asked| asked.min(LONGEST_ASKED)).filter(|asked| !asked.is_zero());
        if let Some(pause) = own.max(asked) {
            self.until = now.checked_add(pause);
        }
    }

    /// Records a success.
    pub(super) fn went_well(&mut self) {
        *self = Circuit::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_begin_with_the_third_failure_and_double() {
        let (mut circuit, now) = (Circuit::default(), Instant::now());
        let mut pauses = Vec::new();
        for _ in 0..10 {
            circuit.failed(now, false, None);
            pauses.push(circuit.left(now).map_or(0, |left| left.as_secs()));
        }
        assert_eq!(pauses, [0, 0, 30, 60, 120, 240, 480, 900, 900, 900]);
        assert_eq!(circuit.left(now + LONGEST), None, "then it is tried again");
        circuit.went_well();
        circuit.failed(now, false, None);
        assert_eq!(circuit.left(now), None);
    }

    #[test]
    fn what_lasts_and_what_a_server_asks_for_counts_at_once() {
        let (mut circuit, now) = (Circuit::default(), Instant::now());
        circuit.failed(now, true, None);
        assert_eq!(circuit.left(now), Some(FIRST));
        let pause_for = |seconds| {
            let mut circuit = Circuit::default();
            circuit.failed(now, false, Some(Duration::from_secs(seconds)));
            circuit.left(now).map(|left| left.as_secs())
        };
        assert_eq!([pause_for(0), pause_for(7), pause_for(99_999)], [None, Some(7), Some(3_600)]);
    }
}
