//! A page is not the thing that it speaks of: path links denote paths, words of links and names of files name no page
//! that is called otherwise, and what is shown can be asked for.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use tests::TestProject;

/// Returns what the mentions of a document denote: `surface → home or name`.
fn meant(project: &mut TestProject, path: &str) -> BTreeSet<String> {
    let rows = rows(project);
    let homes: BTreeMap<i64, &str> = of_kind(&rows, "entity")
        .filter_map(|it| Some((it["id"].as_i64()?, it["home"].as_str().or(it["name"].as_str())?)))
        .collect();
    let mentions = of_kind(&rows, "mention").filter(|it| it["path"] == path);
    let home = |it: &Value| homes.get(&it["entity"].as_i64()?).copied();
    mentions
        .map(|it| format!("{} → {}", it["surface"].as_str().unwrap_or(""), home(it).unwrap_or("?")))
        .collect()
}

/// Returns `subject predicate object` for each relation that is shown, pages by path.
fn related(project: &mut TestProject) -> BTreeSet<String> {
    let rows = rows(project);
    let name = |id: &Value| {
        let entity = of_kind(&rows, "entity").find(|it| it["id"] == *id).expect("an entity");
        entity["home"].as_str().or(entity["name"].as_str()).unwrap_or_default().to_string()
    };
    of_kind(&rows, "relation")
        .filter(|it| it["confidence"].as_f64() > Some(0.0))
        .map(|it| {
            let predicate = it["predicate"].as_str().unwrap_or_default();
            format!("{} {predicate} {}", name(&it["subject_id"]), name(&it["object_id"]))
        })
        .collect()
}

fn rows(project: &mut TestProject) -> Vec<Value> {
    project.settle();
    let dump = project.call("dump", json!({"limit": 5_000}));
    dump["rows"].as_array().cloned().unwrap_or_default()
}

fn of_kind<'r>(rows: &'r [Value], kind: &'static str) -> impl Iterator<Item = &'r Value> {
    rows.iter().filter(move |row| row["kind"] == kind)
}

fn set(of: &[&str]) -> BTreeSet<String> {
    of.iter().map(ToString::to_string).collect()
}

#[test]
fn a_path_link_leads_to_its_path_or_nowhere() {
    let mut project = TestProject::of(&[
        ("a/index.md", "It is empty.\n"),
        ("b/index.md", "It is empty.\n"),
        ("b/README.md", "It is empty.\n"),
        ("c/plan.md", "It is empty.\n"),
        (
            "b/use.md",
            "Read [the start](../a/index.md), [this](gone/index.md), [that](../README.md), [a plan](plan.md).\n",
        ),
    ]);
    assert_eq!(related(&mut project), set(&["b/use.md links_to a/index.md"]));
    assert_eq!(meant(&mut project, "b/use.md"), set(&[]));
    // The folder is what such a page is shown as.
    let names: BTreeSet<String> = of_kind(&rows(&mut project), "entity")
        .filter_map(|it| Some(format!("{} {}", it["home"].as_str()?, it["name"].as_str()?)))
        .collect();
    assert!(names.contains("a/index.md a") && !names.contains("b/index.md index"), "{names:?}");
}

#[test]
fn the_words_of_a_link_are_a_thing_that_the_page_documents() {
    let mut project = TestProject::of(&[
        ("docs/charter.md", "---\ntitle: Rules for voting\n---\nThe Voting Committee decides.\n"),
        ("README.md", "# Tide\n\nSee the [Voting Committee](docs/charter.md) for help.\n"),
        ("notes.md", "The Voting Committee met. It read the charter.\n"),
    ]);
    let meant = meant(&mut project, "notes.md");
    assert!(meant.contains("Voting Committee → Voting Committee"), "{meant:?}");
    assert!(!meant.iter().any(|it| it.ends_with("docs/charter.md")), "{meant:?}");
    let related = related(&mut project);
    assert!(related.contains("Voting Committee documented_in docs/charter.md"), "{related:?}");
}

#[test]
fn a_wikilink_by_the_name_of_a_file_names_its_note_whatever_the_title() {
    let mut project = TestProject::of(&[
        ("kms.md", "---\ntitle: Key Vault\n---\nIt keeps keys.\n"),
        ("a.md", "See [[kms]].\n"),
        ("x/hsm.md", "# Zephyr Module\n\nIt signs.\n"),
        ("x/b.md", "See [[x/hsm|the box]] and a Zephyr Module.\n"),
    ]);
    assert_eq!(meant(&mut project, "a.md"), set(&["kms → kms.md"]));
    let expected = set(&["the box → x/hsm.md", "Zephyr Module → x/hsm.md"]);
    assert_eq!(meant(&mut project, "x/b.md"), expected);
    // The target may change without a word of the note.
    project.remove("kms.md");
    assert_eq!(meant(&mut project, "a.md"), set(&["kms → kms"]));
    project.write("sub/kms.md", "---\ntitle: Other Vault\n---\nIt keeps keys.\n");
    assert_eq!(meant(&mut project, "a.md"), set(&["kms → sub/kms.md"]));
}

#[test]
fn a_page_of_one_version_means_the_pages_of_that_version() {
    let page = "---\ntitle: Tide Engine\n---\nIt turns.\n";
    let user = "---\ntitle: Use\n---\nThe Tide Engine turns. See [the engine](engine.md) and [[Tide Engine]].\n";
    let mut project = TestProject::of(&[
        ("docs/v1/engine.md", page),
        ("docs/v2/engine.md", page),
        ("docs/v1/use.md", user),
        ("docs/v2/use.md", user),
        ("docs/v2/deep/use.md", &user.replace("(engine.md)", "(../engine.md)")),
    ]);
    for (path, home) in [
        ("docs/v1/use.md", "docs/v1/engine.md"),
        ("docs/v2/use.md", "docs/v2/engine.md"),
        ("docs/v2/deep/use.md", "docs/v2/engine.md"),
    ] {
        assert_eq!(meant(&mut project, path), set(&[&format!("Tide Engine → {home}")]), "{path}");
        let links: BTreeSet<String> =
            related(&mut project).into_iter().filter(|it| it.starts_with(path)).collect();
        assert_eq!(links, set(&[&format!("{path} links_to {home}")]));
    }
}

#[test]
fn every_name_that_is_shown_can_be_asked_for_and_a_dump_has_the_confidence_of_answers() {
    let mut project = TestProject::of(&[
        (
            "README.md",
            "# The Tide\n\nThe Tide Engine uses Kafka. Ada Lindqvist owns the Tide Engine.\n",
        ),
        ("api/README.md", "Text of an index without a heading.\n"),
        ("docs/v1/engine.md", "# The Engine\n\n## Dependencies\n- Kafka\n- [[Redis]]\n"),
        ("docs/v2/engine.md", "# The Engine\n\nThe Engine depends on Kafka.\n"),
        (
            "docs/web/_index.md",
            "---\ntitle: Web\n---\nThe Key Management Service (KMS) uses Postgres.\n",
        ),
        ("c.md", "# C++ & C#\n\nC++ differs from C#. Run `kv_rotate --all` on v1.2.\n"),
        ("d.md", "# Billing\n\n- depends_on [[Web]]\n"),
        ("log.txt", "Ada Lindqvist works for Quillgate Systems GmbH.\n"),
    ]);
    let rows = rows(&mut project);
    let mut failed = Vec::new();
    for entity in of_kind(&rows, "entity") {
        let name = entity["name"].as_str().expect("a name");
        // Of two pages of one name, both are offered.
        match project.try_call("explain_entity", json!({ "name": name })) {
            Err(error) if error["code"] != "ambiguous" => failed.push(format!("{name}: {error:?}")),
            _ => {}
        }
    }
    assert!(failed.is_empty(), "{failed:#?}");
    let mut n_compared = 0;
    for relation in of_kind(&rows, "relation") {
        let about = project.call("explain_entity", json!({"entity_id": relation["subject_id"]}));
        let Some(shown) = about["relations"].as_array().into_iter().flatten().find(|it| {
            it["predicate"] == relation["predicate"] && it["object"] == relation["object"]
        }) else {
            continue;
        };
        assert_eq!(shown["confidence"], relation["confidence"], "{relation}");
        n_compared += 1;
    }
    assert!(n_compared >= 4, "{n_compared}");
}

#[test]
fn of_words_that_a_folder_writes_as_common_nouns_nothing_is_stated() {
    let page = |n: u32| {
        format!(
            "# Month {n}\n\n## Deliverables\n\nThe **deliverables** are late, and our deliverables are few.\n"
        )
    };
    let mut project = TestProject::of(&[
        (
            "a.md",
            "# Plan\n\nDeliverables depends on the Sea Log.\n\nQuillgate depends on the Sea Log.\n",
        ),
        ("one.md", &page(1)),
        ("two.md", &page(2)),
        ("three.md", &page(3)),
        ("Sea Log.md", "---\ntitle: Sea Log\ntype: Service\n---\nIt keeps rows.\n"),
        ("d.md", "# Other\n\nWe met at Quillgate, and Quillgate was open.\n"),
    ]);
    let found = meant(&mut project, "a.md");
    assert!(found.contains("Deliverables → deliverables"), "{found:?}");
    assert_eq!(related(&mut project), set(&["Quillgate depends_on Sea Log.md"]));
}

#[test]
fn a_note_is_documented_by_itself_and_not_by_headings_of_a_template() {
    let page = "# Meeting\n\n## Dates and Reminders\n\nNone.\n\n## `tide_level`\n\nIt is high.\n";
    let mut project = TestProject::of(&[
        ("one.md", page),
        ("Dates and Reminders.md", "---\ntitle: Dates and Reminders\n---\nSend them early.\n"),
    ]);
    assert_eq!(related(&mut project), set(&["tide_level documented_in one.md"]));
}
