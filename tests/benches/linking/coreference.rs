//! Coreference: encyclopedia abstracts with given mentions, and which mentions of a document denote
//! the same thing.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};
use model::terms::{EntityType, norm_of};
use serde::Deserialize;

use super::linker::{Denoted, Given, Linker};

#[derive(Deserialize)]
struct Page {
    id: String,
    text: String,
    spans: Vec<Vec<[usize; 2]>>,
    types: Vec<String>,
}

/// Maps the set's types to ours. Its `NUM` has no equivalent; such mentions link only exactly.
fn type_of(name: &str) -> EntityType {
    match name {
        "PER" => EntityType::Person,
        "ORG" => EntityType::Organization,
        "LOC" => EntityType::Location,
        "TIME" => EntityType::Date,
        "NUM" => EntityType::Identifier,
        _ => EntityType::Concept,
    }
}

pub(crate) fn run(data: &Path) -> Result<()> {
    let text = std::fs::read_to_string(data.join("redocred/dev.jsonl"))?;
    let pages: Vec<Page> = text.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
    let mut linker = Linker::new()?;
    // Item, gold cluster, document, span, surface.
    let mut items = Vec::new();
    let mut n_lost = 0;
    for page in &pages {
        let path = format!("{}.txt", page.id);
        let normal = linker.normal(&path, &page.text)?;
        let bytes: Vec<usize> =
            page.text.char_indices().map(|(at, _)| at).chain([page.text.len()]).collect();
        let mut given = Vec::new();
        for (entity, (spans, kind)) in page.spans.iter().zip(&page.types).enumerate() {
            for (i, [start, end]) in spans.iter().enumerate() {
                let (start, end) = (bytes[*start], bytes[*end]);
                let surface = page.text.get(start..end).unwrap_or_default();
                if normal.text.get(start..end) != Some(surface) {
                    n_lost += 1;
                    continue;
                }
                given.push(Given { start, end, entity_type: type_of(kind) });
                let item = format!("{}:{entity}:{i}", page.id);
                items.push((
                    item,
                    format!("{}:{entity}", page.id),
                    path.clone(),
                    (start, end),
                    surface.to_string(),
                ));
            }
        }
        linker.add_given(&path, &page.text, given);
    }
    linker.settle(&BTreeMap::new())?;
    let (mut gold, mut linked, mut equal) = (String::new(), String::new(), String::new());
    let (mut n_unsure, mut n_unknown) = (0, 0);
    for (item, cluster, path, (start, end), surface) in &items {
        writeln!(gold, "{item}\t{cluster}")?;
        writeln!(equal, "{item}\t{path}:{}", norm_of(surface))?;
        match linker.denoted(path, *start, *end)? {
            Some(Denoted::Entity(entity, _)) => writeln!(linked, "{item}\t{path}:{entity}")?,
            Some(Denoted::Unsure) => n_unsure += 1,
            None => n_unknown += 1,
        }
    }
    if let Ok(to) = std::env::var("KG_SHOW") {
        let to = Path::new(&to);
        std::fs::write(to.join("gold.tsv"), &gold)?;
        std::fs::write(to.join("linked.tsv"), &linked)?;
    }
    println!(
        "  redocred: {} documents, {} mentions ({n_lost} lost, {n_unknown} unknown, {n_unsure} unsure)",
        pages.len(),
        items.len()
    );
    println!("    {}", linker.states()?);
    println!("    equal norms  {}", score(data, &gold, &equal)?);
    println!("    linked       {}", score(data, &gold, &linked)?);
    Ok(())
}

/// Returns the output of `cluster_score.py`, on one line.
fn score(data: &Path, gold: &str, predicted: &str) -> Result<String> {
    let folder = tempfile::tempdir()?;
    let [one, other] = ["gold.tsv", "predicted.tsv"].map(|it| folder.path().join(it));
    std::fs::write(&one, gold)?;
    std::fs::write(&other, predicted)?;
    let script = data.join("score/cluster_score.py");
    let output = Command::new("python3").arg(script).args([&one, &other]).output()?;
    if !output.status.success() {
        bail!("cluster_score.py: {}", String::from_utf8_lossy(&output.stderr));
    }
    let scores: serde_json::Value = serde_json::from_slice(&output.stdout)?;
    let mut out = Vec::new();
    for measure in ["pairwise", "ceaf_e", "b_cubed", "muc"] {
        let part = |name: &str| scores[measure][name].as_f64().context("no such score");
        out.push(format!("{measure} P {} R {} F1 {}", part("P")?, part("R")?, part("F1")?));
    }
    Ok(out.join("; "))
}
