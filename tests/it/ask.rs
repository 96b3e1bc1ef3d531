//! `ask` answers from everything in the folder with one plan; `remember` stores a whole text where
//! it belongs.

use serde_json::{Value, json};
use tests::TestProject;

fn project() -> TestProject {
    TestProject::of(&[
        (
            "ops/keys.md",
            "# Keys\n\nSigning keys rotate every 90 days.\n\n## How to rotate\n\n1. Announce it.\n2. Run \
                         `keys rotate`.\n3. Record it.\n",
        ),
        (
            "decisions/store.md",
            "---\ntype: decision\ndate: 2026-01-05\n---\n# Store\n\n## Context\n\nPostgres needed a \
                                server, because nobody ran one.\n\n## Decision\n\nWe chose SQLite for the store.\n",
        ),
        (
            "people/ana.md",
            "---\ntype: person\n---\n# Ana Silva\n\nAna Silva is an engineer. She maintains [[Billing]].\n",
        ),
        (
            "services/billing.md",
            "---\ntype: service\n---\n# Billing\n\nBilling is a service that sends invoices.\n\n\
                                 - uses [[Key Store]]\n",
        ),
        (
            "services/key-store.md",
            "---\ntype: service\n---\n# Key Store\n\nThe Key Store keeps keys.\n",
        ),
    ])
}

fn texts(reply: &Value) -> String {
    let all = reply["statements"].as_array().expect("statements").iter();
    all.map(|it| it["text"].as_str().unwrap_or_default()).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_question_is_answered_by_the_plan_that_its_words_ask_for() {
    let mut project = project();
    for (query, plan, holds) in [
        ("how often do signing keys rotate", "search", "90 days"),
        ("why did we choose SQLite", "decisions", "because nobody ran one"),
        ("who is Ana Silva", "summary", "is an engineer"),
        ("how are Ana Silva and Key Store related", "path", "uses"),
        ("how do I rotate keys", "search", "2. Run `keys rotate`."),
    ] {
        let reply = project.call("ask", json!({"query": query}));
        assert_eq!(reply["plan"], plan, "{query}: {reply:#}");
        assert!(
            texts(&reply).contains(holds) || reply.to_string().contains(holds),
            "{query}: {reply:#}"
        );
        for it in reply["statements"].as_array().expect("statements") {
            assert!(it["path"].is_string() && it["line"].as_u64() > Some(0), "{query}: {it}");
        }
    }
    let chosen = project.call("ask", json!({"query": "Ana Silva", "plan": "timeline"}));
    assert_eq!(
        (&chosen["plan"], &chosen["reason"]),
        (&json!("timeline"), &json!("it was asked for"))
    );
    let error = project
        .try_call("ask", json!({"query": "x", "about": "Nobody Known"}))
        .expect_err("unknown");
    assert_eq!(error["code"], "not_found");
}

#[test]
fn what_is_remembered_stands_where_it_belongs_and_is_found() {
    let mut project = project();
    let remember = |project: &mut TestProject, given: Value| project.call("remember", given);
    // About somebody who has a note; the same words are not written twice.
    let ana = json!({"text": "prefers short mails", "about": "Ana Silva"});
    let kept = remember(&mut project, ana.clone());
    assert_eq!((&kept["path"], &kept["kind"]), (&json!("people/ana.md"), &json!("preference")));
    assert!(!kept["similar"].to_string().contains("short mails"), "not similar to itself: {kept}");
    assert!(
        std::fs::read_to_string(project.root().join("people/ana.md"))
            .expect("there")
            .contains("- [preference] prefers short mails")
    );
    assert_eq!(remember(&mut project, ana)["was_known"], true);
    // About a new name.
    let bo = remember(&mut project, json!({"text": "lives in Porto", "about": "Bo Chen"}));
    assert_eq!((&bo["path"], &bo["is_new"]), (&json!("memory/bo-chen.md"), &json!(true)));
    // A name with a typo is that name, and the reply says so; a name that is only similar is a
    // different one.
    let slip = remember(&mut project, json!({"text": "likes tea", "about": "Anna Silva"}));
    assert_eq!(slip["path"], "people/ana.md");
    assert!(slip["warnings"].to_string().contains("almost `Anna Silva`"), "{slip}");
    let other = remember(&mut project, json!({"text": "likes tea", "about": "Ana Silveira"}));
    assert_eq!(other["is_new"], true, "{other}");
    // About nothing: becomes an entry; a text with the same beginning becomes another.
    let first = remember(&mut project, json!({"text": "The budget is 1000 EUR"}));
    let second = remember(&mut project, json!({"text": "The budget is 100"}));
    assert!(first["id"] != second["id"] && second["was_known"].is_null(), "{second}");
    assert!(
        second["contradicts"].to_string().contains("the numbers differ: 100 and 1000"),
        "{second}"
    );
    // Further parameters of a text that is already stored are stored, too.
    let again = json!({"text": "The budget is 100", "tags": ["money"]});
    let again = remember(&mut project, again);
    assert_eq!((&again["was_known"], &again["path"]), (&json!(true), &second["path"]));
    let entry = again["path"].as_str().expect("a path");
    let entry = std::fs::read_to_string(project.root().join(entry)).expect("there");
    assert!(entry.contains("money"), "{entry}");
    // Several lines keep their formatting.
    let steps = "To deploy:\n\n1. Build\n2. Push\n\n```sh\nmake\n\nmake push\n```";
    let entry = remember(&mut project, json!({"text": steps, "about": "Billing"}));
    let path = entry["path"].as_str().expect("a path").to_string();
    let written = std::fs::read_to_string(project.root().join(&path)).expect("there");
    assert!(written.contains(steps) && written.contains("[[billing]]"), "{written}");
    let answer = project.call("ask", json!({"query": "what does Ana Silva prefer"}));
    assert!(texts(&answer).contains("prefers short mails"), "{answer:#}");
    for nothing in ["", "  ", "# ---", "```"] {
        let error = project.try_call("remember", json!({"text": nothing})).expect_err("nothing");
        assert_eq!(error["code"], "invalid_params", "{nothing}: {error}");
    }
}
