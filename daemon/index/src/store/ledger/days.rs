//! Days: counts the days that daemons of a project ran, which is how long anything is kept.
//!
//! In: the clock, once an hour and with each commit. Out: the time before which nothing was written in the last so
//! many of those days.
//! Invariants: the count grows by the time that the daemon ran, as the system's steady clock measures it, and by at
//! most [`PAUSE_MS`] for the pause before a start; so no wrong clock makes anything old at once. What was written
//! within the last n of these days is never older than n days, whatever the clock said when it was written.

use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::{Connection, OptionalExtension, params};

use super::{Ledger, StoreError};
use crate::store::open;

/// One day, milliseconds.
const DAY_MS: i64 = 24 * 3600 * 1000;

/// What a pause between two runs counts at most, milliseconds: a day, so that a daemon that is started every day keeps
/// pace with the calendar.
const PAUSE_MS: i64 = DAY_MS;

/// Days that are remembered: more than anything is kept.
const MAX_DAYS: i64 = 100;

/// Longest time between two rows while the daemon runs.
pub const OBSERVED_EVERY: Duration = Duration::from_secs(3600);

/// The last observation of this process.
#[derive(Debug, Clone, Copy)]
pub(super) struct Observed {
    at: Instant,
    /// The earliest time of the clock in this day.
    earliest_ms: i64,
}

impl Ledger {
    /// Notes what the clock says. Writes once an hour, and when the clock was set back.
    pub(in crate::store) fn observe(&self, now_ms: i64) -> Result<(), StoreError> {
        let last = self.observed.get();
        let is_known = |it: Observed| it.at.elapsed() < OBSERVED_EVERY && it.earliest_ms <= now_ms;
        if last.is_some_and(is_known) {
            return Ok(());
        }
        let at = Instant::now();
        let ran_ms = last.map(|it| (at - it.at).as_millis() as i64);
        let earliest_ms = self.count_days(now_ms, ran_ms)?;
        self.observed.set(Some(Observed { at, earliest_ms }));
        Ok(())
    }

    /// Counts the time since the last observation: `ran_ms`, or at a start the pause. Returns the earliest time of the
    /// clock in this day.
    pub(in crate::store) fn count_days(
        &self,
        now_ms: i64,
        ran_ms: Option<i64>,
    ) -> Result<i64, StoreError> {
        let sql = "SELECT latest_ms, seen_ms FROM days_seen ORDER BY day DESC LIMIT 1";
        let last = self.db.prepare_cached(sql)?.query_row([], |row| Ok((row.get(0)?, row.get(1)?)));
        let (latest_ms, seen_ms): (i64, i64) = last.optional()?.unwrap_or((now_ms, 0));
        // After a start under a clock that was ahead, pauses count again once the true time has caught up.
        let passed = ran_ms.unwrap_or_else(|| (now_ms - latest_ms).clamp(0, PAUSE_MS));
        let seen_ms = seen_ms + passed;
        let sql = "INSERT INTO days_seen VALUES(?1, ?2, ?3, ?4) ON CONFLICT(day) DO UPDATE SET
                     earliest_ms = min(earliest_ms, excluded.earliest_ms), latest_ms = excluded.latest_ms,
                     seen_ms = excluded.seen_ms RETURNING earliest_ms";
        let day = seen_ms / DAY_MS;
        let values = params![day, now_ms, latest_ms.max(now_ms), seen_ms];
        let earliest_ms = self.db.prepare_cached(sql)?.query_row(values, |row| row.get(0))?;
        let sql = "DELETE FROM days_seen WHERE day < ?1";
        self.db.prepare_cached(sql)?.execute([day - MAX_DAYS])?;
        Ok(earliest_ms)
    }

    /// As [`written_before`].
    pub(in crate::store) fn written_before(&self, n_days: u16) -> Result<Option<i64>, StoreError> {
        before(&self.db, n_days)
    }
}

/// Returns the time, milliseconds since 1970, before which nothing was written in the last `n_days` that daemons of the
/// project with this state folder ran: what bears an earlier time is older. `None` if they have not run for that long.
///
/// # Errors
/// When the ledger cannot be read.
pub fn written_before(state_dir: &Path, n_days: u16) -> Result<Option<i64>, StoreError> {
    before(&open::plain_reader(&open::ledger_to_read(state_dir))?, n_days)
}

fn before(db: &Connection, n_days: u16) -> Result<Option<i64>, StoreError> {
    // The day that is partly within counts, so that nothing goes early.
    let sql = "SELECT (SELECT min(earliest_ms) FROM days_seen WHERE day >= last - ?1)
               FROM (SELECT min(day) AS first, max(day) AS last FROM days_seen) WHERE first < last - ?1";
    let before = db.prepare_cached(sql)?.query_row([n_days], |row| row.get(0));
    Ok(before.optional()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR_MS: i64 = DAY_MS / 24;

    fn open() -> (tempfile::TempDir, Ledger) {
        let folder = tempfile::tempdir().expect("temporary folder");
        let ledger = Ledger::open(&folder.path().join("ledger.sqlite")).expect("opens");
        (folder, ledger)
    }

    /// The days after which `30 days ago` is `expected`, for a daemon that is started at these times and runs for some
    /// hours each time.
    fn check(what: &str, starts: impl Iterator<Item = i64>, hours: i64, expected: Option<i64>) {
        let (_folder, ledger) = open();
        for start in starts {
            ledger.count_days(start * HOUR_MS, None).expect("counted");
            for hour in 1..=hours {
                ledger.count_days((start + hour) * HOUR_MS, Some(HOUR_MS)).expect("counted");
            }
        }
        let before = ledger.written_before(30).expect("read");
        assert_eq!(before.map(|ms| ms / DAY_MS), expected, "{what}");
    }

    #[test]
    fn days_are_those_that_a_daemon_ran_and_one_for_each_pause() {
        const YEAR: i64 = 24 * 365;
        check("always on, 31 days", std::iter::once(0), 24 * 31, Some(1));
        check("always on, 30 days", std::iter::once(0), 24 * 30 - 1, None);
        check("an hour every day, 40 days", (0..40).map(|day| day * 24), 1, Some(9));
        check("an hour a week, for half a year", (0..26).map(|week| week * 168), 1, None);
        check("an hour a week, for 40 weeks", (0..40).map(|week| week * 168), 1, Some(70));
        check("once a year ahead", [0, 24, YEAR, 48, 72].into_iter(), 1, None);
        check("back and forth", (0..200).map(|n| n % 2 * YEAR), 0, None);
    }

    #[test]
    fn what_was_written_under_a_clock_that_was_behind_is_not_old() {
        let (_folder, ledger) = open();
        for day in 0..40 {
            let now_ms = if day == 39 { 5 * DAY_MS } else { (1000 + day) * DAY_MS };
            ledger.count_days(now_ms, Some(DAY_MS)).expect("counted");
        }
        assert_eq!(ledger.written_before(30).expect("read"), Some(5 * DAY_MS));
    }

    #[test]
    fn a_row_is_written_only_when_it_says_something_new() {
        let (_folder, ledger) = open();
        let n_written = || ledger.db.query_row("SELECT total_changes()", [], |row| row.get(0));
        ledger.observe(1000).expect("observed");
        let first: i64 = n_written().expect("a number");
        ledger.observe(1000 + 10 * DAY_MS).expect("observed");
        assert_eq!(n_written(), Ok(first), "ahead within the hour");
        ledger.observe(999).expect("observed");
        assert!(n_written().expect("a number") > first, "set back");
    }
}
