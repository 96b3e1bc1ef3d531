//! Table: the user's questions, and the files that answer them.
//!
//! In: the lines of a file, the project's folder. Out: the usable questions, and what is wrong with the others.
//! Invariants: an unusable line is reported with its number and skipped; a file is named as in the index, however it
//! was written.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use client::render::questions::Remark;
use confine::Root;

/// Most questions of a table.
const MAX_QUESTIONS: usize = 10_000;

/// Longest question that `hybrid_query` accepts, characters.
const MAX_QUESTION_CHARS: usize = 1_000;

/// Accepted names of the columns.
const QUESTION: [&str; 4] = ["question", "query", "q", "frage"];
const PATHS: [&str; 6] = ["paths", "path", "files", "file", "answers", "expected"];
const EXCEPT: [&str; 1] = ["except"];
const KIND: [&str; 1] = ["kind"];

/// A question with the documents that answer it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Question {
    pub(super) line: usize,
    pub(super) text: String,
    pub(super) wanted: BTreeSet<String>,
    /// Documents that do not count, such as the one that the question is made from.
    pub(super) except: BTreeSet<String>,
    /// The kind of the question; empty if the table has no such column.
    pub(super) kind: String,
}

/// A parsed table.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Table {
    pub(super) questions: Vec<Question>,
    /// Problems, by line.
    pub(super) remarks: Vec<Remark>,
}

/// Reads a table: a header that names its columns, or two columns without one.
///
/// # Errors
/// When the header lacks a column, or there are too many questions.
pub(super) fn read(text: &str, root: &Path) -> Result<Table, String> {
    let mut table = Table::default();
    let mut columns = None;
    for (line, row) in (1..).zip(text.trim_start_matches('\u{feff}').lines()) {
        if row.trim().is_empty() || row.starts_with('#') {
            continue;
        }
        let cells: Vec<&str> = row.split('\t').map(str::trim).collect();
        let Some(columns) = columns else {
            match header(&cells).map_err(|why| format!("line {line}: {why}"))? {
                Some(named) => columns = Some(named),
                None => {
                    let two = Columns { question: 0, paths: 1, ..Columns::default() };
                    columns = Some(two);
                    take(line, &cells, two, root, &mut table);
                }
            }
            continue;
        };
        take(line, &cells, columns, root, &mut table);
        if table.questions.len() > MAX_QUESTIONS {
            return Err(format!("line {line}: more than {MAX_QUESTIONS} questions"));
        }
    }
    Ok(table)
}

/// The columns of the cells of a row.
#[derive(Debug, Clone, Copy, Default)]
struct Columns {
    question: usize,
    paths: usize,
    except: Option<usize>,
    kind: Option<usize>,
}

/// Returns the columns, if this is a header.
fn header(cells: &[&str]) -> Result<Option<Columns>, String> {
    let of = |names: &[&str]| {
        cells.iter().position(|cell| names.iter().any(|name| cell.eq_ignore_ascii_case(name)))
    };
    match (of(&QUESTION), of(&PATHS)) {
        (Some(question), Some(paths)) => {
            Ok(Some(Columns { question, paths, except: of(&EXCEPT), kind: of(&KIND) }))
        }
        (None, None) => Ok(None),
        // With one column, such a word may be a question, or the name of a file.
        (Some(_), None) if cells.len() > 1 => Err("the header has no column `paths`".to_string()),
        (None, Some(_)) if cells.len() > 1 => {
            Err("the header has no column `question`".to_string())
        }
        _ => Ok(None),
    }
}

fn take(line: usize, cells: &[&str], columns: Columns, root: &Path, table: &mut Table) {
    let remark = |why: String, left_out| Remark { line: Some(line), why, left_out };
    let (Some(text), Some(paths)) = (cells.get(columns.question), cells.get(columns.paths)) else {
        let why = match cells.len() {
            1 => "it has no tab between a question and its files".to_string(),
            n => format!("it has {n} columns, fewer than the header"),
        };
        return table.remarks.push(remark(why, true));
    };
    let n_chars = text.chars().count();
    let named: Vec<&str> = paths.split(',').map(str::trim).filter(|it| !it.is_empty()).collect();
    if text.is_empty() || named.is_empty() {
        let what = if text.is_empty() { "its question is empty" } else { "it names no file" };
        return table.remarks.push(remark(what.to_string(), true));
    }
    if !text.contains(char::is_alphanumeric) {
        return table
            .remarks
            .push(remark("its question has no letters or digits".to_string(), true));
    }
    if n_chars > MAX_QUESTION_CHARS {
        let why = format!("its question has {n_chars} characters, more than {MAX_QUESTION_CHARS}");
        return table.remarks.push(remark(why, true));
    }
    let mut wanted = BTreeSet::new();
    let mut missing = Vec::new();
    for path in named {
        match inside(path, root) {
            Some(path) if is_file(root, &path) => drop(wanted.insert(path)),
            _ => missing.push(format!("`{path}`")),
        }
    }
    if !missing.is_empty() {
        let are = if missing.len() == 1 { "is not a file" } else { "are not files" };
        let why = format!("{} {are} of {}", missing.join(", "), root.display());
        table.remarks.push(remark(why, wanted.is_empty()));
    }
    if !wanted.is_empty() {
        let cell = |at: Option<usize>| at.and_then(|at| cells.get(at)).copied().unwrap_or_default();
        let except = cell(columns.except).split(',').filter_map(|path| inside(path.trim(), root));
        let (text, except, kind) =
            ((*text).to_string(), except.collect(), cell(columns.kind).into());
        table.questions.push(Question { line, text, wanted, except, kind });
    }
}

fn is_file(root: &Path, path: &str) -> bool {
    let found = Root::open(root).map(|root| root.find(path));
    found.is_ok_and(|found| found.is_ok_and(|found| found.meta.is_file()))
}

/// Returns a path as the index names it, or `None` if it leaves the folder.
fn inside(path: &str, root: &Path) -> Option<String> {
    let path = Path::new(path);
    let relative = match path.is_absolute() {
        false => path.to_path_buf(),
        true => match path.strip_prefix(root) {
            Ok(relative) => relative.to_path_buf(),
            // A link may lead into the folder.
            Err(_) => path.canonicalize().ok()?.strip_prefix(root).ok()?.to_path_buf(),
        },
    };
    let mut plain = PathBuf::new();
    for part in relative.components() {
        match part {
            Component::Normal(part) => plain.push(part),
            Component::CurDir => {}
            Component::ParentDir if plain.pop() => {}
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    plain.into_os_string().into_string().ok().filter(|path| !path.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder() -> tempfile::TempDir {
        let dir = tempfile::tempdir().expect("a folder");
        std::fs::create_dir(dir.path().join("docs")).expect("made");
        for name in ["a.md", "docs/b.md"] {
            std::fs::write(dir.path().join(name), "text").expect("written");
        }
        dir
    }

    /// Returns the files of each question, and the problems.
    fn check(text: &str, root: &Path) -> (Vec<String>, Vec<String>) {
        let table = read(text, root).expect("a table");
        let files = |it: &Question| it.wanted.iter().cloned().collect::<Vec<_>>().join(" ");
        let remark =
            |it: &Remark| format!("{}{}", it.text(), if it.left_out { "; out" } else { "" });
        (
            table.questions.iter().map(files).collect(),
            table
                .remarks
                .iter()
                .map(|it| remark(it).replace(&root.display().to_string(), "<root>"))
                .collect(),
        )
    }

    #[test]
    fn a_file_is_found_however_it_is_written() {
        let dir = folder();
        let root = dir.path().canonicalize().expect("there");
        let absolute = root.join("docs/b.md").display().to_string();
        for path in
            ["./a.md", "a.md ", "docs/../a.md", ".//a.md", &format!("{}/./a.md", root.display())]
        {
            assert_eq!(check(&format!("q?\t{path}\n"), &root), (vec!["a.md".into()], vec![]));
        }
        assert_eq!(
            check(&format!("q?\t{absolute},a.md"), &root).0,
            ["a.md docs/b.md"],
            "several, too"
        );
        for path in ["../a.md", "docs\\b.md", "docs", "/etc/hostname", "A.md"] {
            let (questions, remarks) = check(&format!("q?\t{path}\n"), &root);
            assert_eq!(questions, [""; 0], "{path}");
            assert_eq!(remarks, [format!("line 1: `{path}` is not a file of <root>; out")]);
        }
    }

    #[test]
    fn what_can_be_used_is_used_and_the_rest_reported_by_its_line() {
        let dir = folder();
        let long = "x".repeat(1_001);
        let text = format!(
            "\u{feff}# mine\r\n\r\nid\tQuestion\tPaths\r\n1\thow?\ta.md\r\n2\twhy?\r\n3\t\ta.md\r\n4\twho?\t,\r\n\
             5\t{long}\ta.md\r\n6\twhen?\ta.md, gone.md\r\nalone\r\n7\t!!!\ta.md\r\n"
        );
        let (questions, remarks) = check(&text, dir.path());
        assert_eq!(questions, ["a.md", "a.md"]);
        assert_eq!(
            remarks,
            [
                "line 5: it has 2 columns, fewer than the header; out",
                "line 6: its question is empty; out",
                "line 7: it names no file; out",
                "line 8: its question has 1001 characters, more than 1000; out",
                "line 9: `gone.md` is not a file of <root>",
                "line 10: it has no tab between a question and its files; out",
                "line 11: its question has no letters or digits; out",
            ]
        );
        assert_eq!(check("how?\ta.md\nquery\ta.md", dir.path()).0.len(), 2, "no header");
    }

    #[test]
    fn a_header_names_both_columns() {
        for (header, why) in [
            ("id\tquestion\tnotes", "line 1: the header has no column `paths`"),
            ("id\tpaths", "line 1: the header has no column `question`"),
        ] {
            assert_eq!(read(&format!("{header}\n1\tx\ty"), Path::new("/")), Err(why.to_string()));
        }
    }
}
