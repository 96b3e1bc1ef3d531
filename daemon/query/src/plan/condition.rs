//! Condition: the documents that a tag or a path denotes.
//!
//! In: a tag or path as typed. Out: the condition on documents as SQL; if nothing matches, the
//! nearest existing ones.
//! `docs/` means paths with that prefix, as written if there are any, else folded. In `docs/*.md`,
//! `*` and `?` stay within a folder and `**` does not; a pattern without a folder matches names in
//! any folder. A tag includes those below it, as in Obsidian: documents with `baking/bread` also
//! have `baking`.
//! Not here: joining conditions (`filter.rs`, `demand.rs`).

use std::collections::BTreeSet;

use notes::resolve::fold;

use super::demand::Demand;
use super::expression::Expression;
use super::filter::Filter;
use super::unmet;
use crate::{AskError, QueryContext};

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
    /// Its path starts with this.
    Begins(String),
    /// Its path matches one of these globs of SQLite and, if given, has this number of slashes.
    Fits { globs: Vec<String>, n_slashes: Option<usize> },
    /// Its folded path is under this, folded.
    Folded(Box<Under>),
}

impl From<&str> for Under {
    fn from(asked: &str) -> Self {
        let path = asked.trim().trim_start_matches("./").trim_start_matches('/');
        if !path.contains(['*', '?']) {
            return Under::Begins(path.into());
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
            Under::Begins(path) if path == "." => Under::Begins(String::new()),
            Under::Begins(path) => {
                let name = path.trim_end_matches('/').replace('[', "[[]");
                let globs = match name.as_str() {
                    "" => vec!["*".to_string()],
                    _ => vec![format!("{name}/*"), name],
                };
                Under::Fits { globs, n_slashes: None }
            }
            pattern => pattern,
        }
    }

    /// Returns it in the spelling of the index: as it is if a document is under it, else folded.
    pub(crate) fn spelled(self, ctx: &QueryContext<'_>) -> Result<Under, AskError> {
        let is_met = exists(ctx, &Filter { paths: vec![self.clone()], ..Filter::default() })?;
        Ok(if is_met { self } else { Under::Folded(Box::new(self)) })
    }

    /// Returns whether it matches every document.
    pub(crate) fn is_everywhere(&self) -> bool {
        matches!(self, Under::Begins(path) if path.is_empty())
    }

    /// Returns the condition on `docs d` and adds its parameters.
    pub(crate) fn sql(&self, values: &mut Vec<String>) -> String {
        match self {
            Under::Folded(under) => under.sql_on("folded(d.path)", fold, values),
            under => under.sql_on("d.path", str::to_string, values),
        }
    }

    fn sql_on(&self, path: &str, form: fn(&str) -> String, values: &mut Vec<String>) -> String {
        match self {
            Under::Begins(start) => {
                values.extend([form(start), form(start)]);
                format!("substr({path}, 1, length(?)) = ?")
            }
            Under::Fits { globs, n_slashes } => {
                values.extend(globs.iter().map(|glob| form(glob)));
                let any = vec![format!("{path} GLOB ?"); globs.len()].join(" OR ");
                let n_slashes = n_slashes.map(|n| {
                    format!(" AND length(d.path) - length(replace(d.path, '/', '')) = {n}")
                });
                format!("({any}){}", n_slashes.unwrap_or_default())
            }
            Under::Folded(under) => under.sql_on(path, form, values),
        }
    }

    /// Returns it in words, to follow `no document`.
    pub(super) fn words(&self) -> String {
        match self {
            Under::Begins(path) => format!("is in `{path}`"),
            Under::Fits { .. } => "matches the path's pattern".into(),
            Under::Folded(under) => under.words(),
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
    fold(tag.trim().trim_start_matches('#').trim_end_matches('/'))
}

/// Brings paths to the spelling of the index; returns a hint for each tag, path,
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
    *path = path.clone().spelled(ctx)?;
    if exists(ctx, &Filter { paths: vec![path.clone()], ..Filter::default() })? {
        return Ok(None);
    }
    let near = match path {
        Under::Folded(under) => match &**under {
            Under::Begins(asked) => nearest_paths(ctx, asked)?,
            _ => Vec::new(),
        },
        _ => Vec::new(),
    };
    Ok(Some(missing(&format!("no document {}", path.words()), &near)))
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
    let asked = fold(asked.trim_end_matches('/'));
    let likeness = |other: &str| {
        let other = fold(other.trim_end_matches('/'));
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
        index::store::add_folded(&db).expect("added");
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
    fn a_folded_path_is_found_in_any_spelling() {
        for (asked, path) in [
            ("Büro/", "Bu\u{308}ro/a.md"),
            ("büro/*.md", "BU\u{308}RO/a.md"),
            ("**/Größe*.md", "x/gro\u{308}ß\u{ad}e 1.md"),
            ("ISPARTA/", "ısparta/a.md"),
        ] {
            assert!(!fits(Under::from(asked), path), "{asked}");
            assert!(fits(Under::Folded(Box::new(asked.into())), path), "{asked}");
            assert!(!fits(Under::Folded(Box::new(asked.into())), "a.md"), "{asked}");
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
