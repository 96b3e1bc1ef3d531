//! Settle: waits until a path has been quiet, and joins changes that belong together.
//!
//! In: notes that something happened at a path, and the time. Out: settled changes, renames first.
//! Invariants: a path settles `debounce` after its last note, and never later than [`MOST_DEBOUNCES`] times that
//! after its first, so a file that is written continuously is still indexed; no clock is read here.
//! A change is only a reason to check the path: `intake.rs` finds out what happened to it. So a file that was created
//! and deleted in between costs one check and causes nothing.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use rustc_hash::{FxHashMap, FxHashSet};

use model::terms::RelPath;

/// A path settles at most this many quiet times after its first note.
const MOST_DEBOUNCES: u32 = 5;

/// A change at a path that has been quiet since.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SettledChange {
    /// The path to check.
    pub path: RelPath,
    /// Its previous path, if both halves of the rename were seen; checked right after `path`.
    pub moved_from: Option<RelPath>,
}

/// The paths that have not been quiet for long enough.
pub(super) struct Settler {
    debounce: Duration,
    pending: FxHashMap<RelPath, Pending>,
    order: BTreeSet<(Instant, RelPath)>,
}

struct Pending {
    first: Instant,
    due: Instant,
    moved_from: Option<RelPath>,
}

impl Settler {
    pub(super) fn new(debounce: Duration) -> Self {
        Settler { debounce, pending: FxHashMap::default(), order: BTreeSet::new() }
    }

    /// Changes how long a path must be quiet, for notes from now on.
    pub(super) fn set_debounce(&mut self, debounce: Duration) {
        self.debounce = debounce;
    }

    /// Notes that something happened at a path. Its quiet time restarts.
    pub(super) fn note(&mut self, path: &RelPath, now: Instant) {
        let (first, moved_from) = match self.take(path) {
            Some(pending) => (pending.first, pending.moved_from),
            None => (now, None),
        };
        self.put(path, first, now, moved_from);
    }

    /// Notes that a path was renamed. A chain of renames leads back to its first name.
    pub(super) fn note_rename(&mut self, from: &RelPath, to: &RelPath, now: Instant) {
        if from == to {
            return self.note(to, now);
        }
        let old = self.take(from);
        let replaced = self.take(to);
        let first = [&old, &replaced].into_iter().flatten().map(|pending| pending.first).min();
        let first = first.unwrap_or(now);
        let is_chain = old.as_ref().is_some_and(|old| old.moved_from.is_some());
        let origin = old.and_then(|old| old.moved_from).unwrap_or_else(|| from.clone());
        // Every name that is no longer an origin must still be checked: the one in the middle of a chain, and the
        // origin of a file that was renamed to here and has now been replaced.
        if is_chain {
            self.note(from, now);
        }
        if let Some(lost) = replaced.and_then(|replaced| replaced.moved_from)
            && lost != origin
        {
            self.note(&lost, now);
        }
        // Renamed back to its first name.
        let moved_from = (origin != *to).then_some(origin);
        self.put(to, first, now, moved_from);
    }

    /// Returns the changes that have settled by `now`: renames first, so that no old name is removed before the new
    /// one is added.
    pub(super) fn due(&mut self, now: Instant) -> Vec<SettledChange> {
        let mut changes = Vec::new();
        while let Some((due, _)) = self.order.first()
            && *due <= now
            && let Some((_, path)) = self.order.pop_first()
        {
            let moved_from = self.pending.remove(&path).and_then(|pending| pending.moved_from);
            changes.push(SettledChange { path, moved_from });
        }
        forget_swaps(&mut changes);
        changes.sort_by(|a, b| {
            (a.moved_from.is_none(), &a.path).cmp(&(b.moved_from.is_none(), &b.path))
        });
        changes
    }

    /// Returns when the next path settles.
    pub(super) fn next_due(&self) -> Option<Instant> {
        self.order.first().map(|(due, _)| *due)
    }

    /// Returns the number of paths that have not settled.
    pub(super) fn n_unsettled(&self) -> usize {
        self.pending.len()
    }

    fn take(&mut self, path: &RelPath) -> Option<Pending> {
        let pending = self.pending.remove(path)?;
        self.order.remove(&(pending.due, path.clone()));
        Some(pending)
    }

    fn put(&mut self, path: &RelPath, first: Instant, now: Instant, moved_from: Option<RelPath>) {
        let due = (now + self.debounce).min(first + self.debounce * MOST_DEBOUNCES);
        self.order.insert((due, path.clone()));
        self.pending.insert(path.clone(), Pending { first, due, moved_from });
    }
}

/// Turns two files that exchanged names into two changes: neither has left its old name free.
fn forget_swaps(changes: &mut [SettledChange]) {
    let taken: FxHashSet<RelPath> = changes
        .iter()
        .filter(|change| change.moved_from.is_some())
        .map(|change| change.path.clone())
        .collect();
    for change in changes {
        if change.moved_from.as_ref().is_some_and(|from| taken.contains(from)) {
            change.moved_from = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};
    use std::fmt::Write as _;

    /// Plays a script, one step a line: `<ms> path` notes, `<ms> old > new` renames, `<ms> ?` asks what is
    /// due. The quiet time is 300 ms.
    fn check(script: &str, expect: Expect) {
        let start = Instant::now();
        let mut settler = Settler::new(Duration::from_millis(300));
        let mut out = String::new();
        for step in script.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let (ms, what) = step.split_once(' ').expect("a time and a step");
            let now = start + Duration::from_millis(ms.parse().expect("a number"));
            match what.split_once(" > ") {
                Some((from, to)) => {
                    settler.note_rename(&RelPath::new(from), &RelPath::new(to), now);
                }
                None if what == "?" => print(&mut settler, start, now, &mut out),
                None => settler.note(&RelPath::new(what), now),
            }
        }
        expect.assert_eq(&out);
    }

    fn print(settler: &mut Settler, start: Instant, now: Instant, out: &mut String) {
        let changes: Vec<String> = settler
            .due(now)
            .into_iter()
            .map(|change| match change.moved_from {
                Some(from) => format!("{} from {from}", change.path),
                None => change.path.to_string(),
            })
            .collect();
        let next = settler.next_due().map(|due| due.duration_since(start).as_millis().to_string());
        let at = now.duration_since(start).as_millis();
        let (changes, next) = (changes.join(", "), next.unwrap_or_else(|| "never".into()));
        writeln!(out, "{at}: [{changes}] unsettled {} next {next}", settler.n_unsettled())
            .expect("a string takes text");
    }

    #[test]
    fn a_path_settles_once_after_its_last_note() {
        check(
            "0 a
             100 b
             200 a
             399 ?
             400 ?
             499 ?
             500 ?
             501 ?",
            expect![[r#"
                399: [] unsettled 2 next 400
                400: [b] unsettled 1 next 500
                499: [] unsettled 1 next 500
                500: [a] unsettled 0 next never
                501: [] unsettled 0 next never
            "#]],
        );
    }

    #[test]
    fn a_path_that_never_rests_settles_after_five_quiet_times() {
        let notes: String = (0..16).map(|n| format!("{} a\n", n * 100)).collect();
        check(
            &format!("{notes} 1499 ?\n 1500 ?\n 1600 a\n 1899 ?\n 1900 ?"),
            expect![[r#"
                1499: [] unsettled 1 next 1500
                1500: [a] unsettled 0 next never
                1899: [] unsettled 1 next 1900
                1900: [a] unsettled 0 next never
            "#]],
        );
    }

    #[test]
    fn renames_are_joined_and_come_first() {
        check(
            "0 0
             0 a > b
             300 ?
             400 x
             500 x > y
             800 ?
             900 a > b
             950 b > c
             1250 ?
             2000 a > b
             2100 a
             2400 ?
             3000 a > x
             3100 b > x
             3400 ?",
            expect![[r#"
                300: [b from a, 0] unsettled 0 next never
                800: [y from x] unsettled 0 next never
                1250: [c from a, b] unsettled 0 next never
                2400: [b from a, a] unsettled 0 next never
                3400: [x from b, a] unsettled 0 next never
            "#]],
        );
    }

    #[test]
    fn two_files_that_swap_names_have_both_changed() {
        check(
            "0 a > t
             1 b > a
             2 t > b
             302 ?
             400 a > t
             401 t > a
             701 ?",
            expect![[r#"
                302: [a, b, t] unsettled 0 next never
                701: [a, t] unsettled 0 next never
            "#]],
        );
    }
}
