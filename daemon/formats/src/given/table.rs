//! The table of given names.
//!
//! In: the file that `recognize.given` names: UTF-8, tab separated, with the header `path surface nth type` and
//! optionally `entity`. Out: its rows by document, and a digest of it.
//! Invariants: read once, at the start; an unusable table is an error with the line; the order of rows does not
//! matter; a row with only a path says that the document contains no names.

use std::collections::BTreeSet;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use config::limits::MAX_SURFACE_BYTES;
use rustc_hash::FxHashMap;

use model::terms::EntityType;

/// Largest table, in bytes, since it is held in memory.
const MAX_TABLE_BYTES: u64 = 64_000_000;

/// The columns that every table has; `entity` is optional.
const COLUMNS: [&str; 4] = ["path", "surface", "nth", "type"];

const HEADER_HINT: &str = "the first line names the columns, with tabs between: path, surface, nth, type and, if \
                           wanted, entity";
const COLUMNS_HINT: &str = "cells are separated by tabs, without quotes; a line with a path alone says that the \
                            document names nothing";
const NTH_HINT: &str = "1 is the first appearance of the surface in the file, markup and all";
const TYPE_HINT: &str = "one of Person, Organization, Location, Product, Service, Technology, API, Project, Concept, \
                         Standard, Version, Date, Event, Identifier";
const NAME_HINT: &str = "leave out what is no name";
const PATH_HINT: &str = "give the path from the project's folder on, such as `notes/a.md`";

/// Names that a user provides for documents.
#[derive(Debug)]
pub struct GivenNames {
    pub(super) by_path: FxHashMap<String, Vec<GivenRow>>,
    digest: String,
}

/// One name of one document.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct GivenRow {
    pub(super) surface: String,
    /// Which occurrence of the surface, from 1.
    pub(super) nth: usize,
    pub(super) entity_type: EntityType,
    pub(super) entity: Option<String>,
}

/// Why the table cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum GivenError {
    /// The file cannot be read.
    #[error(
        "`recognize.given` cannot be used: `{}` cannot be read: {source}\nhint: give the absolute path of a table with \
         the columns path, surface, nth, type and, if wanted, entity",
        path.display()
    )]
    File {
        /// Its path.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A line of it is wrong.
    #[error("`recognize.given` cannot be used: {}:{line}: {why}\nhint: {hint}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// From 1.
        line: usize,
        /// What is wrong.
        why: String,
        /// What to do about it.
        hint: &'static str,
    },
}

/// The error in a line, and a hint.
pub(crate) type Wrong = (String, &'static str);

impl GivenNames {
    /// Reads the table that the settings name, if any.
    ///
    /// # Errors
    /// [`GivenError`] when it cannot be read, or has a wrong line.
    pub fn open(settings: &config::settings::Recognize) -> Result<Option<Arc<Self>>, GivenError> {
        if settings.given.is_empty() {
            return Ok(None);
        }
        let path = PathBuf::from(&settings.given);
        let text = read(&path).map_err(|source| GivenError::File { path: path.clone(), source })?;
        let names = GivenNames::of(&text);
        let names =
            names.map_err(|(line, (why, hint))| GivenError::Line { path, line, why, hint })?;
        Ok(Some(Arc::new(names)))
    }

    /// Parses the text of a table; an error has the number of the line.
    pub fn of(text: &str) -> Result<Self, (usize, Wrong)> {
        let digest = format!("{:032x}", xxhash_rust::xxh3::xxh3_128(text.as_bytes()));
        Ok(GivenNames { by_path: parse(text)?, digest })
    }

    /// Returns a hash of the table, which is part of the index's fingerprint: another table needs another index.
    pub fn digest(&self) -> &str {
        &self.digest
    }
}

fn read(path: &Path) -> io::Result<String> {
    let found = std::fs::metadata(path)?;
    let refused = |why: String| Err(io::Error::new(io::ErrorKind::InvalidInput, why));
    if !found.is_file() {
        return refused("it is not a file".to_string());
    }
    if found.len() > MAX_TABLE_BYTES {
        return refused(format!("it is longer than {MAX_TABLE_BYTES} bytes"));
    }
    let bytes = std::fs::read(path)?;
    String::from_utf8(bytes).or_else(|_| refused("it is not UTF-8".to_string()))
}

fn parse(text: &str) -> Result<FxHashMap<String, Vec<GivenRow>>, (usize, Wrong)> {
    let mut lines = text.trim_start_matches('\u{feff}').lines().enumerate();
    let header: Vec<&str> = lines.next().map_or(Vec::new(), |(_, line)| line.split('\t').collect());
    if header != COLUMNS && header.split_last() != Some((&"entity", &COLUMNS[..])) {
        return Err((1, ("is not the header of such a table".to_string(), HEADER_HINT)));
    }
    let mut by_path: FxHashMap<String, Vec<GivenRow>> = FxHashMap::default();
    let mut seen: BTreeSet<(&str, &str, &str)> = BTreeSet::new();
    for (idx, line) in lines.filter(|(_, line)| !line.trim().is_empty()) {
        let at = |wrong: Wrong| (idx + 1, wrong);
        let cells: Vec<&str> = line.split('\t').collect();
        let path = path_of(cells.first().copied().unwrap_or_default()).map_err(at)?;
        let rows = by_path.entry(path.to_string()).or_default();
        match cells.as_slice() {
            // A path alone: the entry above is enough, so that the document has no names.
            [_, rest @ ..] if rest.iter().all(|cell| cell.is_empty()) => {}
            [_, surface, nth, kind, rest @ ..] if cells.len() == header.len() => {
                let entity = rest.first().copied().unwrap_or_default();
                rows.push(row([surface, nth, kind, entity]).map_err(at)?);
                if !seen.insert((path, *surface, *nth)) {
                    let why = format!("`{path}` has `{surface}` number {nth} twice");
                    return Err(at((why, "leave one of the two lines")));
                }
            }
            _ => {
                let why = format!("{} columns were expected, not {}", header.len(), cells.len());
                return Err(at((why, COLUMNS_HINT)));
            }
        }
    }
    Ok(by_path)
}

/// Checks that a path is inside the project's folder.
fn path_of(cell: &str) -> Result<&str, Wrong> {
    let is_inside = Path::new(cell).components().all(|part| matches!(part, Component::Normal(_)));
    match is_inside && !cell.is_empty() {
        true => Ok(cell),
        false => Err((format!("`{cell}` is no path of a document"), PATH_HINT)),
    }
}

fn row([surface, nth, kind, entity]: [&str; 4]) -> Result<GivenRow, Wrong> {
    for name in [Some(surface), Some(entity).filter(|it| !it.is_empty())].into_iter().flatten() {
        if name.len() > MAX_SURFACE_BYTES {
            return Err((format!("`{name}` is longer than {MAX_SURFACE_BYTES} bytes"), NAME_HINT));
        }
        if !name.chars().any(char::is_alphanumeric) {
            return Err((format!("`{name}` has no letter or digit"), NAME_HINT));
        }
    }
    let number = nth.parse().ok().filter(|nth| *nth > 0);
    let nth = number.ok_or_else(|| (format!("`{nth}` is no number from 1 on"), NTH_HINT))?;
    let entity_type = EntityType::parse(kind).filter(|kind| {
        // Steps are recognized by their form, and documents are not names in a text.
        !matches!(kind, EntityType::Step | EntityType::Document)
    });
    let entity_type = entity_type.ok_or_else(|| (format!("`{kind}` is no type"), TYPE_HINT))?;
    let entity = Some(entity.to_string()).filter(|it| !it.is_empty());
    Ok(GivenRow { surface: surface.to_string(), nth, entity_type, entity })
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    #[test]
    fn rows_go_by_document_and_a_path_alone_names_nothing() {
        let text = "path\tsurface\tnth\ttype\tentity\na.md\tKMS\t2\tService\tKey Management Service\n\
                    b.md\na.md\tAda\t1\tperson\t\nc.md\t\t\t\t\n";
        let by_path = parse(text).expect("sound");
        assert_eq!(by_path["a.md"].len(), 2);
        assert_eq!(by_path["a.md"][0].entity.as_deref(), Some("Key Management Service"));
        assert_eq!(by_path["a.md"][1].entity_type, EntityType::Person);
        assert_eq!(by_path["a.md"][1].entity, None);
        assert!(by_path["b.md"].is_empty() && by_path["c.md"].is_empty());
        assert_eq!(parse("path\tsurface\tnth\ttype\n").map(|it| it.len()), Ok(0));
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line() {
        let long = "x".repeat(MAX_SURFACE_BYTES + 1);
        let rows = [
            "a.md\tKMS\t0\tService\tx",
            "a.md\tKMS\tone\tService\tx",
            "a.md\tKMS\t1\tGadget\tx",
            "a.md\tKMS\t1\tStep\tx",
            "a.md\tKMS\t1\tService",
            "../a.md\tKMS\t1\tService\tx",
            "/a.md\tKMS\t1\tService\tx",
            "\tKMS\t1\tService\tx",
            "a.md\t--\t1\tService\tx",
            "a.md\tKMS\t1\tService\t--",
            "a.md\tAda\t1\tPerson\tAda",
            &format!("a.md\t{long}\t1\tService\tx"),
        ];
        let mut out = String::new();
        for row in rows {
            let text = format!(
                "path\tsurface\tnth\ttype\tentity\na.md\tAda\t1\tPerson\tAda Moreno\n{row}\n"
            );
            let (line, (why, hint)) = parse(&text).expect_err("wrong");
            assert!(!hint.is_empty());
            out.push_str(&format!("{line}: {}\n", why.replace(&long, "x…x")));
        }
        for text in ["", "a.md\tAda\t1\tPerson\n", "path,surface,nth,type\n"] {
            let (line, (why, _)) = parse(text).expect_err("wrong");
            out.push_str(&format!("{line}: {why}\n"));
        }
        expect![[r#"
            3: `0` is no number from 1 on
            3: `one` is no number from 1 on
            3: `Gadget` is no type
            3: `Step` is no type
            3: 5 columns were expected, not 4
            3: `../a.md` is no path of a document
            3: `/a.md` is no path of a document
            3: `` is no path of a document
            3: `--` has no letter or digit
            3: `--` has no letter or digit
            3: `a.md` has `Ada` number 1 twice
            3: `x…x` is longer than 120 bytes
            1: is not the header of such a table
            1: is not the header of such a table
            1: is not the header of such a table
        "#]]
        .assert_eq(&out);
    }
}
