//! Formats: speed of reading files, against the bare parser on the same files in the same run.
//!
//! `cargo bench -p tests --bench formats -- FOLDER…` reads every `.html`, `.htm` and `.md` below;
//! without a folder, the sample corpus. Ours is the whole normalize stage: decoding, redaction, the
//! format, the map, titles, links, language; `allowed` is the same without the search for secrets,
//! which no parser does. Bare is html5ever with its tree builder and the smallest tree, or
//! pulldown-cmark's events with the same extensions, from decoded text. Rounds alternate; the
//! median CPU time is printed.

#![allow(clippy::print_stdout, reason = "a bench prints its table")]

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use config::settings::Privacy;
use formats::Normalizer;
use model::Stage as _;
use model::document::SourceDoc;
use model::terms::{ContentHash, RelPath};

#[path = "formats/tree.rs"]
mod tree;

const N_ROUNDS: usize = 7;
/// Each round reads at least this many bytes: the clock advances by 4 ms on some kernels, and the
/// bare parser reads 300 MB per second.
const MIN_BYTES: usize = 64_000_000;

fn main() {
    let mut folders: Vec<PathBuf> =
        std::env::args().skip(1).filter(|arg| !arg.starts_with("--")).map(PathBuf::from).collect();
    if folders.is_empty() {
        folders.push(Path::new(env!("CARGO_MANIFEST_DIR")).join("../corpus/docs"));
    }
    println!(
        "format    files      MB   ours MB/s  ours docs/s   bare MB/s   ours/bare  allowed/bare (CPU time)"
    );
    let html = files(&folders, &["html", "htm"]);
    print("html", &html, |text| {
        black_box(tree::parse(text));
    });
    let markdown = files(&folders, &["md"]);
    print("markdown", &markdown, |text| {
        black_box(pulldown_cmark::Parser::new_ext(text, options()).into_offset_iter().count());
    });
}

fn options() -> pulldown_cmark::Options {
    use pulldown_cmark::Options;
    Options::ENABLE_TABLES
        | Options::ENABLE_FOOTNOTES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_MATH
        | Options::ENABLE_WIKILINKS
}

/// Reads the files that are text, with their names.
fn files(folders: &[PathBuf], extensions: &[&str]) -> Vec<(String, String)> {
    let mut open = folders.to_vec();
    let mut found = Vec::new();
    while let Some(folder) = open.pop() {
        let Ok(entries) = std::fs::read_dir(&folder) else { continue };
        for path in entries.flatten().map(|entry| entry.path()) {
            let extension = path.extension().unwrap_or_default().to_string_lossy().to_lowercase();
            if path.is_dir() && !path.is_symlink() {
                open.push(path);
            } else if extensions.contains(&&*extension)
                && let Ok(text) = std::fs::read_to_string(&path)
            {
                let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
                found.push((name, text));
            }
        }
    }
    found.sort();
    found
}

fn print(name: &str, files: &[(String, String)], bare: impl Fn(&str)) {
    let n_bytes: usize = files.iter().map(|(_, text)| text.len()).sum();
    if n_bytes == 0 {
        println!("{name:<9} no files");
        return;
    }
    let n_times = MIN_BYTES.div_ceil(n_bytes);
    let (mut took, mut bare_took) = ([Vec::new(), Vec::new()], Vec::new());
    let allowing = Privacy { allow_paths: vec!["**".to_string()], ..Default::default() };
    let mut normalizers =
        [Privacy::default(), allowing].map(|it| Normalizer::new(&Default::default(), &it));
    for _ in 0..N_ROUNDS {
        bare_took.push(timed(|| {
            (0..n_times).for_each(|_| files.iter().for_each(|(_, text)| bare(text)))
        }));
        for (normalizer, took) in normalizers.iter_mut().zip(&mut took) {
            let sources: Vec<SourceDoc> = (0..n_times)
                .flat_map(|_| files.iter().map(|(name, text)| source(name, text)))
                .collect();
            took.push(timed(|| {
                for source in sources {
                    let _ = black_box(normalizer.run(source));
                }
            }));
        }
    }
    let ([ours, allowed], bare) = (took.map(median), median(bare_took));
    let n_read = (n_times * n_bytes) as f64 / 1e6;
    println!(
        "{name:<9} {:>5} {:>7.2} {:>11.1} {:>12.0} {:>11.1} {:>11.2} {:>13.2}",
        files.len(),
        n_bytes as f64 / 1e6,
        n_read / ours,
        (n_times * files.len()) as f64 / ours,
        n_read / bare,
        ours / bare,
        allowed / bare
    );
}

fn source(name: &str, text: &str) -> SourceDoc {
    SourceDoc {
        path: RelPath::new(name),
        bytes: Arc::from(text.as_bytes()),
        hash: ContentHash(0),
        mtime_ms: 0,
        pass: Default::default(),
    }
}

/// Returns the CPU time of some work on this thread, without the time in which others ran.
fn timed(work: impl FnOnce()) -> Duration {
    let start = on_cpu();
    work();
    on_cpu().saturating_sub(start)
}

/// Returns how long this thread has run.
fn on_cpu() -> Duration {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux");
    let first = stat.split(' ').next().and_then(|field| field.parse().ok());
    Duration::from_nanos(first.expect("a number"))
}

fn median(mut times: Vec<Duration>) -> f64 {
    times.sort();
    times[times.len() / 2].as_secs_f64()
}
