//! Events: the system's reports, as paths of the project.
//!
//! In: events of `notify`. Out: [`RawEvent`]s, each pending from here on (`digest.rs`).
//! Each folder that is read has a watch of its own, set before the folder is listed; so a folder that appears with
//! files in it loses none, and folders that are not read (`target`, `node_modules`) cost no watch and cause no
//! events.
//! Invariants: nothing is dropped silently: when too many paths are not quiet or the kernel's queue overflows, a crawl
//! is requested instead. Setting a watch again is harmless, so every crawl sets them all.
//! Rejected: the recursive mode of `notify`, which walks ignored folders and links, and misses what appears in a new
//! folder before its watch.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Mutex, Weak};

use notify::event::{AccessKind, AccessMode, Event, EventKind, ModifyKind, RenameMode};
use notify::{Config, ErrorKind, RecommendedWatcher, RecursiveMode, Watcher as _};
use rustc_hash::FxHashSet;

use super::Shared;
use super::state::lock;
use model::terms::RelPath;

/// Paths that may wait to be quiet before further events are dropped for a crawl; about 20 MB. If there are more,
/// somebody is unpacking an archive faster than any tool saves.
pub(super) const MOST_SETTLING: usize = 1 << 16;

/// An event at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum RawEvent {
    /// It appeared or its content changed.
    Changed(RelPath),
    /// It is a file, and its content changed.
    Written(RelPath),
    /// Its owner, permissions or times changed.
    Touched(RelPath),
    /// It was deleted, or moved out of the root.
    Gone(RelPath),
    /// It was moved away; the number joins it with its other half.
    MovedFrom(RelPath, Option<usize>),
    /// It was moved here.
    MovedTo(RelPath, Option<usize>),
    /// Both halves of one rename, which may have been reported one by one before.
    Moved(RelPath, RelPath, Option<usize>),
    /// The root itself.
    Root,
}

impl Shared {
    /// Handles one report of `notify`. Runs on its thread and waits for nobody.
    pub(super) fn on_event(&self, report: notify::Result<Event>) {
        let event = match report {
            Ok(event) => event,
            Err(error) => {
                self.state.want_crawl();
                return self.state.report(format!("events: {error}"));
            }
        };
        if event.need_rescan() {
            self.state.count_overflow();
            self.state.want_crawl();
            return;
        }
        for raw in translate(&self.intake.project_folder.root, &event) {
            self.pass_on(raw);
        }
    }

    fn pass_on(&self, raw: RawEvent) {
        sys::courtesy::attend();
        if self.state.backlog.with(|pending| pending.n_settling()) < self.most_settling {
            self.is_overflowing.store(false, Ordering::Release);
            return self.digest(raw);
        }
        // One overflow is counted, and logged, per flood.
        if !self.is_overflowing.swap(true, Ordering::AcqRel) {
            self.state.count_overflow();
        }
        self.state.want_crawl();
    }
}

/// Returns the paths of the project that an event is about; none for a mere read of a file.
pub(super) fn translate(root: &Path, event: &Event) -> Vec<RawEvent> {
    let make: fn(RelPath, Option<usize>) -> RawEvent = match event.kind {
        EventKind::Access(AccessKind::Close(AccessMode::Write))
        | EventKind::Modify(ModifyKind::Data(_)) => |path, _| RawEvent::Written(path),
        EventKind::Access(_) => return Vec::new(),
        EventKind::Remove(_) => |path, _| RawEvent::Gone(path),
        EventKind::Modify(ModifyKind::Metadata(_)) => |path, _| RawEvent::Touched(path),
        EventKind::Modify(ModifyKind::Name(RenameMode::From)) => RawEvent::MovedFrom,
        EventKind::Modify(ModifyKind::Name(RenameMode::To)) => RawEvent::MovedTo,
        EventKind::Modify(ModifyKind::Name(RenameMode::Both)) => {
            return translate_both(root, event);
        }
        _ => |path, _| RawEvent::Changed(path),
    };
    let tracker = event.attrs.tracker();
    let paths = event.paths.iter().filter_map(|path| relative(root, path));
    paths
        .map(|path| if path.as_str().is_empty() { RawEvent::Root } else { make(path, tracker) })
        .collect()
}

fn translate_both(root: &Path, event: &Event) -> Vec<RawEvent> {
    let mut halves = event.paths.iter().map(|path| relative(root, path));
    // Half of a rename outside the root makes it a deletion or a new file.
    match (halves.next().flatten(), halves.next().flatten()) {
        (Some(from), Some(to)) => vec![RawEvent::Moved(from, to, event.attrs.tracker())],
        (Some(from), None) => vec![RawEvent::Gone(from)],
        (None, Some(to)) => vec![RawEvent::Changed(to)],
        (None, None) => Vec::new(),
    }
}

/// Returns the path below the root. Names that are not UTF-8 are counted by the crawl, and cannot be documents.
fn relative(root: &Path, path: &Path) -> Option<RelPath> {
    path.strip_prefix(root).ok()?.to_str().map(RelPath::new)
}

/// Holds the watches.
pub(super) struct Listener {
    watcher: Mutex<RecommendedWatcher>,
    /// Paths with a watch, as of the last walk of everything.
    watched: Mutex<FxHashSet<PathBuf>>,
}

impl Listener {
    /// Opens the system's event queue. The error is a message for a person.
    pub(super) fn start(shared: Weak<Shared>) -> Result<Self, String> {
        if sys::fail::number("watch.instances") == Some(0) {
            let none_left = io::Error::from_raw_os_error(rustix::io::Errno::MFILE.raw_os_error());
            return Err(why(&notify::Error::io(none_left)));
        }
        let config = Config::default().with_follow_symlinks(false);
        let on_event = move |report| {
            if let Some(shared) = shared.upgrade() {
                shared.on_event(report);
            }
        };
        let watcher = RecommendedWatcher::new(on_event, config);
        let watcher = watcher.map_err(|error| why(&error))?;
        Ok(Listener { watcher: Mutex::new(watcher), watched: Mutex::default() })
    }

    /// Watches one folder, or one symlinked file. A path that is deleted or unreadable is not an error here: the walk
    /// that sets the watch finds out by itself.
    pub(super) fn watch(&self, path: &Path) -> Result<(), String> {
        let is_new = !lock(&self.watched).contains(path);
        let limit = sys::fail::number("watch.limit");
        if is_new && limit.is_some_and(|limit| self.n_watched() as u64 >= limit) {
            return Err(why(&notify::Error::new(ErrorKind::MaxFilesWatch)));
        }
        match lock(&self.watcher).watch(path, RecursiveMode::NonRecursive) {
            Err(error) if !is_absent(&error) => return Err(why(&error)),
            Err(_) => {}
            Ok(()) if is_new => {
                lock(&self.watched).insert(path.to_path_buf());
            }
            Ok(()) => {}
        }
        Ok(())
    }

    /// Returns the number of paths with a watch.
    pub(super) fn n_watched(&self) -> usize {
        lock(&self.watched).len()
    }

    /// Forgets the paths that were deleted: the system has dropped their watches.
    pub(super) fn forget_gone(&self) {
        lock(&self.watched).retain(|path| path.symlink_metadata().is_ok());
    }
}

fn is_absent(error: &notify::Error) -> bool {
    match &error.kind {
        ErrorKind::PathNotFound => true,
        ErrorKind::Io(error) => matches!(
            error.kind(),
            io::ErrorKind::NotFound
                | io::ErrorKind::NotADirectory
                | io::ErrorKind::PermissionDenied
                | io::ErrorKind::InvalidFilename
        ),
        _ => false,
    }
}

fn why(error: &notify::Error) -> String {
    match &error.kind {
        ErrorKind::MaxFilesWatch => format!(
            "too many folders to watch{}; hint: raise `fs.inotify.max_user_watches`",
            limit_shown("max_user_watches")
        ),
        ErrorKind::Io(error) if error.raw_os_error() == Some(TOO_MANY_FILES) => format!(
            "too many programs watch files{}; hint: raise `fs.inotify.max_user_instances`",
            limit_shown("max_user_instances")
        ),
        _ => format!("no events: {error}"),
    }
}

/// The system's error when the number of event queues is reached.
const TOO_MANY_FILES: i32 = rustix::io::Errno::MFILE.raw_os_error();

fn limit_shown(name: &str) -> String {
    let limit = std::fs::read_to_string(format!("/proc/sys/fs/inotify/{name}"));
    limit.map(|limit| format!(" (the system allows {})", limit.trim())).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;
    use notify::event::{CreateKind, DataChange, Flag, MetadataKind, RemoveKind};
    use std::time::{Duration, Instant};

    fn event(kind: EventKind, paths: &[&str]) -> Event {
        let event = Event::new(kind).set_tracker(7);
        paths.iter().fold(event, |event, path| event.add_path(path.into()))
    }

    #[test]
    fn events_become_paths_of_the_project() {
        let name = |mode| EventKind::Modify(ModifyKind::Name(mode));
        let events = [
            event(EventKind::Create(CreateKind::File), &["/p/a.md"]),
            event(EventKind::Modify(ModifyKind::Data(DataChange::Any)), &["/p/d/a.md"]),
            event(EventKind::Modify(ModifyKind::Metadata(MetadataKind::Any)), &["/p/a.md"]),
            event(EventKind::Access(AccessKind::Open(AccessMode::Any)), &["/p/a.md"]),
            event(EventKind::Access(AccessKind::Close(AccessMode::Write)), &["/p/a.md"]),
            event(EventKind::Remove(RemoveKind::File), &["/p/a.md"]),
            event(EventKind::Remove(RemoveKind::Folder), &["/p"]),
            event(name(RenameMode::From), &["/p/a.md"]),
            event(name(RenameMode::To), &["/p/b.md"]),
            event(name(RenameMode::Both), &["/p/a.md", "/p/b.md"]),
            event(name(RenameMode::Both), &["/p/a.md", "/elsewhere/b.md"]),
            event(EventKind::Any, &["/elsewhere/a.md"]),
        ];
        let out: Vec<String> = events
            .iter()
            .map(|event| {
                let raws = translate(Path::new("/p"), event);
                let raws: Vec<String> = raws.iter().map(|raw| format!("{raw:?}")).collect();
                raws.join(" ").replace("RelPath", "") + "\n"
            })
            .collect();
        expect![[r#"
            Changed(("a.md"))
            Written(("d/a.md"))
            Touched(("a.md"))

            Written(("a.md"))
            Gone(("a.md"))
            Root
            MovedFrom(("a.md"), Some(7))
            MovedTo(("b.md"), Some(7))
            Moved(("a.md"), ("b.md"), Some(7))
            Gone(("a.md"))

        "#]]
        .assert_eq(&out.concat());
    }

    #[test]
    fn an_overflow_of_either_queue_wants_a_crawl() {
        let shared = Shared::to_test(2);
        let state = &shared.state;
        let root = shared.intake.project_folder.root.clone();
        let change = |path: &str| Ok(event(EventKind::Create(CreateKind::File), &[path]));
        let change = |path: &str| change(&root.join(path).to_string_lossy());
        shared.on_event(change("a.md"));
        shared.on_event(change("b.md"));
        assert_eq!((state.n_pending(), state.is_crawling()), (2, false));
        shared.on_event(change("c.md"));
        shared.on_event(change("d.md"));
        assert_eq!((state.n_pending(), state.view().n_overflows), (3, 1));
        state.crawl_done(state.begin_wanted().expect("a crawl is wanted").number);
        drop(state.backlog.due(Instant::now(), Duration::from_secs(60)));
        assert!(state.is_settled());
        shared.on_event(Ok(Event::new(EventKind::Other).set_flag(Flag::Rescan)));
        assert_eq!((state.n_pending(), state.view().n_overflows), (1, 2));
        assert!(state.is_crawling());
    }
}
