//! Boundary: an agent cannot turn a folder that the user did not name into a project.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tests::{SharedHome, TestProject};

const NOTES: (&str, &str, &str) = ("notes", "a.md", "# A\n\nNothing here.\n");

/// Lists every path below a folder, except kgd's own.
fn paths_below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
        let name = entry.file_name();
        if ["state", "run"].iter().any(|own| name == *own) {
            continue;
        }
        found.push(entry.path());
        if entry.file_type().expect("seen").is_dir() {
            found.extend(paths_below(&entry.path()));
        }
    }
    found.sort();
    found
}

fn names_of(tools: &Value) -> Vec<&str> {
    let tools = tools["result"]["tools"].as_array().expect("tools").iter();
    tools.filter_map(|tool| tool["name"].as_str()).collect()
}

#[test]
fn without_roots_no_agent_is_offered_to_make_projects() {
    let mut project = TestProject::of(&[("a.md", "x\n")]);
    let tools = project.client().ask("tools/list", json!({}));
    assert!(!names_of(&tools).contains(&"create_memory_project"), "{tools}");
    assert!(names_of(&tools).contains(&"list_memory_projects"), "{tools}");
    let before = paths_below(project.scratch());
    let folder = project.scratch().join("my notes");
    let wish = json!({"name": "Mine", "path": folder});
    let error = project.try_call("create_memory_project", wish).expect_err("no root");
    assert_eq!(error["code"], "refused", "{error}");
    let command = format!("`kgctl project add '{}' --name Mine`", folder.display());
    assert!(error["hint"].as_str().is_some_and(|hint| hint.contains(&command)), "{error}");
    assert_eq!(paths_below(project.scratch()), before);
}

#[test]
fn nor_is_one_that_has_all_projects() {
    let home = SharedHome::of(&[NOTES, ("work", "b.md", "# B\n")]);
    let mut agent = home.agent("", &["--all-projects", "--tools", "core,notes"]);
    let tools = agent.ask("tools/list", json!({}));
    assert!(!names_of(&tools).contains(&"create_memory_project"), "{tools}");
    let wish = json!({"name": "Third", "path": home.at("third")});
    let error = agent.call("create_memory_project", wish).expect_err("no root");
    let command = format!("`kgctl project add {} --name Third`", home.at("third").display());
    assert!(error["hint"].as_str().is_some_and(|hint| hint.contains(&command)), "{error}");
    assert!(!home.at("third").exists());
}

#[test]
fn a_folder_cannot_name_roots() {
    let home = SharedHome::of(&[NOTES]);
    home.write("notes/kg.yaml", "projects: {roots: [/srv]}\n");
    let (_, output) = home.kgctl_refused(&["--project", "notes", "config", "show"]);
    assert!(output.contains("`projects.roots` cannot be set by a folder"), "{output}");
    for (root, why) in [("/etc", "is a system folder"), ("~", "home folder"), ("here", "absolute")]
    {
        home.write("notes/kg.yaml", "");
        home.write("config/config.yaml", &format!("projects: {{roots: [\"{root}\"]}}\n"));
        let (_, output) = home.kgctl_refused(&["--project", "notes", "config", "show"]);
        assert!(output.contains(why), "{root}: {output}");
    }
}

/// A project whose user has a home and lets agents create projects below `agents` in it.
fn at_home() -> (TestProject, PathBuf) {
    let mut project = TestProject::empty();
    let home = project.scratch().join("home");
    for folder in ["agents/keys", "agents/mine", ".ssh", ".config"] {
        std::fs::create_dir_all(home.join(folder)).expect("a folder");
    }
    std::fs::write(home.join(".ssh/config.txt"), "Host harbor\n").expect("a file");
    std::fs::write(home.join("agents/keys/server.pem"), "").expect("a file");
    std::fs::write(home.join("agents/file"), "").expect("a file");
    for (target, link) in [("../.ssh", "link"), ("../.config", "config"), ("../..", "up")] {
        std::os::unix::fs::symlink(target, home.join("agents").join(link)).expect("a link");
    }
    std::os::unix::fs::symlink("nowhere", home.join("agents/dangling")).expect("a link");
    project.set_environment("HOME", home.to_str().expect("text"));
    project.set("projects.roots=~/agents");
    project.start();
    project.settle();
    (project, home)
}

#[test]
fn what_no_agent_may_have_is_refused_and_leaves_nothing() {
    let (mut project, home) = at_home();
    let before = paths_below(project.scratch());
    for path in [
        "~/.ssh",
        "~/.ssh/new",
        "~/.config/new",
        "~",
        "~/",
        "~/other",
        "~/agents",
        "/",
        "/root",
        "/home",
        "/opt",
        "/mnt",
        "/etc/new",
        "/tmp/new-kgd-project",
        "~/agents/link",
        "~/agents/link/new",
        "~/agents/config/new/er",
        "~/agents/up/other",
        "~/agents/../other",
        "~/agents/new/../../other",
        "~/agents/keys",
        "~/agents/.aws/new",
        "~/agents/file",
        "~/agents/file/new",
        "~/agents/dangling",
        "~/agents/dangling/new",
    ] {
        let wish = json!({"name": "Mine", "path": path, "set_default": true});
        let error = project.try_call("create_memory_project", wish).expect_err(path);
        assert!(matches!(error["code"].as_str(), Some("refused" | "invalid_params")), "{error}");
        assert!(error["hint"].is_string(), "{error}");
        assert_eq!(paths_below(project.scratch()), before, "{path}: {error}");
    }
    assert!(!Path::new("/tmp/new-kgd-project").exists() && !Path::new("/etc/new").exists());
    assert!(!home.join("other").exists());
    let listed = project.call("list_memory_projects", json!({}));
    assert_eq!(listed["projects"].as_array().map(Vec::len), Some(1), "{listed}");
}

#[test]
fn below_a_root_projects_are_made() {
    let (mut project, home) = at_home();
    for (path, is_new) in
        [("~/agents/new/er", true), ("~/agents/mine", true), ("~/agents/new/er", false)]
    {
        let wish = json!({"name": path.rsplit('/').next(), "path": path});
        let made = project.call("create_memory_project", wish);
        assert_eq!(made["is_new"], is_new, "{made}");
        let folder = home.join(path.trim_start_matches("~/")).canonicalize().expect("made");
        assert_eq!(made["path"], json!(folder));
    }
    // A request that fails leaves nothing behind.
    let taken = json!({"name": "mine", "path": "~/agents/a/b"});
    project.try_call("create_memory_project", taken).expect_err("the name is taken");
    assert!(!home.join("agents/a").exists());
}

#[test]
fn a_person_registers_what_holds_no_keys() {
    let home = SharedHome::of(&[]);
    for folder in ["you/.ssh", "you/.notes", "you/code", "them/.gnupg"] {
        std::fs::create_dir_all(home.at(folder)).expect("a folder");
    }
    home.write("you/code/.env", "");
    let add = |folder: &str| {
        let mut command = home.command(tests::kgctl());
        command.env("HOME", home.at("you")).args(["project", "add", "--yes", folder]);
        let output = command.output().expect("it runs");
        (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    for (folder, why) in [
        ("you/.ssh", "a place for keys"),
        ("you", "is a home folder"),
        ("them", "contains keys (`.gnupg`)"),
        ("/", "home folder"),
        ("/etc", "is a system folder"),
    ] {
        let (is_added, output) = add(folder);
        assert!(
            !is_added && output.contains(why) && output.contains("hint: "),
            "{folder}: {output}"
        );
    }
    for folder in ["you/.notes", "you/code"] {
        let (is_added, output) = add(folder);
        assert!(is_added, "{folder}: {output}");
    }
}

/// An agent of an older version created these projects.
#[test]
fn doctor_lists_what_lies_outside_and_all_projects_leaves_out_keys() {
    let home = SharedHome::of(&[NOTES, ("work/app", "b.md", "# B\n")]);
    home.write("you/.ssh/config.txt", "Host harbor\n");
    let registry = std::fs::read_to_string(home.at("config/projects.json")).expect("registered");
    let mut registry: Value = serde_json::from_str(&registry).expect("JSON");
    let keys = json!({"name": "keys", "root": home.at("you/.ssh")});
    registry.as_array_mut().expect("projects").push(keys);
    home.write("config/projects.json", &registry.to_string());
    let settings = format!("projects: {{roots: [\"{}\"]}}\n", home.at("work").display());
    home.write("config/config.yaml", &settings);
    let output = home.kgctl(&["--project", "notes", "doctor"]).stdout;
    let output = String::from_utf8(output).expect("UTF-8");
    let outside = format!("registered outside: `notes` ({})", home.at("notes").display());
    assert!(output.contains(&outside), "{output}");
    assert!(output.contains("a place for keys (`.ssh`)"), "{output}");
    assert!(output.contains("`kgctl project remove keys`"), "{output}");
    let mut agent = home.agent("", &["--all-projects", "--tools", "core,notes"]);
    let error = agent.call("status", json!({"project": "keys"})).expect_err("it is not served");
    assert!(error["hint"].as_str().is_some_and(|hint| !hint.contains("keys")), "{error}");
    for project in ["notes", "app"] {
        agent.call("status", json!({"project": project})).expect("served");
    }
}
