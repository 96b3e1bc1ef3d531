//! Census: a quick count of what a folder holds, before it is registered.
//!
//! In: a folder and its settings. Out: files by type, and entries that would be left out, by
//! reason.
//! Invariants: follows no links; stops counting soon after the limit, so it ends even at `/`.
//! Not here: `.gitignore` and `.kgignore`, which the daemon applies; its own counts are in
//! `status`.

use std::collections::BTreeMap;
use std::path::Path;

use ::config::Settings;
use ::config::limits::MANY_FILES;
use confine::{Meta, Root};

/// Folders that are never read, as in the daemon's watcher.
const BUILT_IN: &[&str] = &[".git", ".obsidian", ".trash", "node_modules", "target", ".venv"];

/// Most entries visited. A folder with more needs no exact count.
const MAX_ENTRIES: usize = 4 * MANY_FILES;

/// What a folder contains.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Census {
    /// Files that would be read, by extension.
    pub(crate) formats: BTreeMap<String, u64>,
    /// Entries that would be left out, by reason.
    pub(crate) skipped: BTreeMap<String, u64>,
    /// Entries seen, files and folders.
    pub(crate) entries: usize,
    /// Whether counting stopped at the limit.
    pub(crate) cut: bool,
}

impl Census {
    /// Counts everything below `root`.
    pub(crate) fn take(root: &Path, settings: &Settings) -> Self {
        let mut census = Census::default();
        let opened = Root::open(root).ok();
        let mut folders = vec![String::new()];
        while let Some(folder) = folders.pop() {
            let listing = opened.as_ref().and_then(|root| root.list(&folder).ok());
            let Some(listing) = listing else {
                census.skip("folder that cannot be read");
                continue;
            };
            for (name, _) in &listing.entries {
                if census.entries >= MAX_ENTRIES {
                    census.cut = true;
                    return census;
                }
                census.entries += 1;
                let Ok(meta) = listing.meta_of(name) else { continue };
                let name = name.to_string_lossy();
                if census.count(&name, &meta, settings) {
                    let path = format!("{folder}/{name}");
                    folders.push(path.trim_start_matches('/').to_string());
                }
            }
        }
        census
    }

    /// Returns the number of files that would be read.
    pub(crate) fn files(&self) -> u64 {
        self.formats.values().sum()
    }

    /// Counts one entry; returns true for a folder to descend into.
    fn count(&mut self, name: &str, meta: &Meta, settings: &Settings) -> bool {
        if name.starts_with('.') && !settings.watch.hidden {
            self.skip("hidden");
        } else if meta.is_link() {
            self.skip("link");
        } else if meta.is_folder() {
            let built_in = BUILT_IN.contains(&name);
            if built_in {
                self.skip("folder of a tool");
            }
            return !built_in;
        } else if meta.is_file() {
            self.count_file(name, meta, settings);
        }
        false
    }

    fn count_file(&mut self, name: &str, meta: &Meta, settings: &Settings) {
        let extension = config::kinds::extension_of(name);
        let limit = settings.watch.max_bytes_of(&extension);
        if !config::kinds::extensions_in(&settings.watch.extensions).contains(&extension) {
            self.skip("other type");
        } else if meta.n_bytes > limit {
            self.skip("too large");
        } else {
            *self.formats.entry(extension).or_default() += 1;
        }
    }

    fn skip(&mut self, reason: &str) {
        *self.skipped.entry(reason.to_string()).or_default() += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_by_type_and_reason() {
        let scratch = tempfile::tempdir().expect("a scratch folder");
        let at = |path: &str| scratch.path().join(path);
        for folder in ["deep/er", "node_modules/x", ".hidden"] {
            std::fs::create_dir_all(at(folder)).expect("made");
        }
        for file in [
            "a.md",
            "deep/b.MD",
            "deep/er/c.txt",
            "d.png",
            "none",
            "node_modules/x/e.md",
            ".hidden/f.md",
        ] {
            std::fs::write(at(file), "text").expect("written");
        }
        std::fs::write(at("large.md"), "x".repeat(100)).expect("written");
        std::os::unix::fs::symlink(scratch.path(), at("loop")).expect("a link");
        let mut settings = Settings::default();
        settings.watch.max_file_bytes = 50;
        let census = Census::take(scratch.path(), &settings);
        expect_test::expect![[r#"
            {"md": 2, "txt": 1}
            {"folder of a tool": 1, "hidden": 1, "link": 1, "other type": 2, "too large": 1}
            3
        "#]]
        .assert_eq(&format!("{:?}\n{:?}\n{}\n", census.formats, census.skipped, census.files()));
    }
}
