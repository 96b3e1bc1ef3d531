//! Documentation: a short README, a complete table of contents, links that resolve, a book that
//! builds.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Longest README, bytes: what a visitor reads before deciding.
const MAX_README_BYTES: usize = 8_192;

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("a workspace").to_path_buf()
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Files below a folder with this extension.
fn files(folder: &Path, extension: &str) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(files(&path, extension));
        } else if path.extension().is_some_and(|it| it == extension) {
            found.insert(path);
        }
    }
    found
}

/// Returns the targets of inline links and images outside code, as written. Draft chapters have an
/// empty one.
fn targets(markdown: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut is_code = false;
    for line in markdown.lines() {
        is_code ^= line.trim_start().starts_with("```");
        if is_code {
            continue;
        }
        // Every second part is between backticks.
        let prose: String = line.split('`').step_by(2).collect::<Vec<_>>().join("`");
        let links = prose.split("](").skip(1).filter_map(|rest| rest.split(')').next());
        found.extend(links.map(str::to_string));
    }
    found
}

#[test]
fn the_readme_is_short() {
    let n = read(&workspace().join("README.md")).len();
    assert!(
        n <= MAX_README_BYTES,
        "README.md has {n} bytes, at most {MAX_README_BYTES} are allowed"
    );
}

#[test]
fn the_table_of_contents_lists_every_page_once() {
    let source = workspace().join("docs/src");
    let summary = source.join("SUMMARY.md");
    let listed: Vec<PathBuf> = targets(&read(&summary))
        .iter()
        .filter(|target| !target.is_empty())
        .map(|target| source.join(target))
        .collect();
    let unique: BTreeSet<PathBuf> = listed.iter().cloned().collect();
    assert_eq!(unique.len(), listed.len(), "a page is listed twice in SUMMARY.md");
    let mut pages = files(&source, "md");
    pages.remove(&summary);
    let missing: Vec<_> = unique.difference(&pages).collect();
    let unlisted: Vec<_> = pages.difference(&unique).collect();
    assert!(
        missing.is_empty() && unlisted.is_empty(),
        "missing: {missing:?}; unlisted: {unlisted:?}"
    );
}

#[test]
fn every_relative_link_leads_to_a_file() {
    let root = workspace();
    let mut pages = files(&root.join("docs/src"), "md");
    let top = fs::read_dir(&root).expect("a folder").flatten().map(|entry| entry.path());
    pages.extend(top.filter(|path| path.extension().is_some_and(|it| it == "md")));
    let mut out = String::new();
    for page in pages {
        let folder = page.parent().expect("a file lies in a folder");
        for target in targets(&read(&page)) {
            let path = target.split('#').next().unwrap_or_default();
            let is_elsewhere =
                ["https:", "http:", "mailto:"].iter().any(|it| target.starts_with(it));
            if !is_elsewhere && !path.is_empty() && !folder.join(path).exists() {
                let _ = writeln!(out, "{}: {target}", page.display());
            }
        }
    }
    assert_eq!(out, "");
}

#[test]
fn the_help_of_programs_is_current() {
    for program in ["kgd", "kg-mcp"] {
        let path = match program {
            "kgd" => tests::kgd().to_path_buf(),
            other => tests::kgctl().with_file_name(other),
        };
        let output = Command::new(path).arg("--help").output().expect("it runs");
        let help = String::from_utf8(output.stdout).expect("text");
        let page = workspace().join(format!("docs/src/reference/{program}.txt"));
        if std::env::var_os("KG_REGENERATE").is_some() {
            fs::write(&page, &help).expect("a file");
        }
        let found = fs::read_to_string(&page).unwrap_or_default();
        assert!(
            found == help,
            "`{}` is not current; `KG_REGENERATE=1` rewrites it",
            page.display()
        );
    }
}

#[test]
fn the_book_builds() {
    let out = tempfile::tempdir().expect("a scratch folder");
    let mut build = Command::new("mdbook");
    build.arg("build").arg(workspace().join("docs")).arg("--dest-dir").arg(out.path());
    match build.output() {
        Err(error) => eprintln!("skipped: `mdbook` does not run here ({error})"),
        Ok(done) => {
            let output = String::from_utf8_lossy(&done.stderr);
            // A missing include is only logged.
            assert!(done.status.success() && !output.contains("ERROR"), "{output}");
            assert!(out.path().join("index.html").exists(), "{output}");
        }
    }
}
