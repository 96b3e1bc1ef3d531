//! Skipped files: every view names them with the same reasons; and a setting that changes which files are read.

use serde_json::{Value, json};
use tests::{SharedHome, TestProject};

/// Returns what a status says of files that are not read: count, reason, what decided it, names.
fn not_read(status: &Value) -> String {
    let rows = status["survey"]["not_read"].as_array().expect("a walk");
    let line = |row: &Value| {
        let names: Vec<_> = row["paths"].as_array().expect("names").iter().collect();
        let names: Vec<_> = names.iter().map(|it| it.as_str().expect("a name")).collect();
        let by = row["by"].as_str().map(|by| format!(": {by}")).unwrap_or_default();
        format!(
            "{} {}{by}: {}\n",
            row["count"],
            row["reason"].as_str().expect("why"),
            names.join(" ")
        )
    };
    rows.iter().map(line).collect()
}

const FILES: [(&str, &str); 12] = [
    (".gitignore", "out/\n"),
    ("docs/.kgignore", "draft.md\n"),
    ("a.md", "# Bees\n"),
    ("docs/draft.md", "x"),
    ("out/x.md", "x"),
    ("scan 1.odt", "x"),
    ("scan 2.odt", "x"),
    ("photo.png", "x"),
    ("prod.env", "x"),
    ("node_modules/m/README.md", "x"),
    (".hidden.md", "x"),
    ("broken.pdf", "not a PDF"),
];

const EXPECTED: &str = "\
1 failed: broken.pdf
1 on the deny list: prod.env
1 too large: large.md
1 symlink out of the root: out.md
1 not a regular file: pipe.md
3 hidden: .gitignore .hidden.md docs/.kgignore
2 extension: odt: scan 1.odt scan 2.odt
1 built-in folder: node_modules: node_modules/
1 ignored: .gitignore: out/
1 ignored: docs/.kgignore: docs/draft.md
1 binary format: png: photo.png
";

fn fill(home: &std::path::Path) {
    for (path, text) in FILES {
        let path = home.join(path);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        std::fs::write(path, text).expect("written");
    }
    std::fs::write(home.join("large.md"), "x".repeat(2_000_001)).expect("written");
    std::os::unix::fs::symlink("/etc/hostname", home.join("out.md")).expect("a link");
    let made = std::process::Command::new("mkfifo").arg(home.join("pipe.md")).status();
    assert!(made.expect("`mkfifo` runs").success());
}

#[test]
fn init_and_status_name_what_is_not_read_by_reason() {
    let home = SharedHome::of(&[]);
    std::fs::create_dir(home.at("My Notes")).expect("a folder");
    fill(&home.at("My Notes"));
    let text = home.kgctl_done(&["init", "My Notes"]);
    assert!(text.contains("2 files to read: 1 md, 1 pdf\n"), "{text}");
    for line in EXPECTED.lines().skip(1) {
        let names = line.rsplit(": ").next().expect("names");
        let names = match names {
            "scan 1.odt scan 2.odt" => "scan 1.odt, scan 2.odt",
            it => it,
        };
        let names = names.replace(".gitignore .hidden.md docs/", ".gitignore, .hidden.md, docs/");
        assert!(text.contains(&names), "{names} in {text}");
    }
    home.kgctl_done(&["wait"]);
    let status: Value =
        serde_json::from_str(&home.kgctl_done(&["status", "--json"])).expect("JSON");
    assert_eq!(not_read(&status), EXPECTED);
    let text = home.kgctl_done(&["status"]);
    assert!(text.contains("extension: odt") && text.contains("scan 1.odt, scan 2.odt"), "{text}");
    let all = home.kgctl_done(&["status", "--not-read"]);
    assert!(all.contains("scan 2.odt\textension: odt\t`watch.extensions` adds"), "{all}");
}

#[test]
fn an_agent_reads_the_same_and_may_ask_for_every_name() {
    let mut project = TestProject::of(&[("a.md", "# A\n")]);
    fill(project.root());
    for n in 0..9 {
        project.write(&format!("more/{n}.odt"), "x");
    }
    project.call("wait", json!({"timeout_ms": 60_000}));
    let expected = EXPECTED.replace(
        "2 extension: odt: scan 1.odt scan 2.odt\n",
        "11 extension: odt: more/0.odt more/1.odt more/2.odt\n",
    );
    let mut expected: Vec<&str> = expected.lines().collect();
    expected.sort_unstable();
    let status = project.until("all is counted", |status| {
        let now = not_read(status);
        let mut now: Vec<&str> = now.lines().collect();
        now.sort_unstable();
        now == expected
    });
    assert_eq!(status["skipped"]["extension"], 11);
    let reply = project.call("status", json!({"not_read": true}));
    let rows = reply["survey"]["not_read"].as_array().expect("rows");
    let odt = rows.iter().find(|row| row["by"] == "odt").expect("a row");
    assert_eq!(odt["paths"].as_array().map(Vec::len), Some(11));
    let result = project.client().call_whole("status", json!({})).expect("a result");
    let text = result["content"][0]["text"].as_str().expect("text");
    assert!(
        text.contains("not read: 11 (extension: odt): more/0.odt, more/1.odt, more/2.odt, 8 more"),
        "{text}"
    );
    assert!(text.contains("not read: 1 (ignored: docs/.kgignore): docs/draft.md"), "{text}");
    // It is counted as it comes and goes, without a rescan.
    project.remove("photo.png");
    project.until("it is gone", |status| !not_read(status).contains("photo.png"));
}

#[test]
fn extensions_of_the_settings_add_and_take_out() {
    let mut project = TestProject::empty();
    project.set("watch.extensions=tex,-pdf");
    project.write_all(&[
        ("a.tex", "A heron wades.\n"),
        ("b.md", "B\n"),
        ("c.pdf", "C"),
        ("d.odt", "D"),
    ]);
    project.start();
    project.settle();
    assert_eq!(project.found("heron wades")[0], "a.tex");
    assert!(project.found("B").contains(&"b.md".to_string()));
    assert_eq!(
        not_read(&project.status()),
        "1 extension taken out by `watch.extensions`: pdf: c.pdf\n1 extension: odt: d.odt\n"
    );
}
