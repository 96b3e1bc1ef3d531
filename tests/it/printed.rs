//! Commands that messages print, typed as they stand: with two projects, one of which has a blank in its folder and
//! its name; and what the scripts of the plugin say.

use std::collections::BTreeSet;
use std::process::{Command, Output};

use serde_json::json;
use tests::SharedHome;

/// Types a command into a shell in the home folder.
fn typed(home: &SharedHome, command: &str) -> Output {
    let programs = tests::kgctl().parent().expect("a folder");
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap_or_default());
    let mut shell = home.command("sh".as_ref());
    shell.env("PATH", path).args(["-c", command]).stdin(std::process::Stdio::null());
    shell.output().expect("a shell")
}

/// Returns the commands of a text: those between backticks, and those at the end of a line.
fn commands_in(text: &str) -> Vec<String> {
    let quoted = text.lines().flat_map(|line| line.split('`').skip(1).step_by(2));
    let last = text.lines().filter_map(|line| line.find(": kgctl ").map(|at| &line[at + 2..]));
    quoted.filter(|it| it.starts_with("kgctl ")).chain(last).map(String::from).collect()
}

#[test]
fn every_command_that_a_message_prints_works_as_typed() {
    let home = SharedHome::of(&[("plain", "a.md", "# Bees\n\nBees make honey.\n")]);
    let text = "---\ntitle: Jam's Pot\n---\nJam is sweet.\n\n[[Nowhere]]\n";
    home.write("My Notes/a note.md", text);
    home.write("My Notes/broken.pdf", "no PDF");
    let mut said = home.kgctl_done(&["init", "My Notes"]);
    home.kgctl_done(&["wait", "--project", "My Notes"]);
    let provoked: [&[&str]; 21] = [
        &["init", "My Notes"],
        &["status"],
        &["doctor"],
        &["backup"],
        &["restore"],
        &["http"],
        &["http", "clients"],
        &["http", "token"],
        &["read", "missing.md"],
        &["read", "nothing here"],
        &["explain", "nobody"],
        &["lookup", "nobody"],
        &["query", "x", "--type", "nothing"],
        &["retry", "missing.md"],
        &["forget", "."],
        &["memory", "consolidate"],
        &["review"],
        &["export", "csv", "--to", "plain"],
        &["open", "--print"],
        &["model", "list"],
        &["setup", "cursor", "--yes"],
    ];
    for arguments in provoked {
        let output = home.kgctl(&[&["--project", "My Notes"], arguments].concat());
        said += &String::from_utf8_lossy(&output.stdout);
        said += &String::from_utf8_lossy(&output.stderr);
    }
    said += &home.kgctl_done(&["project", "add", "My Notes"]);
    let mut agent = home.agent("My Notes", &["--tools", "default,notes"]);
    for (tool, arguments) in [
        ("write_note", json!({"title": "Tea Pot", "directory": "a b", "content": "x"})),
        ("delete_note", json!({"path": "a b/tea-pot.md"})),
        ("read_note", json!({"path": "nothing.md"})),
        ("create_memory_project", json!({"path": "/tmp/no such place", "name": "it's new"})),
        ("status", json!({})),
    ] {
        let reply = agent.ask("tools/call", json!({"name": tool, "arguments": arguments}));
        said += reply["result"]["content"][0]["text"].as_str().unwrap_or_default();
        said += &reply["error"].to_string().replace("\\n", "\n");
    }
    std::fs::rename(home.at("plain"), home.at("moved")).expect("renamed");
    said += &String::from_utf8_lossy(&home.kgctl(&["doctor"]).stdout);
    std::fs::rename(home.at("moved"), home.at("plain")).expect("renamed");

    let commands: BTreeSet<String> = commands_in(&said).into_iter().collect();
    assert!(commands.len() > 10, "{commands:?}\n{said}");
    // What would change something is asked for its help, which needs the same words to be understood.
    let changes =
        ["init", "remove", "project", "restart", "stop", "http on", "setup", "verify --repair"];
    for command in &commands {
        let rest = command.strip_prefix("kgctl ").expect("a command");
        if changes.iter().any(|it| rest.starts_with(it)) {
            let words = rest.split(" --").next().unwrap_or(rest);
            let output = typed(&home, &format!("kgctl {words} --help"));
            assert!(output.status.success(), "{command}: {output:?}");
            continue;
        }
        let output = typed(&home, command);
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        let code = output.status.code();
        assert!(
            matches!(code, Some(0 | 1 | 3)) && !error.contains("Usage:"),
            "{command}: {code:?} {error}"
        );
        let is_of_none =
            ["kgctl list", "kgctl model", "kgctl man"].iter().any(|it| command.starts_with(it));
        assert!(is_of_none || command.contains("--project 'My Notes'"), "{command} in\n{said}");
    }
    // In the folder of the project no flag is needed.
    let here = home.command(tests::kgctl()).current_dir(home.at("My Notes")).arg("backup").output();
    let here = String::from_utf8_lossy(&here.expect("it runs").stdout).into_owned();
    assert!(here.contains("`kgctl backup --restore ") && !here.contains("--project"), "{here}");
}

/// Runs a script of the plugin with these programs on the path only.
fn script(home: &SharedHome, name: &str, folder: &str, path: &str) -> (i32, String, String) {
    let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../config/plugin").join(name);
    let mut command: Command = home.command(&file);
    command.env("PATH", path).env("HOME", home.at("")).env("CLAUDE_PROJECT_DIR", home.at(folder));
    let output = command.stdin(std::process::Stdio::null()).output().expect("it runs");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code().unwrap_or(-1), text(&output.stdout), text(&output.stderr))
}

#[test]
fn the_plugin_speaks_only_where_a_project_is() {
    let home = SharedHome::of(&[("My Notes", "deep/a.md", "# Bees\n")]);
    home.write("elsewhere/b.md", "# B\n");
    let programs = tests::kgctl().parent().expect("a folder");
    let path = format!("{}:/usr/bin:/bin", programs.display());
    let hook = |folder, path: &str| script(&home, "hooks/session-start.sh", folder, path);
    for folder in ["My Notes", "My Notes/deep"] {
        let (code, out, err) = hook(folder, &path);
        assert_eq!((code, &*err), (0, ""));
        assert!(out.starts_with("kgd has an index of documents here: My Notes  "), "{out}");
    }
    // Neither the only project nor the default one is meant by a folder outside of it.
    for folder in ["elsewhere", "", "missing"] {
        assert_eq!(hook(folder, &path), (0, String::new(), String::new()), "{folder}");
    }
    assert_eq!(hook("My Notes", "/usr/bin:/bin"), (0, String::new(), String::new()));
    assert_eq!(home.kgctl(&["status", "--here"]).status.code(), Some(3));
}

#[test]
fn the_plugin_fetches_nothing_where_kg_mcp_is_missing() {
    let home = SharedHome::of(&[]);
    // Programs that would fetch a package of that name say so.
    for name in ["uvx", "npx", "pipx", "curl", "wget", "cargo"] {
        home.write(&format!("bin/{name}"), &format!("#!/bin/sh\necho {name} ran\n"));
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(home.at(&format!("bin/{name}")), mode).expect("a program");
    }
    let path = format!("{}:/usr/bin:/bin", home.at("bin").display());
    let (code, out, err) = script(&home, "scripts/kg-mcp.sh", "", &path);
    assert_eq!((code, &*out), (1, ""));
    assert!(err.starts_with("error: kg-mcp is neither on the path"), "{err}");
}
