//! Third-party clients that talk with `kg-mcp`: the official Python SDK of MCP, driven by
//! `tests/clients/drive.py`, and the command line of the MCP inspector, both also over HTTP. And
//! MCP's conformance suite, which only speaks HTTP.
//!
//! `tests/clients/setup.sh` installs them once below the target folder; that needs their
//! registries. `KG_CLIENTS` names another folder (empty: none). If they cannot be installed, each
//! test prints that and tests nothing. To run them:
//! `cargo nextest run --workspace --test it -E 'test(/real_clients/)' --no-capture`.

use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

use serde_json::{Value, json};
use tests::SharedHome;
use tests::http::Serving;

/// How long the setup may take, seconds.
const SETUP_SECONDS: &str = "180";

/// How long a client may take, seconds. Only a bug takes this long.
const CLIENT_SECONDS: &str = "200";

/// A failed setup is not tried again for this long: other tests need it, too.
const TRY_AGAIN: Duration = Duration::from_secs(600);

const BEES: (&str, &str, &str) = ("notes", "bees.md", "# Bees\n\nThey fly. Bees dance.\n");

/// Returns the folder with the clients; prints a message and returns `None` if they are missing.
fn clients() -> Option<PathBuf> {
    let folder = match std::env::var_os("KG_CLIENTS") {
        Some(named) => PathBuf::from(named),
        // `target/debug/deps/it-0123` and `target/clients`.
        None => std::env::current_exe().ok()?.ancestors().nth(3)?.join("clients"),
    };
    let set_up = match folder.as_os_str().is_empty() {
        true => Err("`KG_CLIENTS` is empty".to_string()),
        false => set_up(&folder),
    };
    match set_up {
        Ok(()) => Some(folder),
        Err(why) => {
            eprintln!("skipped: there are no MCP clients of others: {why}");
            None
        }
    }
}

/// Installs the clients unless they are installed; returns the reason if that fails.
fn set_up(folder: &Path) -> Result<(), String> {
    let lock = folder.with_extension("lock");
    let lock =
        OpenOptions::new().create(true).append(true).open(lock).map_err(|it| it.to_string())?;
    // Test processes run in parallel: one installs, the others wait for it.
    lock.lock().map_err(|it| it.to_string())?;
    let failed = folder.with_extension("failed");
    if let Some(why) = lately(&failed) {
        return Err(why);
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("clients/setup.sh");
    let mut command = Command::new("timeout");
    command.arg(SETUP_SECONDS).arg("sh").arg(script).arg(folder);
    let output = command.output().map_err(|error| format!("`timeout`: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let errors = String::from_utf8_lossy(&output.stderr);
    let why = match output.status.code() {
        Some(124) => format!("installing them took more than {SETUP_SECONDS} s"),
        _ => errors.lines().last().unwrap_or("no reason was given").to_string(),
    };
    std::fs::write(failed, &why).map_err(|it| it.to_string())?;
    Err(why)
}

/// Returns why the setup failed, if that was recent.
fn lately(failed: &Path) -> Option<String> {
    let modified = File::open(failed).ok()?.metadata().ok()?.modified().ok()?;
    let is_recent = modified.elapsed().is_ok_and(|it| it < TRY_AGAIN);
    is_recent.then(|| std::fs::read_to_string(failed).ok()).flatten()
}

fn kg_mcp() -> PathBuf {
    tests::kgctl().with_file_name("kg-mcp")
}

/// Runs a program of the clients in a home, with a time limit.
fn run(home: &SharedHome, clients: &Path, program: &Path, arguments: &[&str]) -> Output {
    let own = clients.join("venv/bin");
    let paths = std::env::var_os("PATH").unwrap_or_default();
    let paths = std::env::join_paths(std::iter::once(own).chain(std::env::split_paths(&paths)));
    let mut command = home.command(Path::new("timeout"));
    command
        .arg(CLIENT_SECONDS)
        .arg(program)
        .args(arguments)
        .env("PATH", paths.expect("paths without a colon"))
        .env("PYTHONWARNINGS", "ignore");
    command.output().expect("`timeout` runs")
}

/// Runs `drive.py`, which must succeed, with a server that ends by itself.
fn drive(home: &SharedHome, clients: &Path, what: &[&str], flags: &[&str]) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("clients/drive.py");
    let (script, server) = (script.display().to_string(), kg_mcp().display().to_string());
    let arguments = [&[script.as_str()], what, &[server.as_str()], flags].concat();
    let output = run(home, clients, &clients.join("venv/bin/python"), &arguments);
    let (printed, error) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{:?}\n{printed}\n{error}", output.status);
    assert!(printed.ends_with("ok: ended\n"), "{printed}");
    assert!(error.contains("kg-mcp ended: 0"), "it did not end by itself:\n{error}");
}

fn drive_one(revision: &str) {
    let Some(clients) = clients() else { return };
    let home = SharedHome::of(&[BEES]);
    let folder = home.at("notes").display().to_string();
    drive(
        &home,
        &clients,
        &[revision, &folder],
        &["--project", "notes", "--tools", "core,notes", "--structured"],
    );
}

/// Starts `kg-mcp --http` in front of the project `notes`.
fn serve(home: &SharedHome) -> Serving {
    let mut command = home.command(&kg_mcp());
    command.args([
        "--http",
        "127.0.0.1:0",
        "--project",
        "notes",
        "--tools",
        "core,notes",
        "--structured",
    ]);
    Serving::start(command)
}

/// Runs `drive.py` against it.
fn drive_http(revision: &str, path: &str) {
    let Some(clients) = clients() else { return };
    let home = SharedHome::of(&[BEES]);
    let serving = serve(&home);
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("clients/drive.py");
    let script = script.display().to_string();
    let (folder, url) = (home.at("notes").display().to_string(), serving.url(path));
    let arguments = [script.as_str(), revision, &folder, &url];
    let output = run(&home, &clients, &clients.join("venv/bin/python"), &arguments);
    let (printed, error) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{:?}\n{printed}\n{error}", output.status);
    assert!(printed.ends_with("ok: ended\n"), "{printed}");
    assert_eq!(serving.stop(), Some(0));
}

#[test]
fn the_python_sdk_works_over_http_in_the_newest_revision() {
    drive_http("newest", "/mcp");
}

#[test]
fn the_python_sdk_works_over_http_with_a_session() {
    drive_http("2025-11-25", "/mcp");
}

#[test]
fn the_python_sdk_works_over_the_older_transport() {
    drive_http("2025-06-18", "/sse");
}

/// Runs the scenarios that a revision requires of servers; what fails must be in the baseline, and
/// what is in the baseline must fail.
fn conforms(revision: &str) {
    let Some(clients) = clients() else { return };
    let home = SharedHome::of(&[BEES]);
    let serving = serve(&home);
    // Starts the daemon first, so that no scenario waits for it.
    serving.http.call_once("status", json!({})).expect("answered");
    let suite = "conformance/node_modules/@modelcontextprotocol/conformance/dist/index.js";
    let baseline = format!("clients/conformance-{revision}.yaml");
    let baseline = Path::new(env!("CARGO_MANIFEST_DIR")).join(baseline).display().to_string();
    let (suite, url) = (clients.join(suite).display().to_string(), serving.url("/mcp"));
    let results = home.at("results").display().to_string();
    let arguments = [
        suite.as_str(),
        "server",
        "--url",
        &url,
        "--requirements",
        revision,
        "--timeout",
        "10000",
        "--expected-failures",
        &baseline,
        "-o",
        &results,
    ];
    let output = run(&home, &clients, Path::new("node"), &arguments);
    let printed = String::from_utf8_lossy(&output.stdout);
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "{}\n{error}",
        printed.get(printed.len().saturating_sub(4_000)..).unwrap_or(&printed)
    );
}

#[test]
fn the_conformance_suite_of_the_newest_revision_fails_only_where_it_needs_tools_of_its_own() {
    conforms("2026-07-28");
}

#[test]
fn the_conformance_suite_of_the_revision_before_fails_only_where_it_needs_tools_of_its_own() {
    conforms("2025-11-25");
}

#[test]
fn the_command_line_of_the_inspector_works_over_both_transports() {
    let Some(clients) = clients() else { return };
    let home = SharedHome::of(&[BEES]);
    let serving = serve(&home);
    let script =
        clients.join("inspector/node_modules/@modelcontextprotocol/inspector/cli/build/cli.js");
    let script = script.display().to_string();
    for (path, transport) in [("/mcp", "http"), ("/sse", "sse")] {
        let url = serving.url(path);
        let call =
            ["--method", "tools/call", "--tool-name", "read_note", "--tool-arg", "path=bees.md"];
        let arguments =
            [&[script.as_str(), "--cli", &url, "--transport", transport], &call[..]].concat();
        let output = run(&home, &clients, Path::new("node"), &arguments);
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{path}: {error}");
        let note: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        assert_eq!(note["structuredContent"]["path"], "bees.md", "{note}");
    }
}

#[test]
fn the_python_sdk_works_in_the_newest_revision() {
    drive_one("newest");
}

#[test]
fn the_python_sdk_works_in_the_last_revision_with_a_handshake() {
    drive_one("2025-11-25");
}

#[test]
fn the_python_sdk_works_in_an_older_revision() {
    drive_one("2025-06-18");
}

#[test]
fn the_python_sdk_works_with_several_projects() {
    let Some(clients) = clients() else { return };
    let home = SharedHome::of(&[
        ("alpha", "bees.md", "# Bees\n\nThey fly.\n"),
        ("beta", "ants.md", "# Ants\n\nThey walk.\n"),
    ]);
    let flags =
        ["--project", "alpha", "--project", "beta", "--tools", "core,notes", "--structured"];
    drive(&home, &clients, &["several", "alpha,beta"], &flags);
}

#[test]
fn the_command_line_of_the_inspector_lists_calls_and_reads() {
    let Some(clients) = clients() else { return };
    let home = SharedHome::of(&[BEES]);
    let script =
        clients.join("inspector/node_modules/@modelcontextprotocol/inspector/cli/build/cli.js");
    let server = kg_mcp().display().to_string();
    let ask = |method: &[&str]| -> Value {
        let script = script.display().to_string();
        let server = [
            script.as_str(),
            "--cli",
            &server,
            "--project",
            "notes",
            "--tools",
            "core,notes",
            "--structured",
        ];
        let arguments = [&server[..], &["--method"], method].concat();
        let output = run(&home, &clients, Path::new("node"), &arguments);
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{method:?}: {error}");
        serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|why| panic!("{method:?}: {why} {error}"))
    };
    let names = |list: &Value, field: &str| -> Vec<String> {
        let rows = list.as_array().expect("a list").iter();
        rows.filter_map(|it| it[field].as_str().map(String::from)).collect()
    };
    let tools = names(&ask(&["tools/list"])["tools"], "name");
    assert!(
        tools.contains(&"hybrid_query".into()) && tools.contains(&"write_note".into()),
        "{tools:?}"
    );
    let call = ["tools/call", "--tool-name", "read_note", "--tool-arg", "path=bees"];
    let note = ask(&call);
    assert_eq!(note["structuredContent"]["path"], "bees.md", "{note}");
    let failed = ask(&["tools/call", "--tool-name", "read_note", "--tool-arg", "path=wasps"]);
    assert_eq!(
        (&failed["isError"], &failed["structuredContent"]["code"]),
        (&json!(true), &json!("not_found"))
    );
    let uris = names(&ask(&["resources/list"])["resources"], "uri");
    assert_eq!(uris, ["kgd://project_info", "memory://bees"]);
    let read = ask(&["resources/read", "--uri", "memory://bees"]);
    assert_eq!(read["contents"][0]["text"], BEES.2);
    let prompts = names(&ask(&["prompts/list"])["prompts"], "name");
    assert!(prompts.contains(&"search".into()), "{prompts:?}");
    let prompt = ask(&["prompts/get", "--prompt-name", "search", "--prompt-args", "query=bees"]);
    assert!(
        prompt["messages"][0]["content"]["text"].as_str().is_some_and(|it| it.contains("They fly")),
        "{prompt}"
    );
}
