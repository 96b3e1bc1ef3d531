//! Score: which of the preceding names an anaphor refers to.
//!
//! In: an anaphor, and the names and anaphors that precede it in its section. Out: the antecedent
//! with a confidence, or nothing. A name scores as its best place does: the sum of the weights
//! below.
//! Invariants: type and number must agree; a name joined to another (`Ada and Jonas`) is no
//! antecedent by itself; at most [`MAX_PLACES`] places are compared, those of the nearest
//! sentences.
//! The weights were set by hand, and judged by the relations they lead to
//! (`tests/benches/RESULTS.md`).

use std::sync::LazyLock;

use rustc_hash::FxHashMap;

use super::anaphor::{Found, Wants};
use crate::recognize::words::{WordSet, word_set};
use model::document::{Anaphor, Block, BlockKind, Document, Mention, Party};
use model::terms::{EntityType, Norm, Span, norm_of};

/// Sentences searched, the anaphor's own included.
const MAX_SENTENCES: usize = 5;
/// Most places compared for one anaphor.
const MAX_PLACES: usize = 32;

/// A name at the start of its sentence, not counting an article.
const SUBJECT: f32 = 2.5;
/// Elsewhere, a name that is followed by a verb and not preceded by a preposition:
/// `In 1998, Google launched …`.
const CLAUSE_SUBJECT: f32 = 1.2;
const AFTER_PREPOSITION: f32 = -1.0;
/// A name from the section's heading, the title or the first sentence.
const TOPIC: f32 = 1.0;
/// The antecedent of the latest anaphor.
const LATEST: f32 = 0.8;
/// For each sentence back.
const SENTENCE_BACK: f32 = -0.6;
/// The name ends in the noun of the description, or is the only candidate.
const NOUN: f32 = 2.5;
/// No other person was named.
const ALONE: f32 = 1.0;

/// The lead that the best name needs over the next one.
const LEAD: f32 = 0.5;
/// The confidence of the least score.
const BASE: f32 = 0.6;
/// Added to the confidence for each point above the least score.
const EACH: f32 = 0.05;
const MOST: f32 = 0.8;
static PREPOSITIONS: WordSet = LazyLock::new(|| {
    word_set(
        "of in at by for with from to on into via near under over between among against than \
         about as",
    )
});

/// A place that an anaphor may refer to: a mention or an earlier anaphor.
struct Place<'a> {
    /// What is named there.
    party: Party,
    /// Its name; empty when it is the document.
    name: &'a str,
    span: Span<Norm>,
    /// How many sentences before the anaphor.
    back: usize,
}

/// A document during the search for its anaphors.
pub(super) struct Scope<'a> {
    doc: &'a Document,
    sentences: &'a [Span<Norm>],
    mentions: &'a [Mention],
    /// The current block and sentence.
    block: usize,
    sentence: usize,
    /// Names of the document's subject.
    topics: Vec<&'a str>,
    found: Vec<Anaphor>,
    /// For each person referred to so far, by name: whether the pronoun was `she`.
    is_she: FxHashMap<&'a str, bool>,
}

impl<'a> Scope<'a> {
    pub(super) fn new(
        doc: &'a Document,
        sentences: &'a [Span<Norm>],
        mentions: &'a [Mention],
    ) -> Self {
        let (found, is_she) = Default::default();
        let title = norm_of(&doc.title);
        let first = mentions.iter().find(|m| !m.place.in_heading);
        let opening = first.filter(|m| {
            let sentence = sentences.get(sentences.partition_point(|s| s.end() <= m.span.start()));
            sentence.is_some_and(|it| is_subject(doc, *it, m.span))
        });
        let titled = mentions.iter().find(|m| !title.is_empty() && norm_of(&m.name) == title);
        let topics = opening.into_iter().chain(titled).map(|m| m.name.as_str()).collect();
        Scope { doc, sentences, mentions, block: 0, sentence: 0, topics, found, is_she }
    }

    /// Moves to a sentence and returns its block.
    pub(super) fn enter(&mut self, sentence: usize) -> Option<&'a Block> {
        self.sentence = sentence;
        let start = self.sentences.get(sentence)?.start();
        while self.doc.blocks.get(self.block).is_some_and(|b| b.span.end() <= start) {
            self.block += 1;
        }
        self.doc.blocks.get(self.block)
    }

    /// Records an anaphor.
    pub(super) fn refer(&mut self, anaphor: Anaphor, found: &Found<'_>) {
        if let (Wants::Person { is_she }, Party::Mention(idx)) = (found.wants, anaphor.antecedent)
            && let Some(mention) = self.mentions.get(idx as usize)
        {
            self.is_she.entry(&mention.name).or_insert(is_she);
        }
        self.found.push(anaphor);
    }

    pub(super) fn into_anaphors(self) -> Vec<Anaphor> {
        self.found
    }

    /// Returns what an anaphor refers to, with the confidence.
    pub(super) fn antecedent(&self, found: &Found<'_>) -> Option<(Party, f32)> {
        let places = self.places(found);
        let is_alone = places
            .first()
            .is_some_and(|first| places.iter().all(|it| is_one_name(it.name, first.name)));
        let mut best: Option<(f32, &Place<'_>)> = None;
        let mut second = f32::MIN;
        for place in &places {
            let score = self.score(place, found, is_alone);
            match best {
                Some((most, of)) if is_one_name(of.name, place.name) => {
                    best = Some(if score > most { (score, place) } else { (most, of) });
                }
                Some((most, _)) if score <= most => second = second.max(score),
                _ => {
                    second = second.max(best.map_or(f32::MIN, |(most, _)| most));
                    best = Some((score, place));
                }
            }
        }
        let Some((score, place)) = best else { return self.opening(found) };
        let least = least(found.wants);
        // The best name must be good enough by itself and clearly better than the next one.
        let is_clear = score >= least && score - second >= LEAD;
        is_clear.then(|| (place.party, (BASE + EACH * (score - least)).min(MOST)))
    }

    /// Returns the document for an `It` that precedes every name.
    fn opening(&self, found: &Found<'_>) -> Option<(Party, f32)> {
        let section = self.section();
        let is_title = |b: &Block| matches!(b.kind, BlockKind::Heading(1));
        let is_opening =
            section.is_none_or(|idx| self.doc.blocks.get(idx as usize).is_some_and(is_title));
        let before = self.mentions.iter().take_while(|m| m.span.end() <= found.span.start());
        let is_own = is_opening
            && found.is_first
            && found.wants == Wants::Thing
            && before.filter(|m| !m.place.in_heading).count() == 0;
        is_own.then_some((Party::Document, BASE))
    }

    fn section(&self) -> Option<u32> {
        self.doc.blocks.get(self.block).and_then(|b| b.section)
    }

    /// Returns the places before an anaphor that agree with it, nearest sentences first.
    fn places(&self, found: &Found<'_>) -> Vec<Place<'a>> {
        let section = self.section();
        let mut places = Vec::new();
        for back in 0..MAX_SENTENCES {
            let Some(sentence) = self.sentence.checked_sub(back) else { break };
            let Some(sentence) = self.sentences.get(sentence).copied() else { break };
            if !self.is_in_section(sentence, section) || places.len() >= MAX_PLACES {
                break;
            }
            // The first word of a sentence refers to an earlier sentence.
            if back == 0 && found.is_first {
                continue;
            }
            // Things are taken up from the previous sentence, people and described things from
            // further back.
            let is_near = back <= usize::from(found.is_first);
            if !is_near && matches!(found.wants, Wants::Thing | Wants::Group) {
                break;
            }
            let n_before = places.len();
            let until = sentence.end().min(found.span.start());
            let from = self.mentions.partition_point(|m| m.span.start() < sentence.start());
            let named = self.mentions.iter().enumerate().skip(from);
            for (idx, m) in named.take_while(|(_, m)| m.span.end() <= until).take(MAX_PLACES) {
                if self.fits(m, found) {
                    let party = Party::Mention(idx as u32);
                    places.push(Place { party, name: &m.name, span: m.span, back });
                }
            }
            self.drop_joined(&mut places, n_before);
            let referred = self.found.iter().rev().skip_while(|a| a.span.end() > until);
            for it in referred.take_while(|a| a.span.start() >= sentence.start()) {
                let place = |name| Place { party: it.antecedent, name, span: it.span, back };
                match it.antecedent {
                    Party::Document if found.wants == Wants::Thing => places.push(place("")),
                    Party::Document | Party::Link(_) => {}
                    Party::Mention(idx) => {
                        let mention = self.mentions.get(idx as usize);
                        let fitting = mention.filter(|m| self.fits(m, found));
                        places.extend(fitting.map(|m| place(&m.name)));
                    }
                }
            }
        }
        places
    }

    /// Drops both names of `Ada and Jonas`, since either may be meant.
    fn drop_joined(&self, places: &mut Vec<Place<'a>>, from: usize) {
        let is_joined = |a: &Place<'_>, b: &Place<'_>| {
            let between = self.doc.text.get(a.span.end()..b.span.start()).unwrap_or("");
            let word = between.split_whitespace().next().unwrap_or("");
            between.len() <= 10 && matches!(word, "and" | "or" | "&" | "," | "/")
        };
        let added = places.split_off(from.min(places.len()));
        let mut joined = vec![false; added.len()];
        for (i, pair) in added.windows(2).enumerate() {
            if let [a, b] = pair
                && !is_one_name(a.name, b.name)
                && is_joined(a, b)
            {
                joined.iter_mut().skip(i).take(2).for_each(|it| *it = true);
            }
        }
        places.extend(added.into_iter().zip(joined).filter(|(_, it)| !it).map(|(place, _)| place));
    }

    fn is_in_section(&self, sentence: Span<Norm>, section: Option<u32>) -> bool {
        let at = self.doc.blocks.partition_point(|b| b.span.end() <= sentence.start());
        self.doc.blocks.get(at).is_some_and(|b| b.section == section || section == Some(at as u32))
    }

    fn fits(&self, mention: &Mention, found: &Found<'_>) -> bool {
        use EntityType::{Date, Organization, Person, Step, Version};
        let entity_type = mention.entity_type;
        match found.wants {
            Wants::Person { is_she } => {
                let known = self.is_she.get(mention.name.as_str());
                entity_type == Person && known.is_none_or(|it| *it == is_she)
            }
            Wants::Group => entity_type == Organization,
            Wants::Thing => !matches!(entity_type, Person | Date | Step | Version),
            Wants::Described(of_noun) => {
                let is_typed =
                    of_noun.is_some_and(|it| it == entity_type && can_stand_for_name(it));
                is_typed || ends_in(&mention.name, found.noun)
            }
        }
    }

    fn score(&self, place: &Place<'_>, found: &Found<'_>, is_alone: bool) -> f32 {
        let mut score = SENTENCE_BACK * place.back as f32;
        let mut add = |weight: f32, holds: bool| score += if holds { weight } else { 0.0 };
        add(LATEST, self.found.last().is_some_and(|it| it.span == place.span));
        if found.noun.is_some() {
            add(NOUN, is_alone || ends_in(place.name, found.noun));
            return score;
        }
        add(TOPIC, self.topics.contains(&place.name) || self.is_heading(place.span));
        let sentence = self.sentence.checked_sub(place.back).and_then(|i| self.sentences.get(i));
        let Some(sentence) = sentence else { return score };
        let before = self.doc.text.get(sentence.start()..place.span.start()).unwrap_or("");
        let after = self.doc.text.get(place.span.end()..sentence.end()).unwrap_or("");
        let is_object = {
            let mut words = before.split_whitespace().rev();
            let word = words.next().filter(|it| !is_article(it)).or_else(|| words.next());
            word.is_some_and(|it| PREPOSITIONS.contains(it.to_lowercase().as_str()))
        };
        let is_first = is_subject(self.doc, *sentence, place.span);
        add(SUBJECT, is_first);
        add(AFTER_PREPOSITION, is_object);
        add(CLAUSE_SUBJECT, !is_first && !is_object && super::anaphor::is_before_verb(after));
        add(ALONE, is_alone && matches!(found.wants, Wants::Person { .. }));
        score
    }

    fn is_heading(&self, span: Span<Norm>) -> bool {
        let heading = self.section().and_then(|idx| self.doc.blocks.get(idx as usize));
        heading.is_some_and(|b| b.span.contains(span))
    }
}

/// Returns the least score for a reference. It rises from people, who are often meant, to groups,
/// whose pronouns have several meanings.
fn least(wants: Wants) -> f32 {
    match wants {
        Wants::Person { .. } => 1.0,
        Wants::Described(_) => 1.4,
        Wants::Thing => 1.8,
        Wants::Group => 2.2,
    }
}

/// Returns whether the names are equal, or the shorter one begins or ends the longer one at a word.
fn is_one_name(a: &str, b: &str) -> bool {
    let (short, long) = if a.len() < b.len() { (a, b) } else { (b, a) };
    let begins = long.strip_prefix(short).is_some_and(|rest| rest.starts_with(' '));
    let ends = long.strip_suffix(short).is_some_and(|rest| rest.ends_with(' '));
    short == long || (!short.is_empty() && (begins || ends))
}

/// Returns whether a noun of this type may refer to a name of the type that does not end in the
/// noun: `the team`, `the city`. A text rarely has more than one such thing nearby.
fn can_stand_for_name(entity_type: EntityType) -> bool {
    use EntityType::{Location, Organization, Project, Service};
    matches!(entity_type, Organization | Service | Project | Location)
}

/// Returns whether a name of several words ends in a noun: `Tide Clock` and `the clock`.
fn ends_in(name: &str, noun: Option<&str>) -> bool {
    let last = name.rsplit_once([' ', '-']).map(|(_, last)| last);
    last.zip(noun).is_some_and(|(last, noun)| last.eq_ignore_ascii_case(noun))
}

fn is_article(word: &str) -> bool {
    matches!(word, "The" | "A" | "An" | "Our" | "This" | "the" | "a" | "an" | "our" | "this")
}

/// Returns whether a place begins its sentence, not counting an article.
fn is_subject(doc: &Document, sentence: Span<Norm>, place: Span<Norm>) -> bool {
    let before = doc.text.get(sentence.start()..place.start()).unwrap_or("");
    let mut words = before.split_whitespace();
    match (words.next(), words.next()) {
        (None, _) => true,
        (Some(word), None) => is_article(word),
        _ => false,
    }
}
