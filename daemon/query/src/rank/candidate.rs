//! Candidate: what a signal sees: the question, one chunk and its document.
//!
//! In: the output of the earlier steps. Out: columns of a chunk, and how much of the question a
//! text contains.
//! Invariant: nothing is read before it is needed, so a signal without weight costs nothing.
//! Not here: the signals (`signals.rs`, `thin.rs`, `rerank.rs`).

use std::cell::{OnceCell, RefCell};

use index::words::Indexer;
use model::terms::{EntityType, is_word_char, norm_of};
use rusqlite::OptionalExtension;
use rusqlite::types::FromSql;
use rustc_hash::{FxHashMap, FxHashSet};

use super::question_words::QuestionWords;
use crate::expand::Expanded;
use crate::plan::Plan;
use crate::plan::question::is_stop_word;
use crate::recall::Recalled;
use crate::recall::fuse::fused;
use crate::{AskError, QueryContext};

/// Longest passage that usually does not name its own topic: most turns of a conversation are
/// shorter.
const MAX_TURN_TOKENS: i64 = 80;

/// Results of the earlier steps for a question.
pub(crate) struct SignalInput<'a> {
    pub ctx: &'a QueryContext<'a>,
    pub plan: &'a Plan,
    pub recalled: &'a Recalled,
    pub expanded: &'a Expanded,
    words: OnceCell<QuestionWords>,
    asked: OnceCell<String>,
    called: OnceCell<FxHashSet<i64>>,
    fused: OnceCell<FxHashMap<i64, f32>>,
    indexer: RefCell<Indexer>,
}

impl<'a> SignalInput<'a> {
    pub(super) fn new(
        ctx: &'a QueryContext<'a>,
        plan: &'a Plan,
        recalled: &'a Recalled,
        expanded: &'a Expanded,
    ) -> Self {
        let (words, asked, called, fused, indexer) = Default::default();
        SignalInput { ctx, plan, recalled, expanded, words, asked, called, fused, indexer }
    }

    /// Returns the combined score of text and vectors for a chunk, 0 to 1.
    fn fused(&self, chunk: i64) -> f32 {
        let trust = &self.recalled.trust;
        let all = || fused(self.plan, &self.expanded.candidates, trust).into_iter().collect();
        let value = self.fused.get_or_init(all).get(&chunk).copied().unwrap_or(0.0);
        value / (trust.text + trust.vector).max(f32::EPSILON)
    }

    /// Returns the single words of the question, with their worth.
    pub(crate) fn words(&self) -> &QuestionWords {
        self.words.get_or_init(|| QuestionWords::of(self.plan, self.recalled))
    }

    /// Returns whether a name is the question, as a whole or without numbers in front, such as that of
    /// a chapter or a date. Case and separators are ignored, other signs are not (`C++`).
    pub(crate) fn is_name(&self, name: &str) -> bool {
        let is_asked = |name: &str| norm_of(name) == self.asked();
        !self.asked().is_empty() && (is_asked(name) || is_asked(after_numbers(name)))
    }

    /// Returns the norm of the question.
    fn asked(&self) -> &str {
        self.asked.get_or_init(|| norm_of(&self.plan.question.text))
    }

    /// Returns the documents that state the question as a name of theirs, or begin with such a heading
    /// where they state no title.
    fn called(&self) -> Result<&FxHashSet<i64>, AskError> {
        if let Some(known) = self.called.get() {
            return Ok(known);
        }
        let mut statement = self.ctx.snapshot.prepare_cached(
            "SELECT s.doc_id FROM names n JOIN stated s ON s.name_id = n.id WHERE n.norm = ?1
             UNION SELECT doc_id FROM headings WHERE norm = ?1",
        )?;
        let docs = statement.query_map([self.asked()], |row| row.get(0))?;
        let docs = docs.collect::<Result<_, _>>()?;
        Ok(self.called.get_or_init(|| docs))
    }

    pub(crate) fn candidate(&'a self, chunk: i64) -> Candidate<'a> {
        Candidate { input: self, chunk }
    }
}

/// A chunk that may answer.
pub(crate) struct Candidate<'a> {
    pub input: &'a SignalInput<'a>,
    pub chunk: i64,
}

impl Candidate<'_> {
    /// Reads a column of the chunk, `c`, or of its document, `d`, such as `c.section` or `d.path`, or
    /// an SQL expression of them; see `daemon/index/src/store/schema.rs`. Returns `None` if the index
    /// lacks the chunk.
    pub(crate) fn read<T: FromSql>(&self, column: &str) -> Result<Option<T>, AskError> {
        let query =
            format!("SELECT {column} FROM chunks c JOIN docs d ON d.id = c.doc_id WHERE c.id = ?1");
        let mut statement = self.input.ctx.snapshot.prepare_cached(&query)?;
        Ok(statement.query_row([self.chunk], |row| row.get(0)).optional()?)
    }

    /// Returns whether the chunk has no text, and the question is no name of its document.
    pub(crate) fn is_bare_title(&self) -> Result<bool, AskError> {
        Ok(self.read::<bool>("c.n_tokens = 0")?.unwrap_or_default() && !self.is_called()?)
    }

    /// Returns whether the question is a name that the document states, its first heading where it
    /// states no title, or its title or file's name without numbers in front.
    pub(crate) fn is_called(&self) -> Result<bool, AskError> {
        let called = self.input.called()?;
        let is_one = |doc| called.contains(&doc);
        Ok(!called.is_empty() && self.read::<i64>("c.doc_id")?.is_some_and(is_one)
            || self.input.is_name(&self.title()?)
            || self.input.is_name(&self.file_name()?))
    }

    /// Returns the document's title.
    pub(crate) fn title(&self) -> Result<String, AskError> {
        Ok(self.read::<String>("d.title")?.unwrap_or_default())
    }

    /// Returns the document's file name, without its extension.
    pub(crate) fn file_name(&self) -> Result<String, AskError> {
        let path = self.read::<String>("d.path")?.unwrap_or_default();
        let name = path.rsplit('/').next().unwrap_or_default();
        Ok(name.rsplit_once('.').map_or(name, |(stem, _)| stem).to_string())
    }

    /// Returns the combined score of text and vectors for the better neighbor of a short chunk, 0
    /// to 1.
    pub(crate) fn best_beside(&self) -> Result<f32, AskError> {
        let mut statement = self.input.ctx.snapshot.prepare_cached(
            "SELECT n.id FROM chunks c JOIN chunks n ON n.doc_id = c.doc_id AND n.idx IN (c.idx - 1, c.idx + 1)
             WHERE c.id = ?1 AND c.n_tokens <= ?2 AND n.n_tokens <= ?2",
        )?;
        let mut rows = statement.query([self.chunk, MAX_TURN_TOKENS])?;
        let mut best = 0.0_f32;
        while let Some(row) = rows.next()? {
            best = best.max(self.input.fused(row.get(0)?));
        }
        Ok(best)
    }

    /// Reads the dates that the chunk names, in ISO form without hyphens.
    pub(crate) fn dates(&self) -> Result<Vec<String>, AskError> {
        let mut statement = self.input.ctx.snapshot.prepare_cached(
            "SELECT n.norm FROM chunks c JOIN mentions m ON m.doc_id = c.doc_id AND m.at >= c.start AND m.at < c.end
             JOIN names n ON n.id = m.name_id WHERE c.id = ?1 AND m.type = ?2",
        )?;
        let rows = statement.query_map([self.chunk, EntityType::Date as i64], |row| row.get(0))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Returns the worth of the question's words in a column of text, 0 to 1, with the text index's
    /// comparison of words: a rare word is worth more, and a stem matches its inflections.
    pub(crate) fn share_in(&self, column: &str) -> Result<f32, AskError> {
        let text = self.read::<Option<String>>(column)?.flatten();
        text.map_or(Ok(0.0), |text| self.share_of(&text))
    }

    /// As [`Candidate::share_in`], in a part of the passage.
    pub(crate) fn share_of(&self, text: &str) -> Result<f32, AskError> {
        let is_english = self.read::<String>("c.language")?.is_some_and(|it| it == "en");
        let mut words = String::new();
        self.input.indexer.borrow_mut().index(text, is_english, &mut words);
        Ok(self.input.words().share(&words))
    }

    /// Returns how well a name and the question match, 0 to 1: the worth of the question's words in
    /// the name, times the share of the name's words in the question. Stop words are ignored, and so
    /// is a leading number, such as that of a chapter or a date.
    pub(crate) fn is_named_by(&self, name: &str) -> Result<f32, AskError> {
        let question = self.input.plan.question.text.to_lowercase();
        let is_sign = |c| !is_word_char(c) && !matches!(c, '+' | '#');
        let words = after_numbers(name).split(is_sign).filter(|it| !it.is_empty());
        let words = words.map(str::to_lowercase);
        let (common, own): (Vec<String>, Vec<String>) = words.partition(|word| is_stop_word(word));
        let is_english = self.read::<String>("c.language")?.is_some_and(|it| it == "en");
        let (mut all, mut n_held, mut n) = (String::new(), 0.0, 0.0);
        for word in if own.is_empty() { common } else { own } {
            let mut one = String::new();
            self.input.indexer.borrow_mut().index(&word, is_english, &mut one);
            n += 1.0;
            // `C++` holds no question about `C`, although it is found by it.
            let is_whole = !word.ends_with(['+', '#']) || question.contains(&word);
            if is_whole && self.input.words().share(&one) > 0.0 {
                n_held += 1.0;
                all.push_str(&one);
                all.push(' ');
            }
        }
        Ok(if n == 0.0 { 0.0 } else { self.input.words().share(&all) * n_held / n })
    }
}

/// Returns a name from its first word without a digit on; all of it if there is none.
fn after_numbers(name: &str) -> &str {
    let words = name.split(|c| !is_word_char(c)).filter(|it| !it.is_empty());
    let mut plain = words.filter(|word| !word.contains(|c: char| c.is_ascii_digit()));
    let start = plain.next().map_or(0, |word| word.as_ptr() as usize - name.as_ptr() as usize);
    name.get(start..).unwrap_or(name)
}
