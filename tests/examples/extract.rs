//! Reads every file of a folder in the same way as kgd, in process, and prints one JSON line each,
//! for scorers of extracted text.
//!
//! `cargo run -p tests --example extract -- FOLDER > found.jsonl`: `id` is the file's name without
//! extension, `text` the normalized text, followed by title, author, date, stated language, pages,
//! headings and links. A file that cannot be read has an empty text and an `error`. Files are read
//! from FOLDER itself, in the order of their names.
//!
//! `… extract -- FOLDER --gold GOLD` prints scores instead, one line per document and their means
//! at the end: F1 of words and F1 of runs of four words, both as bags. GOLD is JSON lines with `id`
//! and `text`.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;

use anyhow::Context as _;
use formats::Normalizer;
use model::Stage as _;
use model::document::{BlockKind, Document, SourceDoc};
use model::terms::{ContentHash, RelPath};
use serde_json::{Value, json};
use tests::score::{Bag, words_of};

fn main() -> anyhow::Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let (folder, gold) = match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [folder] => (folder, None),
        [folder, "--gold", gold] => (folder, Some(gold)),
        _ => anyhow::bail!("usage: extract FOLDER [--gold GOLD]"),
    };
    let lines = read_all(folder)?;
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    match gold {
        Some(gold) => score(&lines, gold, &mut out),
        None => lines.iter().try_for_each(|line| Ok(writeln!(out, "{line}")?)),
    }
}

fn read_all(folder: &str) -> anyhow::Result<Vec<Value>> {
    let watch = config::settings::Watch { max_file_bytes: 200_000_000, ..Default::default() };
    let mut normalizer = Normalizer::new(&watch, &Default::default());
    let entries = std::fs::read_dir(folder).with_context(|| format!("cannot list `{folder}`"))?;
    let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    paths.iter().filter(|path| path.is_file()).map(|path| read(&mut normalizer, path)).collect()
}

/// Prints how well each text agrees with its gold text; a missing text scores 0.
fn score(lines: &[Value], gold: &str, out: &mut impl std::io::Write) -> anyhow::Result<()> {
    let found: BTreeMap<&str, &str> = lines
        .iter()
        .filter_map(|line| Some((line["id"].as_str()?, line["text"].as_str()?)))
        .collect();
    let gold = std::fs::read_to_string(gold).with_context(|| format!("cannot read `{gold}`"))?;
    let (mut n, mut sums) = (0.0, [0.0; 2]);
    for line in gold.lines().filter(|line| !line.trim().is_empty()) {
        let line: Value = serde_json::from_str(line).context("gold is not JSON lines")?;
        let id = line["id"].as_str().context("a gold text without `id`")?;
        let wanted = words_of(line["text"].as_str().unwrap_or(""));
        let text = words_of(found.get(id).copied().unwrap_or(""));
        let scores = [1, 4].map(|n_words| Bag::of(&wanted, n_words).f1(&Bag::of(&text, n_words)));
        writeln!(out, "{:.4} {:.4} {id}", scores[0], scores[1])?;
        n += 1.0;
        sums = [sums[0] + scores[0], sums[1] + scores[1]];
    }
    writeln!(out, "{n} documents: word F1 {:.4}, shingle F1 {:.4}", sums[0] / n, sums[1] / n)?;
    Ok(())
}

fn read(normalizer: &mut Normalizer, path: &Path) -> anyhow::Result<Value> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let bytes = std::fs::read(path).with_context(|| format!("cannot read `{}`", path.display()))?;
    let path = RelPath::new(name);
    let id = path.stem().to_string();
    let hash = ContentHash::of(&bytes);
    let source =
        SourceDoc { path, bytes: Arc::from(bytes), hash, mtime_ms: 0, pass: Default::default() };
    Ok(match normalizer.run(source) {
        Ok(doc) => line_of(&id, &doc),
        Err(fault) => json!({ "id": id, "text": "", "error": format!("{fault:?}") }),
    })
}

fn line_of(id: &str, doc: &Document) -> Value {
    let is_heading = |kind: &BlockKind| matches!(kind, BlockKind::Heading(_));
    let headings = doc.blocks.iter().filter(|block| is_heading(&block.kind));
    let headings: Vec<&str> = headings.map(|block| block.span.of(&doc.text)).collect();
    json!({
        "id": id,
        "text": doc.text,
        "title": doc.title,
        "author": doc.meta.author,
        "date": doc.meta.date,
        "language": doc.meta.language,
        "n_pages": doc.pages.len(),
        "headings": headings,
        "n_links": doc.links.len(),
        "warnings": doc.warnings,
    })
}
