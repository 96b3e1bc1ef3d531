//! Connecting agents with `kgctl setup`, testing that with `kgctl doctor --client`, and what the
//! command line asks and prints meanwhile.

use std::process::Stdio;

use expect_test::expect;
use proto::catalog::CATALOG;
use proto::tool::ToolSet;
use serde_json::{Value, json};
use tests::SharedHome;

const NOTES: (&str, &str, &str) = ("notes", "a.md", "# Bees\n\nBees make honey.\n");

/// Runs `kgctl` as a user whose home is the shared one; returns exit code, output and errors with
/// variable parts replaced.
fn kgctl(home: &SharedHome, arguments: &[&str]) -> (i32, String, String) {
    let mut command = home.command(tests::kgctl());
    for variable in ["XDG_CONFIG_HOME", "CODEX_HOME", "CLAUDE_CONFIG_DIR"] {
        command.env_remove(variable);
    }
    let output = command.env("HOME", home.at("")).args(arguments).stdin(Stdio::null()).output();
    let output = output.expect("it runs");
    let programs = tests::kgctl().parent().expect("a folder").display().to_string();
    let text = |bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes).replace(&programs, "<bin>");
        text.replace(&format!("{}/", home.at("").display()).replace("//", "/"), "~/")
    };
    (output.status.code().unwrap_or(-1), text(&output.stdout), text(&output.stderr))
}

fn done(home: &SharedHome, arguments: &[&str]) -> String {
    let (code, out, err) = kgctl(home, arguments);
    assert_eq!(code, 0, "{arguments:?}: {err}");
    out
}

fn n_tools(set: ToolSet) -> usize {
    CATALOG.iter().filter(|it| it.is_in(set)).count()
}

fn read(home: &SharedHome, path: &str) -> String {
    std::fs::read_to_string(home.at(path)).unwrap_or_default()
}

#[test]
fn the_entry_is_shown_written_and_taken_back() {
    let home = SharedHome::of(&[NOTES]);
    let before =
        "{\n  // Mine.\n  \"mcpServers\": {\n    \"other\": { \"command\": \"x\" },\n  },\n}\n";
    home.write("notes/.cursor/mcp.json", before);
    expect![[r#"
        In ~/notes/.cursor/mcp.json:
        +     "kgd-notes": {
        +       "command": "<bin>/kg-mcp",
        +       "args": ["--project", "notes", "--tools", "core"],
        +       "env": {
        +         "KG_CONFIG_DIR": "~/config",
        +         "KG_RUNTIME_DIR": "~/run",
        +         "KG_STATE_DIR": "~/state"
        +       }
        +     },
        Tools: core (N to search, explain and review). Others: --tools default,kb,memory
    "#]]
    .assert_eq(
        &done(&home, &["setup", "cursor", "--tools", "core", "--dry-run"])
            .replace(&format!("({} to", n_tools(ToolSet::Core)), "(N to"),
    );
    let (code, _, err) = kgctl(&home, &["setup", "cursor"]);
    assert_eq!(
        (code, &*err),
        (2, "error: nothing was written\nhint: `--yes` skips this question\n")
    );
    assert_eq!(read(&home, "notes/.cursor/mcp.json"), before);

    let out = done(&home, &["setup", "cursor", "--yes"]);
    let advice = out.split_once("Written. ").expect(&out).1;
    expect![[r#"
        Restart Cursor, or reload its MCP servers.
        Take it back: kgctl setup cursor --undo
        Try it: kgctl doctor --client cursor
    "#]]
    .assert_eq(advice);
    assert!(read(&home, "notes/.cursor/mcp.json").contains(r#""--tools", "default""#));
    let out = done(&home, &["setup", "cursor", "--yes"]);
    assert!(out.starts_with("`kgd-notes` is in ~/notes/.cursor/mcp.json already\n"), "{out}");
    let out = done(&home, &["setup", "cursor", "--tools", "core", "--print"]);
    assert!(out.contains("-       \"args\":") && out.contains("+       \"args\":"), "{out}");

    done(&home, &["setup", "cursor", "--undo", "--yes"]);
    assert_eq!(read(&home, "notes/.cursor/mcp.json"), before);
    let (code, _, err) = kgctl(&home, &["setup", "cursor", "--undo", "--yes"]);
    assert!(code == 3 && err.contains("has no entry `kgd-notes`"), "{err}");
}

#[test]
fn each_agent_gets_its_file() {
    let home = SharedHome::of(&[NOTES]);
    let reply = |arguments: &[&str]| -> Value {
        let arguments = [&["setup", "--yes", "--json"], arguments].concat();
        serde_json::from_str(&done(&home, &arguments)).expect("JSON")
    };
    for (arguments, path) in [
        (&["claude-code"][..], "notes/.mcp.json"),
        (&["claude-code", "--user"], ".claude.json"),
        (&["claude-desktop"], ".config/Claude/claude_desktop_config.json"),
        (&["codex"], ".codex/config.toml"),
        (&["cursor", "--user"], ".cursor/mcp.json"),
        (&["vscode"], "notes/.vscode/mcp.json"),
        (&["zed"], ".config/zed/settings.json"),
        (&["gemini", "--folder=config"], "config/.gemini/settings.json"),
    ] {
        let outcome = reply(arguments);
        assert_eq!(
            (&outcome["change"], &outcome["written"]),
            (&json!("add"), &json!(true)),
            "{outcome}"
        );
        assert_eq!(outcome["path"], format!("~/{path}"));
        assert!(read(&home, path).contains("kgd-notes"), "{path}");
        assert_eq!(reply(arguments)["change"], "none");
        let back = [arguments, &["--undo"]].concat();
        assert_eq!(reply(&back)["change"], "remove");
        assert!(!home.at(path).exists(), "what was made is gone: {path}");
    }
    // An existing file stays, without the list that was added with the entry.
    home.write("notes/.mcp.json", "{ \"a\": 1 }\n");
    reply(&["claude-code"]);
    reply(&["claude-code", "--undo"]);
    assert_eq!(read(&home, "notes/.mcp.json"), "{ \"a\": 1 }\n");
    let (code, _, err) = kgctl(&home, &["setup", "zed", "--folder", "--yes"]);
    assert!(code == 2 && err.contains("Zed has no file for a folder"), "{err}");
}

#[test]
fn a_file_that_is_not_understood_is_not_touched() {
    let home = SharedHome::of(&[NOTES]);
    home.write(".codex/config.toml", "a = 1\nb = = 2\n");
    let (code, _, err) = kgctl(&home, &["setup", "codex", "--yes"]);
    assert_eq!(code, 2);
    expect![[r#"
        error: `~/.codex/config.toml`: line 2, column 5: extra `=`, expected nothing
        hint: nothing was written; this is the entry to add:
        [mcp_servers.kgd-notes]
        command = "<bin>/kg-mcp"
        args = ["--project", "notes", "--tools", "default"]
        env = { KG_CONFIG_DIR = "~/config", KG_RUNTIME_DIR = "~/run", KG_STATE_DIR = "~/state" }
    "#]]
    .assert_eq(&err);
    assert_eq!(read(&home, ".codex/config.toml"), "a = 1\nb = = 2\n");
}

#[test]
fn doctor_does_what_the_agent_would() {
    let home = SharedHome::of(&[NOTES]);
    let doctor = |agent: &str| {
        let (code, out, err) = kgctl(&home, &["doctor", "--client", agent, "--json"]);
        assert_eq!(err, "");
        let found: Value = serde_json::from_str(&out).expect("JSON");
        let found = found.as_array().expect("findings").clone();
        (code, found)
    };
    let last = |found: &[Value]| {
        let last = found.last().expect("a finding").clone();
        (last["subject"].clone(), last["detail"].as_str().unwrap_or_default().to_string())
    };
    let (code, found) = doctor("codex");
    assert!(code == 1 && last(&found).1.starts_with("no entry of kgd in"), "{found:?}");
    // Codex passes on none of the variables that locate kgd's files, so the entry contains them.
    done(&home, &["setup", "codex", "--yes"]);
    let (code, found) = doctor("codex");
    assert_eq!(code, 0, "{found:?}");
    let subjects: Vec<_> = found.iter().map(|it| it["subject"].as_str().unwrap_or("?")).collect();
    assert_eq!(subjects, ["file", "initialize", "tools/list", "status"]);
    let listed = found[2]["detail"].as_str().expect("text");
    let counted = format!("{} tools, ", n_tools(ToolSet::Default));
    assert!(listed.starts_with(&counted) && listed.contains(" characters ("), "{listed}");

    let entry = |command: &str, project: &str| {
        let args = ["--project", project];
        let entry = json!({ "mcpServers": { "kgd-notes": { "command": command, "args": args } } });
        home.write("notes/.mcp.json", &entry.to_string());
        doctor("claude-code")
    };
    let (code, found) = entry("/no/such/kg-mcp", "notes");
    assert_eq!(
        (code, last(&found)),
        (1, (json!("start"), "`/no/such/kg-mcp` was not found".into()))
    );
    let shim = tests::kgctl().with_file_name("kg-mcp").display().to_string();
    let (code, found) = entry(&shim, "nowhere");
    let (subject, detail) = last(&found);
    assert!(code == 1 && subject == "initialize" && detail.contains("`nowhere`"), "{found:?}");
    home.write("notes/.mcp.json", "{ oops");
    assert!(last(&doctor("claude-code").1).1.contains("line 1, column"));
}

#[test]
fn init_asks_where_something_else_may_be_meant() {
    let home = SharedHome::of(&[NOTES]);
    home.write("notes/inner/b.md", "# B\n");
    let (code, _, err) = kgctl(&home, &["init", "notes/inner"]);
    assert!(code == 2 && err.contains("lies inside") && err.contains("--yes"), "{err}");
    let (code, _, err) = kgctl(&home, &["init", "notes", "--name", "other"]);
    assert!(code == 2 && err.contains("is registered as `notes`; it would be renamed"), "{err}");
    assert!(done(&home, &["list"]).contains("notes"));
    let outcome: Value = serde_json::from_str(&done(
        &home,
        &["init", "notes", "--name", "other", "--yes", "--json"],
    ))
    .expect("JSON");
    assert_eq!((&outcome["name"], &outcome["new"]), (&json!("other"), &json!(false)));
    assert_eq!(outcome["tools"], "default");
    assert_eq!(outcome["mcp"]["mcpServers"]["other"]["args"][3], "default");
    assert!(done(&home, &["init", "notes", "--name", "other"]).contains("is already registered"));
    done(&home, &["stop"]);
}

#[test]
fn every_answer_can_be_json() {
    let home = SharedHome::of(&[NOTES]);
    let reply = |arguments: &[&str]| -> Value {
        serde_json::from_str(&done(&home, &[arguments, &["--json"]].concat())).expect("JSON")
    };
    done(&home, &["start"]);
    assert!(reply(&["logs"])["lines"].is_array());
    assert_eq!(reply(&["stop"]), json!({ "project": "notes", "was_running": true }));
    assert_eq!(reply(&["stop"])["was_running"], false);
    let (code, out, err) = kgctl(&home, &["wait", "--json", "--nonsense"]);
    let error: Value = serde_json::from_str(&err).expect("JSON");
    assert_eq!((code, out.as_str(), &error["error"]["code"]), (2, "", &json!("invalid_params")));
    assert!(
        error["error"]["message"].as_str().is_some_and(|it| it.contains("--nonsense")),
        "{err}"
    );
    let gone = reply(&["remove", "notes", "--purge", "--yes"]);
    assert_eq!((&gone["name"], &gone["purged"]), (&json!("notes"), &json!(true)));
}
