//! Data of other programs is imported, indexed, and exported unchanged.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Output;

use serde_json::{Value, json};
use tests::TestProject;

fn kgctl(project: &TestProject, arguments: &[&str]) -> Output {
    let mut command = project.kgctl();
    command.arg("--project").arg(project.root()).args(arguments).output().expect("it runs")
}

/// Returns the standard output of a command that must succeed.
fn done(output: &Output) -> String {
    let shown = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{}\n{}", shown(&output.stdout), shown(&output.stderr));
    shown(&output.stdout)
}

fn sorted(lines: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = lines.lines().collect();
    lines.sort_unstable();
    lines
}

/// Returns the paths below a folder, with bytes and times.
fn tree(folder: &Path) -> BTreeMap<String, (Vec<u8>, std::time::SystemTime)> {
    let mut found = BTreeMap::new();
    let mut open = vec![folder.to_path_buf()];
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(&folder).expect("a folder").flatten() {
            let path = entry.path();
            let modified = entry.metadata().and_then(|it| it.modified()).expect("a time");
            let bytes = std::fs::read(&path).unwrap_or_default();
            found.insert(path.display().to_string(), (bytes, modified));
            if path.is_dir() {
                open.push(path);
            }
        }
    }
    found
}

const NAMES: &[&str] = &[
    "Ada Lovelace",
    "ada lovelace",
    "Analytical Engine",
    "C",
    "C++",
    "C#",
    "a/b",
    "../../etc/passwd",
    "CON",
    "x.md",
    "",
    " blanks ",
    "two\nlines",
    "[[brackets]]",
    "a|b^c#d",
    "日本 語",
    "👩‍👩‍👧",
    "2024-01-01",
    "yes",
    "quote \" and \\",
];

fn memory() -> String {
    let mut lines = Vec::new();
    let long = "l".repeat(300);
    for name in NAMES.iter().copied().chain([long.as_str()]) {
        let facts = [
            "plain words",
            "line\nbreak",
            "a #tag, a [[link]], `code` and key:: value (in brackets)",
            "  ",
            "",
            "^o1",
            "- [x] <b>&amp;</b> $1 %% hidden %%",
            "[fact] (x)",
            name,
        ];
        let entity_type = if name.len() % 2 == 0 { "person" } else { name };
        lines.push(json!({"type": "entity", "name": name, "entityType": entity_type, "observations": facts}));
    }
    for (idx, from) in NAMES.iter().enumerate() {
        let to = NAMES[(idx + 7) % NAMES.len()];
        for relation_type in ["knows", "is a rather good friend of", "Create", "", "works (at) #1"]
        {
            lines.push(
                json!({"type": "relation", "from": from, "to": to, "relationType": relation_type}),
            );
        }
    }
    lines.push(
        json!({"type": "relation", "from": "C", "to": "Nobody Known", "relationType": "knows"}),
    );
    lines.push(json!({"type": "relation", "from": "C", "to": long, "relationType": "knows"}));
    lines.iter().map(|line| format!("{line}\n")).collect()
}

#[test]
fn a_memory_goes_through_notes_and_the_daemon_and_comes_out_as_it_was() {
    let mut project = TestProject::of(&[("other.md", "# Other\n\nNot a memory.\n")]);
    let file = project.scratch().join("memory.jsonl");
    std::fs::write(&file, memory()).expect("written");
    let path = file.display().to_string();
    let dry = done(&kgctl(&project, &["import", &path, "--dry-run"]));
    assert!(dry.contains("nothing was written") && !project.at("memory").exists(), "{dry}");

    let reply = done(&kgctl(&project, &["--json", "import", "server-memory", &path]));
    let reply: Value = serde_json::from_str(&reply).expect("JSON");
    assert_eq!(reply["reports"][0]["counts"]["notes written"], NAMES.len() + 1, "{reply:#}");
    assert_eq!(reply["reports"][0]["troubles"], json!([]));
    project.settle();
    let out = done(&kgctl(&project, &["export", "server-memory", "--to", "-"]));
    assert_eq!(sorted(&out), sorted(&memory()));

    // Again: nothing changes, in the folder or the index.
    let before = tree(project.root());
    done(&kgctl(&project, &["import", &path]));
    done(&kgctl(&project, &["import", &path, "--merge"]));
    assert_eq!(tree(project.root()), before);

    // What an agent and a person add to memory is exported, too; a report of memory is not an
    // entity.
    let ada =
        json!({"name": "Wren", "entity_type": "bird", "observations": ["sings", "[x] small"]});
    project.call("create_entities", json!({"entities": [ada]}));
    let text = project.text("memory/wren.md");
    project.write("memory/wren.md", format!("{text}- [nest] in a wall #home\n  - [note] nested\n"));
    project.write("memory/reports/2026-W40.md", "# Memory in week 40\n\n- [ ] Wren\n");
    project.settle();
    let out = done(&kgctl(&project, &["export", "server-memory", "--to", "-"]));
    let wren = out.lines().find(|line| line.contains("\"Wren\""));
    let wren: Value = serde_json::from_str(wren.expect("a line")).expect("JSON");
    let observations = json!(["sings", "[x] small", "[nest] in a wall #home", "nested"]);
    assert_eq!(wren["observations"], observations);
    assert!(!out.contains("Memory in week 40"), "{out}");

    // Imported data can be queried like any other.
    let explained = project.call("entity_lookup", json!({"q": "Analytical Engine"}));
    assert!(explained.to_string().contains("Analytical Engine"), "{explained:#}");
    project.verify("after an import");
}

#[test]
fn every_format_tells_what_the_dump_tells() {
    let mut project = TestProject::of(&[
        (
            "Vault.md",
            "---\naliases: [\"Key, Store\", \"Strong \\\"Box\\\"\"]\n---\n# Vault\n\nVault is used by the Signing Service.\n",
        ),
        (
            "Signing Service.md",
            "# Signing Service\n\nThe Signing Service uses [[Vault]] and depends on PostgreSQL.\n\
            \n- [decision] Keys rotate #ops (weekly)\n- owned_by [[Ada]]\n",
        ),
        (
            "sub dir/Ada.md",
            "---\ntype: person\n---\n# Ada\n\nAda Lovelace works at Example Corp in London.\n",
        ),
    ]);
    let dump = project.dump();
    let rows = |kind: &str| -> Vec<Value> { dump.rows(kind).cloned().collect() };
    let (entities, relations) = (rows("entity"), rows("relation"));
    assert!(entities.len() > 3 && relations.len() > 1, "{}", dump.text());
    let [fact] = rows("observation").try_into().expect("one observation");
    assert_eq!(
        (&fact["content"], &fact["tags"], &fact["context"]),
        (&json!("Keys rotate"), &json!(["ops"]), &json!("weekly"))
    );
    let typed: Vec<Value> = rows("link").into_iter().filter(|it| it["typed"] == true).collect();
    assert_eq!(
        (&typed[0]["relation"], &typed[0]["to"]),
        (&json!("owned_by"), &json!("sub dir/Ada.md"))
    );

    let at = |name: &str| project.scratch().join(name).display().to_string();
    let folder = at("csv");
    done(&kgctl(&project, &["export", "csv", "--to", &folder]));
    let read = |path: &str| std::fs::read_to_string(path).expect("a file");
    let nodes = read(&format!("{folder}/nodes.csv"));
    let ids: BTreeSet<i64> =
        nodes.lines().skip(1).filter_map(|line| line.split(',').next()?.parse().ok()).collect();
    let expected: BTreeSet<i64> = entities.iter().filter_map(|it| it["id"].as_i64()).collect();
    assert_eq!(ids, expected);
    assert!(nodes.contains("\"Key, Store\u{1f}Strong \"\"Box\"\"\""), "{nodes}");
    let relationships = read(&format!("{folder}/relationships.csv"));
    assert_eq!(relationships.lines().count(), relations.len() + 1);
    for it in &relations {
        let start = format!(
            "{},{},{},",
            it["subject_id"],
            it["object_id"],
            it["predicate"].as_str().unwrap_or("")
        );
        let line =
            relationships.lines().find(|line| line.starts_with(&start)).expect("the relation");
        let evidence = &it["evidence"][0];
        let place = format!("{}:{}", evidence["path"].as_str().unwrap_or(""), evidence["line"]);
        assert!(line.contains(&place), "{line} {place}");
    }
    for script in ["load.neo4j.cypher", "load.memgraph.cypher"] {
        assert!(read(&format!("{folder}/{script}")).contains("LOAD CSV"));
    }

    let graphml = done(&kgctl(&project, &["export", "graphml", "--to", "-"]));
    let mut reader = quick_xml::Reader::from_str(&graphml);
    let (mut n_nodes, mut n_edges) = (0, 0);
    loop {
        match reader.read_event().expect("XML") {
            quick_xml::events::Event::Start(tag) if tag.name().as_ref() == "node" => n_nodes += 1,
            quick_xml::events::Event::Start(tag) if tag.name().as_ref() == "edge" => n_edges += 1,
            quick_xml::events::Event::Eof => break,
            _ => {}
        }
    }
    assert_eq!((n_nodes, n_edges), (entities.len(), relations.len()));

    let linked = done(&kgctl(&project, &["export", "json-ld", "--to", "-"]));
    let linked: Value = serde_json::from_str(&linked).expect("JSON");
    let n_linked = linked["@graph"].as_array().map_or(0, Vec::len);
    assert_eq!(n_linked, entities.len() + relations.len() + rows("document").len());

    let canvas = at("graph.canvas");
    let reply =
        done(&kgctl(&project, &["--json", "export", "canvas", "--to", &canvas, "--limit", "2"]));
    let reply: Value = serde_json::from_str(&reply).expect("JSON");
    assert_eq!(
        (&reply["entities"], &reply["entities_left_out"]),
        (&json!(2), &json!(entities.len() - 2))
    );
    let drawn: Value = serde_json::from_str(&read(&canvas)).expect("JSON");
    assert_eq!(drawn["nodes"].as_array().map(Vec::len), Some(2));

    // The same index gives the same bytes; an existing file is not overwritten.
    let again = kgctl(&project, &["export", "csv", "--to", &folder]);
    assert_eq!(again.status.code(), Some(2), "{}", String::from_utf8_lossy(&again.stderr));
    let before = tree(Path::new(&folder));
    done(&kgctl(&project, &["export", "csv", "--to", &folder, "--force"]));
    let bytes = |tree: BTreeMap<String, (Vec<u8>, std::time::SystemTime)>| -> Vec<Vec<u8>> {
        tree.into_values().map(|(bytes, _)| bytes).collect()
    };
    assert_eq!(bytes(tree(Path::new(&folder))), bytes(before));
    let several = kgctl(&project, &["export", "csv", "--to", "-"]);
    assert_eq!(several.status.code(), Some(2));
}

#[test]
fn a_vault_is_registered_read_only_and_keeps_every_byte() {
    let project = TestProject::empty();
    let vault = project.scratch().join("vault");
    for (path, text) in [
        (".obsidian/app.json", "{}"),
        ("Home.md", "---\ntags: [home\n---\n[[Sub/Note]] and ![[p.png]]\r\n"),
        ("Sub/Note.md", "- [fact] One #tag\n- part_of [[Home]]\n"),
        ("p.png", "\u{1}"),
    ] {
        let path = vault.join(path);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        std::fs::write(path, text).expect("written");
    }
    let before = tree(&vault);
    let path = vault.display().to_string();
    let run = |arguments: &[&str]| project.kgctl().args(arguments).output().expect("it runs");
    done(&run(&["import", &path, "--dry-run"]));
    assert_eq!(done(&run(&["list", "--json"])), "[]\n", "a dry run registers nothing");
    let reply = done(&run(&["--json", "import", &path]));
    let reply: Value = serde_json::from_str(&reply).expect("JSON");
    let report = &reply["reports"][0];
    assert_eq!((&report["format"], &report["counts"]["notes"]), (&json!("obsidian"), &json!(2)));
    assert_eq!(report["counts"]["observations"], 1);
    assert_eq!(report["counts"]["front matter that is broken"], 1);
    assert_eq!(
        (&reply["projects"][0]["read_only"], &reply["projects"][0]["new"]),
        (&json!(true), &json!(true))
    );

    let inside = vault.join("Sub").display().to_string();
    let memory = project.scratch().join("memory.jsonl");
    std::fs::write(
        &memory,
        "{\"type\":\"entity\",\"name\":\"A\",\"entityType\":\"x\",\"observations\":[]}\n",
    )
    .expect("written");
    let refused = run(&["import", &memory.display().to_string(), "--into", &inside]);
    assert_eq!(refused.status.code(), Some(2), "{}", String::from_utf8_lossy(&refused.stderr));

    done(&run(&["--project", "vault", "wait"]));
    let found = done(&run(&["--project", "vault", "--json", "lookup", "Note"]));
    assert!(found.contains("\"Note\""), "{found}");
    done(&run(&["--project", "vault", "stop"]));
    assert_eq!(tree(&vault), before);
}

#[test]
fn conversations_are_found_and_never_twice() {
    let mut project = TestProject::of(&[("a.md", "# A\n")]);
    let message = |id: &str, parent: &str, role: &str, text: &str| {
        json!({"id": id, "parent": parent, "children": [], "message": {"author": {"role": role}, "create_time": 1.7e9,
            "content": {"content_type": "text", "parts": [text]}}})
    };
    let conversation = |id: &str, title: &str, gas: &str| {
        json!({"title": title, "conversation_id": id, "create_time": 1.7e9, "update_time": 1.7e9, "current_node": "b",
            "mapping": {"a": message("a", "", "user", "How does the zeppelin fly?"),
                "b": message("b", "a", "assistant", &format!("# Lift\n\nBy {gas}.\n```\nopen fence"))}})
    };
    let export = project.scratch().join("export");
    std::fs::create_dir_all(&export).expect("made");
    let broken = format!(
        "[{},\n{{\"mapping\": 1}},\n{},\n{{\"cut",
        conversation("1", "Zeppelins", "hydrogen"),
        conversation("2", "Zeppelins", "helium, which is dearer and does not burn")
    );
    std::fs::write(export.join("conversations.json"), broken).expect("written");
    let path = export.display().to_string();
    let output = kgctl(&project, &["import", &path]);
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(1), "{printed}");
    assert!(printed.contains("conversations.json:2: `mapping` is no object"), "{printed}");
    assert!(printed.contains("conversations.json:4: the file ends within this item"), "{printed}");
    project.settle();
    let found: BTreeSet<String> = project.found("hydrogen zeppelin").into_iter().collect();
    let expected = ["conversations/zeppelins-2.md", "conversations/zeppelins.md"];
    assert_eq!(found, expected.map(str::to_string).into());
    let before = tree(project.root());
    kgctl(&project, &["import", "chatgpt", &path]);
    assert_eq!(tree(project.root()), before);
}
