//! Hostile documents in a folder of good ones: each affects at most itself.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use config::formats::{FORMATS, Format};
use serde_json::json;
use tests::{TestProject, hostile};

/// Returns the files of `corpus/hostile/` that have a format (others are seeds for parts of
/// documents), and those generated here, as names within one folder.
fn documents() -> Vec<(String, Vec<u8>)> {
    let mut all: Vec<(String, Vec<u8>)> =
        hostile::documents().into_iter().map(|(name, bytes)| (name.to_string(), bytes)).collect();
    let mut open = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("../corpus/hostile")];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().and_then(|it| config::formats::of(it.to_str()?)).is_some() {
                let name = format!("corpus-{}-{}", all.len(), entry.file_name().to_string_lossy());
                all.push((name, fs::read(path).expect("a file of the corpus")));
            }
        }
    }
    all
}

#[test]
fn each_hostile_document_costs_at_most_itself() {
    let mut project = TestProject::empty();
    let extensions: Vec<&str> = FORMATS.iter().flat_map(Format::all_extensions).collect();
    project.set(&format!("watch.extensions={}", extensions.join(",")));
    for setting in
        ["worker.max_seconds=3000", "worker.max_cpu_seconds=1", "worker.max_memory_bytes=256000000"]
    {
        project.set(setting);
    }
    let documents = documents();
    for (i, (name, bytes)) in documents.iter().enumerate() {
        project.write(&format!("bad/{name}"), bytes);
        project.write(
            &format!("good/page-{i}.html"),
            format!("<h1>Page</h1><p>Here is zqgood{i}.</p>"),
        );
    }
    project.start();
    // The limits are in processor seconds, which take longer on a busy machine.
    while project.call("wait", json!({"timeout_ms": 60_000}))["reached"] != true {}
    project.settle();
    let status = project.status();
    let text = |row: &serde_json::Value, key: &str| row[key].as_str().unwrap_or("").to_string();
    let failed = status["quarantine"].as_array().expect("a list").clone();
    let graph = project.dump();
    let mut seen: BTreeSet<String> = graph.rows("document").map(|row| text(row, "path")).collect();
    for row in &failed {
        let (path, reason) = (text(row, "path"), text(row, "reason"));
        assert!(path.starts_with("bad/"), "{row:#}");
        assert!(!reason.is_empty());
        seen.insert(path);
    }
    seen.extend(project.left_out());
    let unseen: Vec<&String> = documents
        .iter()
        .map(|(name, _)| name)
        .filter(|name| !seen.contains(&format!("bad/{name}")))
        .collect();
    assert!(unseen.is_empty(), "neither indexed nor listed: {unseen:?}");
    for i in 0..documents.len() {
        assert_eq!(project.found(&format!("zqgood{i}"))[0], format!("good/page-{i}.html"));
    }
    let limit = 400 << 20;
    assert!(project.resident_bytes() < limit, "{} bytes", project.resident_bytes());
    assert_eq!(status["workers"]["busy"], 0);
    assert!(!Path::new("/tmp/kgd-was-here").exists());
}
