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
    assert_eq!(newest(&it.at("ledger.sqlite")).as_ref(), Some(&done[1]));
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
        format!("the newest backup is `{0}`; `kgctl backup --restore {0}`", copy.display());
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
        .execute_batch("PRAGMA user_version = 9")
        .expect("set");
    for (name, wanted) in [
        ("missing", "`{}` is not a ledger: No such file"),
        ("text", "`{}` is not a ledger: file is not a database"),
        ("other", "`{}` is not a ledger: it has no table `documents`"),
        ("newer", "the ledger `{}` has version 9, this kgd knows versions up to 8"),
    ] {
        let error = message(restore(it.folder.path(), &it.at(name)).expect_err(name));
        let wanted = wanted.replace("{}", &it.at(name).display().to_string());
        assert!(error.contains(&wanted) && error.contains("\nhint: "), "{error}");
    }
    assert_eq!(fs::read(it.at("ledger.sqlite")).expect("read"), before);
    assert_eq!(it.names(""), ["ledger.sqlite", "newer", "other", "text"]);
}
