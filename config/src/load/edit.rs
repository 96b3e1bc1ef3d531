//! Edit: changes one value of the user's own settings file, as a person would.
//!
//! In: the file, a key such as `http.listen`, a text. Out: the file with that value, every other byte unchanged.
//! Invariants: the result is parsed before it is written, and sets exactly what the file set before plus this value;
//! the file is replaced as a whole or not at all; of a link, the target is replaced.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{LoadError, tree};
use crate::place::{create_private_dir, replace_file};

/// Why a value was not set; the file is unchanged.
#[derive(Debug, thiserror::Error)]
pub enum EditError {
    /// The file is not a valid settings file.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// Its layout is not understood.
    #[error(
        "`{}` cannot be changed without touching the rest of it\nhint: set `{key}: {value}` there by hand",
        path.display()
    )]
    Layout {
        /// The file.
        path: PathBuf,
        /// The key.
        key: String,
        /// Its value, as YAML.
        value: String,
    },
    /// The file cannot be read or replaced.
    #[error("cannot write `{}`: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// Sets `section.key` to a text; creates the file if it is missing.
///
/// # Errors
/// [`EditError`].
pub fn set_text(path: &Path, section: &str, key: &str, value: &str) -> Result<(), EditError> {
    let io_error = |source| EditError::Io { path: path.to_path_buf(), source };
    let before = match fs::read_to_string(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
        read => read.map_err(io_error)?,
    };
    let quoted = Value::from(value).to_string();
    let after = edited(&before, section, key, &quoted);
    let mut wanted = values(path, &before)?;
    wanted.insert(format!("{section}.{key}"), value.into());
    // The edit is textual; parsing the result shows whether it hit anything else.
    if values(path, &after).ok() != Some(wanted) {
        let (path, key) = (path.to_path_buf(), format!("{section}.{key}"));
        return Err(EditError::Layout { path, key, value: quoted });
    }
    replace(path, &after).map_err(io_error)
}

/// Returns what a text sets. An empty section sets nothing.
fn values(path: &Path, text: &str) -> Result<BTreeMap<String, Value>, LoadError> {
    let is_empty = |value: &Value| value.as_object().is_some_and(|it| it.is_empty());
    let set = tree::parse(path, text)?.into_iter().filter(|it| !is_empty(&it.value));
    Ok(set.map(|it| (it.key, it.value)).collect())
}

fn replace(path: &Path, text: &str) -> io::Result<()> {
    // A link is kept: the file behind it is replaced.
    let path = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    let folder = path.parent().unwrap_or(Path::new("."));
    create_private_dir(folder).map_err(|error| io::Error::other(error.to_string()))?;
    let mode = path.metadata().map_or(0o600, |it| it.permissions().mode());
    replace_file(&path, mode, text.as_bytes())
}

/// Returns the text with the value in its place: at the key, else in its section, else in a new section at the end.
fn edited(text: &str, section: &str, key: &str, value: &str) -> String {
    let mut lines: Vec<String> = text.split_inclusive('\n').map(str::to_string).collect();
    let entry = |indent: &str| format!("{indent}{key}: {value}\n");
    let head = format!("{section}:");
    let Some(at) = lines.iter().position(|line| line.starts_with(&head)) else {
        if let Some(last) = lines.last_mut().filter(|it| !it.ends_with('\n')) {
            last.push('\n');
        }
        lines.push(format!("{head}\n{}", entry("  ")));
        return lines.concat();
    };
    let (_, rest) = lines[at].split_at(head.len());
    if rest.trim_start().starts_with('{') {
        lines[at] = format!("{head}{}", in_flow(rest, key, value));
        return lines.concat();
    }
    let is_outside = |line: &String| !line.starts_with([' ', '\t', '#', '\n', '\r']);
    // Lines of the section, up to the next one that starts in the first column.
    let end = lines.iter().skip(at + 1).position(is_outside).map_or(lines.len(), |n| at + 1 + n);
    let mut inside = (at + 1..end)
        .filter(|n| !matches!(lines[*n].trim(), it if it.is_empty() || it.starts_with('#')));
    let indent_of =
        |line: &str| line.get(..line.len() - line.trim_start().len()).unwrap_or("").to_string();
    let indent = inside.clone().next().map_or("  ".to_string(), |n| indent_of(&lines[n]));
    let own = format!("{indent}{key}:");
    match inside.find(|n| lines[*n].starts_with(&own)) {
        Some(n) => {
            // A comment behind the old value stays, with the blanks before it.
            let comment = lines[n].find(" #").map(|at| {
                let value_end = lines[n][..at].trim_end().len();
                lines[n][value_end..].trim_end().to_string()
            });
            lines[n] = format!("{own} {value}{}\n", comment.unwrap_or_default());
        }
        None => {
            if !lines[at].ends_with('\n') {
                lines[at].push('\n');
            }
            lines.insert(at + 1, entry(&indent));
        }
    }
    lines.concat()
}

/// Like [`edited`], for `{key: value, …}` on one line.
fn in_flow(map: &str, key: &str, value: &str) -> String {
    let own = format!("{key}:");
    // Not a part of another key or of a value.
    let starts_key = |at: usize| map[..at].trim_end().ends_with(['{', ',']);
    let found = map.match_indices(&own).map(|(at, _)| at).find(|at| starts_key(*at));
    let Some(at) = found else {
        let (open, rest) = map.split_once('{').unwrap_or((map, "}"));
        let comma = if rest.trim_start().starts_with('}') { "" } else { ", " };
        return format!("{open}{{{key}: {value}{comma}{rest}");
    };
    let old = &map[at + own.len()..];
    let trimmed = old.trim_start();
    let end = match trimmed.chars().next() {
        Some(quote @ ('"' | '\'')) => trimmed[1..].find(quote).map_or(trimmed.len(), |n| n + 2),
        _ => trimmed.find([',', '}']).unwrap_or(trimmed.len()),
    };
    format!("{}{own} {value}{}", &map[..at], &trimmed[end..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(before: &str, after: &str) {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("config.yaml");
        fs::write(&path, before).expect("a file");
        set_text(&path, "http", "listen", "127.0.0.1:8765").expect("set");
        assert_eq!(fs::read_to_string(&path).expect("a file"), after);
        set_text(&path, "http", "listen", "127.0.0.1:8765").expect("set again");
        assert_eq!(fs::read_to_string(&path).expect("a file"), after);
    }

    #[test]
    fn the_rest_of_the_file_stays_as_it_is() {
        check("", "http:\n  listen: \"127.0.0.1:8765\"\n");
        check("# mine\nbelt: {}", "# mine\nbelt: {}\nhttp:\n  listen: \"127.0.0.1:8765\"\n");
        check(
            "http:   # doors\n    # which\n    tools: [core]\n    listen: 'x:1'  # here\nbelt: {}\n",
            "http:   # doors\n    # which\n    tools: [core]\n    listen: \"127.0.0.1:8765\"  # here\nbelt: {}\n",
        );
        check("http:\n  tools: [core]\n", "http:\n  listen: \"127.0.0.1:8765\"\n  tools: [core]\n");
        check("http:\n", "http:\n  listen: \"127.0.0.1:8765\"\n");
        check(
            "http: {tools: [core], listen: \"0:1, {\"} # on\n",
            "http: {tools: [core], listen: \"127.0.0.1:8765\"} # on\n",
        );
        check(
            "http: {listen: 0, token: none}\n",
            "http: {listen: \"127.0.0.1:8765\", token: none}\n",
        );
        check("http: {tools: [core]}\n", "http: {listen: \"127.0.0.1:8765\", tools: [core]}\n");
        check("http: {}\n", "http: {listen: \"127.0.0.1:8765\"}\n");
    }

    #[test]
    fn what_is_laid_out_otherwise_is_left_alone() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("config.yaml");
        for odd in [
            "http: {\n  tools: [core]}\n",
            "{http: {tools: [core]}}\n",
            "\"http\": {tools: [core]}\n",
        ] {
            fs::write(&path, odd).expect("a file");
            let refused = set_text(&path, "http", "listen", "0:1");
            if let Err(error) = refused {
                assert!(error.to_string().contains("by hand"), "{error}");
                assert_eq!(fs::read_to_string(&path).expect("a file"), odd);
            }
        }
        fs::write(&path, "http: [\n").expect("a file");
        assert!(matches!(set_text(&path, "http", "listen", "x"), Err(EditError::Load(_))));
    }
}
