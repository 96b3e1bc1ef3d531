//! Condition: the documents that a tag or a path denotes.
//!
//! In: a tag or path as typed. Out: the condition on documents as SQL; if nothing matches, the
//! nearest existing ones.
//! `docs/` means paths with that prefix, case-sensitively if there are any, else in any case. In
//! `docs/*.md`, `*` and `?` stay within a folder and `**` does not; a pattern without a folder
//! matches names in any folder. A tag includes those below it, as in Obsidian: documents with
//! `baking/bread` also have `baking`.
//! Not here: joining conditions (`filter.rs`, `demand.rs`).

use std::collections::BTreeSet;

use super::demand::Demand;
use super::expression::Expression;
use super::filter::Filter;
use super::unmet;
use crate::{AskError, QueryContext};

/// Most spellings of one path in other cases.
const MAX_CASES: usize = 8;

/// Most names that a hint suggests, and most paths compared for it.
const MAX_NEAREST: usize = 3;
const MAX_COMPARED: usize = 20_000;

/// From this `**/` of a pattern on, `**/` may match within a name, too.
const MAX_ANY_FOLDERS: usize = 4;

/// Least similarity of a name that a hint offers.
const MIN_LIKENESS: f64 = 0.8;

/// The paths that a document must have.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Under {
    /// Its path starts with one of these.
    Begins(Vec<String>),
    /// Its path matches one of these globs of SQLite and, if given, has this number of slashes.
    Fits { globs: Vec<String>, n_slashes: Option<usize> },
}

impl From<&str> for Under {
    fn from(asked: &str) -> Self {
        let path = asked.trim().trim_start_matches("./").trim_start_matches('/');
        if !path.contains(['*', '?']) {
            return Under::Begins(vec![path.into()]);
        }
        let whole = if path.ends_with('/') { format!("{path}**") } else { path.into() };
        // Brackets occur in names and have no meaning in our patterns.
        let mut globs = any_folders(&whole.replace('[', "[[]"));
        if !whole.contains('/') {
            globs.extend(globs.clone().into_iter().map(|glob| format!("*/{glob}")));
            return Under::Fits { globs, n_slashes: None };
        }
        let n_slashes = (!whole.contains("**")).then(|| whole.matches('/').count());
        Under::Fits { globs, n_slashes }
    }
}

/// Converts a pattern to globs of SQLite: `**/` matches zero or more folders, which takes two globs
/// each.
fn any_folders(pattern: &str) -> Vec<String> {
    let mut globs = vec![String::new()];
    for (at, part) in pattern.split("**/").enumerate() {
        let part = part.replace("**", "*");
        let begun = std::mem::take(&mut globs);
        for glob in begun {
            match at {
                0 => globs.push(part.clone()),
                // Beyond the limit it may also match within a name.
                MAX_ANY_FOLDERS.. => globs.push(format!("{glob}*{part}")),
                _ => globs.extend([format!("{glob}{part}"), format!("{glob}*/{part}")]),
            }
        }
    }
    globs
}

impl Under {
    /// Matches the documents directly in this folder, the one at this path, or those that match a
    /// pattern.
    pub(crate) fn folder(asked: &str) -> Under {
        match Under::from(asked) {
            Under::Begins(paths) if paths.iter().all(|it| it == ".") => {
                Under::Begins(vec![String::new()])
            }
            Under::Begins(paths) => {
                let names = paths.iter().map(|path| path.trim_end_matches('/').replace('[', "[[]"));
                let globs = names.flat_map(|name| match name.as_str() {
                    "" => vec!["*".to_string()],
                    _ => vec![format!("{name}/*"), name],
                });
                Under::Fits { globs: globs.collect(), n_slashes: None }
            }
            pattern => pattern,
        }
    }

    /// Returns whether it matches every document.
    pub(crate) fn is_everywhere(&self) -> bool {
        matches!(self, Under::Begins(paths) if paths.iter().any(String::is_empty))
    }

    /// Returns the condition on `docs d` and adds its parameters.
    pub(crate) fn sql(&self, values: &mut Vec<String>) -> String {
        let (all, each, n_slashes) = match self {
            Under::Begins(paths) => (paths, "substr(d.path, 1, length(?)) = ?", &None),
            Under::Fits { globs, n_slashes } => (globs, "d.path GLOB ?", n_slashes),
        };
        for value in all {
            values.extend(std::iter::repeat_n(value.clone(), each.matches('?').count()));
        }
        let any = format!("({})", vec![each; all.len()].join(" OR "));
        match n_slashes {
            Some(n) => format!("{any} AND length(d.path) - length(replace(d.path, '/', '')) = {n}"),
            None => any,
        }
    }
}

/// Returns the condition that a document has a tag or one below it, and adds its parameters.
pub(crate) fn has_tag(tag: &str, values: &mut Vec<String>) -> &'static str {
    let tag = plain(tag);
    // `0` is the character after `/`.
    values.extend([tag.clone(), format!("{tag}/"), format!("{tag}0")]);
    "EXISTS (SELECT 1 FROM doc_tags t WHERE t.doc_id = d.id AND (t.tag = ? OR (t.tag >= ? AND t.tag < ?)))"
}

fn plain(tag: &str) -> String {
    tag.trim().trim_start_matches('#').trim_end_matches('/').to_lowercase()
}

/// Replaces paths that differ from existing ones only by case; returns a hint for each tag, path,
/// type, language and day that no document has.
pub(super) fn resolve(
    ctx: &QueryContext<'_>,
    filter: &mut Filter,
    expression: Option<&mut Expression>,
) -> Result<Vec<String>, AskError> {
    let mut hints = Vec::new();
    let mut tags: Vec<String> = filter.tags.clone();
    let demand = expression.and_then(|it| it.demand.as_mut());
    let (mut paths, mut inner) = (Vec::new(), Vec::new());
    if let Some(demand) = demand {
        demand.visit(&mut |part| inner.push(part));
    }
    for part in inner {
        match part {
            Demand::Tag(tag) => tags.push(tag.clone()),
            Demand::Path(path) => paths.push(path),
            _ => {}
        }
    }
    for path in filter.paths.iter_mut().chain(paths) {
        hints.extend(resolve_path(ctx, path)?);
    }
    for tag in tags {
        if !exists(ctx, &Filter { tags: vec![tag.clone()], ..Filter::default() })? {
            let near = nearest_tags(ctx, &plain(&tag))?;
            hints.push(missing(&format!("no document has the tag `{}`", plain(&tag)), &near));
        }
    }
    hints.extend(unmet::alone(ctx, filter)?);
    Ok(hints)
}

fn resolve_path(ctx: &QueryContext<'_>, path: &mut Under) -> Result<Option<String>, AskError> {
    if exists(ctx, &Filter { paths: vec![path.clone()], ..Filter::default() })? {
        return Ok(None);
    }
    let asked = match path {
        Under::Begins(paths) => paths.concat(),
        Under::Fits { .. } => return Ok(Some("no document matches the path's pattern".into())),
    };
    let found = in_any_case(ctx, &asked)?;
    if found.is_empty() {
        let near = nearest_paths(ctx, &asked)?;
        return Ok(Some(missing(&format!("no document is in `{asked}`"), &near)));
    }
    *path = Under::Begins(found.into_iter().collect());
    Ok(None)
}

fn missing(what: &str, near: &[String]) -> String {
    let near: Vec<String> = near.iter().map(|it| format!("`{it}`")).collect();
    if near.is_empty() { what.into() } else { format!("{what}; nearest: {}", near.join(", ")) }
}

/// Returns whether a document meets a filter.
pub(crate) fn exists(ctx: &QueryContext<'_>, filter: &Filter) -> Result<bool, AskError> {
    let (condition, values) = filter.sql().unwrap_or_else(|| ("1".into(), Vec::new()));
    let sql = format!("SELECT 1 FROM docs d WHERE {condition} LIMIT 1");
    Ok(ctx.snapshot.prepare_cached(&sql)?.exists(rusqlite::params_from_iter(values))?)
}

/// Returns the prefixes of existing paths that differ from this path only by case.
fn in_any_case(ctx: &QueryContext<'_>, asked: &str) -> Result<BTreeSet<String>, AskError> {
    let (lower, n_chars) = (asked.to_lowercase(), asked.chars().count());
    let mut found = BTreeSet::new();
    for path in column(ctx, "SELECT path FROM docs ORDER BY path")? {
        let start: String = path.chars().take(n_chars).collect();
        if found.len() < MAX_CASES && start.to_lowercase() == lower {
            found.insert(start);
        }
    }
    Ok(found)
}

fn nearest_tags(ctx: &QueryContext<'_>, asked: &str) -> Result<Vec<String>, AskError> {
    Ok(nearest(asked, column(ctx, "SELECT DISTINCT tag FROM doc_tags ORDER BY tag")?))
}

fn nearest_paths(ctx: &QueryContext<'_>, asked: &str) -> Result<Vec<String>, AskError> {
    let mut all = BTreeSet::new();
    for path in column(ctx, "SELECT path FROM docs ORDER BY path")? {
        all.extend(path.match_indices('/').filter_map(|(at, _)| path.get(..=at)).map(String::from));
        all.insert(path);
    }
    Ok(nearest(asked, all.into_iter().collect()))
}

/// Returns the nearest of some names: those that contain `asked`, shortest first, then similar
/// spellings.
fn nearest(asked: &str, all: Vec<String>) -> Vec<String> {
    let asked = asked.trim_end_matches('/').to_lowercase();
    let likeness = |other: &str| {
        let other = other.trim_end_matches('/').to_lowercase();
        let last = other.rsplit('/').next().unwrap_or("");
        let written = strsim::jaro_winkler(&asked, &other).max(strsim::jaro_winkler(&asked, last));
        if other.contains(&asked) { 2.0 - other.len() as f64 / 10_000.0 } else { written }
    };
    let scored = all.into_iter().take(MAX_COMPARED).map(|it| (likeness(&it), it));
    let mut scored: Vec<(f64, String)> = scored.filter(|it| it.0 >= MIN_LIKENESS).collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    scored.into_iter().take(MAX_NEAREST).map(|(_, it)| it).collect()
}

fn column(ctx: &QueryContext<'_>, sql: &str) -> Result<Vec<String>, AskError> {
    let mut statement = ctx.snapshot.prepare_cached(sql)?;
    let rows = statement.query_map([], |row| row.get(0))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fits(under: Under, path: &str) -> bool {
        let mut values = Vec::new();
        let condition = under.sql(&mut values);
        let db = rusqlite::Connection::open_in_memory().expect("opens");
        values.insert(0, path.into());
        let sql = format!("SELECT {condition} FROM (SELECT ? AS path) d");
        // In this SQL the row follows its condition, but its parameter comes first.
        let sql = sql.replacen("SELECT ?", "SELECT ?1", 1);
        let mut numbered = String::new();
        let mut n = 1;
        let mut signs = sql.chars().peekable();
        while let Some(c) = signs.next() {
            numbered.push(c);
            if c == '?' && signs.peek() != Some(&'1') {
                n += 1;
                numbered += &n.to_string();
            }
        }
        db.query_row(&numbered, rusqlite::params_from_iter(values), |row| row.get(0))
            .expect("asked")
    }

    #[test]
    fn a_path_is_a_beginning_or_a_pattern() {
        for (asked, fitting, others) in [
            ("docs/", &["docs/a.md", "docs/x/b.md"][..], &["Docs/a.md", "a/docs/b.md"][..]),
            ("/docs/a", &["docs/a.md", "docs/ab/c.md"], &["docs/b.md"]),
            ("docs/*.md", &["docs/a.md"], &["docs/x/b.md", "docs/a.txt", "a.md"]),
            ("docs/**/*.md", &["docs/a.md", "docs/x/y/b.md"], &["docs/x/b.txt"]),
            ("*/ops/", &["a/ops/b.md", "a/ops/c/d.md"], &["a/b.md"]),
            (
                "docs/**/README.md",
                &["docs/README.md", "docs/a/b/README.md"],
                &["docs/OLDREADME.md"],
            ),
            ("**/1.md", &["1.md", "g/1.md"], &["g/11.md", "11.md"]),
            ("*.pdf", &["a.pdf", "x/y/a.pdf"], &["a.md"]),
            ("no?e.md", &["note.md", "x/node.md"], &["noe.md"]),
            ("[2024]/*.md", &["[2024]/a.md"], &["2/a.md"]),
        ] {
            let fits = |path: &str| fits(Under::from(asked), path);
            fitting.iter().for_each(|path| assert!(fits(path), "{asked} {path}"));
            others.iter().for_each(|path| assert!(!fits(path), "{asked} {path}"));
        }
    }

    #[test]
    fn a_folder_is_a_whole_name() {
        for (asked, fitting, others) in [
            ("n", &["n/a.md", "n/x/b.md"][..], &["notes/a.md", "x/n/a.md", "n.md"][..]),
            ("./n/", &["n/a.md"], &["notes/a.md"]),
            ("n.md", &["n.md"], &["n.md.md"]),
            ("[n]", &["[n]/a.md"], &["n/a.md"]),
            ("n/*", &["n/a.md"], &["n/x/a.md"]),
            (".", &["a.md", "n/a.md"], &[]),
            ("", &["a.md", "n/a.md"], &[]),
        ] {
            let fits = |path: &str| fits(Under::folder(asked), path);
            fitting.iter().for_each(|path| assert!(fits(path), "{asked} {path}"));
            others.iter().for_each(|path| assert!(!fits(path), "{asked} {path}"));
        }
    }

    #[test]
    fn the_nearest_names_contain_the_given_one_or_are_similar() {
        let all = ["baking", "baking/bread", "boats", "bread", "garden"].map(String::from).to_vec();
        assert_eq!(nearest("bakign", all.clone()), ["baking", "baking/bread"]);
        assert_eq!(nearest("bread", all.clone()), ["bread", "baking/bread"]);
        assert_eq!(nearest("zebra", all), [""; 0]);
    }

    #[test]
    fn patterns_have_as_many_parameters_as_placeholders() {
        for asked in ["docs/", "*.md", "a/?/b", "**", "a/**/b/"] {
            let mut values = Vec::new();
            let sql = Under::from(asked).sql(&mut values);
            assert_eq!(sql.matches('?').count(), values.len(), "{asked}");
        }
    }
}
