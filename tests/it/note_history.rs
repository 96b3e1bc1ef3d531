//! The history of notes as tools: what was changed, by whom, and how it is undone; the same as
//! `kgctl restore`.

use serde_json::{Value, json};
use tests::TestProject;

fn rows(history: &Value) -> Vec<String> {
    let row = |it: &Value| {
        let by = it["by"].as_str().unwrap_or("-").split('@').next().unwrap_or_default();
        let kept = if it["version"].is_string() { "kept" } else { "not kept" };
        format!(
            "{} +{} -{} {by} {kept}",
            it["kind"].as_str().unwrap_or_default(),
            it["n_added"],
            it["n_removed"]
        )
    };
    history["changes"].as_array().expect("changes").iter().map(row).collect()
}

#[test]
fn a_note_s_changes_are_listed_and_a_version_is_shown() {
    let mut project = TestProject::of(&[("plan.md", "# Plan\n\none\n")]);
    project.call("edit_note", json!({"path": "plan", "find": "one", "content": "two\nthree"}));
    project.write("plan.md", "# Plan\n\ntwo\nfour\n");
    project.call("read_note", json!({"path": "plan.md"}));
    project.call("edit_note", json!({"path": "plan", "find": "two\n", "content": ""}));
    let history = project.call("note_history", json!({"note": "Plan"}));
    assert_eq!(history["path"], "plan.md");
    assert_eq!(
        rows(&history),
        [
            "changed +0 -1 edit_note kept",
            "changed +1 -1 - not kept",
            "changed +2 -1 edit_note kept"
        ]
    );
    let ticks: Vec<_> =
        history["changes"].as_array().expect("rows").iter().map(|it| it["tick"].as_u64()).collect();
    assert!(ticks.iter().all(Option::is_some) && ticks.is_sorted_by(|a, b| a > b), "{ticks:?}");
    let by = history["changes"][0]["by"].as_str().expect("by whom");
    assert!(by.starts_with("edit_note@"), "{by}");
    let first = history["changes"][2]["version"].as_str().expect("a version");
    let shown = project.call("note_history", json!({"path": "plan.md", "version": first}));
    assert_eq!(shown["content"], "# Plan\n\none\n");
    let diff = json!({"path": "plan.md", "version": first, "diff": true});
    let shown = project.call("note_history", diff);
    assert_eq!(shown["content"], "@@ -1,3 +1,3 @@\n # Plan\n \n-one\n+four\n");
    let wrong = project.try_call("note_history", json!({"path": "plan.md", "version": "2001"}));
    assert_eq!(wrong.expect_err("none")["code"], "not_found");
    let listed =
        project.kgctl().arg("--project").arg(project.root()).args(["restore", "plan.md"]).output();
    let listed = String::from_utf8(listed.expect("it runs").stdout).expect("text");
    assert!(listed.contains("edit_note@") && listed.contains("+0 -1"), "{listed}");
}

#[test]
fn a_delete_and_an_edit_are_taken_back() {
    let text = "---\ntitle: Secret Plan\npermalink: hidden/plan\n---\n\nAlpha.\n";
    let mut project =
        TestProject::of(&[("plans/p1.md", text), ("other.md", "See [[Secret Plan]].\n")]);
    project.settle();
    let deleted = project.call("delete_note", json!({"path": "hidden/plan"}));
    let warnings = deleted["warnings"].to_string();
    assert!(warnings.contains("restore_note"), "{warnings}");
    let history = project.call("note_history", json!({"path": "Secret Plan"}));
    assert_eq!(rows(&history)[0], "removed +0 -6 delete_note kept");
    assert_eq!(history.get("checksum"), None);
    let missing =
        project.try_call("restore_note", json!({"path": "Other Plan"})).expect_err("none");
    assert_eq!(missing["code"], "not_found");
    for name in [
        "Secret Plan",
        "secret-plan",
        "hidden/plan",
        "Hidden/Plan",
        "memory://hidden/plan",
        "plans/p1",
        "p1",
    ] {
        let restored = project.call("restore_note", json!({"path": name}));
        assert_eq!(
            (&restored["action"], &restored["path"]),
            (&json!("restored"), &json!("plans/p1.md"))
        );
        assert_eq!(restored["permalink"], "hidden/plan");
        assert_eq!(project.text("plans/p1.md"), text);
        project.call("delete_note", json!({"path": "plans/p1.md"}));
    }
    project.call("restore_note", json!({"path": "plans/p1.md"}));
    assert_eq!(project.found("alpha").first().map(String::as_str), Some("plans/p1.md"));
    // Undoes an edit; what somebody wrote since is kept as a version that the warning names.
    project.call("edit_note", json!({"path": "plans/p1.md", "find": "Alpha", "content": "Beta"}));
    project.write("plans/p1.md", "Newer, by hand.\n");
    let restored = project.call("restore_note", json!({"path": "plans/p1.md"}));
    assert_eq!(project.text("plans/p1.md"), text);
    let warning = restored["warnings"][0].as_str().expect("a warning");
    let version = warning.split('`').nth(1).expect("a version");
    let back = json!({"path": "plans/p1.md", "version": version});
    project.call("restore_note", back);
    assert_eq!(project.text("plans/p1.md"), "Newer, by hand.\n");
    let checked = json!({"path": "plans/p1.md", "expected_checksum": "0".repeat(64)});
    assert_eq!(project.try_call("restore_note", checked).expect_err("another")["code"], "conflict");
}

#[test]
fn the_history_of_a_moved_note_begins_where_it_lay() {
    let mut project = TestProject::of(&[("a.md", "One.\n")]);
    project.call("edit_note", json!({"path": "a.md", "find": "One", "content": "Two"}));
    project.call("move_note", json!({"path": "a.md", "destination": "b/c.md"}));
    let history = project.call("note_history", json!({"path": "b/c.md"}));
    let expected = ["moved +0 -0 move_note kept", "changed +1 -1 edit_note kept"];
    assert_eq!(rows(&history), expected, "{history:#}");
    let version = history["changes"][1]["version"].clone();
    let restored = project.call("restore_note", json!({"path": "c", "version": version}));
    assert_eq!(restored["path"], "b/c.md");
    assert_eq!(project.text("b/c.md"), "One.\n");
    assert!(!project.at("a.md").exists());
}

#[test]
fn kgctl_restore_follows_a_note_through_its_names_and_leaves_other_notes_alone() {
    let mut project = TestProject::of(&[("u.md", "# U\n\none\n"), ("o.md", "# O\n")]);
    let edit = |project: &mut TestProject, path: &str| {
        project.call("edit_note", json!({"path": path, "operation": "append", "content": "More."}));
    };
    edit(&mut project, "u.md");
    project.rename("u.md", "v.md");
    project.settle();
    edit(&mut project, "v.md");
    // Another note comes to the old path.
    project.write("u.md", "# New\n\nforeign\n");
    project.settle();
    edit(&mut project, "u.md");
    let kgctl = |project: &TestProject, arguments: &[&str]| {
        let mut command = project.kgctl();
        let command = command.arg("--project").arg(project.root()).arg("restore").args(arguments);
        let output = command.output().expect("it runs");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (output.status.code(), text(&output.stdout), text(&output.stderr))
    };
    let places = |project: &TestProject, path: &str| {
        let (_, listed, error) = kgctl(project, &[path]);
        let note = |line: &str| line.split(' ').next().unwrap_or_default().to_string();
        let rows = listed.lines().filter(|it| it.contains("edit_note@")).map(note);
        (rows.collect::<Vec<_>>(), error)
    };
    assert_eq!(places(&project, "v.md").0, ["v.md", "u.md"]);
    assert_eq!(places(&project, "u.md").0, ["u.md", "u.md"], "what was ever kept at the path");
    project.rename("v.md", "w.md");
    project.settle();
    // Neither by a person nor by a tool is another note's text restored.
    project.call("restore_note", json!({"path": "w.md"}));
    assert_eq!(project.text("w.md"), "# U\n\none\n\nMore.\n");
    project.remove("u.md");
    project.rename("w.md", "x.md");
    project.settle();
    let (listed, _) = places(&project, "w.md");
    assert_eq!(listed, ["v.md", "u.md"], "where it was before and after");
    project.stop();
    assert_eq!(kgctl(&project, &["x.md", "--at", "last"]).0, Some(0));
    assert_eq!(project.text("x.md"), "# U\n\none\n\nMore.\n\nMore.\n");
}
