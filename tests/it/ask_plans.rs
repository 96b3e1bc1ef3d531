//! Each plan of `ask`, as a person would use it: what comes first, what is left out, and when it
//! reports that nothing in the folder answers.

use serde_json::{Value, json};
use tests::TestProject;

/// Meetings, a decision record, procedures, a conversation, people and services, and a log.
const FOLDER: [(&str, &str); 11] = [
    (
        "meetings/2026-03-12-sync.md",
        "---\ntitle: Billing sync\ntype: meeting\ndate: 2026-03-12\n---\n# Billing sync\n\nAttendees: Ana Silva, Bo \
         Chen.\n\n## Notes\n\nBo said that Billing times out because the Key Store is slow.\n\n## Decisions\n\n- Raise \
         the timeout of Billing to 30 seconds.\n- Mira owns the migration to invoices v2.\n\n## Actions\n\n- [ ] Bo: \
         write the runbook\n",
    ),
    (
        "meetings/2026-04-02-sync.md",
        "---\ntitle: Billing sync April\ntype: meeting\ndate: 2026-04-02\n---\n# Billing sync April\n\n## Decisions\n\n\
         - Billing will drop the SOAP endpoint in June.\n\n## Notes\n\nThe coffee machine is broken.\n",
    ),
    (
        "adr/0001-postgres.md",
        "# ADR 1: Postgres for invoices\n\nStatus: accepted\nDate: 2026-01-20\n\n## Context\n\nSQLite locked under the \
         load of month end.\n\n## Decision\n\nWe will store invoices in Postgres.\n\n## Consequences\n\nSomebody has \
         to run a server.\n",
    ),
    (
        "howto/keys.md",
        "# Rotate signing keys\n\nSigning keys rotate every 90 days.\n\n## Procedure\n\n1. Announce the rotation.\n2. \
         Create the new key:\n\n   ```sh\n   keyctl new --alg ed25519\n   ```\n\n3. Publish it and wait.\n4. Retire \
         the old key.\n\n## See also\n\n- [[Billing]]\n",
    ),
    (
        "services/billing.md",
        "---\ntitle: Billing\ntype: service\n---\n# Billing\n\nBilling is a service that sends invoices to \
         customers.\n\n- [owner] Owned by the payments team\n- [port] Listens on 8443\n- [decision] Billing uses \
         exactly-once delivery\n- depends_on [[Key Store]]\n",
    ),
    (
        "services/key-store.md",
        "---\ntitle: Key Store\ntype: service\nmodified: 2026-02-20\n---\n# Key Store\n\nThe Key Store keeps signing \
         keys.\n",
    ),
    (
        "places/office.md",
        "---\ntitle: Office\n---\n# Office\n\nThe Office is a building near the river. It has a garden.\n",
    ),
    (
        "log.md",
        "# Incident log\n\n- 2026-01-07: Billing was down for 20 minutes.\n- 2026-02-14: The Key Store moved to \
         Frankfurt.\n- On 3 April 2026 the cache of the Key Store went live.\n",
    ),
    (
        "journal.md",
        "# Journal\n\n## 2026-05-20\n\nThe Key Store got a second disk.\n\n## 2026-05-21\n\nRain.\n",
    ),
    ("people/ana.md", "---\ntype: person\n---\n# Ana Silva\n\nAna Silva is an engineer.\n"),
    ("garden.md", "# Garden\n\nTomatoes want sun. Water them early.\n"),
];

fn project() -> TestProject {
    TestProject::of(&FOLDER)
}

fn ask(project: &mut TestProject, query: &str) -> Value {
    project.call("ask", json!({"query": query}))
}

/// Returns the text of each statement, with claim and date.
fn statements_of(reply: &Value) -> Vec<String> {
    let text = |it: &Value, name: &str| it[name].as_str().unwrap_or_default().to_string();
    let one = |it: &Value| match text(it, "claim") {
        claim if claim.is_empty() => text(it, "text"),
        claim => claim,
    };
    reply["statements"].as_array().expect("a list").iter().map(one).collect()
}

#[test]
fn no_plan_answers_what_the_folder_does_not_know() {
    let mut project = project();
    // The name alone does not answer a question about an attribute.
    for query in [
        "what is the office wifi password",
        "which decisions were made about the office wifi password",
        "history of the office wifi password",
        "summarize the wifi password rotation policy",
    ] {
        let reply = ask(&mut project, query);
        assert_eq!(reply["plan"], "search", "{query}: {reply:#}");
    }
    for query in [
        "what is the wifi password",
        "tell me about the wifi password",
        "which decisions were made about the wifi password",
        "history of the wifi password",
    ] {
        let reply = ask(&mut project, query);
        let plan_and_flag = (&reply["plan"], &reply["nothing_relevant"]);
        assert_eq!(plan_and_flag, (&json!("search"), &json!(true)), "{query}: {reply:#}");
    }
    for plan in ["summary", "timeline", "decisions", "path"] {
        let reply = project.call("ask", json!({"query": "wifi password", "plan": plan}));
        assert_eq!(reply["nothing_relevant"], true, "{plan}: {reply:#}");
    }
    // For known subjects there is no such doubt.
    for (query, plan) in [
        ("what is the Office", "summary"),
        ("tell me about the Key Store", "summary"),
        ("history of the Key Store", "timeline"),
        ("what did we decide about Billing", "decisions"),
        ("how is Billing related to the Key Store", "path"),
    ] {
        let reply = ask(&mut project, query);
        assert_eq!(
            (&reply["plan"], reply.get("nothing_relevant")),
            (&json!(plan), None),
            "{query}: {reply:#}"
        );
    }
}

#[test]
fn decisions_are_those_that_were_stated_about_the_thing() {
    let mut project = project();
    let entry = json!({"text": "We decided to keep invoices for ten years", "kind": "decision"});
    project.call("remember", entry);
    project.settle();
    let billing = ask(&mut project, "what did we decide about Billing");
    let texts = statements_of(&billing).join("\n");
    for held in ["Raise the timeout of Billing", "drop the SOAP endpoint", "exactly-once delivery"]
    {
        assert!(texts.contains(held), "{held}: {billing:#}");
    }
    for other in ["was down", "times out", "ten years", "coffee", "runbook"] {
        assert!(!texts.contains(other), "{other}: {billing:#}");
    }
    let first =
        &statements_of(&ask(&mut project, "which decisions were made about the timeout"))[0];
    assert_eq!(first, "Raise the timeout of Billing to 30 seconds.");
    let dated = ask(&mut project, "what did we decide about the SOAP endpoint");
    assert_eq!(dated["statements"][0]["date"], "2026-04-02", "{dated:#}");
    let why = statements_of(&ask(&mut project, "why do we use Postgres for invoices"));
    assert_eq!(why[0], "We will store invoices in Postgres.", "{why:?}");
    assert!(why.iter().any(|it| it.contains("SQLite locked")), "{why:?}");
    let kept = statements_of(&ask(&mut project, "what did we decide about keeping invoices"));
    assert_eq!(kept[0], "We decided to keep invoices for ten years", "{kept:?}");
    let then = statements_of(&ask(&mut project, "what did we decide in March 2026"));
    assert_eq!(then.len(), 2, "{then:?}");
    assert!(then.iter().all(|it| it.contains("timeout") || it.contains("Mira owns")), "{then:?}");
    // Without a topic: all of them, latest first.
    let all = ask(&mut project, "list all decisions");
    let texts = statements_of(&all).join("\n");
    for held in ["ten years", "SOAP", "timeout", "Mira owns", "Postgres", "exactly-once"] {
        assert!(texts.contains(held), "{held}: {all:#}");
    }
}

#[test]
fn a_procedure_is_answered_by_its_steps_as_written() {
    let mut project = project();
    for query in [
        "what are the steps to rotate signing keys",
        "how do I rotate signing keys",
        "procedure for the rotation of signing keys",
    ] {
        let reply = ask(&mut project, query);
        assert_eq!(reply["plan"], "search", "{query}: {reply:#}");
        let first = &statements_of(&reply)[0];
        for held in ["1. Announce", "2. Create the new key:", "   ```sh", "4. Retire the old key."]
        {
            assert!(first.contains(held), "{query}, {held}: {first}");
        }
    }
    let whole =
        project.client().call_whole("ask", json!({"query": "how do I rotate signing keys"}));
    let text = whole.expect("an answer")["content"][0]["text"].as_str().expect("text").to_string();
    assert!(
        text.contains("   ```\n\n   3. Publish") || text.contains("```\n\n"),
        "blank lines stay: {text}"
    );
}

#[test]
fn a_long_procedure_is_whole() {
    let steps: Vec<String> = (1..=24)
        .map(|n| {
            format!(
                "{n}. Turn valve number {n} until the needle of gauge {n} is in the green field."
            )
        })
        .collect();
    let page = format!(
        "# Start the boiler\n\nOnce a year.\n\n## Steps\n\n{}\n\n## After\n\nRest.\n",
        steps.join("\n")
    );
    let mut project =
        TestProject::of(&[("boiler.md", &page), ("tea.md", "# Tea\n\nTea wants hot water.\n")]);
    project.settle();
    let reply = ask(&mut project, "how do I start the boiler");
    let first = &statements_of(&reply)[0];
    assert!(first.contains(&steps[0]) && first.contains(&steps[23]), "{reply:#}");
}

#[test]
fn the_steps_of_a_page_are_shown_rather_than_its_introduction() {
    // Long enough for a passage of its own.
    let why: String = (1..=40)
        .map(|n| {
            format!("Rotate the seals of customer {n} by hand when that customer asks for it. ")
        })
        .collect();
    let text = format!(
        "---\ntype: runbook\n---\n# Rotate the seals\n\n{why}\n\n## Requirements\n\n- [[Billing]]\n- access to the \
         seals\n\n## Procedure\n\n1. Announce it.\n2. Pause the sweep.\n3. Create new ones.\n4. Record it.\n\n## If it \
         goes wrong\n\nCall Bo.\n"
    );
    let mut project = TestProject::of(&[("runbooks/seals.md", &text)]);
    let reply = ask(&mut project, "How do I rotate the seals?");
    let first = statements_of(&reply).first().cloned().unwrap_or_default();
    assert!(first.contains("1. Announce it.\n2. Pause the sweep."), "{reply:#}");
    assert!(!first.contains("by hand"), "{reply:#}");
}

#[test]
fn a_reason_answers_by_what_was_before_and_all_decisions_begin_with_their_records() {
    let mut project = project();
    project.write(
        "people/lena.md",
        "# Lena\n\n## Decisions she wrote\n\nShe also keeps bees on the roof.\n",
    );
    project.settle();
    let reply = ask(&mut project, "why was SQLite replaced for the invoices at month end");
    assert_eq!(reply["plan"], "decisions", "{reply:#}");
    let all = statements_of(&reply).join("\n");
    assert!(all.contains("SQLite locked under the load of month end."), "{reply:#}");
    let reply = ask(&mut project, "list all decisions");
    let all = statements_of(&reply);
    assert_eq!(all[0], "We will store invoices in Postgres.", "{reply:#}");
    assert!(!all.join("\n").contains("bees"), "{reply:#}");
}

#[test]
fn a_timeline_has_the_day_that_the_line_states() {
    let mut project = project();
    let reply = ask(&mut project, "history of the Key Store");
    let rows: Vec<_> = reply["statements"].as_array().expect("a list").iter().collect();
    let of = |words: &str| {
        let row = rows.iter().find(|it| it["text"].as_str().is_some_and(|it| it.contains(words)));
        row.map(|it| {
            (it["date"].as_str().unwrap_or_default(), it["dated_by"].as_str().unwrap_or_default())
        })
    };
    assert_eq!(of("moved to Frankfurt"), Some(("2026-02-14", "line")), "{reply:#}");
    assert_eq!(of("went live"), Some(("2026-04-03", "line")), "{reply:#}");
    assert_eq!(of("second disk"), Some(("2026-05-20", "section")), "{reply:#}");
    assert_eq!(of("times out"), Some(("2026-03-12", "note")), "{reply:#}");
    assert_eq!(of("keeps signing keys"), Some(("2026-02-20", "note")), "{reply:#}");
    let days: Vec<_> = rows.iter().map(|it| it["date"].as_str().unwrap_or_default()).collect();
    assert!(days.is_sorted(), "{days:?}");
    let down = ask(&mut project, "what happened on 7 January 2026");
    assert_eq!(down["plan"], "timeline", "{down:#}");
    assert_eq!(statements_of(&down)[0], "2026-01-07: Billing was down for 20 minutes.", "{down:#}");
}

#[test]
fn a_summary_begins_with_what_the_note_of_the_thing_says() {
    let mut project = project();
    let reply = ask(&mut project, "summarize Billing");
    let statements = statements_of(&reply);
    let expected = [
        "Billing is a service that sends invoices to customers.",
        "[owner] Owned by the payments team",
        "[port] Listens on 8443",
        "[decision] Billing uses exactly-once delivery",
        "Billing depends_on Key Store",
    ];
    assert_eq!(statements[..5], expected, "{reply:#}");
    assert_eq!(reply["statements"][1]["kind"], "fact");
    // Headings and lines that only introduce the next one are not statements.
    assert!(
        !statements.iter().any(|it| it == "Billing sync April" || it.ends_with(':')),
        "{statements:?}"
    );
    let explained = project.call("explain_entity", json!({"name": "Billing"}));
    let facts: Vec<_> =
        explained["facts"].as_array().expect("facts").iter().map(|it| it["text"].clone()).collect();
    assert_eq!(facts, expected[1..4], "{explained:#}");
    assert_eq!(explained["relations"][0]["predicate"], "depends_on", "{explained:#}");
}
