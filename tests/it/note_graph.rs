//! The graph of links: a relation that a link states leads where the link leads, and nowhere else.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use tests::TestProject;

/// `src.md depends_on folder/note.md`, of every relation that links state; of a thing without a note its name.
fn edges(project: &mut TestProject) -> BTreeSet<String> {
    project.settle();
    let dump = project.call("dump", json!({"limit": 2_000}));
    let rows = dump["rows"].as_array().unwrap_or_else(|| panic!("no rows: {dump}"));
    let of_kind = |kind: &'static str| rows.iter().filter(move |row| row["kind"] == kind);
    let place = |id: &Value| {
        let entity = of_kind("entity").find(|it| it["id"] == *id).expect("an entity");
        let home = entity["home"].as_str().or(entity["name"].as_str());
        home.unwrap_or_default().to_string()
    };
    of_kind("relation")
        .map(|it| {
            let predicate = it["predicate"].as_str().unwrap_or_default();
            format!("{} {predicate} {}", place(&it["subject_id"]), place(&it["object_id"]))
        })
        .collect()
}

fn check(files: &[(&str, &str)], expected: &[&str]) {
    let mut project = TestProject::of(files);
    let expected: BTreeSet<String> = expected.iter().map(ToString::to_string).collect();
    assert_eq!(edges(&mut project), expected, "{files:?}");
}

#[test]
fn a_link_into_a_folder_that_leads_nowhere_is_no_relation_of_a_note_elsewhere() {
    check(&[("note.md", "x\n"), ("src.md", "- depends_on [[folder/Note]]\n")], &[]);
}

#[test]
fn a_relation_leads_to_the_one_of_several_notes_to_which_its_link_leads() {
    let files = [("a/thing.md", "x\n"), ("b/thing.md", "x\n"), ("a/v.md", "- uses [[b/thing]]\n")];
    check(&files, &["a/v.md uses b/thing.md"]);
}

#[test]
fn links_to_several_notes_of_one_name_are_as_many_relations() {
    let index = "[web](web/README.md) [api](api/README.md)\n\n- depends_on [[web/README]]\n";
    check(
        &[("api/README.md", "x\n"), ("web/README.md", "x\n"), ("index.md", index)],
        &[
            "index.md depends_on web/README.md",
            "index.md links_to api/README.md",
            "index.md links_to web/README.md",
        ],
    );
}

#[test]
fn the_words_that_a_broken_link_shows_are_not_what_it_leads_to() {
    check(&[("pump.md", "x\n"), ("a/l.md", "[pump](nowhere.md)\n")], &[]);
}

#[test]
fn a_relation_with_what_has_no_note_yet_is_one_with_its_name() {
    let mut project = TestProject::of(&[("v.md", "- works_with [[Nadia Okonjo]]\n")]);
    assert_eq!(edges(&mut project), BTreeSet::from(["v.md works_with Nadia Okonjo".to_string()]));
    project.write("people/nadia okonjo.md", "x\n");
    let with_note = BTreeSet::from(["v.md works_with people/nadia okonjo.md".to_string()]);
    assert_eq!(edges(&mut project), with_note);
    project.remove("people/nadia okonjo.md");
    assert_eq!(edges(&mut project), BTreeSet::from(["v.md works_with Nadia Okonjo".to_string()]));
    project.verify("back to a name");
}

#[test]
fn the_words_that_a_pending_link_shows_are_no_thing() {
    check(&[("a.md", "[[Future Plan|here]]\n\n- uses [[Engine|the motor]]\n")], &[]);
}

#[test]
fn a_nearer_note_takes_the_relation_over_and_gives_it_back() {
    let mut project = TestProject::of(&[("b/thing.md", "x\n"), ("a/v.md", "- uses [[thing]]\n")]);
    assert_eq!(edges(&mut project), BTreeSet::from(["a/v.md uses b/thing.md".to_string()]));
    project.write("a/thing.md", "y\n");
    assert_eq!(edges(&mut project), BTreeSet::from(["a/v.md uses a/thing.md".to_string()]));
    project.verify("two of them");
    project.remove("a/thing.md");
    assert_eq!(edges(&mut project), BTreeSet::from(["a/v.md uses b/thing.md".to_string()]));
    project.verify("one of them");
}

#[test]
fn a_section_of_facts_is_no_name_of_its_note_and_a_type_no_name_at_all() {
    let mut project = TestProject::of(&[
        ("coffee.md", "---\ntitle: Coffee\n---\n\n## Observations\n\n- [fact] hot\n"),
        ("q.md", "See [[Observations]].\n\n- depends_on [[Coffee]]\n"),
    ]);
    assert_eq!(
        edges(&mut project),
        BTreeSet::from([
            "q.md depends_on coffee.md".to_string(),
            "q.md links_to Observations".to_string(),
        ])
    );
    let dump = project.call("dump", json!({"limit": 500}));
    let rows = dump["rows"].as_array().expect("rows");
    let entities = rows.iter().filter(|row| row["kind"] == "entity");
    let names: Vec<&str> = entities.filter_map(|it| it["name"].as_str()).collect();
    assert!(!names.contains(&"depends_on"), "{names:?}");
}
