//! Notes on a real file system: what is written, kept and refused.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use super::*;
use proto::error::Code;
use serde_json::json;

/// A project folder, its state folder, and a folder outside.
struct Place {
    dir: tempfile::TempDir,
    settings: Settings,
}

impl Place {
    fn new(files: &[(&str, &str)]) -> Self {
        let place =
            Place { dir: tempfile::tempdir().expect("a folder"), settings: Settings::default() };
        for folder in ["notes", "state", "outside"] {
            fs::create_dir(place.dir.path().join(folder)).expect("a folder");
        }
        files.iter().for_each(|(path, text)| place.put(path, text));
        place
    }

    fn at(&self, path: &str) -> PathBuf {
        self.dir.path().join("notes").join(path)
    }

    fn put(&self, path: &str, text: &str) {
        fs::create_dir_all(self.at(path).parent().expect("a folder")).expect("a folder");
        fs::write(self.at(path), text).expect("a file");
    }

    fn text(&self, path: &str) -> String {
        fs::read_to_string(self.at(path)).expect("a text")
    }

    fn notes(&self) -> Notes {
        let root = self.dir.path().join("notes").canonicalize().expect("it is there");
        Notes::open(&root, &self.dir.path().join("state"), &self.settings)
    }

    /// Lists every file below the project's folder.
    fn files(&self) -> Vec<String> {
        let mut found = vec![];
        let mut open = vec![String::new()];
        while let Some(folder) = open.pop() {
            for entry in fs::read_dir(self.at(&folder)).expect("a folder").flatten() {
                let path = format!("{folder}{}", entry.file_name().to_string_lossy());
                if entry.file_type().expect("a type").is_dir() {
                    open.push(format!("{path}/"));
                } else {
                    found.push(path);
                }
            }
        }
        found.sort();
        found
    }
}

fn append(text: &str) -> Vec<Op> {
    vec![Op::Append(text.into())]
}

#[track_caller]
fn refused<T: std::fmt::Debug>(done: Result<T, NoteError>, code: Code, words: &str) -> NoteError {
    let error = done.expect_err("it is refused");
    assert_eq!(error.code(), code, "{error}");
    assert!(error.to_string().contains(words), "{error}");
    error
}

#[test]
fn an_edit_replaces_the_file_and_keeps_the_bytes_before() {
    let place = Place::new(&[("a.md", "one\n")]);
    let notes = place.notes();
    let written = notes.edit("a.md", &append("two"), None).expect("written");
    assert_eq!(place.text("a.md"), "one\n\ntwo\n");
    assert_eq!(written.checksum_before.as_deref(), Some(checksum(b"one\n").as_str()));
    assert_eq!(written.checksum.as_deref(), Some(checksum(b"one\n\ntwo\n").as_str()));
    assert_eq!(written.changes, [Change { span: 3..3, replacement: "\n\ntwo".into() }]);
    let kept = notes.kept(Some("a.md")).expect("a list");
    assert_eq!(kept.len(), 1);
    assert_eq!(fs::read_to_string(&kept[0].file).expect("kept"), "one\n");
    assert_eq!(kept[0].why, Why::Replaced);
    // An edit without effect does not write.
    let inode = place.at("a.md").metadata().expect("it is there").ino();
    let same = notes.edit("a.md", &[Op::RemoveKey("none".into())], None).expect("nothing to do");
    assert!(!same.is_changed() && same.changes.is_empty());
    assert_eq!(place.at("a.md").metadata().expect("it is there").ino(), inode);
    assert_eq!(place.files(), ["a.md"]);
}

#[test]
fn a_new_note_gets_its_folders_and_never_replaces_one_unasked() {
    let place = Place::new(&[("a.md", "one\n")]);
    let notes = place.notes();
    let written = notes.write("x/y/b.md", "new\n", Overwrite::No, None).expect("written");
    assert_eq!((written.checksum_before, place.text("x/y/b.md").as_str()), (None, "new\n"));
    let error =
        refused(notes.write("a.md", "new\n", Overwrite::No, None), Code::Exists, "already exists");
    assert!(error.hint().is_some_and(|hint| hint.contains(&checksum(b"one\n"))));
    let written = notes.write("a.md", "new\n", Overwrite::Yes, None).expect("written");
    assert_eq!(written.checksum_before, Some(checksum(b"one\n")));
    assert_eq!(notes.kept(Some("a.md")).expect("a list").len(), 1);
    refused(notes.write("c.md", "x", Overwrite::Yes, Some("00")), Code::Conflict, "it is gone");
    refused(notes.edit("c.md", &append("x"), None), Code::NotFound, "no note `c.md`");
    refused(notes.edit("no/c.md", &append("x"), None), Code::NotFound, "no note `no/c.md`");
    assert_eq!(place.files(), ["a.md", "x/y/b.md"]);
}

#[test]
fn a_checksum_that_is_not_the_note_s_is_a_conflict_that_loses_nothing() {
    let place = Place::new(&[("a.md", "one\n")]);
    let notes = place.notes();
    let read = notes.read("a.md").expect("read").checksum;
    place.put("a.md", "theirs\n");
    let error = refused(
        notes.edit("a.md", &append("mine"), Some(&read)),
        Code::Conflict,
        "has changed meanwhile",
    );
    let conflict = error.view().conflict.expect("both versions");
    assert_eq!(conflict.checksum, Some(checksum(b"theirs\n")));
    let kept = conflict.kept.expect("kept");
    assert_eq!(fs::read_to_string(kept).expect("kept"), "theirs\n\nmine\n");
    let message = error.view().to_string();
    assert!(message.contains("now there, from line 2:"), "{message}");
    assert!(message.ends_with("yours, from line 2:\n\nmine"), "{message}");
    assert_eq!(place.text("a.md"), "theirs\n");
    notes.edit("a.md", &append("mine"), Some(&checksum(b"theirs\n"))).expect("written");
    refused(notes.remove("a.md", Some(&read)), Code::Conflict, "changed");
}

#[test]
fn a_change_under_our_hands_is_a_conflict() {
    let place = Place::new(&[("a.md", "one\n")]);
    let notes = place.notes();
    let spot = spot(&notes.root, "a.md", Missing::Refuse).expect("a spot");
    let old = files::read(&spot, 100).expect("read").expect("it is there");
    // Saves as editors do, in between: by another file, or into the same one.
    for change in [
        |place: &Place| fs::rename(place.at("b"), place.at("a.md")),
        |place: &Place| fs::write(place.at("a.md"), "in place\n"),
    ] {
        place.put("b", "theirs\n");
        let keep = || change(&place);
        let trouble = files::replace(&spot, None, Some(&old), b"mine\n", &notes.journal, keep);
        assert!(matches!(trouble, Err(Trouble::Changed(Some(_)))), "{trouble:?}");
    }
    assert_eq!(place.text("a.md"), "in place\n");
    // A file saved after the last check is put back, too.
    let old = files::read(&spot, 100).expect("read").expect("it is there");
    place.put("b", "theirs\n");
    let ours = files::Temporary::make(&spot, &notes.journal, false).expect("made");
    fs::rename(place.at("b"), place.at("a.md")).expect("saved");
    let trouble = ours.take_place_of(&old, None);
    drop(ours);
    assert_eq!(place.text("a.md"), "theirs\n");
    assert!(
        matches!(&trouble, Err(Trouble::Changed(Some(theirs))) if theirs == b"theirs\n"),
        "{trouble:?}"
    );
    place.put("a.md", "in place\n");
    let made = files::replace(
        &confine::spot(&notes.root, "new.md", Missing::Refuse).expect("a spot"),
        None,
        None,
        b"mine\n",
        &notes.journal,
        || fs::write(place.at("new.md"), "theirs\n"),
    );
    assert!(matches!(made, Err(Trouble::Changed(Some(_)))), "{made:?}");
    assert_eq!(place.text("new.md"), "theirs\n");
    let full = || Err(std::io::Error::from(std::io::ErrorKind::StorageFull));
    let old = files::read(&spot, 100).expect("read").expect("it is there");
    assert!(matches!(
        files::replace(&spot, None, Some(&old), b"x", &notes.journal, full),
        Err(Trouble::Io(_))
    ));
    assert_eq!(place.text("a.md"), "in place\n");
    assert!(place.files().iter().all(|path| !path.contains(".kgd")), "{:?}", place.files());
    assert_eq!(fs::read_dir(place.dir.path().join("state/writing")).expect("a folder").count(), 0);
}

#[test]
fn a_file_that_another_program_writes_is_not_replaced() {
    use std::io::Write as _;

    let place = Place::new(&[("a.md", "one\n")]);
    let notes = place.notes();
    let spot = spot(&notes.root, "a.md", Missing::Refuse).expect("a spot");
    let read = || files::read(&spot, 100).expect("read").expect("it is there");
    let writer = || fs::OpenOptions::new().append(true).open(place.at("a.md")).expect("there");
    let old = read();
    let Some(lease) = old.lease().expect("nobody writes") else {
        return eprintln!("SKIPPED: this file system has no leases");
    };
    drop(lease);
    // It is open before the call: `tee -a` and loggers keep it so.
    let mut log = writer();
    for done in [
        notes.edit("a.md", &append("mine"), None),
        notes.write("a.md", "mine\n", Overwrite::Yes, None),
        notes.remove("a.md", None),
    ] {
        refused(done, Code::Unavailable, "is open for writing in another program");
    }
    log.write_all(b"two\n").expect("written");
    drop(log);
    assert_eq!(place.text("a.md"), "one\ntwo\n");
    // It is opened while the new file takes its place.
    let old = read();
    let lease = old.lease().expect("nobody writes").expect("a lease");
    let ours = files::Temporary::make(&spot, &notes.journal, false).expect("made");
    std::thread::scope(|scope| {
        let writing = scope.spawn(|| writer().write_all(b"three\n"));
        while !lease.is_awaited() {
            std::thread::yield_now();
        }
        let trouble = ours.take_place_of(&old, Some(lease));
        assert!(matches!(trouble, Err(Trouble::Written)), "{trouble:?}");
        writing.join().expect("no panic").expect("written");
    });
    drop(ours);
    assert_eq!(place.text("a.md"), "one\ntwo\nthree\n");
    notes.edit("a.md", &append("mine"), None).expect("the writers are done");
    assert!(place.text("a.md").starts_with("one\ntwo\nthree\n"));
}

#[test]
fn modes_and_attributes_stay_and_links_are_followed_inside() {
    let place = Place::new(&[("a.md", "one\n"), ("sub/b.md", "b\n")]);
    let notes = place.notes();
    fs::set_permissions(place.at("a.md"), fs::Permissions::from_mode(0o640)).expect("a mode");
    notes.edit("a.md", &append("two"), None).expect("written");
    assert_eq!(place.at("a.md").metadata().expect("it is there").mode() & 0o7777, 0o640);
    // A link stays a link; its target is replaced.
    symlink("sub/b.md", place.at("link.md")).expect("a link");
    symlink(place.at("sub"), place.at("folder")).expect("a link");
    let written = notes.edit("link.md", &append("two"), None).expect("written");
    assert_eq!(written.path.as_str(), "sub/b.md");
    notes.edit("folder/b.md", &append("three"), None).expect("written");
    assert_eq!(place.text("sub/b.md"), "b\n\ntwo\n\nthree\n");
    assert!(place.at("link.md").symlink_metadata().expect("it is there").is_symlink());
    refused(notes.remove("link.md", None), Code::InvalidParams, "it is a link to `sub/b.md`");
    fs::hard_link(place.at("a.md"), place.at("other.txt")).expect("a link");
    let written = notes.edit("a.md", &append("three"), None).expect("written");
    assert_eq!(written.warnings.len(), 1);
    assert_eq!(place.text("other.txt"), "one\n\ntwo\n");
}

#[test]
fn nothing_outside_the_project_is_touched() {
    let place = Place::new(&[("a.md", "one\n")]);
    let outside = place.dir.path().join("outside");
    fs::write(outside.join("o.md"), "theirs\n").expect("a file");
    symlink(outside.join("o.md"), place.at("out.md")).expect("a link");
    symlink(&outside, place.at("way")).expect("a link");
    symlink("nowhere.md", place.at("dangling.md")).expect("a link");
    symlink("loop.md", place.at("loop.md")).expect("a link");
    let notes = place.notes();
    for path in [
        "out.md",
        "way/o.md",
        "way/new.md",
        "way/x/new.md",
        "../outside/o.md",
        "/etc/hosts.md",
        "a/../../o.md",
    ] {
        refused(notes.edit(path, &append("x"), None), Code::OutsideProject, "leads out");
        refused(notes.write(path, "x", Overwrite::Yes, None), Code::OutsideProject, "leads out");
        refused(notes.remove(path, None), Code::OutsideProject, "leads out");
    }
    refused(
        notes.write("dangling.md", "x", Overwrite::Yes, None),
        Code::InvalidParams,
        "broken symbolic link",
    );
    assert!(notes.write("loop.md", "x", Overwrite::Yes, None).is_err());
    refused(
        notes.write("a.md/b.md", "x", Overwrite::No, None),
        Code::InvalidParams,
        "is not a folder",
    );
    assert_eq!(fs::read_to_string(outside.join("o.md")).expect("a text"), "theirs\n");
    assert_eq!(fs::read_dir(&outside).expect("a folder").count(), 1);
}

#[test]
fn what_is_not_indexed_is_not_written() {
    let place = Place::new(&[(".gitignore", "private/\n"), ("ok.md", "x\n"), (".env", "x\n")]);
    let notes = place.notes();
    for (path, code, words) in [
        ("private/a.md", Code::Refused, "ignored"),
        (".obsidian/a.md", Code::Refused, "built-in folder"),
        (".hidden.md", Code::Refused, "hidden"),
        ("credentials.md", Code::Refused, "deny list"),
        (".ssh/a.md", Code::Refused, "hidden"),
        ("a.txt", Code::InvalidParams, "ends with `.md`"),
        ("a", Code::InvalidParams, "ends with `.md`"),
    ] {
        refused(notes.write(path, "x", Overwrite::No, None), code, words);
    }
    symlink(".env", place.at("env.md")).expect("a link");
    refused(notes.write("env.md", "x", Overwrite::Yes, None), Code::Refused, "deny list");
    rustix::fs::mkfifoat(rustix::fs::CWD, place.at("pipe.md"), rustix::fs::Mode::RWXU)
        .expect("a pipe");
    refused(notes.edit("pipe.md", &append("x"), None), Code::Refused, "not a regular file");
    fs::create_dir(place.at("folder.md")).expect("a folder");
    refused(
        notes.write("folder.md", "x", Overwrite::Yes, None),
        Code::Refused,
        "not a regular file",
    );
    fs::write(place.at("latin.md"), b"caf\xe9\n").expect("a file");
    refused(notes.edit("latin.md", &append("x"), None), Code::Refused, "not UTF-8");
    let large = "x".repeat(2_000_001);
    refused(notes.write("large.md", &large, Overwrite::No, None), Code::Refused, "at most 2000000");
    place.put("large.md", &large);
    refused(notes.edit("large.md", &append("x"), None), Code::Refused, "2000001 bytes");
    notes.remove("large.md", None).expect("removed");
    notes.remove("latin.md", None).expect("removed");
}

#[test]
fn a_read_only_project_is_not_written() {
    let mut place = Place::new(&[("a.md", "one\n")]);
    place.settings.write = false;
    let notes = place.notes();
    refused(notes.edit("a.md", &append("x"), None), Code::ReadOnly, "read-only");
    refused(notes.preview("a.md", &append("x"), None), Code::ReadOnly, "read-only");
    refused(notes.write("b.md", "x", Overwrite::No, None), Code::ReadOnly, "read-only");
    refused(notes.remove("a.md", None), Code::ReadOnly, "read-only");
    refused(
        notes.rename("a.md", "b.md", None, &[], &[], Some(&|_| {})),
        Code::ReadOnly,
        "read-only",
    );
    refused(notes.restore(&Names::of("a.md", &[]), "x"), Code::ReadOnly, "read-only");
    assert_eq!(notes.read("a.md").expect("read").text, "one\n");
    assert_eq!(place.files(), ["a.md"]);
}

#[test]
fn a_secret_is_not_lost_by_who_cannot_see_it() {
    let secret = format!("Token: gh{}\n", "p_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8");
    let place = Place::new(&[("a.md", &format!("# A\n\n{secret}\n## B\n"))]);
    let notes = place.notes();
    let section =
        |content: &str| vec![Op::ReplaceSection { section: "A".into(), content: content.into() }];
    refused(
        notes.edit("a.md", &section("Token: [redacted:github-token]"), None),
        Code::Refused,
        "mark",
    );
    refused(notes.edit("a.md", &section("Nothing"), None), Code::Refused, "a secret in the text");
    refused(
        notes.write("a.md", "Nothing", Overwrite::Yes, None),
        Code::Refused,
        "a secret in the text",
    );
    notes.edit("a.md", &append("More"), None).expect("written");
    assert!(place.text("a.md").contains(&secret));
    // Removing the note is allowed, because the caller knows that everything goes; it is kept.
    notes.remove("a.md", None).expect("removed");
    assert!(
        fs::read_to_string(&notes.kept(Some("a.md")).expect("a list")[0].file)
            .expect("kept")
            .contains(&secret)
    );
}

#[test]
fn what_was_removed_or_replaced_comes_back() {
    let place = Place::new(&[("x/a.md", "one\n")]);
    let notes = place.notes();
    notes.edit("x/a.md", &append("two"), None).expect("written");
    notes.remove("x/a.md", None).expect("removed");
    fs::remove_dir(place.at("x")).expect("it is empty");
    let kept = notes.kept(Some("x/a.md")).expect("a list");
    assert_eq!(kept.iter().map(|it| it.why).collect::<Vec<_>>(), [Why::Removed, Why::Replaced]);
    notes.restore(&Names::of("x/a.md", &[]), &kept[0].at).expect("restored");
    assert_eq!(place.text("x/a.md"), "one\n\ntwo\n");
    notes.restore(&Names::of("x/a.md", &[]), &kept[1].at).expect("restored");
    assert_eq!(place.text("x/a.md"), "one\n");
    assert_eq!(notes.kept(Some("x/a.md")).expect("a list").len(), 3);
    refused(
        notes.restore(&Names::of("x/a.md", &[]), "20000101T000000.000000Z"),
        Code::NotFound,
        "no kept version",
    );
}

#[test]
fn a_note_moves_with_the_links_that_lead_to_it() {
    let place = Place::new(&[("a.md", "A\n"), ("b.md", "[[a]]\n"), ("c.md", "c\n")]);
    let notes = place.notes();
    let rewrite = |find: &str| Rewrite {
        path: "b.md".into(),
        ops: vec![Op::Replace { find: find.into(), with: "[[n]]".into(), expected: 1 }],
        expected: None,
    };
    let own = vec![Op::SetKey { key: "title".into(), value: json!("New") }];
    refused(
        notes.rename("a.md", "c.md", None, &[], &[], Some(&|_| {})),
        Code::Exists,
        "already exists",
    );
    refused(
        notes.rename("no.md", "n.md", None, &[], &[], Some(&|_| {})),
        Code::NotFound,
        "no note",
    );
    refused(notes.rename("a.md", ".x.md", None, &[], &[], Some(&|_| {})), Code::Refused, "hidden");
    refused(
        notes.rename("a.md", "n.md", None, &[], &[rewrite("[[z]]")], Some(&|_| {})),
        Code::NotFound,
        "not there",
    );
    let dry =
        notes.rename("a.md", "x/n.md", None, &own, &[rewrite("[[a]]")], None).expect("a plan");
    assert!(dry.own.is_some() && dry.others[0].done.as_ref().is_ok_and(Written::is_changed));
    assert_eq!(place.files(), ["a.md", "b.md", "c.md"]);
    assert_eq!(place.text("b.md"), "[[a]]\n");
    let moved = notes
        .rename("a.md", "x/n.md", None, &own, &[rewrite("[[a]]")], Some(&|_| {}))
        .expect("moved");
    assert_eq!(place.text("x/n.md"), "---\ntitle: New\n---\n\nA\n");
    assert_eq!(place.text("b.md"), "[[n]]\n");
    let changed: Vec<_> = moved.changed().iter().map(|path| path.as_str().to_string()).collect();
    assert_eq!(changed, ["a.md", "x/n.md", "b.md"]);
    assert_eq!(place.files(), ["b.md", "c.md", "x/n.md"]);
}

#[test]
fn two_who_write_at_once_lose_nothing() {
    let place = Place::new(&[("a.md", "- start\n")]);
    let notes = [place.notes(), place.notes()];
    std::thread::scope(|scope| {
        for (who, notes) in notes.iter().enumerate() {
            for thread in 0..2 {
                scope.spawn(move || {
                    for i in 0..20 {
                        notes
                            .edit("a.md", &append(&format!("- {who} {thread} {i}")), None)
                            .expect("written");
                    }
                });
            }
        }
    });
    let text = place.text("a.md");
    assert_eq!(text.lines().count(), 81, "{text}");
    for line in (0..20).map(|i| format!("- 1 0 {i}")) {
        assert!(text.lines().any(|it| it == line), "{line}");
    }
}

#[test]
fn what_a_crash_left_is_swept_and_what_lives_is_not() {
    let place = Place::new(&[("x/a.md", "one\n")]);
    let notes = place.notes();
    let writing = place.dir.path().join("state/writing");
    let live = notes.journal.begin("x/.kgd-1-1.tmp").expect("an entry");
    place.put("x/.kgd-1-1.tmp", "half");
    place.put("x/.kgd-1-2.tmp", "half");
    fs::write(writing.join("dead"), "x/.kgd-1-2.tmp").expect("an entry");
    fs::write(writing.join("evil"), "x/a.md").expect("an entry");
    fs::write(writing.join("worse"), "../outside/.kgd-1.tmp").expect("an entry");
    drop(place.notes());
    assert_eq!(place.files(), ["x/.kgd-1-1.tmp", "x/a.md"]);
    drop(live);
    assert_eq!(fs::read_dir(writing).expect("a folder").count(), 0);
}

#[test]
fn the_watcher_reads_no_temporary_file() {
    let place = Place::new(&[]);
    let name = format!("x/{}12-3{}", journal::BEGINNING, journal::ENDING);
    assert!(matches!(place.notes().rules().verdict(&name, false), engine::watch::Verdict::Skip(_)));
}
