//! House: size and style figures of the code base, against older versions.
//!
//! `cargo bench -p tests --bench house -- [OTHER_CHECKOUT…]`: a column for this workspace and one
//! for each other checkout; then, for each of them, the lines of every crate.

#![allow(clippy::print_stdout, reason = "a bench prints its table")]

mod support;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;
use tests::house::{
    Function, count_lines, count_told, functions, has_tuple_pattern, is_test, production, sources,
};

fn main() -> Result<()> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).parent().map(PathBuf::from);
    let others = support::arguments().into_iter().map(PathBuf::from);
    let roots: Vec<PathBuf> = here.into_iter().chain(others).collect();
    let columns: Vec<Vec<(&str, String)>> = roots.iter().map(|it| column(it)).collect();
    let Some(first) = columns.first() else { return Ok(()) };
    for (row, (name, _)) in first.iter().enumerate() {
        let cells = columns.iter().filter_map(|column| column.get(row));
        let cells: String = cells.map(|(_, value)| format!("  {value:>34}")).collect();
        println!("{name:<46}{cells}");
    }
    for root in &roots {
        println!("\n{:<46}{:>10}{:>10}{:>10}", root.display(), "code", "comments", "tests");
        let mut all = Lines::default();
        for (name, it) in by_crate(root) {
            print_lines(&name, it);
            all = Lines {
                code: all.code + it.code,
                comments: all.comments + it.comments,
                tests: all.tests + it.tests,
            };
        }
        print_lines("sum", all);
    }
    Ok(())
}

/// Lines without blank ones.
#[derive(Debug, Clone, Copy, Default)]
struct Lines {
    /// Production without comments.
    code: usize,
    /// Comments of production, except those behind code.
    comments: usize,
    /// Tests and benches without comments.
    tests: usize,
}

fn print_lines(name: &str, it: Lines) {
    println!("{name:<46}{:>10}{:>10}{:>10}", it.code, it.comments, it.tests);
}

/// Returns the lines of every crate of a checkout, by its folder; files of no crate are under `.`.
fn by_crate(root: &Path) -> BTreeMap<String, Lines> {
    let crates = crates(root);
    let mut found: BTreeMap<String, Lines> = BTreeMap::new();
    for (path, text) in sources(root) {
        let inner = crates.iter().filter(|it| path.starts_with(it.as_str()));
        let name = inner.max_by_key(|it| it.len()).map_or(".", |it| it.trim_end_matches('/'));
        let lines = found.entry(name.to_string()).or_default();
        let code = if is_test(&path) { "" } else { production(&text) };
        let (n_code, n_comments) = count_lines(code);
        lines.code += n_code;
        lines.comments += n_comments;
        lines.tests += count_lines(text.get(code.len()..).unwrap_or_default()).0;
    }
    found
}

/// Returns the figures of one checkout, with their names.
fn column(root: &Path) -> Vec<(&'static str, String)> {
    let sources = sources(root);
    let n_lines = |text: &str| text.lines().count();
    let n_all: usize = sources.iter().map(|(_, text)| n_lines(text)).sum();
    let code: Vec<(&str, &str)> = sources
        .iter()
        .filter(|(path, _)| !is_test(path))
        .map(|(path, text)| (path.as_str(), production(text)))
        .collect();
    let n_code: usize = code.iter().map(|(_, text)| n_lines(text)).sum();
    let crates = crates(root);
    let lines_of = |folder: &str| -> usize {
        let inner = |path: &str| {
            crates.iter().any(|it| it.len() > folder.len() && path.starts_with(it.as_str()))
        };
        let own = sources.iter().filter(|(path, _)| path.starts_with(folder) && !inner(path));
        own.map(|(_, text)| n_lines(text)).sum()
    };
    let largest =
        crates.iter().map(|it| (lines_of(it), it.trim_end_matches('/'))).max().unwrap_or_default();
    let longest_file =
        code.iter().map(|(path, text)| (n_lines(text), *path)).max().unwrap_or_default();
    let all: Vec<(&str, Function<'_>)> = code
        .iter()
        .flat_map(|(path, text)| functions(text).into_iter().map(move |function| (*path, function)))
        .collect();
    let longest = all
        .iter()
        .max_by_key(|(_, it)| it.n_lines)
        .map(|(_, it)| format!("{} ({})", it.n_lines, it.name));
    let mut lengths: Vec<usize> = all.iter().map(|(_, it)| it.n_lines).collect();
    lengths.sort_unstable();
    let at = |share: usize| lengths.get(lengths.len() * share / 100).copied().unwrap_or(0);
    let (n_body, n_comments) = all
        .iter()
        .fold((0, 0), |(lines, comments), (_, it)| (lines + it.n_lines, comments + it.n_comments));
    let (n_words, n_told) = sources
        .iter()
        .map(|(_, text)| count_told(text))
        .fold((0, 0), |(words, found), (n, m)| (words + n, found + m));
    let tuples = sources.iter().flat_map(|(_, text)| functions(text));
    let n_tuples = tuples.filter(|it| has_tuple_pattern(it.parameters)).count();
    let n_readme = fs::metadata(root.join("README.md")).map_or(0, |it| it.len());
    vec![
        ("checkout", root.file_name().unwrap_or_default().to_string_lossy().into_owned()),
        ("lines of Rust", n_all.to_string()),
        ("  of production", n_code.to_string()),
        ("crates", crates.len().to_string()),
        ("  the largest, lines with tests", format!("{} ({})", largest.0, largest.1)),
        ("longest file before its tests", {
            let (n, path) = longest_file;
            format!("{n} ({})", path.rsplit('/').next().unwrap_or(path))
        }),
        ("longest function, lines", longest.unwrap_or_default()),
        ("functions, lines, median and p90", format!("{} / {}", at(50), at(90))),
        (
            "comment lines inside functions",
            format!("{:.1} %", n_comments as f64 * 100.0 / n_body.max(1) as f64),
        ),
        (
            "told, tell, tells per 10,000 comment words",
            format!("{:.1}", n_told as f64 * 1e4 / n_words.max(1) as f64),
        ),
        ("functions with a tuple pattern", n_tuples.to_string()),
        ("README.md, bytes", n_readme.to_string()),
    ]
}

/// Returns the folders with a `Cargo.toml`, relative, with a trailing slash, except the workspace's
/// own.
fn crates(root: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut open = vec![root.to_path_buf()];
    while let Some(folder) = open.pop() {
        for path in fs::read_dir(&folder).into_iter().flatten().flatten().map(|entry| entry.path())
        {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if path.is_dir() && !name.starts_with('.') && name != "target" {
                if path.join("Cargo.toml").exists() {
                    found.extend(
                        path.strip_prefix(root).ok().map(|it| format!("{}/", it.display())),
                    );
                }
                open.push(path);
            }
        }
    }
    found.sort();
    found
}
