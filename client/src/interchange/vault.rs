//! Vault: surveys a folder of notes before it is registered.
//!
//! In: a folder, and which files the daemon leaves out. Out: a [`Report`] with counts and what is broken.
//! Facts: Obsidian keeps its own settings in `.obsidian`; basic-memory keeps `config.json` in `~/.basic-memory`, with
//! `projects`, by name: a path, or in newer versions an object with `path`.
//! Invariants: nothing is written; symlinks are not followed, as in the watcher.

use std::path::{Path, PathBuf};

use confine::{Kind, Meta, Root};
use notes::parse::{LinkKind, RelationKind, parse};
use serde_json::Value;

use super::{InterchangeError, Report};
use crate::input;

/// Folders that are never read, as in the daemon's watcher.
const BUILT_IN: &[&str] = &[".git", ".obsidian", ".trash", "node_modules", "target", ".venv"];

/// Largest `config.json` of basic-memory that is read, bytes. It names projects.
const MAX_CONFIG_BYTES: u64 = 16 << 20;

/// Most entries that are visited.
const MAX_ENTRIES: usize = 2_000_000;

/// Surveys every note of a folder; `max_bytes` is the largest file that the daemon reads.
pub fn survey(root: &Path, max_bytes: u64, report: &mut Report) {
    let opened = match Root::open(root) {
        Ok(opened) => opened,
        Err(error) => return report.trouble(".", error.to_string(), "look at its permissions"),
    };
    let mut folders = vec![String::new()];
    let mut n_entries = 0;
    while let Some(folder) = folders.pop() {
        let mut listing = match opened.list(&folder) {
            Ok(listing) => listing,
            Err(error) => {
                let shown = if folder.is_empty() { "." } else { &folder };
                report.trouble(shown, error.to_string(), "look at its permissions");
                continue;
            }
        };
        // Sorted, so that the same folder gives the same report.
        listing.entries.sort_by(|a, b| a.0.cmp(&b.0));
        for (name, _) in &listing.entries {
            let shown = name.to_string_lossy();
            let path = if folder.is_empty() { shown.into() } else { format!("{folder}/{shown}") };
            n_entries += 1;
            if n_entries > MAX_ENTRIES {
                return report.remark(path, "further files are not surveyed, but will be indexed");
            }
            let Ok(meta) = listing.meta_of(name) else { continue };
            if look(&opened, &path, meta, max_bytes, report) {
                folders.push(path);
            }
        }
    }
}

/// Counts one entry, and reads it if it is a note; returns true for a folder to descend into.
fn look(root: &Root, path: &str, meta: Meta, max_bytes: u64, report: &mut Report) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let is_left_out = name.starts_with('.') || BUILT_IN.contains(&name);
    let extension = config::kinds::extension_of(name);
    match meta.kind {
        Kind::Link => report.count("symlinks, not followed"),
        _ if is_left_out => report.count("hidden, not read"),
        Kind::Folder => return true,
        Kind::Other => {}
        Kind::File if !matches!(extension.as_str(), "md" | "markdown") => {
            let kind = if extension.is_empty() { "-" } else { &extension };
            report.count(&format!("other files: {kind}"));
        }
        Kind::File if meta.n_bytes > max_bytes => {
            let what = format!("has {} bytes, too large to be indexed", meta.n_bytes);
            report.trouble(path, what, "raise `watch.max_file_bytes` in `kg.yaml`");
        }
        Kind::File => read(root, path, max_bytes, report),
    }
    false
}

fn read(root: &Root, at: &str, max_bytes: u64, report: &mut Report) {
    let bytes = match root.read(at, max_bytes) {
        Ok(Some(content)) => content.bytes,
        // It changed since it was listed.
        Ok(None) => return,
        Err(error) => return report.trouble(at, error.to_string(), "look at its permissions"),
    };
    let text = match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => {
            report.remark(at, "is not UTF-8; the daemon guesses its encoding");
            String::from_utf8_lossy(error.as_bytes()).into_owned()
        }
    };
    let note = parse(&text);
    report.count("notes");
    for link in &note.links {
        report.count(match link.kind {
            LinkKind::Wiki => "links: [[…]]",
            LinkKind::Embed => "links: embeds",
            LinkKind::Markdown => "links: Markdown",
            LinkKind::Image => "links: images",
            LinkKind::Property => "links: in properties",
        });
    }
    report.add("observations", note.observations.len() as u64);
    let typed = note.relations.iter().filter(|it| it.kind == RelationKind::Typed).count();
    report.add("typed relations", typed as u64);
    report.add("tags", note.tags.len() as u64);
    report.add("aliases", note.aliases.len() as u64);
    if note.is_too_deep {
        report.remark(at, "is nested too deeply: only its front matter is read");
    }
    match &note.frontmatter {
        Some(front) if front.warning.is_some() => {
            report.count("front matter that is broken");
            let why = front.warning.clone().unwrap_or_default();
            report.remark(at, format!("{why}; the text after it is indexed"));
        }
        Some(_) => report.count("front matter that is read"),
        None => {}
    }
}

/// Names and folders.
pub type Projects = Vec<(String, PathBuf)>;

/// Returns the projects in a `config.json` of basic-memory, and its default project.
///
/// # Errors
/// When it cannot be read, or is not such a file.
pub fn basic_memory_projects(path: &Path) -> Result<(Projects, Option<String>), InterchangeError> {
    let shown = path.display().to_string();
    let bytes = input::read(path, MAX_CONFIG_BYTES)
        .map_err(|source| InterchangeError::Io { path: shown.clone(), source })?;
    let wrong = |why: String| InterchangeError::NotThat {
        path: shown.clone(),
        wanted: "configuration of basic-memory",
        why,
        hint: "give its `config.json`, or the folder of a project".to_string(),
    };
    let config: Value = serde_json::from_slice(&bytes).map_err(|error| wrong(error.to_string()))?;
    let projects = config.get("projects").and_then(Value::as_object);
    let projects = projects.ok_or_else(|| wrong("it has no `projects`".to_string()))?;
    let home = std::env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
    let folder = |value: &Value| {
        let path = value.as_str().or_else(|| value.get("path")?.as_str())?;
        Some(match path.strip_prefix("~/") {
            Some(rest) => home.join(rest),
            None => PathBuf::from(path),
        })
    };
    let found = projects.iter().filter_map(|(name, value)| Some((name.clone(), folder(value)?)));
    let default = config.get("default_project").and_then(Value::as_str).map(str::to_string);
    Ok((found.collect(), default))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_vault_is_counted_and_left_as_it_is() {
        let dir = tempfile::tempdir().expect("a folder");
        let at = |path: &str, text: &[u8]| {
            let path = dir.path().join(path);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
            std::fs::write(path, text).expect("written");
        };
        at("a.md", b"---\ntags: [x]\nup: \"[[b]]\"\n---\n- [fact] one\n- knows [[b]]\n![[p.png]] [t](c.md)\n");
        at("sub/b.md", b"---\ntags: [x\n---\ntext\n");
        at("latin.md", b"caf\xe9\n");
        at(".obsidian/app.json", b"{}");
        at("p.png", b"");
        at("large.md", &[b'x'; 2_000]);
        std::os::unix::fs::symlink(dir.path(), dir.path().join("loop")).expect("a link");
        let mut report = Report::default();
        survey(dir.path(), 1_000, &mut report);
        expect_test::expect![[r#"
            : 
            into 
                      0  aliases
                      1  front matter that is broken
                      1  front matter that is read
                      1  hidden, not read
                      1  links: Markdown
                      1  links: [[…]]
                      1  links: embeds
                      1  links: in properties
                      3  notes
                      1  observations
                      1  other files: png
                      1  symlinks, not followed
                      1  tags
                      1  typed relations
            remarks:
              latin.md: is not UTF-8; the daemon guesses its encoding
              sub/b.md: front matter is not YAML: line 2: unclosed bracket '['; the text after it is indexed
            not read:
              large.md: has 2000 bytes, too large to be indexed
                hint: raise `watch.max_file_bytes` in `kg.yaml`
        "#]]
        .assert_eq(&report.text());
    }

    #[test]
    fn projects_of_basic_memory_are_read_in_both_forms() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("config.json");
        let text = r#"{"projects": {"main": "/a", "work": {"path": "/b", "mode": "local"}, "odd": 1},
            "default_project": "main"}"#;
        std::fs::write(&path, text).expect("written");
        let (projects, default) = basic_memory_projects(&path).expect("read");
        let expected =
            [("main", "/a"), ("work", "/b")].map(|(name, path)| (name.to_string(), path.into()));
        assert_eq!((projects.as_slice(), default.as_deref()), (expected.as_slice(), Some("main")));
        std::fs::write(&path, "{}").expect("written");
        assert!(basic_memory_projects(&path).is_err());
    }
}
