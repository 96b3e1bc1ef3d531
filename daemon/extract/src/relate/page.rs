//! Page: a document as the sources of relations read it: mentions by block, pronouns that stand for a mention, and
//! what a section is about.
//!
//! In: a document with its names. Out: lookups, all made by one merge walk.
//! Invariants: a mention belongs to the block that contains all of it; a section is about the name its heading
//! consists of, otherwise about what the section around it is about, otherwise about the document.

use std::ops::Range;

use rustc_hash::FxHashSet;

use super::cues::Cues;
use super::depend::is_class_noun;
use super::vocabulary::Vocabulary;
use crate::recognize::words::is_ordinary;
use model::document::{
    Anaphor, Block, BlockKind, Document, Link, Mention, Naming, Party, PlaceFeatures,
    RecognizerKind,
};
use model::terms::{Confidence, EntityType, Norm, Span, norm_of};

/// Words before a noun that do not say which one is meant.
const INDEFINITE: [&str; 8] = ["a", "an", "any", "each", "every", "some", "another", "most"];

/// Words that stand for a mention or for the document: `It uses Kafka`.
pub(super) struct StandIn {
    /// The antecedent, at the place of the anaphor.
    mention: Mention,
    /// The number of its norm.
    name: Option<u32>,
    /// What they stand for.
    party: Party,
    /// Confidence that this is right.
    score: f32,
}

/// Returns the anaphors of a document that may be subject or object. `its` is neither, and would split a cue's words.
pub(super) fn stand_ins(doc: &Document) -> Vec<StandIn> {
    let is_possessive = |span: Span<Norm>| {
        let word = span.of(&doc.text).to_lowercase();
        matches!(word.as_str(), "its" | "his" | "her" | "their")
    };
    let anaphors = doc.found.anaphors.iter().filter(|anaphor| !is_possessive(anaphor.span));
    let stand_in = |anaphor: &Anaphor| {
        let (mention, name) = match anaphor.antecedent {
            Party::Mention(idx) => {
                let name = doc.linked.mention_names.get(idx as usize).copied();
                (doc.found.mentions.get(idx as usize)?.clone(), name)
            }
            Party::Document | Party::Link(_) => {
                (of_document(doc, anaphor.span), doc.linked.stated_names.first().copied())
            }
        };
        let (party, score) = (anaphor.antecedent, anaphor.score.get());
        Some(StandIn { mention: Mention { span: anaphor.span, ..mention }, name, party, score })
    };
    anaphors.filter_map(stand_in).collect()
}

/// Makes a mention of the document's own entity at a place.
fn of_document(doc: &Document, span: Span<Norm>) -> Mention {
    Mention {
        span,
        name: doc.title.clone(),
        entity_type: EntityType::Document,
        recognizer: RecognizerKind::Coreference,
        score: Confidence::STATED,
        place: PlaceFeatures::default(),
    }
}

/// A document with lookups that all sources share.
pub(super) struct Page<'a> {
    pub(super) vocabulary: &'a Vocabulary,
    pub(super) doc: &'a Document,
    stand_ins: &'a [StandIn],
    pub(super) text: &'a str,
    /// Numbers of the norms that the document states as its own.
    own: FxHashSet<u32>,
    /// For each block, the range of its mentions.
    of_blocks: Vec<Range<u32>>,
    /// For each block, what its text is about when it does not say.
    about: Vec<Party>,
}

impl<'a> Page<'a> {
    pub(super) fn new(
        doc: &'a Document,
        stand_ins: &'a [StandIn],
        vocabulary: &'a Vocabulary,
    ) -> Self {
        let own = doc.linked.stated_names.iter().copied().collect();
        let (of_blocks, about) = (Vec::new(), Vec::new());
        let mut page = Page { vocabulary, doc, stand_ins, text: &doc.text, own, of_blocks, about };
        // Blocks and mentions are in order of place: one merge walk, without searching.
        let mut next = 0;
        for block in &doc.blocks {
            let from = page.skip(next, |m| m.span.start() < block.span.start());
            next = page.skip(from, |m| m.span.end() <= block.span.end());
            page.of_blocks.push(from as u32..next as u32);
        }
        for block_idx in 0..doc.blocks.len() {
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
        &self.doc.blocks
    }

    /// Returns a mention by its index; indexes after the mentions are those of stand-ins.
    pub(super) fn mention(&self, idx: u32) -> Option<&'a Mention> {
        let idx = idx as usize;
        self.doc.found.mentions.get(idx).or_else(|| Some(&self.stand_in(idx)?.mention))
    }

    /// Returns a mention's words; empty when there is no such mention.
    pub(super) fn surface(&self, idx: u32) -> &'a str {
        self.mention(idx).map_or("", |m| m.span.of(self.text))
    }

    /// Returns the number of a mention's norm; two mentions of one norm have the same number.
    pub(super) fn name_of(&self, idx: u32) -> Option<u32> {
        let idx = idx as usize;
        let name = self.doc.linked.mention_names.get(idx).copied();
        name.or_else(|| self.stand_in(idx).and_then(|it| it.name))
    }

    /// Returns a party with a stand-in replaced by what it stands for, and how sure that is.
    pub(super) fn settled(&self, party: Party) -> (Party, f32) {
        let stand_in = match party {
            Party::Mention(idx) => self.stand_in(idx as usize),
            Party::Document | Party::Link(_) => None,
        };
        stand_in.map_or((party, 1.0), |it| (it.party, it.score))
    }

    fn stand_in(&self, idx: usize) -> Option<&'a StandIn> {
        self.stand_ins.get(idx.checked_sub(self.doc.found.mentions.len())?)
    }

    /// Returns the norm of a mention's name; empty when there is no such mention.
    pub(super) fn norm_of(&self, idx: u32) -> &'a str {
        let name = self.name_of(idx).and_then(|name| self.doc.linked.names.get(name as usize));
        name.map_or("", |name| name.norm.as_str())
    }

    /// True when the document states the mention's name as its own.
    pub(super) fn is_own(&self, idx: u32) -> bool {
        self.name_of(idx).is_some_and(|name| self.own.contains(&name))
    }

    /// Returns the indexes of a block's mentions.
    pub(super) fn mentions_of(&self, block_idx: usize) -> Range<u32> {
        self.of_blocks.get(block_idx).cloned().unwrap_or(0..0)
    }

    /// Returns what a block's text is about when it does not say; for a heading, what the text below it is about.
    pub(super) fn about(&self, block_idx: usize) -> Party {
        self.about.get(block_idx).copied().unwrap_or(Party::Document)
    }

    /// Calls `read` with each English sentence that is not a heading or question, with its things and block.
    pub(super) fn for_each_sentence(&self, mut read: impl FnMut(Span<Norm>, &[u32], usize)) {
        let (mut block_idx, mut next, mut next_stand_in) = (0, 0, 0);
        let n_mentions = self.doc.found.mentions.len() as u32;
        let mut things = Vec::new();
        for sentence in &self.doc.found.sentences {
            while self.blocks().get(block_idx).is_some_and(|b| b.span.end() <= sentence.start()) {
                block_idx += 1;
            }
            while self.own_mention(next).is_some_and(|m| m.span.start() < sentence.start()) {
                next += 1;
            }
            things.clear();
            while self.own_mention(next).is_some_and(|m| m.span.end() <= sentence.end()) {
                if self.is_thing(next) {
                    things.push(next);
                }
                next += 1;
            }
            let n_own = things.len();
            while let Some(it) = self.stand_ins.get(next_stand_in)
                && it.mention.span.end() <= sentence.end()
            {
                if it.mention.span.start() >= sentence.start() {
                    things.push(n_mentions + next_stand_in as u32);
                }
                next_stand_in += 1;
            }
            // Stand-ins were appended after the mentions.
            if things.len() > n_own {
                things.sort_by_key(|idx| self.mention(*idx).map(|m| m.span));
            }
            let block = self.blocks().get(block_idx);
            let is_heading = block.is_some_and(|b| matches!(b.kind, BlockKind::Heading(_)));
            let is_question = sentence.of(self.text).trim_end().ends_with('?');
            let is_english = self.doc.is_english_at(sentence.start());
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

    /// True for a mention that names one thing, as a sentence can state something of it: by how its place writes it,
    /// and not `a Service`. Pronouns are judged by the name that they stand for.
    pub(super) fn is_name(&self, idx: u32) -> bool {
        let Some(found) = self.mention(idx).filter(|_| self.is_thing(idx)) else { return false };
        if self.own_mention(idx).is_none() || found.place.is_entity_given {
            return true;
        }
        let before = self
            .text
            .get(..found.span.start())
            .unwrap_or("")
            .trim_end_matches(['"', '“', '(', ' ']);
        let last_word = before.rsplit(|c: char| !c.is_alphanumeric()).next().unwrap_or("");
        if INDEFINITE.iter().any(|word| word.eq_ignore_ascii_case(last_word)) {
            return false;
        }
        // `Kafka-native` is not Kafka, nor are `Kafka Foundation` and `Apache Kafka` what is only a part of them.
        let mut after = self.text.get(found.span.end()..).unwrap_or("").chars();
        let (sign, letter) = (after.next(), after.next());
        let goes_on = sign == Some('-') && letter.is_some_and(char::is_alphanumeric)
            || sign == Some(' ') && letter.is_some_and(char::is_uppercase);
        let is_capital = last_word.starts_with(char::is_uppercase) && !is_ordinary(last_word);
        let comes_after = before.ends_with(last_word)
            && self.text.get(before.len()..found.span.start()) == Some(" ");
        if goes_on || is_capital && comes_after {
            return false;
        }
        let name = found.span.of(self.text);
        let is_word = name.chars().all(char::is_alphabetic);
        match found.place.naming {
            Naming::Name | Naming::Defined => true,
            Naming::Common => false,
            // A capital that begins something proves little; an ordinary word needs more.
            Naming::Open if is_word => name.contains(char::is_uppercase) && !is_ordinary(name),
            Naming::Open => name.chars().skip(1).any(|c| c.is_uppercase() || c.is_ascii_digit()),
        }
    }

    /// Returns the links to documents that begin in a place, with their indexes.
    pub(super) fn links_in(&self, place: Span<Norm>) -> impl Iterator<Item = (u32, &'a Link)> {
        let all = &self.doc.links;
        let from = all.partition_point(|link| link.span.start() < place.start());
        let inside = all.iter().enumerate().skip(from);
        let inside = inside.take_while(move |(_, link)| link.span.start() < place.end());
        inside.filter(|(_, link)| link.names_a_document()).map(|(idx, link)| (idx as u32, link))
    }

    /// Returns the name that a place begins with, after at most an article, if it is [whole](Page::is_whole).
    pub(super) fn leading_name(&self, place: Span<Norm>, mentions: Range<u32>) -> Option<u32> {
        let range = mentions.start as usize..mentions.end as usize;
        // Bisection instead of a scan: a block may have as many places (lines, cells) as mentions.
        let all = self.doc.found.mentions.get(range)?;
        let skipped = all.partition_point(|m| m.span.start() < place.start()) as u32;
        let inside = (mentions.start + skipped..mentions.end)
            .take_while(|idx| self.mention(*idx).is_some_and(|m| place.contains(m.span)));
        let first = inside.into_iter().find(|idx| self.is_thing(*idx))?;
        let before = self.text.get(place.start()..self.mention(first)?.span.start())?;
        let leads = matches!(plain_words(before).as_str(), "" | "the" | "a" | "an");
        (leads && self.is_whole(first, place)).then_some(first)
    }

    /// True for a mention after which its place ends, or goes on with a sign or `and`: in `Kafka support`, Kafka is
    /// only part of what is named.
    pub(super) fn is_whole(&self, idx: u32, place: Span<Norm>) -> bool {
        let rest = self.mention(idx).and_then(|m| self.text.get(m.span.end()..place.end()));
        let rest = rest.unwrap_or("").trim_start_matches(' ');
        let word = rest.split(|c: char| !c.is_alphanumeric()).next().unwrap_or("");
        match word {
            "" => !rest.starts_with(['\'', '’']),
            "and" | "or" => true,
            // `the Kafka cluster` is Kafka.
            _ => is_class_noun(word) && !rest.get(word.len()..).is_some_and(goes_on),
        }
    }

    /// Returns a mention of the document, not a stand-in.
    fn own_mention(&self, idx: u32) -> Option<&'a Mention> {
        self.doc.found.mentions.get(idx as usize)
    }

    fn skip(&self, mut from: usize, is_before: impl Fn(&Mention) -> bool) -> usize {
        while self.doc.found.mentions.get(from).is_some_and(&is_before) {
            from += 1;
        }
        from
    }

    fn find_about(&self, block_idx: usize) -> Party {
        let Some(block) = self.blocks().get(block_idx) else { return Party::Document };
        // A section comes before the blocks inside it, so its entry is already set.
        let around = block.section.and_then(|idx| self.about.get(idx as usize)).copied();
        let around = around.unwrap_or(Party::Document);
        if !matches!(block.kind, BlockKind::Heading(level) if level > 1) {
            return around;
        }
        self.whole_mention(block_idx).map_or(around, Party::Mention)
    }

    /// Returns the name that a heading consists of, apart from an article and signs. A plain word such as `client`
    /// names only a part of what is around it.
    fn whole_mention(&self, block_idx: usize) -> Option<u32> {
        let block = self.blocks().get(block_idx)?;
        let heading = norm_of(block.span.of(self.text));
        let is_plain = |name: &str| name.chars().all(char::is_lowercase);
        self.mentions_of(block_idx).filter(|idx| self.is_name(*idx)).find(|idx| {
            let norm = norm_of(self.surface(*idx));
            !norm.is_empty()
                && !is_plain(self.surface(*idx))
                && (heading == norm || heading.strip_prefix("the") == Some(norm.as_str()))
        })
    }
}

/// True for text that begins with a further word of a phrase.
fn goes_on(text: &str) -> bool {
    text.trim_start_matches(' ').starts_with(char::is_alphanumeric)
}

/// Returns the lowercase words of a heading or key without numbering and signs: `2. Depends on:` → `depends on`.
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
