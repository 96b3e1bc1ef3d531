//! Names: writes the training examples, one JSON line for each name that kgd finds, with its possible kinds and its
//! features.
//!
//! In: annotated texts (`marked.rs`), and folders with more texts. Out: the file, which `teacher.py` also reads.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use extract::recognize::typing::{Context, is_open, see, sides};
use model::document::Document;
use serde_json::json;

use super::PILE;
use crate::marked::{Kinds, Marked, SETS, Set, kinds_of};
use crate::reader::Reader;

/// Bytes of context on each side that the larger model reads.
const REACH: usize = 240;
/// Most examples of one name from texts without annotations.
const MAX_ALIKE: usize = 12;

/// Writes all names.
pub(crate) fn write(data: &Path, corpus: &Path, folders: &[&Path], out: &Path) -> Result<()> {
    let mut reader = Reader::new();
    let mut file = BufWriter::new(File::create(out).with_context(|| out.display().to_string())?);
    for (number, set) in SETS.iter().enumerate() {
        let texts = set.texts(if set.name == "real" { corpus } else { data })?;
        let mut n = 0;
        for (at, marked) in texts.iter().enumerate() {
            let doc = reader.mentioned(&marked.text)?;
            n += add(&doc, (number, at), Some((set, marked)), &mut file)?;
        }
        println!("{}: {} texts, {n} names", set.name, texts.len());
    }
    let mut alike: BTreeMap<String, usize> = BTreeMap::new();
    let (texts, mut n) = (texts_below(folders)?, 0);
    for (at, text) in texts.iter().enumerate() {
        let mut doc = reader.mentioned(text)?;
        doc.found.mentions.retain(|it| {
            let n = alike.entry(it.name.clone()).or_default();
            *n += 1;
            *n <= MAX_ALIKE
        });
        n += add(&doc, (PILE, at), None, &mut file)?;
    }
    println!("without marks: {} texts, {n} names", texts.len());
    Ok(file.flush()?)
}

/// Writes the names that kgd finds in a text, except those that partly overlap an annotated span.
fn add(
    doc: &Document,
    place: (usize, usize),
    marked: Option<(&Set, &Marked)>,
    out: &mut BufWriter<File>,
) -> Result<usize> {
    let context = Context::of(doc, &doc.found.mentions);
    let mut n = 0;
    for mention in doc.found.mentions.iter().filter(|it| is_open(it)) {
        let (kinds, weight) = match marked {
            None => (0, 1.0),
            Some((set, marked)) => {
                let raw = doc.map.source_range(mention.span.start(), mention.span.end());
                let Some(kinds) = kinds_at(set, marked, raw.start, raw.end) else { continue };
                (kinds, set.weight)
            }
        };
        let mut features = Vec::new();
        let texts = see(doc, mention, &context, &mut features);
        let [left, right] = sides(doc, mention);
        let line = json!({
            "set": place.0, "doc": place.1, "kinds": kinds, "weight": weight,
            "left": left.get(left.ceil_char_boundary(left.len().saturating_sub(REACH))..),
            "name": mention.span.of(&doc.text),
            "right": right.get(..right.floor_char_boundary(REACH)),
            "type": mention.entity_type.as_str(), "by": format!("{:?}", mention.recognizer),
            "code": mention.place.in_code, "heading": mention.place.in_heading,
            "guessed": mention.place.is_type_guessed, "features": features, "texts": texts,
        });
        writeln!(out, "{line}")?;
        n += 1;
    }
    Ok(n)
}

/// Returns the possible kinds of the name at a place; `None` if the annotations do not decide it.
fn kinds_at(set: &Set, marked: &Marked, start: usize, end: usize) -> Option<Kinds> {
    let mut over = marked.spans.iter().filter(|it| it.0 < end && start < it.1).peekable();
    if over.peek().is_none() {
        return Some(kinds_of(set.rest)).filter(|it| *it != 0);
    }
    set.kinds(&over.find(|it| (it.0, it.1) == (start, end))?.2)
}

/// Returns the Markdown files in folders and the documentation at the head of Rust modules, sorted by path.
fn texts_below(folders: &[&Path]) -> Result<Vec<String>> {
    let mut open: Vec<PathBuf> = folders.iter().map(|it| it.to_path_buf()).collect();
    let mut files = Vec::new();
    while let Some(folder) = open.pop() {
        let entries = std::fs::read_dir(&folder).with_context(|| folder.display().to_string())?;
        for entry in entries {
            let entry = entry?;
            let path = entry.path();
            if entry.file_type()?.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|it| it == "md" || it == "rs") {
                files.push(path);
            }
        }
    }
    files.sort();
    let mut texts = Vec::new();
    for path in files {
        let Ok(text) = std::fs::read_to_string(&path) else { continue };
        let text = match path.extension().is_some_and(|it| it == "rs") {
            true => {
                let docs = text.lines().map_while(|it| it.strip_prefix("//!"));
                docs.map(|it| format!("{}\n", it.strip_prefix(' ').unwrap_or(it))).collect()
            }
            false => text,
        };
        if text.len() > 400 {
            texts.push(text);
        }
    }
    Ok(texts)
}
