//! Pair: finds documents that moved, among the files that one crawl found new or that appeared together.
//!
//! In: paths that are new or changed, and known paths whose files are missing. Out: pairs of old and new path.
//! Equal content first (in order of path on both sides, so that the files of a renamed folder are matched in order),
//! then, for new files only, texts with a similarity of at least [`SAME_DOCUMENT`]: the most similar first, ties by
//! path.
//! Invariants: an old path is in at most one pair; the answer depends on the files and the index alone, not on the
//! order of the walk; at most [`MOST_COMPARED`] texts per side are read, in order of path.

use std::collections::{BTreeMap, BTreeSet};

use super::crawl::Found;
use super::intake::Intake;
use super::path_state::PathState;
use super::pending::Check;
use super::read::{Stat, read_regular};
use formats::Normalizer;
use model::Stage as _;
use model::document::{Pass, SourceDoc};
use model::terms::{ContentHash, Lane, RelPath, SAME_DOCUMENT, Sketch};

/// Most texts per side that are compared. If there are more, it is another folder, not edited files.
const MOST_COMPARED: usize = 1_000;

/// Greatest ratio of the sizes of one document's files before and after an edit.
const MOST_GROWTH: u64 = 2;

/// Joins checks of changed files with those of missing ones that they were before; `changed` and `gone` are among the
/// `checks`.
pub(super) fn join(
    intake: &Intake,
    checks: Vec<Check>,
    changed: &[&Found],
    gone: &[RelPath],
) -> Vec<Check> {
    let pairs = pair(intake, changed, gone);
    let old_of: BTreeMap<&RelPath, &RelPath> = pairs.iter().map(|(old, new)| (new, old)).collect();
    // The old path is checked right after the new one, so it needs no check of its own.
    let kept = checks.into_iter().filter(|check| !pairs.contains_key(&check.path));
    kept.map(|check| {
        let old = old_of.get(&check.path).map(|old| (*old).clone());
        Check { moved_from: old.or(check.moved_from), ..check }
    })
    .collect()
}

/// The same for changes that settled together: a tool that deletes a file and rewrites it elsewhere, as a checkout
/// does, reports no rename.
pub(super) fn join_settled(changes: Vec<Check>, intake: &Intake) -> Vec<Check> {
    let (mut new, mut gone) = (Vec::new(), Vec::new());
    for change in changes.iter().filter(|change| change.moved_from.is_none()) {
        match (intake.project_folder.meta(&change.path), intake.sent.expects(&change.path)) {
            (Ok(meta), false) if meta.is_file() => {
                new.push(Found { path: change.path.clone(), stat: Stat::of(&meta) });
            }
            (Err(error), true) if error.is_absent() => gone.push(change.path.clone()),
            _ => {}
        }
    }
    join(intake, changes, &new.iter().collect::<Vec<_>>(), &gone)
}

/// Returns the new path by the old one.
fn pair(intake: &Intake, changed: &[&Found], gone: &[RelPath]) -> BTreeMap<RelPath, RelPath> {
    if changed.is_empty() || gone.is_empty() {
        return BTreeMap::new();
    }
    let mut vanished: Vec<Vanished> = gone.iter().filter_map(|path| was(intake, path)).collect();
    let mut pairs = pair_equal(intake, changed, &mut vanished);
    // Similar texts are compared only for files that are new: a changed file is its own document.
    let paired: BTreeSet<&RelPath> = pairs.values().collect();
    let new: Vec<&Found> = changed
        .iter()
        .filter(|found| !paired.contains(&found.path) && !intake.sent.expects(&found.path))
        .copied()
        .collect();
    let alike = pair_alike(intake, &new, &vanished);
    pairs.extend(alike);
    pairs
}

struct Vanished {
    path: RelPath,
    hash: ContentHash,
    n_bytes: u64,
}

fn was(intake: &Intake, path: &RelPath) -> Option<Vanished> {
    match intake.sent.state_of(path) {
        PathState::Present(file) => {
            Some(Vanished { path: path.clone(), hash: file.hash, n_bytes: file.n_bytes })
        }
        _ => None,
    }
}

/// Pairs files of equal content, and removes the paired ones from `vanished`.
fn pair_equal(
    intake: &Intake,
    changed: &[&Found],
    vanished: &mut Vec<Vanished>,
) -> BTreeMap<RelPath, RelPath> {
    // Only files of a vanished size are read.
    let sizes: BTreeSet<u64> = vanished.iter().map(|old| old.n_bytes).collect();
    let mut by_hash: BTreeMap<u128, Vec<RelPath>> = BTreeMap::new();
    // Reversed, so that `pop` returns the first path.
    for old in vanished.iter().rev() {
        by_hash.entry(old.hash.0).or_default().push(old.path.clone());
    }
    let mut pairs = BTreeMap::new();
    for found in changed.iter().filter(|found| sizes.contains(&found.stat.n_bytes)) {
        let Some(bytes) = read(intake, found) else { continue };
        let old = by_hash.get_mut(&ContentHash::of(&bytes).0).and_then(Vec::pop);
        if let Some(old) = old {
            pairs.insert(old, found.path.clone());
        }
    }
    vanished.retain(|old| !pairs.contains_key(&old.path));
    pairs
}

fn pair_alike(
    intake: &Intake,
    new: &[&Found],
    vanished: &[Vanished],
) -> BTreeMap<RelPath, RelPath> {
    // Sizes are compared before any text is read.
    let could_be = |new: &Stat, old: u64| {
        new.n_bytes <= old.saturating_mul(MOST_GROWTH)
            && old <= new.n_bytes.saturating_mul(MOST_GROWTH)
    };
    let old: Vec<(&RelPath, Sketch)> = vanished
        .iter()
        .filter(|old| new.iter().any(|new| could_be(&new.stat, old.n_bytes)))
        .take(MOST_COMPARED)
        .filter_map(|old| Some((&old.path, Sketch::of(&intake.sent.known.text_of(&old.path)?))))
        .collect();
    let parsing = intake.parsing.clone();
    let mut normalizer = Normalizer::with(&intake.settings, &intake.privacy, parsing, Lane::Bulk);
    let new: Vec<(&RelPath, Sketch)> = new
        .iter()
        .filter(|new| vanished.iter().any(|old| could_be(&new.stat, old.n_bytes)))
        .take(MOST_COMPARED)
        .filter_map(|new| Some((&new.path, sketch(intake, &mut normalizer, new)?)))
        .collect();
    // Sketches make a comparison cheap, so all pairs are compared.
    let mut alike = Vec::new();
    for (old_path, old) in &old {
        for (new_path, new) in new.iter().filter(|(_, new)| new.could_be(old)) {
            let similarity = new.similarity(old);
            if similarity >= SAME_DOCUMENT {
                alike.push((similarity, *new_path, *old_path));
            }
        }
    }
    alike.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| (a.1, a.2).cmp(&(b.1, b.2))));
    // Greedy: the most similar pair takes both of its paths.
    let mut taken: BTreeSet<&RelPath> = BTreeSet::new();
    let mut pairs = BTreeMap::new();
    for (_, new, old) in alike {
        if !pairs.contains_key(old) && taken.insert(new) {
            pairs.insert(old.clone(), new.clone());
        }
    }
    pairs
}

/// Returns the sketch of a file's text as the index would hold it.
fn sketch(intake: &Intake, normalizer: &mut Normalizer, found: &Found) -> Option<Sketch> {
    let bytes = read(intake, found)?;
    let hash = ContentHash::of(&bytes);
    let path = found.path.clone();
    let source = SourceDoc {
        path,
        bytes: bytes.into(),
        hash,
        mtime_ms: found.stat.mtime_ms,
        pass: Pass::Swift,
    };
    normalizer.run(source).ok().map(|normal| Sketch::of(&normal.text))
}

fn read(intake: &Intake, found: &Found) -> Option<Vec<u8>> {
    let limit = intake.settings.max_bytes_of(&found.path.extension());
    let root = intake.project_folder.open().ok()?;
    Some(read_regular(&root, found.path.as_str(), limit).ok()??.bytes)
}
