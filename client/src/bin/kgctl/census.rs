//! Census: whether a folder holds so many files that another one may be meant, before it is registered.
//!
//! In: a folder and its settings. Out: yes or no.
//! Invariants: follows no links; ends soon after the limit, even at `/`.

use std::path::Path;

use ::config::Settings;
use ::config::kinds::{TOOL_FOLDERS, extension_of, extensions_in};
use confine::Root;

/// Entries visited for each file that may be too many. A folder with more needs no exact count.
const ENTRIES_A_FILE: usize = 4;

/// Returns whether there are more than `most` files of extensions that are read.
pub(crate) fn holds_more_than(most: usize, root: &Path, settings: &Settings) -> bool {
    let Ok(root) = Root::open(root) else { return false };
    let extensions = extensions_in(&settings.watch.extensions);
    let (mut n_files, mut n_entries) = (0, 0);
    let mut folders = vec![String::new()];
    while let Some(folder) = folders.pop() {
        let Ok(listing) = root.list(&folder) else { continue };
        for (name, _) in &listing.entries {
            n_entries += 1;
            if n_files > most || n_entries > most * ENTRIES_A_FILE {
                return true;
            }
            let Ok(meta) = listing.meta_of(name) else { continue };
            let name = name.to_string_lossy();
            if name.starts_with('.') && !settings.watch.hidden {
                continue;
            } else if meta.is_folder() && !TOOL_FOLDERS.contains(&&*name) {
                folders.push(format!("{folder}/{name}").trim_start_matches('/').to_string());
            } else if meta.is_file() && extensions.contains(&extension_of(&name)) {
                n_files += 1;
            }
        }
    }
    n_files > most
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_may_be_read_are_counted_to_the_limit() {
        let scratch = tempfile::tempdir().expect("a scratch folder");
        let at = |path: &str| scratch.path().join(path);
        for folder in ["deep/er", "node_modules/x", ".hidden"] {
            std::fs::create_dir_all(at(folder)).expect("made");
        }
        for file in
            ["a.md", "deep/b.MD", "deep/er/c.txt", "d.png", "node_modules/x/e.md", ".hidden/f.md"]
        {
            std::fs::write(at(file), "text").expect("written");
        }
        std::os::unix::fs::symlink(scratch.path(), at("loop")).expect("a link");
        let settings = Settings::default();
        let is_more = |most| holds_more_than(most, scratch.path(), &settings);
        assert!(is_more(2) && !is_more(3));
        for name in 0..20 {
            std::fs::write(at(&format!("{name}.png")), "").expect("written");
        }
        assert!(is_more(3), "so many entries need no exact count");
    }
}
