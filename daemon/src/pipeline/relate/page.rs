//! Page: a document as the sources of relations read it: mentions by block, and whom a section is about.
//!
//! In: a `LinkedDoc`. Out: lookups, all made by one merge walk.
//! Invariants: a mention belongs to the block that holds it whole; a section is about the name its heading
//! consists of, else about what the section around it is about, else about the document.
//! Not here: any relation.

use std::ops::Range;

use rustc_hash::FxHashSet;

use super::cues::Cues;
use super::vocabulary::Vocabulary;
use crate::pipeline::parcel::{Block, BlockKind, LinkedDoc, Mention, MentionedDoc, Party};
use crate::terms::{EntityType, Norm, Span, norm_of};

/// A document and what is looked up in it again and again.
pub(super) struct Page<'a> {
    pub(super) vocabulary: &'a Vocabulary,
    linked: &'a LinkedDoc,
    pub(super) doc: &'a MentionedDoc,
    pub(super) text: &'a str,
    /// Numbers of the norms that the document states as its own.
    own: FxHashSet<u32>,
    /// For each block the range of its mentions.
    of_blocks: Vec<Range<u32>>,
    /// For each block whom its text is about where it does not say.
    about: Vec<Party>,
}

impl<'a> Page<'a> {
    pub(super) fn new(linked: &'a LinkedDoc, vocabulary: &'a Vocabulary) -> Self {
        let doc = &linked.doc;
        let own = linked.stated_names.iter().copied().collect();
        let (of_blocks, about) = (Vec::new(), Vec::new());
        let mut page = Page { vocabulary, linked, doc, text: &doc.doc.text, own, of_blocks, about };
        let mut next = 0;
        for block in &doc.doc.blocks {
            let from = page.skip(next, |m| m.span.start() < block.span.start());
            next = page.skip(from, |m| m.span.end() <= block.span.end());
            page.of_blocks.push(from as u32..next as u32);
        }
        for block_idx in 0..doc.doc.blocks.len() {
            let about = page.find_about(block_idx);
            page.about.push(about);
        }
        page
    }

    /// The cues of the vocabulary.
    pub(super) fn cues(&self) -> &'a Cues {
        &self.vocabulary.cues
    }

    /// The outline.
    pub(super) fn blocks(&self) -> &'a [Block] {
        &self.doc.doc.blocks
    }

    /// A mention by its index.
    pub(super) fn mention(&self, idx: u32) -> Option<&'a Mention> {
        self.doc.mentions.get(idx as usize)
    }

    /// The number of a mention's norm: equal for two mentions of one norm.
    pub(super) fn name_of(&self, idx: u32) -> Option<u32> {
        self.linked.mention_names.get(idx as usize).copied()
    }

    /// The norm of a mention's name; empty when there is no such mention.
    pub(super) fn norm_of(&self, idx: u32) -> &'a str {
        let name = self.name_of(idx).and_then(|name| self.linked.names.get(name as usize));
        name.map_or("", |name| name.norm.as_str())
    }

    /// True when the document states the mention's name as its own.
    pub(super) fn is_own(&self, idx: u32) -> bool {
        self.name_of(idx).is_some_and(|name| self.own.contains(&name))
    }

    /// Indexes of the mentions of a block.
    pub(super) fn mentions_of(&self, block_idx: usize) -> Range<u32> {
        self.of_blocks.get(block_idx).cloned().unwrap_or(0..0)
    }

    /// Whom a block's text is about where it does not say; for a heading, whom the text below it is about.
    pub(super) fn about(&self, block_idx: usize) -> Party {
        self.about.get(block_idx).copied().unwrap_or(Party::Document)
    }

    /// Calls `read` with each English sentence that is no heading and no question, its things, and its block.
    pub(super) fn for_each_sentence(&self, mut read: impl FnMut(Span<Norm>, &[u32], usize)) {
        let (mut block_idx, mut next) = (0, 0);
        let mut things = Vec::new();
        for sentence in &self.doc.sentences {
            while self.blocks().get(block_idx).is_some_and(|b| b.span.end() <= sentence.start()) {
                block_idx += 1;
            }
            while self.mention(next).is_some_and(|m| m.span.start() < sentence.start()) {
                next += 1;
            }
            things.clear();
            while self.mention(next).is_some_and(|m| m.span.end() <= sentence.end()) {
                if self.is_thing(next) {
                    things.push(next);
                }
                next += 1;
            }
            let block = self.blocks().get(block_idx);
            let is_heading = block.is_some_and(|b| matches!(b.kind, BlockKind::Heading(_)));
            let is_question = sentence.of(self.text).trim_end().ends_with('?');
            let is_english = self.doc.doc.is_english_at(sentence.start());
            if !things.is_empty() && !is_heading && !is_question && is_english {
                read(*sentence, &things, block_idx);
            }
        }
    }

    /// True for a mention that can be subject or object of a relation between things.
    pub(super) fn is_thing(&self, idx: u32) -> bool {
        let is_none = |t| matches!(t, EntityType::Date | EntityType::Version | EntityType::Step);
        self.mention(idx).is_some_and(|m| !is_none(m.entity_type))
    }

    /// The first thing among the mentions of a place, if it begins within `max_words` words of the place.
    pub(super) fn first_thing(
        &self,
        place: Span<Norm>,
        mentions: Range<u32>,
        max_words: usize,
    ) -> Option<u32> {
        let range = mentions.start as usize..mentions.end as usize;
        // By bisection: a block may have as many places (lines, cells) as mentions.
        let all = self.doc.mentions.get(range)?;
        let skipped = all.partition_point(|m| m.span.start() < place.start()) as u32;
        let inside = (mentions.start + skipped..mentions.end)
            .take_while(|idx| self.mention(*idx).is_some_and(|m| place.contains(m.span)));
        let first = inside.into_iter().find(|idx| self.is_thing(*idx))?;
        let start = self.mention(first)?.span.start();
        let before = self.text.get(place.start()..start)?;
        (before.split_whitespace().take(max_words + 1).count() <= max_words).then_some(first)
    }

    fn skip(&self, mut from: usize, is_before: impl Fn(&Mention) -> bool) -> usize {
        while self.doc.mentions.get(from).is_some_and(&is_before) {
            from += 1;
        }
        from
    }

    fn find_about(&self, block_idx: usize) -> Party {
        let Some(block) = self.blocks().get(block_idx) else { return Party::Document };
        // Sections come before what stands in them, so theirs is known already.
        let around = block.section.and_then(|idx| self.about.get(idx as usize)).copied();
        let around = around.unwrap_or(Party::Document);
        if !matches!(block.kind, BlockKind::Heading(level) if level > 1) {
            return around;
        }
        self.whole_mention(block_idx).map_or(around, Party::Mention)
    }

    /// The mention a heading consists of, articles and signs aside.
    fn whole_mention(&self, block_idx: usize) -> Option<u32> {
        let block = self.blocks().get(block_idx)?;
        let heading = norm_of(block.span.of(self.text));
        self.mentions_of(block_idx).filter(|idx| self.is_thing(*idx)).find(|idx| {
            let surface = self.mention(*idx).map_or("", |m| m.span.of(self.text));
            let norm = norm_of(surface);
            !norm.is_empty()
                && (heading == norm || heading.strip_prefix("the") == Some(norm.as_str()))
        })
    }
}

/// Lowercase words of a heading or key, numbering and signs left off: `2. Depends on:` → `depends on`.
pub(super) fn plain_words(text: &str) -> String {
    let text = text.trim_start_matches(|c: char| !c.is_alphabetic());
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let mut out = String::with_capacity(text.len());
    for word in words {
        if !out.is_empty() {
            out.push(' ');
        }
        out.extend(word.chars().flat_map(char::to_lowercase));
    }
    out
}
