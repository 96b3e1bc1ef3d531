//! Pages: real Markdown and text files, without duplicates, and edited copies of them.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result};

/// Range of file sizes: smaller files are stubs, larger ones logs or data.
const FILE_BYTES: std::ops::RangeInclusive<u64> = 500..=400_000;

/// Fewest words of a line of prose: shorter ones are captions, markup and blank lines.
const PROSE_WORDS: usize = 4;

/// Returns all pages below some folders, in an order that depends only on their content.
pub(crate) fn texts(folders: &[String]) -> Result<Vec<Vec<u8>>> {
    let mut by_hash = BTreeMap::new();
    for folder in folders {
        let files = super::files_below(Path::new(folder));
        for (path, n_bytes) in files.with_context(|| format!("cannot read {folder}"))? {
            let is_text = path.extension().is_some_and(|it| it == "md" || it == "txt");
            if is_text && FILE_BYTES.contains(&n_bytes) {
                let text = std::fs::read(&path)?;
                by_hash.insert(xxhash_rust::xxh3::xxh3_128(&text), text);
            }
        }
    }
    Ok(by_hash.into_values().collect())
}

/// Writes the pages `n_copies` times; lines of prose end in different words in each copy, so that
/// no text is deduplicated.
pub(crate) fn write_copies(pages: &[Vec<u8>], n_copies: usize, to: &Path) -> Result<()> {
    for copy in 0..n_copies {
        let folder = to.join(copy.to_string());
        std::fs::create_dir_all(&folder)?;
        for (i, page) in pages.iter().enumerate() {
            let text = edited(&String::from_utf8_lossy(page), copy);
            std::fs::write(folder.join(format!("{i}.md")), text)?;
        }
    }
    Ok(())
}

fn edited(text: &str, copy: usize) -> String {
    let mut out = String::with_capacity(text.len() * 5 / 4);
    let mut is_fenced = false;
    for line in text.lines() {
        let is_fence = line.trim_start().starts_with("```");
        is_fenced ^= is_fence;
        let is_prose = line.split_whitespace().nth(PROSE_WORDS - 1).is_some();
        out.push_str(line.trim_end());
        if is_prose && !is_fence && !is_fenced && !line.trim_end().ends_with('|') {
            out.push_str(&format!(" in volume {copy}"));
        }
        out.push('\n');
    }
    out
}
