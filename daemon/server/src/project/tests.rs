//! Proving, mending and replacing an index, with a project opened inside the test.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::freshness::grouped;
use super::verify::{Verification, VerifyError};
use super::{OpenProject, Project};
use config::Settings;
use index::store::testing::{Connection, connection};

/// Only a bug takes this long.
const PATIENCE: Duration = Duration::from_secs(60);

const NOTES: &[(&str, &str)] = &[
    ("harbor.md", "# Harbor Gateway\n\nThe Harbor Gateway depends on the [[Tide Clock]].\n"),
    (
        "clock.md",
        "---\naliases: [Tidal Clock]\n---\n# Tide Clock\n\nThe Tide Clock is a service.\n",
    ),
    ("sub/log.txt", "Maintenance log. The lighthouse lamp was replaced. Tide Clock.\n"),
    (
        "page.html",
        "<html><body><article><h1>Beacon</h1><p>The beacon blinks.</p></article></body></html>",
    ),
];

struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Self {
        let place = Place(tempfile::tempdir().expect("temporary folder"));
        fs::create_dir_all(place.0.path().join("notes/sub")).expect("a folder");
        fs::create_dir_all(place.state()).expect("a folder");
        NOTES.iter().for_each(|(path, text)| place.write(path, text));
        place
    }

    fn state(&self) -> std::path::PathBuf {
        self.0.path().join("state")
    }

    fn index(&self) -> std::path::PathBuf {
        self.state().join("index.sqlite")
    }

    fn write(&self, path: &str, text: &str) {
        fs::write(self.0.path().join("notes").join(path), text).expect("a file");
    }

    async fn open(&self, settings: Settings) -> Arc<Project> {
        let place = OpenProject {
            root: self.0.path().join("notes").canonicalize().expect("it is there"),
            name: "notes".into(),
            state_dir: self.state(),
            settings,
            parsing: Default::default(),
        };
        Project::open(place).await.expect("opens")
    }

    async fn settled(&self, settings: Settings) -> Arc<Project> {
        let project = self.open(settings).await;
        settle(&project).await;
        project
    }
}

async fn settle(project: &Project) {
    assert!(project.wait_until(PATIENCE, Project::is_settled).await, "it settles");
}

async fn verify(project: &Project, repair: bool) -> Verification {
    project.verify(repair, 5, |_, _, _| {}).await.expect("verified")
}

/// Renders the parts that differ, with their first rows.
fn differences(found: &Verification) -> String {
    let mut out = String::new();
    for part in found.parts.iter().filter(|part| part.n_differing > 0) {
        out.push_str(&format!("{} {}\n", part.part, part.n_differing));
        part.only_live.iter().for_each(|row| out.push_str(&format!("  - {row}\n")));
        part.only_rebuilt.iter().for_each(|row| out.push_str(&format!("  + {row}\n")));
    }
    out
}

fn tamper(path: &Path, sql: &str) {
    sys::register_sqlite_vec();
    let db = Connection::open(path).expect("opens");
    db.busy_timeout(PATIENCE).expect("a limit");
    assert!(db.execute(sql, []).expect("tampered") > 0, "{sql}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_index_that_equals_the_files_is_proved() {
    let place = Place::new();
    let project = place.settled(Settings::default()).await;
    let found = verify(&project, true).await;
    assert_eq!(differences(&found), "");
    assert!(found.is_same && !found.is_repaired);
    let rows = |part: &str| found.parts.iter().find(|p| p.part == part).expect("a part").n_live;
    assert_eq!((rows("doc"), rows("uid"), rows("quarantine")), (4, 4, 0));
    assert!(rows("mention") > 3 && rows("word") > 4 && rows("vector") >= 4 && rows("name") > 3);
    assert!(!place.state().join("verify").exists(), "nothing is left behind");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_kind_of_damage_is_found_and_repaired() {
    let damages = [
        (
            "DELETE FROM mentions WHERE instr(positions, 'Tide Clock') > 0
               AND doc_id IN (SELECT id FROM docs WHERE path LIKE 'sub/%')",
            "mention",
        ),
        ("UPDATE docs SET title = 'Other' WHERE path = 'page.html'", "doc"),
        ("UPDATE chunks SET line_end = line_end + 1", "chunk"),
        ("UPDATE entities SET type = 3 WHERE norm = 'clock'", "entity"),
        ("DELETE FROM evidence", "evidence"),
        ("DELETE FROM stated WHERE surface = 'Tidal Clock'", "stated"),
        ("UPDATE windows SET vector = NULL WHERE id = 1", "vector"),
        ("DELETE FROM chunk_fts WHERE rowid = 1", "word"),
        ("UPDATE docs SET uid = 'forged' WHERE path = 'page.html'", "uid"),
    ];
    let place = Place::new();
    let project = place.settled(Settings::default()).await;
    for (sql, part) in damages {
        tamper(&place.index(), sql);
        let found = verify(&project, false).await;
        let differing: Vec<&str> =
            found.parts.iter().filter(|p| p.n_differing > 0).map(|p| p.part).collect();
        assert!(differing.contains(&part), "{sql}: {differing:?}");
        let tick = project.health().tick();
        let repaired = verify(&project, true).await;
        assert!(!repaired.is_same && repaired.is_repaired, "{sql}");
        assert!(project.snapshot().expect("a snapshot").tick() > tick, "ticks go on");
        settle(&project).await;
        assert_eq!(differences(&verify(&project, false).await), "", "{sql}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_repaired_index_follows_the_folder() {
    let place = Place::new();
    let project = place.settled(Settings::default()).await;
    tamper(&place.index(), "DELETE FROM evidence");
    assert!(verify(&project, true).await.is_repaired);
    place.write("new.md", "# New\n\nA walrus uses the Tide Clock.\n");
    project.watcher().rescan().await;
    settle(&project).await;
    assert_eq!(n_documents(&project), 5);
    assert_eq!(differences(&verify(&project, false).await), "");
}

fn n_documents(project: &Project) -> u64 {
    let snapshot = project.snapshot().expect("a snapshot");
    snapshot.documents().count().expect("a number")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_from_before_the_last_commit_says_what_it_lacks() {
    let place = Place::new();
    let project = place.settled(Settings::default()).await;
    let before = project.snapshot().expect("readable");
    assert_eq!(project.freshness(&before).building, None);
    place.write("new.md", "# New\n\nThe quince orchard.\n");
    assert!(project.wait_until(PATIENCE, |it| n_documents(it) == 5 && it.is_settled()).await);
    let building = project.freshness(&before).building;
    assert_eq!(building.as_deref(), Some("indexed 4 of 5"));
    assert_eq!(project.freshness_now().expect("readable").building, None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_verification_at_a_time() {
    let place = Place::new();
    let project = place.settled(Settings::default()).await;
    let held = project.upkeep.lock().await;
    let refused = project.verify(false, 5, |_, _, _| {}).await;
    assert!(matches!(refused, Err(VerifyError::Busy)));
    drop(held);
    assert!(verify(&project, false).await.is_same);
}

/// Different settings: every row may differ, the tables are the same.
fn other() -> Settings {
    let mut settings = Settings::default();
    settings.chunk.max_tokens = 60;
    settings.chunk.min_tokens = 10;
    settings
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_old_index_answers_until_the_new_one_is_whole() {
    let place = Place::new();
    let project = place.settled(Settings::default()).await;
    let tick = project.health().tick();
    project.drain(PATIENCE).await;
    drop(project);

    let project = place.open(other()).await;
    // From the first moment, and however much of the new index exists.
    assert_eq!(n_documents(&project), 4);
    settle(&project).await;
    assert!(!project.is_being_replaced());
    assert_eq!(n_documents(&project), 4);
    assert!(project.snapshot().expect("a snapshot").tick() > tick, "ticks go on");
    assert!(!place.state().join("index.next.sqlite").exists());
    assert_eq!(differences(&verify(&project, false).await), "");
    project.drain(PATIENCE).await;
    drop(project);

    // It is the live one now: nothing is rebuilt.
    let project = place.open(other()).await;
    assert!(!project.is_being_replaced());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_damaged_index_is_built_again_while_the_daemon_runs() {
    let place = Place::new();
    let project = place.settled(Settings::default()).await;
    let uids = |project: &Project| -> String {
        let snapshot = project.snapshot().expect("a snapshot");
        let sql = "SELECT group_concat(path || uid ORDER BY path) FROM docs";
        connection(&snapshot).query_row(sql, [], |row| row.get(0)).expect("uids")
    };
    let before = uids(&project);
    let tick = project.health().tick();
    project.mend("as a test says".into()).await;
    settle(&project).await;
    assert_eq!(n_documents(&project), 4);
    assert!(project.health().tick() > tick, "ticks go on");
    assert_eq!(uids(&project), before, "the ledger is kept");
    assert!(place.state().join("index.sqlite.old").exists());
    assert!(project.health().last_error().is_some_and(|error| error.contains("as a test says")));
    assert_eq!(differences(&verify(&project, false).await), "");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deleted_index_is_built_again_while_the_daemon_runs() {
    let place = Place::new();
    let project = place.settled(Settings::default()).await;
    let tick = project.health().tick();
    for suffix in ["", "-wal", "-shm"] {
        let _ = fs::remove_file(format!("{}{suffix}", place.index().display()));
    }
    project.suspect();
    let is_back = |project: &Project| project.health().tick() > tick && project.is_settled();
    assert!(project.wait_until(PATIENCE, is_back).await, "it is built again");
    settle(&project).await;
    assert_eq!(n_documents(&project), 4);
    assert!(place.index().exists());
    assert_eq!(differences(&verify(&project, false).await), "");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_abandoned_verification_leaves_nothing_behind() {
    let place = Place::new();
    let project = place.settled(Settings::default()).await;
    for stage in ["waiting", "building", "comparing"] {
        let (reached, is_there) = tokio::sync::watch::channel(false);
        let progress = move |_: u64, _: u64, what: &str| {
            if what.starts_with(stage) {
                reached.send_replace(true);
            }
        };
        let worker = project.clone();
        let work = tokio::spawn(async move { worker.verify(false, 5, progress).await.map(|_| ()) });
        let mut is_there = is_there;
        // An error means that the work ended before this stage, which is just as good.
        let _ = is_there.wait_for(|is_there| *is_there).await;
        work.abort();
        let _ = work.await;
        // The next one starts only after the last one has ended.
        drop(project.upkeep.lock().await);
        assert!(!place.state().join("verify").exists(), "abandoned while {stage}");
    }
    assert!(verify(&project, false).await.is_same);
    let open = fs::read_dir("/proc/self/fd").expect("our own").flatten();
    let left = open.filter_map(|it| fs::read_link(it.path()).ok());
    let left: Vec<_> = left.filter(|it| it.starts_with(place.state().join("verify"))).collect();
    assert!(left.is_empty(), "{left:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_saved_while_the_second_index_is_built_is_no_difference() {
    let place = Place::new();
    let project = place.settled(Settings::default()).await;
    let n_saves = std::sync::atomic::AtomicUsize::new(0);
    // Changes something at each progress report, the last time during the comparison.
    let progress = |_: u64, _: u64, what: &str| {
        let n = n_saves.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        if n < 5 {
            place.write(
                "clock.md",
                &format!("# Tide Clock\n\nVersion {n}, written while `{what}`.\n"),
            );
        }
    };
    let found = project.verify(false, 5, progress).await.expect("verified");
    assert_eq!(differences(&found), "");
    assert!(n_saves.load(std::sync::atomic::Ordering::SeqCst) >= 5, "it was disturbed");
}

#[test]
fn numbers_are_grouped_by_thousands() {
    let rows = [(0, "0"), (999, "999"), (9800, "9,800"), (1234567, "1,234,567")];
    for (n, text) in rows {
        assert_eq!(grouped(n), text);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_written_is_found_once_it_is_indexed_now() {
    use crate::notes::Overwrite;
    use model::terms::RelPath;
    use notes::edit::Op;
    let place = Place::new();
    let project = place.settled(Settings::default()).await;
    let paths = |project: &Project| -> Vec<String> {
        let snapshot = project.snapshot().expect("a snapshot");
        let mut statement = connection(&snapshot)
            .prepare("SELECT path FROM docs WHERE text LIKE '%wharf%' ORDER BY path")
            .expect("SQL");
        let rows = statement.query_map([], |row| row.get(0)).expect("rows");
        rows.collect::<Result<_, _>>().expect("paths")
    };
    let index = async |changed: Vec<RelPath>| {
        let indexed = project.index_now(&changed, false, &|_| {}).await.expect("not stalled");
        assert!(indexed.failed.is_empty(), "{:?}", indexed.failed);
    };
    for i in 0..5 {
        let path = format!("new/wharf{i}.md");
        let written =
            project.notes().write(&path, "# wharf\n", Overwrite::No, None).expect("written");
        index(vec![written.path]).await;
        assert_eq!(paths(&project), std::slice::from_ref(&path));
        let moved = project
            .notes()
            .rename(&path, "moved.md", None, &[], &[], Some(&|_| {}))
            .expect("moved");
        index(moved.changed()).await;
        assert_eq!(paths(&project), ["moved.md"]);
        let op = Op::Append("A pier.".into());
        let written = project.notes().edit("moved.md", &[op], None).expect("written");
        index(vec![written.path]).await;
        let snapshot = project.snapshot().expect("a snapshot");
        let sql = "SELECT count(*) FROM docs WHERE text LIKE '%pier%'";
        let n = connection(&snapshot).query_row(sql, [], |row| row.get::<_, i64>(0));
        assert_eq!(n, Ok(1));
        let removed = project.notes().remove("moved.md", None).expect("removed");
        index(vec![removed.path]).await;
        assert_eq!(paths(&project), [""; 0]);
    }
    project.drain(PATIENCE).await;
}
