//! Crawl: walks a folder and lists what is to be read below it.
//!
//! In: the rules, and a folder below the root. Out: the readable files in order of their paths, what was
//! skipped and why, and the folders that could not be read.
//! Invariants: the walk keeps its own stack, so depth costs memory and not the thread's; what vanishes
//! meanwhile is left out; a folder or entry that exists but cannot be looked at is reported as unreadable, so
//! that nobody takes what lies below it for deleted; nothing outside the root is listed or looked at
//! (`confine`); `on_folder` is called before a folder is listed, so a listener that is set up there misses nothing.
//! Not here: what is known already (`intake.rs`), or reading a file (`read.rs`).

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::Path;

use confine::{Error, Kind, Listing, Meta, Root};

use super::links::{Ground, follow, reason_of};
use super::read::Stat;
use super::rules::{Rules, SkipReason, Verdict, parent};
use model::terms::RelPath;

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
    /// Those of them that are symlinks themselves.
    pub links: Vec<RelPath>,
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

    fn fail(&mut self, path: &str, error: &Error) {
        // What vanished between listing and visiting is simply gone; only the root may not be.
        if path.is_empty() || !error.is_missing() {
            self.unreadable.insert(path.to_string(), error.to_string());
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
    let mut crawl = Crawl::default();
    let root = match ground.open() {
        Ok(root) => root,
        Err(error) => {
            crawl.fail(start, &error.into());
            return crawl;
        }
    };
    let mut walk = Walk { root: &root, rules, crawl };
    let is_within_link = root.find(start).is_ok_and(|found| found.real != start);
    let mut stack = vec![Visit::Folder { path: start.to_string(), is_within_link }];
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
    root: &'a Root,
    rules: &'a Rules,
    crawl: Crawl,
}

/// What an entry is, with links followed.
struct FolderEntry {
    kind: Kind,
    is_link: bool,
    /// None of a file that has not been looked at yet.
    meta: Option<Meta>,
}

impl Walk<'_> {
    /// The entries of one folder that are to be visited, each with its key of order.
    fn list(&mut self, folder: &str, is_within_link: bool, is_first: bool) -> Vec<(String, Visit)> {
        let listing = match self.root.list(folder) {
            Ok(listing) => listing,
            // Between listing the folder around it and now a link was put there.
            Err(error) if error.is_absent() && !folder.is_empty() => return Vec::new(),
            Err(error) => {
                self.crawl.fail(folder, &error);
                return Vec::new();
            }
        };
        if is_first {
            self.crawl.identity = Some(listing.meta.id);
            self.crawl.n_entries = listing.entries.len() as u64;
        }
        let mut visits = Vec::new();
        for (name, kind) in &listing.entries {
            visits.extend(self.visit(folder, &listing, name, *kind, is_within_link));
        }
        visits
    }

    /// Judges one entry.
    fn visit(
        &mut self,
        folder: &str,
        listing: &Listing,
        name: &OsStr,
        kind: Option<Kind>,
        is_within_link: bool,
    ) -> Option<(String, Visit)> {
        let Some(text) = name.to_str() else {
            let shown = join(folder, &name.to_string_lossy());
            self.crawl.skip(&shown, SkipReason::NotUtf8);
            return None;
        };
        let path = join(folder, text);
        let entry = match self.entry(&path, listing, name, kind, is_within_link) {
            Ok(entry) => entry?,
            Err(reason) => {
                self.crawl.skip(&path, reason);
                return None;
            }
        };
        let reason = match self.rules.step(&path, entry.kind == Kind::Folder) {
            Verdict::Skip(reason) => reason,
            verdict => match self.admit(&path, verdict, listing, name, entry, is_within_link) {
                Ok(visit) => return visit,
                Err(reason) => reason,
            },
        };
        self.crawl.skip(&path, reason);
        None
    }

    /// Lets a path through whose name is right: its kind and size must be right, too.
    fn admit(
        &mut self,
        path: &str,
        verdict: Verdict,
        listing: &Listing,
        name: &OsStr,
        entry: FolderEntry,
        is_within_link: bool,
    ) -> Result<Option<(String, Visit)>, SkipReason> {
        if verdict == Verdict::Descend {
            let is_within_link = is_within_link || entry.is_link;
            let visit = Visit::Folder { path: path.to_string(), is_within_link };
            return Ok(Some((format!("{path}/"), visit)));
        }
        if entry.kind != Kind::File {
            return Err(SkipReason::NotAFile);
        }
        let meta = match entry.meta.map_or_else(|| listing.meta_of(name), Ok) {
            // Something else is there since it was listed: whoever put it there caused an event.
            Ok(meta) if !meta.is_file() => return Ok(None),
            Ok(meta) => meta,
            Err(error) => {
                self.crawl.fail(path, &error);
                return Ok(None);
            }
        };
        if meta.n_bytes > self.rules.max_bytes_of(path) {
            return Err(SkipReason::TooLarge);
        }
        let found = Found { path: RelPath::new(path), stat: Stat::of(&meta) };
        if entry.is_link {
            self.crawl.links.push(found.path.clone());
        }
        Ok(Some((path.to_string(), Visit::File(found))))
    }

    /// What an entry is, links followed; `None` when it vanished or cannot be looked at.
    fn entry(
        &mut self,
        path: &str,
        listing: &Listing,
        name: &OsStr,
        kind: Option<Kind>,
        is_within_link: bool,
    ) -> Result<Option<FolderEntry>, SkipReason> {
        let kind = match kind.map_or_else(|| listing.meta_of(name).map(|meta| meta.kind), Ok) {
            Ok(kind) => kind,
            Err(error) => {
                self.crawl.fail(path, &error);
                return Ok(None);
            }
        };
        if kind != Kind::Link {
            return Ok(Some(FolderEntry { kind, is_link: false, meta: None }));
        }
        let by_name = |is_folder| self.rules.step(path, is_folder);
        let would_be_read = by_name(false) == Verdict::Read || by_name(true) == Verdict::Descend;
        match self.root.find(path) {
            Ok(found) => {
                if !matches!(by_name(found.meta.is_folder()), Verdict::Skip(_)) {
                    follow(self.rules, &found, is_within_link)?;
                }
                let meta = Some(found.meta);
                Ok(Some(FolderEntry { kind: found.meta.kind, is_link: true, meta }))
            }
            // Whether it leads to a file or a folder is not looked at outside.
            Err(error) if error.leads_out() && would_be_read => Err(reason_of(&error)),
            Err(error) if error.is_absent() || matches!(error, Error::Endless) => {
                Err(match by_name(false) {
                    Verdict::Skip(reason) => reason,
                    _ => reason_of(&error),
                })
            }
            Err(error) => {
                if would_be_read {
                    self.crawl.fail(path, &error);
                }
                Ok(None)
            }
        }
    }
}

fn join(folder: &str, name: &str) -> String {
    if folder.is_empty() { name.to_string() } else { format!("{folder}/{name}") }
}
