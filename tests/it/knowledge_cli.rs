//! Knowledge of agents on the command line: `kgctl kb …` and `kgctl memory …`, each command with
//! its output and exit code.

use std::io::Write;
use std::process::Stdio;

use serde_json::{Value, json};
use tests::TestProject;

/// Returns what a command printed and its exit code, with `input` on its standard input.
fn printed(project: &TestProject, arguments: &[&str], input: &str) -> (String, i32) {
    let mut command = project.kgctl();
    command.arg("--project").arg(project.root()).args(arguments);
    let piped = || Stdio::piped();
    let child = command.stdin(piped()).stdout(piped()).stderr(piped()).spawn();
    let mut child = child.expect("it starts");
    // A command that does not read it is fine.
    let _ = child.stdin.take().expect("piped").write_all(input.as_bytes());
    let out = child.wait_with_output().expect("it ends");
    let text = [out.stdout, out.stderr].map(|it| String::from_utf8(it).expect("UTF-8"));
    (text.concat(), out.status.code().expect("an exit code"))
}

/// Runs commands, each with the words that it must print and its exit code.
fn check(project: &TestProject, table: &[(&str, &[&str], i32)]) {
    for (line, words, code) in table {
        let arguments: Vec<&str> = line.split(' ').map(|it| it.trim_matches('\'')).collect();
        let (text, ended) = printed(project, &arguments, "");
        assert_eq!(ended, *code, "{line}\n{text}");
        for word in *words {
            assert!(text.contains(word), "{line}\nlacks {word:?}\n{text}");
        }
    }
}

#[test]
fn entries_are_listed_shown_changed_and_counted() {
    let mut project = TestProject::of(&[(
        "docs/keys.md",
        "# Keys\n\nSigning keys rotate on the first of every month, by hand, for now.\n",
    )]);
    check(
        &project,
        &[("kb list", &["0 entries"], 3), ("kb search nothing", &["there are no entries yet"], 3)],
    );
    let decided = json!({"short_title": "WAL mode", "knowledge_details": "SQLite runs in WAL mode.",
        "entry_type": "decision", "tags": ["db"]});
    project.call("kb_store", decided);
    let later = json!({"short_title": "Locks", "knowledge_details": "Locks are short. See kb-00001.",
        "hints": {"supersedes": ["kb-00001"]}, "tags": ["db"]});
    project.call("kb_store", later);
    check(
        &project,
        &[
            (
                "kb list",
                &["[kb-00001] decision: WAL mode", "[kb-00002] factual_reference: Locks"],
                0,
            ),
            ("kb list tag:db", &["kb-00001", "kb-00002"], 0),
            (
                "kb show kb-00001 kb-00077",
                &[
                    "SQLite runs in WAL mode.",
                    "has_tag tag:db",
                    "superseded by kb-00002",
                    "[kb-00077] not found",
                ],
                0,
            ),
            ("kb show kb-00077", &["not found"], 3),
            ("kb show nonsense", &["is not the id of an entry"], 2),
            ("kb list --tag db --type decision", &["[kb-00001] decision: "], 0),
            ("kb list --type lesson_learned", &["0 entries"], 3),
            ("kb list --project-ref none", &["nothing found"], 3),
            ("kb list tag:db --tag db", &["cannot be used with"], 2),
            ("kb search WAL --tag db --limit 1", &["[kb-00001] decision: "], 0),
            (
                "kb search SQLite --entry-type decision --include-stale",
                &["[kb-00001] decision: "],
                0,
            ),
            ("kb search WAL --project-ref none", &["fewer filters"], 3),
            ("kb search WAL --entry-type opinion", &["lesson_learned"], 2),
            ("kb ask 'WAL'", &["auto:", "kb-00001"], 0),
            (
                "kb ask x --strategy related --scope tag:db --limit 1",
                &["related tag:db:", "kb-00001"],
                0,
            ),
            (
                "kb ask x --strategy connection --scope kb-00001 --target tag:db",
                &["connection kb-00001 → tag:db:", "kb-00001 —has_tag→ tag:db"],
                0,
            ),
            ("kb summarize WAL --scope decision --limit 1", &["[kb-00001]"], 0),
            (
                "kb ingest docs/keys.md --dry-run",
                &["dry run: of 1 files: ", "; 1 entries", "dry_run: docs/keys.md"],
                0,
            ),
            (
                "kb ingest docs/keys.md --project-ref ops",
                &["ingested: docs/keys.md", "kb-00003"],
                0,
            ),
            ("kb list --project-ref ops", &["kb-00003", "project ops"], 0),
            ("kb ingest nowhere", &["no file is meant by `nowhere`"], 3),
            ("kb ingest", &["required"], 2),
            ("kb deactivate kb-00003 --reason old", &["deactivated", "inactive"], 0),
            ("kb reactivate kb-00003", &["Reactivated kb-00003"], 0),
            (
                "kb history kb-00003 --version 1",
                &["v1", "Ingested from `docs/keys.md`", "v3", "Signing keys rotate"],
                0,
            ),
            ("kb restore kb-00003 1", &["kb-00003 is as in version 1 again"], 0),
            ("kb restore kb-00003 99", &["has no version 99"], 3),
            ("kb forget-enriched", &["what a model read in entries is forgotten"], 0),
            ("kb enrich", &["no model reads entries"], 2),
            ("kb stats", &["3 entries, 3 of them count", "types: decision 1"], 0),
        ],
    );
    // A text that is not a file; the same address again replaces its entries.
    let page =
        "# Harbor\n\nThe harbor closes at ten in the evening, and nobody is let in after that.\n";
    let url = ["kb", "ingest", "--source-url", "https://example.org/harbor"];
    let (text, code) = printed(&project, &url, page);
    assert!(code == 0 && text.contains("ingested: https://example.org/harbor"), "{text}");
    assert!(printed(&project, &url, page).0.contains("unchanged"));
    let (text, _) = printed(&project, &url, &page.replace("ten", "eleven"));
    assert!(text.contains("kb-00005"), "{text}");
    let both = project.call("kb_get", json!({"entry_id": ["kb-00004", "kb-00005"]}));
    assert_eq!(both["not_found"], json!(["kb-00004"]), "the old one inactive");
    let entry = &both["entries"][0];
    assert_eq!(entry["source_context"], "https://example.org/harbor");
    assert_eq!(entry["edges"], json!(["extracted_from note:https://example.org/harbor"]));
    let leak = format!("The token is gh{}.", "p_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8");
    assert!(printed(&project, &url, &leak).0.contains("flagged"));
    for wrong in [
        json!({"content": "x"}),
        json!({"source_url": "x"}),
        json!({"content": "x", "source_url": "u", "path": "a"}),
    ] {
        assert_eq!(
            project.try_call("kb_ingest", wrong).expect_err("refused")["code"],
            "invalid_params"
        );
    }
}

#[test]
fn memory_is_listed_shown_reviewed_and_reported() {
    let mut project = TestProject::empty();
    project.set("memory.report=weekly");
    project.start();
    project.settle();
    check(
        &project,
        &[("memory list", &["none"], 3), ("memory consolidate", &["nothing to consolidate"], 3)],
    );
    let entities = json!([
        {"name": "Ada Lovelace", "entity_type": "person", "observations": ["Writes programs for engines", "Works with Charles Babbage"]},
        {"name": "Charles Babbage", "entity_type": "person", "observations": ["Builds engines that count"], "summary": "Builds engines."},
        {"name": "Lost", "entity_type": "thing", "summary": "Nothing."},
    ]);
    project.call("create_entities", json!({"entities": entities}));
    project.settle();
    check(
        &project,
        &[
            (
                "memory list",
                &["Ada Lovelace (person, memory/ada-lovelace.md)", "^o1 Writes programs"],
                0,
            ),
            (
                "memory list --type person",
                &["Charles Babbage (person, memory/charles-babbage.md)"],
                0,
            ),
            ("memory show Lost Nobody", &["Lost (thing, memory/lost.md)", "not found: Nobody"], 0),
            ("memory show Nobody", &["not found"], 3),
            ("memory history --days 3", &["3 made", "Lost", "create_entities"], 0),
            ("memory history lost", &["create_entities", "Lost"], 0),
            ("memory report", &["# Memory in week", "Ada Lovelace (person, 2 observations)"], 0),
        ],
    );

    // The first candidate is accepted with our own words, the relation rejected, the rest left.
    let (text, code) =
        printed(&project, &["memory", "consolidate"], "x\na Wrote the first program.\nr\nq\n");
    assert_eq!(code, 0, "{text}");
    for words in [
        "1 of ",
        "summary of Ada Lovelace (person)",
        "not understood",
        "relation Ada Lovelace → Charles Babbage",
        "1 done, 1 rejected, 0 failed",
    ] {
        assert!(text.contains(words), "lacks {words:?}\n{text}");
    }
    let ada = project.call("open_nodes", json!({"names": ["Ada Lovelace"]}));
    assert_eq!(ada["entities"][0]["summary"], "Wrote the first program.");
    // A rejected candidate is not proposed again; an orphan can be deleted; the end of input ends
    // the session.
    let (text, code) = printed(&project, &["memory", "consolidate"], "d\n");
    assert!(!text.contains("relation Ada Lovelace"), "{text}");
    assert_eq!(code, 0, "{text}");
    let left: Vec<String> = ["Ada Lovelace", "Charles Babbage", "Lost"].map(String::from).to_vec();
    let open = project.call("open_nodes", json!({"names": left}));
    assert_eq!(open["not_found"].as_array().map(Vec::len), Some(1), "{open}");
    let (text, _) = printed(&project, &["memory", "consolidate", "--json"], "");
    let report: Value = serde_json::from_str(&text).expect("JSON");
    assert!(report["report"]["orphaned_nodes"].is_array(), "{report}");

    // One report per week, which is never overwritten and is not an entity.
    check(&project, &[("memory report --write", &["memory/reports/2"], 0)]);
    let (text, _) = printed(&project, &["memory", "report", "--write"], "");
    let path = text.split_whitespace().last().expect("a path").to_string();
    assert!(text.starts_with("there already"), "{text}");
    project.write(&path, "ticked\n");
    project.restart();
    project.settle();
    check(&project, &[("memory report --write", &["there already"], 0)]);
    assert_eq!(project.text(&path), "ticked\n");
    let listed = project.call("read_graph", json!({}))["entities"].clone();
    assert!(!listed.to_string().contains("reports/"), "{listed}");
}

#[test]
fn an_entity_goes_with_all_that_leads_to_it_or_stays() {
    let mut project = TestProject::of(&[
        (
            "memory/ada.md",
            "---\ntype: person\n---\n- knows [[Old Friend]]\n- works_with [[Charles]]\n",
        ),
        ("memory/charles.md", "---\ntype: person\n---\n- Counts\n"),
        ("memory/old-friend.md", "---\ntitle: Old Friend\ntype: person\n---\n- Is old\n"),
        ("memory/zoe.md", "---\ntype: person\n---\n- knows [[Charles]]\n- Plain\n"),
    ]);
    let before = project.text("memory/ada.md");
    // A write-protected note: its relation cannot be removed.
    let mut rights = std::fs::metadata(project.at("memory/zoe.md")).expect("there").permissions();
    rights.set_readonly(true);
    std::fs::set_permissions(project.at("memory/zoe.md"), rights).expect("set");
    project.settle();
    let reply =
        project.call("delete_entities", json!({"entity_names": ["Charles", "Old Friend", "None"]}));
    let failed = reply["failed"].as_array().cloned().unwrap_or_default();
    assert_eq!(reply["not_found"], json!(["None"]));
    match failed.first() {
        // Nothing of it was done, even the steps before.
        Some(error) => {
            let message = error["message"].as_str().expect("why");
            assert!(
                message.contains("memory/zoe.md") && message.ends_with("nothing was changed"),
                "{message}"
            );
            assert_eq!(reply["deleted"], json!(["Old Friend"]), "{reply}");
            assert!(project.at("memory/charles.md").exists());
            let now = project.text("memory/ada.md");
            assert_eq!(now, before.replace("- knows [[Old Friend]]\n", ""));
        }
        None => panic!("{reply}"),
    }
}
