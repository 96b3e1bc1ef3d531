//! Own: makes questions from a folder's own links, titles and headings, which are held out of a
//! copy.
//!
//! In: the project's folder. Out: a copy of it in a scratch folder, and a table of questions about
//! the copy:
//! - `link`: the text of a link in another note. The copy has the text without the link, and that
//!   note does not count as an answer.
//! - `title`: a note's title, which the copy lacks; its file has another name there.
//! - `heading`: a heading within a note, which the copy lacks.
//!
//! Invariants: the folder is only read; each note is used for one question, and what is held out of
//! it is missing in the copy; which notes are chosen depends only on their paths and texts.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::ops::Range;
use std::path::{Path, PathBuf};

use notes::parse::{Link, LinkKind, Note, parse};
use notes::resolve::{file_key, name_key, paths_above};

use super::{Exit, Failure};

/// Most questions of each kind; below, most notes read.
const MOST: usize = 100;
const MAX_NOTES: usize = 20_000;

/// Fewest letters of a question.
const MIN_LETTERS: usize = 4;

/// A note of the folder.
struct Source {
    path: String,
    text: String,
    note: Note,
}

/// A question, and what is held out of the copy for it.
struct Asked {
    kind: &'static str,
    text: String,
    wanted: usize,
    /// The note with something held out, the places, and the text that replaces each.
    held_out: (usize, Vec<(Range<usize>, String)>),
}

/// Writes the copy and the table; returns the folder of the copy, and the table.
pub(super) fn write(root: &Path, scratch: &Path) -> Result<(PathBuf, PathBuf), Failure> {
    let sources = read(root)?;
    let asked = questions(&sources);
    if asked.is_empty() {
        let why = format!("no note in {} has a title, a heading or a link", root.display());
        return Err(Failure::new(Exit::Refused, why).hint("ask a table of your own questions"));
    }
    let (copy, table) = (scratch.join("notes"), scratch.join("questions.tsv"));
    let mut renamed = BTreeMap::new();
    let mut changes: BTreeMap<usize, Vec<&(Range<usize>, String)>> = BTreeMap::new();
    for it in &asked {
        changes.entry(it.held_out.0).or_default().extend(&it.held_out.1);
        if it.kind == "title" {
            renamed.insert(it.wanted, without_name(&sources[it.wanted].path));
        }
    }
    let name = |at: usize| renamed.get(&at).unwrap_or(&sources[at].path);
    for (at, source) in sources.iter().enumerate() {
        let mut text = source.text.clone();
        let mut held_out = changes.remove(&at).unwrap_or_default();
        // From the end backward, so that earlier places stay valid.
        held_out.sort_by_key(|(place, _)| std::cmp::Reverse(place.start));
        held_out.iter().for_each(|(place, instead)| text.replace_range(place.clone(), instead));
        let path = copy.join(name(at));
        std::fs::create_dir_all(path.parent().unwrap_or(&copy))?;
        std::fs::write(path, text)?;
    }
    if root.join("kg.yaml").is_file() {
        std::fs::copy(root.join("kg.yaml"), copy.join("kg.yaml"))?;
    }
    let mut rows = "kind\tquestion\tpaths\texcept\n".to_string();
    for it in &asked {
        let except = if it.kind == "link" { name(it.held_out.0) } else { "" };
        let _ = writeln!(rows, "{}\t{}\t{}\t{except}", it.kind, it.text, name(it.wanted));
    }
    std::fs::write(&table, rows)?;
    Ok((copy, table))
}

/// Reads the Markdown files of a folder, except hidden ones and those whose paths a table cannot
/// hold.
fn read(root: &Path) -> Result<Vec<Source>, Failure> {
    let mut sources = Vec::new();
    let mut open = vec![root.to_path_buf()];
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(&folder)? {
            let entry = entry?;
            let (path, kind) = (entry.path(), entry.file_type()?);
            if entry.file_name().to_string_lossy().starts_with('.') {
                continue;
            }
            if kind.is_dir() {
                open.push(path);
                continue;
            }
            let is_note = kind.is_file() && path.extension().is_some_and(|it| it == "md");
            let inside = path.strip_prefix(root).ok().and_then(Path::to_str);
            let Some(inside) = inside.filter(|it| is_note && !it.contains([',', '\t'])) else {
                continue;
            };
            let Ok(text) = std::fs::read_to_string(&path) else { continue };
            let note = parse(&text);
            sources.push(Source { path: inside.to_string(), text, note });
        }
        if sources.len() > MAX_NOTES {
            return Err(Failure::new(Exit::Refused, format!("more than {MAX_NOTES} notes")));
        }
    }
    sources.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(sources)
}

/// Returns the questions by kind. Each note is asked for, or has something held out, in one
/// question only. The kinds take turns, so they share the notes that serve several kinds.
fn questions(sources: &[Source]) -> Vec<Asked> {
    let mut kinds = [links(sources), titles(sources), headings(sources)].map(|mut of_kind| {
        of_kind.retain(|it| it.text.chars().filter(|c| c.is_alphabetic()).count() >= MIN_LETTERS);
        of_kind.sort_by_key(|it| hash(&format!("{} {}", it.text, sources[it.wanted].path)));
        of_kind.into_iter()
    });
    let mut used = BTreeSet::new();
    let mut asked = [const { Vec::new() }; 3];
    for _ in 0..MOST {
        for (of_kind, asked) in kinds.iter_mut().zip(&mut asked) {
            let is_free =
                |it: &Asked| ![it.wanted, it.held_out.0].iter().any(|at| used.contains(at));
            if let Some(it) = of_kind.find(is_free) {
                used.extend([it.wanted, it.held_out.0]);
                asked.push(it);
            }
        }
    }
    asked.into_iter().flatten().collect()
}

fn links(sources: &[Source]) -> Vec<Asked> {
    let mut by_name: BTreeMap<String, BTreeSet<usize>> = BTreeMap::new();
    let mut by_path: BTreeMap<&str, usize> = BTreeMap::new();
    for (at, source) in sources.iter().enumerate() {
        by_path.insert(&source.path, at);
        by_name.entry(file_key(&source.path)).or_default().insert(at);
        if let Some(title) = &source.note.title {
            by_name.entry(name_key(title)).or_default().insert(at);
        }
    }
    let target = |from: &str, link: &Link| match link.kind {
        LinkKind::Wiki => {
            let found = [file_key(&link.target), name_key(&link.target)];
            let found = found.iter().find_map(|key| by_name.get(key))?;
            found.first().copied().filter(|_| found.len() == 1)
        }
        LinkKind::Markdown => paths_above(from, &link.target)
            .iter()
            .find_map(|path| by_path.get(path.as_str()).copied()),
        _ => None,
    };
    let mut asked = Vec::new();
    for (at, source) in sources.iter().enumerate() {
        for link in &source.note.links {
            let Some(wanted) = target(&source.path, link).filter(|it| *it != at) else { continue };
            let last = link.target.rsplit('/').next().unwrap_or_default();
            let words = link.display.as_deref().unwrap_or(last);
            let held_out = (at, vec![(link.place.span.clone(), words.to_string())]);
            asked.push(Asked { kind: "link", text: plain(words), wanted, held_out });
        }
    }
    asked
}

fn titles(sources: &[Source]) -> Vec<Asked> {
    let asked = |(at, source): (usize, &Source)| {
        let note = &source.note;
        let first = note.headings.first().filter(|it| it.level == 1 && it.is_outer);
        let stated = line_of_title(source);
        let text = note.title.clone().or_else(|| Some(first?.text.clone()))?;
        let heading = first.map(|it| it.place.span.clone());
        let held_out: Vec<_> =
            heading.into_iter().chain(stated).map(|it| (it, String::new())).collect();
        let (text, held_out) = (plain(&text), (at, held_out));
        Some(Asked { kind: "title", text, wanted: at, held_out })
    };
    sources.iter().enumerate().filter_map(asked).filter(|it| !it.held_out.1.is_empty()).collect()
}

/// Returns the line of the front matter that states a title.
fn line_of_title(source: &Source) -> Option<Range<usize>> {
    source.note.frontmatter.as_ref()?;
    let front = source.text.get(..source.note.body)?;
    let start = front.find("\ntitle:")? + 1;
    let end = front.get(start..)?.find('\n').map_or(front.len(), |at| start + at);
    Some(start..end)
}

fn headings(sources: &[Source]) -> Vec<Asked> {
    let mut asked = Vec::new();
    for (at, source) in sources.iter().enumerate() {
        for heading in source.note.headings.iter().filter(|it| it.level > 1 && it.is_outer) {
            let held_out = (at, vec![(heading.place.span.clone(), String::new())]);
            asked.push(Asked { kind: "heading", text: plain(&heading.text), wanted: at, held_out });
        }
    }
    asked
}

/// Returns words on one line, without the marks of code and emphasis.
fn plain(words: &str) -> String {
    let words = words.replace(['`', '*'], "");
    words.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns the path with a meaningless file name.
fn without_name(path: &str) -> String {
    let name = format!("{}.md", hash(path));
    path.rsplit_once('/').map_or(name.clone(), |(folder, _)| format!("{folder}/{name}"))
}

/// Returns a hash of a text (FNV-1a); it gives texts an order that is independent of their content.
fn hash(text: &str) -> String {
    let step = |sum: u64, byte| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    format!("{:016x}", text.bytes().fold(0xcbf2_9ce4_8422_2325, step))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILES: &[(&str, &str)] = &[
        (
            "keys.md",
            "---\ntitle: Signing keys\n---\n\n# Signing keys\n\nThey are rotated yearly.\n",
        ),
        ("guide.md", "# Guide\n\nRead about [the lamps](lamps/harbor.md) first.\n"),
        ("lamps/harbor.md", "Lit at dusk.\n"),
        ("long.md", "Text.\n\n## Cleaning the lens\n\nUse a soft cloth.\n"),
        (".hidden/a.md", "# Hidden page\n"),
    ];

    #[test]
    fn what_a_question_is_made_of_is_held_out() {
        let (root, scratch) =
            (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("one"));
        for (path, text) in FILES {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().expect("inside")).expect("made");
            std::fs::write(path, text).expect("written");
        }
        let (copy, table) = write(root.path(), scratch.path()).expect("written");
        let table = std::fs::read_to_string(table).expect("a table");
        let name = without_name("keys.md");
        assert_eq!(
            table,
            format!(
                "kind\tquestion\tpaths\texcept\nlink\tthe lamps\tlamps/harbor.md\tguide.md\n\
                 title\tSigning keys\t{name}\t\nheading\tCleaning the lens\tlong.md\t\n"
            )
        );
        let text = |path: &str| std::fs::read_to_string(copy.join(path)).expect(path);
        assert_eq!(text("guide.md"), "# Guide\n\nRead about the lamps first.\n");
        assert!(!text(&name).contains("Signing") && text(&name).contains("rotated yearly"));
        assert_eq!(text("long.md"), "Text.\n\n\n\nUse a soft cloth.\n");
        assert!(!copy.join(".hidden").exists() && !copy.join("keys.md").exists());
    }
}
