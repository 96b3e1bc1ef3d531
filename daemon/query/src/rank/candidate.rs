//! Candidate: what a signal sees: the question, one chunk and its document.
//!
//! In: the output of the earlier steps. Out: what is stored of a chunk and its document, and how
//! much of the question a text contains.
//! Invariants: all candidates are read at once, and a signal reads nothing more; a signal without
//! weight costs nothing.

use std::cell::{OnceCell, RefCell};
use std::collections::BTreeSet;

use config::settings::Weights;
use index::read::{Chunk, Label};
use index::words::Indexer;
use model::terms::{EntityType, is_word_char, norm_of};
use rustc_hash::{FxHashMap, FxHashSet};

use super::question_words::QuestionWords;
use crate::expand::Expanded;
use crate::plan::Plan;
use crate::plan::question::is_stop_word;
use crate::recall::Recalled;
use crate::recall::fuse::{Values, text_and_vector};
use crate::recall::means::of_passages;
use crate::recall::turn::Turns;
use crate::{AskError, QueryContext};

/// Results of the earlier steps for a question.
pub(crate) struct SignalInput<'a> {
    pub ctx: &'a QueryContext<'a>,
    pub plan: &'a Plan,
    pub recalled: &'a Recalled,
    pub expanded: &'a Expanded,
    pub turns: Turns,
    /// The dates that each candidate names, in ISO form without hyphens.
    pub dates: FxHashMap<i64, Vec<String>>,
    /// How near the document of each candidate is as a whole.
    pub documents: FxHashMap<i64, f32>,
    chunks: FxHashMap<i64, Chunk>,
    labels: FxHashMap<i64, Label>,
    /// The candidates by document and index among its chunks.
    places: FxHashMap<(i64, i64), i64>,
    /// The norm of the question.
    asked: String,
    /// The documents that state the question as a name of theirs, or begin with such a heading where
    /// they state no title.
    called: FxHashSet<i64>,
    words: OnceCell<QuestionWords>,
    values: OnceCell<(Values, Values)>,
    indexer: RefCell<Indexer>,
}

impl<'a> SignalInput<'a> {
    /// Reads every chunk that is to be a candidate.
    pub(super) fn read(
        ctx: &'a QueryContext<'a>,
        plan: &'a Plan,
        recalled: &'a Recalled,
        expanded: &'a Expanded,
        candidates: impl Iterator<Item = i64>,
    ) -> Result<Self, AskError> {
        let chunks = ctx.snapshot.chunks().many(candidates.collect::<BTreeSet<i64>>())?;
        let docs: BTreeSet<i64> = chunks.values().map(|it| it.doc).collect();
        let labels = ctx.snapshot.documents().labels(docs)?;
        let places = chunks.values().map(|it| ((it.doc, it.idx), it.id)).collect();
        let asked = norm_of(&plan.question.text);
        let called = ctx.snapshot.documents().called(&asked)?;
        let (turns, dates, documents, words, values, indexer) = Default::default();
        #[rustfmt::skip]
        let input = SignalInput {
            ctx, plan, recalled, expanded, turns, dates, documents, chunks, labels, places, asked, called, words,
            values, indexer,
        };
        Ok(input)
    }

    /// Reads what the candidates say of days and speakers, if the question asks for these.
    pub(super) fn with_turns(mut self) -> Result<Self, AskError> {
        let (Weights { when, speaker, .. }, plan) = (self.plan.weights, self.plan);
        let of_days = when > 0.0 && !(plan.when.is_empty() && self.recalled.when.is_empty());
        let of_speakers = speaker > 0.0 && plan.question.names != 0;
        if plan.is_fused() && (of_days || of_speakers) {
            self.turns = Turns::read(self.ctx, self.chunks.values(), of_days)?;
        }
        if plan.is_fused() && of_days && !plan.when.is_empty() {
            let mentions = self.ctx.snapshot.mentions();
            let chunks = self.chunks.keys().copied();
            self.dates = mentions.norms_in(chunks, EntityType::Date)?;
        }
        Ok(self)
    }

    /// Reads how near the documents of the candidates are.
    pub(super) fn with_documents(mut self) -> Result<Self, AskError> {
        let asked = self.recalled.question.as_ref();
        if let Some(asked) =
            asked.filter(|_| self.plan.is_fused() && self.plan.weights.document > 0.0)
        {
            self.documents = of_passages(self.ctx, asked, self.chunks.values())?;
        }
        Ok(self)
    }

    /// Returns the values of the candidates by text and by vectors, 0 to 1.
    pub(super) fn values(&self) -> &(Values, Values) {
        self.values.get_or_init(|| text_and_vector(self.plan, &self.expanded.candidates))
    }

    /// Returns the single words of the question, with their worth.
    pub(crate) fn words(&self) -> &QuestionWords {
        self.words.get_or_init(|| QuestionWords::of(self.plan, self.recalled))
    }

    /// Returns whether a name is the question, as a whole or without numbers in front, such as that of
    /// a chapter or a date. Case and separators are ignored, other signs are not (`C++`).
    pub(crate) fn is_name(&self, name: &str) -> bool {
        let is_asked = |name: &str| norm_of(name) == self.asked;
        !self.asked.is_empty() && (is_asked(name) || is_asked(after_numbers(name)))
    }

    pub(crate) fn candidate(&'a self, chunk: i64) -> Candidate<'a> {
        let passage = self.chunks.get(&chunk);
        let label = passage.and_then(|it| self.labels.get(&it.doc));
        Candidate { input: self, chunk, passage, label }
    }
}

/// A chunk that may answer.
pub(crate) struct Candidate<'a> {
    pub input: &'a SignalInput<'a>,
    pub chunk: i64,
    /// The chunk as it is stored; `None` if the index lacks it.
    pub passage: Option<&'a Chunk>,
    /// What its document is called.
    pub label: Option<&'a Label>,
}

impl<'a> Candidate<'a> {
    /// Returns whether the chunk has no text, and the question is no name of its document.
    pub(crate) fn is_bare_title(&self) -> bool {
        self.passage.is_some_and(|it| it.n_tokens == 0) && !self.is_called()
    }

    /// Returns whether the question is a name that the document states, its first heading where it
    /// states no title, or its title or file's name without numbers in front.
    pub(crate) fn is_called(&self) -> bool {
        self.passage.is_some_and(|it| self.input.called.contains(&it.doc))
            || self.input.is_name(self.title())
            || self.input.is_name(self.file_name())
    }

    /// Returns the document's title.
    pub(crate) fn title(&self) -> &'a str {
        self.label.map_or("", |it| &it.title)
    }

    /// Returns the document's file name, without its extension.
    pub(crate) fn file_name(&self) -> &'a str {
        let name = self.label.and_then(|it| it.path.rsplit('/').next()).unwrap_or_default();
        name.rsplit_once('.').map_or(name, |(stem, _)| stem)
    }

    /// Returns the mean value by full text of the turns of a dialogue before and after the passage, which is one.
    pub(crate) fn text_beside(&self) -> f32 {
        let Some(own) = self.passage.filter(|it| it.is_turn()) else { return 0.0 };
        let SignalInput { chunks, places, .. } = self.input;
        let beside = [own.idx - 1, own.idx + 1].into_iter();
        let beside = beside.filter_map(|idx| chunks.get(places.get(&(own.doc, idx))?));
        let values = &self.input.values().0;
        beside.filter_map(|it| values.get(&it.id)).sum::<f32>() / 2.0
    }

    fn is_english(&self) -> bool {
        self.passage.is_some_and(|it| it.language == "en")
    }

    /// Returns the worth of the question's words in a part of the passage, 0 to 1, with the text
    /// index's comparison of words: a rare word is worth more, and a stem matches its inflections.
    pub(crate) fn share_of(&self, text: &str) -> f32 {
        let mut words = String::new();
        self.input.indexer.borrow_mut().index(text, self.is_english(), &mut words);
        self.input.words().share(&words)
    }

    /// Returns how well a name and the question match, 0 to 1: the worth of the question's words in
    /// the name, times the share of the name's words in the question. Stop words are ignored, and so
    /// is a leading number, such as that of a chapter or a date.
    pub(crate) fn is_named_by(&self, name: &str) -> f32 {
        let question = self.input.plan.question.text.to_lowercase();
        let is_sign = |c| !is_word_char(c) && !matches!(c, '+' | '#');
        let words = after_numbers(name).split(is_sign).filter(|it| !it.is_empty());
        let words = words.map(str::to_lowercase);
        let (common, own): (Vec<String>, Vec<String>) = words.partition(|word| is_stop_word(word));
        let is_english = self.is_english();
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
        if n == 0.0 { 0.0 } else { self.input.words().share(&all) * n_held / n }
    }
}

/// Returns a name from its first word without a digit on; all of it if there is none.
fn after_numbers(name: &str) -> &str {
    let words = name.split(|c| !is_word_char(c)).filter(|it| !it.is_empty());
    let mut plain = words.filter(|word| !word.contains(|c: char| c.is_ascii_digit()));
    let start = plain.next().map_or(0, |word| word.as_ptr() as usize - name.as_ptr() as usize);
    name.get(start..).unwrap_or(name)
}
