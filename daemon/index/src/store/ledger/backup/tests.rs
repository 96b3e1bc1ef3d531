//! Copies of a ledger that is being written, and their restoration.

use std::os::unix::fs::PermissionsExt;
use std::sync::atomic::{AtomicBool, Ordering};

use super::super::{Ledger, Verdict};
use super::*;

struct Scratch {
    folder: tempfile::TempDir,
}

impl Scratch {
    /// A project's folder with a ledger that holds one decision.
    fn new() -> Self {
        let it = Scratch { folder: tempfile::tempdir().expect("temporary folder") };
        it.decide("link:a>b", Some(Verdict::Rejected));
        it
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn open(&self) -> Ledger {
        Ledger::open(&self.at("ledger.sqlite")).expect("opens")
    }

    fn decide(&self, key: &str, verdict: Option<Verdict>) {
        self.open()
            .decide(&[(key.to_string(), verdict)], 1, model::terms::Tick(1))
            .expect("written");
    }

    /// The files of a folder, except those that SQLite keeps beside an open ledger.
    fn names(&self, folder: &str) -> Vec<String> {
        let entries = fs::read_dir(self.at(folder)).expect("a folder").flatten();
        let mut names: Vec<String> =
            entries.map(|entry| entry.file_name().into_string().expect("text")).collect();
        names.retain(|name| !name.starts_with("ledger.sqlite-"));
        names.sort();
        names
    }
}

fn message(error: StoreError) -> String {
    error.to_string()
}

#[test]
fn a_copy_is_one_private_file_with_the_same_rows() {
    let it = Scratch::new();
    let ledger = it.open();
    let done = back_up(it.folder.path(), Some(&it.at("copy.sqlite")), false).expect("copied");
    assert_eq!(done.rows["decisions"], 1);
    assert_eq!((done.version, done.n_bytes), (VERSION, done.path.metadata().expect("there").len()));
    assert_eq!(done.path.metadata().expect("there").permissions().mode() & 0o777, 0o600);
    drop(ledger);
    assert_eq!(it.names(""), ["copy.sqlite", "ledger.sqlite"], "nothing beside it");
    assert_eq!(check(&done.path).expect("sound"), done);
}

#[test]
fn a_copy_made_during_writes_is_one_commit_and_no_write_fails() {
    let it = Scratch::new();
    let ends = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let ledger = it.open();
            let mut n = 0;
            while !ends.load(Ordering::SeqCst) {
                // Each transaction adds two rows: an odd number would be a torn copy.
                let pair =
                    ["x", "y"].map(|side| (format!("link:{side}{n}>b"), Some(Verdict::Accepted)));
                ledger.decide(&pair, n, model::terms::Tick(1)).expect("written");
                n += 1;
            }
            n
        });
        for i in 0..20 {
            let to = it.at(&format!("copy-{i}.sqlite"));
            let done = back_up(it.folder.path(), Some(&to), false).expect("copied");
            assert_eq!(done.rows["decisions"] % 2, 1, "one from before, and pairs");
        }
        ends.store(true, Ordering::SeqCst);
        assert!(writer.join().expect("no panic") > 0);
    });
}

#[test]
fn a_file_is_replaced_only_when_that_was_said() {
    let it = Scratch::new();
    let to = it.at("precious.txt");
    fs::write(&to, "precious").expect("written");
    let error = message(back_up(it.folder.path(), Some(&to), false).expect_err("refused"));
    assert!(error.contains("exists already\nhint: give another name, or `--force`"), "{error}");
    assert_eq!(fs::read_to_string(&to).expect("read"), "precious");
    let device = back_up(it.folder.path(), Some(Path::new("/dev/null")), true);
    assert!(message(device.expect_err("refused")).contains("not a regular file"));
    back_up(it.folder.path(), Some(&to), true).expect("copied");
    check(&to).expect("a ledger");
    let missing = back_up(it.folder.path(), Some(&it.at("no/such/folder.sqlite")), false);
    let error = message(missing.expect_err("refused"));
    assert!(error.contains("cannot write `") && error.contains("\nhint: "), "{error}");
    assert_eq!(it.names(""), ["ledger.sqlite", "precious.txt"], "no drafts are left");
}

#[test]
fn the_last_seven_of_our_own_are_kept() {
    let it = Scratch::new();
    fs::create_dir(it.at("backups")).expect("a folder");
    fs::write(it.at("backups/mine.sqlite"), "not ours").expect("written");
    for day in 1..=7 {
        fs::write(it.at(&format!("backups/ledger-2020010{day}-000000.sqlite")), "old")
            .expect("written");
    }
    let done = [0, 1].map(|_| back_up(it.folder.path(), None, false).expect("copied").path);
    let mut expected: Vec<String> =
        (3..=7).map(|day| format!("ledger-2020010{day}-000000.sqlite")).collect();
    expected.extend(
        done.iter().map(|path| path.file_name().expect("a name").to_string_lossy().into_owned()),
    );
    expected.push("mine.sqlite".into());
    assert_eq!(it.names("backups"), expected);
    assert_eq!(best(&it.at("ledger.sqlite")).as_ref(), Some(&done[1]));
}

#[test]
fn what_is_put_back_replaces_the_ledger_and_gives_up_the_index() {
    let it = Scratch::new();
    back_up(it.folder.path(), Some(&it.at("good.sqlite")), false).expect("copied");
    it.decide("link:c>d", Some(Verdict::Accepted));
    fs::write(it.at("index.sqlite"), "an index").expect("written");
    let done = restore(it.folder.path(), &it.at("good.sqlite")).expect("restored");
    assert_eq!(done.kept, Some(it.at("ledger.sqlite.before-restore")));
    assert_eq!(it.open().decisions().get("link:c>d"), None);
    assert_eq!(it.open().decisions().get("link:a>b"), Some(Verdict::Rejected));
    assert!(!it.at("index.sqlite").exists());
    // A restore is undone in the same way; files kept earlier are not overwritten.
    let again =
        restore(it.folder.path(), &it.at("ledger.sqlite.before-restore")).expect("restored");
    assert_eq!(again.kept, Some(it.at("ledger.sqlite.before-restore-2")));
    assert_eq!(it.open().decisions().get("link:c>d"), Some(Verdict::Accepted));
}

#[test]
fn a_damaged_or_missing_ledger_can_be_restored() {
    let it = Scratch::new();
    let copy = back_up(it.folder.path(), None, false).expect("copied").path;
    fs::write(it.at("ledger.sqlite"), "garbage ".repeat(500)).expect("written");
    fs::write(it.at("ledger.sqlite-wal"), "a log of the damaged one").expect("written");
    let error = message(Ledger::open(&it.at("ledger.sqlite")).err().expect("refused"));
    let wanted =
        format!("the newest full backup is `{0}`; `kgctl backup --restore {0}`", copy.display());
    assert!(error.contains(&wanted), "{error}");
    restore(it.folder.path(), &copy).expect("restored");
    assert_eq!(it.open().decisions().get("link:a>b"), Some(Verdict::Rejected));
    let kept = fs::read_to_string(it.at("ledger.sqlite.before-restore")).expect("kept");
    assert!(kept.starts_with("garbage"));
    fs::remove_file(it.at("ledger.sqlite")).expect("there");
    assert_eq!(restore(it.folder.path(), &copy).expect("restored").kept, None);
}

#[test]
fn only_a_sound_ledger_of_a_known_version_is_put_back() {
    let it = Scratch::new();
    let before = fs::read(it.at("ledger.sqlite")).expect("read");
    fs::write(it.at("text"), "no database ".repeat(200)).expect("written");
    Connection::open(it.at("other"))
        .expect("opens")
        .execute_batch("CREATE TABLE t(x)")
        .expect("made");
    back_up(it.folder.path(), Some(&it.at("newer")), false).expect("copied");
    Connection::open(it.at("newer"))
        .expect("opens")
        .execute_batch("PRAGMA user_version = 11")
        .expect("set");
    for (name, wanted) in [
        ("missing", "`{}` is not a ledger: No such file"),
        ("text", "`{}` is not a ledger: file is not a database"),
        ("other", "`{}` is not a ledger: it has no table `decisions`"),
        ("newer", "the ledger `{}` has version 11, this kgd knows versions up to 10"),
    ] {
        let error = message(restore(it.folder.path(), &it.at(name)).expect_err(name));
        let wanted = wanted.replace("{}", &it.at(name).display().to_string());
        assert!(error.contains(&wanted) && error.contains("\nhint: "), "{error}");
    }
    assert_eq!(fs::read(it.at("ledger.sqlite")).expect("read"), before);
    assert_eq!(it.names(""), ["ledger.sqlite", "newer", "other", "text"]);
}

/// A way to lose what a ledger holds: its name, the words that say so, what it does.
type Loss = (&'static str, &'static str, fn(&Path));

const LOSSES: [Loss; 7] = [
    ("missing", "it was missing at the start", |ledger| fs::remove_file(ledger).expect("there")),
    ("empty", "it was empty at the start", |ledger| fs::write(ledger, "").expect("written")),
    ("empty, with a log", "it was empty at the start", |ledger| {
        fs::write(ledger, "").expect("written");
        fs::write(with_suffix(ledger, "-wal"), "all that is left").expect("written");
    }),
    ("no tables", "it had no tables at the start", |ledger| {
        fs::remove_file(ledger).expect("there");
        let db = Connection::open(ledger).expect("opens");
        db.execute_batch("PRAGMA user_version = 9; VACUUM").expect("made");
    }),
    ("no rows", "it had lost its rows at the start", |ledger| {
        let db = Connection::open(ledger).expect("opens");
        for table in count(&db).expect("counted").keys() {
            db.execute(&format!("DELETE FROM {table}"), []).expect("deleted");
        }
    }),
    ("some tables", "it had lost its table `decisions`, table `ingested` at the start", |ledger| {
        let db = Connection::open(ledger).expect("opens");
        db.execute_batch("DROP TABLE decisions; DROP TABLE ingested").expect("dropped");
    }),
    ("another database", "it had lost its index `changes_at`", |ledger| {
        fs::remove_file(ledger).expect("there");
        let db = Connection::open(ledger).expect("opens");
        db.execute_batch("CREATE TABLE decisions(x); INSERT INTO decisions VALUES(1)")
            .expect("made");
        db.execute_batch("PRAGMA user_version = 9").expect("made");
    }),
];

#[test]
fn a_ledger_that_lost_what_it_held_is_restored_from_the_newest_backup_that_holds_more() {
    for (what, words, lose) in LOSSES {
        let it = Scratch::new();
        it.decide("link:c>d", Some(Verdict::Rejected));
        it.decide("link:e>f", Some(Verdict::Rejected));
        let full = back_up(it.folder.path(), None, false).expect("copied").path;
        // Backups of a ledger that had lost everything before do not count.
        fs::rename(it.at("ledger.sqlite"), it.at("away")).expect("moved");
        for _ in 0..8 {
            drop(it.open());
            back_up(it.folder.path(), None, false).expect("copied");
        }
        fs::rename(it.at("away"), it.at("ledger.sqlite")).expect("moved");
        assert_eq!(it.names("backups").len(), 8, "the last seven, and the full one: {what}");
        lose(&it.at("ledger.sqlite"));
        let said = bring_back(it.folder.path()).unwrap_or_else(|| panic!("said nothing: {what}"));
        let restored = format!("restored from `{}`", full.display());
        assert!(said.contains(words) && said.contains(&restored), "{what}: {said}");
        assert_eq!(it.open().decisions().get("link:a>b"), Some(Verdict::Rejected), "{what}");
        assert_eq!(bring_back(it.folder.path()), None, "{what}");
    }
}

#[test]
fn a_loss_without_a_backup_is_said_unless_the_project_is_new() {
    for (what, words, lose) in LOSSES {
        let it = Scratch::new();
        fs::create_dir(it.at("kept")).expect("a folder");
        lose(&it.at("ledger.sqlite"));
        let said = bring_back(it.folder.path());
        if what == "another database" {
            let error = message(Ledger::open(&it.at("ledger.sqlite")).err().expect("refused"));
            assert!(said.is_none() && error.contains("is damaged"), "{error}");
            continue;
        }
        if what == "no rows" {
            // Nothing was lost that anybody could miss: it is what a new ledger is.
            assert_eq!(said, None);
            continue;
        }
        let said = said.unwrap_or_else(|| panic!("said nothing: {what}"));
        assert!(said.contains(words) && said.contains("no backup holds"), "{what}: {said}");
        it.decide("link:c>d", Some(Verdict::Rejected));
        if what == "some tables" {
            // What was left of it is still there, beside the tables that were made again.
            assert!(it.at("ledger.sqlite.before-restore").exists());
            assert_eq!(it.open().decisions().get("link:a>b"), None);
        }
    }
    let new = tempfile::tempdir().expect("temporary folder");
    assert_eq!(bring_back(new.path()), None);
    // A first start that was killed before it made the first table.
    fs::write(new.path().join("ledger.sqlite"), "").expect("written");
    assert_eq!(bring_back(new.path()), None);
}

#[test]
fn what_held_nothing_is_made_again_although_a_backup_holds_more() {
    for (lost, said_so) in [
        ("DROP INDEX changes_at", "had lost its index `changes_at`"),
        ("DROP TABLE kb_ingested", "had lost its table `kb_ingested`"),
        ("DROP TABLE days_seen", "had lost its table `days_seen`"),
    ] {
        let it = Scratch::new();
        it.decide("link:c>d", Some(Verdict::Rejected));
        back_up(it.folder.path(), None, false).expect("copied");
        it.decide("link:c>d", None);
        it.decide("link:e>f", Some(Verdict::Rejected));
        Connection::open(it.at("ledger.sqlite")).expect("opens").execute_batch(lost).expect(lost);
        let said = bring_back(it.folder.path()).unwrap_or_else(|| panic!("said nothing: {lost}"));
        assert!(said.contains(said_so) && said.contains("it was made again"), "{lost}: {said}");
        let verdict = |key: &str| it.open().decisions().get(key);
        assert_eq!((verdict("link:c>d"), verdict("link:e>f")), (None, Some(Verdict::Rejected)));
        assert_eq!(bring_back(it.folder.path()), None, "{lost}");
    }
}

#[test]
fn a_folder_in_the_place_of_a_ledger_is_named_and_a_restore_moves_it_away() {
    let it = Scratch::new();
    let copy = back_up(it.folder.path(), None, false).expect("copied").path;
    fs::remove_file(it.at("ledger.sqlite")).expect("there");
    fs::create_dir(it.at("ledger.sqlite")).expect("a folder");
    assert_eq!(bring_back(it.folder.path()), None);
    let error = message(Ledger::open(&it.at("ledger.sqlite")).err().expect("refused"));
    let wanted = format!("kgctl backup --restore {}", copy.display());
    assert!(error.contains("is damaged: it is a folder") && error.contains(&wanted), "{error}");
    restore(it.folder.path(), &copy).expect("restored");
    assert_eq!(it.open().decisions().get("link:a>b"), Some(Verdict::Rejected));
    assert!(it.at("ledger.sqlite.before-restore").is_dir());
}

#[test]
fn a_copy_with_other_tables_than_kgd_makes_is_neither_restored_nor_used() {
    let changes = [
        (
            "CREATE TRIGGER t AFTER INSERT ON documents BEGIN DELETE FROM kb_versions; END",
            "it has another trigger `t`, which kgd does not make",
        ),
        ("CREATE VIEW v AS SELECT * FROM decisions", "it has another view `v`, which kgd does not make"),
        (
            "DROP TABLE kb_versions; CREATE VIEW kb_versions AS SELECT 1 AS entry",
            "it has no table `kb_versions`",
        ),
        ("DROP INDEX changes_uid", "it has no index `changes_uid`"),
        ("CREATE TABLE more(x)", "it has another table `more`, which kgd does not make"),
        ("CREATE UNIQUE INDEX one ON decisions(verdict)", "it has another index `one`, which kgd does not make"),
        (
            "ALTER TABLE decisions ADD COLUMN more TEXT NOT NULL DEFAULT ''",
            "its table `decisions` is not the one that kgd makes",
        ),
        (
            "DROP TABLE ingested; CREATE TABLE ingested(uid TEXT PRIMARY KEY, tags TEXT NOT NULL CHECK(tags = ''),
               source_url TEXT) WITHOUT ROWID",
            "its table `ingested` is not the one that kgd makes",
        ),
        ("PRAGMA user_version = 3", "it has another table `scrubbed`, which kgd does not make"),
        (
            "PRAGMA writable_schema = 1; INSERT INTO sqlite_schema VALUES('trigger', 'sqlite_x', 'documents', 0,
               'CREATE TRIGGER sqlite_x AFTER INSERT ON documents BEGIN DELETE FROM kb_versions; END')",
            "it has another trigger `sqlite_x`, which kgd does not make",
        ),
    ];
    for (change, words) in changes {
        let it = Scratch::new();
        let copy = back_up(it.folder.path(), None, false).expect("copied").path;
        Connection::open(&copy).expect("opens").execute_batch(change).expect(change);
        let before = fs::read(it.at("ledger.sqlite")).expect("read");
        let error = message(restore(it.folder.path(), &copy).expect_err(change));
        assert!(error.contains(words) && error.contains("\nhint: "), "{error}");
        assert_eq!(fs::read(it.at("ledger.sqlite")).expect("read"), before, "{change}");
        assert_eq!(it.names(""), ["backups", "ledger.sqlite"], "{change}");
        assert_eq!(best(&it.at("ledger.sqlite")), None, "{change}");
        fs::rename(&copy, it.at("ledger.sqlite")).expect("moved");
        let error = message(Ledger::open(&it.at("ledger.sqlite")).err().expect(change));
        assert!(error.contains("is damaged: "), "{error}");
    }
}

#[test]
fn one_measure_decides_which_ledger_holds_more() {
    let rows = |stated: u64, documents: u64| {
        Rows::from([("kb_versions".into(), stated), ("documents".into(), documents)])
    };
    // Newest last; the one to go back to is named by its place.
    for (what, backups, expected) in [
        ("the newest", [(9, 10), (10, 10), (11, 10)], 2),
        ("some was taken back", [(10, 10), (10, 9), (6, 8)], 2),
        ("most was lost, then a new start", [(10, 10), (0, 10), (2, 30)], 0),
        ("only documents are known", [(0, 100), (0, 0), (0, 3)], 0),
        ("documents went, statements came", [(3, 100), (3, 90), (5, 10)], 2),
    ] {
        let backups = backups.map(|(stated, documents)| Backup {
            path: PathBuf::from(format!("{stated}-{documents}")),
            n_bytes: 0,
            version: VERSION,
            rows: rows(stated, documents),
        });
        assert_eq!(best_of(&backups), backups.get(expected), "{what}");
    }
    assert!(holds_more(&rows(0, 1), &Rows::new()) && !holds_more(&rows(0, 0), &Rows::new()));
    assert!(!holds_more(&rows(9, 9), &rows(0, 0)), "no table was lost");
    let has_lost_a_table = |n: u64| Rows::from([("decisions".to_string(), n)]);
    assert!(holds_more(&rows(1, 0), &has_lost_a_table(1)), "a table was lost");
    assert!(!holds_more(&rows(1, 0), &has_lost_a_table(5)), "more would be lost by restoring");
}
