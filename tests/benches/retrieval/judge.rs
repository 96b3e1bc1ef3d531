//! Judge: scores run files with the data's own scorer, set by set and over all sets together.
//!
//! In: run files and judgments, ids prefixed by their set. Out: a table on standard output.
//! Not here: the measures themselves (the scorer has them).

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::FORMULAS;
use super::set::Set;

/// What the table shows.
const MEASURES: [&str; 4] = ["nDCG@10", "Recall@5", "Recall@10", "MRR@10"];

/// The name under which all sets are judged together.
const ALL: &str = "all";

/// Collects runs and judgments of every set.
pub(crate) struct Judge {
    scorer: PathBuf,
    folder: PathBuf,
    sets: Vec<String>,
}

impl Judge {
    /// One that writes into `folder` and asks `scorer`.
    pub(crate) fn new(scorer: PathBuf, folder: PathBuf) -> Self {
        Judge { scorer, folder, sets: Vec::new() }
    }

    /// Where a run belongs.
    pub(crate) fn run_path(&self, set: &str, formula: &str) -> PathBuf {
        self.folder.join(format!("{set}.{formula}.run"))
    }

    fn judgments_path(&self, set: &str) -> PathBuf {
        self.folder.join(format!("{set}.qrels"))
    }

    /// Scores one run and prints its line.
    pub(crate) fn judge(&mut self, set: &Set, formula: &str, each_ms: f64) -> Result<()> {
        if !self.sets.contains(&set.name) {
            let name = &set.name;
            let row = |(query, document, gain): &(String, String, String)| {
                format!("{name}:{query}\t{name}:{document}\t{gain}\n")
            };
            fs::write(
                self.judgments_path(name),
                set.judgments.iter().map(row).collect::<String>(),
            )?;
            self.sets.push(name.clone());
        }
        println!("  {} {each_ms:6.2} ms a query", self.line(&set.name, formula)?);
        Ok(())
    }

    /// Prints all sets together, and hybrid against each single signal.
    pub(crate) fn verdict(&self) -> Result<()> {
        self.concatenate()?;
        println!("{ALL} sets together, every query counting once:");
        for formula in FORMULAS {
            println!("  {}", self.line(ALL, formula)?);
        }
        println!("hybrid minus each single signal, mean and 95 % interval by paired bootstrap:");
        for set in self.sets.iter().map(String::as_str).chain([ALL]) {
            for other in ["text", "vector"] {
                let outcome =
                    self.score(set, other, &["--compare", &text(&self.run_path(set, "hybrid"))])?;
                let differences = outcome.lines().filter_map(|row| row.strip_prefix("diff_"));
                let differences: Vec<String> =
                    differences.map(|row| row.replace('\t', " ")).collect();
                println!("  {set:<12} - {other:<7} {}", differences.join("; "));
            }
        }
        Ok(())
    }

    fn concatenate(&self) -> Result<()> {
        let join = |part: &dyn Fn(&str) -> PathBuf| -> Result<()> {
            let mut whole = Vec::new();
            for set in &self.sets {
                whole.extend(fs::read(part(set))?);
            }
            Ok(fs::write(part(ALL), whole)?)
        };
        join(&|set| self.judgments_path(set))?;
        FORMULAS.iter().try_for_each(|formula| join(&|set| self.run_path(set, formula)))
    }

    fn line(&self, set: &str, formula: &str) -> Result<String> {
        let output = self.score(set, formula, &["--ci"])?;
        let rows: BTreeMap<&str, &str> =
            output.lines().filter_map(|row| row.split_once('\t')).collect();
        let value = |name: &str| {
            let found = rows.get(name).copied();
            found.with_context(|| format!("no {name} in {output}"))
        };
        let mut line = format!("{formula:<7}");
        for measure in MEASURES {
            line.push_str(&format!(" {measure} {:<7}", value(measure)?));
        }
        let interval = value(&format!("{}_ci95", MEASURES[0]))?;
        line.push_str(&format!("  95 % of {}: {interval}", MEASURES[0]));
        Ok(line)
    }

    fn score(&self, set: &str, formula: &str, more: &[&str]) -> Result<String> {
        let output = Command::new("python3")
            .arg(&self.scorer)
            .args([self.judgments_path(set), self.run_path(set, formula)])
            .args(["--metrics", &MEASURES.join(",")])
            .args(more)
            .output()
            .context("python3 does not start")?;
        if !output.status.success() {
            bail!("the scorer failed: {}", String::from_utf8_lossy(&output.stderr));
        }
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_string())
    }
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
