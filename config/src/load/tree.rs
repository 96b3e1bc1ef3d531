//! Tree: parses a settings file into a flat list of assignments, each with its line.
//!
//! In: a path. Out: what the file sets, in its order; nothing when it is absent or empty.
//! Invariants: no include, link or tag of YAML is followed; a folder's `kg.yaml` must be a file in that folder, and the
//! text of a file never appears in an error.

use std::fmt;
use std::io::ErrorKind;
use std::path::Path;

use confine::{Error, Root};
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use serde_saphyr::Spanned;

use super::{Assignment, LoadError, MAX_FILE_BYTES, Origin};

/// Deepest nesting of a settings file; ours has three levels.
const MAX_DEPTH: usize = 8;

/// A YAML value whose maps remember the lines of their keys.
enum Tree {
    Map(Vec<(Spanned<String>, Tree)>),
    Leaf(Value),
}

/// Reads the user's own settings file.
///
/// # Errors
/// [`LoadError::Unreadable`] or [`LoadError::NotYaml`].
pub(super) fn read(path: &Path) -> Result<Vec<Assignment>, LoadError> {
    match path.canonicalize() {
        // The user's own file may be a link to anywhere.
        Ok(real) => {
            let folder = real.parent().unwrap_or(&real);
            let name = real.file_name().unwrap_or_default().to_string_lossy();
            read_as(path, Root::open(folder), &name)
        }
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(unreadable(path, error.to_string())),
    }
}

/// Reads the settings file of a folder, which must be in that folder.
///
/// # Errors
/// As [`read`].
pub(super) fn read_inside(root: &Path, name: &str) -> Result<Vec<Assignment>, LoadError> {
    read_as(&root.join(name), Root::open_canonical(root), name)
}

fn read_as(
    shown: &Path,
    folder: std::io::Result<Root>,
    name: &str,
) -> Result<Vec<Assignment>, LoadError> {
    let read = folder.map_err(Error::from).and_then(|folder| folder.read(name, MAX_FILE_BYTES));
    let file = match read {
        Ok(Some(file)) => file,
        Ok(None) => return Err(unreadable(shown, "it is not a file".to_string())),
        Err(error) if error.is_missing() => return Ok(Vec::new()),
        Err(error) => return Err(unreadable(shown, error.to_string())),
    };
    if file.is_cut {
        return Err(unreadable(shown, format!("it is longer than {MAX_FILE_BYTES} bytes")));
    }
    let text = String::from_utf8(file.bytes)
        .map_err(|_| unreadable(shown, "it is not UTF-8".to_string()))?;
    parse(shown, &text)
}

fn unreadable(path: &Path, why: String) -> LoadError {
    LoadError::Unreadable { path: path.to_path_buf(), why }
}

pub(super) fn parse(path: &Path, text: &str) -> Result<Vec<Assignment>, LoadError> {
    let is_blank =
        |line: &str| matches!(line.trim_start(), "" | "---") || line.trim_start().starts_with('#');
    if text.trim_start_matches('\u{feff}').lines().all(is_blank) {
        return Ok(Vec::new());
    }
    let not_yaml = |line, why| LoadError::NotYaml { path: path.to_path_buf(), line, why };
    let parsed: Tree = serde_saphyr::from_str(text).map_err(|error| {
        let line = error.location().map_or(0, |at| at.line());
        // Only the parser's own words: its position is in `line`, and its advice is for programmers.
        let message = error.without_snippet().to_string();
        let words = message
            .lines()
            .next()
            .unwrap_or_default()
            .split(" at line ")
            .next()
            .unwrap_or_default();
        not_yaml(line, words.split(", set ").next().unwrap_or_default().to_string())
    })?;
    let Tree::Map(entries) = parsed else {
        return Err(not_yaml(1, "a map of sections was expected".to_string()));
    };
    let mut assignments = Vec::new();
    flatten(path, "", entries, &mut assignments);
    Ok(assignments)
}

fn flatten(
    path: &Path,
    prefix: &str,
    entries: Vec<(Spanned<String>, Tree)>,
    found: &mut Vec<Assignment>,
) {
    for (name, tree) in entries {
        let key = if prefix.is_empty() { name.value } else { format!("{prefix}.{}", name.value) };
        match tree {
            // Deeper than any known key: an unknown key, so there is no need to recurse.
            Tree::Map(inner) if !inner.is_empty() && key.split('.').count() < MAX_DEPTH => {
                flatten(path, &key, inner, found);
            }
            // `watch:` with all its keys commented out sets nothing.
            Tree::Leaf(Value::Null) if prefix.is_empty() => {}
            Tree::Map(_) => found.push(assignment(
                path,
                name.referenced.line(),
                key,
                Value::Object(Default::default()),
            )),
            Tree::Leaf(value) => found.push(assignment(path, name.referenced.line(), key, value)),
        }
    }
}

fn assignment(path: &Path, line: u64, key: String, value: Value) -> Assignment {
    Assignment { key, value, origin: Origin::File { path: path.to_path_buf(), line } }
}

impl<'de> Deserialize<'de> for Tree {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TreeVisitor)
    }
}

struct TreeVisitor;

/// Visits a scalar by making it a leaf.
macro_rules! leaf {
    ($($visit:ident: $type:ty),*) => {
        $(fn $visit<E>(self, value: $type) -> Result<Tree, E> {
            Ok(Tree::Leaf(Value::from(value)))
        })*
    };
}

impl<'de> Visitor<'de> for TreeVisitor {
    type Value = Tree;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map, a list or a value")
    }

    leaf!(visit_bool: bool, visit_i64: i64, visit_u64: u64, visit_f64: f64);
    leaf!(visit_str: &str, visit_string: String);

    fn visit_unit<E>(self) -> Result<Tree, E> {
        Ok(Tree::Leaf(Value::Null))
    }

    fn visit_none<E>(self) -> Result<Tree, E> {
        Ok(Tree::Leaf(Value::Null))
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Tree, D::Error> {
        Tree::deserialize(deserializer)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Tree, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = list.next_element::<Value>()? {
            items.push(item);
        }
        Ok(Tree::Leaf(Value::Array(items)))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Tree, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = map.next_entry::<Spanned<String>, Tree>()? {
            entries.push(entry);
        }
        Ok(Tree::Map(entries))
    }
}
