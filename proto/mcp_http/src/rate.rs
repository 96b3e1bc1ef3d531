//! Rate: limits requests of one address, or of one session with the token (a token bucket).
//!
//! In: the sender, the cost of a request, the time. Out: whether it is allowed, or how long to wait.
//! Invariants: pure except for the table, which is bounded: senders that have been silent for a while are forgotten,
//! and those without room in the table share one allowance.

use std::collections::HashMap;
use std::hash::Hash;
use std::net::{IpAddr, Ipv6Addr};
use std::time::{Duration, Instant};

/// Most rows of the table.
const MAX_ROWS: usize = 4_096;

/// Shortest time between two cleanups of the table.
const CLEANED_EVERY: Duration = Duration::from_secs(1);

/// The allowances. Senders without a row share that of `None`.
#[derive(Debug)]
pub(crate) struct Rates<K> {
    per_second: f64,
    burst: f64,
    left: HashMap<Option<K>, (f64, Instant)>,
    /// The time of the last cleanup.
    cleaned: Option<Instant>,
}

impl<K: Eq + Hash> Rates<K> {
    /// Allows `per_second` requests on average, and `burst` at once.
    pub(crate) fn new(per_second: u32, burst: u32) -> Self {
        Rates {
            per_second: per_second.into(),
            burst: burst.into(),
            left: HashMap::new(),
            cleaned: None,
        }
    }

    /// Takes `cost` from an allowance.
    ///
    /// # Errors
    /// How long to wait, if too little is left.
    pub(crate) fn take(&mut self, from: K, cost: u32, now: Instant) -> Result<(), Duration> {
        let from = self.row_of(from, now);
        let left = self.left_at(&from, now);
        let rest = left - f64::from(cost);
        if rest < 0.0 {
            return Err(Duration::from_secs_f64(-rest / self.per_second));
        }
        self.left.insert(from, (rest, now));
        Ok(())
    }

    /// Takes `cost` for something that has already happened; the allowance may become negative.
    pub(crate) fn charge(&mut self, from: K, cost: u32, now: Instant) {
        let from = self.row_of(from, now);
        let rest = self.left_at(&from, now) - f64::from(cost);
        // A debt is paid off within a minute, however often this happens.
        self.left.insert(from, (rest.max(-60.0 * self.per_second), now));
    }

    fn left_at(&self, from: &Option<K>, now: Instant) -> f64 {
        self.left.get(from).map_or(self.burst, |(left, at)| {
            let since = now.saturating_duration_since(*at).as_secs_f64();
            (left + since * self.per_second).min(self.burst)
        })
    }

    fn row_of(&mut self, from: K, now: Instant) -> Option<K> {
        let from = Some(from);
        if self.left.len() >= MAX_ROWS && !self.left.contains_key(&from) {
            // A full table is searched at most once a second: a flood of senders must not make every request slow.
            if self.cleaned.is_some_and(|at| now.saturating_duration_since(at) < CLEANED_EVERY) {
                return None;
            }
            self.cleaned = Some(now);
            let (per_second, burst) = (self.per_second, self.burst);
            let is_short = |(left, at): &(f64, Instant)| {
                left + now.saturating_duration_since(*at).as_secs_f64() * per_second < burst
            };
            // A full allowance is the default, so its row can be forgotten.
            self.left.retain(|_, row| is_short(row));
            if self.left.len() >= MAX_ROWS {
                return None;
            }
        }
        from
    }
}

/// Returns the key for an address: for IPv6 its /64 network, because one owner usually has all of it.
pub(crate) fn owner(from: IpAddr) -> IpAddr {
    match from.to_canonical() {
        IpAddr::V6(address) if !address.is_loopback() => {
            IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() >> 64 << 64))
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_is_let_through_and_then_so_many_a_second() {
        let mut rates = Rates::new(10, 3);
        let start = Instant::now();
        let from: IpAddr = "192.0.2.1".parse().expect("an address");
        let mapped = owner("::ffff:192.0.2.1".parse().expect("an address"));
        assert!((0..3).all(|_| rates.take(from, 1, start).is_ok()));
        assert_eq!(rates.take(mapped, 1, start), Err(Duration::from_millis(100)));
        assert_eq!(rates.take("192.0.2.2".parse().expect("an address"), 1, start), Ok(()));
        let later = start + Duration::from_millis(200);
        assert!(rates.take(from, 2, later).is_ok() && rates.take(from, 1, later).is_err());
        rates.charge(from, 1_000_000, later);
        assert!(rates.take(from, 1, later + Duration::from_secs(59)).is_err());
        assert!(rates.take(from, 1, later + Duration::from_secs(61)).is_ok());
    }

    #[test]
    fn the_table_is_bounded() {
        let mut rates = Rates::new(1, 2);
        let now = Instant::now();
        for n in 0..10_000_u32 {
            let _ = rates.take(n, 1, now);
        }
        assert!(rates.left.len() <= MAX_ROWS + 1, "{}", rates.left.len());
        let neighbors =
            ["2001:db8::1", "2001:db8::2"].map(|it| owner(it.parse().expect("an address")));
        assert_eq!(neighbors[0], neighbors[1]);
    }
}
