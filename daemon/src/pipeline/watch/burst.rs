//! Burst: decides which of the changes that settle together ride in the interactive lane.
//!
//! In: the changes that have settled, how many are still unsettled, and the time. Out: which of them go first.
//! A person saves a few files; a checkout or an unpacked archive changes thousands, and those must not stand
//! in the way of the next save. So of a burst a few go first, by shares that one cannot spend for another: a flood
//! takes the open share only; a folder in which little happens has a share beyond that, and a file that is known
//! already in such a folder (a save, most likely) one beyond both. A burst that does not end gets new shares every
//! [`REFILL`].
//! Not here: the lanes (`belt/lanes.rs`).

use std::time::{Duration, Instant};

use rustc_hash::FxHashMap;

/// More changes than this, settled and unsettled together, are a burst.
const MOST_AT_ONCE: usize = 200;

/// How many changes of a burst ride in the interactive lane, whatever they are; also the size of the other shares.
const SHARE: usize = 50;

/// A folder with at most so many changes during one allowance is not where the flood is.
const QUIET_FOLDER: usize = 10;

/// How long an allowance lasts.
const REFILL: Duration = Duration::from_secs(5);

/// A change that has settled.
#[derive(Debug, Clone, Copy)]
pub(super) struct Settled<'a> {
    /// The folder around the file.
    pub folder: &'a str,
    /// True when the file was indexed before.
    pub is_known: bool,
}

/// The burst that is going on, if any.
#[derive(Debug, Default)]
pub(super) struct Burst {
    current: Option<Current>,
}

#[derive(Debug)]
struct Current {
    n_spent: usize,
    n_of_folder: FxHashMap<String, usize>,
    until: Instant,
}

impl Burst {
    /// For each settled change, in order, whether it rides in the interactive lane.
    pub(super) fn choose(
        &mut self,
        settled: &[Settled<'_>],
        n_unsettled: usize,
        now: Instant,
    ) -> Vec<bool> {
        if self.current.as_ref().is_some_and(|current| now >= current.until) {
            self.current = None;
        }
        if self.current.is_none() && settled.len() + n_unsettled > MOST_AT_ONCE {
            let (n_spent, n_of_folder) = (0, FxHashMap::default());
            self.current = Some(Current { n_spent, n_of_folder, until: now + REFILL });
        }
        let Some(current) = &mut self.current else { return vec![true; settled.len()] };
        let chosen = current.choose(settled);
        if n_unsettled == 0 {
            self.current = None;
        }
        chosen
    }
}

impl Current {
    fn choose(&mut self, settled: &[Settled<'_>]) -> Vec<bool> {
        for change in settled {
            match self.n_of_folder.get_mut(change.folder) {
                Some(n) => *n += 1,
                None => {
                    self.n_of_folder.insert(change.folder.to_string(), 1);
                }
            }
        }
        let shares = |change: &Settled<'_>| {
            let n = self.n_of_folder.get(change.folder).copied().unwrap_or_default();
            let is_quiet = n <= QUIET_FOLDER;
            1 + usize::from(is_quiet) + usize::from(is_quiet && change.is_known)
        };
        let mut order: Vec<(usize, usize)> =
            settled.iter().enumerate().map(|(i, change)| (shares(change), i)).collect();
        // Those with the most shares come first, so that the flood beside them cannot have spent the open one.
        order.sort_by_key(|(shares, _)| std::cmp::Reverse(*shares));
        let mut chosen = vec![false; settled.len()];
        for (shares, i) in order {
            if self.n_spent < shares * SHARE
                && let Some(is_first) = chosen.get_mut(i)
            {
                *is_first = true;
                self.n_spent += 1;
            }
        }
        chosen
    }
}

#[cfg(test)]
mod tests {
    use super::{Burst, Settled};
    use std::time::{Duration, Instant};

    /// So many changes of new files in one folder.
    fn flood(folder: &str, n: usize) -> Vec<Settled<'_>> {
        vec![Settled { folder, is_known: false }; n]
    }

    fn n_first(chosen: &[bool]) -> usize {
        chosen.iter().filter(|is_first| **is_first).count()
    }

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
            let chosen = burst.choose(&flood("d", n_settled), n_unsettled, now);
            assert_eq!(n_first(&chosen), expected, "at {ms} ms");
        }
    }

    #[test]
    fn a_flood_does_not_spend_what_a_save_elsewhere_needs() {
        let now = Instant::now();
        let folders: Vec<String> = (0..1_000).map(|n| format!("unpacked/{n}")).collect();
        let wide: Vec<Settled<'_>> =
            folders.iter().map(|folder| Settled { folder, is_known: false }).collect();
        let new = Settled { folder: "notes", is_known: false };
        let saved = Settled { folder: "notes", is_known: true };
        let rows = [
            // The flood before it, the save, whether that goes first
            (flood("deep", 5_000), new, true),
            (flood("deep", 5_000), saved, true),
            (flood("notes", 5_000), saved, false), // It is where the flood is.
            (wide.clone(), new, false),            // Nothing tells it from the flood.
            (wide.clone(), saved, true),
        ];
        for (i, (before, save, expected)) in rows.iter().enumerate() {
            let mut burst = Burst::default();
            burst.choose(before, 1_000, now);
            let later = now + Duration::from_millis(300);
            assert_eq!(burst.choose(&[*save], 1_000, later), [*expected], "row {i}, after it");
            // Settling in the same instant, behind the flood.
            let together: Vec<Settled<'_>> = before.iter().chain([save]).copied().collect();
            let chosen = Burst::default().choose(&together, 1_000, now);
            assert_eq!(chosen.last(), Some(expected), "row {i}, beside it");
        }
    }

    #[test]
    fn saves_of_known_files_are_bounded_too() {
        let folders: Vec<String> = (0..1_000).map(|n| format!("tree/{n}")).collect();
        let checkout: Vec<Settled<'_>> =
            folders.iter().map(|folder| Settled { folder, is_known: true }).collect();
        assert_eq!(n_first(&Burst::default().choose(&checkout, 0, Instant::now())), 150);
    }
}
