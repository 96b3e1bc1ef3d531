//! Crawl: walks a folder and lists the files to read below it.
//!
//! In: the rules, and a folder below the root. Out: the readable files in order of their paths, what was skipped and
//! why, and the folders that could not be read.
//! Invariants: the walk keeps its own stack, so depth costs heap memory, not the thread's stack; what disappears
//! meanwhile is left out; a folder or entry that exists but cannot be inspected is reported as unreadable, so that
//! nothing below it is taken for deleted; nothing outside the root is listed or inspected (`confine`); `on_folder` is
//! called before a folder is listed, so a watch that is set there misses nothing.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::Path;

use confine::{Error, Kind, Listing, Meta, Root};

use super::links::{ProjectFolder, follow, reason_of};
use super::read::Stat;
use super::rules::{Rules, SkipReason, Verdict};
use super::state::folders_above;
use super::survey::{Cause, Survey};
use model::terms::RelPath;

/// A file that the rules accept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Found {
    /// Its path.
    pub path: RelPath,
    /// The values that a crawl compares.
    pub stat: Stat,
}

/// The result of one walk.
#[derive(Debug, Default)]
pub(super) struct Crawl {
    /// In order of path.
    pub found: Vec<Found>,
    /// Those of them that are symlinks themselves.
    pub links: Vec<RelPath>,
    /// What is read and what is not, for people.
    pub survey: Survey,
    /// Folders and files that exist but cannot be inspected, and why; the root is the empty path.
    pub unreadable: BTreeMap<String, String>,
    /// Entries in the first folder, whether they are read or not.
    pub n_entries: u64,
    /// Device and inode of the first folder, if it could be listed.
    pub identity: Option<(u64, u64)>,
}

impl Crawl {
    /// Returns whether the path may exist although it was not found.
    pub(super) fn hides(&self, path: &str) -> bool {
        let is_unreadable = |part| self.unreadable.contains_key(part);
        is_unreadable(path) || folders_above(path).any(is_unreadable)
    }

    fn fail(&mut self, path: &str, error: &Error) {
        // What disappeared between listing and visiting is deleted; only the root may not be.
        if path.is_empty() || !error.is_missing() {
            self.unreadable.insert(path.to_string(), error.to_string());
            let cause = Cause { reason: SkipReason::Unreadable, by: error.to_string() };
            self.survey.skip(path, cause);
        }
    }
}

/// An item on the stack of the walk.
enum Visit {
    Folder { path: String, is_within_link: bool },
    File(Found),
}

/// Walks the folder `start` (empty for the root). The rules are not applied to `start` itself.
pub(super) fn crawl(
    project_folder: &ProjectFolder,
    rules: &Rules,
    start: &str,
    on_folder: &mut dyn FnMut(&Path),
) -> Crawl {
    crawl_into(Crawl::default(), project_folder, rules, start, on_folder)
}

/// Returns what is read and what is not, with more paths than a crawl names.
pub(super) fn survey(project_folder: &ProjectFolder, rules: &Rules, survey: Survey) -> Survey {
    let crawl = Crawl { survey, ..Crawl::default() };
    crawl_into(crawl, project_folder, rules, "", &mut |_| {}).survey
}

fn crawl_into(
    mut crawl: Crawl,
    project_folder: &ProjectFolder,
    rules: &Rules,
    start: &str,
    on_folder: &mut dyn FnMut(&Path),
) -> Crawl {
    let root = match project_folder.open() {
        Ok(root) => root,
        Err(error) => {
            crawl.fail(start, &error.into());
            return crawl;
        }
    };
    let mut walk = Walk { root: &root, rules, crawl };
    // `start` is reached through a link if its real path is another.
    let is_within_link = root.find(start).is_ok_and(|found| found.real != start);
    let mut stack = vec![Visit::Folder { path: start.to_string(), is_within_link }];
    let mut is_first = true;
    while let Some(visit) = stack.pop() {
        match visit {
            Visit::File(found) => {
                walk.crawl.survey.read(&found.path);
                walk.crawl.found.push(found);
            }
            Visit::Folder { path, is_within_link } => {
                on_folder(&project_folder.absolute(&path));
                let mut visits = walk.list(&path, is_within_link, is_first);
                is_first = false;
                // A folder sorts as its name with a slash, which gives the order of whole paths. Reversed, since the
                // stack is popped from its end.
                visits.sort_by(|a, b| b.0.cmp(&a.0));
                stack.extend(visits.into_iter().map(|(_, visit)| visit));
            }
        }
    }
    walk.crawl.survey.fold();
    walk.crawl
}

struct Walk<'a> {
    root: &'a Root,
    rules: &'a Rules,
    crawl: Crawl,
}

/// The kind of an entry, links followed.
struct FolderEntry {
    kind: Kind,
    is_link: bool,
    /// `None` for a file that was not inspected yet.
    meta: Option<Meta>,
}

impl Walk<'_> {
    /// Lists the entries of one folder that are to be visited, each with its sort key.
    fn list(&mut self, folder: &str, is_within_link: bool, is_first: bool) -> Vec<(String, Visit)> {
        let listing = match self.root.list(folder) {
            Ok(listing) => listing,
            // A link replaced the folder after its parent was listed.
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

    /// Applies the rules to one entry. Returns what to visit, with its sort key.
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
            self.skip(&shown, false, SkipReason::NotUtf8);
            return None;
        };
        let path = join(folder, text);
        let entry = match self.entry(&path, listing, name, kind, is_within_link) {
            Ok(entry) => entry?,
            Err(reason) => {
                self.skip(&path, false, reason);
                return None;
            }
        };
        let is_folder = entry.kind == Kind::Folder;
        let reason = match self.rules.step(&path, is_folder) {
            Verdict::Skip(reason) => reason,
            verdict => match self.admit(&path, verdict, listing, name, entry, is_within_link) {
                Ok(visit) => return visit,
                Err(reason) => reason,
            },
        };
        self.skip(&path, is_folder, reason);
        None
    }

    fn skip(&mut self, path: &str, is_folder: bool, reason: SkipReason) {
        let cause = self.rules.cause(path, is_folder, reason);
        let slash = if is_folder { "/" } else { "" };
        self.crawl.survey.skip(&format!("{path}{slash}"), cause);
    }

    /// Checks kind and size of a path whose name is accepted.
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
            // Something else is there since it was listed; that change has caused an event.
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

    /// Inspects an entry, following links; `None` if it disappeared or cannot be inspected.
    fn entry(
        &mut self,
        path: &str,
        listing: &Listing,
        name: &OsStr,
        kind: Option<Kind>,
        is_within_link: bool,
    ) -> Result<Option<FolderEntry>, SkipReason> {
        // The listing has the kind of most entries; some file systems leave it out.
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
            // Nothing outside the root is inspected, so it stays unknown whether the target is a file or a folder.
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
