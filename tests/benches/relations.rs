//! Relations: how many annotated relations are found, by the words between names, by grammar, and
//! by both; and a sample of relations in folders, for judges.
//!
//! `cargo bench -p tests --bench relations -- score DATA CORPUS`: given the gold mentions and their
//! coreference, finds the relations of `DATA/redocred`, `DATA/semeval2010_task8` and of the tuning
//! half of `CORPUS`. Prints precision, recall and F1 as `DATA/score/rel_score.py` defines them: of
//! pairs (is there a relation from A to B), and typed, for the predicates that correspond to a
//! label of the set.
//!
//! `… -- sample SEED N FOLDER=COMMIT...`: N relations of the folders' documents, read deeply, drawn
//! by SEED, one line of JSON each with path, span, sentence and claim; `COMMIT` identifies the
//! folder. `tests/relations/judge.py` turns it into sheets for judges, and into the committed table
//! of verdicts.

#![allow(clippy::print_stdout, reason = "a bench prints its table")]

#[path = "relations/corpus.rs"]
mod corpus;
#[path = "relations/page.rs"]
mod page;
#[path = "relations/sample.rs"]
mod sample;
#[path = "relations/sets.rs"]
mod sets;
mod support;

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Result, bail};

fn main() -> Result<()> {
    let arguments = support::arguments();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments.as_slice() {
        ["score", data, corpus] => score(Path::new(data), Path::new(corpus)),
        ["sample", seed, n, folders @ ..] if !folders.is_empty() => {
            sample::print(seed.parse()?, n.parse()?, folders)
        }
        _ => bail!("what? hint: … -- score DATA CORPUS, or … -- sample SEED N FOLDER=COMMIT..."),
    }
}

fn score(data: &Path, corpus: &Path) -> Result<()> {
    println!(
        "{:<34} {:<10} {:>6} {:>6} {:>6}  {:>6} {:>6} {:>6}",
        "set", "source", "P", "R", "F1", "right", "found", "gold"
    );
    sets::redocred(&data.join("redocred/dev.jsonl"))?;
    sets::semeval(&data.join("semeval2010_task8/dev.jsonl"))?;
    corpus::tuning_half(corpus)
}

/// Kinds of evidence that count.
pub(crate) const SOURCES: [&str; 3] = ["words", "grammar", "both"];

/// Returns whether a result comes from a source: words and structure of a swift reading; grammar
/// alone; a deep reading.
pub(crate) fn is_of(source: &str, found: &page::Found) -> bool {
    match source {
        "words" => found.is_swift,
        "grammar" => !found.is_swift && found.pattern.starts_with("depend:"),
        _ => !found.is_swift,
    }
}

/// Prints a line of precision, recall and F1.
pub(crate) fn line<T: Ord>(set: &str, source: &str, gold: &BTreeSet<T>, found: &BTreeSet<T>) {
    let right = gold.intersection(found).count();
    let share = |of: usize| if of == 0 { 0.0 } else { right as f64 / of as f64 };
    let (precision, recall) = (share(found.len()), share(gold.len()));
    let f1 = if right == 0 { 0.0 } else { 2.0 * precision * recall / (precision + recall) };
    println!(
        "{set:<34} {source:<10} {precision:6.3} {recall:6.3} {f1:6.3}  {right:6} {:6} {:6}",
        found.len(),
        gold.len()
    );
}
