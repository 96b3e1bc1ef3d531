//! Rate: how often one address, or one session of somebody who has the token, may ask.
//!
//! In: who asks, what a request costs, the time. Out: whether it may, else how long to wait.
//! Invariants: pure but for the table, which is bounded: who has not asked for a while is forgotten, and those for whom
//! there is no room share one allowance.

use std::collections::HashMap;
use std::hash::Hash;
use std::net::{IpAddr, Ipv6Addr};
use std::time::{Duration, Instant};

/// Most rows that are remembered.
const MAX_ROWS: usize = 4_096;

/// Shortest time between two looks through the table.
const CLEANED_EVERY: Duration = Duration::from_secs(1);

/// Allowances. Those for whom there is no row share that of `None`.
#[derive(Debug)]
pub(crate) struct Rates<K> {
    per_second: f64,
    burst: f64,
    left: HashMap<Option<K>, (f64, Instant)>,
    /// When the table was last looked through.
    cleaned: Option<Instant>,
}

impl<K: Eq + Hash> Rates<K> {
    /// So many requests a second, after `burst` at once.
    pub(crate) fn new(per_second: u32, burst: u32) -> Self {
        Rates {
            per_second: per_second.into(),
            burst: burst.into(),
            left: HashMap::new(),
            cleaned: None,
        }
    }

    /// Takes `cost` of an allowance.
    ///
    /// # Errors
    /// How long to wait, where there is not enough left.
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

    /// Takes `cost` for something that was done already; what is not there is owed.
    pub(crate) fn charge(&mut self, from: K, cost: u32, now: Instant) {
        let from = self.row_of(from, now);
        let rest = self.left_at(&from, now) - f64::from(cost);
        // No longer than a minute, however often.
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
            if self.cleaned.is_some_and(|at| now.saturating_duration_since(at) < CLEANED_EVERY) {
                return None;
            }
            self.cleaned = Some(now);
            let (per_second, burst) = (self.per_second, self.burst);
            let is_short = |(left, at): &(f64, Instant)| {
                left + now.saturating_duration_since(*at).as_secs_f64() * per_second < burst
            };
            self.left.retain(|_, row| is_short(row));
            if self.left.len() >= MAX_ROWS {
                return None;
            }
        }
        from
    }
}

/// Whoever has one address of IPv6 has the 64 bits behind it.
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
