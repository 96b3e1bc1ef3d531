//! The commands that manage the list of projects, and the configuration of an agent for several.

use expect_test::expect;
use serde_json::{Value, json};
use tests::SharedHome;

use crate::projects::{ALPHA, BETA};

#[test]
fn projects_are_added_named_and_forgotten_by_command() {
    let home = SharedHome::of(&[]);
    home.write("notes/a.md", "# A\n");
    home.write("notes/inner/b.md", "# B\n");
    home.write("other/c.md", "# C\n");
    let root = home.at("").display().to_string();
    let short = |text: String| text.replace(&root, "/home/");

    let added = short(home.kgctl_done(&["project", "add", "notes", "--name", "My Notes"]));
    expect![[r#"
        My Notes: registered: /home/notes
        an agent starts its daemon when it needs it; `kgctl start --project 'My Notes'` indexes now
    "#]]
    .assert_eq(&added);
    let refused = [
        home.kgctl_refused(&["project", "add", "nowhere"]),
        home.kgctl_refused(&["project", "add", "notes/a.md"]),
        home.kgctl_refused(&["project", "add", "notes/inner"]),
        home.kgctl_refused(&["project", "add", "other", "--name", "my-notes"]),
        home.kgctl_refused(&["project", "add", "other", "--name", "a,b"]),
        home.kgctl_refused(&["project", "default", "other"]),
        home.kgctl_refused(&["project", "remove", "other"]),
    ];
    let shown: String = refused.iter().map(|(code, message)| format!("{code} {message}")).collect();
    expect![[r#"
        2 error: cannot use `nowhere`: No such file or directory (os error 2)
        hint: a project is an existing folder
        2 error: cannot use `notes/a.md`: not a directory
        hint: a project is an existing folder
        2 error: `/home/notes/inner` lies inside `/home/notes`: with `My Notes` registered, its documents are read twice, into two projects
        hint: `--yes` skips this question
        2 error: cannot use the project name `my-notes`: `My Notes`, `/home/notes`, has this name
        hint: choose another `--name`
        2 error: cannot use the project name `a,b`: commas separate names in a list of projects
        hint: use letters, digits, spaces, `-`, `_` or `.`
        3 error: no project is called `other`
        hint: `kgctl list` lists the projects
        3 error: no project is called `other`
        hint: `kgctl list` lists the projects
    "#]].assert_eq(&shown);

    expect![[r#"
        My Notes: /home/notes (the only one)
    "#]]
    .assert_eq(&short(home.kgctl_done(&["project", "default"])));
    home.kgctl_done(&["project", "add", "other", "--read-only"]);
    let (code, message) = home.kgctl_refused(&["project", "default"]);
    assert_eq!(code, 3, "{message}");
    home.kgctl_done(&["project", "default", "other"]);
    let list = short(home.kgctl_done(&["project", "list"]));
    let list = list.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
    let list: Vec<_> =
        list.map(|line| line.split(" 20").next().unwrap_or_default().to_string()).collect();
    expect![[r#"
        NAME STATE ADDED FOLDER
        My Notes stopped
        other * stopped, read-only"#]]
    .assert_eq(&list.join("\n"));
    let rows: Value =
        serde_json::from_str(&home.kgctl_done(&["project", "list", "--json"])).expect("JSON");
    assert_eq!((&rows[1]["default"], &rows[1]["read_only"]), (&json!(true), &json!(true)));

    let (code, message) = home.kgctl_refused(&["project", "remove", "other"]);
    assert!(code == 2 && message.contains("`kgctl project default NAME`"), "{message}");
    expect![[r#"
        other: removed; its documents are kept, its index is kept
    "#]]
    .assert_eq(&short(home.kgctl_done(&["project", "remove", "other", "--yes"])));
    assert!(home.at("other/c.md").is_file());
}

#[test]
fn a_project_is_read_only_without_a_word_in_its_folder() {
    let home = SharedHome::of(&[ALPHA]);
    let setting = || {
        let rows = home.kgctl_done(&["--project", "alpha", "config", "show"]);
        rows.lines().find(|row| row.starts_with("write ")).map(str::to_string).expect("a row")
    };
    assert!(setting().contains("true"));
    home.kgctl_done(&["--project", "alpha", "start"]);
    let before = home.daemon("alpha").expect("it runs");
    let message = home.kgctl_done(&["project", "add", "alpha", "--read-only"]);
    assert!(message.contains("read-only") && message.contains("was restarted"), "{message}");
    let after = home.daemon("alpha").expect("it runs again");
    assert_ne!(before, after, "the daemon heeds it");
    let row = setting();
    assert!(row.contains("false") && row.contains("projects.json"), "{row}");
    home.kgctl_done(&["project", "add", "alpha", "--writable"]);
    assert!(setting().contains("true"));
    let inside = std::fs::read_dir(home.at("alpha")).expect("there").count();
    assert_eq!(inside, 1, "nothing was written into the folder");
    // If the folder's own setting contradicts the mark, the command fails; the mark can still be
    // removed.
    home.write("alpha/kg.yaml", "write: true\n");
    let (code, message) = home.kgctl_refused(&["project", "add", "alpha", "--read-only"]);
    assert!(code == 2 && message.contains("allows what you have forbidden"), "{message}");
    home.kgctl_done(&["project", "add", "alpha", "--writable"]);
    assert!(setting().contains("true"));
}

#[test]
fn an_agents_configuration_may_name_several_projects() {
    let home = SharedHome::of(&[ALPHA, BETA]);
    let args = |arguments: &[&str]| -> Value {
        let entry: Value = serde_json::from_str(&home.kgctl_done(arguments)).expect("JSON");
        entry["mcpServers"].clone()
    };
    let root = |name: &str| home.at(name).display().to_string();
    let all = args(&["mcp-config", "--all-projects"]);
    assert_eq!(all["kgd"]["args"], json!(["--all-projects"]));
    let two = args(&["mcp-config", "alpha", "beta"]);
    assert_eq!(two["kgd"]["args"], json!(["--project", root("alpha"), "--project", root("beta")]));
    let one = args(&["--project", "beta", "mcp-config"]);
    assert_eq!(one["beta"]["args"], json!(["--project", root("beta")]));
    let output = home.kgctl(&["--project", "beta", "mcp-config"]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("--all-projects"));
}
