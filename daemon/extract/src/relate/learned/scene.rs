//! Scene: a part of a document as the classifier reads it: words by sentence, and the things named there.
//!
//! In: a `LinkedDoc`. Out: scenes of at most [`MAX_SENTENCES`] sentences of one section, each with its things; a
//! thing is all mentions and pronouns that the document shows to mean the same.
//! Invariants: a function of the document alone; linear in its text; at most [`MAX_THINGS`] things a scene.

use std::ops::Range;

use rustc_hash::FxHashMap;
use xxhash_rust::xxh3::xxh3_64;

use model::parcel::{BlockKind, LinkedDoc, Party};
use model::terms::{EntityType, Norm, Span, tokens_of};

/// Most sentences of a scene: about the length of an encyclopedia article's lead.
const MAX_SENTENCES: usize = 16;
/// Most things of a scene, in order of place; further ones are not paired.
const MAX_THINGS: usize = 40;
/// Most words of a sentence that are read.
const MAX_WORDS: usize = 120;

/// A word or a sign.
#[derive(Debug, Clone, Copy)]
pub(super) struct Word {
    /// Hash of its lowercase letters.
    pub(super) hash: u64,
    /// Its first byte in the document.
    pub(super) start: u32,
}

/// A place at which a thing is named or referred to.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    /// Index of the sentence in the scene.
    pub(super) sentence: usize,
    /// Its first word in the scene.
    pub(super) from: usize,
    /// The word after its last.
    pub(super) to: usize,
    /// The mention; `None` for a pronoun.
    pub(super) mention: Option<u32>,
}

/// An entity that the scene names.
#[derive(Debug, Clone)]
pub(super) struct Thing {
    /// In order of place.
    pub(super) places: Vec<Place>,
    /// The type of its longest name.
    pub(super) entity_type: EntityType,
    /// The longest name, lowercase.
    pub(super) name: String,
    /// Hash of `name`.
    pub(super) whole: u64,
    /// Hash of its first word.
    pub(super) first: u64,
    /// Hash of its last word.
    pub(super) last: u64,
    /// Number of its words.
    pub(super) n_words: usize,
}

impl Thing {
    fn unnamed(entity_type: EntityType) -> Self {
        let (places, name) = (Vec::new(), String::new());
        Thing { places, entity_type, name, whole: 0, first: 0, last: 0, n_words: 0 }
    }

    fn rename(&mut self, surface: &str, entity_type: EntityType) {
        let name = surface.to_lowercase();
        let tokens = tokens_of(&name);
        let hash = |word: Option<&String>| word.map_or(0, |it| xxh3_64(it.as_bytes()));
        (self.first, self.last) = (hash(tokens.first()), hash(tokens.last()));
        (self.whole, self.n_words) = (xxh3_64(name.as_bytes()), tokens.len());
        (self.name, self.entity_type) = (name, entity_type);
    }
}

/// A part of a document.
#[derive(Debug)]
pub struct Scene<'a> {
    /// The document's text.
    text: &'a str,
    pub(super) words: Vec<Word>,
    /// The words of each sentence, and its span in the document.
    pub(super) sentences: Vec<(Range<usize>, Span<Norm>)>,
    /// Ordered by first place.
    pub(super) things: Vec<Thing>,
    /// For each word, the index of the thing that it is part of plus one; 0 for none.
    thing_at: Vec<u16>,
}

impl<'a> Scene<'a> {
    fn new(text: &'a str) -> Self {
        let (words, sentences, things, thing_at) = Default::default();
        Scene { text, words, sentences, things, thing_at }
    }

    /// Returns the number of things.
    pub fn n_things(&self) -> usize {
        self.things.len()
    }

    /// Returns the mentions of a thing, in order of place.
    pub fn mentions(&self, thing: usize) -> impl Iterator<Item = u32> {
        self.things.get(thing).into_iter().flat_map(|it| &it.places).filter_map(|it| it.mention)
    }

    /// Returns the type of a thing.
    pub fn entity_type(&self, thing: usize) -> Option<EntityType> {
        self.things.get(thing).map(|it| it.entity_type)
    }

    /// Returns the thing that a word belongs to.
    pub(super) fn thing_of(&self, word: usize) -> Option<usize> {
        self.thing_at.get(word).and_then(|it| usize::from(*it).checked_sub(1))
    }

    /// Returns the text from one word up to another, exclusive.
    pub(super) fn piece(&self, from: usize, to: usize) -> &'a str {
        let start = |at: usize| self.words.get(at).map(|word| word.start as usize);
        let end = || self.sentences.last().map_or(0, |(_, span)| span.end());
        let Some(from) = start(from) else { return "" };
        self.text.get(from..start(to).unwrap_or_else(end)).unwrap_or_default()
    }

    /// Adds a sentence and the things named in it. `of_things` maps document-wide numbers to indexes in the scene.
    fn add(
        &mut self,
        sentence: Span<Norm>,
        named: &[Named],
        of_things: &mut FxHashMap<u32, usize>,
    ) {
        let from = self.words.len();
        words_of(self.text, sentence, &mut self.words);
        let to = self.words.len();
        let sentence_idx = self.sentences.len();
        self.sentences.push((from..to, sentence));
        self.thing_at.resize(to, 0);
        // Names are in order of place, so those of this sentence are adjacent.
        let first = named.partition_point(|it| it.span.start() < sentence.start());
        let inside = named.get(first..).unwrap_or_default().iter();
        for it in inside.take_while(|it| it.span.start() < sentence.end()) {
            let words = self.words.get(from..to).unwrap_or_default();
            // Words are in order of place; beyond `MAX_WORDS`, both ends fall together.
            let word_at = |byte| from + words.partition_point(|w| (w.start as usize) < byte);
            let (start, end) = (word_at(it.span.start()), word_at(it.span.end()));
            let n_things = of_things.len();
            let idx = *of_things.entry(it.thing).or_insert(n_things);
            if start >= end || idx >= MAX_THINGS {
                continue;
            }
            // A thing whose words were all beyond `MAX_WORDS` has an index but no place: fill its slot.
            while self.things.len() <= idx {
                self.things.push(Thing::unnamed(it.entity_type));
            }
            let Some(thing) = self.things.get_mut(idx) else { continue };
            let place = Place { sentence: sentence_idx, from: start, to: end, mention: it.mention };
            thing.places.push(place);
            // The longest name describes a thing best; pronouns do not count.
            if it.mention.is_some() && it.span.len() > thing.name.len() {
                thing.rename(it.span.of(self.text), it.entity_type);
            }
            // 1-based, since 0 means none; `MAX_THINGS` fits into `u16`.
            for slot in self.thing_at.iter_mut().take(end).skip(start) {
                *slot = idx as u16 + 1;
            }
        }
    }
}

/// A mention or a pronoun, before scenes are cut.
struct Named {
    span: Span<Norm>,
    thing: u32,
    mention: Option<u32>,
    entity_type: EntityType,
}

/// Cuts a document into scenes with at least two things. Only English sentences outside headings and code are read.
pub fn scenes_of(linked: &LinkedDoc) -> Vec<Scene<'_>> {
    let doc = &linked.doc;
    let named = named_in(linked);
    let mut scenes = Vec::new();
    let (mut scene, mut of_things) = (Scene::new(&doc.doc.text), FxHashMap::default());
    let (mut block_idx, mut section) = (0, None);
    for sentence in &doc.sentences {
        // Sentences and blocks are both in order of place.
        while doc.doc.blocks.get(block_idx).is_some_and(|b| b.span.end() <= sentence.start()) {
            block_idx += 1;
        }
        let Some(block) = doc.doc.blocks.get(block_idx) else { break };
        let is_read = !matches!(block.kind, BlockKind::Heading(_) | BlockKind::Code { .. });
        if !is_read || !doc.doc.is_english_at(sentence.start()) {
            continue;
        }
        // A new scene begins at a new section, and when the current one is full.
        if scene.sentences.len() == MAX_SENTENCES || section != block.section {
            scenes.push(std::mem::replace(&mut scene, Scene::new(&doc.doc.text)));
            of_things.clear();
        }
        section = block.section;
        scene.add(*sentence, &named, &mut of_things);
    }
    scenes.push(scene);
    scenes.retain(|scene| scene.things.len() > 1);
    scenes
}

/// Returns every mention and resolved pronoun in order of place, with the number of the thing it denotes.
fn named_in(linked: &LinkedDoc) -> Vec<Named> {
    let doc = &linked.doc;
    let same = same_names(linked);
    let thing_of =
        |mention: u32| linked.mention_names.get(mention as usize).map(|name| root(&same, *name));
    let mentions = (0..doc.mentions.len() as u32).map(|idx| (idx, None));
    let anaphors = doc.anaphors.iter().filter_map(|it| match it.antecedent {
        Party::Mention(idx) => Some((idx, Some(it.span))),
        Party::Document => None,
    });
    let mut named: Vec<Named> = Vec::with_capacity(doc.mentions.len());
    for (idx, anaphor) in mentions.chain(anaphors) {
        let (Some(thing), Some(meant)) = (thing_of(idx), doc.mentions.get(idx as usize)) else {
            continue;
        };
        let entity_type = meant.entity_type;
        // Versions and steps do not become things.
        if !matches!(entity_type, EntityType::Version | EntityType::Step) {
            let (span, mention) = (anaphor.unwrap_or(meant.span), anaphor.is_none().then_some(idx));
            named.push(Named { span, thing, mention, entity_type });
        }
    }
    named.sort_by_key(|it| (it.span, it.mention.is_none()));
    named
}

/// Returns for each name another that the document uses for the same thing, or itself (a union-find forest).
fn same_names(linked: &LinkedDoc) -> Vec<u32> {
    let mut same: Vec<u32> = (0..linked.names.len() as u32).collect();
    for alias in &linked.aliases {
        let of = |norm: &str| linked.names.binary_search_by(|it| it.norm.as_str().cmp(norm)).ok();
        if let (Some(a), Some(b)) = (of(&alias.norm), of(&alias.target)) {
            let (a, b) = (root(&same, a as u32), root(&same, b as u32));
            if let Some(it) = same.get_mut(a as usize) {
                *it = b;
            }
        }
    }
    same
}

fn root(same: &[u32], mut name: u32) -> u32 {
    while let Some(next) = same.get(name as usize)
        && *next != name
    {
        name = *next;
    }
    name
}

/// Appends the words and signs of a sentence.
fn words_of(text: &str, sentence: Span<Norm>, out: &mut Vec<Word>) {
    let mut word = String::new();
    let (mut start, n_before) = (0, out.len());
    // A space appended to the sentence ends its last word.
    for (at, c) in sentence.of(text).char_indices().chain([(sentence.len(), ' ')]) {
        let at = (sentence.start() + at) as u32;
        if c.is_alphanumeric() {
            if word.is_empty() {
                start = at;
            }
            word.extend(c.to_lowercase());
            continue;
        }
        if !word.is_empty() {
            out.push(Word { hash: hash_of(&word), start });
            word.clear();
        }
        if out.len() - n_before >= MAX_WORDS {
            return;
        }
        if !c.is_whitespace() {
            out.push(Word { hash: xxh3_64(c.encode_utf8(&mut [0; 4]).as_bytes()), start: at });
        }
    }
}

/// Returns the hash of a word. All years have one hash, and so do all other numbers.
fn hash_of(word: &str) -> u64 {
    if word.bytes().all(|b| b.is_ascii_digit()) {
        let is_year = word.len() == 4 && matches!(word.as_bytes(), [b'1' | b'2', ..]);
        return xxh3_64(if is_year { b"#year" } else { b"#number" });
    }
    xxh3_64(word.as_bytes())
}
