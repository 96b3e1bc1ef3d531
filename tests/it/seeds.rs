//! Cases of the seeds by name: synchronization (S0 §13.2), and what a search by meaning must find
//! (S3).

use serde_json::{Value, json};
use tests::TestProject;

/// Returns the paths of the notes that a search finds, best first.
fn found(project: &mut TestProject, query: &str, search_type: &str) -> Vec<String> {
    let request = json!({"query": query, "search_type": search_type});
    let reply = project.call("search_notes", request);
    let results = reply["results"].as_array().expect("results");
    results.iter().map(|it| it["path"].as_str().expect("a path").to_string()).collect()
}

fn note(project: &mut TestProject, path: &str) -> Value {
    project.call("read_note", json!({"path": path}))
}

#[test]
fn new_file_detected_and_indexed() {
    let mut project = TestProject::of(&[("other.md", "Here first.\n")]);
    project.write("test.md", "---\ntitle: Test\n---\n\nBody77.\n");
    project.settle();
    let note = note(&mut project, "test.md");
    assert_eq!((&note["title"], &note["content"]), (&json!("Test"), &json!("\nBody77.\n")));
    assert_eq!(note["checksum"].as_str().expect("a checksum").len(), 64);
    assert_eq!(found(&mut project, "body77", "fts"), ["test.md"]);
}

#[test]
fn modified_file_re_indexed() {
    let mut project = TestProject::of(&[("test.md", "- [fact] Old77\n- knows [[A]]\n")]);
    let before = note(&mut project, "test.md");
    project.write("test.md", "- [idea] New88\n");
    project.settle();
    let after = note(&mut project, "test.md");
    assert_ne!(before["checksum"], after["checksum"]);
    assert_eq!(before["entity_id"], after["entity_id"]);
    assert_eq!(after["observations"][0]["content"], "New88");
    assert_eq!(after["relations"], json!([]));
    assert_eq!(found(&mut project, "old77", "fts"), [""; 0]);
}

#[test]
fn deleted_file_removed() {
    let mut project = TestProject::of(&[
        ("test.md", "- [fact] Gone77\n- knows [[Other]]\n"),
        ("other.md", "x\n"),
    ]);
    project.remove("test.md");
    project.settle();
    let error = project.try_call("read_note", json!({"path": "test.md"})).expect_err("gone");
    assert_eq!(error["code"], "not_found");
    assert_eq!(note(&mut project, "other.md")["backlinks"], Value::Null);
    let request =
        json!({"query": "gone77", "search_type": "fts", "search_item_types": ["observation"]});
    assert_eq!(project.call("search_notes", request)["results"], json!([]));
}

#[test]
fn file_move_detected() {
    let mut project =
        TestProject::of(&[("old.md", "Moves77.\n\n- knows [[Other]]\n"), ("other.md", "x\n")]);
    project.settle();
    let before = note(&mut project, "old.md");
    project.rename("old.md", "new.md");
    project.settle();
    let after = note(&mut project, "new.md");
    assert_eq!(before["entity_id"], after["entity_id"]);
    assert_eq!(before["relations"], after["relations"]);
    assert_eq!(found(&mut project, "moves77", "fts"), ["new.md"]);
}

/// S3's vault: what words alone cannot find.
const VAULT: &[(&str, &str)] = &[
    (
        "python-patterns.md",
        "---\naliases: [py idioms]\n---\n# Python patterns\n\nUse `contextlib.contextmanager` for setup and \
         teardown around a block. A `dataclass` holds plain records.\n",
    ),
    (
        "failures.md",
        "# When things go wrong\n\nException handling: catch exceptions close to where they can be dealt with, and \
         let the rest crash.\n",
    ),
    (
        "structure.md",
        "# Structuring programs\n\nPatterns such as decorators and small abstractions let functions be shared by \
         several callers. DRY: do not repeat yourself; extract common logic into one function.\n",
    ),
    (
        "waiting.md",
        "# Waiting\n\nAsynchronous tasks wait for input and output without a thread each.\n",
    ),
    ("garden.md", "# Garden\n\nTomatoes need sun, and water in the morning.\n"),
    ("taxes.md", "# Taxes\n\nThe return is due in July; keep receipts of books.\n"),
    (
        "mcp-notes.md",
        "---\naliases: [model context protocol]\n---\n# MCP\n\nServers offer tools over standard input.\n",
    ),
];

#[test]
fn searches_by_meaning_find_what_words_alone_do_not() {
    let mut project = TestProject::of(VAULT);
    let rows = [
        // One compound word in code, two words in the question.
        ("context manager python", "python-patterns.md"),
        ("error handling", "failures.md"),
        ("how to make code reusable", "structure.md"),
        ("async", "waiting.md"),
        ("avoid code duplication", "structure.md"),
        // Words and aliases, which S3 already found.
        ("dataclass", "python-patterns.md"),
        ("model context protocol", "mcp-notes.md"),
    ];
    for (query, expected) in rows {
        let first = found(&mut project, query, "hybrid");
        assert_eq!(first.first().map(String::as_str), Some(expected), "{query}: {first:?}");
        let reply = project.call("search", json!({"query": query}));
        assert_eq!(reply["notes"][0]["path"], expected, "{query}: {reply}");
    }
}

#[test]
fn circuit_breaker_activates_and_resets_on_modification() {
    let broken = b"\0\x01\x02data\0\0".repeat(1000);
    let mut project = TestProject::of(&[("other.md", "x\n")]);
    project.write("test.md", &broken);
    project.settle();
    for _ in 0..3 {
        project.restart();
        project.settle();
    }
    let checkup = project.call("checkup", json!({}));
    let row = &checkup["failed"][0];
    assert_eq!((&row["path"], &row["skipped"]), (&json!("test.md"), &json!(true)), "{checkup}");
    assert!(project.log().contains("skipped from now on, until it changes"), "{}", project.log());
    project.write("test.md", "Mended77.\n");
    project.settle();
    assert_eq!(found(&mut project, "mended77", "fts"), ["test.md"]);
    assert_eq!(project.call("checkup", json!({}))["failed"], json!([]));
}

#[test]
fn jargon_variations() {
    let mut project = TestProject::of(&[
        ("a.md", "A function takes arguments and gives a value.\n"),
        ("b.md", "Calls of an async fn wait.\n"),
        ("garden.md", "Tomatoes need sun.\n"),
    ]);
    assert_eq!(found(&mut project, "asynchronous", "fts"), ["b.md"]);
    assert_eq!(
        found(&mut project, "fn", "fts"),
        ["b.md"],
        "what stands there is meant as it stands"
    );
    project.remove("b.md");
    project.settle();
    for search_type in ["fts", "hybrid"] {
        assert_eq!(found(&mut project, "fn", search_type)[0], "a.md", "{search_type}");
    }
}

#[test]
fn fts_partial_and_fuzzy_match() {
    let mut project = TestProject::of(VAULT);
    for query in ["decorat", "funtcions", "contextmanager", "asynchron"] {
        let expected = match query {
            "contextmanager" => "python-patterns.md",
            "asynchron" => "waiting.md",
            _ => "structure.md",
        };
        assert_eq!(found(&mut project, query, "fts"), [expected], "{query}");
    }
}

#[test]
fn alias_resolution() {
    let mut project = TestProject::of(VAULT);
    project.write("q.md", "See [[py idioms]].\n");
    project.settle();
    assert_eq!(note(&mut project, "py idioms")["path"], "python-patterns.md");
    let leading = project.call("backlinks", json!({"path": "python-patterns.md"}));
    assert_eq!(leading["backlinks"][0]["path"], "q.md", "{leading}");
}

#[test]
fn tag_filtering() {
    let mut project = TestProject::of(&[
        ("a.md", "---\ntags: [lang/rust]\n---\nOwnership is checked.\n"),
        ("b.md", "Ownership is shared. #lang/python\n"),
        ("c.md", "Ownership of land.\n"),
    ]);
    let mut tagged = |tag: &str| {
        let reply = project.call("search_notes", json!({"query": "ownership", "tags": [tag]}));
        let results = reply["results"].as_array().expect("results").clone();
        let mut paths: Vec<String> =
            results.iter().filter_map(|it| it["path"].as_str().map(String::from)).collect();
        paths.sort();
        paths
    };
    assert_eq!(tagged("lang/rust"), ["a.md"]);
    assert_eq!(tagged("lang"), ["a.md", "b.md"], "a tag's children are of it");
}

#[test]
fn wikilink_indexing() {
    let mut project = TestProject::of(VAULT);
    project.write("hub.md", "Both [[failures]] and ![[structure#Structuring programs]].\n");
    project.settle();
    for target in ["failures.md", "structure.md"] {
        let leading = project.call("backlinks", json!({"path": target}));
        let row = &leading["backlinks"][0];
        assert_eq!((&row["path"], &row["line"]), (&json!("hub.md"), &json!(1)), "{leading}");
    }
}

#[test]
fn cross_language_patterns() {
    let mut project = TestProject::of(VAULT);
    project.write(
        "rust.md",
        "# Rust idioms\n\nA guard runs teardown code when it is dropped at the end of a scope: setup in `new`, cleanup \
         in `Drop`.\n",
    );
    project.settle();
    let first: Vec<String> = found(&mut project, "setup and teardown around a block", "hybrid");
    let two = first.get(..2).map(<[String]>::to_vec).unwrap_or_default();
    assert!(
        two.contains(&"python-patterns.md".into()) && two.contains(&"rust.md".into()),
        "{first:?}"
    );
}

#[test]
fn what_alone_is_near_in_meaning_comes_first_and_is_relevant() {
    let mut project = TestProject::of(&[
        (
            "dry.md",
            "# DRY\n\nDo not repeat yourself: move what occurs twice into one function or module.\n",
        ),
        (
            "decorators.md",
            "# Decorators\n\nA decorator wraps a function with behavior that many functions need.\n",
        ),
        ("roses.md", "# Roses\n\nPrune in March. Water the roses at the root. #code\n"),
        ("garden.md", "# Garden\n\nTomatoes need sun, and water in the morning.\n"),
        ("taxes.md", "# Taxes\n\nThe return is due in July; keep receipts.\n"),
    ]);
    for query in ["how to make code reusable", "avoid code duplication"] {
        let reply = project.call("search_notes", json!({"query": query}));
        let results = reply["results"].as_array().expect("results");
        assert_eq!(results[0]["path"], "dry.md", "{query}: {reply}");
        assert!(reply["nothing_relevant"].is_null(), "{query}: {reply}");
        let relevance: Vec<f64> =
            results.iter().map(|it| it["relevance"].as_f64().expect("a number")).collect();
        assert!(relevance.is_sorted_by(|a, b| a >= b), "{query}: {reply}");
        let reply = project.call("search", json!({"query": query}));
        assert_eq!(reply["notes"][0]["path"], "dry.md", "{query}: {reply}");
        assert_eq!(reply["nothing_relevant"], false, "{query}: {reply}");
    }
    for query in ["quantum entanglement", "best laptop for video editing"] {
        let reply = project.call("search", json!({"query": query}));
        assert_eq!(reply["nothing_relevant"], true, "{query}: {reply}");
    }
}

#[test]
fn documents_are_labeled_by_path_and_names_found_by_patterns_of_ones_own() {
    let settings = "privacy:\n  labels: ['internal hr/**', 'secret **/board*.md']\n\
                    recognize:\n  patterns: ['Product \\bpump [a-z]{2}\\d\\b']\n";
    let mut project = TestProject::of(&[
        ("kg.yaml", settings),
        ("hr/pay.md", "# Pay\n\nWages are due on Friday, by pump zx7.\n"),
        ("hr/open.md", "---\nsecurity: public\n---\n# Open\n\nWages of the union.\n"),
        ("q/board-may.md", "# May\n\nWages rise. The pump zx7 is new.\n"),
        ("law.md", "# Audit\n\nWages follow ISO 27001. The audit of ISO 27001 is in May.\n"),
    ]);
    let found = |project: &mut TestProject, label: &str| {
        let reply = project.call("hybrid_query", json!({"q": "wages", "security": label}));
        let paths = reply["chunks"].as_array().expect("hits").iter();
        paths.map(|it| it["path"].as_str().expect("a path").to_string()).collect::<Vec<_>>()
    };
    assert_eq!(found(&mut project, "internal"), ["hr/pay.md"]);
    assert_eq!(found(&mut project, "public"), ["hr/open.md"]);
    assert_eq!(found(&mut project, "secret"), ["q/board-may.md"]);
    let look = |project: &mut TestProject, q: &str, of: &str| {
        project.call("entity_lookup", json!({"q": q, "type": of}))
    };
    let pump = look(&mut project, "pump zx7", "Product");
    assert_eq!(pump["entities"][0]["type"], "Product", "{pump}");
    for of in ["Regulation", "Standard", "standards", "law"] {
        let standard = look(&mut project, "ISO 27001", of);
        assert_eq!(standard["entities"][0]["name"], "ISO 27001", "{of}: {standard}");
    }
    let none = look(&mut project, "ISO 27001", "Person");
    assert_eq!(none["entities"], json!([]), "{none}");
    assert!(none["hint"].as_str().is_some_and(|it| it.contains("`ISO 27001` (")), "{none}");
}
