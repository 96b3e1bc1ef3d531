//! The graph of a small folder, to be checked by eye, and how it follows its documents and its
//! reviewers.

use expect_test::expect;
use serde_json::json;
use tests::TestProject;

const NOTES: &[(&str, &str)] = &[
    (
        "Signing Service.md",
        "---\ntype: Service\naliases: [Signer]\n---\n# Signing Service\n\nThe Signing Service is a service that \
         seals releases. The Signing Service depends on the [[Key Vault]].\n\n## Owners\n\n- Ada Lindqvist\n",
    ),
    (
        "Key Vault.md",
        "---\ntype: Service\n---\n# Key Vault\n\nThe Key Vault stores keys. The Key Vault uses Postgres 15.2.\n",
    ),
    (
        "runbooks/rotate.md",
        "# Rotate the keys\n\nThe Signer must be idle.\n\n1. Stop the Signing Service.\n2. Run `kv_rotate`.\n\
         3. Start the Signing Service.\n",
    ),
    (
        "decisions/0007.md",
        "# Seal every release\n\nDecided on 2025-02-11 by Ada Lindqvist. Supersedes [[0003]].\n",
    ),
    ("notes.txt", "The Signing Services failed because the Key Vault was slow.\n"),
];

#[test]
fn a_small_folder_by_eye() {
    let mut project = TestProject::of(NOTES);
    let graph = project.dump();
    expect![[r#"
        Key Vault.md:4 "Key Vault" gazetteer Service -> Key Vault <Key Vault.md>
        Key Vault.md:6 "Key Vault" gazetteer Service -> Key Vault <Key Vault.md>
        Key Vault.md:6 "Key Vault" gazetteer Service -> Key Vault <Key Vault.md>
        Key Vault.md:6 "Postgres" pattern Technology -> Postgres
        Signing Service.md:5 "Signing Service" gazetteer Service -> Signing Service <Signing Service.md>
        Signing Service.md:7 "Signing Service" gazetteer Service -> Signing Service <Signing Service.md>
        Signing Service.md:7 "Signing Service" gazetteer Service -> Signing Service <Signing Service.md>
        Signing Service.md:7 "Key Vault" stated Service -> Key Vault <Key Vault.md>
        Signing Service.md:11 "Ada Lindqvist" pattern Person -> Ada Lindqvist
        decisions/0007.md:1 "Seal every release" gazetteer Document -> Seal every release <decisions/0007.md>
        decisions/0007.md:3 "2025-02-11" pattern Date -> 2025-02-11
        decisions/0007.md:3 "Ada Lindqvist" pattern Person -> Ada Lindqvist
        decisions/0007.md:3 "0003" stated Document -> 0003
        notes.txt:1 "Signing Services" gazetteer Service -> Signing Service <Signing Service.md>
        notes.txt:1 "Key Vault" gazetteer Service -> Key Vault <Key Vault.md>
        runbooks/rotate.md:1 "Rotate the keys" gazetteer Concept -> Rotate the keys <runbooks/rotate.md>
        runbooks/rotate.md:3 "Signer" gazetteer Service -> Signing Service <Signing Service.md>
        runbooks/rotate.md:5 "Stop the Signing Service" pattern Step -> Stop the Signing Service
        runbooks/rotate.md:5 "Signing Service" gazetteer Service -> Signing Service <Signing Service.md>
        runbooks/rotate.md:6 "Run kv_rotate" pattern Step -> Run kv_rotate
        runbooks/rotate.md:6 "kv_rotate" pattern Identifier -> kv_rotate
        runbooks/rotate.md:7 "Start the Signing Service" pattern Step -> Start the Signing Service
        runbooks/rotate.md:7 "Signing Service" gazetteer Service -> Signing Service <Signing Service.md>
    "#]].assert_eq(&graph.mention_table());
    expect![[r#"
        Key Vault <Key Vault.md> -uses-> Postgres 0.90 (depend:use Key Vault.md:6, sentence:uses Key Vault.md:6)
        Run kv_rotate -precedes-> Start the Signing Service 0.90 (list:step runbooks/rotate.md:7)
        Seal every release <decisions/0007.md> -links_to-> 0003 1.00 (link:wiki decisions/0007.md:3)
        Signing Service <Signing Service.md> -depends_on-> Key Vault <Key Vault.md> 0.95 (depend:depend on Signing Service.md:7, sentence:depends on Signing Service.md:7)
        Signing Service <Signing Service.md> -links_to-> Key Vault <Key Vault.md> 1.00 (link:wiki Signing Service.md:7)
        Signing Service <Signing Service.md> -owned_by-> Ada Lindqvist 0.90 (section:owners Signing Service.md:11)
        Stop the Signing Service -precedes-> Run kv_rotate 0.90 (list:step runbooks/rotate.md:6)
    "#]].assert_eq(&graph.relation_table());
    let titles: Vec<String> = graph
        .rows("entity")
        .map(|row| format!("{} {} {}", row["type"], row["name"], row["home"]).replace('"', ""))
        .collect();
    expect![[r#"
        Document 0003 null
        Document Seal every release decisions/0007.md
        Date 2025-02-11 null
        Person Ada Lindqvist null
        Service Key Vault Key Vault.md
        Identifier kv_rotate null
        Document notes null
        Technology Postgres null
        Concept Rotate the keys runbooks/rotate.md
        Step Run kv_rotate null
        Service Signing Service Signing Service.md
        Step Start the Signing Service null
        Step Stop the Signing Service null
    "#]]
    .assert_eq(&(titles.join("\n") + "\n"));
}

#[test]
fn what_rested_on_a_document_alone_goes_with_it() {
    let mut project = TestProject::of(NOTES);
    let before = project.dump().text();
    project.write(
        "passing.md",
        "# Passing Cloud\n\nThe Passing Cloud depends on the Zephyr Engine and the [[Key Vault]]. \
         Grace Osei wrote `zephyr_core`.\n",
    );
    project.settle();
    let with = project.dump().text();
    for name in ["Passing Cloud", "Zephyr Engine", "Grace Osei", "zephyr_core"] {
        assert!(with.contains(name), "{name} is not recognized");
    }
    project.remove("passing.md");
    project.settle();
    assert_eq!(project.dump().text(), before);
    let status = project.status();
    assert_eq!(status["orphaned_entities"], 0);
    for (table, n) in status["counts"].as_object().expect("counts") {
        let rows = |kind: &str| before.lines().filter(|line| line.starts_with(kind)).count() as u64;
        match table.as_str() {
            "documents" => assert_eq!(*n, rows("document ")),
            "chunks" => assert_eq!(*n, rows("chunk ")),
            "entities" => assert_eq!(*n, rows("entity ")),
            "mentions" => assert_eq!(*n, rows("mention ")),
            "relations" => assert_eq!(*n, rows("relation ")),
            _ => {}
        }
    }
}

#[test]
fn a_new_note_gathers_older_mentions_of_its_title() {
    let mut project = TestProject::of(&[
        ("one.md", "# One\n\nWe asked the umber council twice.\n"),
        ("two.txt", "The umber council said no.\n"),
        ("three.md", "# Three\n\nNothing here.\n"),
    ]);
    let linked = |project: &mut TestProject| -> Vec<String> {
        let graph = project.dump();
        graph
            .mention_table()
            .lines()
            .filter(|line| line.ends_with("<Umber Council.md>") && !line.starts_with("Umber"))
            .map(String::from)
            .collect()
    };
    assert_eq!(linked(&mut project), Vec::<String>::new());
    project
        .write("Umber Council.md", "---\ntype: Team\n---\n# Umber Council\n\nA team of three.\n");
    project.settle();
    expect![[r#"
        [
            "one.md:3 \"umber council\" gazetteer Organization -> Umber Council <Umber Council.md>",
            "two.txt:1 \"umber council\" gazetteer Organization -> Umber Council <Umber Council.md>",
        ]"#]].assert_eq(&format!("{:#?}", linked(&mut project)));
    let reply = project.call("explain_entity", json!({"name": "umber council"}));
    assert_eq!(reply["home"], "Umber Council.md");
    project.remove("Umber Council.md");
    project.settle();
    assert_eq!(linked(&mut project), Vec::<String>::new());
}

#[test]
fn a_rejected_relation_stays_hidden_also_when_the_index_is_lost() {
    let mut project = TestProject::of(NOTES);
    let shown = |project: &mut TestProject| -> Vec<String> {
        let reply = project.call("explain_entity", json!({"name": "Signing Service", "limit": 50}));
        let relations = reply["relations"].as_array().expect("relations");
        let line =
            |r: &serde_json::Value| format!("{} {} {}", r["subject"], r["predicate"], r["object"]);
        relations.iter().map(|r| line(r).replace('"', "")).collect()
    };
    let claim = "Signing Service depends_on Key Vault".to_string();
    assert!(shown(&mut project).contains(&claim), "{:?}", shown(&mut project));
    let items = project.call("review_links", json!({"below": 1.0, "limit": 100}));
    let items = items["items"].as_array().expect("items").clone();
    let item = items
        .iter()
        .find(|item| item["claim"] == "`Signing Service` depends_on `Key Vault`")
        .unwrap_or_else(|| panic!("not listed: {items:#?}"));
    let key = item["key"].clone();
    assert_eq!(project.call("review_links", json!({"reject": [key]}))["decided"], 1);
    assert!(!shown(&mut project).contains(&claim), "hidden at once");
    project.stop();
    project.lose_index();
    project.start();
    project.settle();
    assert!(!shown(&mut project).contains(&claim), "hidden after a rebuild");
    let listed = project.call("review_links", json!({"below": 1.0, "limit": 100}));
    assert!(listed["items"].as_array().expect("items").iter().all(|item| item["key"] != key));
    assert_eq!(project.call("review_links", json!({"undo": [key]}))["decided"], 1);
    assert!(shown(&mut project).contains(&claim), "shown again");
}

#[test]
fn a_rejected_link_parts_two_names() {
    let mut project = TestProject::of(NOTES);
    project.write(
        "Zoë Lindqvar.md",
        "---\ntype: Person\n---\n# Zoë Lindqvar\n\nZoë Lindqvar is on call.\n",
    );
    project.write("log.txt", "Zoe Lindqvar was late. Nobody called Zoe Lindqvar.\n");
    project.settle();
    let denotes = |project: &mut TestProject| -> String {
        let table = project.dump().mention_table();
        let line = table.lines().find(|line| line.contains("\"Zoe Lindqvar\""));
        line.and_then(|line| line.split("-> ").nth(1)).unwrap_or("no mention").to_string()
    };
    assert_eq!(denotes(&mut project), "Zoë Lindqvar <Zoë Lindqvar.md>");
    let listed = project.call("review_links", json!({"below": 1.0, "limit": 100}));
    let items = listed["items"].as_array().expect("items");
    let item =
        items.iter().find(|item| item["kind"] == "link").unwrap_or_else(|| panic!("{listed:#}"));
    assert_eq!(item["claim"], "`Zoe Lindqvar` is `Zoë Lindqvar`");
    let key = item["key"].clone();
    project.call("review_links", json!({"reject": [key]}));
    project.settle();
    assert_eq!(denotes(&mut project), "Zoe Lindqvar");
    project.stop();
    project.lose_index();
    project.start();
    project.settle();
    assert_eq!(denotes(&mut project), "Zoe Lindqvar");
    project.call("review_links", json!({"undo": [key]}));
    project.settle();
    assert_eq!(denotes(&mut project), "Zoë Lindqvar <Zoë Lindqvar.md>");
}

#[test]
fn ingested_tags_filter_and_last() {
    let mut project = TestProject::of(NOTES);
    let tagged = |project: &mut TestProject| -> Vec<String> {
        let reply = project.call("hybrid_query", json!({"q": "keys", "tags": ["ops"]}));
        let chunks = reply["chunks"].as_array().expect("chunks");
        let mut paths: Vec<String> =
            chunks.iter().map(|hit| hit["path"].as_str().expect("a path").to_string()).collect();
        paths.sort();
        paths.dedup();
        paths
    };
    assert_eq!(tagged(&mut project), Vec::<String>::new());
    let reply = project.call(
        "ingest_docs",
        json!({"paths": ["runbooks/**", "notes.txt"], "tags": ["ops"], "source_url": "https://example.org/x"}),
    );
    assert_eq!(reply["ingested"], 2, "{reply}");
    assert_eq!(tagged(&mut project), ["notes.txt", "runbooks/rotate.md"]);
    // Tags follow a rename, an edit, and a rebuild.
    project.rename("notes.txt", "diary.txt");
    project.settle();
    project.write("diary.txt", "Another text about keys.\n");
    project.settle();
    assert_eq!(tagged(&mut project), ["diary.txt", "runbooks/rotate.md"]);
    project.stop();
    project.lose_index();
    project.start();
    project.settle();
    assert_eq!(tagged(&mut project), ["diary.txt", "runbooks/rotate.md"]);
}

#[test]
fn extracting_again_changes_nothing() {
    let mut project = TestProject::of(NOTES);
    let before = project.dump().text();
    let ids: Vec<i64> =
        project.dump().rows("document").filter_map(|row| row["id"].as_i64()).collect();
    let reply = project.call("extract_and_link", json!({"doc_ids": ids}));
    let counted = (&reply["mentions"], &reply["entities_new"], &reply["relations"]);
    assert_eq!(counted, (&json!(0), &json!(0), &json!(0)));
    assert_eq!(project.dump().text(), before);
}

#[test]
fn a_heading_of_one_document_alone_is_shown_as_its_name() {
    let page = "## Test Organization\n\nTests lie beside the code.\n";
    let mut project = TestProject::of(&[("ch11-03.md", page), ("b.md", "# Second\n\nText.\n")]);
    let shown = |project: &mut TestProject| {
        let dump = project.dump();
        let homes = dump.rows("entity").filter(|it| !it["home"].is_null());
        let mut names: Vec<String> =
            homes.map(|it| it["name"].to_string().replace('"', "")).collect();
        names.sort_unstable();
        names.join(", ")
    };
    let mut seen = vec![shown(&mut project)];
    for edit in [
        Some(("z.md", page)),
        None,
        Some(("b.md", "---\ntitle: Test Organization\n---\n\nText.\n")),
        Some(("b.md", "# Second\n\n# Third\n\nText.\n")),
    ] {
        match edit {
            Some((path, text)) => project.write(path, text),
            None => project.remove("z.md"),
        }
        project.settle();
        seen.push(shown(&mut project));
    }
    expect![[r#"
        Second, Test Organization
        Second, ch11-03, z
        Second, Test Organization
        Test Organization, ch11-03
        Test Organization, b"#]]
    .assert_eq(&seen.join("\n"));
}
