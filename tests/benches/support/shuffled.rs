//! Shuffled: any number of chunks, made of real sentences.
//!
//! A chunk is 3 to 7 sentences of one document of the judged sets, a third of them replaced with
//! sentences from others of its set. Questions are the sets' own. Deterministic.

use std::path::Path;

use anyhow::{Context, Result};
use serde_json::Value;

/// Sets, and the part whose questions are asked.
const SETS: [(&str, &str); 5] = [
    ("scifact", "train"),
    ("hotpotqa100", "dev"),
    ("musique100", "dev"),
    ("cacm", "dev"),
    ("cranfield", "dev"),
];

/// Shortest sentence, bytes.
const SENTENCE: usize = 20;

/// Questions asked, spread over all sets.
const N_QUESTIONS: usize = 200;

/// Documents by set, each as its sentences, and the questions.
pub(crate) struct Texts {
    sets: Vec<Vec<Vec<String>>>,
    /// Questions, spread over all of the sets'.
    pub(crate) questions: Vec<String>,
}

impl Texts {
    /// Reads the judged sets below `data`.
    pub(crate) fn read(data: &Path) -> Result<Self> {
        let (mut sets, mut questions) = (Vec::new(), Vec::new());
        for (set, part) in SETS {
            let folder = data.join(set);
            let sentences = |row: &Value| -> Vec<String> {
                let (title, text) = (row["title"].as_str(), row["text"].as_str());
                let text = format!("{}. {}", title.unwrap_or_default(), text.unwrap_or_default());
                let sentences = text.split_inclusive(". ").filter(|it| it.len() >= SENTENCE);
                sentences.map(String::from).collect()
            };
            let rows = rows(&folder.join("corpus.jsonl"))?;
            sets.push(rows.iter().map(sentences).filter(|it| !it.is_empty()).collect());
            for row in self::rows(&folder.join(format!("queries.{part}.jsonl")))? {
                questions.extend(row["text"].as_str().map(String::from));
            }
        }
        let step = (questions.len() / N_QUESTIONS).max(1);
        let questions = questions.into_iter().step_by(step).take(N_QUESTIONS).collect();
        Ok(Texts { sets, questions })
    }

    /// Returns the sentences of `n` chunks.
    pub(crate) fn chunks(&self, n: usize) -> impl Iterator<Item = Vec<&str>> {
        let mut dice = Dice(0x2545_f491_4f6c_dd1d);
        let documents: Vec<(usize, usize)> = (0..self.sets.len())
            .flat_map(|set| (0..self.sets[set].len()).map(move |document| (set, document)))
            .collect();
        (0..n).map(move |chunk| {
            let (set, document) = documents[chunk % documents.len()];
            let set = &self.sets[set];
            let n_sentences = 3 + dice.below(5);
            let sentence = |_| {
                let is_foreign = dice.below(3) == 0;
                let from = if is_foreign { &set[dice.below(set.len())] } else { &set[document] };
                from[dice.below(from.len())].as_str()
            };
            (0..n_sentences).map(sentence).collect()
        })
    }
}

fn rows(path: &Path) -> Result<Vec<Value>> {
    let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
    Ok(text.lines().map(serde_json::from_str).collect::<Result<_, _>>()?)
}

/// A random number generator with a fixed seed.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % n as u64) as usize
    }
}
