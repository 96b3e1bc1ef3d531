//! Judge: scores run files with the data's own scorer, per set and over all sets.
//!
//! In: run files and judgments, with ids prefixed by their set. Out: tables on standard output.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::Answer;
use super::ranking::{ALONE, DEFAULT};
use super::set::Set;

/// Measures in the tables; the first two are compared.
const MEASURES: [&str; 4] = ["nDCG@10", "Recall@5", "Recall@10", "MRR@10"];

/// The name of all sets together.
const ALL: &str = "all";

/// The single signals below which the default must not fall.
const SINGLE: [&str; 2] = [ALONE, "vector"];

/// Collects runs and judgments of every set.
pub(crate) struct Judge {
    scorer: PathBuf,
    folder: PathBuf,
    sets: Vec<String>,
    rankings: Vec<&'static str>,
    /// By set and ranking: the first two measures.
    means: BTreeMap<(String, &'static str), [f64; 2]>,
}

impl Judge {
    /// Creates a judge that writes into `folder` and calls `scorer`.
    pub(crate) fn new(scorer: PathBuf, folder: PathBuf, rankings: Vec<&'static str>) -> Self {
        Judge { scorer, folder, sets: Vec::new(), rankings, means: BTreeMap::new() }
    }

    /// Returns the path of a run.
    fn run_path(&self, set: &str, ranking: &str) -> PathBuf {
        self.folder.join(format!("{set}.{ranking}.run"))
    }

    fn judgments_path(&self, set: &str) -> PathBuf {
        self.folder.join(format!("{set}.qrels"))
    }

    /// Keeps the answers of all questions as a run, scores it and prints its line.
    pub(crate) fn judge(
        &mut self,
        set: &Set,
        ranking: &'static str,
        answers: &[Answer],
        each_ms: f64,
    ) -> Result<()> {
        let mut file = BufWriter::new(File::create(self.run_path(&set.name, ranking))?);
        for (query, documents) in set.queries.iter().zip(answers) {
            for (rank, (document, score)) in documents.iter().enumerate() {
                let (of, query, rank) = (&set.name, &query.id, rank + 1);
                writeln!(file, "{of}:{query} Q0 {of}:{document} {rank} {score} {ranking}")?;
            }
        }
        file.flush()?;
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
        let (line, means) = self.line(&set.name, ranking)?;
        self.means.insert((set.name.clone(), ranking), means);
        println!("  {line} {each_ms:6.2} CPU ms a query");
        Ok(())
    }

    /// Prints all sets together, each ranking against full text alone and against the best single
    /// signal of each set.
    pub(crate) fn verdict(&self) -> Result<()> {
        self.concatenate()?;
        println!("{ALL} sets together, every query counting once:");
        for ranking in &self.rankings {
            println!("  {}", self.line(ALL, ranking)?.0);
        }
        if self.rankings.contains(&ALONE) {
            println!("minus `{ALONE}`, mean and 95 % interval by paired bootstrap:");
            for ranking in self.rankings.iter().filter(|it| **it != ALONE) {
                for set in self.sets.iter().map(String::as_str).chain([ALL]) {
                    println!("  {ranking:<12} {set:<14} {}", self.difference(set, ALONE, ranking)?);
                }
            }
        }
        self.against_the_best()
    }

    /// Prints the mean with equal weight for every set, and the set on which a ranking is worst
    /// compared with the best single signal there.
    fn against_the_best(&self) -> Result<()> {
        if !SINGLE.iter().all(|it| self.rankings.contains(it)) || self.sets.is_empty() {
            return Ok(());
        }
        println!(
            "every set counting once: mean nDCG@10 and Recall@5; least margin over the best single signal:"
        );
        let of = |set: &str, ranking| self.means.get(&(set.to_string(), ranking)).copied();
        for ranking in &self.rankings {
            let (mut sums, mut worst) = ([0.0; 2], (f64::INFINITY, "", ""));
            for set in &self.sets {
                let means = of(set, ranking).context("judged")?;
                sums = [sums[0] + means[0], sums[1] + means[1]];
                let single =
                    SINGLE.iter().filter_map(|signal| Some((of(set, signal)?[0], *signal)));
                let best =
                    single.max_by(|a, b| a.0.total_cmp(&b.0)).context("two single signals")?;
                if means[0] - best.0 < worst.0 {
                    worst = (means[0] - best.0, best.1, set);
                }
            }
            let [ndcg, recall] = sums.map(|sum| sum / self.sets.len() as f64);
            let (margin, single, set) = worst;
            print!("  {ranking:<12} {ndcg:.4} {recall:.4}  {margin:+.4} on {set}");
            match *ranking == DEFAULT && margin < 0.0 {
                true => println!(" ({single}): {}", self.difference(set, single, ranking)?),
                false => println!(" ({single})"),
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
        self.rankings.iter().try_for_each(|ranking| join(&|set| self.run_path(set, ranking)))
    }

    fn line(&self, set: &str, ranking: &str) -> Result<(String, [f64; 2])> {
        let output = self.score(set, ranking, &MEASURES, &["--ci"])?;
        let rows: BTreeMap<&str, &str> =
            output.lines().filter_map(|row| row.split_once('\t')).collect();
        let value = |name: &str| {
            let found = rows.get(name).copied();
            found.with_context(|| format!("no {name} in {output}"))
        };
        let mut line = format!("{ranking:<12}");
        for measure in MEASURES {
            line.push_str(&format!(" {measure} {:<7}", value(measure)?));
        }
        let interval = value(&format!("{}_ci95", MEASURES[0]))?;
        line.push_str(&format!("  95 % of {}: {interval}", MEASURES[0]));
        Ok((line, [value(MEASURES[0])?.parse()?, value(MEASURES[1])?.parse()?]))
    }

    /// Returns the gain of `other` over `one`, by the first two measures.
    fn difference(&self, set: &str, one: &str, other: &str) -> Result<String> {
        let path = self.run_path(set, other).to_string_lossy().into_owned();
        let outcome = self.score(set, one, &MEASURES[..2], &["--compare", &path])?;
        let rows = outcome.lines().filter_map(|row| row.strip_prefix("diff_"));
        let rows: Vec<String> = rows.map(|row| row.replace('\t', " ")).collect();
        Ok(rows.join("; "))
    }

    fn score(&self, set: &str, ranking: &str, measures: &[&str], more: &[&str]) -> Result<String> {
        let output = Command::new("python3")
            .arg(&self.scorer)
            .args([self.judgments_path(set), self.run_path(set, ranking)])
            .args(["--metrics", &measures.join(",")])
            .args(more)
            .output()
            .context("python3 does not start")?;
        if !output.status.success() {
            bail!("the scorer failed: {}", String::from_utf8_lossy(&output.stderr));
        }
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_string())
    }
}
