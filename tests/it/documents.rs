//! PDF, DOCX and the other formats through the whole daemon: each result has its place.

use serde_json::{Value, json};
use tests::{TestProject, papers};

/// Returns the place of the best hit: path, lines, pages, section.
fn best(project: &mut TestProject, question: &str) -> String {
    let reply = project.call("hybrid_query", json!({"q": question}));
    let hit = &reply["chunks"][0];
    format!("{} {} {} {}", hit["path"], hit["lines"], hit["pages"], hit["section"])
}

/// Returns where the relations of an entity are stated.
fn stated(project: &mut TestProject, name: &str) -> Vec<Value> {
    let reply = project.call("explain_entity", json!({"name": name}));
    let evidence = reply["relations"].as_array().into_iter().flatten();
    let evidence = evidence.flat_map(|it| it["evidence"].as_array().cloned().unwrap_or_default());
    evidence.collect()
}

#[test]
fn a_pdf_is_cited_by_page() {
    let mut first = vec!["The lighthouse of Varn stands on a painted rock."];
    first.extend(["Ropes and tar lie on the pier until the ships come back from the sea."; 40]);
    let second: &[&str] =
        &["The Tide Clock depends on the Beacon Lamp.", "Both stand in the tower."];
    let mut project = TestProject::empty();
    project.write("report.pdf", papers::paged(&[&first, second]));
    project.write("Tide Clock.md", "# Tide Clock\n");
    project.write("Beacon Lamp.md", "# Beacon Lamp\n");
    project.start();
    project.settle();
    assert_eq!(best(&mut project, "painted rock"), r#""report.pdf" null [1,1] null"#);
    assert_eq!(best(&mut project, "both stand in the tower"), r#""report.pdf" null [2,2] null"#);
    let evidence = stated(&mut project, "Tide Clock");
    // Both wording and grammar match the one sentence.
    assert_eq!(evidence.len(), 2, "{evidence:#?}");
    for it in &evidence {
        assert_eq!((&it["path"], &it["page"]), (&json!("report.pdf"), &json!(2)));
        assert!(it.get("line").is_none(), "{it:#?}");
    }
    let graph = project.dump();
    let report = graph.rows("document").find(|row| row["path"] == "report.pdf").expect("a row");
    assert_eq!(report["pages"], 2);
    project.verify("documents");
}

#[test]
fn text_is_quoted_with_its_lines_and_indentation() {
    let steps = "    open valve 3\n      wait for the lamp\n    press start";
    let text = format!(
        "Pumps\n=====\n\nTo start a pump:\n\n{steps}\n\nThe pump of the harbor hums then.\n"
    );
    let page = "<h1>Cranes</h1><p>To start a crane of the harbor:</p><ol><li>Raise the hook.</li>\
                <li>Turn the arm.</li></ol>";
    let mut project = TestProject::of(&[("pumps.txt", &text), ("cranes.html", page)]);
    let snippet = |project: &mut TestProject, question: &str| {
        let reply = project.call("hybrid_query", json!({"q": question}));
        reply["chunks"][0]["snippet"].as_str().unwrap_or_default().to_string()
    };
    let pumps = snippet(&mut project, "start a pump of the harbor");
    assert!(pumps.contains(steps), "{pumps}");
    let whole = project.call("read_passage", json!({"at": "pumps.txt:4"}));
    assert!(whole["text"].as_str().is_some_and(|it| it.contains(steps)), "{whole}");
    let cranes = snippet(&mut project, "start a crane of the harbor");
    assert!(cranes.contains("Raise the hook.\nTurn the arm."), "{cranes}");
}

#[test]
fn a_docx_is_cited_by_its_headings() {
    let mut project = TestProject::empty();
    let paragraphs = [
        (1, "Terms"),
        (0, "These are the terms of the harbor."),
        (2, "Payment"),
        (0, "The Tide Clock depends on the Beacon Lamp, and oil is paid for in advance."),
    ];
    project.write("letter.docx", papers::letter(&paragraphs));
    project.write("Tide Clock.md", "# Tide Clock\n");
    project.write("Beacon Lamp.md", "# Beacon Lamp\n");
    project.start();
    project.settle();
    let place = best(&mut project, "oil paid in advance");
    assert!(place.starts_with(r#""letter.docx" null null"#) && place.contains("Terms"), "{place}");
    let evidence = stated(&mut project, "Tide Clock");
    // Both wording and grammar match the one sentence.
    assert_eq!(evidence.len(), 2, "{evidence:#?}");
    for it in &evidence {
        assert_eq!(it["path"], "letter.docx");
        assert!(it["section"].as_str().is_some_and(|it| it.contains("Terms")), "{it:#?}");
    }
    project.verify("documents");
}

#[test]
fn what_cannot_be_read_says_why() {
    let mut project = TestProject::empty();
    let hostile = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../corpus/hostile/pdf");
    project.write("locked.pdf", std::fs::read(hostile.join("encrypted.pdf")).expect("a seed"));
    project.write("scan.pdf", papers::paged(&[&[]]));
    project.write("good.md", "# Good\n\nA quince.\n");
    project.start();
    project.settle();
    let status = project.status();
    let reasons = status["quarantine"].to_string() + &status["warnings"].to_string();
    assert!(reasons.contains("encrypted:"), "{reasons}");
    assert_eq!(project.found("quince"), ["good.md"]);
}
