//! Files: selects the files that `kb_ingest` reads.
//!
//! In: a file, a folder or a pattern inside the project. Out: paths; why one is not read.
//! Invariants: nothing outside the project is found, no link is followed; the deny list is checked
//! first.

use std::path::Path;

use config::formats::{self, Source};
use confine::Kind;
use globset::GlobBuilder;
use proto::error::{Code, ErrorView};
use proto::tool::kb::KbIngest;

use super::{folder, invalid};
use crate::project::Project;
use engine::watch::{SkipReason, Verdict};

/// Most files per call.
const MAX_FILES: usize = 2_000;

/// Text formats that are read besides prose (S2), by extension. A separate allowlist, because
/// `code` and `config` in `watch.extensions` also cover files that often contain passwords, such as
/// `.properties`.
const EXTENSIONS: &str = "\
    py js ts jsx tsx mjs go rs java kt kts scala c h cc cpp hpp cs swift rb php pl lua r jl ex exs erl hs ml clj \
    dart vue svelte sql graphql proto html css scss yaml yml toml json xml ini cfg conf csv sh bash zsh fish ps1 tf";

/// Files without an extension that are read.
const NAMES: [&str; 10] = [
    "Dockerfile",
    "Makefile",
    "README",
    "LICENSE",
    "CHANGELOG",
    "CONTRIBUTING",
    "Justfile",
    "Jenkinsfile",
    "Vagrantfile",
    "Procfile",
];

/// Returns the matching files, by path.
pub(super) fn find(project: &Project, request: &KbIngest) -> Result<Vec<String>, ErrorView> {
    let is_deep = request.recursive != Some(false);
    let relative = super::super::ingest::inside(project, request.path.trim())?;
    let found = super::super::ingest::found(project, &relative)?;
    let mut files = Vec::new();
    if relative.contains(['*', '?', '[', '{']) && found.is_none() {
        let glob = GlobBuilder::new(&relative).literal_separator(true).build();
        let glob = glob.map_err(|why| {
            invalid(
                format!("`{relative}` is not a pattern: {}", why.kind()),
                "use * ** ? [a-z] {a,b}",
            )
        })?;
        let glob = glob.compile_matcher();
        walk(project, "", true, &mut |path| {
            if glob.is_match(&path) {
                files.push(path);
            }
        });
    } else if found.is_some_and(|meta| meta.is_folder()) {
        walk(project, &relative, is_deep, &mut |path| files.push(path));
    } else if found.is_some() {
        files.push(relative);
    }
    if files.is_empty() {
        return Err(ErrorView::hinted(
            Code::NotFound,
            format!("no file is meant by `{}`", request.path.trim()),
            "paths are relative to the project's folder",
        ));
    }
    if files.len() > MAX_FILES {
        let message = format!("`{}` means {} files", request.path.trim(), files.len());
        return Err(invalid(message, &format!("name at most {MAX_FILES} at once")));
    }
    files.sort();
    Ok(files)
}

/// Visits the files below a folder, except in folders that are not watched; links are not followed.
fn walk(project: &Project, top: &str, is_deep: bool, visit: &mut dyn FnMut(String)) {
    super::super::ingest::walk(project, top, &mut |path, kind| match kind {
        Kind::Folder => {
            let verdict = project.watcher().verdict(Path::new(&path), true);
            // Entries are not a source of entries.
            is_deep && verdict == Verdict::Descend && path != folder(project)
        }
        Kind::File => {
            visit(path);
            false
        }
        Kind::Link | Kind::Other => false,
    });
}

/// Returns why a file is not read, or `None`; the deny list comes first, whatever its extension.
pub(super) fn objection(project: &Project, path: &str) -> Option<String> {
    let verdict = project.watcher().verdict(Path::new(path), false);
    let skipped = match verdict {
        Verdict::Skip(SkipReason::Extension | SkipReason::TooLarge) => None,
        Verdict::Skip(reason) => Some(reason.as_str().to_string()),
        _ => None,
    };
    if skipped.is_some() {
        return skipped;
    }
    let name = path.rsplit('/').next().unwrap_or(path);
    let is_read = match name.rsplit_once('.') {
        Some((_, extension)) => is_text(&extension.to_lowercase()),
        None => NAMES.contains(&name),
    };
    (!is_read).then(|| "not a format of text that is read".to_string())
}

fn is_text(extension: &str) -> bool {
    let is_prose = formats::of(extension).is_some_and(|it| it.source == Source::Prose);
    is_prose || EXTENSIONS.split(' ').any(|it| it == extension)
}

#[cfg(test)]
mod tests {
    use super::is_text;

    #[test]
    fn prose_code_and_plain_settings_are_text_and_stores_of_passwords_are_not() {
        for extension in ["md", "txt", "rst", "org", "adoc", "py", "tf", "toml", "csv", "html"] {
            assert!(is_text(extension), "{extension}");
        }
        for extension in ["properties", "config", "pdf", "docx", "ipynb", "eml", "gradle", ""] {
            assert!(!is_text(extension), "{extension}");
        }
    }
}
