//! DOCX: how much text of real documents is read, and at what cost against the bare libraries.
//!
//! `cargo bench -p tests --bench docx -- FOLDER [OUT.jsonl]`: reads every `.docx` of a folder in
//! the same way as the daemon. Prints documents and megabytes per second, and the same for a pass
//! that inflates the same bodies and only counts their XML, alternating. With OUT, writes a line
//! `{"id", "text"}` per document for `score/text_score.py`.
//! `tests/formats/docx/run.sh` compares other readers on the same files.

#![allow(clippy::print_stdout, reason = "a bench prints its table")]

use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context as _, Result};
use formats::Normalizer;
use model::Stage as _;
use model::document::SourceDoc;
use model::terms::{ContentHash, RelPath};

/// Rounds over all files; the fastest counts.
const N_ROUNDS: usize = 15;

fn main() -> Result<()> {
    let arguments: Vec<String> =
        std::env::args().skip(1).filter(|a| !a.starts_with("--")).collect();
    let Some(folder) = arguments.first() else {
        println!("usage: cargo bench -p tests --bench docx -- FOLDER [OUT.jsonl]");
        return Ok(());
    };
    let documents = documents_in(Path::new(folder))?;
    let n_bytes: usize = documents.iter().map(|(_, bytes)| bytes.len()).sum();
    let settings = config::settings::Watch { max_file_bytes: 64 << 20, ..Default::default() };
    let mut normalizer = Normalizer::new(&settings, &Default::default());
    let mut out = Vec::new();
    let mut n_failed = 0;
    for (path, bytes) in &documents {
        match normalizer.run(source(path, bytes)) {
            Ok(doc) => {
                let id = path.file_stem().unwrap_or_default().to_string_lossy();
                out.push(serde_json::json!({"id": id, "text": doc.text}).to_string());
                doc.warnings.iter().for_each(|warning| println!("{}: {warning}", path.display()));
            }
            Err(fault) => {
                n_failed += 1;
                println!("{}: {}", path.display(), fault.reason);
            }
        }
    }
    if let Some(to) = arguments.get(1) {
        std::fs::File::create(to)?.write_all((out.join("\n") + "\n").as_bytes())?;
    }
    let (mut ours, mut bare, mut n_events) = (f64::MAX, f64::MAX, 0);
    for _ in 0..N_ROUNDS {
        let began = Instant::now();
        for (path, bytes) in &documents {
            let _ = normalizer.run(source(path, bytes));
        }
        ours = ours.min(began.elapsed().as_secs_f64());
        let began = Instant::now();
        n_events = documents.iter().filter_map(|(_, bytes)| count(bytes)).sum();
        bare = bare.min(began.elapsed().as_secs_f64());
    }
    let n = documents.len();
    let megabytes = n_bytes as f64 / 1e6;
    println!("{n} documents, {megabytes:.2} MB packed, {n_failed} not read");
    for (name, seconds) in [("kgd", ours), ("zip + quick-xml, only counting", bare)] {
        println!("{name}: {:.0} documents/s, {:.1} MB/s", n as f64 / seconds, megabytes / seconds);
    }
    println!("{n_events} XML events; {:.2} × the bare libraries", ours / bare);
    Ok(())
}

fn documents_in(folder: &Path) -> Result<Vec<(PathBuf, Vec<u8>)>> {
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder)
        .with_context(|| format!("no folder `{}`", folder.display()))?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "docx"))
        .collect();
    paths.sort();
    paths.into_iter().map(|path| Ok((path.clone(), std::fs::read(path)?))).collect()
}

fn source(path: &Path, bytes: &[u8]) -> SourceDoc {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let hash = ContentHash::of(bytes);
    SourceDoc {
        path: RelPath::new(&*name),
        bytes: bytes.into(),
        hash,
        mtime_ms: 0,
        pass: Default::default(),
    }
}

/// Inflates the body, styles, lists and notes, and counts their XML events.
fn count(bytes: &[u8]) -> Option<usize> {
    let archive = rawzip::ZipArchive::from_slice(bytes).ok()?;
    let mut entries = archive.entries();
    let mut n_events = 0;
    while let Ok(Some(entry)) = entries.next_entry() {
        let path = entry.file_path();
        let name = String::from_utf8_lossy(path.as_ref()).into_owned();
        let is_read = ["document", "styles", "numbering", "footnotes", "endnotes"]
            .iter()
            .any(|part| name == format!("word/{part}.xml"));
        if !is_read {
            continue;
        }
        let entry = archive.get_entry(entry.wayfinder()).ok()?;
        let mut xml = String::new();
        flate2::bufread::DeflateDecoder::new(entry.data()).read_to_string(&mut xml).ok()?;
        let mut reader = quick_xml::Reader::from_str(&xml);
        while !matches!(reader.read_event().ok()?, quick_xml::events::Event::Eof) {
            n_events += 1;
        }
    }
    Some(n_events)
}
