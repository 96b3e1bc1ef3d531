//! The watcher as a whole, on real folders with real events. Nothing sleeps: tests wait for the expected items, and
//! write a last file, whose event is newer than all others, to show that nothing else came.

mod chaos;
mod hostile;
mod moves;
mod polling;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tempfile::TempDir;
use tokio::sync::mpsc;

use super::state::lock;
use super::*;
use model::Ticket;
use model::terms::ContentHash;

/// Longest wait for something that must come; reached only when a test fails.
const PATIENCE: Duration = Duration::from_secs(30);

/// Stands in for the store: holds what has been committed.
#[derive(Default)]
pub(super) struct Committed(
    Mutex<BTreeMap<RelPath, (KnownFile, Generation)>>,
    /// Texts, including those of deleted files.
    Mutex<BTreeMap<RelPath, String>>,
);

impl KnownFiles for Committed {
    fn get(&self, path: &RelPath) -> Option<KnownFile> {
        lock(&self.0).get(path).map(|(file, _)| *file)
    }
    fn paths_under(&self, folder: &str) -> Vec<RelPath> {
        let is_below =
            |path: &&RelPath| folder.is_empty() || path.as_str().starts_with(&format!("{folder}/"));
        lock(&self.0).keys().filter(is_below).cloned().collect()
    }
    fn paths_with(&self, hash: ContentHash) -> Vec<RelPath> {
        let known = lock(&self.0);
        known.iter().filter(|(_, (file, _))| file.hash == hash).map(|(p, _)| p.clone()).collect()
    }
    fn text_of(&self, path: &RelPath) -> Option<String> {
        lock(&self.1).get(path).cloned()
    }
}

impl Committed {
    /// Commits an item as the writer would.
    pub(super) fn commit(&self, item: &Item<SourceDoc>) {
        match item {
            Item::Document(ticket, doc) => {
                let n_bytes = doc.bytes.len() as u64;
                let file = KnownFile { hash: doc.hash, mtime_ms: doc.mtime_ms, n_bytes };
                lock(&self.0).insert(ticket.path.clone(), (file, ticket.generation));
                let text = String::from_utf8_lossy(&doc.bytes).into_owned();
                lock(&self.1).insert(ticket.path.clone(), text);
            }
            Item::Removed(ticket) => {
                lock(&self.0).remove(&ticket.path);
            }
            Item::Faulted(..) => {}
        }
    }

    /// Records a file as committed before the watcher started.
    pub(super) fn remember(&self, path: &str, text: &str) {
        let hash = ContentHash::of(text.as_bytes());
        let file = KnownFile { hash, mtime_ms: 1, n_bytes: text.len() as u64 };
        lock(&self.0).insert(RelPath::new(path), (file, Generation(0)));
    }
}

/// A folder with a watcher, and both ends of its belt.
pub(super) struct Project {
    pub folder: TempDir,
    pub known: Arc<Committed>,
    pub handle: WatcherHandle,
    pub interactive: mpsc::Receiver<Item<SourceDoc>>,
    pub bulk: mpsc::Receiver<Item<SourceDoc>>,
    /// True to commit each item as it is received.
    pub commits: bool,
}

pub(super) fn settings() -> Watch {
    Watch { debounce_ms: 20, reconcile_seconds: 0, ..Watch::default() }
}

fn now_ms() -> i64 {
    let since = std::time::SystemTime::UNIX_EPOCH.elapsed().expect("it is after 1970");
    i64::try_from(since.as_millis()).expect("not that late")
}

impl Shared {
    /// Returns the state of a watcher without tasks, in a folder that does not exist.
    pub(super) fn to_test(most_settling: usize) -> Self {
        let options = WatchOptions {
            privacy: Default::default(),
            root: PathBuf::from("/none"),
            settings: settings(),
            now_ms,
            budget: crate::belt::Budget::new(u64::MAX),
            parsing: Default::default(),
        };
        let shared = Shared::new(options, Arc::<Committed>::default(), None, Arc::default());
        Shared { most_settling, ..Arc::into_inner(shared).expect("one owner") }
    }
}

/// Writes files below `root`, and creates their folders.
pub(super) fn write_all(root: &Path, files: &[(&str, &str)]) {
    for (path, text) in files {
        let path = root.join(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
        fs::write(path, text).expect("file");
    }
}

/// Returns what is not read, one cause a line.
pub(super) async fn not_read(project: &Project) -> String {
    // Off this thread, on which the crawler runs.
    let state = project.handle.state().clone();
    let survey = spawn_blocking(move || state.survey()).await.expect("it ends").expect("a crawl");
    let line = |(cause, unread): (&Cause, &Unread)| {
        let by = if cause.by.is_empty() { String::new() } else { format!(": {}", cause.by) };
        let paths: Vec<_> = unread.paths.iter().map(String::as_str).collect();
        format!("{}{by}: {}: {}\n", cause.reason, unread.n, paths.join(", "))
    };
    survey.not_read.iter().map(line).collect()
}

impl Project {
    /// Watches a project in `<temp>/kb` with these files.
    pub(super) fn start(files: &[(&str, &str)]) -> Self {
        Project::start_with(files, settings(), Arc::default(), 1_000)
    }

    /// The same with a quiet time long enough for several steps in a row, even on a busy machine.
    pub(super) fn start_patient(files: &[(&str, &str)]) -> Self {
        let settings = Watch { debounce_ms: 400, ..settings() };
        Project::start_with(files, settings, Arc::default(), 1_000)
    }

    pub(super) fn start_with(
        files: &[(&str, &str)],
        settings: Watch,
        known: Arc<Committed>,
        capacity: usize,
    ) -> Self {
        let folder = tempfile::tempdir().expect("temp folder");
        fs::create_dir(folder.path().join("kb")).expect("root");
        write_all(&folder.path().join("kb"), files);
        Project::watch(folder, settings, known, capacity)
    }

    pub(super) fn watch(
        folder: TempDir,
        settings: Watch,
        known: Arc<Committed>,
        capacity: usize,
    ) -> Self {
        let (interactive_sender, interactive) = mpsc::channel(1_000);
        let (bulk_sender, bulk) = mpsc::channel(capacity);
        let options = WatchOptions {
            privacy: Default::default(),
            root: folder.path().join("kb"),
            settings,
            now_ms,
            budget: crate::belt::Budget::new(u64::MAX),
            parsing: Default::default(),
        };
        let belt = Lanes { interactive: interactive_sender, bulk: bulk_sender };
        let handle = Watcher::spawn(options, known.clone(), belt, Arc::default());
        Project { folder, known, handle, interactive, bulk, commits: true }
    }

    pub(super) fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join("kb").join(path)
    }

    /// Replaces a file by a rename, so that the watcher never sees a part of it.
    pub(super) fn put(&self, path: &str, text: &str) {
        let temporary = self.folder.path().join("put.tmp");
        fs::write(&temporary, text).expect("temporary file");
        fs::rename(temporary, self.path(path)).expect("rename");
    }

    pub(super) fn rename(&self, from: &str, to: &str) {
        fs::rename(self.path(from), self.path(to)).expect("rename");
    }

    /// Waits for the next item of either lane.
    pub(super) async fn next(&mut self) -> String {
        let next = async {
            tokio::select! {
                Some(item) = self.interactive.recv() => ("first", item),
                Some(item) = self.bulk.recv() => ("bulk", item),
                else => panic!("the watcher has stopped"),
            }
        };
        let (lane, item) = tokio::time::timeout(PATIENCE, next).await.expect("an item comes");
        if self.commits {
            self.known.commit(&item);
        }
        format!("{lane} {}", shown(&item))
    }

    /// Waits for the next `n` items.
    pub(super) async fn take(&mut self, n: usize) -> Vec<String> {
        let mut out = Vec::new();
        for _ in 0..n {
            out.push(self.next().await);
        }
        out
    }

    /// Returns the items caused before this call, in order of arrival: a last file ends them.
    pub(super) async fn drain(&mut self) -> Vec<String> {
        self.put("zz-last.md", "last");
        let mut out = Vec::new();
        loop {
            let line = self.next().await;
            if line.contains("zz-last.md") {
                break;
            }
            out.push(line);
        }
        self.settle(&mut out).await;
        fs::remove_file(self.path("zz-last.md")).expect("the last file goes");
        assert_eq!(self.next().await, "first gone zz-last.md");
        out
    }

    /// Receives items until nothing is pending.
    pub(super) async fn settle(&mut self, out: &mut Vec<String>) {
        let state = self.handle.state().clone();
        let settled = async {
            loop {
                let is_settled = state.is_settled();
                if self.interactive.is_empty() && self.bulk.is_empty() {
                    if is_settled {
                        break;
                    }
                    tokio::task::yield_now().await;
                } else {
                    out.push(self.next().await);
                }
            }
        };
        tokio::time::timeout(PATIENCE, settled).await.expect("it settles");
    }

    /// Waits for the first crawl, and returns everything it found.
    pub(super) async fn open(&mut self) -> Vec<String> {
        let mut out = Vec::new();
        self.settle(&mut out).await;
        out
    }
}

/// An item as one line.
fn shown(item: &Item<SourceDoc>) -> String {
    let marks = |ticket: &Ticket| {
        let word = if ticket.is_exchange { "for" } else { "from" };
        let from = ticket.moved_from.as_ref().map(|from| format!(" {word} {from}"));
        from.unwrap_or_default() + if ticket.is_forced { " forced" } else { "" }
    };
    match item {
        Item::Document(ticket, doc) => {
            let text: String = String::from_utf8_lossy(&doc.bytes).chars().take(20).collect();
            format!("doc {} `{text}`{}", ticket.path, marks(ticket))
        }
        Item::Removed(ticket) => format!("gone {}", ticket.path),
        Item::Faulted(ticket, fault) => {
            let duration = if fault.is_transient { "transient" } else { "lasting" };
            format!("fault {} {duration}: {}", ticket.path, fault.reason)
        }
    }
}

#[tokio::test]
async fn the_opening_crawl_is_bulk_in_order_of_path_and_only_what_changed() {
    let files = [
        ("b/c.md", "c"),
        ("a.md", "a"),
        ("b.md", "b"),
        ("b-c.md", "bc"),
        ("x.rs", "x"),
        (".h.md", "h"),
    ];
    let mut project = Project::start(&files);
    assert!(!project.handle.state().is_settled(), "the crawl is pending from the start");
    let first = project.open().await;
    assert_eq!(
        first,
        ["bulk doc a.md `a`", "bulk doc b-c.md `bc`", "bulk doc b.md `b`", "bulk doc b/c.md `c`"]
    );
    let view = project.handle.state().view();
    assert_eq!((view.mode, view.n_known_files, view.is_crawling), (WatchMode::Events, 4, false));
    assert_eq!(not_read(&project).await, "hidden: 1: .h.md\nextension: rs: 1: x.rs\n");

    project.handle.stop().await;
    project.put("a.md", "new");
    fs::remove_file(project.path("b.md")).expect("remove");
    let mut again = Project::watch(project.folder, settings(), project.known, 1_000);
    assert_eq!(again.open().await, ["bulk doc a.md `new`", "bulk gone b.md"]);
}

#[tokio::test]
async fn saves_and_deletions_ride_in_the_interactive_lane() {
    let mut project = Project::start_patient(&[("a.md", "one")]);
    project.open().await;
    project.put("new.md", "n");
    assert_eq!(project.next().await, "first doc new.md `n`");
    project.put("a.md", "two");
    assert_eq!(project.next().await, "first doc a.md `two`");
    fs::remove_file(project.path("a.md")).expect("remove");
    assert_eq!(project.next().await, "first gone a.md");
    assert_eq!(project.handle.state().n_known_files(), 1);
    // A file deleted at once, one rewritten with the same bytes, and one that is not indexed.
    project.put("brief.md", "b");
    fs::remove_file(project.path("brief.md")).expect("remove");
    project.put("new.md", "n");
    project.put("x.rs", "x");
    assert_eq!(project.drain().await, Vec::<String>::new());
}

#[tokio::test]
async fn what_goes_back_while_it_is_on_the_belt_is_sent_again() {
    let mut project = Project::start(&[("a.md", "one"), ("b.md", "b")]);
    project.open().await;
    project.commits = false;
    project.put("a.md", "two");
    assert_eq!(project.next().await, "first doc a.md `two`");
    project.put("a.md", "one");
    assert_eq!(project.next().await, "first doc a.md `one`");
    fs::remove_file(project.path("b.md")).expect("remove");
    assert_eq!(project.next().await, "first gone b.md");
    project.put("b.md", "b");
    assert_eq!(project.next().await, "first doc b.md `b`");
}

#[tokio::test]
async fn folders_that_appear_with_files_in_them_lose_none() {
    let mut project = Project::start(&[]);
    project.open().await;
    for n in 0..20 {
        write_all(
            &project.path(""),
            &[(&format!("{n}/a/b/c/deep.md"), "deep"), (&format!("{n}/top.md"), "top")],
        );
    }
    project.drain().await;
    assert_eq!(project.known.paths_under("").len(), 40);
    assert_eq!(project.handle.state().n_known_files(), 40);
    project.put("7/a/b/c/deep.md", "new");
    assert_eq!(project.next().await, "first doc 7/a/b/c/deep.md `new`");
}

#[tokio::test]
async fn a_changed_ignore_file_is_obeyed_at_once() {
    let mut project = Project::start(&[("a.md", "a"), ("drafts/d.md", "d"), ("drafts/e.md", "e")]);
    project.open().await;
    project.put(".gitignore", "drafts/\n");
    assert_eq!(project.take(2).await, ["bulk gone drafts/d.md", "bulk gone drafts/e.md"]);
    project.put("drafts/d.md", "unseen");
    project.put("drafts/.kgignore", "nothing\n");
    assert_eq!(project.drain().await, Vec::<String>::new());
    project.put(".kgignore", "!drafts/\ne.md\n");
    assert_eq!(project.next().await, "bulk doc drafts/d.md `unseen`");
    fs::remove_file(project.path(".kgignore")).expect("remove");
    assert_eq!(project.next().await, "bulk gone drafts/d.md");
    fs::remove_file(project.path(".gitignore")).expect("remove");
    let both = project.take(2).await;
    assert_eq!(both, ["bulk doc drafts/d.md `unseen`", "bulk doc drafts/e.md `e`"]);
}

#[tokio::test]
async fn submitted_files_do_not_wait_and_their_event_is_nothing() {
    let mut project = Project::start_patient(&[("a.md", "a"), ("big.md", "b")]);
    project.open().await;
    project.commits = false;
    project.put("a.md", "two");
    let paths = ["a.md", "big.md", "x.rs", "none.md", "../out.md"].map(RelPath::new).to_vec();
    let outcomes = project.handle.submit(paths, false).await;
    assert_eq!(
        outcomes,
        [
            Submitted::Sent(Generation(3)),
            Submitted::Unchanged,
            Submitted::Skipped(SkipReason::Extension),
            Submitted::Skipped(SkipReason::Missing),
            Submitted::Skipped(SkipReason::Outside),
        ]
    );
    assert_eq!(project.next().await, "first doc a.md `two`");
    assert_eq!(project.drain().await, Vec::<String>::new());
    let outcomes = project.handle.submit(vec![RelPath::new("big.md")], true).await;
    assert!(matches!(outcomes[..], [Submitted::Sent(_)]), "{outcomes:?}");
    assert_eq!(project.next().await, "first doc big.md `b` forced");
}

#[tokio::test]
async fn what_changed_below_a_folder_is_told_without_waiting_for_events() {
    let names =
        ["m/a.md", "m/b.markdown", "m/c.md", "m/.hidden.md", "m/out/d.md", "other.md", "far.md"];
    let folder = tempfile::tempdir().expect("temp folder");
    let root = folder.path().join("kb");
    write_all(&root, &names.map(|name| (name, "text")));
    write_all(&root, &[(".gitignore", "out/\n")]);
    // Old times, because a file with a recent one is racy: it may be written twice within a tick of the clock.
    // Noon keeps all of them on one day.
    let noon = std::time::UNIX_EPOCH + Duration::from_secs((20_000 * 24 + 12) * 3600);
    let dated = |path: &Path, minutes: u64| {
        let at = noon - Duration::from_secs(60 * minutes);
        fs::File::options()
            .write(true)
            .open(path)
            .and_then(|it| it.set_modified(at))
            .expect("dated");
    };
    names.iter().for_each(|name| dated(&root.join(name), 60));
    let patient = Watch { debounce_ms: 400, ..settings() };
    let mut project = Project::watch(folder, patient, Arc::default(), 1_000);
    project.open().await;
    let others = [RelPath::new("other.md")];
    let changed = |project: &Project, most| -> Vec<String> {
        let paths = project.handle.changed("m", &others, &others, most);
        paths.iter().map(ToString::to_string).collect()
    };
    assert_eq!(changed(&project, 10), [""; 0]);
    // Only its time differs: after one check it counts as unchanged.
    dated(&project.path("m/c.md"), 30);
    assert_eq!(changed(&project, 10), ["m/c.md"]);
    let outcomes = project.handle.submit(vec![RelPath::new("m/c.md")], false).await;
    assert!(matches!(outcomes[..], [Submitted::Unchanged]), "{outcomes:?}");
    assert_eq!(changed(&project, 10), [""; 0]);
    for name in ["m/a.md", "m/new/n.md", "m/out/d.md", "m/x.rs", "other.md", "far.md"] {
        write_all(&project.path(""), &[(name, "another")]);
    }
    fs::remove_file(project.path("m/b.markdown")).expect("removed");
    assert_eq!(changed(&project, 10), ["m/a.md", "m/b.markdown", "m/new/n.md", "other.md"]);
    project.handle.submit(vec![RelPath::new("m/b.markdown")], false).await;
    let is_known = changed(&project, 10).iter().any(|path| path == "m/b.markdown");
    assert!(is_known, "its removal is on its way and not committed");
    assert_eq!(changed(&project, 2), ["other.md"], "too many to look at all of them");
    assert_eq!(project.handle.changed("m/out", &[], &[], 10), []);
}

#[tokio::test]
async fn requeued_files_ride_in_the_bulk_lane_although_unchanged() {
    let mut project = Project::start(&[("a.md", "a"), ("b.md", "b")]);
    project.open().await;
    project.handle.requeue(["b.md", "a.md", "gone.md", "b.md"].map(RelPath::new));
    let mut both = project.take(2).await;
    both.sort();
    assert_eq!(both, ["bulk doc a.md `a` forced", "bulk doc b.md `b` forced"]);
    assert_eq!(project.drain().await, Vec::<String>::new());
}

#[tokio::test]
async fn a_full_bulk_lane_holds_up_nobody() {
    let files: Vec<(String, String)> =
        (0..100).map(|n| (format!("{n:03}.md"), n.to_string())).collect();
    let files: Vec<(&str, &str)> =
        files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let mut project = Project::start_with(&files, settings(), Arc::default(), 1);
    assert!(project.handle.rescan().await, "a crawl does not wait for the lane");
    assert_eq!(project.handle.state().n_known_files(), 100);
    project.put("050.md", "saved");
    let item = tokio::time::timeout(PATIENCE, project.interactive.recv()).await;
    let item = item.expect("it overtakes").expect("the lane is open");
    project.known.commit(&item);
    assert_eq!(shown(&item), "doc 050.md `saved`");
    let rest = project.open().await;
    assert_eq!(rest.len(), 99, "what was sent already is not sent again: {rest:?}");
}

#[tokio::test]
async fn of_a_burst_the_first_fifty_go_first() {
    let mut project = Project::start(&[]);
    project.open().await;
    let aside = project.folder.path().join("aside");
    for n in 0..300 {
        write_all(&aside, &[(&format!("{n:03}.md"), "x")]);
    }
    fs::rename(aside, project.path("many")).expect("move in");
    let all = project.take(300).await;
    let n_first = all.iter().filter(|line| line.starts_with("first")).count();
    assert_eq!((n_first, all.len() - n_first), (50, 250));
}

#[tokio::test]
async fn large_files_copied_in_do_not_delay_a_save() {
    let mut project = Project::start(&[("quiet/note.md", "before")]);
    project.open().await;
    let aside = project.folder.path().join("aside");
    fs::create_dir(&aside).expect("a folder");
    for n in 0..60 {
        let file = fs::File::create(aside.join(format!("{n:02}.md"))).expect("a file");
        file.set_len(800_000).expect("room");
    }
    fs::rename(aside, project.path("large")).expect("move in");
    let all = project.take(60).await;
    let n_first = all.iter().filter(|line| line.starts_with("first")).count();
    assert_eq!((n_first, all.len() - n_first), (2, 58));
    project.put("quiet/note.md", "saved");
    let saved = project.take(1).await;
    assert!(saved[0].starts_with("first") && saved[0].contains("quiet/note.md"), "{saved:?}");
}

#[tokio::test]
async fn what_tools_wrote_does_not_spend_what_a_save_needs() {
    let names: Vec<String> = (0..100).map(|n| format!("own/{n}/note.md")).collect();
    let mut files: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "old")).collect();
    files.push(("quiet/note.md", "before"));
    let mut project = Project::start_patient(&files);
    project.open().await;
    let aside = project.folder.path().join("aside");
    for n in 0..300 {
        write_all(&aside, &[(&format!("{n:03}.md"), "x")]);
    }
    fs::rename(aside, project.path("many")).expect("move in");
    let paths: Vec<RelPath> = names.iter().map(|name| RelPath::new(name.as_str())).collect();
    let hold = project.handle.hold(paths.clone());
    names.iter().for_each(|name| project.put(name, "written by a tool"));
    let outcomes = project.handle.submit(paths, false).await;
    drop(hold);
    assert!(outcomes.iter().all(|it| matches!(it, Submitted::Sent(_))), "{outcomes:?}");
    project.put("quiet/note.md", "saved");
    let all = project.take(100 + 300 + 1).await;
    assert!(all.contains(&"first doc quiet/note.md `saved`".to_string()), "{all:?}");
}

#[tokio::test]
async fn stopping_lets_go_of_the_belt() {
    let mut project = Project::start(&[("a.md", "a")]);
    project.open().await;
    project.handle.stop().await;
    assert!(project.interactive.recv().await.is_none() && project.bulk.recv().await.is_none());
    assert_eq!(project.handle.state().view().mode, WatchMode::Stopped);
    let outcomes = project.handle.submit(vec![RelPath::new("a.md")], true).await;
    assert_eq!(outcomes, [Submitted::Stopped]);
    assert!(!project.handle.rescan().await);
}
