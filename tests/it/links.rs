//! Links: a link in any format leads to the document of any format, by every address that its author may use, and
//! still does after the document has moved.

use std::collections::BTreeMap;
use std::fs;

use serde_json::json;
use tests::TestProject;

/// Returns where each link leads, by the file in which it stands and its target; `-` where it leads nowhere.
fn led(project: &mut TestProject) -> BTreeMap<(String, String), String> {
    let dump = project.call("dump", json!({"limit": 500}));
    let rows = dump["rows"].as_array().expect("rows");
    let links = rows.iter().filter(|row| row["kind"] == "link");
    let text = |it: &serde_json::Value| it.as_str().unwrap_or("-").to_string();
    links.map(|it| ((text(&it["path"]), text(&it["target"])), text(&it["to"]))).collect()
}

#[test]
fn every_format_links_to_every_other_and_each_document_is_one_entity() {
    // The name that a page shows differs from its file's.
    let targets = [
        ("t-md.md", "# The md page\n\nQuiet.\n"),
        ("t-org.org", "#+title: The org page\n\nQuiet.\n"),
        ("t-rst.rst", "The rst page\n============\n\nQuiet.\n"),
        ("t-adoc.adoc", "= The adoc page\n\nQuiet.\n"),
        ("t-html.html", "<title>The html page</title><h1>The html page</h1><p>Quiet.</p>"),
    ];
    let link = [
        ("from-md.md", "[go](TO)\n\n"),
        ("from-org.org", "[[file:TO][go]]\n\n"),
        ("from-rst.rst", "`go <TO>`_\n\n"),
        ("from-adoc.adoc", "link:TO[go]\n\n"),
        ("from-html.html", "<p>Then <a href=\"TO\">go on</a>.</p>\n"),
    ];
    let sources = link.map(|(path, write)| (path, targets.map(|it| write.replace("TO", it.0))));
    let sources = sources.map(|(path, links)| (path, links.concat()));
    let sources = sources.iter().map(|(path, text)| (*path, text.as_str()));
    let mut project = TestProject::of(&targets.into_iter().chain(sources).collect::<Vec<_>>());
    let led = led(&mut project);
    assert_eq!(led.len(), 25, "{led:?}");
    for ((from, target), to) in &led {
        assert_eq!(target, to, "{from}");
    }
    let dump = project.call("dump", json!({"limit": 500}));
    let rows = dump["rows"].as_array().expect("rows").iter();
    let relations: Vec<_> = rows.filter(|row| row["kind"] == "relation").collect();
    for name in ["html", "org", "rst", "adoc", "md"] {
        let object = format!("The {name} page");
        let n = relations.iter().filter(|row| row["object"] == object.as_str()).count();
        assert_eq!(n, 5, "{object}: {relations:#?}");
    }
    assert!(!dump.to_string().contains(r#""name":"go"#), "the words of a link are no second page");
}

#[test]
fn ids_labels_and_addresses_of_a_site_lead_to_its_pages() {
    let files = [
        (
            "roam/desk.org",
            "#+title: Desk\n\nIt feeds [[id:01fb][the echo]] and [[Plate Reverb]].\n",
        ),
        ("roam/tape.org", ":PROPERTIES:\n:ID: 01fb\n:END:\n#+title: Tape Echo\n\nSlow.\n"),
        ("roam/plate.org", "#+title: Plate Reverb\n\nSteel.\n"),
        ("book/index.rst", "Book\n====\n\n.. toctree::\n\n   pumps\n\nSee :ref:`hose-care`.\n"),
        ("book/pumps.rst", "Pumps\n=====\n\n.. _hose-care:\n\nHoses\n-----\n\nDry.\n"),
        (
            "site/content/docs/set-up/_index.md",
            "# Set up\n\n[a](../use/) [b](/docs/use/) [c](./linux/)\n",
        ),
        (
            "site/content/docs/set-up/linux.md",
            "# Linux\n\n[d](../macos/) [e](..) [f](/docs/use/index.html)\n",
        ),
        (
            "site/content/docs/set-up/macos.md",
            "# MacOS\n\n[g]({% page \"/docs/use/\" %}) [h](linux.html)\n",
        ),
        (
            "site/content/docs/use/_index.md",
            "# Use\n\n[i](https://x.org) [j](/docs/none/) [k](./import.http/)\n",
        ),
        ("site/content/docs/use/import.http.md", "# Import\n\nBy HTTP.\n"),
    ];
    let mut project = TestProject::of(&files);
    let led = led(&mut project);
    let docs = "site/content/docs";
    let rows = [
        ("roam/desk.org", "id:01fb", "roam/tape.org"),
        ("roam/desk.org", "Plate Reverb", "roam/plate.org"),
        ("book/index.rst", "pumps", "book/pumps.rst"),
        ("book/index.rst", "ref:hose-care", "book/pumps.rst"),
        (&format!("{docs}/set-up/_index.md"), "../use/", &format!("{docs}/use/_index.md")),
        (&format!("{docs}/set-up/_index.md"), "/docs/use/", &format!("{docs}/use/_index.md")),
        (&format!("{docs}/set-up/_index.md"), "./linux/", &format!("{docs}/set-up/linux.md")),
        (&format!("{docs}/set-up/linux.md"), "../macos/", &format!("{docs}/set-up/macos.md")),
        (&format!("{docs}/set-up/linux.md"), "..", &format!("{docs}/set-up/_index.md")),
        (
            &format!("{docs}/set-up/linux.md"),
            "/docs/use/index.html",
            &format!("{docs}/use/_index.md"),
        ),
        (&format!("{docs}/set-up/macos.md"), "/docs/use/", &format!("{docs}/use/_index.md")),
        (&format!("{docs}/set-up/macos.md"), "linux.html", &format!("{docs}/set-up/linux.md")),
        (&format!("{docs}/use/_index.md"), "/docs/none/", "-"),
        (&format!("{docs}/use/_index.md"), "./import.http/", &format!("{docs}/use/import.http.md")),
    ];
    for (from, target, to) in rows {
        let found = led.get(&(from.to_string(), target.to_string())).map(String::as_str);
        assert_eq!(found, Some(to), "{target} in {from}: {led:#?}");
    }
    assert_eq!(led.len(), rows.len(), "{led:#?}");
}

#[test]
fn links_follow_files_and_folders_that_a_person_moves() {
    let from = "[[d/plan]] [m](d/plan.md) [[plan]] [o](old.md) [[old]]\n";
    let files = [("from.md", from), ("d/plan.md", "Pumps and weirs.\n"), ("old.md", "Hoses.\n")];
    let mut project = TestProject::of(&files);
    let of = |pairs: [(&str, &str); 5]| {
        pairs.map(|(target, to)| (("from.md".to_string(), target.to_string()), to.to_string()))
    };
    let root = project.root().to_path_buf();
    fs::rename(root.join("d"), root.join("e")).expect("moved");
    fs::rename(root.join("old.md"), root.join("new.md")).expect("moved");
    project.settle();
    let now = BTreeMap::from(of([
        ("d/plan", "e/plan.md"),
        ("d/plan.md", "e/plan.md"),
        ("plan", "e/plan.md"),
        ("old.md", "new.md"),
        ("old", "new.md"),
    ]));
    assert_eq!(led(&mut project), now);
    // A new file at the former address takes it.
    fs::write(root.join("old.md"), "Another.\n").expect("written");
    project.settle();
    assert_eq!(led(&mut project)[&("from.md".to_string(), "old.md".to_string())], "old.md");
}

#[test]
fn a_heading_is_found_by_its_text_and_by_the_anchors_of_obsidian_and_github() {
    let target = "# T\n\n## What's new in v2.0?\n\n## TCP/IP\n\n## Open items #urgent\n\n## Dup\n\n## Dup\n\n## API: `get()`\n";
    let links = [
        "[a](t.md#whats-new-in-v20) [b](t.md#tcpip) [c](t.md#open-items-urgent) [d](t.md#dup-1)",
        "[[t#What's new in v2.0?]] [[t#Open items #urgent]] [[t#API get()]] [e](t.md#api-get)",
    ];
    let mut project = TestProject::of(&[("t.md", target), ("from.md", &links.join("\n"))]);
    assert_eq!(project.call("broken_links", json!({}))["links"], json!([]));
    let read = project.call("read_note", json!({"path": "t.md#whats-new-in-v20"}));
    assert!(read.to_string().contains("What's new"), "{read}");
    fs::write(project.root().join("lost.md"), "[x](t.md#nothing)\n").expect("written");
    project.settle();
    let broken = project.call("broken_links", json!({}))["links"].clone();
    assert_eq!(broken[0]["missing"], "heading", "{broken}");
    let error = project.try_call("read_note", json!({"path": "t.md#What was new"}));
    let error = error.expect_err("no such heading").to_string();
    assert!(error.contains("it has `What's new in v2.0?`"), "the nearest first: {error}");
}

#[test]
fn what_is_there_is_not_missing_though_the_index_does_not_hold_it() {
    let page = "<h1>T</h1><p id=\"label\">Quiet.</p>";
    let from = "[a](pictures/) [b](t.html#label) [c](t.html#lost) [d](none/)\n";
    let files = [("t.html", page), ("pictures/a.png", "no picture"), ("from.md", from)];
    let mut project = TestProject::of(&files);
    let report = project.call("broken_links", json!({}));
    let targets: Vec<_> = report["links"].as_array().expect("links").iter().collect();
    let targets: Vec<_> = targets.iter().map(|it| it["target"].as_str()).collect();
    assert_eq!(targets, [Some("t.html#lost"), Some("none/")], "{report}");
}
