//! Digest: turns raw events into hints.
//!
//! In: raw events, in order. Out: hints: paths to check, renames, folders to walk.
//! Invariants: there is a hint whenever the path is, was or contains something that is read; what it is now is
//! checked later. The halves of a rename are joined by their number, whether or not the system joins them.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::PathBuf;

use super::crawl::{Crawl, Found, crawl};
use super::events::{Listener, RawEvent};
use super::intake::Intake;
use super::links::follow_all;
use super::read::Stat;
use super::rules::{Rules, Verdict, is_ignore_file, parent};
use super::sent::KnownFile;
use super::settle::SettledChange;
use super::state::WatchState;
use model::terms::RelPath;

/// Renames kept whose second half may still come; the halves follow each other closely.
const MAX_HALVES: usize = 64;

/// What an event asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Hint {
    /// Check this path when it is quiet.
    Changed(RelPath),
    /// The same, and it had another path before.
    Renamed { from: RelPath, to: RelPath },
    /// Walk this folder now: it has just appeared, or had another path before.
    Walk { folder: RelPath, moved_from: Option<RelPath> },
}

/// First halves of renames, oldest first.
#[derive(Debug, Default)]
pub(super) struct Halves(VecDeque<Half>);

#[derive(Debug)]
struct Half {
    tracker: usize,
    from: RelPath,
    is_joined: bool,
}

impl Halves {
    fn keep(&mut self, tracker: Option<usize>, from: &RelPath) {
        let Some(tracker) = tracker else { return };
        if self.0.len() >= MAX_HALVES {
            self.0.pop_front();
        }
        self.0.push_back(Half { tracker, from: from.clone(), is_joined: false });
    }

    fn join(&mut self, tracker: Option<usize>) -> Option<RelPath> {
        let half = self.0.iter_mut().rev().find(|half| Some(half.tracker) == tracker)?;
        half.is_joined = true;
        Some(half.from.clone())
    }

    /// Returns whether the rename is known; a second report of it must not undo what has happened since.
    fn are_joined(&self, tracker: Option<usize>) -> bool {
        self.0
            .iter()
            .rev()
            .find(|half| Some(half.tracker) == tracker)
            .is_some_and(|half| half.is_joined)
    }
}

/// Turns raw events into hints. Inspects the kinds of paths, reads nothing.
pub(super) fn digest(
    batch: Vec<RawEvent>,
    halves: &mut Halves,
    intake: &Intake,
    state: &WatchState,
) -> Vec<Hint> {
    let mut hints = Vec::new();
    for raw in batch {
        let hint = match raw {
            RawEvent::Root => {
                state.want_crawl();
                None
            }
            RawEvent::Changed(path) => appeared(intake, path, None),
            RawEvent::Touched(path) => touched(intake, state, path),
            RawEvent::Gone(path) => gone(intake, path),
            RawEvent::MovedFrom(path, tracker) => {
                halves.keep(tracker, &path);
                // The old path is checked by itself: the other half never comes if the new path is outside the root.
                gone(intake, path)
            }
            RawEvent::MovedTo(path, tracker) => appeared(intake, path, halves.join(tracker)),
            RawEvent::Moved(_, _, tracker) if halves.are_joined(tracker) => None,
            RawEvent::Moved(from, to, _) => appeared(intake, to, Some(from)),
        };
        // Files that are skipped are counted, too.
        if hint.is_none() {
            state.surveys.changed();
        }
        // A large write causes one event per block.
        if hint.is_some() && hints.last() != hint.as_ref() {
            hints.extend(hint);
        }
    }
    hints
}

fn is_read(intake: &Intake, path: &RelPath, is_dir: bool) -> bool {
    !matches!(intake.rules().verdict(path.as_str(), is_dir), Verdict::Skip(_))
}

fn changes_rules(intake: &Intake, path: &RelPath) -> bool {
    let folder = parent(path.as_str());
    is_ignore_file(path.as_str())
        && (folder.is_empty() || is_read(intake, &RelPath::new(folder), true))
}

/// Handles a path where something appeared or changed.
fn appeared(intake: &Intake, path: RelPath, moved_from: Option<RelPath>) -> Option<Hint> {
    if changes_rules(intake, &path) {
        return Some(Hint::Changed(path));
    }
    let is_dir = intake.project_folder.meta(&path).map(|meta| meta.is_folder());
    let could_be_read = |path: &RelPath| match is_dir {
        Ok(is_dir) => is_read(intake, path, is_dir),
        // It has disappeared already, so it may have been either.
        Err(_) => is_read(intake, path, true) || is_read(intake, path, false),
    };
    let is_wanted = could_be_read(&path);
    let moved_from = moved_from.filter(could_be_read);
    match (is_wanted, is_dir, moved_from) {
        // A file that is read has moved to a place that is not read.
        (false, _, Some(from)) => Some(Hint::Changed(from)),
        (false, _, None) => None,
        (true, Ok(true), moved_from) => Some(Hint::Walk { folder: path, moved_from }),
        (true, _, Some(from)) => Some(Hint::Renamed { from, to: path }),
        (true, _, None) => Some(Hint::Changed(path)),
    }
}

/// Handles changed permissions or times. Copying tools touch every folder, so a folder is walked only if it was
/// unreadable before.
fn touched(intake: &Intake, state: &WatchState, path: RelPath) -> Option<Hint> {
    match appeared(intake, path, None) {
        Some(Hint::Walk { folder, .. }) if !state.is_unreadable(folder.as_str()) => None,
        hint => hint,
    }
}

/// Handles a path that was deleted. It may have been a folder, and another one may be in its place. That one must be
/// walked, because with the old folder the system drops the watch of the path.
fn gone(intake: &Intake, path: RelPath) -> Option<Hint> {
    let could_be_folder = is_read(intake, &path, true);
    if could_be_folder && intake.project_folder.meta(&path).is_ok_and(|meta| meta.is_folder()) {
        return Some(Hint::Walk { folder: path, moved_from: None });
    }
    let is_wanted =
        could_be_folder || is_read(intake, &path, false) || changes_rules(intake, &path);
    is_wanted.then_some(Hint::Changed(path))
}

fn is_followed(intake: &Intake, rules: &Rules, folder: &str) -> bool {
    intake.project_folder.open().is_ok_and(|root| follow_all(&root, rules, folder).is_ok())
}

/// Walks a new folder; returns renames and changes, which settle like any others.
pub(super) fn walk(
    intake: &Intake,
    listener: Option<&Listener>,
    folder: &RelPath,
    moved_from: Option<&RelPath>,
    missed: &mut Vec<(PathBuf, String)>,
) -> (Vec<Hint>, Crawl) {
    // The folder may contain ignore files of its own.
    let rules = intake.renew_rules();
    let mut found = Crawl::default();
    if is_followed(intake, &rules, folder.as_str()) {
        found = crawl(&intake.project_folder, &rules, folder.as_str(), &mut |path| {
            if let Some(Err(why)) = listener.map(|listener| listener.watch(path)) {
                missed.push((path.to_path_buf(), why));
            }
        });
    }
    let mut hints = Vec::new();
    for file in &found.found {
        // A moved folder has moved its files: each old path that is known becomes a rename.
        let rest = file.path.as_str().get(folder.as_str().len()..).unwrap_or_default();
        let from = moved_from.map(|old| RelPath::new(format!("{old}{rest}")));
        match from.filter(|from| intake.expects(from)) {
            Some(from) => hints.push(Hint::Renamed { from, to: file.path.clone() }),
            None if intake.differs(file) => hints.push(Hint::Changed(file.path.clone())),
            None => {}
        }
    }
    if intake.expects(folder) {
        hints.push(Hint::Changed(folder.clone()));
    }
    // Last, so that it settles together with the files that came from it, never before.
    hints.extend(moved_from.map(|old| Hint::Changed(old.clone())));
    (hints, found)
}

/// Returns the files below a folder, and of `others`, that differ from the index; if more than `most` are known
/// there, only those of `named`.
pub(super) fn changed(
    intake: &Intake,
    folder: &str,
    others: &[RelPath],
    named: &[RelPath],
    most: usize,
) -> Vec<RelPath> {
    let rules = intake.rules();
    let is_read = folder.is_empty() || rules.verdict(folder, true) == Verdict::Descend;
    let lies_otherwise = |path: &RelPath| match intake.project_folder.meta(path) {
        Ok(it) => intake.differs(&Found { path: path.clone(), stat: Stat::of(&it) }),
        // A file whose removal is on its way is still in the index.
        Err(error) => error.is_absent() && (intake.expects(path) || intake.is_on_its_way(path)),
    };
    let are_many = others.len() > most || intake.known.are_more_under(folder, most);
    // One query instead of one per file.
    let known: BTreeMap<RelPath, KnownFile> = match are_many {
        true => BTreeMap::new(),
        false => intake.known.files_under(folder).into_iter().collect(),
    };
    let mut expected: BTreeSet<RelPath> = known.keys().cloned().collect();
    expected.extend(intake.sent.paths_under(folder).into_iter().chain(others.iter().cloned()));
    if are_many || expected.len() > most {
        return named.iter().filter(|path| lies_otherwise(path)).cloned().collect();
    }
    if !is_read || !is_followed(intake, &rules, folder) {
        return Vec::new();
    }
    let crawl = crawl(&intake.project_folder, &rules, folder, &mut |_| {});
    let found: BTreeSet<&RelPath> = crawl.found.iter().map(|file| &file.path).collect();
    let differs = |file: &&Found| intake.differs_from(file, known.get(&file.path).copied());
    let below = crawl.found.iter().filter(differs).map(|file| &file.path);
    let beside = expected.iter().filter(|path| match found.contains(path) {
        true => intake.is_on_its_way(path),
        false => lies_otherwise(path),
    });
    let changed: BTreeSet<&RelPath> = below.chain(beside).collect();
    changed.into_iter().cloned().collect()
}

/// Adds to settled paths that were folders the files that were below them, and turns ignore files into a requested
/// crawl.
pub(super) fn expand(
    changes: Vec<SettledChange>,
    intake: &Intake,
    state: &WatchState,
    listener: Option<&Listener>,
) -> Vec<SettledChange> {
    let mut out = Vec::with_capacity(changes.len());
    for change in changes {
        let path = change.path.as_str();
        if is_ignore_file(path) {
            state.want_crawl();
            continue;
        }
        if !intake.project_folder.meta(&change.path).is_ok_and(|meta| meta.is_folder()) {
            let below = intake.expected_under(path).into_iter();
            out.extend(below.map(|path| SettledChange { path, moved_from: None }));
        }
        if let Some(listener) = listener
            && intake.project_folder.is_link(&change.path)
        {
            // The system reports changes of a link's target only to watches on the target.
            let _ = listener.watch(&intake.project_folder.absolute(path));
        }
        out.push(change);
    }
    // Deleted paths go last, so that a document which was copied away and deleted is recognized as moved.
    out.sort_by_cached_key(|change| (change.moved_from.is_none(), intake.is_gone(&change.path)));
    out
}
