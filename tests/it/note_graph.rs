//! The graph of links: a relation stated by a link has the link's target and no other, broken links
//! are reported, and relations and facts of notes can be rejected.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use tests::{TestProject, all};

/// Returns `src.md depends_on folder/note.md` for every relation stated by a link, or the name of
/// an object that has no note.
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
    let several = "- supports [[Alphaville]], [[Betatown]] (both)\n- feeds [[Ashford]] [[Brackley]] [[Corby]]\n\
                   - joins [[Ashford]] and [[Corby]]\n- uses [[React [[Hooks]]]]\n- uses [[Vue [[Hooks]]]]\n\n\
                   owner:: [[Dunmore]], [[Alphaville]]\n\nneeds:: [[Betatown]] [[Dunmore]]\n";
    check(
        &[
            ("api/README.md", "x\n"),
            ("web/README.md", "x\n"),
            ("index.md", index),
            ("several.md", several),
            ("Alphaville.md", "x\n"),
            ("Ashford.md", "x\n"),
            ("Hooks.md", "x\n"),
            ("React [[Hooks]].md", "x\n"),
        ],
        &[
            "several.md feeds Ashford.md",
            "several.md feeds Brackley",
            "several.md feeds Corby",
            "several.md joins Ashford.md",
            "several.md joins Corby",
            "several.md needs Betatown",
            "several.md needs Dunmore",
            "several.md owner Alphaville.md",
            "several.md owner Dunmore",
            "several.md supports Alphaville.md",
            "several.md supports Betatown",
            "several.md uses React [[Hooks]].md",
            "index.md depends_on web/README.md",
            "index.md links_to api/README.md",
            "index.md links_to web/README.md",
        ],
    );
}

#[test]
fn links_that_show_nothing_or_are_none_take_no_relation_from_others() {
    check(
        &[
            ("Parent.md", "x\n"),
            ("embed.md", "![[banner.png]]\n\n[[Parent]] is above.\n"),
            ("pair.md", "![[p.png]]\n\n- [[Yonder]]\n- [[Xanadu]]\n"),
            ("wrap.md", "x [[Parent\nNote]] y\n"),
            ("pipe.md", "- uses [[Parent|]]\n"),
            ("nest.md", "- uses [[React [[Hooks]]]]\n"),
        ],
        &[
            "embed.md links_to Parent.md",
            "pair.md links_to Xanadu",
            "pair.md links_to Yonder",
            "pipe.md uses Parent.md",
        ],
    );
}

#[test]
fn namesakes_are_told_apart_wherever_they_are_asked_for() {
    let mut project = TestProject::of(&[
        ("api/Guide.md", "- uses [[Engine]]\n"),
        ("web/Guide.md", "- uses [[Engine]]\n"),
        ("Engine.md", "x\n"),
        ("index.md", "- depends_on [[web/Guide]]\n"),
    ]);
    // By path, with or without the extension; the bare name is refused.
    for (name, home) in [
        ("web/Guide", "web/Guide.md"),
        ("api/Guide.md", "api/Guide.md"),
        ("web/guide", "web/Guide.md"),
    ] {
        let explained = project.call("explain_entity", json!({ "name": name }));
        assert_eq!(explained["home"], home, "{name}: {explained}");
        assert_eq!(explained["same_name"].as_array().map(Vec::len), Some(1), "{explained}");
        let found = project.call("entity_lookup", json!({ "q": name }));
        assert_eq!(found["entities"][0]["path"], home, "{name}: {found}");
    }
    project.try_call("explain_entity", json!({"name": "Guide"})).expect_err("which one?");
    let found = project.call("entity_lookup", json!({"q": "guide"}));
    let paths = found["entities"].as_array().expect("a list").iter();
    let paths: BTreeSet<&str> = paths.filter_map(|it| it["path"].as_str()).collect();
    assert_eq!(paths, BTreeSet::from(["api/Guide.md", "web/Guide.md"]));

    let whole = project.client().call_whole("explain_entity", json!({"name": "index"}));
    let whole = whole.expect("an answer");
    let relation = &whole["structuredContent"]["relations"][0];
    assert_eq!(relation["object_path"], "web/Guide.md", "{relation}");
    assert!(relation["object_id"].is_i64() && relation["object_shares_name"] == true, "{relation}");
    let text = whole["content"][0]["text"].as_str().expect("a text");
    assert!(text.contains("→ depends_on Guide (web/Guide.md)"), "{text}");
}

#[test]
fn a_decision_about_a_note_is_none_about_its_namesakes() {
    let mut project = TestProject::of(&[
        ("api/Guide.md", "- uses [[Engine]]\n"),
        ("web/Guide.md", "- uses [[Engine]]\n"),
        ("Engine.md", "x\n"),
    ]);
    let listed = |project: &mut TestProject| -> Vec<(String, String)> {
        let reply = project.call("review_links", json!({"below": 1}));
        let items = reply["items"].as_array().cloned().unwrap_or_default();
        let text = |it: &Value, field: &str| it[field].as_str().unwrap_or_default().to_string();
        let of_relation = items.iter().filter(|it| it["kind"] == "relation");
        of_relation.map(|it| (text(it, "claim"), text(it, "key"))).collect()
    };
    let both = listed(&mut project);
    let claims: BTreeSet<&str> = both.iter().map(|it| it.0.as_str()).collect();
    let (api, web) =
        ("`Guide` (api/Guide.md) uses `Engine`", "`Guide` (web/Guide.md) uses `Engine`");
    assert_eq!(claims, BTreeSet::from([api, web]));
    let key = &both.iter().find(|it| it.0 == web).expect("listed").1;
    project.call("review_links", json!({ "reject": [key] }));
    assert_eq!(listed(&mut project).into_iter().map(|it| it.0).collect::<Vec<_>>(), [api]);
    let objects = |project: &mut TestProject, name: &str| {
        let explained = project.call("explain_entity", json!({ "name": name }));
        explained["relations"].as_array().expect("a list").len()
    };
    assert_eq!((objects(&mut project, "web/Guide"), objects(&mut project, "api/Guide")), (0, 1));
    // The note keeps its decision when it moves.
    project.call("move_note", json!({"path": "web/Guide.md", "destination": "site/Guide.md"}));
    assert_eq!(objects(&mut project, "site/Guide"), 0);
    // A key by names means every note with that name, as before.
    project.call("review_links", json!({ "undo": [key] }));
    assert_eq!(objects(&mut project, "site/Guide"), 1);
    project.call("review_links", json!({ "reject": ["relation:guide>uses>engine"] }));
    assert_eq!((objects(&mut project, "site/Guide"), objects(&mut project, "api/Guide")), (0, 0));
    assert_eq!(listed(&mut project), []);
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
    let stating = |title: &str, object: &str| {
        let front = format!("---\ntitle: {title}\n---\n\n## Observations\n\n- [fact] hot\n\n");
        format!("{front}## Relations\n\n- beside [[{object}]]\n")
    };
    let (tea, milk, soup) =
        (stating("Tea", "Milk"), stating("Milk", "Soup"), stating("Soup", "Tea"));
    let mut project = TestProject::of(&[
        ("coffee.md", "---\ntitle: Coffee\n---\n\n## Observations\n\n- [fact] hot\n"),
        ("q.md", "- depends_on [[Coffee]]\n"),
        ("tea.md", &tea),
        ("milk.md", &milk),
        ("soup.md", &soup),
    ]);
    assert_eq!(
        edges(&mut project),
        BTreeSet::from([
            "milk.md beside soup.md".to_string(),
            "q.md depends_on coffee.md".to_string(),
            "soup.md beside tea.md".to_string(),
            "tea.md beside milk.md".to_string(),
        ])
    );
    let dump = project.call("dump", json!({"limit": 500}));
    let rows = dump["rows"].as_array().expect("rows");
    let entities = rows.iter().filter(|row| row["kind"] == "entity");
    let names: Vec<&str> = entities.filter_map(|it| it["name"].as_str()).collect();
    // The headings of S0's own form do not become names either, however many notes contain them.
    for name in ["depends_on", "Observations", "Relations"] {
        assert!(!names.contains(&name), "{names:?}");
    }
}

#[test]
fn links_that_lead_nowhere_are_reported_by_what_is_missing() {
    let notes = [
        ("a.md", "See [[Nowhere]], [[b#Missing]], [[b#^gone]], [[b#There]] and [x](no/such.md).\n"),
        ("b.md", "# There\n\nText ^here\n"),
        ("sub/c.md", "![[picture.png]] [[Lost]] [[gone.pdf]] [[bad.pdf]]\n"),
        ("sub/bad.pdf", "This is none.\n"),
    ];
    let mut project = TestProject::of(&notes);
    // A file that cannot be read is not waited for either.
    let written = project.call("write_note", json!({"title": "New", "content": "x"}));
    assert!(written["building"].is_null(), "{written}");
    let report = project.call("broken_links", json!({}));
    let targets = all(&report["links"], "target");
    // `bad.pdf` is there, though nothing of it could be indexed.
    assert_eq!(targets, ["Nowhere", "b#Missing", "b#^gone", "no/such.md", "Lost", "gone.pdf"]);
    assert_eq!(
        all(&report["links"], "missing"),
        ["document", "heading", "block", "document", "document", "document"]
    );
    let mut run = project.kgctl();
    let run = run.arg("--project").arg(project.root());
    let shown = run.args(["links", "--path", "sub/"]).output().expect("it runs");
    let text = String::from_utf8_lossy(&shown.stdout).into_owned();
    assert!(text.contains("sub/c.md:1") && !text.contains("Nowhere"), "{text}");
    let mut run = project.kgctl();
    let run = run.arg("--project").arg(project.root());
    let shown = run.args(["links", "b"]).output().expect("it runs");
    assert!(String::from_utf8_lossy(&shown.stdout).contains("a.md:1"), "{shown:?}");
}

#[test]
fn a_relation_of_a_note_is_one_of_the_graph_and_can_be_rejected() {
    let notes = [
        ("Gateway.md", "---\ntype: Service\n---\n- implements [[Key Protocol]] (in part)\n"),
        ("Key Protocol.md", "A protocol.\n"),
    ];
    let mut project = TestProject::of(&notes);
    // By the note itself, its backlinks, its context and a search.
    let relations_of = |project: &mut TestProject| -> Vec<String> {
        let note = project.call("read_note", json!({"path": "Gateway.md"}));
        let around = project.call("build_context", json!({"path": "Gateway.md"}));
        let links = project.call("backlinks", json!({"path": "Key Protocol.md"}));
        let search = json!({"query": "protocol", "search_item_types": ["relation"]});
        let found = project.call("search_notes", search);
        let by = around["related"][0]["by"].as_str().expect("a way").trim_end_matches(" →");
        let one = |it: &Value| it[0]["relation"].as_str().expect("a relation").to_string();
        let of_note = [&note["relations"], &around["notes"][0]["relations"]];
        let others = [&links["backlinks"], &found["results"]];
        of_note.into_iter().chain(others).map(one).chain([by.to_string()]).collect()
    };
    assert_eq!(relations_of(&mut project), ["implements"; 5]);
    let explained = project.call("explain_entity", json!({"name": "Gateway"}));
    let relations = &explained["relations"];
    assert_eq!(all(relations, "predicate"), ["implements"], "{explained}");
    assert_eq!(relations[0]["evidence"][0]["pattern"], "link:typed");
    let doubtful = project.call("review_links", json!({"below": 1.0, "limit": 100}));
    let items = doubtful["items"].as_array().expect("items");
    let claims = |it: &&Value| it["claim"].as_str().is_some_and(|it| it.contains("implements"));
    let stated = items.iter().find(claims).expect("a stated relation is listed at 1");
    project.call("review_links", json!({"reject": [stated["key"]]}));
    project.settle();
    let explained = project.call("explain_entity", json!({"name": "Gateway"}));
    assert_eq!(explained["relations"], json!([]));
    assert_eq!(relations_of(&mut project), ["links_to"; 5], "the link is still one");
}

#[test]
fn a_fact_that_is_none_is_rejected_for_good() {
    let notes = [
        ("talk.md", "# Talk\n\n- [Aloysia] Said that it is late\n- [fact] The talk took an hour\n"),
        ("sub/copy.md", "# Copy\n\n- [Aloysia] Said that it is late\n"),
    ];
    let mut project = TestProject::of(&notes);
    let listed = project.call("review_links", json!({"path": "talk.md"}));
    let items = listed["items"].as_array().expect("items").clone();
    let of = |items: &[Value]| -> Vec<String> {
        let facts = items.iter().filter(|it| it["kind"] == "observation");
        facts.map(|it| it["claim"].as_str().unwrap_or_default().to_string()).collect()
    };
    assert_eq!(
        of(&items),
        [
            r#"`talk` states the Aloysia "Said that it is late""#,
            r#"`talk` states the fact "The talk took an hour""#
        ]
    );
    let key = items[0]["key"].clone();
    assert_eq!(items[0]["evidence"]["line"], 3);
    let rejected = project.call("review_links", json!({"reject": [key], "path": "sub"}));
    let copied = vec![r#"`copy` states the Aloysia "Said that it is late""#.to_string()];
    assert_eq!(
        (&rejected["decided"], of(rejected["items"].as_array().expect("items"))),
        (&json!(1), copied)
    );
    let facts = |project: &mut TestProject, path: &str| -> Vec<String> {
        let note = project.call("read_note", json!({"path": path}));
        all(&note["observations"], "category").into_iter().map(String::from).collect()
    };
    assert_eq!(facts(&mut project, "talk.md"), ["fact"]);
    assert_eq!(facts(&mut project, "sub/copy.md"), ["Aloysia"], "another note's is its own");
    // Rejected by its words alone, as older decisions are, the observation is gone from every note.
    let key_of_note = key.as_str().expect("a key");
    let (_, words) =
        key_of_note.split_once('@').and_then(|it| it.1.split_once('>')).expect("a note");
    let everywhere = format!("observation:{words}");
    project.call("review_links", json!({"reject": [everywhere]}));
    assert_eq!(facts(&mut project, "sub/copy.md"), [""; 0]);
    let search = json!({"query": "late", "search_item_types": ["observation"]});
    assert_eq!(project.call("search_notes", search.clone())["results"], json!([]));
    project.stop();
    project.lose_index();
    project.start();
    project.settle();
    assert_eq!(facts(&mut project, "talk.md"), ["fact"], "also when the index is built anew");
    project.call("review_links", json!({"undo": [key, everywhere]}));
    assert_eq!(facts(&mut project, "talk.md"), ["Aloysia", "fact"]);
    let unknown = json!({"reject": ["observation:fact>0123456789abcdef"]});
    let error = project.try_call("review_links", unknown).expect_err("no such fact");
    assert_eq!(error["code"], "invalid_params");
}

#[test]
fn a_note_tells_its_fields_and_embeds_and_each_missing_target_once() {
    let text = "# Trip\n\nstatus:: planned\n\nWe (with:: Ada) go; with:: Bo\n\n![[Map]] ![[photo.png]] [[Nowhere]] [[nowhere|x]] needs [[Nowhere]]\n";
    let mut project = TestProject::of(&[("trip.md", text), ("map.md", "# Map\n")]);
    let note = project.call("read_note", json!({"path": "trip.md"}));
    assert_eq!(note["fields"]["status"], json!(["planned"]), "{note}");
    assert!(all(&note["relations"], "relation").contains(&"embeds"), "{note}");
    assert!(!all(&note["relations"], "target").contains(&"photo.png"), "{note}");
    let edited = project
        .call("edit_note", json!({"path": "trip.md", "content_updates": "- needs [[Nowhere]]"}));
    assert_eq!(edited["unresolved"].as_array().map(Vec::len), Some(1), "{edited}");
}
