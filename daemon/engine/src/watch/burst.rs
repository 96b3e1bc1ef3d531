//! Burst: decides which of the changes that settle together go to the interactive lane.
//!
//! In: the changes that have settled, how many are still unsettled, and the time. Out: which of them go first.
//! A person saves a few files; a checkout or an unpacked archive changes thousands of small ones or dozens of large
//! ones, and those must not delay the next save. So within a window of [`WINDOW`] everything goes first while it is
//! cheap; beyond that, each class of changes has a share of its own, in units of [`UNIT_BYTES`]: a flood spends only
//! its own share.

use std::time::{Duration, Instant};

use model::terms::RelPath;
use rustc_hash::{FxHashMap, FxHashSet};

/// Bytes per unit of cost: a small file costs about as much to index as this much text of a large one.
const UNIT_BYTES: u64 = 16 * 1_024;

/// Cost of the changes in one window above which they are a burst, in units; an unsettled change counts as one.
pub(super) const MOST_AT_ONCE: u64 = 200;

/// What each class may spend on the interactive lane in one window of a burst, units.
const SHARE: u64 = 50;

/// Most files of one kind that change in a window in a folder that is not part of the flood.
const QUIET_FOLDER: usize = 10;

/// Length of a window.
const WINDOW: Duration = Duration::from_secs(5);

/// What an event is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    /// A file that was not indexed before.
    New,
    /// A file that was.
    Known,
    /// A file that looks as it did when it was last read: a tool has written and submitted it, or a crawl was faster.
    Echo,
}

/// A change that has settled.
#[derive(Debug, Clone, Copy)]
pub(super) struct Settled<'a> {
    /// The file.
    pub path: &'a RelPath,
    /// What the event is about.
    pub kind: Kind,
    /// Size of the file, bytes; 0 if it does not exist.
    pub n_bytes: u64,
}

impl Settled<'_> {
    fn place(&self) -> (String, Kind) {
        (self.path.folder().to_string(), self.kind)
    }

    /// Cost in units. An echo is read and compared, but not indexed.
    fn cost(&self) -> u64 {
        if self.kind == Kind::Echo { 1 } else { (self.n_bytes / UNIT_BYTES).max(1) }
    }
}

/// The current window.
#[derive(Debug, Default)]
pub(super) struct Burst {
    /// `None` before the first one.
    until: Option<Instant>,
    n_units: u64,
    /// Units spent by each class: the kind of a change, and whether it is of a flood: among many of its kind in its
    /// folder. A known file in a folder where few others change is most likely a save.
    spent: FxHashMap<(Kind, bool), u64>,
    /// Files that changed, by folder and kind, up to one more than [`QUIET_FOLDER`]; without echoes. A file that is
    /// saved repeatedly counts once.
    of_folder: FxHashMap<(String, Kind), FxHashSet<RelPath>>,
}

impl Burst {
    /// Returns for each settled change, in order, whether it goes to the interactive lane.
    pub(super) fn choose(
        &mut self,
        settled: &[Settled<'_>],
        n_unsettled: usize,
        now: Instant,
    ) -> Vec<bool> {
        if self.until.is_none_or(|until| until <= now) {
            *self = Burst { until: Some(now + WINDOW), ..Burst::default() };
        }
        for change in settled {
            self.n_units += change.cost();
            let files = self.of_folder.entry(change.place()).or_default();
            if change.kind != Kind::Echo && files.len() <= QUIET_FOLDER {
                files.insert(change.path.clone());
            }
        }
        // Every change spends from its share, also outside a burst, so that a burst that starts later finds it spent.
        let is_burst = self.n_units + n_unsettled as u64 > MOST_AT_ONCE;
        settled.iter().map(|change| self.spend(change) || !is_burst).collect()
    }

    /// Charges the cost to the share of the change's class; returns false if the share is spent. The last change may
    /// exceed what is left, so that a large file is not starved.
    fn spend(&mut self, change: &Settled<'_>) -> bool {
        let n_files = self.of_folder.get(&change.place()).map_or(0, FxHashSet::len);
        let is_flood = n_files > QUIET_FOLDER;
        // A file of a flood is one of it, whether it is new or known.
        let kind = if is_flood { Kind::New } else { change.kind };
        let spent = self.spent.entry((kind, is_flood)).or_default();
        let is_left = *spent < SHARE;
        *spent += if is_left { change.cost() } else { 0 };
        is_left
    }
}

#[cfg(test)]
mod tests {
    use super::{Burst, Kind, RelPath, Settled};
    use std::time::{Duration, Instant};

    const SMALL: u64 = 100;

    /// `n` files, each in the folder given by its number.
    fn files(n: usize, folder: impl Fn(usize) -> String) -> Vec<RelPath> {
        (0..n).map(|i| RelPath::new(format!("{}/{i}.md", folder(i)))).collect()
    }

    fn changes(paths: &[RelPath], kind: Kind, n_bytes: u64) -> Vec<Settled<'_>> {
        paths.iter().map(|path| Settled { path, kind, n_bytes }).collect()
    }

    fn n_first(chosen: &[bool]) -> usize {
        chosen.iter().filter(|is_first| **is_first).count()
    }

    #[test]
    fn the_first_of_a_burst_go_first() {
        let start = Instant::now();
        let mut burst = Burst::default();
        let rows = [
            // ms, settled, unsettled, expected interactive
            (0, 3, 10, 3),
            (10, 190, 0, 190),
            (6_000, 201, 0, 50),   // A burst that settles at once.
            (6_010, 5, 0, 0),      // Still the same window.
            (12_000, 30, 971, 30), // One that settles bit by bit.
            (12_010, 30, 941, 20),
            (12_020, 900, 41, 0),
            (17_100, 41, 0, 41),
            (23_000, 60, 5_000, 50), // One that goes on and on.
            (23_100, 60, 5_000, 0),
            (28_100, 60, 5_000, 50),
        ];
        for (ms, n_settled, n_unsettled, expected) in rows {
            let now = start + Duration::from_millis(ms);
            let flood = files(n_settled, |_| "d".into());
            let chosen = burst.choose(&changes(&flood, Kind::New, SMALL), n_unsettled, now);
            assert_eq!(n_first(&chosen), expected, "at {ms} ms");
        }
    }

    #[test]
    fn a_flood_does_not_spend_what_a_save_elsewhere_needs() {
        let now = Instant::now();
        let wide = files(1_000, |n| format!("unpacked/{n}"));
        let (deep, notes) = (files(5_000, |_| "deep".into()), files(5_000, |_| "notes".into()));
        let save = RelPath::new("notes/save.md");
        let new = Settled { path: &save, kind: Kind::New, n_bytes: SMALL };
        let saved = Settled { kind: Kind::Known, ..new };
        let rows = [
            // The flood before the save, the save, whether it is interactive
            (changes(&deep, Kind::New, SMALL), new, true),
            (changes(&deep, Kind::New, SMALL), saved, true),
            (changes(&notes, Kind::New, SMALL), new, false), // Nothing distinguishes it from the flood.
            (changes(&notes, Kind::New, SMALL), saved, true),
            (changes(&notes, Kind::Known, SMALL), saved, false),
            (changes(&wide, Kind::New, SMALL), new, false),
            (changes(&wide, Kind::New, SMALL), saved, true),
        ];
        for (i, (before, save, expected)) in rows.iter().enumerate() {
            let mut burst = Burst::default();
            burst.choose(before, 1_000, now);
            let later = now + Duration::from_millis(300);
            assert_eq!(burst.choose(&[*save], 1_000, later), [*expected], "row {i}, after it");
            // Settles in the same instant, listed behind the flood.
            let together: Vec<Settled<'_>> = before.iter().chain([save]).copied().collect();
            let chosen = Burst::default().choose(&together, 1_000, now);
            assert_eq!(chosen.last(), Some(expected), "row {i}, beside it");
        }
    }

    #[test]
    fn a_file_that_is_saved_again_and_again_is_no_flood() {
        let now = Instant::now();
        let (flood, save) = (files(5_000, |_| "deep".into()), RelPath::new("notes/save.md"));
        let saved = Settled { path: &save, kind: Kind::Known, n_bytes: SMALL };
        let mut burst = Burst::default();
        for _ in 0..20 {
            assert_eq!(burst.choose(&[saved], 0, now), [true]);
        }
        assert_eq!(n_first(&burst.choose(&changes(&flood, Kind::New, SMALL), 0, now)), 50);
        assert_eq!(burst.choose(&[saved], 0, now), [true]);
    }

    #[test]
    fn a_few_large_files_are_a_flood_as_many_small_ones_are() {
        let now = Instant::now();
        let (large, save) = (files(60, |_| "big".into()), RelPath::new("quiet/save.md"));
        let saved = Settled { path: &save, kind: Kind::Known, n_bytes: SMALL };
        let mut burst = Burst::default();
        assert_eq!(n_first(&burst.choose(&changes(&large, Kind::New, 800_000), 0, now)), 2);
        assert_eq!(burst.choose(&[saved], 0, now), [true]);
        // Alone, even a very large file is interactive.
        let huge = Settled { n_bytes: 50_000_000, ..saved };
        assert_eq!(Burst::default().choose(&[huge], 0, now), [true]);
    }

    #[test]
    fn echoes_have_a_share_of_their_own() {
        let now = Instant::now();
        let (own, flood) = (files(100, |n| format!("own/{n}")), files(500, |_| "deep".into()));
        let save = RelPath::new("quiet/save.md");
        let mut burst = Burst::default();
        assert_eq!(n_first(&burst.choose(&changes(&own, Kind::Echo, 800_000), 0, now)), 100);
        assert_eq!(n_first(&burst.choose(&changes(&flood, Kind::New, SMALL), 0, now)), 50);
        assert_eq!(n_first(&burst.choose(&changes(&own, Kind::Echo, SMALL), 0, now)), 0);
        let saved = Settled { path: &save, kind: Kind::Known, n_bytes: SMALL };
        assert_eq!(burst.choose(&[saved], 0, now), [true]);
    }

    #[test]
    fn saves_of_known_files_are_bounded_too() {
        let tree = files(1_000, |n| format!("tree/{n}"));
        let checkout = changes(&tree, Kind::Known, SMALL);
        assert_eq!(n_first(&Burst::default().choose(&checkout, 0, Instant::now())), 50);
    }
}
