//! Entries of knowledge (S2), as an agent sees them. It runs `kg-mcp --tools core,kb` and types:
//!
//! ```text
//! kb_store      {"short_title": "WAL mode", "long_title": "SQLite runs in WAL mode", "entry_type": "decision",
//!                "knowledge_details": "Readers do not block the writer.", "tags": ["sqlite"], "project_ref": "kgd"}
//!   created kb-00001 (version 1, kb/kb-00001-wal-mode.md)
//! kb_search     {"query": "do readers block"}     in brief: id, type, titles, tags, confidence
//! kb_get        {"entry_id": "kb-00001"}          whole; its confidence is fresh again
//! kb_ask        {"question": "why did we choose WAL mode"}    says which way it took, and why
//! kb_summarize  {"question": "do readers block"}  sentences as they stand in entries, each with its id
//! kb_ingest     {"path": "docs", "dry_run": true} what entries files would give
//! kb_maintain   {"action": "entry_versions", "entry_id": "kb-00001"}
//! ```
//!
//! A person who opens `kb/kb-00001-wal-mode.md` sees front matter (`id`, `title`, `long_title`,
//! `entry_type`, `project`, `tags`, `confidence`, `hints`, `supersedes`, `active`) with the details
//! below it, and edits it like any note: the next tool call sees the edit, and the first tool that
//! writes the entry stores it as a version. An id is never reused.

use std::fs::{File, FileTimes};
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use tests::{Client, TestProject, all};

/// Returns code and message of a refusal.
pub(crate) fn refusal(project: &mut TestProject, tool: &str, arguments: Value) -> (String, String) {
    let error = project.try_call(tool, arguments).expect_err("refused");
    let text = |field: &str| error[field].as_str().unwrap_or_default().to_string();
    (text("code"), text("message"))
}

pub(crate) fn store(project: &mut TestProject, title: &str, details: &str, more: Value) -> String {
    let mut request = json!({"short_title": title, "knowledge_details": details});
    for (key, value) in more.as_object().expect("a map") {
        request[key] = value.clone();
    }
    let stored = project.call("kb_store", request);
    assert_eq!(stored["action"], "created", "{stored}");
    stored["entry"]["id"].as_str().expect("an id").to_string()
}

pub(crate) fn get(project: &mut TestProject, id: &str) -> Value {
    project.call("kb_get", json!({"entry_id": id}))["entries"][0].clone()
}

pub(crate) fn found(project: &mut TestProject, query: &str) -> Vec<String> {
    let found = project.call("kb_search", json!({"query": query}));
    all(&found["results"], "id").into_iter().map(String::from).collect()
}

/// Writes a note whose file is some days old.
pub(crate) fn write_old(project: &TestProject, path: &str, text: &str, days: u64) {
    project.write(path, text);
    let then = SystemTime::now() - Duration::from_secs(days * 86_400);
    let file = File::options().write(true).open(project.at(path)).expect("opens");
    file.set_times(FileTimes::new().set_modified(then)).expect("set");
}

/// A decision that superseded another, a convention, a fact.
pub(crate) fn queue() -> TestProject {
    let mut project = TestProject::of(&[]);
    store(
        &mut project,
        "Redis queue",
        "We chose Redis for the job queue because it was running already.",
        json!({"entry_type": "decision", "tags": ["queue"], "project_ref": "shop"}),
    );
    store(
        &mut project,
        "Kafka queue",
        "We chose Kafka for the job queue because jobs must survive a crash.",
        json!({"entry_type": "decision", "tags": ["queue", "kafka"], "project_ref": "shop",
            "hints": {"supersedes": "kb-00001", "person": "Ada Lovelace", "tool": ["Kafka"]}}),
    );
    store(
        &mut project,
        "Small jobs",
        "Jobs carry the paths of files, never the files themselves; see kb-00002.",
        json!({"entry_type": "pattern_convention", "tags": ["style"]}),
    );
    store(
        &mut project,
        "Colour of the logo",
        "The logo of the shop is green with a white border.",
        json!({"tags": ["design"], "long_title": "Which hue the emblem has"}),
    );
    project
}

#[test]
fn an_entry_is_a_note_that_people_can_read_and_every_version_of_it_is_kept() {
    let mut project = TestProject::of(&[]);
    let stored = project.call(
        "kb_store",
        json!({
            "short_title": "WAL mode", "long_title": "SQLite runs in WAL mode", "entry_type": "decision",
            "knowledge_details": "Readers do not block the writer.\n\nCheckpoints run at 1,000 pages.",
            "tags": ["#sqlite", "db", "db"], "project_ref": "kgd", "hints": {"tool": "SQLite"},
        }),
    );
    assert_eq!((&stored["entry"]["id"], &stored["version"]), (&json!("kb-00001"), &json!(1)));
    assert_eq!(
        stored["edges"],
        json!([
            "has_tag tag:sqlite",
            "has_tag tag:db",
            "in_project project:kgd",
            "uses_tool tool:sqlite"
        ])
    );
    let path = "kb/kb-00001-wal-mode.md";
    assert_eq!(stored["entry"]["path"], path);
    let text = "---\nid: kb-00001\ntitle: WAL mode\nlong_title: SQLite runs in WAL mode\nentry_type: decision\n\
                project: kgd\ntags:\n  - sqlite\n  - db\nconfidence: 0.9\nhints:\n  tool: SQLite\nactive: true\n---\n\n\
                Readers do not block the writer.\n\nCheckpoints run at 1,000 pages.\n";
    assert_eq!(project.text(path), text);

    let updated = project.call(
        "kb_store",
        json!({"update_entry_id": "KB-1", "confidence_level": 0.8, "change_reason": "measured",
               "knowledge_details": "Readers do not block the writer.\n\nCheckpoints run at 4,000 pages."}),
    );
    assert_eq!((&updated["action"], &updated["version"]), (&json!("updated"), &json!(2)));
    let text = text.replace("1,000", "4,000").replace("0.9", "0.8");
    assert_eq!(project.text(path), text);

    // A person's edit is visible at once, and becomes a version as soon as a tool touches the
    // entry.
    project.write(path, text.replace("4,000 pages", "9,000 pages, or by hand"));
    let entry = get(&mut project, "kb-00001");
    assert!(
        entry["knowledge_details"].as_str().is_some_and(|it| it.contains("by hand")),
        "{entry}"
    );
    assert_eq!((&entry["version"], &entry["base_confidence"]), (&json!(2), &json!(0.8)));
    project.call("kb_store", json!({"update_entry_id": "kb-00001", "tags": ["sqlite"]}));
    let kept =
        project.call("kb_maintain", json!({"action": "entry_versions", "entry_id": "kb-00001"}));
    assert_eq!(
        all(&kept["versions"], "change_reason"),
        ["Initial creation", "measured", "Edited by hand", "Updated"]
    );
    let first = json!({"action": "entry_versions", "entry_id": "kb-00001", "version": 1});
    let first = project.call("kb_maintain", first)["versions"][0]["text"].clone();
    assert!(
        first
            .as_str()
            .is_some_and(|it| it.contains("1,000 pages") && it.contains("confidence: 0.9")),
        "{first}"
    );

    let restored = json!({"action": "restore", "entry_id": "kb-00001", "version": 2});
    project.call("kb_maintain", restored);
    assert_eq!(project.text(path), text);
    assert_eq!(get(&mut project, "kb-00001")["version"], 5);
    // An edit without effect makes no version, unless a reason is given.
    let same = json!({"update_entry_id": "kb-00001", "confidence_level": 0.8});
    assert_eq!(project.call("kb_store", same)["action"], "unchanged");
    let looked = json!({"update_entry_id": "kb-00001", "confidence_level": 0.8, "change_reason": "still true"});
    assert_eq!(project.call("kb_store", looked)["version"], 6);
    // A note tool's write is a version by that tool, not by a person.
    project.call("edit_note", json!({"path": path, "content_updates": "Measured twice."}));
    let kept =
        project.call("kb_maintain", json!({"action": "entry_versions", "entry_id": "kb-00001"}));
    assert_eq!(
        all(&kept["versions"], "change_reason").last(),
        Some(&"Written by `edit_note`"),
        "{kept}"
    );
    assert_eq!(get(&mut project, "kb-00001")["version"], 7);
    // A missing long title stays missing, and one that only repeats the short one is dropped.
    store(&mut project, "Short", "It has a short title only.", json!({}));
    let text = project.text("kb/kb-00002-short.md");
    assert!(!text.contains("long_title"), "{text}");
    let same = json!({"update_entry_id": "kb-00002", "long_title": "Short"});
    project.call("kb_store", same);
    project.call("kb_store", json!({"update_entry_id": "kb-00002", "short_title": "Shorter"}));
    let text = project.text("kb/kb-00002-short.md");
    assert!(text.contains("title: Shorter\n") && !text.contains("long_title"), "{text}");
}

#[test]
fn ids_are_never_given_twice_and_survive_a_lost_index() {
    let mut project = TestProject::of(&[]);
    assert_eq!(store(&mut project, "One", "The first entry says one.", json!({})), "kb-00001");
    // By hand: one in the folder, one elsewhere, one that only its file name identifies.
    project.write(
        "elsewhere.md",
        "---\nid: kb-00007\ntitle: Elsewhere\n---\nAn entry may lie anywhere.\n",
    );
    project.write("kb/kb-00009-named.md", "Only the name of this file is an id.\n");
    project.settle();
    assert_eq!(get(&mut project, "kb-00009")["short_title"], "kb-00009-named");
    assert_eq!(
        store(&mut project, "Ten", "The next one comes after all of them.", json!({})),
        "kb-00010"
    );
    project.call("kb_store", json!({"deactivate_entry_id": "kb-00010"}));
    project.remove("kb/kb-00010-ten.md");
    project.settle();
    assert_eq!(
        store(&mut project, "Eleven", "A deleted one leaves its number behind.", json!({})),
        "kb-00011"
    );
    project.stop();
    project.lose_index();
    project.start();
    assert_eq!(
        store(&mut project, "Twelve", "A lost index loses no number.", json!({})),
        "kb-00012"
    );
    project.settle();
    let versions =
        project.call("kb_maintain", json!({"action": "entry_versions", "entry_id": "kb-00001"}));
    assert_eq!(all(&versions["versions"], "change_reason"), ["Initial creation"]);
    project.verify("entries");
}

#[test]
fn agents_that_store_at_once_get_numbers_of_their_own() {
    let project = TestProject::of(&[]);
    let socket = project.paths().socket.clone();
    std::thread::scope(|scope| {
        for agent in 0..3 {
            let socket = &socket;
            scope.spawn(move || {
                let mut client = Client::admin(socket);
                for n in 0..5 {
                    let title = format!("Same title {}", n % 2);
                    let details = format!("agent {agent} says {n} in this entry");
                    client
                        .call(
                            "kb_store",
                            json!({"short_title": title, "knowledge_details": details}),
                        )
                        .expect("stored");
                }
            });
        }
    });
    let mut project = project;
    let stats = project.call("kb_maintain", json!({"action": "stats"}));
    assert_eq!(
        (&stats["stats"]["entries"], &stats["stats"]["duplicates"]),
        (&json!(15), &Value::Null),
        "{stats}"
    );
    let last: Vec<String> = (1..=15).map(|n| format!("kb-{n:05}")).collect();
    assert_eq!(project.call("kb_get", json!({"entry_id": last}))["not_found"], Value::Null);
}

#[test]
fn versions_of_one_entry_are_kept_in_the_order_of_writes() {
    let mut project = queue();
    let socket = project.paths().socket.clone();
    std::thread::scope(|scope| {
        for agent in 0..3 {
            let socket = &socket;
            scope.spawn(move || {
                let mut client = Client::admin(socket);
                for n in 0..4 {
                    let details = format!("agent {agent} says {n} in this entry");
                    let request = json!({"update_entry_id": "kb-00001", "knowledge_details": details,
                        "change_reason": details});
                    client.call("kb_store", request).expect("stored");
                }
            });
        }
    });
    let kept = project.call(
        "kb_maintain",
        json!({"action": "entry_versions", "entry_id": "kb-00001", "version": 13}),
    );
    let reasons = all(&kept["versions"], "change_reason");
    assert_eq!(reasons.len(), 13, "{reasons:?}");
    let details = get(&mut project, "kb-00001")["knowledge_details"].clone();
    assert_eq!(reasons.last().copied(), details.as_str(), "the newest version is the note");
    assert!(kept["versions"][12]["text"].as_str().is_some_and(|it| it.contains(reasons[12])));
}

#[test]
fn hints_that_are_not_named_stay() {
    let mut project = queue();
    let counted = json!({"port": 80, "ratio": 0.5, "is_open": true, "version": "1.10"});
    project.call("kb_store", json!({"update_entry_id": "kb-00003", "hints": counted}));
    assert_eq!(get(&mut project, "kb-00003")["hints"], counted, "numbers stay numbers");
    let itself = json!({"update_entry_id": "kb-00002", "hints": {"supersedes": ["kb-2"]}});
    assert_eq!(refusal(&mut project, "kb_store", itself).1, "`kb-00002` would supersede itself");
    for nothing in [
        json!({"id": "kb-00001"}),
        json!([{"id": "kb-00001"}]),
        json!(7),
        json!("kb"),
        json!("kb-00001, Ada"),
        json!(["kb-00001", "Ada"]),
    ] {
        let wrong = json!({"update_entry_id": "kb-00002", "hints": {"supersedes": nothing}});
        let message = refusal(&mut project, "kb_store", wrong).1;
        assert_eq!(message, "`hints.supersedes` does not name an entry", "{nothing}");
    }
    project.call("kb_store", json!({"update_entry_id": "kb-00002", "hints": {"person": "Bo"}}));
    let entry = get(&mut project, "kb-00002");
    assert_eq!(
        (&entry["supersedes"], &entry["hints"]),
        (&json!(["kb-00001"]), &json!({"person": "Bo", "tool": ["Kafka"]}))
    );
    let change = json!({"update_entry_id": "kb-00002", "hints": {"tool": null}});
    project.call("kb_store", change);
    project.call("kb_store", json!({"update_entry_id": "kb-00002", "hints": {"supersedes": []}}));
    let entry = get(&mut project, "kb-00002");
    assert_eq!((&entry["supersedes"], &entry["hints"]), (&Value::Null, &json!({"person": "Bo"})));
    assert_eq!(get(&mut project, "kb-00001")["superseded_by"], Value::Null);
    // Entries that supersede each other are reported.
    let circle =
        |own: &str, other: &str| json!({"update_entry_id": own, "hints": {"supersedes": other}});
    project.call("kb_store", circle("kb-00002", "kb-00001, kb-00003"));
    let stored = project.call("kb_store", circle("kb-00001", "kb-00002"));
    let warning = "it supersedes and is superseded by kb-00002: each counts as superseded";
    assert_eq!(stored["warnings"], json!([warning]), "{stored}");
    assert_eq!(get(&mut project, "kb-00003")["superseded_by"], json!(["kb-00002"]));
    // So are invalid values, key by key.
    let odd = "---\nid: kb-00050\nentry_type: [decision]\nupdated: not a date\nsupersedes: [nope]\nhints: 7\n\
               active: maybe\n---\nThe water turns late.\n";
    project.write("kb/kb-00050-odd.md", odd);
    let doubts = get(&mut project, "kb-00050")["doubts"].clone();
    let doubts: Vec<&str> =
        doubts.as_array().expect("rows").iter().filter_map(Value::as_str).collect();
    let of = |key: &str| doubts.iter().any(|it| it.starts_with(&format!("`{key}: ")));
    let keys = ["entry_type", "updated", "supersedes", "hints", "active"];
    assert!(keys.into_iter().all(of) && doubts.len() == keys.len(), "{doubts:?}");
}

#[test]
fn a_batch_is_done_entry_by_entry() {
    let mut project = TestProject::of(&[]);
    let batch = json!({"entries": [
        {"short_title": "A", "knowledge_details": "The first of two entries."},
        {"short_title": "B", "knowledge_details": "  "},
        {"short_title": "C", "knowledge_details": "The second of two entries.", "tags": ["two words"]},
        {"short_title": "D", "knowledge_details": "The second of two entries.", "entry_type": "lesson_learned"},
        {"short_title": "E"},
        {"short_title": "F", "knowledge_details": "x", "entry_type": "opinion"},
    ]});
    let made = project.call("kb_store_batch", batch);
    assert_eq!(all(&made["entries"], "short_title"), ["A", "D"]);
    let mut failed = all(&made["failed"], "name");
    failed.sort_unstable();
    assert_eq!(failed, ["B", "C", "E", "F"]);
    assert!(all(&made["failed"], "code").iter().all(|it| *it == "invalid_params"), "{made}");
    // An invalid id does not stop the others, either; alone it is refused.
    let some = json!({"entry_id": ["kb-00001", "nonsense", "kb-00077", "kb-00002"]});
    let some = project.call("kb_get", some);
    assert_eq!(all(&some["entries"], "id"), ["kb-00001", "kb-00002"]);
    assert_eq!(some["not_found"], json!(["kb-00077"]));
    assert_eq!(all(&some["failed"], "message"), ["`nonsense` is not the id of an entry"]);
    let many: Vec<Value> = (0..11)
        .map(|n| json!({"short_title": format!("{n}"), "knowledge_details": "x y z"}))
        .collect();
    assert_eq!(
        refusal(&mut project, "kb_store_batch", json!({"entries": many})).1,
        "`entries` has 11 items"
    );
}

#[test]
fn what_cannot_be_kept_is_refused_with_a_reason() {
    let mut project = queue();
    let secret = format!("The token is gh{}.", "p_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8");
    for (tool, arguments, code, message) in [
        (
            "kb_store",
            json!({"short_title": "x"}),
            "invalid_params",
            "`knowledge_details` is missing",
        ),
        (
            "kb_store",
            json!({"knowledge_details": "x"}),
            "invalid_params",
            "`short_title` is missing",
        ),
        (
            "kb_store",
            json!({"short_title": "x", "knowledge_details": "y", "confidence_level": 1.5}),
            "invalid_params",
            "`confidence_level` is 1.5",
        ),
        (
            "kb_store",
            json!({"short_title": "x", "knowledge_details": secret}),
            "refused",
            "the text holds a secret",
        ),
        (
            "kb_store",
            json!({"short_title": "x", "knowledge_details": "x y z", "tags": [secret]}),
            "refused",
            "the text holds a secret",
        ),
        (
            "kb_store",
            json!({"short_title": "x", "knowledge_details": "x y z", "project_ref": secret}),
            "refused",
            "the text holds a secret",
        ),
        (
            "kb_store",
            json!({"update_entry_id": "kb-00099", "tags": []}),
            "not_found",
            "no entry `kb-00099`",
        ),
        (
            "kb_store",
            json!({"update_entry_id": "nonsense", "tags": []}),
            "not_found",
            "no entry `nonsense`",
        ),
        (
            "kb_get",
            json!({"entry_id": "nonsense"}),
            "invalid_params",
            "`nonsense` is not the id of an entry",
        ),
        ("kb_get", json!({"entry_id": []}), "invalid_params", "`entry_id` has 0 ids"),
        ("kb_search", json!({"query": " "}), "invalid_params", "`query` has 1 characters"),
        ("kb_search", json!({"query": "x", "limit": 0}), "invalid_params", "`limit` is 0"),
        (
            "kb_ask",
            json!({"question": "x", "strategy": "timeline"}),
            "invalid_params",
            "the strategy `timeline` needs `scope`",
        ),
        (
            "kb_ask",
            json!({"question": "x", "strategy": "related", "scope": "tag:none"}),
            "not_found",
            "no entry or node `tag:none`",
        ),
        (
            "kb_ingest",
            json!({"path": "../elsewhere"}),
            "outside_project",
            "`../elsewhere` leads out of the project",
        ),
        ("kb_ingest", json!({"path": "nowhere"}), "not_found", "no file is meant by `nowhere`"),
        ("kb_maintain", json!({"action": "deactivate"}), "invalid_params", "`entry_id` is missing"),
        (
            "kb_maintain",
            json!({"action": "restore", "entry_id": "kb-00001", "version": 9}),
            "not_found",
            "kb-00001 has no version 9",
        ),
        (
            "kb_maintain",
            json!({"action": "purge_inactive"}),
            "invalid_params",
            "`purge_inactive` deletes entries",
        ),
    ] {
        let error = refusal(&mut project, tool, arguments.clone());
        assert_eq!(error, (code.to_string(), message.to_string()), "{tool} {arguments}");
    }
    // Two notes with one id: nothing is guessed.
    project.write("copy.md", project.text("kb/kb-00001-redis-queue.md"));
    project.settle();
    let (code, message) = refusal(&mut project, "kb_get", json!({"entry_id": "kb-00001"}));
    assert_eq!(code, "ambiguous");
    assert!(
        message.contains("`copy.md`") && message.contains("`kb/kb-00001-redis-queue.md`"),
        "{message}"
    );
    let stats = project.call("kb_maintain", json!({"action": "stats"}));
    assert_eq!(
        stats["stats"]["duplicates"],
        json!(["copy.md (kb-00001 is kb/kb-00001-redis-queue.md)"])
    );
}
