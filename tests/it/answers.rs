//! Answers for agents: pagination, budgets, and searching about one entity.

use std::collections::BTreeSet;

use embed::WordPiece;
use serde_json::{Value, json};
use tests::TestProject;

fn project(n: usize) -> TestProject {
    let files: Vec<(String, String)> =
        (0..n).map(|i| (format!("notes/{i:02}.md"), note(i))).collect();
    let files: Vec<(&str, &str)> =
        files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    TestProject::of(&files)
}

fn note(i: usize) -> String {
    let more = "harbor ".repeat(i % 5);
    format!(
        "# Log {i}\n\nOn day {i} the lighthouse keeper wrote {more}of ship number {}.\n",
        i * 31
    )
}

fn paths(reply: &Value) -> Vec<String> {
    let hits = reply["chunks"].as_array().expect("hits").iter();
    hits.map(|hit| hit["path"].as_str().expect("a path").to_string()).collect()
}

#[test]
fn pages_leave_nothing_out_and_repeat_nothing_whatever_changes_between_them() {
    let mut project = project(30);
    let asks = |project: &mut TestProject, cursor: Option<&str>| {
        let mut request = json!({"q": "lighthouse keeper harbor", "k": 7, "max_chars": 20_000});
        request["cursor"] = cursor.into();
        project.call("hybrid_query", request)
    };
    let first = asks(&mut project, None);
    let mut seen = paths(&first);
    assert_eq!(seen.len(), 7);
    let mut cursor = first["next_cursor"].as_str().map(str::to_string);
    // The first page's notes move and their ranks change; a new note would rank first.
    project.rename(&seen[0], "moved.md");
    project.write("new.md", "# New\n\nlighthouse keeper harbor, lighthouse keeper harbor\n");
    project.settle();
    while let Some(at) = cursor {
        let page = asks(&mut project, Some(&at));
        assert!(paths(&page).len() <= 7);
        seen.extend(paths(&page));
        cursor = page["next_cursor"].as_str().map(str::to_string);
    }
    let each: BTreeSet<String> = seen.iter().cloned().collect();
    assert_eq!(each.len(), seen.len(), "something was listed twice: {seen:?}");
    assert_eq!(each.len(), 31, "thirty notes, and the new one");
    assert!(!each.contains("moved.md"), "listed before it moved");
    // The copy nearer to the root becomes the indexed place of the text.
    let long = "The gannet sits on the lantern of the harbor. ".repeat(8);
    project.write("deep/er/long.md", format!("# Gannets\n\n{long}\n"));
    project.settle();
    let request = json!({"q": "gannet lantern harbor", "k": 1, "max_chars": 20_000});
    let found = project.call("hybrid_query", request);
    assert_eq!(paths(&found), ["deep/er/long.md"]);
    project.write("long.md", format!("# Gannets\n\n{long}\n"));
    project.settle();
    let request = json!({"q": "gannet lantern harbor", "k": 50, "max_chars": 20_000});
    let mut next = request.clone();
    next["cursor"] = found["next_cursor"].clone();
    let next = paths(&project.call("hybrid_query", next));
    assert!(!next.is_empty() && next.iter().all(|path| !path.ends_with("long.md")), "{next:?}");
    assert_eq!(paths(&project.call("hybrid_query", request))[0], "long.md");
    let other = json!({"q": "something else", "cursor": first["next_cursor"]});
    let error = project.try_call("hybrid_query", other).expect_err("of another question");
    assert_eq!(error["message"], "`cursor` belongs to another question or other conditions");
}

#[test]
fn what_a_budget_cuts_off_is_on_the_next_page() {
    let mut project = project(12);
    let mut request =
        json!({"q": "lighthouse keeper", "k": 10, "max_chars": 600, "format": "json"});
    let mut seen = BTreeSet::new();
    loop {
        let page = project.call("hybrid_query", request.clone());
        assert!(page.to_string().chars().count() <= 1_200);
        let n_before = seen.len();
        seen.extend(paths(&page));
        assert!(seen.len() > n_before, "each page tells something");
        let Some(next) = page["next_cursor"].as_str() else { break };
        request["cursor"] = next.into();
    }
    assert_eq!(seen.len(), 12);
}

#[test]
fn both_forms_of_an_answer_tell_the_same_hits_within_any_budget() {
    let body = "The lighthouse keeper of the harbor lights the lamp, names it Torvald Enberg and writes it down. ";
    let files: Vec<(String, String)> = (0..12)
        .map(|i| {
            let text = format!(
                "# Log of the harbor {i}\n\n## What happened on day {i}\n\n{}Ship {i}.\n",
                body.repeat(2 + i)
            );
            (format!("notes of the lighthouse/{i:02}.md"), text)
        })
        .collect();
    let files: Vec<(&str, &str)> =
        files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let mut project = TestProject::of(&files);
    for question in ["lighthouse keeper", "what does the lighthouse keeper light?", "zebra stripes"]
    {
        for (max_chars, k) in
            [(200, 1), (200, 8), (300, 3), (700, 12), (2_000, 8), (3_000, 12), (20_000, 12)]
        {
            let request = json!({"q": question, "max_chars": max_chars, "k": k});
            let whole =
                project.client().call_whole("hybrid_query", request.clone()).expect("an answer");
            let text = whole["content"][0]["text"].as_str().expect("text");
            let structured = &whole["structuredContent"];
            let n_chars = structured.to_string().chars().count();
            let n = paths(structured).len();
            assert!(
                n_chars <= (2 * max_chars).max(800),
                "{request}: {n_chars} characters, {structured}"
            );
            assert!(text.chars().count() <= max_chars, "{request}: {text}");
            let shown = text.lines().filter(|line| line.split_once(". notes of").is_some()).count();
            assert_eq!(shown, n, "{request}: {text}");
            assert!(n > 0, "{request}");
            assert!(!structured["chunks"][0]["snippet"].as_str().expect("a snippet").is_empty());
            if let Some(cursor) = structured["next_cursor"].as_str().filter(|_| max_chars >= 700) {
                assert!(
                    text.contains(cursor),
                    "who reads the text can go on, too: {request}: {text}"
                );
            }
        }
    }
}

#[test]
fn a_budget_in_tokens_holds() {
    let mut project = project(20);
    let tokens = WordPiece::builtin();
    for max_tokens in [70, 150, 400] {
        let request = json!({"q": "lighthouse keeper", "k": 20, "max_tokens": max_tokens});
        let whole = project.client().call_whole("hybrid_query", request).expect("an answer");
        let text = whole["content"][0]["text"].as_str().expect("text");
        let n = tokens.count_tokens(text);
        assert!(n <= max_tokens, "{n} tokens of {max_tokens}: {text}");
    }
    let error =
        project.try_call("hybrid_query", json!({"q": "x", "max_tokens": 3})).expect_err("few");
    assert_eq!(error["message"], "`max_tokens` is 3");
}

#[test]
fn hits_about_one_entity_mention_it() {
    let mut project = TestProject::of(&[
        ("Key Vault.md", "# Key Vault\n\nKeeps the keys. Rotation is weekly.\n"),
        (
            "ops.md",
            "# Ops\n\nThe rotation of the Key Vault is done by Ada.\n\n## Other\n\nRotation of tires is done in May.\n",
        ),
        ("cars.md", "# Cars\n\nRotation of tires saves money.\n"),
    ]);
    let hits = |project: &mut TestProject, entity: Value| {
        let request = json!({"q": "rotation", "entity": entity, "max_chars": 5_000});
        let mut paths = paths(&project.call("hybrid_query", request));
        paths.sort();
        paths
    };
    assert_eq!(hits(&mut project, json!("key-vault")), ["Key Vault.md", "ops.md"]);
    let found = project.call("entity_lookup", json!({"q": "Key Vault"}));
    let id = found["entities"][0]["id"].to_string();
    assert_eq!(hits(&mut project, json!(id)), ["Key Vault.md", "ops.md"]);
    let request = json!({"q": "rotation", "entity": "Zeppelin"});
    let error = project.try_call("hybrid_query", request).expect_err("unknown");
    assert_eq!(error["message"], "no entity is called `Zeppelin`");
}

fn first_hit(reply: &Value) -> (String, String) {
    let hit = &reply["chunks"][0];
    let text = |key: &str| hit[key].as_str().expect("a text").to_string();
    (text("ref"), text("path"))
}

#[test]
fn a_passage_is_read_whole_by_its_ref_wherever_it_moves() {
    let long = "The lamp of the old tower burns oil of rape. ".repeat(40);
    let text = format!("# Tower\n\n## Lamp\n\n{long}\n\n## Stairs\n\nThere are ninety steps.\n");
    let mut project = TestProject::of(&[("tower.md", &text), ("b.md", "# B\n\nNothing.\n")]);
    let asked = json!({"q": "what oil does the lamp burn", "max_chars": 400});
    let reply = project.call("hybrid_query", asked);
    let (handle, path) = first_hit(&reply);
    assert_eq!(path, "tower.md");
    let snippet = reply["chunks"][0]["snippet"].as_str().expect("a snippet");
    assert!(snippet.len() < 400);
    let read = |project: &mut TestProject, at: &str| {
        let passage = project.call("read_passage", json!({"at": at}));
        (passage["path"].as_str().expect("a path").to_string(), passage["text"].clone())
    };
    let (_, whole) = read(&mut project, &handle);
    assert!(whole.as_str().expect("text").matches("oil of rape").count() >= 5, "{whole}");
    project.rename("tower.md", "buildings/lighthouse.md");
    project.settle();
    assert_eq!(read(&mut project, &handle), ("buildings/lighthouse.md".into(), whole.clone()));
    // A rebuilt index renumbers its chunks, but the words are the same.
    project.call("verify", json!({"repair": true}));
    assert_eq!(read(&mut project, &handle).1, whole);
    project.write("buildings/lighthouse.md", "# Tower\n\nIt was pulled down.\n");
    project.settle();
    let error = project.try_call("read_passage", json!({"at": handle})).expect_err("other words");
    assert_eq!(error["code"], "not_found");
    assert_eq!(error["message"], format!("no passage has the ref `{handle}` any more"));
}

#[test]
fn a_passage_is_read_by_its_place_and_with_its_neighbors() {
    let sentence = |i: usize, n: usize| format!("Word{i} is number {n} of part {i}. ");
    let section = |i: usize| {
        let sentences: String = (1..=90).map(|n| sentence(i, n)).collect();
        format!("## Part {i}\n\n{sentences}\n\n")
    };
    let text = format!("# Book\n\n{}", (1..=6).map(section).collect::<String>());
    let mut project =
        TestProject::of(&[("book.md", &text), ("sub/other.md", "# Other\n\nShort.\n")]);
    project.settle();
    let line = text.lines().position(|line| line.contains("Word4")).expect("part 4") + 1;
    let read = |project: &mut TestProject, more: Value| {
        let mut request = json!({"at": format!("./book.md:{line}-{line}")});
        request
            .as_object_mut()
            .expect("an object")
            .extend(more.as_object().cloned().unwrap_or_default());
        project.call("read_passage", request)
    };
    let one = read(&mut project, json!({}));
    assert!(one["text"].as_str().expect("text").contains("Word4"));
    assert_eq!(one["passages"][0], one["passages"][1]);
    let three = read(&mut project, json!({"around": 1, "max_chars": 50_000}));
    let text = three["text"].as_str().expect("text");
    assert!(text.len() > one["text"].as_str().expect("text").len());
    assert_eq!(three["passages"][1].as_u64(), three["passages"][0].as_u64().map(|n| n + 2));
    // Text beyond the budget is left out and reported, and `after` continues there.
    let cut = read(&mut project, json!({"around": 20, "max_chars": 3_500}));
    assert!(cut["truncated"].as_str().expect("told").ends_with("raise `max_chars` for more"));
    let next = project.call("read_passage", json!({"at": cut["after"]}));
    assert_eq!(next["passages"][0].as_u64(), cut["passages"][1].as_u64().map(|n| n + 1));
    // A file name that one document has is enough.
    let by_name = read(&mut project, json!({"at": "other.md"}));
    assert_eq!(by_name["path"], "sub/other.md");
    let refused = [
        (json!({"at": "boo.md:3"}), "no document `boo.md`", "there is book.md"),
        (json!({"at": "book.md:9999"}), "`book.md` has no line 9999", "its text ends with line"),
        (json!({"at": "book.md p. 2"}), "`book.md` has no page 2", "it has no pages"),
        (json!({"at": "book.md", "around": 99}), "`around` is 99", "from 0 to 20"),
        (json!({"at": "book.md", "max_chars": 1}), "the budget is 1 characters", "from 200"),
        (json!({"at": ""}), "no document ``", "give a hit's `ref`"),
        (json!({"at": "../../etc/passwd"}), "no document `../../etc/passwd`", "give a hit's"),
    ];
    for (request, message, hint) in refused {
        let error = project.try_call("read_passage", request).expect_err("refused");
        assert_eq!(error["message"], message);
        assert!(error["hint"].as_str().expect("a hint").contains(hint), "{error}");
    }
}

#[test]
fn an_answer_says_that_nothing_fits() {
    let mut project = project(12);
    let mut ask = |q: &str| project.call("hybrid_query", json!({"q": q}));
    let fits = ask("what did the lighthouse keeper write of ships");
    assert_eq!(fits["nothing_relevant"], Value::Null);
    assert_eq!(fits["chunks"][0]["weak"], Value::Null);
    let strange = ask("how are mortgage interest rates computed in Brazil");
    assert_eq!(strange["nothing_relevant"], true, "{strange}");
    assert!(strange["chunks"].as_array().expect("hits").iter().all(|hit| hit["weak"] == true));
    for formula in ["vector", "s4"] {
        let mut ask = |q: &str| project.call("hybrid_query", json!({"q": q, "formula": formula}));
        let fits = ask("what did the lighthouse keeper write of ships");
        assert_eq!(fits["chunks"][0]["weak"], Value::Null, "{formula}");
        let strange = ask("how are mortgage interest rates computed in Brazil");
        assert_eq!(strange["nothing_relevant"], true, "{formula}: {strange}");
    }
    let whole = project
        .client()
        .call_whole("hybrid_query", json!({"q": "mortgage interest rates in Brazil"}))
        .expect("an answer");
    let text = whole["content"][0]["text"].as_str().expect("text");
    assert!(text.starts_with("nothing here has much to do with the question"), "{text}");
}

#[test]
fn every_tool_that_searches_says_that_nothing_fits() {
    let mut project = TestProject::of(&[
        ("keys.md", "# Keys\n\nThe signing keys are rotated every spring by Ada Lindqvist.\n"),
        ("ships.md", "# Ships\n\nThe lighthouse keeper counts the ships in the harbor.\n"),
    ]);
    let entity = json!({"name": "Ada Lindqvist", "entity_type": "person", "observations": ["Rotates the signing keys"]});
    project.call("create_entities", json!({"entities": [entity]}));
    project.call(
        "kb_store",
        json!({"short_title": "Signing keys", "knowledge_details": "The signing keys are rotated every spring."}),
    );
    project.settle();
    let strange = "how are mortgage interest rates computed in Brazil";
    for (tool, question, list) in [
        ("hybrid_query", "q", "chunks"),
        ("search", "query", "notes"),
        ("search_notes", "query", "results"),
        ("search_nodes", "query", "results"),
        ("query_observations", "query", "results"),
        ("kb_search", "query", "results"),
        ("ask", "query", ""),
    ] {
        let mut ask = |text: &str| {
            let mut request = json!({ question: text });
            if tool == "query_observations" {
                request["entity_name"] = "Ada Lindqvist".into();
            }
            project.call(tool, request)
        };
        let fits = ask("who rotates the signing keys");
        assert_ne!(fits["nothing_relevant"], true, "{tool}: {fits}");
        let found = ask(strange);
        let rows = found[list].as_array().cloned().unwrap_or_default();
        let is_flagged = found["nothing_relevant"] == true || (!list.is_empty() && rows.is_empty());
        assert!(is_flagged, "{tool}: {found}");
        for row in rows {
            assert_eq!(row["weak"], true, "{tool}: {row}");
            assert!(row["relevance"].as_f64().is_some_and(|it| it < 0.25), "{tool}: {row}");
        }
    }
    // A name that the folder lacks makes the same passage less relevant.
    let mut relevance = |q: &str| {
        let reply = project.call("hybrid_query", json!({"q": q}));
        reply["chunks"][0]["relevance"].as_f64().expect("a number")
    };
    let known = relevance("when are keys rotated by Lindqvist");
    assert!(known > relevance("when are keys rotated by Quillgate"));
}

#[test]
fn what_goes_by_another_name_fits_the_question() {
    let mut project = TestProject::of(&[
        ("krill.md", "---\naliases: [KRR]\n---\n\n# Krill Ledger\n\nThe ledger counts barrels.\n"),
        ("other.md", "# Other\n\nTires are changed in May.\n"),
    ]);
    for question in ["KRR", "tell me about KRR", "Kril Ledgr"] {
        let reply = project.call("hybrid_query", json!({"q": question}));
        assert_eq!(reply["chunks"][0]["path"], "krill.md", "{question}");
        assert_eq!(reply["chunks"][0]["weak"], Value::Null, "{question}: {reply}");
        assert_eq!(reply["nothing_relevant"], Value::Null, "{question}");
    }
}

#[test]
fn a_cursor_that_begins_with_a_hyphen_is_no_option() {
    let mut project = project(3);
    project.settle();
    let asked = ["query", "lighthouse", "--cursor", "-74taEkv1RQ", "--project"];
    let output = project.kgctl().args(asked).arg(project.root()).output().expect("it runs");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(errors.contains("`cursor` belongs to another question"), "{errors}");
}

#[test]
fn an_answer_without_hits_names_the_condition_that_leaves_nothing() {
    let mut project = TestProject::of(&[
        (
            "docs/2024-03-01.md",
            "---\ntags: [ops]\n---\n# Keys\n\nThe keys are rotated every spring.\n",
        ),
        ("docs/plan.txt", "The plan is dated in words, and it is about keys.\n"),
        ("old/2020-01-01.md", "# Before\n\nOnce the keys were kept in a drawer.\n"),
    ]);
    for (condition, hint) in [
        (json!({"type": "pdf"}), "no document has type `pdf`; there are `md`, `txt`"),
        (json!({"language": "de"}), "no document is mainly in language `de`"),
        (
            json!({"after": "2999-01-01"}),
            "no document is dated 2999-01-01 or later; the newest is of ",
        ),
        (
            json!({"before": "2001-01-01"}),
            "no document is dated before 2001-01-01; the oldest is of 2020-01-01",
        ),
        (json!({"path": "dcos/"}), "no document is in `dcos/`; nearest: `docs/`"),
        (json!({"tags": ["opps"]}), "no document has the tag `opps`; nearest: `ops`"),
        (json!({"type": "txt", "path": "old/"}), "no document is in `old/` and has type `txt`"),
        (
            json!({"after": "2024-01-01", "before": "2024-01-02"}),
            "no document is dated 2024-01-01 or later and is dated before 2024-01-02",
        ),
    ] {
        let mut request = json!({"q": "keys"});
        for (key, value) in condition.as_object().expect("parameters") {
            request[key] = value.clone();
        }
        let reply = project.call("hybrid_query", request);
        assert_eq!(paths(&reply), [""; 0], "{condition}");
        let text = reply["hint"].as_str().unwrap_or_default();
        assert!(text.starts_with(hint), "{condition}: {text}");
    }
}

#[test]
fn a_note_that_is_named_like_a_common_word_says_what_counts_as_its_mention() {
    let mut project = TestProject::of(&[
        ("vault.md", "It keeps secrets.\n"),
        ("night.md", "# Night\n\nThe vault is sealed at night by the guard.\n"),
    ]);
    let asked = json!({"q": "\"sealed at night\"", "entity": "vault", "formula": "text"});
    let reply = project.call("hybrid_query", asked.clone());
    assert_eq!(paths(&reply), [""; 0], "{reply}");
    let text = reply["hint"].as_str().unwrap_or_default();
    assert!(text.starts_with("`vault` is a common word: "), "{reply}");
    assert!(text.contains("`[[vault]]`"), "{text}");
    project.write("night.md", "# Night\n\nThe [[vault]] is sealed at night by the guard.\n");
    project.settle();
    assert_eq!(paths(&project.call("hybrid_query", asked)), ["night.md"]);
}
