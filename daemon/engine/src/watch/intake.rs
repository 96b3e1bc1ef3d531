//! Intake: checks one path and makes an item of what it finds.
//!
//! In: a path with a reason to check it. Out: an item for the belt, or why there is none. What follows from a finding
//! is a table in `path_state.rs`.
//! Invariants: an event or a crawl is only a reason to check; the file as it is when it is read decides. Checks of
//! one path take turns (`pending.rs`), and a generation is assigned in that turn after the file was read, so a higher
//! generation never carries older content. Nothing is removed while the root is missing or another folder than before.
//! Only regular files are read that the rules accept and that are within the size limit.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use confine::{Content, Error, Kind, Meta, Root};
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;

use super::WatchOptions;
use super::crawl::Found;
use super::links::{ProjectFolder, follow_all, reason_of};
use super::origin::{Claims, Origin};
use super::path_state::{Action, Finding, PathState};
use super::pending::Check;
use super::read::{Stat, read, read_regular};
use super::rules::{Rules, SkipReason, Verdict};
use super::sent::{KnownFile, KnownFiles, Sent};
use super::state::{FileEventKind, WatchState, lock};
use crate::belt::Budget;
use config::Live;
use config::settings::{Privacy, Watch};
use formats::Parsing;
use model::document::{Pass, SourceDoc};
use model::terms::{ContentHash, FileVersion, Generation, Lane};
use model::{DocFault, Item, Ticket};

/// Size from which a saved document is read swiftly first, bytes: to read as much deeply takes some .3 s of processor
/// time.
const LARGE: usize = 100_000;

/// The watcher's name in faults and `status`.
const STAGE: &str = "watch";

/// A file read this soon after its modification time may change again without changing that time, milliseconds. The
/// coarsest file system in use (FAT) counts in steps of two seconds.
const RACY_MS: u64 = 2_000;

/// Most attempts of one check when the rules change during it.
const MAX_TRIES: usize = 8;

/// The outcome of a check.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "one is alive at a time, and most are items")]
pub(super) enum Checked {
    /// An item for the belt.
    Item(Item<SourceDoc>),
    /// The content is what was sent last.
    Unchanged,
    /// Not a file to be read, nor one that was.
    Skipped(SkipReason),
    /// It is missing, but so is the root, so nothing is removed.
    Held,
}

/// What is at a path.
enum Seen {
    Gone(SkipReason),
    Trouble(DocFault, FileVersion),
    SameStat,
    Content(Content, KnownFile),
}

/// Checks paths.
pub(super) struct Intake {
    /// The project's folder.
    pub project_folder: ProjectFolder,
    /// Which files are read, and when.
    pub settings: Live<Watch>,
    /// Which files may be read in spite of their names.
    pub privacy: Privacy,
    /// The bytes that may be on the belt; callers wait for room before a check.
    pub budget: Arc<Budget>,
    /// Where documents are parsed.
    pub parsing: Parsing,
    rules: RwLock<Arc<Rules>>,
    pub(super) sent: Sent,
    pub(super) claims: Claims,
    generation: AtomicU64,
    root_identity: Mutex<Option<(u64, u64)>>,
    state: Arc<WatchState>,
    now_ms: fn() -> i64,
}

impl Intake {
    /// Starts with the files of the index; nothing was sent yet.
    pub(super) fn new(
        options: WatchOptions,
        known: Arc<dyn KnownFiles>,
        state: Arc<WatchState>,
    ) -> Self {
        let WatchOptions { root, settings, privacy, now_ms, budget, parsing } = options;
        let rules = Rules::new(&root, &settings).allowing(&privacy.allow_paths);
        Intake {
            project_folder: ProjectFolder { root },
            settings: Live::new(settings),
            privacy,
            budget,
            parsing,
            rules: RwLock::new(Arc::new(rules)),
            sent: Sent::new(known),
            claims: Claims::default(),
            generation: AtomicU64::new(1),
            root_identity: Mutex::new(None),
            state,
            now_ms,
        }
    }

    /// Returns the current rules.
    pub(super) fn rules(&self) -> Arc<Rules> {
        self.rules.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Installs new rules and returns them. A check that began under the old ones has ended or starts over, so a
    /// comparison after this call sees its outcome.
    pub(super) fn renew_rules(&self) -> Arc<Rules> {
        let rules = Rules::new(&self.project_folder.root, &self.settings);
        let rules = Arc::new(rules.allowing(&self.privacy.allow_paths));
        *self.rules.write().unwrap_or_else(PoisonError::into_inner) = rules.clone();
        rules
    }

    /// Checks a path and reads its file. One check of a path at a time: see [`Backlog`](super::backlog::Backlog).
    pub(super) fn check(&self, check: &Check) -> Checked {
        for _ in 0..MAX_TRIES {
            let rules = self.rules();
            let seen = self.examine(check, &rules);
            // Held until the return, so that new rules wait for what the old ones decided.
            let current = self.rules.read().unwrap_or_else(PoisonError::into_inner);
            if Arc::ptr_eq(&rules, &current) {
                return self.conclude(check, seen);
            }
        }
        // The rules change faster than a file can be read; leave it to the next crawl.
        self.state.want_crawl();
        self.conclude(check, self.examine(check, &self.rules()))
    }

    /// Returns whether a file's bytes differ from those that were sent or are known. Reads it.
    pub(super) fn differs_in_content(&self, found: &Found) -> bool {
        let limit = self.settings.max_bytes_of(&found.path.extension());
        let Ok(root) = self.project_folder.open() else { return false };
        let read = read_regular(&root, found.path.as_str(), limit);
        let Ok(Some(file)) = read else { return false };
        match self.sent.state_of(&found.path) {
            PathState::Present(before) => before.hash != ContentHash::of(&file.bytes),
            _ => false,
        }
    }

    /// Returns device and inode of the root when it was last found sound.
    pub(super) fn root_identity(&self) -> Option<(u64, u64)> {
        *lock(&self.root_identity)
    }

    /// Records that the root was found sound.
    pub(super) fn set_root_identity(&self, identity: Option<(u64, u64)>) {
        *lock(&self.root_identity) = identity;
    }

    fn examine(&self, check: &Check, rules: &Rules) -> Seen {
        let (path, unknown) = (check.path.as_str(), FileVersion::default());
        if let Verdict::Skip(reason) = rules.verdict(path, false) {
            return Seen::Gone(reason);
        }
        let root = match self.project_folder.open() {
            Ok(root) => root,
            Err(error) => return absent_or_trouble(path, &error.into(), unknown),
        };
        let found = match root.find(path) {
            Ok(found) => found,
            Err(error) if error.leads_out() => return Seen::Gone(led_out(&root, rules, path)),
            Err(error) => return absent_or_trouble(path, &error, unknown),
        };
        if found.real != path
            && let Err(reason) = follow_all(&root, rules, path)
        {
            return Seen::Gone(reason);
        }
        match found.meta.kind {
            Kind::File => self.examine_file(check, rules, &found),
            Kind::Folder => Seen::Gone(SkipReason::Missing),
            Kind::Link | Kind::Other => Seen::Gone(SkipReason::NotAFile),
        }
    }

    fn examine_file(&self, check: &Check, rules: &Rules, found: &confine::Found) -> Seen {
        let path = check.path.as_str();
        let stat = Stat::of(&found.meta);
        if stat.n_bytes > rules.max_bytes_of(path) {
            return Seen::Gone(SkipReason::TooLarge);
        }
        let version = version_of(&found.meta);
        if self.is_given_up(check, &version) {
            return Seen::SameStat;
        }
        if check.trusts_stat && !check.is_forced {
            let found = Found { path: check.path.clone(), stat };
            if !self.sent.differs(&found) {
                return Seen::SameStat;
            }
        }
        sys::fail::point("watch.read");
        let content = read(found, path, rules.max_bytes_of(path));
        sys::fail::point("watch.have");
        match content {
            Ok(Some(file)) if file.is_cut => Seen::Gone(SkipReason::TooLarge),
            Ok(Some(file)) => {
                let hash = ContentHash::of(&file.bytes);
                let Meta { mtime_ms, n_bytes, .. } = file.meta;
                Seen::Content(file, KnownFile { hash, mtime_ms, n_bytes })
            }
            Ok(None) => Seen::Gone(SkipReason::NotAFile),
            Err(error) => absent_or_trouble(path, &error, version),
        }
    }

    /// Does what the table in `path_state.rs` says about a finding.
    fn conclude(&self, check: &Check, seen: Seen) -> Checked {
        let state = self.sent.state_of(&check.path);
        let (next, action) = state.after(self.finding(check, &seen, state));
        // While the root is out of sight, a missing file proves nothing: its state stays.
        if action == Action::Hold {
            return Checked::Held;
        }
        let skipped = if let Seen::Gone(reason) = &seen { Some(*reason) } else { None };
        self.state.judged(&check.path, skipped);
        match (action, seen) {
            (Action::Skip, Seen::Gone(reason)) => Checked::Skipped(reason),
            (Action::SendRemoval, _) => {
                let ticket = self.ticket(check, FileVersion::default(), None);
                self.state.happened((self.now_ms)(), FileEventKind::Deleted, &check.path);
                self.sent.put(&check.path, next, false);
                Checked::Item(Item::Removed(ticket))
            }
            (Action::SendFault, Seen::Trouble(fault, version)) => {
                let ticket = self.ticket(check, version, None);
                self.sent.put(&check.path, next, false);
                Checked::Item(Item::Faulted(ticket, fault))
            }
            (Action::SendDocument, Seen::Content(file, now)) => {
                self.send_document(check, file.bytes, state, now)
            }
            (Action::Renew, Seen::Content(_, now)) => {
                let is_racy = self.is_racy(&now);
                // An entry is written only if it changes something: most checks of a crawl end here.
                if state != next || is_racy || self.sent.is_racy(&check.path) {
                    self.sent.put(&check.path, next, is_racy);
                }
                Checked::Unchanged
            }
            _ => Checked::Unchanged,
        }
    }

    /// Compares what is at the path with what the index will hold.
    fn finding(&self, check: &Check, seen: &Seen, state: PathState) -> Finding {
        match seen {
            Seen::Gone(SkipReason::Missing) if !self.may_remove() => Finding::OutOfSight,
            Seen::Gone(_) => Finding::Gone,
            Seen::Trouble(_, version) => {
                Finding::Unreadable(Stat { n_bytes: version.n_bytes, mtime_ms: version.mtime_ms })
            }
            Seen::SameStat => Finding::Untouched,
            Seen::Content(_, now) => match state {
                PathState::Present(before)
                    if before.hash == now.hash
                        && day_of(before.mtime_ms) == day_of(now.mtime_ms)
                        && !check.is_forced =>
                {
                    Finding::SameContent(*now)
                }
                _ if self.is_given_up(check, &version_with(now)) => Finding::Untouched,
                _ => Finding::NewContent(*now),
            },
        }
    }

    fn send_document(
        &self,
        check: &Check,
        bytes: Vec<u8>,
        state: PathState,
        now: KnownFile,
    ) -> Checked {
        self.adopt_root();
        let origin = self.origin(check, now.hash, state);
        let mut ticket = self.ticket(check, version_with(&now), origin);
        let kind = match state {
            // It is read again on request or because its day changed; the file itself did not.
            PathState::Present(before) if before.hash == now.hash => None,
            PathState::Present(_) => Some(FileEventKind::Modified),
            _ if ticket.moved_from.is_some() => Some(FileEventKind::Moved),
            _ => Some(FileEventKind::Created),
        };
        if let Some(kind) = kind {
            self.state.happened((self.now_ms)(), kind, &check.path);
        }
        ticket.weight = self.budget.take(check.lane, bytes.len());
        self.sent.put(&check.path, PathState::Present(now), self.is_racy(&now));
        // A large document that was saved shows its new text at once; the deep pass reads it again later.
        let is_for_later = kind.is_some() && check.lane == Lane::Interactive && bytes.len() > LARGE;
        let pass = match is_for_later {
            true => Pass::Swift,
            false => self.sent.known.pass_of(ticket.moved_from.as_ref().unwrap_or(&check.path)),
        };
        let KnownFile { hash, mtime_ms, .. } = now;
        let (path, bytes) = (check.path.clone(), bytes.into());
        let doc = SourceDoc { path, bytes, hash, mtime_ms, pass };
        Checked::Item(Item::Document(ticket, doc))
    }

    /// Returns whether the file may change again without changing its time.
    fn is_racy(&self, file: &KnownFile) -> bool {
        (self.now_ms)().abs_diff(file.mtime_ms) < RACY_MS
    }

    /// Returns whether a crawl skips a file that failed repeatedly and has not changed since.
    fn is_given_up(&self, check: &Check, version: &FileVersion) -> bool {
        check.trusts_stat && !check.is_forced && self.sent.known.is_given_up(&check.path, version)
    }

    fn ticket(&self, check: &Check, version: FileVersion, origin: Option<Origin>) -> Ticket {
        let is_exchange = origin.as_ref().is_some_and(|origin| origin.is_exchange);
        Ticket {
            path: check.path.clone(),
            generation: Generation(self.generation.fetch_add(1, Ordering::SeqCst)),
            lane: check.lane,
            moved_from: origin.map(|origin| origin.from),
            is_exchange,
            is_forced: check.is_forced,
            version,
            n_behind: 0,
            weight: Default::default(),
        }
    }

    fn may_remove(&self) -> bool {
        let now = self.project_folder.identity();
        now.is_some() && now == self.root_identity()
    }

    /// Records the root's identity once a file of it was read, if it was empty at the start.
    fn adopt_root(&self) {
        let mut root_identity = lock(&self.root_identity);
        if root_identity.is_none() {
            *root_identity = self.project_folder.identity();
        }
    }
}

/// Returns the day of a modification time on this machine. A document without a stated date is dated by it, so on
/// another day it is another document, even with the same bytes.
fn day_of(mtime_ms: i64) -> Option<Date> {
    let time = Timestamp::from_millisecond(mtime_ms).ok()?;
    Some(time.to_zoned(TimeZone::system()).date())
}

fn absent_or_trouble(path: &str, error: &Error, version: FileVersion) -> Seen {
    match error {
        Error::Dangling | Error::Endless => Seen::Gone(reason_of(error)),
        error if error.is_missing() => Seen::Gone(SkipReason::Missing),
        error => Seen::Trouble(fault_of(path, error), version),
    }
}

/// Returns why a path that leads out of the root is not read. Only the link itself is reported: what it points to is
/// outside the project and stays unnamed.
fn led_out(root: &Root, rules: &Rules, path: &str) -> SkipReason {
    match root.look(path) {
        Ok(_) => follow_all(root, rules, path).err().unwrap_or(SkipReason::OutsideLink),
        Err(_) => SkipReason::Outside,
    }
}

/// The version of a file whose content is not known yet.
fn version_of(meta: &Meta) -> FileVersion {
    let Stat { n_bytes, mtime_ms } = Stat::of(meta);
    FileVersion { hash: None, mode: meta.mode, mtime_ms, n_bytes }
}

/// The version of a file whose content is known.
fn version_with(file: &KnownFile) -> FileVersion {
    let KnownFile { hash, mtime_ms, n_bytes } = *file;
    FileVersion { hash: Some(hash), mode: 0, mtime_ms, n_bytes }
}

fn fault_of(path: &str, error: &Error) -> DocFault {
    let hint = match error {
        Error::Io(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            "; hint: let the daemon's user read the file and search its folder"
        }
        _ => "; it is tried again later",
    };
    DocFault::transient(STAGE, format!("`{path}` cannot be read: {error}{hint}"))
}
