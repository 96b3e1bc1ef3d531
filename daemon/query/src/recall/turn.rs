//! Turn: the speaker and day of a passage, as far as it states them.
//!
//! In: passages. Out: speakers and a day: those of the fact that a passage contains, else those in
//! its text.

use std::collections::BTreeSet;

use index::read::{Chunk, Fact};
use notes::date::first_day;
use notes::turn::speaker_of;
use rustc_hash::FxHashMap;

use crate::{AskError, QueryContext};

/// Characters at the head of a document that may state its day, as in a conversation or report.
const HEAD_CHARS: usize = 200;

/// What passages state of their speakers and days.
#[derive(Default)]
pub(crate) struct Turns {
    texts: FxHashMap<i64, String>,
    facts: FxHashMap<i64, Vec<Fact>>,
    /// The first characters of each document.
    heads: FxHashMap<i64, String>,
}

impl Turns {
    /// Reads passages; the heads of their documents only for the sake of days.
    pub(crate) fn read<'c>(
        ctx: &QueryContext<'_>,
        passages: impl Iterator<Item = &'c Chunk> + Clone,
        of_days: bool,
    ) -> Result<Turns, AskError> {
        let docs: BTreeSet<i64> = passages.clone().filter(|_| of_days).map(|it| it.doc).collect();
        Ok(Turns {
            texts: ctx.snapshot.chunks().texts(passages.clone())?,
            facts: ctx.snapshot.memory().facts_of(passages.map(|it| it.id))?,
            heads: ctx.snapshot.documents().heads(docs, HEAD_CHARS)?,
        })
    }

    /// Returns the texts that may state the day of a passage: its own, its headings, and the head of
    /// its document.
    pub(crate) fn texts<'t>(&'t self, passage: &'t Chunk) -> [&'t str; 3] {
        let [own, head] = [self.texts.get(&passage.id), self.heads.get(&passage.doc)];
        [own.map_or("", String::as_str), &passage.section, head.map_or("", String::as_str)]
    }

    fn facts(&self, passage: &Chunk) -> &[Fact] {
        self.facts.get(&passage.id).map_or(&[], Vec::as_slice)
    }

    /// Returns the day that a passage states, in ISO form.
    pub(crate) fn stated_day(&self, passage: &Chunk) -> Option<String> {
        let of_fact = self.facts(passage).first().and_then(|fact| fact.day.clone());
        of_fact.or_else(|| self.texts(passage).into_iter().find_map(first_day))
    }

    /// Returns the speakers of a passage: those of its facts, else those of lines that start with a
    /// name and a colon.
    pub(crate) fn speakers<'t>(&'t self, passage: &'t Chunk) -> Vec<&'t str> {
        let of_facts = self.facts(passage).iter().filter_map(|fact| fact.speaker.as_deref());
        let of_facts: Vec<&str> = of_facts.collect();
        let [text, ..] = self.texts(passage);
        if of_facts.is_empty() { text.lines().filter_map(speaker_of).collect() } else { of_facts }
    }
}
