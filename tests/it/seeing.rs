//! Views: the defining sentence, the timeline, and the drawn neighborhood or folder.

use std::fs;
use std::process::Command;

use expect_test::expect;
use serde_json::{Value, json};
use tests::TestProject;

/// Returns what defines a name, and why that sentence was chosen.
fn defined(project: &mut TestProject, name: &str) -> String {
    let found = &project.call("explain_entity", json!({"name": name}))["definition"];
    let text = |field: &str| found[field].to_string().replace('"', "");
    format!("{} {}:{} {}", text("by"), text("path"), text("line"), text("text"))
}

#[test]
fn the_better_sentence_takes_the_place_of_a_worse_one() {
    let mut project = TestProject::of(&[
        ("a.md", "# A\n\nThe [[Key Vault]] is the service that failed in May.\n"),
        ("Other.md", "# Other\n\nThe [[Key Vault]] depends on the [[Other]].\n"),
    ]);
    let mut seen = defined(&mut project, "Key Vault") + "\n";
    for (path, text) in [
        (
            "b.md",
            "# B\n\nSome words about parts.\n\n## [[Key Vault]]\n\nThe Key Vault keeps keys for all services.\n",
        ),
        ("Key Vault.md", "# Key Vault\n\nKeys rest here, and only here.\n"),
        ("c.md", "# Notes\n\nThe Key Vault is a service that keeps keys.\n"),
        ("glossary.md", "# Glossary\n\n- **Key Vault**: the place where keys are kept\n"),
        (
            "Key Vault.md",
            "# Key Vault\n\nKeys rest here. The Key Vault is the store of all keys.\n",
        ),
    ] {
        project.write(path, text);
        project.settle();
        seen += &(defined(&mut project, "Key Vault") + "\n");
    }
    expect![[r#"
        is the a.md:3 The Key Vault is the service that failed in May.
        is the a.md:3 The Key Vault is the service that failed in May.
        null null:null null
        is a c.md:3 The Key Vault is a service that keeps keys.
        glossary glossary.md:3 Key Vault: the place where keys are kept
        is the Key Vault.md:3 The Key Vault is the store of all keys.
    "#]]
    .assert_eq(&seen);
}

#[test]
fn items_and_rows_elsewhere_define_nothing_that_has_a_note() {
    let mut project = TestProject::of(&[
        ("people/ada.md", "# Ada Moreno\n\nAda Moreno leads the Trust Team from Porto.\n"),
        (
            "sync.md",
            "# Sync\n\n## Actions\n\n- Ada Moreno: write down why the window is not zero\n\n\
             | Service | Lead | Language |\n|---|---|---|\n| Key Vault | Ada Moreno | Rust |\n",
        ),
    ]);
    let seen = defined(&mut project, "Ada Moreno");
    assert!(seen.contains("people/ada.md:3 Ada Moreno leads"), "{seen}");
    let seen = defined(&mut project, "Rust");
    assert!(!seen.contains(" | "), "{seen}");
}

#[test]
fn nothing_is_shown_where_nothing_defines() {
    let mut project = TestProject::of(&[
        (
            "pumps.md",
            "# Notes\n\nFalcon Gateway uses Redis Cluster.\n\n- Falcon Gateway: order the pump\n",
        ),
        (
            "kestrel.md",
            "# Engines\n\nKestrel Engine, also known as KEngine, is a storage engine.\n",
        ),
        (
            "limits.md",
            "# Limits\n\n| Name | Description |\n|---|---|\n| `max_rows` | The rows of a page. |\n\
          | `max_hits` | A number of hits. |\n| `min_hits` | A number of hits. |\n",
        ),
    ]);
    assert!(defined(&mut project, "Falcon Gateway").starts_with("null"));
    let seen = defined(&mut project, "Kestrel Engine");
    assert!(seen.ends_with("KEngine, is a storage engine."), "{seen}");
    assert_eq!(defined(&mut project, "max_hits"), "table limits.md:6 A number of hits.");
    // Two pages that describe one name speak of two things.
    let rows = "| `max_hits` | A limit of the search. |\n| `max_age` | An age in days. |\n";
    project.write("other.md", format!("# Other\n\n| Name | Description |\n|---|---|\n{rows}"));
    project.write(
        "faq.md",
        "# FAQ\n\n## What is Falcon Gateway?\n\nFalcon Gateway is the edge proxy of the company.\n",
    );
    project.settle();
    assert!(defined(&mut project, "max_hits").starts_with("null"));
    let seen = defined(&mut project, "Falcon Gateway");
    assert_eq!(seen, "is the faq.md:5 Falcon Gateway is the edge proxy of the company.");
}

#[test]
fn an_entry_of_a_glossary_is_quoted_without_its_heading() {
    let mut project = TestProject::of(&[(
        "glossary.md",
        "# Glossary\n\n## Tide Lock\n\nA door that keeps the water in.\n\n## Weir\n\nA low dam.\n",
    )]);
    let seen = defined(&mut project, "Tide Lock");
    expect!["glossary glossary.md:5 A door that keeps the water in."].assert_eq(&seen);
}

#[test]
fn a_day_in_the_name_of_a_file_is_its_day() {
    let mut project = TestProject::of(&[
        ("2024-03-18-forum.md", "# Forum\n\nThe [[Key Vault]] was slow.\n"),
        ("Key Vault.md", "---\ndate: 2024-02-01\n---\n# Key Vault\n"),
        ("v12024-03-181.md", "# Numbers\n\nNothing here.\n"),
    ]);
    let reply = project.call("explain_entity", json!({"name": "Key Vault"}));
    assert_eq!(reply["timeline"]["last"]["day"], "2024-03-18", "{reply}");
    let dump = project.dump();
    let day = |path: &str| {
        let found = dump.rows("document").find(|it| it["path"] == path).cloned();
        found.map(|it| it["day"].clone()).unwrap_or_default()
    };
    assert_ne!(day("v12024-03-181.md"), "2024-03-18");
}

#[test]
fn a_short_form_of_a_name_finds_what_it_stands_for() {
    let mut project = TestProject::of(&[(
        "engines.md",
        "# Engines\n\nCharles Babbage built engines. Babbage met Ada Lovelace in London.\n",
    )]);
    let reply = project.call("explain_entity", json!({"name": "Babbage"}));
    assert_eq!(reply["entity"]["name"], "Charles Babbage", "{reply}");
}

#[test]
fn a_timeline_counts_by_the_days_of_the_documents() {
    let dated = |day: &str, n: usize| {
        format!(
            "---\ndate: {day}\n---\n# Log of {day}\n\n{}\n",
            "The Key Vault was slow. ".repeat(n)
        )
    };
    let mut project = TestProject::empty();
    project.write("Key Vault.md", "---\ndate: 2024-02-01\n---\n# Key Vault\n");
    for (day, n) in [("2024-02-17", 2), ("2024-02-18", 1), ("2025-01-31", 3)] {
        project.write(&format!("{day}.md"), dated(day, n));
    }
    project.start();
    project.settle();
    let reply = project.call("explain_entity", json!({"name": "Key Vault"}));
    expect![[r#"
        {
          "first": {
            "day": "2024-02-01",
            "path": "Key Vault.md",
            "line": 4
          },
          "last": {
            "day": "2025-01-31",
            "path": "2025-01-31.md",
            "line": 6
          },
          "per": "month",
          "counts": [
            {
              "period": "2024-02",
              "n_mentions": 4,
              "n_documents": 3
            },
            {
              "period": "2025-01",
              "n_mentions": 3,
              "n_documents": 1
            }
          ]
        }"#]]
    .assert_eq(&format!("{:#}", reply["timeline"]));
    // With 24 more months the timeline counts by year.
    for month in 0..24 {
        let day = format!("{}-{:02}-01", 2010 + month / 12, month % 12 + 1);
        project.write(&format!("{day}.md"), dated(&day, 1));
    }
    project.settle();
    let timeline = &project.call("explain_entity", json!({"name": "Key Vault"}))["timeline"];
    assert_eq!(timeline["per"], "year");
    assert_eq!(timeline["counts"].as_array().map(Vec::len), Some(4), "{timeline:#}");
    assert_eq!(
        timeline["counts"][0],
        json!({"period": "2010", "n_mentions": 12, "n_documents": 12})
    );
}

/// Creates a chain `Link 0 → Link 1 → …` and `n_leaves` notes that use the first.
fn chain(n_leaves: usize) -> TestProject {
    let mut project = TestProject::empty();
    for idx in 0..4 {
        let text = format!(
            "---\ntype: Service\n---\n# Link {idx}\n\nThe Link {idx} depends on the [[Link {}]].\n",
            idx + 1
        );
        project.write(&format!("Link {idx}.md"), text);
    }
    project.write("Link 4.md", "---\ntype: Service\n---\n# Link 4\n\nThe Link 4 stands alone.\n");
    for idx in 0..n_leaves {
        let text = format!(
            "---\ntype: Service\n---\n# Leaf {idx}\n\nThe Leaf {idx} uses the [[Link 0]].\n"
        );
        project.write(&format!("Leaf {idx}.md"), text);
    }
    project.start();
    project.settle();
    project
}

fn names(reply: &Value) -> Vec<String> {
    let nodes = reply["nodes"].as_array().expect("nodes");
    nodes.iter().map(|it| format!("{} {}", it["hop"], it["name"]).replace('"', "")).collect()
}

#[test]
fn a_neighborhood_ends_at_its_hops_and_its_limit() {
    let mut project = chain(5);
    let two = project.call("graph", json!({"name": "Link 0", "hops": 2, "rels": ["depends_on"]}));
    assert_eq!(names(&two), ["0 Link 0", "1 Link 1", "2 Link 2"]);
    assert_eq!(two["edges"].as_array().map(Vec::len), Some(2), "{two:#}");
    // Edges of equal confidence are ordered by entity id, which differs between projects.
    let edges = two["edges"].as_array().expect("edges");
    let mut cited: Vec<&str> =
        edges.iter().filter_map(|it| it["evidence"]["path"].as_str()).collect();
    cited.sort_unstable();
    assert_eq!(cited, ["Link 0.md", "Link 1.md"]);
    assert!(two.get("truncated").is_none());
    let all = project.call("graph", json!({"name": "Link 0", "hops": 4}));
    assert_eq!(all["nodes"].as_array().map(Vec::len), Some(10));
    let few = project.call("graph", json!({"name": "Link 0", "hops": 1, "limit": 3}));
    assert_eq!(few["nodes"].as_array().map(Vec::len), Some(3));
    let note = few["truncated"].as_str().expect("told");
    assert!(note.starts_with("4 entities left out"), "{note}");
    let known: Vec<&Value> =
        few["nodes"].as_array().into_iter().flatten().map(|it| &it["id"]).collect();
    for edge in few["edges"].as_array().expect("edges") {
        assert!(known.contains(&&edge["src"]) && known.contains(&&edge["dst"]), "{edge}");
    }
    assert_eq!(all, project.call("graph", json!({"name": "Link 0", "hops": 4})), "the same again");
}

#[test]
fn without_a_name_the_folder_is_drawn_in_communities() {
    let mut project = chain(5);
    // A second group, without relations to the first.
    for idx in 0..3 {
        let (next, other) = ((idx + 1) % 3, (idx + 2) % 3);
        let text = format!(
            "---\ntype: Team\n---\n# Crew {idx}\n\nThe Crew {idx} uses the [[Crew {next}]] and the [[Crew {other}]].\n"
        );
        project.write(&format!("Crew {idx}.md"), text);
    }
    project.settle();
    let all = project.call("graph", json!({}));
    let nodes = all["nodes"].as_array().expect("nodes");
    assert_eq!(nodes.len(), 13, "{all:#}");
    let mentions: Vec<u64> = nodes.iter().filter_map(|it| it["n_mentions"].as_u64()).collect();
    assert!(mentions.is_sorted_by(|a, b| a >= b), "{mentions:?}");
    let communities = all["communities"].as_array().expect("communities");
    let sizes: Vec<u64> = communities.iter().filter_map(|it| it["size"].as_u64()).collect();
    assert_eq!(sizes.iter().sum::<u64>(), 13);
    let of = |name: &str| &nodes.iter().find(|it| it["name"] == name).expect("drawn")["community"];
    assert_eq!(of("Crew 0"), of("Crew 1"));
    assert_eq!(of("Crew 0"), of("Crew 2"));
    assert_eq!(of("Link 0"), of("Leaf 3"));
    assert_ne!(of("Link 0"), of("Crew 0"));
    let crew = communities.iter().find(|it| &it["id"] == of("Crew 0")).expect("it has a label");
    let label = crew["label"].as_str().expect("text");
    assert!(label.starts_with("Crew ") && label.contains(", Crew "), "{label}");
    assert_eq!(all, project.call("graph", json!({})), "the same again");
    let some = project.call("graph", json!({"rels": ["depends_on"]}));
    assert_eq!(some["nodes"].as_array().map(Vec::len), Some(5), "{some:#}");
    let few = project.call("graph", json!({"limit": 5}));
    assert_eq!(few["nodes"].as_array().map(Vec::len), Some(5));
    let note = few["truncated"].as_str().expect("told");
    assert_eq!(note, "8 entities left out; raise `limit`, or give some `rels`");
}

#[test]
fn kgctl_writes_the_page_and_no_other_file() {
    let project = chain(1);
    let page = project.scratch().join("page.html");
    let run = |arguments: &[&str]| {
        let mut command = Command::new(tests::kgctl());
        command.arg("--project").arg(project.root()).args(arguments);
        for (name, folder) in
            [("KG_STATE_DIR", "state"), ("KG_RUNTIME_DIR", "run"), ("KG_CONFIG_DIR", "config")]
        {
            command.env(name, project.scratch().join(folder));
        }
        let output = command.env("PATH", project.scratch()).output().expect("it runs");
        (
            output.status.code(),
            String::from_utf8_lossy(&output.stdout).into_owned()
                + &String::from_utf8_lossy(&output.stderr),
        )
    };
    let out = page.to_str().expect("text");
    let (code, printed) = run(&["graph", "Link", "0", "--hops", "2", "--out", out]);
    assert_eq!(code, Some(0), "{printed}");
    assert!(printed.contains("4 entities, "), "{printed}");
    let first = fs::read(&page).expect("written");
    let text = String::from_utf8_lossy(&first);
    assert!(
        text.contains("<h1>Link 0</h1>") && text.contains("Link 2") && !text.contains("Link 3</a>")
    );
    let (code, _) = run(&["graph", "Link", "0", "--hops", "2", "--out", out]);
    assert_eq!(
        (code, fs::read(&page).expect("written")),
        (Some(0), first),
        "the same graph, the same page"
    );
    fs::write(&page, "mine").expect("a file");
    let (code, printed) = run(&["graph", "Link 0", "--out", out]);
    assert_eq!(
        (code, printed.contains("is not a page of `kgctl graph`")),
        (Some(2), true),
        "{printed}"
    );
    assert_eq!(fs::read(&page).expect("still there"), b"mine");
    // A device is not a page, and a pipe would block.
    let (code, printed) = run(&["graph", "Link 0", "--out", "/dev/null"]);
    assert_eq!(
        (code, printed.contains("is not a page of `kgctl graph`")),
        (Some(2), true),
        "{printed}"
    );
    let (code, printed) = run(&["graph", "Link 0", "--out", "-"]);
    assert_eq!((code, printed.starts_with("<!")), (Some(0), true), "{printed}");
    let (code, printed) = run(&["graph", "Link 0", "--open"]);
    assert_eq!(
        (code, printed.contains("`xdg-open` is not installed")),
        (Some(1), true),
        "{printed}"
    );
    let (code, printed) = run(&["graph"]);
    assert_eq!(code, Some(0), "{printed}");
    assert!(printed.contains("/graph-folder.html\n6 entities, "), "{printed}");
    let (code, printed) = run(&["graph", "--hops", "2"]);
    assert_eq!(code, Some(2), "{printed}");
    let (code, printed) = run(&["graph", "Nobody"]);
    assert_eq!(code, Some(3), "{printed}");
}
