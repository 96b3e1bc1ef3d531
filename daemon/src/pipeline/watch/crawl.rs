//! Crawl: walks a folder and lists what is to be read below it.
//!
//! In: the rules, and a folder below the root. Out: the readable files in order of their paths, what was
//! skipped and why, and the folders that could not be read.
//! Invariants: the walk keeps its own stack, so depth costs memory and not the thread's; what vanishes
//! meanwhile is left out; a folder or entry that exists but cannot be looked at is reported as unreadable, so
//! that nobody takes what lies below it for deleted; `on_folder` is called before a folder is listed, so a
//! listener that is set up there misses nothing.
//! Not here: what is known already (`intake.rs`), or reading a file (`read.rs`).

use std::collections::BTreeMap;
use std::fs::{self, DirEntry, FileType};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::links::Ground;
use super::read::{Stat, is_endless, is_missing};
use super::rules::{Rules, SkipReason, Verdict, parent};
use crate::terms::RelPath;

/// Most skipped paths listed by name; `status` shows them to a person.
pub(super) const MAX_LISTED: usize = 1_000;

/// A file that the rules let through.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Found {
    /// Where.
    pub path: RelPath,
    /// What a crawl compares.
    pub stat: Stat,
}

/// The outcome of one walk.
#[derive(Debug, Default)]
pub(super) struct Crawl {
    /// In order of path.
    pub found: Vec<Found>,
    /// How many paths were skipped for each reason; what lies in a skipped folder is not counted.
    pub skipped: BTreeMap<SkipReason, u64>,
    /// Skipped paths that a person may miss, at most [`MAX_LISTED`].
    pub notable: BTreeMap<RelPath, SkipReason>,
    /// Folders and files that exist but cannot be looked at, and why; the root is the empty path.
    pub unreadable: BTreeMap<String, String>,
    /// Entries in the first folder, read or not.
    pub n_entries: u64,
    /// Device and inode of the first folder, when it could be listed.
    pub identity: Option<(u64, u64)>,
}

impl Crawl {
    /// True when the path may exist although it was not found.
    pub(super) fn hides(&self, path: &str) -> bool {
        if self.unreadable.is_empty() {
            return false;
        }
        let mut part = path;
        loop {
            if self.unreadable.contains_key(part) {
                return true;
            }
            if part.is_empty() {
                return false;
            }
            part = parent(part);
        }
    }

    fn skip(&mut self, path: &str, reason: SkipReason) {
        *self.skipped.entry(reason).or_default() += 1;
        if reason.is_notable() && self.notable.len() < MAX_LISTED {
            self.notable.insert(RelPath::new(path), reason);
        }
    }
}

/// Something still to be visited.
enum Visit {
    Folder { path: String, is_within_link: bool },
    File(Found),
}

/// Walks the folder `start` (empty for the root). `start` itself is not judged by the rules.
pub(super) fn crawl(
    ground: &Ground,
    rules: &Rules,
    start: &str,
    on_folder: &mut dyn FnMut(&Path),
) -> Crawl {
    let mut walk = Walk { ground, rules, crawl: Crawl::default() };
    let mut stack =
        vec![Visit::Folder { path: start.to_string(), is_within_link: walk.is_within_link(start) }];
    let mut is_first = true;
    while let Some(visit) = stack.pop() {
        match visit {
            Visit::File(found) => walk.crawl.found.push(found),
            Visit::Folder { path, is_within_link } => {
                on_folder(&ground.absolute(&path));
                let mut visits = walk.list(&path, is_within_link, is_first);
                is_first = false;
                // A folder sorts as its name with a slash, which gives the order of whole paths.
                visits.sort_by(|a, b| b.0.cmp(&a.0));
                stack.extend(visits.into_iter().map(|(_, visit)| visit));
            }
        }
    }
    walk.crawl
}

struct Walk<'a> {
    ground: &'a Ground,
    rules: &'a Rules,
    crawl: Crawl,
}

impl Walk<'_> {
    fn is_within_link(&self, start: &str) -> bool {
        let real = self.ground.absolute(start).canonicalize();
        let root = self.ground.root.canonicalize();
        matches!((real, root), (Ok(real), Ok(root)) if real != root.join(start))
    }

    /// The entries of one folder that are to be visited, each with its key of order.
    fn list(&mut self, folder: &str, is_within_link: bool, is_first: bool) -> Vec<(String, Visit)> {
        let absolute = self.ground.absolute(folder);
        let entries = match fs::read_dir(&absolute) {
            Ok(entries) => entries,
            Err(error) => {
                self.fail(folder, &error);
                return Vec::new();
            }
        };
        if is_first {
            self.crawl.identity = identity(&absolute);
        }
        let mut visits = Vec::new();
        for entry in entries {
            self.crawl.n_entries += u64::from(is_first);
            let visit = entry.and_then(|entry| self.visit(folder, &entry, is_within_link));
            match visit {
                Ok(Some(visit)) => visits.push(visit),
                Ok(None) => {}
                Err(error) => self.fail(folder, &error),
            }
        }
        visits
    }

    /// Judges one entry. An error says that the folder cannot be trusted to be complete.
    fn visit(
        &mut self,
        folder: &str,
        entry: &DirEntry,
        is_within_link: bool,
    ) -> io::Result<Option<(String, Visit)>> {
        let name = entry.file_name();
        let Some(name) = name.to_str() else {
            let shown = join(folder, &name.to_string_lossy());
            self.crawl.skip(&shown, SkipReason::NotUtf8);
            return Ok(None);
        };
        let path = join(folder, name);
        let Some(kind) = self.kind(&path, entry)? else { return Ok(None) };
        let reason = match self.rules.step(&path, kind.is_dir) {
            Verdict::Skip(reason) => reason,
            verdict => match self.admit(&path, verdict, &kind, is_within_link) {
                Ok(visit) => return Ok(visit),
                Err(reason) => reason,
            },
        };
        self.crawl.skip(&path, reason);
        Ok(None)
    }

    /// Lets a path through whose name is right: its links, kind and size must be right, too.
    fn admit(
        &mut self,
        path: &str,
        verdict: Verdict,
        kind: &Kind,
        is_within_link: bool,
    ) -> Result<Option<(String, Visit)>, SkipReason> {
        if kind.is_link {
            self.ground.follow(self.rules, path, is_within_link)?;
        }
        if verdict == Verdict::Descend {
            let is_within_link = is_within_link || kind.is_link;
            let visit = Visit::Folder { path: path.to_string(), is_within_link };
            return Ok(Some((format!("{path}/"), visit)));
        }
        if !kind.is_file {
            return Err(SkipReason::NotAFile);
        }
        let metadata = match fs::metadata(self.ground.absolute(path)) {
            Ok(metadata) => metadata,
            Err(error) if is_missing(&error) => return Ok(None),
            Err(error) => {
                self.fail(path, &error);
                return Ok(None);
            }
        };
        if metadata.len() > self.rules.max_bytes_of(path) {
            return Err(SkipReason::TooLarge);
        }
        let found = Found { path: RelPath::new(path), stat: Stat::of(&metadata) };
        Ok(Some((path.to_string(), Visit::File(found))))
    }

    /// What an entry is, links followed; `None` when it vanished or its target cannot be looked at. A
    /// dangling link counts as a file: its name may still be one that is not read.
    fn kind(&mut self, path: &str, entry: &DirEntry) -> io::Result<Option<Kind>> {
        let own = match entry.file_type() {
            Ok(own) => own,
            Err(error) if is_missing(&error) => return Ok(None),
            Err(error) => return Err(error),
        };
        if !own.is_symlink() {
            return Ok(Some(Kind::of(own, false)));
        }
        match fs::metadata(entry.path()) {
            Ok(metadata) => Ok(Some(Kind::of(metadata.file_type(), true))),
            Err(error) if is_missing(&error) || is_endless(&error) => {
                Ok(Some(Kind { is_dir: false, is_file: false, is_link: true }))
            }
            Err(error) => {
                if self.rules.step(path, false) == Verdict::Read
                    || self.rules.step(path, true) == Verdict::Descend
                {
                    self.fail(path, &error);
                }
                Ok(None)
            }
        }
    }

    fn fail(&mut self, path: &str, error: &io::Error) {
        // What vanished between listing and visiting is simply gone; only the root may not be.
        if path.is_empty() || !is_missing(error) {
            self.crawl.unreadable.insert(path.to_string(), error.to_string());
        }
    }
}

struct Kind {
    is_dir: bool,
    is_file: bool,
    is_link: bool,
}

impl Kind {
    fn of(file_type: FileType, is_link: bool) -> Self {
        Kind { is_dir: file_type.is_dir(), is_file: file_type.is_file(), is_link }
    }
}

/// Device and inode of what lies at a path.
pub(super) fn identity(path: &Path) -> Option<(u64, u64)> {
    let metadata = fs::metadata(path).ok()?;
    metadata.is_dir().then(|| (metadata.dev(), metadata.ino()))
}

fn join(folder: &str, name: &str) -> String {
    if folder.is_empty() { name.to_string() } else { format!("{folder}/{name}") }
}
