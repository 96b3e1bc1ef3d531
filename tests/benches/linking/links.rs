//! Links: where the links of a folder lead, beside the file that a site made of the folder would show.
//!
//! The expected file is found by its name alone, among the files of the folder: beside the linking file, below the page
//! that a site makes of it (`a/b.md` becomes `a/b/`), at the root, and for an address that begins with `/` below each
//! folder above it; with or without extension, or as the `index`, `README` or `_index` of a folder. A link for which
//! there is no such file has no expectation. Where the folder has `links.tsv` (source, target, number), the pairs of
//! documents are compared with it too.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::{Value, json};
use tests::TestProject;

use super::support::{copy_folder, files_below};

/// Extensions of files that become pages.
const PAGES: [&str; 7] = ["md", "html", "markdown", "rst", "org", "adoc", "txt"];
/// Names of the file that stands for its folder.
const FRONTS: [&str; 3] = ["readme", "index", "_index"];

/// Prints the shares of right links of a folder with `vault/`.
pub(crate) fn run(folder: &Path) -> Result<()> {
    let vault = folder.join("vault");
    let mut project = TestProject::empty();
    copy_folder(&vault, project.root())?;
    project.set("recognize.deep=false");
    project.start();
    project.settle();
    let site = Site::new(&vault)?;
    let (mut n_right, mut n_wrong, mut n_unresolved) = (0, 0, 0);
    let mut found = BTreeSet::new();
    for link in links_of(&mut project)? {
        let text = |key: &str| link.get(key).and_then(Value::as_str);
        let Some((from, target)) = text("path").zip(text("target")) else { continue };
        let to = text("to");
        if let Some(to) = to.filter(|to| *to != from) {
            found.insert((from.to_string(), to.to_string()));
        }
        let Some(expected) = site.page_of(from, target).filter(|_| !target.contains("://")) else {
            continue;
        };
        match to {
            Some(to) if to == expected => n_right += 1,
            Some(_) => n_wrong += 1,
            None => n_unresolved += 1,
        }
        if to != Some(expected) && std::env::var_os("KG_SHOW").is_some() {
            println!("      {from}: {target} -> {to:?}, not {expected}");
        }
    }
    let n = n_right + n_wrong + n_unresolved;
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    println!(
        "  {name}: {:.3} right: {n_right}, {n_wrong} elsewhere, {n_unresolved} unresolved of {n}",
        n_right as f64 / n.max(1) as f64
    );
    if let Some(gold) = gold_of(folder)? {
        let n_both = found.intersection(&gold).count();
        println!("    pairs of links.tsv: {n_both} of {} found", gold.len());
    }
    Ok(())
}

/// Returns the links of the dump.
fn links_of(project: &mut TestProject) -> Result<Vec<Value>> {
    let (mut links, mut cursor) = (Vec::new(), Value::Null);
    loop {
        let page = project.call("dump", json!({"limit": 5_000, "cursor": cursor}));
        let rows = page["rows"].as_array().context("rows")?;
        links.extend(rows.iter().filter(|row| row["kind"] == "link").cloned());
        cursor = page["cursor"].clone();
        if cursor.is_null() {
            return Ok(links);
        }
    }
}

/// The pages of a folder.
struct Site {
    /// By path in lowercase.
    pages: BTreeMap<String, String>,
}

impl Site {
    fn new(vault: &Path) -> Result<Self> {
        let files = files_below(vault)?.into_iter();
        let paths = files
            .filter_map(|(path, _)| Some(path.strip_prefix(vault).ok()?.to_str()?.to_string()));
        let is_page = |path: &String| path.rsplit_once('.').is_some_and(|it| PAGES.contains(&it.1));
        Ok(Site { pages: paths.filter(is_page).map(|path| (path.to_lowercase(), path)).collect() })
    }

    /// Returns the page that an address in a file leads to.
    fn page_of(&self, from: &str, target: &str) -> Option<&str> {
        let target = target.split(['#', '?']).next().unwrap_or("");
        if target.is_empty() {
            return self.pages.get(&from.to_lowercase()).map(String::as_str);
        }
        let folder = from.rsplit_once('/').map_or("", |it| it.0);
        if let Some(below) = target.strip_prefix('/') {
            let ends = folder.match_indices('/').map(|it| it.0).chain([folder.len()]);
            let above = ends.map(|end| format!("{}/{below}", &folder[..end]));
            return std::iter::once(below.to_string()).chain(above).find_map(|path| self.at(&path));
        }
        let stem = from.rsplit_once('.').map_or(from, |it| it.0);
        let (_, name) = stem.rsplit_once('/').unwrap_or(("", stem));
        let page = if FRONTS.contains(&name.to_lowercase().as_str()) { folder } else { stem };
        let bases = [folder, page].into_iter().chain((!target.starts_with('.')).then_some(""));
        bases.map(|base| format!("{base}/{target}")).find_map(|path| self.at(&path))
    }

    fn at(&self, path: &str) -> Option<&str> {
        let mut parts = Vec::new();
        for part in path.split('/').filter(|part| !matches!(*part, "" | ".")) {
            match part {
                ".." => _ = parts.pop()?,
                part => parts.push(part.to_lowercase()),
            }
        }
        let path = parts.join("/");
        let bare = path.strip_suffix(".html").unwrap_or(&path);
        let is_front = |name: &str| FRONTS.contains(&name.split('.').next().unwrap_or(""));
        let folder = match path.rsplit_once('/') {
            Some((folder, name)) if is_front(name) => folder,
            None if is_front(&path) => "",
            _ => &path,
        };
        let named = [path.clone()].into_iter().chain(PAGES.map(|end| format!("{bare}.{end}")));
        let fronts = FRONTS.map(|front| format!("{folder}/{front}.md"));
        let fronts = fronts.map(|it| it.trim_start_matches('/').to_string());
        named.chain(fronts).find_map(|path| self.pages.get(&path)).map(String::as_str)
    }
}

/// Returns the pairs of documents that link, or `None` where nobody listed them.
fn gold_of(folder: &Path) -> Result<Option<BTreeSet<(String, String)>>> {
    let file = folder.join("links.tsv");
    if !file.is_file() {
        return Ok(None);
    }
    let gold = std::fs::read_to_string(file)?;
    let pair = |line: &str| {
        let mut columns = line.split('\t').map(String::from);
        Some((columns.next()?, columns.next()?))
    };
    Ok(Some(gold.lines().skip(1).filter_map(pair).collect()))
}
