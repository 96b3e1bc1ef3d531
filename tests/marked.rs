//! Marked: a folder of documents that link to each other, each with a word that is never used
//! again.
//!
//! In: changes to make in the folder. Out: files; and what a settled daemon lacks, has twice or
//! should not have.
//! Invariant: words are never used again, so a word that is gone from the files must be gone from
//! the index.

use std::collections::BTreeMap;

use serde_json::json;

use crate::{TestProject, unsound_rows};

/// How many words of former contents are still searched.
const MAX_GONE: usize = 12;

/// What is wrong with a settled project.
#[derive(Debug, Default)]
pub struct Faults {
    /// Documents that their word does not find.
    pub missing: Vec<String>,
    /// Duplicate rows.
    pub twice: Vec<String>,
    /// Rows whose source is gone.
    pub left_over: Vec<String>,
}

impl Faults {
    /// Returns whether nothing is wrong.
    pub fn is_empty(&self) -> bool {
        self.missing.is_empty() && self.twice.is_empty() && self.left_over.is_empty()
    }
}

/// The documents of one folder, by path, with their words.
#[derive(Debug, Default)]
pub struct Marked {
    words: BTreeMap<String, String>,
    gone: Vec<String>,
    n_written: u32,
}

impl Marked {
    /// Writes `n` documents into a few folders.
    pub fn fill(&mut self, project: &TestProject, n: u32) {
        for i in 0..n {
            self.write(project, &format!("s{}/station-{i}.md", i % 5));
        }
    }

    /// Writes a document, new or with different content.
    pub fn write(&mut self, project: &TestProject, path: &str) {
        let i = self.n_written;
        self.n_written += 1;
        let word = word(i);
        let (near, far) = (i.wrapping_add(1) % 17, i.wrapping_mul(7) % 17);
        project.write(
            path,
            format!(
                "# Station {i}\n\nStation {i} depends on [[Station {near}]]. It is run by Ada Lindqvist; the {word} \
                 is kept there.\n\n## Log\n\nThe **storm drain** of Station {i} was cleaned; see Station {far}.\n\n\
                 1. Stop the Signing Service.\n2. Start the Signing Services.\n"
            ),
        );
        self.forget(path);
        self.words.insert(path.to_string(), word);
    }

    /// Renames a document, replacing an existing one.
    pub fn rename(&mut self, project: &TestProject, from: &str, to: &str) {
        project.rename(from, to);
        self.forget(to);
        let word = self.words.remove(from).expect("a document");
        self.words.insert(to.to_string(), word);
    }

    /// Removes a document.
    pub fn remove(&mut self, project: &TestProject, path: &str) {
        project.remove(path);
        self.forget(path);
    }

    /// Returns the paths, in order.
    pub fn paths(&self) -> Vec<String> {
        self.words.keys().cloned().collect()
    }

    fn forget(&mut self, path: &str) {
        if let Some(word) = self.words.remove(path) {
            self.gone.push(word);
            let n_old = self.gone.len().saturating_sub(MAX_GONE);
            self.gone.drain(..n_old);
        }
    }

    /// Returns what is wrong with a settled project.
    ///
    /// # Panics
    /// If the daemon does not answer.
    pub fn check(&self, project: &mut TestProject) -> Faults {
        let mut faults = Faults::default();
        for row in unsound_rows(&project.paths().index, &project.paths().ledger) {
            let is_twice = row.contains(" twice: ");
            if is_twice { &mut faults.twice } else { &mut faults.left_over }.push(row);
        }
        for (path, word) in &self.words {
            let found = found_by_text(project, word);
            let finding = format!("`{word}` of {path} finds {found:?}");
            if !found.contains(path) {
                faults.missing.push(finding);
            } else if found.len() > 1 {
                faults.twice.push(finding);
            }
        }
        for word in &self.gone {
            let found = found_by_text(project, word);
            if !found.is_empty() {
                faults.left_over.push(format!("`{word}`, which is gone, finds {found:?}"));
            }
        }
        faults
    }
}

/// Returns the paths of the chunks that contain a word, one for each hit.
fn found_by_text(project: &mut TestProject, word: &str) -> Vec<String> {
    let reply = project.call("hybrid_query", json!({"q": word, "formula": "text", "k": 100}));
    let hits = reply["chunks"].as_array().expect("chunks").iter();
    hits.map(|hit| hit["path"].as_str().expect("a path").to_string()).collect()
}

/// Returns the word of the `n`th content: consonants, so that no stemmer cuts it, and a digit, so
/// that it is not taken for a typo of another word.
fn word(n: u32) -> String {
    let digits = n.to_string();
    let letters = digits.bytes().map(|digit| char::from(b"bcdfghjklm"[usize::from(digit - b'0')]));
    let middle: String = letters.collect();
    format!("zq{middle}x7")
}
