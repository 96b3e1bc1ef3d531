//! Names as questions: the whole title, alias, heading or file name of a note.

use serde_json::{Value, json};
use tests::TestProject;

fn paths(reply: &Value) -> Vec<&str> {
    let chunks = reply["chunks"].as_array().expect("hits");
    chunks.iter().map(|hit| hit["path"].as_str().expect("a path")).collect()
}

fn ask(project: &mut TestProject, question: &str) -> Value {
    project.call("hybrid_query", json!({"q": question, "max_chars": 20_000}))
}

/// A note with a long text, and a section with another heading.
fn below(heading: &str, text: &str) -> String {
    let long =
        "The harbour office writes down which boats came in, and when they left. ".repeat(30);
    format!("# Office\n\n{long}\n\n## {heading}\n\n{text}\n\n## Boats\n\n{long}\n")
}

#[test]
fn the_name_of_a_note_or_a_section_finds_it_first_even_without_text() {
    let mut project = TestProject::of(&[
        ("concepts/index.md", "---\ntitle: Mooring plans\naliases: [berth charts]\n---\n"),
        ("stub.md", ""),
        ("a.md", "# Plans\n\nMooring plans are kept by the harbour office. Mooring, plans.\n"),
        ("b.md", "# Mooring\n\nPlans of every mooring, and how berth plans change.\n"),
        ("m.md", "# The plans for mooring\n\nThe mooring plans of the year.\n"),
        ("C.md", "Pointers are kept in registers. Later came [[C++]].\n"),
        ("C++.md", "Grew out of [[C]]. What C lacks, C++ has.\n"),
        ("2024-05-06 standup.md", "Ann is ill.\n"),
        ("2024-05-07 standup.md", "Ann is back, see [[2024-05-06 standup]].\n"),
        ("ch04-02-borrowing.md", ""),
        ("borrowing-books.md", "Borrowing books: borrowing takes a card.\n"),
        ("inbox/Kites.md", ""),
        ("kites/Kites.md", "They fly on strings in autumn, over the dunes.\n"),
        ("d.md", &below("Tide tables", "They are printed in spring.")),
        (
            "e.md",
            "# Tables\n\nTide tables: a tide has tables, and tables of every tide are tables.\n",
        ),
    ]);
    for (question, first) in [
        ("mooring plans", "concepts/index.md"),
        ("Berth charts", "concepts/index.md"),
        ("stub", "stub.md"),
        ("the plans for mooring", "m.md"),
        ("tide tables", "d.md"),
        ("C", "C.md"),
        ("c++", "C++.md"),
        ("2024-05-06 standup", "2024-05-06 standup.md"),
        ("2024-05-07 standup", "2024-05-07 standup.md"),
        ("borrowing", "ch04-02-borrowing.md"),
        ("kites", "kites/Kites.md"),
    ] {
        let reply = ask(&mut project, question);
        assert_eq!(paths(&reply).first(), Some(&first), "{question}: {reply:#}");
        for tool in ["search", "search_notes"] {
            let reply = project.call(tool, json!({"query": question})).to_string();
            assert!(reply.contains(first), "{tool} {question}: {reply}");
        }
        // A name in the question, so that speakers and neighbors are read, too.
        project.call("ask", json!({"question": format!("who keeps {question}, says Stub Berth?")}));
    }
    let handle = ask(&mut project, "mooring plans")["chunks"][0]["ref"].clone();
    let passage = project.call("read_passage", json!({"at": handle}));
    assert_eq!((&passage["title"], &passage["text"]), (&json!("Mooring plans"), &json!("")));
    let stub = project.call("ask", json!({"question": "stub"})).to_string();
    assert!(!stub.contains("\"text\":\"\""), "a note without text states nothing: {stub}");
    project.verify("with notes that have no text");
    project.write("stub.md", "A stub no more: it is about zqlanterns.\n");
    project.settle();
    assert_eq!(paths(&ask(&mut project, "zqlanterns"))[0], "stub.md");
    project.verify("the empty passage is gone");
}
