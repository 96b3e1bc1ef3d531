//! Answers for agents: pages that go on where the last one ended, budgets, and searching about one thing.

use std::collections::BTreeSet;

use daemon::embedder::WordPiece;
use serde_json::{Value, json};
use tests::TestProject;

fn project(n: usize) -> TestProject {
    let files: Vec<(String, String)> =
        (0..n).map(|i| (format!("notes/{i:02}.md"), note(i))).collect();
    let files: Vec<(&str, &str)> =
        files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let mut project = TestProject::of(&files);
    project.settle();
    project
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
    // The first page's notes move and their ranks change; a new one would come first.
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
    assert_eq!(each.len(), seen.len(), "something was told twice: {seen:?}");
    assert_eq!(each.len(), 31, "thirty notes, and the new one");
    assert!(!each.contains("moved.md"), "told before it moved");
    let other = json!({"q": "something else", "cursor": first["next_cursor"]});
    let error = project.try_call("hybrid_query", other).expect_err("of another question");
    assert_eq!(error["message"], "`cursor` is of another question or other conditions");
}

#[test]
fn what_a_budget_cuts_off_is_on_the_next_page() {
    let mut project = project(12);
    let mut request = json!({"q": "lighthouse keeper", "k": 10, "max_chars": 600});
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
    project.settle();
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
    assert_eq!(error["message"], "nothing goes by `Zeppelin`");
}
