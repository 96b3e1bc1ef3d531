//! Notes that are written: the previous content can be restored, and a crash in the middle loses
//! nothing.

use std::collections::BTreeSet;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Output;

use notes::edit::Op;
use serde_json::{Value, json};
use server::notes::Notes;
use tests::TestProject;

/// Opens the editor that a daemon of this project would use.
fn editor(project: &TestProject) -> Notes {
    std::fs::create_dir_all(&project.paths().dir).expect("a folder");
    Notes::open(project.root(), &project.paths().dir, &config::Settings::default())
}

fn restore(project: &TestProject, arguments: &[&str], fail: &str) -> Output {
    let mut command = project.kgctl();
    command.arg("--json").arg("--project").arg(project.root()).arg("restore").args(arguments);
    command.env("KG_FAIL", fail).output().expect("it runs")
}

fn json_of(output: &Output) -> Value {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

/// Collects the names and bytes of all files below a folder.
fn files_below(folder: &Path, out: &mut BTreeSet<(String, Vec<u8>)>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            files_below(&path, out);
        } else {
            let bytes = std::fs::read(&path).expect("it can be read");
            out.insert((
                path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
                bytes,
            ));
        }
    }
}

#[test]
fn what_was_removed_comes_back_and_is_found() {
    let mut project =
        TestProject::of(&[("sub/zebra.md", "# Zebra77\n\nStripes77.\n"), ("b.md", "Other.\n")]);
    editor(&project).remove("sub/zebra.md", None).expect("removed");
    project.settle();
    assert_eq!(project.found("stripes77"), [""; 0]);
    let listed = json_of(&restore(&project, &[], ""));
    assert_eq!(listed["versions"][0]["path"], "sub/zebra.md");
    assert_eq!(listed["versions"][0]["why"], "removed");
    let restored = json_of(&restore(&project, &["sub/zebra.md", "--at", "last"], ""));
    assert_eq!((&restored["path"], &restored["changed"]), (&json!("sub/zebra.md"), &json!(true)));
    project.settle();
    assert_eq!(project.found("stripes77"), ["sub/zebra.md"]);
    let missing = restore(&project, &["b.md"], "");
    assert_eq!(missing.status.code(), Some(3));
    let missing = restore(&project, &["sub/zebra.md", "--at", "1999"], "");
    assert_eq!(missing.status.code(), Some(3), "{}", String::from_utf8_lossy(&missing.stderr));
    let outside = restore(&project, &["../x.md"], "");
    assert!(String::from_utf8_lossy(&outside.stderr).contains("leads out of the project"));
}

#[test]
fn a_death_while_a_note_is_written_loses_nothing_and_leaves_nothing() {
    for point in ["note.written", "note.kept", "note.renamed"] {
        let mut project = TestProject::empty();
        project.write("sub/a.md", "first67\n");
        let notes = editor(&project);
        notes.edit("sub/a.md", &[Op::Append("second67".into())], None).expect("written");
        let died = restore(&project, &["sub/a.md", "--at", "last"], point);
        assert!(!died.status.success(), "{point} was not reached");
        assert!(died.status.signal().is_none(), "kgctl itself does not die");
        let state = project.paths().dir.clone();
        let texts = |text: &str| {
            let mut found = BTreeSet::new();
            files_below(project.root(), &mut found);
            files_below(&state.join("kept"), &mut found);
            found.iter().any(|(_, bytes)| bytes == text.as_bytes())
        };
        assert!(texts("first67\n") && texts("first67\n\nsecond67\n"), "{point}");
        project.start();
        project.settle();
        let mut found = BTreeSet::new();
        files_below(project.root(), &mut found);
        let names: Vec<_> = found.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["a.md"], "{point}");
        assert_eq!(
            std::fs::read_dir(state.join("writing")).into_iter().flatten().count(),
            0,
            "{point}"
        );
        let is_new = point == "note.renamed";
        let text = if is_new { "first67\n" } else { "first67\n\nsecond67\n" };
        assert_eq!(project.text("sub/a.md"), text, "{point}");
        assert_eq!(project.found("first67"), ["sub/a.md"], "{point}");
        json_of(&restore(&project, &["sub/a.md", "--at", "last"], ""));
    }
}

#[test]
fn a_death_while_a_note_is_removed_or_moved_leaves_it_at_one_path_or_kept() {
    let rows = [
        ("note.removed", "delete_note", json!({"path": "sub/a.md"}), None),
        (
            "note.moved",
            "move_note",
            json!({"path": "sub/a.md", "destination": "b/"}),
            Some("b/a.md"),
        ),
    ];
    for (point, tool, arguments, now_at) in rows {
        let mut project = TestProject::empty();
        project.write("sub/a.md", "# Quagga77\n\nStripes77.\n");
        project.write("c.md", "See [q](sub/a.md).\n");
        project.set_environment("KG_FAIL", point);
        project.start();
        project.settle();
        assert!(project.attempt(tool, arguments).is_none(), "{point} was not reached");
        project.wait_for_end();
        project.set_environment("KG_FAIL", "");
        project.start();
        project.settle();
        assert!(!project.at("sub/a.md").exists(), "{point}");
        // A word that is gone may match a similar one, so other notes may be found, but not the
        // deleted one.
        let found = project.found("stripes77");
        assert!(!found.iter().any(|path| path == "sub/a.md"), "{point}: {found:?}");
        if let Some(path) = now_at {
            assert_eq!(found[0], path, "{point}");
        }
        if now_at.is_none() {
            json_of(&restore(&project, &["sub/a.md", "--at", "last"], ""));
            project.settle();
            assert_eq!(project.found("stripes77")[0], "sub/a.md", "{point}");
        }
        project.verify(point);
    }
}

#[test]
fn no_temporary_file_is_ever_indexed_and_writes_are_one_change() {
    let mut project = TestProject::of(&[("a.md", "start\n")]);
    let notes = editor(&project);
    for i in 0..30 {
        notes.edit("a.md", &[Op::Append(format!("- line{i}word"))], None).expect("written");
    }
    project.settle();
    let graph = project.dump();
    assert_eq!(graph.rows("document").count(), 1);
    let status = project.status();
    assert_eq!(status["quarantine"], json!([]));
    assert_eq!(project.found("line29word"), ["a.md"]);
    project.verify("after many writes");
}
