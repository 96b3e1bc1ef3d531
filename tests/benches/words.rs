//! Words: which tokenizer the text index should use: FTS5's own (`unicode61`, with and without
//! Porter's stems, `trigram`) or ours (`index::words`), on judged English sets and on sentences in
//! other languages.
//!
//! `cargo bench -p tests --bench words -- DATA_DIR [SET...]` prints nDCG@10 of BM25 alone, the
//! share of the probes (see `words/probes.tsv`) that find their sentence, and the cost of the
//! index. Each document is one row of title and text.

#![allow(clippy::print_stdout, reason = "a bench prints its table")]

#[path = "words/index.rs"]
mod index;
#[path = "words/probes.rs"]
mod probes;
#[path = "retrieval/set.rs"]
#[allow(dead_code, reason = "the retrieval bench uses the rest of it")]
mod set;
mod support;

use std::path::PathBuf;

use self::index::{Index, Tokenizer};
use anyhow::{Context, Result};
use formats::language::is_foreign;
use set::Set;

/// Sets, and the part whose queries may be used for tuning.
const SETS: [(&str, &str); 5] = [
    ("scifact", "train"),
    ("cranfield", "dev"),
    ("cacm", "dev"),
    ("musique100", "dev"),
    ("hotpotqa100", "dev"),
];

fn main() -> Result<()> {
    let mut arguments = support::arguments().into_iter();
    let data =
        PathBuf::from(arguments.next().context(
            "which data? hint: cargo bench -p tests --bench words -- DATA_DIR [SET...]",
        )?);
    let wanted: Vec<String> = arguments.collect();
    let sets =
        SETS.iter().filter(|(name, _)| wanted.is_empty() || wanted.iter().any(|w| w == name));
    let sets: Vec<Set> =
        sets.map(|(name, part)| Set::read(&data, name, part)).collect::<Result<_>>()?;
    for tokenizer in Tokenizer::ALL {
        println!("{}", tokenizer.name());
        let (mut n_queries, mut sum) = (0, 0.0);
        let (mut cpu_s, mut bytes, mut text_bytes) = (0.0, 0, 0);
        let mut times = Vec::new();
        for set in &sets {
            let index = Index::build(
                tokenizer,
                set.documents.iter().map(|(id, text)| (id.as_str(), text.as_str(), true)),
            )?;
            let scores = score(&index, set, &mut times)?;
            let n_foreign = set.queries.iter().filter(|query| is_foreign(&query.text)).count();
            println!(
                "  {:<12} nDCG@10 {:.3}; questions taken for another language {n_foreign}",
                set.name,
                mean(&scores)
            );
            n_queries += scores.len();
            sum += scores.iter().sum::<f64>();
            cpu_s += index.cpu_s;
            bytes += index.n_bytes()?;
            text_bytes += set.documents.iter().map(|(_, text)| text.len()).sum::<usize>();
        }
        println!(
            "  all {n_queries} queries: nDCG@10 {:.3}; {:.0} ms CPU a MB inserted; index {:.2} of the text; \
             question p50 {:.2} ms, p95 {:.2} ms",
            sum / n_queries as f64,
            cpu_s * 1e9 / text_bytes as f64,
            bytes as f64 / text_bytes as f64,
            support::median(&times),
            support::percentile(&times, 0.95)
        );
        for line in probes::lines(tokenizer)? {
            println!("  {line}");
        }
    }
    Ok(())
}

/// Returns the nDCG@10 of each query.
fn score(index: &Index, set: &Set, times: &mut Vec<f64>) -> Result<Vec<f64>> {
    let mut scores = Vec::new();
    for query in &set.queries {
        let text: String = query.text.chars().take(1_000).collect();
        let started = std::time::Instant::now();
        let found = index.ask(&text, 10)?;
        times.push(started.elapsed().as_secs_f64() * 1e3);
        let gain = |document: &str| {
            let judged = set.judgments.iter().find(|(q, d, _)| *q == query.id && d == document);
            judged.and_then(|(_, _, gain)| gain.parse().ok()).unwrap_or(0.0_f64)
        };
        let mut ideal: Vec<f64> = set
            .judgments
            .iter()
            .filter(|(q, ..)| *q == query.id)
            .filter_map(|(_, _, gain)| gain.parse().ok())
            .collect();
        ideal.sort_by(|a, b| b.total_cmp(a));
        let discounted = |gains: &mut dyn Iterator<Item = f64>| -> f64 {
            gains.take(10).enumerate().map(|(rank, gain)| gain / (rank as f64 + 2.0).log2()).sum()
        };
        let best = discounted(&mut ideal.into_iter());
        let own = discounted(&mut found.iter().map(|document| gain(document)));
        scores.push(if best > 0.0 { own / best } else { 0.0 });
    }
    Ok(scores)
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}
