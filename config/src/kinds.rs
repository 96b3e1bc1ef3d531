//! Kinds: classifies files by their names.
//!
//! In: the extensions that a user lists, names of files. Out: extensions, with groups expanded. Code and configuration
//! are not read by default: where there are some, they outnumber the documents, take most of the time of the first
//! index, and answer with identifiers when people asked for words. `code` and `config` in `watch.extensions` add them.

use crate::formats;

/// Folders that never contain documents of a project; `.kgignore` may bring back all but `.git`.
pub const TOOL_FOLDERS: [&str; 6] =
    [".git", ".obsidian", ".trash", "node_modules", "target", ".venv"];

/// The extensions that `code` in `watch.extensions` stands for.
pub const CODE: &[&str] = &[
    "py",
    "pyi",
    "js",
    "mjs",
    "cjs",
    "jsx",
    "ts",
    "tsx",
    "vue",
    "svelte",
    "go",
    "rs",
    "java",
    "kt",
    "kts",
    "scala",
    "groovy",
    "gradle",
    "c",
    "h",
    "cc",
    "cpp",
    "cxx",
    "hpp",
    "hh",
    "cs",
    "fs",
    "swift",
    "rb",
    "php",
    "pl",
    "pm",
    "lua",
    "r",
    "jl",
    "ex",
    "exs",
    "erl",
    "hs",
    "ml",
    "clj",
    "dart",
    "zig",
    "nim",
    "el",
    "vim",
    "sql",
    "proto",
    "graphql",
    "css",
    "scss",
    "tf",
    "nix",
    "cmake",
    "sh",
    "bash",
    "zsh",
    "fish",
    "ps1",
    "dockerfile",
    "makefile",
    "mk",
];

/// The extensions that `config` in `watch.extensions` stands for.
pub const CONFIG: &[&str] =
    &["yaml", "yml", "toml", "json", "jsonc", "ini", "cfg", "conf", "config", "xml", "properties"];

/// Names without extension, lowercase, and the extension under which they are read.
const KNOWN_NAMES: &[(&str, &str)] = &[
    ("readme", "txt"),
    ("license", "txt"),
    ("licence", "txt"),
    ("copying", "txt"),
    ("notice", "txt"),
    ("authors", "txt"),
    ("contributors", "txt"),
    ("contributing", "txt"),
    ("maintainers", "txt"),
    ("changelog", "txt"),
    ("changes", "txt"),
    ("history", "txt"),
    ("news", "txt"),
    ("install", "txt"),
    ("todo", "txt"),
    ("dockerfile", "dockerfile"),
    ("containerfile", "dockerfile"),
    ("makefile", "makefile"),
    ("gnumakefile", "makefile"),
    ("justfile", "makefile"),
    ("jenkinsfile", "groovy"),
    ("vagrantfile", "rb"),
    ("rakefile", "rb"),
    ("gemfile", "rb"),
    ("procfile", "conf"),
];

/// Returns the extension of a file name, lowercase, without the dot; for a known name without one (`README`,
/// `Makefile`) its entry in the table; else empty.
pub fn extension_of(name: &str) -> String {
    match name.rfind('.') {
        Some(dot) if dot > 0 => name.get(dot + 1..).unwrap_or("").to_ascii_lowercase(),
        // A leading dot hides a file: `.profile` has no extension.
        Some(_) => String::new(),
        None => {
            let known = KNOWN_NAMES.iter().find(|(known, _)| name.eq_ignore_ascii_case(known));
            known.map_or(String::new(), |(_, extension)| extension.to_string())
        }
    }
}

/// Returns the extensions that are read: those of documents, changed by each entry of a list in turn. `org` adds one,
/// `-org` takes one out, `-*` takes out all, and a group stands for its extensions.
pub fn extensions_in(listed: &[String]) -> Vec<String> {
    let mut all: Vec<String> = formats::default_extensions().map(String::from).collect();
    for entry in listed {
        let entry = entry.trim().to_ascii_lowercase();
        let (is_out, name) =
            entry.strip_prefix('-').map_or((false, entry.as_str()), |it| (true, it));
        let name = name.trim_start_matches('.');
        let named = match name {
            "code" => CODE,
            "config" => CONFIG,
            _ => &[name],
        };
        // Taken out first: an extension that is listed twice stands once.
        let is_every = is_out && name == "*";
        all.retain(|it| !is_every && !named.contains(&it.as_str()));
        if !is_out {
            all.extend(named.iter().map(|it| it.to_string()));
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::{FORMATS, Format};

    #[test]
    fn names_and_groups_lead_to_extensions() {
        let rows = [
            ("a.MD", "md"),
            ("README", "txt"),
            ("Makefile", "makefile"),
            ("README.rst", "rst"),
            (".env", ""),
            (".gitignore", ""),
            ("notes", ""),
        ];
        for (name, extension) in rows {
            assert_eq!(extension_of(name), extension, "{name}");
        }
    }

    #[test]
    fn a_list_adds_to_the_extensions_of_documents_unless_it_says_otherwise() {
        let rows: [(&[&str], &str, &str); 7] = [
            // The list, some extensions that are read, some that are not.
            (&[], "md pdf", "rs tex"),
            (&[".Tex", "code"], "md pdf tex rs", "code yaml"),
            (&["-pdf", "-.DOCX"], "md", "pdf docx -pdf"),
            (&["code", "-rs"], "md py", "rs"),
            (&["config", "-config"], "md", "yaml"),
            (&["-*", "md", "rs"], "md rs", "pdf txt *"),
            (&["md", "-*"], "", "md pdf"),
        ];
        for (listed, read, not_read) in rows {
            let all = extensions_in(&listed.iter().map(|it| it.to_string()).collect::<Vec<_>>());
            let has = |it: &str| all.iter().filter(|one| *one == it).count();
            assert!(read.split_whitespace().all(|it| has(it) == 1), "{listed:?}: {all:?}");
            assert!(not_read.split_whitespace().all(|it| has(it) == 0), "{listed:?}: {all:?}");
        }
    }

    #[test]
    fn no_extension_is_of_two_kinds() {
        let documents = FORMATS.iter().flat_map(Format::all_extensions);
        let mut all: Vec<&str> = documents.chain([CODE, CONFIG].concat()).collect();
        all.sort_unstable();
        let n_all = all.len();
        all.dedup();
        assert_eq!(all.len(), n_all);
        assert!(
            all.iter().all(|it| it.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit()))
        );
    }
}
