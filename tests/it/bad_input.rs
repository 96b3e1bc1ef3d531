//! Bad input is reported in `status` or to the client, and changes nothing else. Every test has a
//! bystander file, which must stay searchable.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use expect_test::{Expect, expect};
use serde_json::{Value, json};
use tests::{Client, TestProject};

const BYSTANDER: (&str, &str) =
    ("bystander.md", "# Bystander\n\nThe quince orchard blooms in April.\n");

/// Returns what `status` reports about a path: failures, warnings, and whether it is indexed.
fn told(project: &mut TestProject, path: &str) -> String {
    let status = project.status();
    let mut out = String::new();
    for (list, field) in [("quarantine", "reason"), ("warnings", "warning")] {
        for row in status[list].as_array().expect("a list") {
            if row["path"] == path {
                let stage =
                    row["stage"].as_str().map_or(String::new(), |stage| format!("{stage}: "));
                out += &format!("{list}: {stage}{}\n", row[field].as_str().expect("text"));
            }
        }
    }
    let graph = project.dump();
    if let Some(row) = graph.rows("document").find(|row| row["path"] == path) {
        out += &format!(
            "indexed as {:?}, {} bytes\n",
            row["title"].as_str().unwrap_or(""),
            row["bytes"]
        );
    }
    out
}

fn bystander_is_found(project: &mut TestProject) {
    assert_eq!(project.found("quince orchard")[0], BYSTANDER.0);
}

/// Indexes one file with these bytes next to the bystander; checks what is reported, and that its
/// words are found if they should be.
fn check(path: &str, bytes: &[u8], words: Option<&str>, expected: Expect) {
    let mut project = TestProject::of(&[BYSTANDER]);
    project.write(path, bytes);
    project.settle();
    expected.assert_eq(&told(&mut project, path));
    bystander_is_found(&mut project);
    if let Some(words) = words {
        assert_eq!(project.found(words)[0], path, "{words}");
    }
    // A repaired file is indexed, and its failure is forgotten.
    project.write(path, "# Repaired\n\nA walrus naps.\n");
    project.until_graph("repaired", |project| {
        (project.found("walrus naps").first().is_some_and(|first| first == path)
            && told(project, path).starts_with("indexed"))
        .then_some(())
    });
}

#[test]
fn an_empty_file() {
    check(
        "empty.md",
        b"",
        None,
        expect![[r#"
        indexed as "empty", 0 bytes
    "#]],
    );
}

#[test]
fn a_file_of_white_space() {
    check(
        "white.txt",
        b" \n\n\t\n",
        None,
        expect![[r#"
        indexed as "white", 5 bytes
    "#]],
    );
}

#[test]
fn a_file_of_ten_megabytes() {
    check(
        "big.txt",
        "a line of words\n".repeat(640_000).as_bytes(),
        None,
        expect![[r#"
        quarantine: watch: skipped: too large
    "#]],
    );
}

#[test]
fn nul_bytes() {
    check(
        "binary.txt",
        &b"\0\x01\x02data\0\0".repeat(1000),
        None,
        expect![[r#"
        quarantine: normalize: binary content in a text file; hint: rename it or list it in `.kgignore`
    "#]],
    );
    check(
        "stray.txt",
        b"one stray \0 in the turnip field",
        Some("turnip field"),
        expect![[r#"
        warnings: 1 NUL bytes were dropped
        indexed as "stray", 31 bytes
    "#]],
    );
}

#[test]
fn latin_1() {
    check(
        "latin.txt",
        b"Das Caf\xe9 am M\xfcnsterplatz verkauft Br\xf6tchen.\n",
        Some("Brötchen"),
        expect![[r#"
        warnings: not UTF-8: read as windows-1252
        indexed as "latin", 44 bytes
    "#]],
    );
}

#[test]
fn utf_16_with_a_mark() {
    let units: Vec<u16> = "\u{feff}# Meadow\r\n\r\nMeadow larks sing.\r\n".encode_utf16().collect();
    let little: Vec<u8> = units.iter().flat_map(|unit| unit.to_le_bytes()).collect();
    let big: Vec<u8> = units.iter().flat_map(|unit| unit.to_be_bytes()).collect();
    check(
        "little.md",
        &little,
        Some("meadow larks"),
        expect![[r#"
        warnings: not UTF-8: read as UTF-16LE
        indexed as "little", 66 bytes
    "#]],
    );
    check(
        "big.md",
        &big,
        Some("meadow larks"),
        expect![[r#"
        warnings: not UTF-8: read as UTF-16BE
        indexed as "big", 66 bytes
    "#]],
    );
}

#[test]
fn windows_line_ends_and_a_byte_order_mark() {
    let text = b"\xef\xbb\xbf---\r\ntitle: Fen\r\n---\r\n# Fen\r\n\r\nA bittern booms.\r\n";
    check(
        "fen.md",
        text,
        Some("bittern booms"),
        expect![[r#"
        indexed as "Fen", 52 bytes
    "#]],
    );
}

#[test]
fn invalid_yaml() {
    let text = b"---\ntitle: [unclosed\ntags: a: b\n---\n# Quarry\n\nGranite is cut.\n";
    check(
        "yaml.md",
        text,
        Some("granite cut"),
        expect![[r#"
        warnings: front matter is not YAML: line 3: illegal placement of ':' indicator
        indexed as "yaml", 62 bytes
    "#]],
    );
}

#[test]
fn an_alias_bomb() {
    let mut text = String::from("---\na0: &a0 [x, x, x, x, x, x, x, x, x]\n");
    for i in 1..12 {
        let refs = vec![format!("*a{}", i - 1); 9].join(", ");
        text += &format!("a{i}: &a{i} [{refs}]\n");
    }
    text += "---\n# Bomb\n\nNothing explodes in the vineyard.\n";
    check(
        "bomb.md",
        text.as_bytes(),
        Some("explodes vineyard"),
        expect![[r#"
        warnings: front matter is not YAML: line 6: budget breached: Events { events: 20001 }
        indexed as "bomb", 693 bytes
    "#]],
    );
}

#[test]
fn deep_nesting() {
    let quotes = format!("{}deep down a newt sleeps\n", "> ".repeat(20_000));
    check(
        "quotes.md",
        quotes.as_bytes(),
        None,
        expect![[r#"
        warnings: a line nests more than 100 lists or quotations; the document is read as plain text
        indexed as "quotes", 40024 bytes
    "#]],
    );
    let tags =
        format!("<html><body>{}deep down{}", "<div>".repeat(50_000), "</div>".repeat(50_000));
    check(
        "tags.html",
        tags.as_bytes(),
        None,
        expect![[r#"
        warnings: elements nest too deep; read without lists, tables and links
        indexed as "tags", 550021 bytes
    "#]],
    );
    let brackets = format!("---\nx: {}\n---\n# Y\n\nText.\n", "[".repeat(20_000));
    check(
        "brackets.md",
        brackets.as_bytes(),
        None,
        expect![[r#"
        warnings: front matter is not YAML: line 2: recursion limit exceeded
        indexed as "brackets", 20023 bytes
    "#]],
    );
}

#[test]
fn symlinks_to_nothing_in_circles_and_outside() {
    let mut project = TestProject::of(&[BYSTANDER]);
    project.write("folder/real.md", "# Real\n\nA real finch.\n");
    project.link("nowhere.md", "dangling.md");
    project.link("circle-b.md", "circle-a.md");
    project.link("circle-a.md", "circle-b.md");
    project.link("..", "folder/up");
    project.link("/etc", "outside");
    project.link("/etc/hostname", "outside.txt");
    project.settle();
    // Links to folders have no extension; a crawl lists them.
    project.restart();
    project
        .until("all is listed", |status| status["quarantine"].as_array().map(Vec::len) >= Some(6));
    let mut out = String::new();
    for path in ["dangling.md", "circle-a.md", "circle-b.md", "folder/up", "outside", "outside.txt"]
    {
        out += &format!("{path} {}", told(&mut project, path));
        if !out.ends_with('\n') {
            out.push('\n');
        }
    }
    expect![[r#"
        dangling.md quarantine: watch: skipped: dangling symlink
        circle-a.md quarantine: watch: skipped: symlink loop
        circle-b.md quarantine: watch: skipped: symlink loop
        folder/up quarantine: watch: skipped: symlink loop
        outside quarantine: watch: skipped: symlink out of the root
        outside.txt quarantine: watch: skipped: symlink out of the root
    "#]]
    .assert_eq(&out);
    bystander_is_found(&mut project);
    assert_eq!(project.found("real finch")[0], "folder/real.md");
    let paths: Vec<String> =
        project.dump().rows("document").map(|row| row["path"].to_string()).collect();
    assert_eq!(paths.len(), 2, "{paths:?}");
}

#[test]
fn a_folder_or_pipe_named_like_a_document() {
    let mut project = TestProject::of(&[BYSTANDER]);
    project.write("folder.md/inside.md", "# Inside\n\nA badger digs.\n");
    let made = std::process::Command::new("mkfifo").arg(project.at("pipe.md")).status();
    assert!(made.expect("`mkfifo` runs").success());
    project.settle();
    assert_eq!(project.found("badger digs")[0], "folder.md/inside.md");
    bystander_is_found(&mut project);
    let status = project.until("the pipe is listed", |status| {
        status["quarantine"].as_array().is_some_and(|rows| !rows.is_empty())
    });
    assert_eq!(status["quarantine"][0]["path"], "pipe.md", "{}", status["quarantine"]);
    expect![[r#"
        quarantine: watch: skipped: not a regular file
    "#]]
    .assert_eq(&told(&mut project, "pipe.md"));
}

/// Returns whether this runs as root, for whom no file is unreadable.
fn is_root() -> bool {
    let is_root = config::place::current_uid() == 0;
    if is_root {
        eprintln!("skipped: root may read everything");
    }
    is_root
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).expect("our own file");
}

#[test]
fn an_unreadable_file_keeps_what_was_known_of_it() {
    if is_root() {
        return;
    }
    let mut project = TestProject::of(&[BYSTANDER, ("a.md", "# A\n\nA heron waits.\n")]);
    set_mode(&project.at("a.md"), 0o000);
    project.write("b.md", "# B\n\nB.\n");
    set_mode(&project.at("b.md"), 0o000);
    project
        .until("listed", |status| status["quarantine"].as_array().is_some_and(|q| !q.is_empty()));
    bystander_is_found(&mut project);
    assert_eq!(project.found("heron waits")[0], "a.md");
    set_mode(&project.at("a.md"), 0o600);
    set_mode(&project.at("b.md"), 0o600);
    project.settle();
}

#[test]
fn a_folder_that_loses_its_permission_deletes_nothing() {
    if is_root() {
        return;
    }
    let mut project = TestProject::of(&[BYSTANDER, ("sub/a.md", "# A\n\nA heron waits.\n")]);
    set_mode(&project.at("sub"), 0o000);
    project.write("new.md", "# New\n\nNew.\n");
    project.until("listed", |status| {
        !status["quarantine"].as_array().expect("a list").is_empty()
            || !status["warnings"].as_array().expect("a list").is_empty()
    });
    assert_eq!(project.found("heron waits")[0], "sub/a.md");
    set_mode(&project.at("sub"), 0o700);
    project.settle();
}

#[test]
fn a_root_that_goes_away_deletes_nothing() {
    let mut project = TestProject::of(&[BYSTANDER, ("sub/a.md", "# A\n\nA heron waits.\n")]);
    let root = project.root().to_path_buf();
    let away = project.scratch().join("away");
    fs::rename(&root, &away).expect("it is there");
    let status = project.until("the root is missed", |status| {
        status["warnings"].as_array().is_some_and(|rows| !rows.is_empty())
    });
    let shown = status["warnings"].to_string().replace(&root.display().to_string(), "ROOT");
    expect![[r#"[{"path":".","warning":"the root `ROOT` cannot be read: No such file or directory (os error 2); nothing is removed; hint: restore or mount it"}]"#]].assert_eq(&shown);
    assert_eq!(status["progress"]["indexed"], 2);
    bystander_is_found(&mut project);
    // An empty mount point in its place does not empty the index either.
    fs::create_dir(&root).expect("free");
    project.restart();
    let status = project.until("the root is empty", |status| {
        status["warnings"].as_array().is_some_and(|rows| !rows.is_empty())
    });
    let shown = status["warnings"].to_string().replace(&root.display().to_string(), "ROOT");
    expect![[r#"[{"path":".","warning":"the root `ROOT` is empty, but files of it are known; nothing is removed; hint: is it mounted?"}]"#]].assert_eq(&shown);
    assert_eq!(status["progress"]["indexed"], 2);
    assert_eq!(project.found("heron waits")[0], "sub/a.md");
    fs::remove_dir(&root).expect("empty");
    fs::rename(&away, &root).expect("it was there");
    project.restart();
    project.until("all is well", |status| {
        status["settled"] == true && status["warnings"].as_array().is_some_and(Vec::is_empty)
    });
    assert_eq!(project.status()["progress"]["indexed"], 2);
}

#[test]
fn a_missing_root_is_told_at_the_start() {
    let project = TestProject::empty();
    fs::remove_dir(project.root()).expect("empty");
    let output = project.command().output().expect("it runs");
    assert_eq!(output.status.code(), Some(2));
    let message = String::from_utf8_lossy(&output.stderr);
    let message = message.replace(&project.scratch().display().to_string(), "SCRATCH");
    expect![[r#"
        kgd: no project or folder is called `SCRATCH/notes` (from `--project`); none is registered
        hint: register a folder with `kgctl init DIR`
    "#]]
    .assert_eq(&message);
}

#[test]
fn one_name_for_two_documents_is_nobody_s_guess() {
    let mut project = TestProject::of(&[
        BYSTANDER,
        ("north/Dock.md", "# Dock\n\nThe northern dock has a crane.\n"),
        ("south/Dock.md", "# Dock\n\nThe southern dock has a slipway.\n"),
        ("north/plan.md", "# Plan\n\nPaint the [[Dock]] in May.\n"),
        ("plan.md", "# Plans\n\nPaint a [[Dock]] in June.\n"),
    ]);
    assert_eq!(project.found("dock crane")[0], "north/Dock.md");
    assert_eq!(project.found("dock slipway")[0], "south/Dock.md");
    bystander_is_found(&mut project);
    let table: String = project
        .dump()
        .mention_table()
        .lines()
        .filter(|line| line.contains("plan.md"))
        .map(|line| format!("{line}\n"))
        .collect();
    expect![[r#"
        north/plan.md:3 "Dock" stated Document -> Dock <north/Dock.md>
        plan.md:1 "Plans" gazetteer Concept -> Plans <plan.md>
        plan.md:3 "Dock" stated Document -> -
    "#]]
    .assert_eq(&table);
    let error = project.try_call("explain_entity", json!({"name": "Dock"})).expect_err("two docks");
    // A note's id depends on its uid, which differs in each run.
    let words = said(&error["message"]);
    let words = words
        .split(' ')
        .map(|word| if word.parse::<i64>().is_ok_and(|n| n > 2) { "N" } else { word });
    expect![[r#"
        ambiguous: `Dock` names 2 notes: N (north/Dock.md), N (south/Dock.md)
        hint: call again with one of these as `entity_id`"#]]
    .assert_eq(&format!(
        "{}: {}\nhint: {}",
        said(&error["code"]),
        words.collect::<Vec<_>>().join(" "),
        said(&error["hint"])
    ));
}

fn said(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), String::from)
}

#[test]
fn files_that_vanish_while_they_are_read() {
    let mut project = TestProject::of(&[BYSTANDER]);
    for round in 0..300 {
        let path = format!("passing/{}.md", round % 7);
        project.write(&path, format!("# Passing {round}\n\nHere and gone.\n"));
        if round % 3 != 0 {
            project.remove(&path);
        }
        if round % 50 == 0 {
            fs::remove_dir_all(project.at("passing")).expect("it is there");
        }
    }
    fs::remove_dir_all(project.at("passing")).expect("it is there");
    project.settle();
    let status = project.status();
    assert_eq!(status["quarantine"], json!([]));
    assert_eq!(status["counts"]["documents"], 1);
    bystander_is_found(&mut project);
}

#[test]
fn a_client_that_sends_garbage() {
    let mut project = TestProject::of(&[BYSTANDER]);
    let mut client = Client::connect(&project.paths().socket).expect("it listens");
    client
        .send_bytes(
            b"GET / HTTP/1.1\r\nHost: x\r\n\r\n\xff\xfe\0garbage\n{\"jsonrpc\":\"2.0\"}\n[]\n",
        )
        .expect("it reads");
    client.finish_sending();
    let mut out = String::new();
    while let Some(message) = client.hear() {
        out += &format!("{} {}\n", message["error"]["code"], said(&message["error"]["message"]));
    }
    expect![[r#"
        -32700 not JSON: expected value at line 1 column 1
        -32700 not JSON: expected value at line 1 column 1
        -32700 not JSON: expected value at line 1 column 1
        -32600 this is JSON, but not a JSON-RPC 2.0 message
        -32600 a batch holds 1 to 64 messages, not 0
    "#]]
    .assert_eq(&out);
    bystander_is_found(&mut project);
}

#[test]
fn a_client_that_sends_half_a_line() {
    let mut project = TestProject::of(&[BYSTANDER]);
    let mut client = Client::connect(&project.paths().socket).expect("it listens");
    client.send_bytes(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"").expect("it reads");
    bystander_is_found(&mut project);
    client.finish_sending();
    assert_eq!(client.hear(), None);
    bystander_is_found(&mut project);
}

#[test]
fn a_hundred_megabytes_without_a_line_end() {
    const MIB: usize = 1 << 20;
    let mut project = TestProject::of(&[BYSTANDER]);
    bystander_is_found(&mut project);
    let before = project.resident_bytes();
    let mut client = project.agent();
    let block = vec![b'x'; MIB];
    for _ in 0..100 {
        client.send_bytes(&block).expect("it reads");
    }
    let grown = project.resident_bytes().saturating_sub(before);
    assert!(grown < 20 * MIB as u64, "{} MiB more", grown / MIB as u64);
    client.send_bytes(b"\n").expect("it reads");
    let answer = client.hear().expect("it tells");
    expect!["-32600 the line is too long: at most 1 MiB a message"].assert_eq(&format!(
        "{} {}",
        answer["error"]["code"],
        said(&answer["error"]["message"])
    ));
    assert_eq!(client.ask("ping", json!({}))["result"], json!({}), "the session goes on");
    bystander_is_found(&mut project);
}

#[test]
fn a_client_that_never_reads() {
    let mut project = TestProject::of(&[BYSTANDER]);
    let before = project.resident_bytes();
    let mut deaf = Client::admin(&project.paths().socket);
    for _ in 0..60 {
        deaf.request("tools/list", json!({}));
        deaf.request("tools/call", json!({"name": "dump", "arguments": {}}));
    }
    for _ in 0..20 {
        bystander_is_found(&mut project);
    }
    project.write("late.md", "# Late\n\nA late owl.\n");
    project.settle();
    assert_eq!(project.found("late owl")[0], "late.md");
    let grown = project.resident_bytes().saturating_sub(before);
    assert!(grown < 20 << 20, "{} MiB more", grown >> 20);
}

/// Returns one refused call: code, message, hint.
fn refused(project: &mut TestProject, tool: &str, arguments: Value) -> String {
    let root = project.root().display().to_string();
    let error = project.try_call(tool, arguments.clone()).expect_err("refused");
    let shown = format!(
        "{tool} {arguments}\n  {}: {}\n  hint: {}\n",
        said(&error["code"]),
        said(&error["message"]).replace('\n', "\n  "),
        said(&error["hint"])
    );
    shown.replace(&root, "ROOT")
}

#[test]
fn requests_that_cannot_be_meant() {
    let mut project = TestProject::of(&[BYSTANDER]);
    let mut out = String::new();
    for (tool, arguments) in [
        ("hybrid_search", json!({"q": "x"})),
        ("hybrid_query", json!({})),
        ("hybrid_query", json!({"q": "x", "limits": 3})),
        ("hybrid_query", json!({"q": "x", "k": 0})),
        ("hybrid_query", json!({"q": "x", "k": 101})),
        ("hybrid_query", json!({"q": "x", "k": -1})),
        ("hybrid_query", json!({"q": "x", "hops": 5})),
        ("hybrid_query", json!({"q": "x", "after": "yesterday"})),
        ("hybrid_query", json!({"q": "x", "formula": "best"})),
        ("hybrid_query", json!({"q": "x", "max_chars": 10})),
        ("hybrid_query", json!({"q": ""})),
        ("hybrid_query", json!({"q": "x".repeat(1001)})),
        ("entity_lookup", json!({"q": "x", "limit": 0})),
        ("explain_entity", json!({})),
        ("explain_entity", json!({"name": "Nobody Knows"})),
        ("explain_entity", json!({"entity_id": 9_000_000})),
        ("explain_entity", json!({"name": "Bystander", "hops": 9})),
        ("graph", json!({"hops": 2})),
        ("graph", json!({"name": "Bystander", "hops": 5})),
        ("graph", json!({"name": "Bystander", "limit": 0})),
        ("graph", json!({"name": "Bystander", "rels": ["likes"]})),
        ("ingest_docs", json!({"paths": []})),
        ("ingest_docs", json!({"paths": ["../outside.md"]})),
        ("ingest_docs", json!({"paths": ["/etc/passwd"]})),
        ("ingest_docs", json!({"paths": ["a[.md"]})),
        ("extract_and_link", json!({"doc_ids": [9_000_000]})),
        ("review_links", json!({"accept": ["link:nobody>nothing"]})),
        ("review_links", json!({"below": 2.0})),
        ("dump", json!({"cursor": "nonsense"})),
        ("dump", json!({"limit": 0})),
        ("wait", json!({"timeout_ms": 600_001})),
        ("verify", json!({"limit": 1_001})),
        ("rescan", json!({"full": "yes"})),
        ("retry", json!({"paths": ["bystander.md"]})),
        ("retry", json!({"paths": ["../outside.md"]})),
        ("backup", json!({"path": "relative.sqlite"})),
        ("backup", json!({"path": "/no-such-folder/copy.sqlite"})),
        ("backup", json!({"path": "/dev/null", "force": true})),
    ] {
        let long = refused(&mut project, tool, arguments);
        out += &long.replace(&"x".repeat(1001), "x…");
    }
    expect![[r#"
        hybrid_search {"q":"x"}
          -32602: no tool is called `hybrid_search`
          hint: this session has `hybrid_query`, `ask`, `read_passage`, `entity_lookup`, `explain_entity`, `connect`, `remember`, `changes`, `ingest_docs`, `extract_and_link`, `review_links`, `status`, `search`, `search_notes`, `read_note`, `view_note`, `read_content`, `fetch`, `write_note`, `edit_note`, `move_note`, `delete_note`, `note_history`, `restore_note`, `build_context`, `backlinks`, `list_directory`, `list_notes`, `recent_activity`, `schema_infer`, `schema_validate`, `schema_diff`, `list_memory_projects`, `get_mcp_instructions`, `create_entities`, `delete_entities`, `open_nodes`, `get_nodes_by_type`, `get_recently_modified`, `set_summary`, `set_tags`, `add_observations`, `replace_observation`, `delete_observations`, `query_observations`, `create_relations`, `delete_relations`, `update_relation_type`, `get_relations_between`, `get_neighborhood`, `get_path`, `get_orphans`, `get_relation_gaps`, `find_similar_nodes`, `search_nodes`, `get_consolidation_report`, `get_pending_consolidation`, `get_stats`, `read_graph`, `kb_store`, `kb_store_batch`, `kb_search`, `kb_get`, `kb_ask`, `kb_summarize`, `kb_ingest`, `kb_maintain`, `graph`, `open_page`, `render_document`, `entity_decisions`, `dump`, `broken_links`, `memory_report`, `wait`, `verify`, `rescan`, `retry`, `deep_pass`, `checkup`, `backup`, `forget`, `reload`, `shutdown`
          hint: null
        hybrid_query {}
          invalid_params: `hybrid_query` needs the parameter `q`
          hint: it takes `q` (required), `k`, `hops`, `rels`, `path`, `tags`, `type`, `security`, `language`, `after`, `before`, `entity`, `max_chars`, `max_tokens`, `cursor`, `formula`
        hybrid_query {"q":"x","limits":3}
          invalid_params: `hybrid_query` has no parameter `limits`; did you mean `limit`?
          hint: it takes `q` (required), `k`, `hops`, `rels`, `path`, `tags`, `type`, `security`, `language`, `after`, `before`, `entity`, `max_chars`, `max_tokens`, `cursor`, `formula`
        hybrid_query {"q":"x","k":0}
          invalid_params: `k` is 0
          hint: give a number from 1 to 100
        hybrid_query {"q":"x","k":101}
          invalid_params: `k` is 101
          hint: give a number from 1 to 100
        hybrid_query {"q":"x","k":-1}
          invalid_params: parameter `k` of `hybrid_query`: invalid value: integer `-1`, expected u32
          hint: it takes `q` (required), `k`, `hops`, `rels`, `path`, `tags`, `type`, `security`, `language`, `after`, `before`, `entity`, `max_chars`, `max_tokens`, `cursor`, `formula`
        hybrid_query {"q":"x","hops":5}
          invalid_params: `hops` is 5
          hint: give a number from 0 to 4
        hybrid_query {"q":"x","after":"yesterday"}
          invalid_params: `after` is `yesterday`
          hint: give a day as YYYY-MM-DD
        hybrid_query {"q":"x","formula":"best"}
          invalid_params: no formula `best`
          hint: use hybrid, rrf, minmax, s0, s4, text or vector
        hybrid_query {"q":"x","max_chars":10}
          invalid_params: `max_chars` is 10
          hint: give a number from 200 to 100000
        hybrid_query {"q":""}
          invalid_params: `q` has 0 characters
          hint: give a question or keywords of 1 to 1,000 characters
        hybrid_query {"q":"x…"}
          invalid_params: `q` has 1001 characters
          hint: give a question or keywords of 1 to 1,000 characters
        entity_lookup {"q":"x","limit":0}
          invalid_params: `limit` is 0
          hint: give a number from 1 to 100
        explain_entity {}
          invalid_params: both or neither of `entity_id` and `name` were given
          hint: give exactly one of them
        explain_entity {"name":"Nobody Knows"}
          not_found: no entity is called `Nobody Knows`
          hint: find it with entity_lookup or hybrid_query
        explain_entity {"entity_id":9000000}
          not_found: no entity is called `entity 9000000`
          hint: find it with entity_lookup or hybrid_query
        explain_entity {"name":"Bystander","hops":9}
          invalid_params: `hops` is 9, `limit` is 20
          hint: give 1 to 4 hops and a limit of 1 to 200
        graph {"hops":2}
          invalid_params: `hops` without an entity
          hint: give `name` or `entity_id`, too
        graph {"name":"Bystander","hops":5}
          invalid_params: `hops` is 5, `limit` is 300
          hint: give 1 to 4 hops and a limit of 1 to 5000
        graph {"name":"Bystander","limit":0}
          invalid_params: `hops` is 2, `limit` is 0
          hint: give 1 to 4 hops and a limit of 1 to 5000
        graph {"name":"Bystander","rels":["likes"]}
          invalid_params: no relation `likes`
          hint: use some of awarded, based_in, born_in, born_on, capital_of, cites, citizen_of, comes_from, configures, created_by, date_of, defines, depends_on, died_in, died_on, documented_in, founded_by, has_language, implements, is_a, led_by, lives_in, located_in, member_of, owned_by, parent_of, part_of, participates_in, performed_by, precedes, produces, provides, published_by, refers_to, related_to, replaces, runs_on, same_as, sibling_of, spouse_of, stores, studied_at, supports, uses, works_for, links_to
        ingest_docs {"paths":[]}
          invalid_params: `paths` is empty
          hint: name files, folders or globs inside the project
        ingest_docs {"paths":["../outside.md"]}
          outside_project: `../outside.md` leads out of the project
          hint: give paths inside `ROOT`
        ingest_docs {"paths":["/etc/passwd"]}
          outside_project: `/etc/passwd` leads out of the project
          hint: give paths inside `ROOT`
        ingest_docs {"paths":["a[.md"]}
          invalid_params: `a[.md` is not a glob: unclosed character class; missing ']'
          hint: use * ** ? [a-z] {a,b}
        extract_and_link {"doc_ids":[9000000]}
          not_found: no document 9000000
          hint: take `doc_id` from a hybrid_query hit of this index
        review_links {"accept":["link:nobody>nothing"]}
          invalid_params: no item `link:nobody>nothing`
          hint: use a key that review_links listed
        review_links {"below":2.0}
          invalid_params: `below` is 2, `limit` is 20
          hint: give `below` from 0 to 1 and a limit of 1 to 100
        dump {"cursor":"nonsense"}
          invalid_params: no cursor `nonsense`
          hint: give back what the last page said
        dump {"limit":0}
          invalid_params: `limit` is 0
          hint: give a number from 1 to 5000
        wait {"timeout_ms":600001}
          invalid_params: `timeout_ms` is 600001
          hint: give at most 600000
        verify {"limit":1001}
          invalid_params: `limit` is 1001
          hint: give a number from 0 to 1000
        rescan {"full":"yes"}
          invalid_params: parameter `full` of `rescan`: invalid type: string "yes", expected a boolean
          hint: it takes `full`
        retry {"paths":["bystander.md"]}
          not_found: nothing failed at `bystander.md`
          hint: `kgctl doctor` lists what failed; `kgctl ingest --force` indexes any file anew
        retry {"paths":["../outside.md"]}
          outside_project: `../outside.md` leads out of the project
          hint: give paths inside `ROOT`
        backup {"path":"relative.sqlite"}
          invalid_params: `relative.sqlite` is not an absolute path
          hint: begin it with `/`
        backup {"path":"/no-such-folder/copy.sqlite"}
          invalid_params: cannot write `/no-such-folder/copy.sqlite`: No such file or directory (os error 2)
          hint: give a file in a folder that exists and can be written
        backup {"path":"/dev/null","force":true}
          invalid_params: cannot write `/dev/null`: not a regular file
          hint: give a file in a folder that exists and can be written
    "#]].assert_eq(&out);
    bystander_is_found(&mut project);
}

#[test]
fn a_file_to_ingest_that_is_not_there_or_not_read() {
    let mut project = TestProject::of(&[BYSTANDER]);
    project.write("blob.md", b"\0\x01\x02".repeat(1000));
    project.settle();
    let paths = ["bystander.md", "missing.md", "*.rst", "blob.md"];
    let mut reply = project.call("ingest_docs", json!({"paths": paths, "skip_if_seen": false}));
    reply["tick"] = json!(0);
    // Present while the last file is still counted on the belt.
    reply.as_object_mut().expect("an object").remove("building");
    expect![[r#"
        {
          "ingested": 1,
          "skipped": 0,
          "errors": [
            {
              "path": "missing.md",
              "stage": "watch",
              "reason": "no such file; hint: paths are relative to the project's folder"
            },
            {
              "path": "*.rst",
              "stage": "watch",
              "reason": "no file matches this glob"
            },
            {
              "path": "blob.md",
              "stage": "normalize",
              "reason": "binary content in a text file; hint: rename it or list it in `.kgignore`"
            }
          ],
          "project": "notes",
          "tick": 0
        }"#]]
    .assert_eq(&format!("{reply:#}"));
}

/// Fake secrets in well-known formats.
fn secrets() -> Vec<String> {
    let key: String = (0..20)
        .map(|i| format!("MIIEpAIBAAKCAQEA{i:04}u7Qx9vLkPz2TfWm8RsYbNc4Hd6GjXa1Ee3KoVi5Bn\n"))
        .collect();
    vec![
        format!("-----BEGIN RSA PRIVATE KEY-----\n{key}-----END RSA PRIVATE KEY-----"),
        format!("ghp_{}", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"),
        format!("AKIA{}", "QZ7XWV5NTRK3MPLD"),
    ]
}

#[test]
fn planted_secrets_are_nowhere() {
    let secrets = secrets();
    let [key, token, cloud] = secrets.as_slice() else { panic!("three") };
    let mut project = TestProject::empty();
    project.write(BYSTANDER.0, BYSTANDER.1);
    project.write("plain.txt", format!("The token is {token} and the key\n{key}\nend.\n"));
    project.write("note.md", format!("---\ntitle: Vault {token}\ntags: [{cloud}]\n---\n# Vault `{token}`\n\n**{token}** and [{cloud}](http://x/{token}) uses [[{token}]].\n\n```\n{key}\n{cloud}\n```\n"));
    project.write(
        "yaml.md",
        format!("---\ntitle: [{token}\nx: : {cloud}\n---\n# Broken\n\n{token}\n"),
    );
    project.write("page.html", format!("<html><head><title>{token}</title></head><body><article><h1>{cloud}</h1><p>token={token}</p><pre>{key}</pre></article></body></html>"));
    project.write("wide.txt", token.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>());
    project.start();
    project.settle();
    let mut replies = project.dump().text();
    for (tool, arguments) in [
        (
            "hybrid_query",
            json!({"q": format!("what is the token {token}"), "k": 50, "max_chars": 50_000}),
        ),
        ("entity_lookup", json!({"q": token})),
        ("entity_lookup", json!({"q": "vault"})),
        ("explain_entity", json!({"name": token})),
        ("ingest_docs", json!({"paths": ["**/*"], "skip_if_seen": false})),
        ("review_links", json!({"below": 1.0, "limit": 100})),
        ("status", json!({})),
    ] {
        let reply = project.client().call_whole(tool, arguments);
        replies += &format!("{tool}: {reply:?}\n");
    }
    assert!(
        told(&mut project, "plain.txt").contains("redacted"),
        "{}",
        told(&mut project, "plain.txt")
    );
    bystander_is_found(&mut project);
    project.settle();
    project.client().call("no_such_tool", json!({"x": token})).expect_err("unknown");

    let key_line = key.lines().nth(3).expect("a line");
    let places = |bytes: &[u8], place: &str| -> Vec<String> {
        let needles = [token.as_str(), cloud, key_line];
        let found = needles.iter().filter(|needle| contains(bytes, needle.as_bytes()));
        found.map(|needle| format!("{needle} in {place}")).collect()
    };
    // A caller that asks for a secret by name gets its own words back, which is not a leak.
    let replies = replies.replace(&format!("no entity is called `{token}`"), "");
    let mut leaks = places(replies.as_bytes(), "a reply");
    project.stop();
    let mut open = vec![project.scratch().to_path_buf()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).expect("a folder").flatten() {
            if entry.path() == project.root() {
                continue;
            }
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                open.push(entry.path());
            } else if let Ok(bytes) = fs::read(entry.path()) {
                leaks.extend(places(&bytes, &entry.file_name().to_string_lossy()));
            }
        }
    }
    assert_eq!(leaks, Vec::<String>::new(), "{replies}");
}

fn contains(bytes: &[u8], needle: &[u8]) -> bool {
    bytes.windows(needle.len()).any(|window| window.eq_ignore_ascii_case(needle))
}
