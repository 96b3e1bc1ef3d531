//! Reads every file of a folder as kgd would, in process, and prints one JSON line each, for scorers of extracted text.
//!
//! `cargo run -p tests --example extract -- FOLDER > found.jsonl`: `id` is the file's name without extension, `text` the
//! normalized text, then title, author, date, stated language, pages, headings and links. A file that cannot be read
//! has an empty text and an `error`. Files lie right in FOLDER; the order is that of their names.

use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;

use anyhow::Context as _;
use daemon::belt::Stage as _;
use daemon::pipeline::normalize::Normalizer;
use daemon::pipeline::parcel::{BlockKind, NormalDoc, SourceDoc};
use daemon::terms::{ContentHash, RelPath};
use serde_json::{Value, json};

fn main() -> anyhow::Result<()> {
    let folder = std::env::args().nth(1).context("usage: extract FOLDER")?;
    let watch = config::settings::Watch { max_file_bytes: 200_000_000, ..Default::default() };
    let mut normalizer = Normalizer::new(&watch);
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    let entries = std::fs::read_dir(&folder).with_context(|| format!("cannot list `{folder}`"))?;
    let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths.iter().filter(|path| path.is_file()) {
        writeln!(out, "{}", read(&mut normalizer, path)?)?;
    }
    Ok(())
}

fn read(normalizer: &mut Normalizer, path: &Path) -> anyhow::Result<Value> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let bytes = std::fs::read(path).with_context(|| format!("cannot read `{}`", path.display()))?;
    let path = RelPath::new(name);
    let id = path.stem().to_string();
    let hash = ContentHash::of(&bytes);
    let source = SourceDoc { path, bytes: Arc::from(bytes), hash, mtime_ms: 0 };
    Ok(match normalizer.run(source) {
        Ok(doc) => line_of(&id, &doc),
        Err(fault) => json!({ "id": id, "text": "", "error": format!("{fault:?}") }),
    })
}

fn line_of(id: &str, doc: &NormalDoc) -> Value {
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
