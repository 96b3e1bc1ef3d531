//! Linking: quality of name linking with given mentions, through the product's own stages and
//! writer.
//!
//! `cargo bench -p tests --bench linking -- DATA_DIR [PART...]` prints, next to the result of
//! comparing norms alone: `records` (er_abt_buy, er_dblp_acm, any folder with a.jsonl, b.jsonl,
//! matches.tsv): precision, recall and F1 of pairs; `links` (any folder with vault/, also of DATA_DIR/facts): whether
//! links lead where those of a site would; `anchors` (vault_*): which note a phrase names; `coreference` (redocred):
//! pairwise F1 and CEAF-e, by `DATA_DIR/score/cluster_score.py`.
//! All parts use the default settings.

#![allow(clippy::print_stdout, reason = "a bench prints its table")]

#[path = "linking/anchors.rs"]
mod anchors;
#[path = "linking/coreference.rs"]
mod coreference;
#[path = "linking/linker.rs"]
mod linker;
#[path = "linking/links.rs"]
mod links;
#[path = "linking/records.rs"]
mod records;
mod support;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

fn main() -> Result<()> {
    let mut arguments = support::arguments().into_iter();
    let data =
        PathBuf::from(arguments.next().context(
            "which data? hint: cargo bench -p tests --bench linking -- DATA_DIR [PART...]",
        )?);
    let wanted: Vec<String> = arguments.collect();
    let is_wanted = |part: &str| wanted.is_empty() || wanted.iter().any(|it| it == part);
    if is_wanted("records") {
        println!("records: pairs of two lists that are one thing");
        for folder in folders_with(&data, "matches.tsv")? {
            records::run(&folder)?;
        }
    }
    if is_wanted("links") {
        println!("links: whether they lead to the file that a site made of the folder would show");
        for folder in folders_with(&data, "vault")? {
            links::run(&folder)?;
        }
        if data.join("facts").is_dir() {
            folders_with(&data.join("facts"), "vault")?.iter().try_for_each(|it| links::run(it))?;
        }
    }
    if is_wanted("anchors") {
        println!("anchors: which note does this phrase name");
        for folder in folders_with(&data, "anchors.tsv")? {
            anchors::run(&folder)?;
        }
    }
    if is_wanted("coreference") {
        println!("coreference: which mentions of a document are one thing (mentions given)");
        coreference::run(&data)?;
    }
    Ok(())
}

/// Returns the folders of `data` that have a file or folder of this name, by name.
fn folders_with(data: &Path, file: &str) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(data)? {
        let folder = entry?.path();
        if folder.join(file).exists() {
            found.push(folder);
        }
    }
    found.sort();
    Ok(found)
}
