//! Features: what the classifier knows about two things of a scene.
//!
//! In: a scene, subject and object. Out: numbers below [`N_FEATURES`], most of them hashes of words with their role,
//! and the pieces of text whose static vectors are inputs.
//! Invariants: a function of the scene alone; at most a few hundred numbers for a pair; the trainer and the daemon
//! call the same functions, so training and inference see the same features.

use std::sync::LazyLock;

use model::terms::EntityType;
use xxhash_rust::xxh3::xxh3_64;

use super::scene::{Place, Scene, Thing, Word};

const BITS: u32 = 19;
/// Size of the hash space of features.
pub const N_FEATURES: usize = 1 << BITS;
/// Pieces of text for each pair.
pub const N_INPUTS: usize = 6;
/// Most words between two names for which each word is a feature.
const MAX_BETWEEN: usize = 24;
/// Most words between two names for which the whole phrase is a feature.
const MAX_PHRASE: usize = 4;
/// Most places of a thing whose neighbors are features.
const MAX_PLACES: usize = 4;
/// Most pairs of places in one sentence that are used.
const MAX_TOGETHER: usize = 3;
/// Most words after `is a` that are taken as the kind of the first thing.
const MAX_GENUS: usize = 8;
/// Most words of the first sentence that are an input.
const MAX_LEAD: usize = 40;
/// Words on either side of a name: in a piece of text, and as single features when the pair shares no sentence.
const AROUND: (usize, usize) = (5, 8);

/// A piece of text that is an input, by its place in the scene; equal values have equal text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Input {
    /// Nothing in this slot.
    None,
    /// The name of a thing, as subject (false) or object (true).
    Name(bool, usize),
    /// The words between two word indexes.
    Between(usize, usize),
    /// The scene's first sentence.
    Lead,
    /// The words around a place, given by word indexes, of the subject (false) or the object (true).
    Around(bool, usize, usize),
}

/// Features that all pairs of a scene share.
#[derive(Debug)]
pub struct Context {
    /// Words for the kind of the first thing.
    genus: Vec<u64>,
}

impl Context {
    /// Reads a scene once for all of its pairs.
    pub fn of(scene: &Scene<'_>) -> Self {
        Context { genus: genus_of(scene) }
    }
}

/// Returns the words in the first sentence for the kind of its first thing: `German skeleton racer` after `X is a`.
fn genus_of(scene: &Scene<'_>) -> Vec<u64> {
    // Hashes of constant words: only hashes of the scene's words are kept to compare with.
    type Words = [Vec<u64>; 3];
    static WORDS: LazyLock<Words> = LazyLock::new(|| {
        let hashes = |words: &str| words.split(' ').map(|it| xxh3_64(it.as_bytes())).collect();
        ["is was are were", "a an the one", ". , ; who that which"].map(hashes)
    });
    let [copulas, articles, ends] = &*WORDS;
    let Some((range, _)) = scene.sentences.first() else { return Vec::new() };
    let words = scene.words.get(range.clone()).unwrap_or_default();
    let is_start = |pair: &[Word]| match pair {
        [verb, article] => copulas.contains(&verb.hash) && articles.contains(&article.hash),
        _ => false,
    };
    let Some(at) = words.windows(2).position(is_start) else { return Vec::new() };
    let after = words.iter().skip(at + 2).take(MAX_GENUS).map(|word| word.hash);
    after.take_while(|hash| !ends.contains(hash)).collect()
}

/// Two things and their shared places.
struct Pair<'a, 's> {
    scene: &'a Scene<'s>,
    subject: &'a Thing,
    object: &'a Thing,
    /// Both types as one number.
    types: u64,
    /// Which of the two is the scene's first thing: bit 0 the subject, bit 1 the object.
    firsts: u64,
    /// Their places in one sentence, the closest first.
    together: Vec<(Place, Place)>,
}

impl<'a, 's> Pair<'a, 's> {
    fn of(scene: &'a Scene<'s>, pair: (usize, usize)) -> Option<Self> {
        let (subject, object) = (scene.things.get(pair.0)?, scene.things.get(pair.1)?);
        let types = (subject.entity_type as u64) << 8 | object.entity_type as u64;
        let firsts = u64::from(pair.0 == 0) | u64::from(pair.1 == 0) << 1;
        let together = together(subject, object);
        Some(Pair { scene, subject, object, types, firsts, together })
    }

    fn subject_type(&self) -> u64 {
        self.types >> 8
    }

    fn object_type(&self) -> u64 {
        self.types & 0xff
    }

    /// Returns the hash of a word, or the type of the thing that the word is part of, so that names do not matter.
    fn word(&self, at: usize) -> Option<u64> {
        let word = self.scene.words.get(at)?;
        let thing = self.scene.thing_of(at).and_then(|idx| self.scene.things.get(idx));
        Some(thing.map_or(word.hash, |thing| 1 + thing.entity_type as u64))
    }

    fn word_before(&self, at: usize, n: usize) -> Option<u64> {
        at.checked_sub(n).and_then(|at| self.word(at))
    }
}

/// Returns pairs of places in one sentence, the closest first; each place of the object once.
fn together(subject: &Thing, object: &Thing) -> Vec<(Place, Place)> {
    let mut pairs: Vec<(Place, Place)> = Vec::new();
    for b in &object.places {
        let near = subject.places.iter().filter(|a| a.sentence == b.sentence);
        if let Some(a) = near.min_by_key(|a| gap(a, b)) {
            pairs.push((*a, *b));
        }
    }
    pairs.sort_by_key(|(a, b)| gap(a, b));
    pairs
}

/// Returns the number of words between two places.
fn gap(a: &Place, b: &Place) -> usize {
    if a.from < b.from { b.from.saturating_sub(a.to) } else { a.from.saturating_sub(b.to) }
}

/// Returns the number of sentences between the closest named places of two things, and these places.
pub(super) fn nearest(scene: &Scene<'_>, pair: (usize, usize)) -> Option<(usize, Place, Place)> {
    let (subject, object) = (scene.things.get(pair.0)?, scene.things.get(pair.1)?);
    let named = |thing: &'_ Thing| -> Vec<Place> {
        thing.places.iter().filter(|it| it.mention.is_some()).copied().collect()
    };
    let (all, objects) = (named(subject), named(object));
    let pairs = all.iter().flat_map(|a| objects.iter().map(move |b| (*a, *b)));
    let (a, b) = pairs.min_by_key(|(a, b)| (a.sentence.abs_diff(b.sentence), gap(a, b)))?;
    Some((a.sentence.abs_diff(b.sentence), a, b))
}

/// Returns the number of sentences between the closest places, including pronouns.
pub(super) fn distance(scene: &Scene<'_>, pair: (usize, usize)) -> usize {
    let of = |thing| scene.things.get(thing).map_or(&[][..], |it: &Thing| &it.places);
    let objects = of(pair.1);
    let apart = |a: &Place| objects.iter().map(|b| a.sentence.abs_diff(b.sentence)).min();
    of(pair.0).iter().filter_map(apart).min().unwrap_or(usize::MAX)
}

/// Collects the features of a pair.
struct Collector<'a> {
    out: &'a mut Vec<u32>,
}

impl Collector<'_> {
    /// Adds the feature of a template, given by its number, with its parts.
    fn add(&mut self, template: u64, parts: &[u64]) {
        // A fixed hash, part of the format: other constants would need other weights. The high bits are the best
        // mixed.
        let mut hash = template.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        for part in parts {
            hash = (hash.rotate_left(23) ^ part).wrapping_mul(0xD6E8_FEB8_6659_FD93);
            hash ^= hash >> 32;
        }
        self.out.push((hash >> (64 - BITS)) as u32);
    }
}

fn bucket(n: usize) -> u64 {
    // Exact up to 4, then ranges that grow.
    match n {
        0..=4 => n as u64,
        5..=6 => 5,
        7..=9 => 6,
        10..=14 => 7,
        15..=24 => 8,
        _ => 9,
    }
}

/// Replaces `out` with the features of subject and object, sorted, and returns the pair's pieces of text: both names,
/// the words between, the scene's lead, the words around each.
pub fn see(
    scene: &Scene<'_>,
    context: &Context,
    things: (usize, usize),
    out: &mut Vec<u32>,
) -> [Input; N_INPUTS] {
    out.clear();
    let Some(pair) = Pair::of(scene, things) else { return [Input::None; N_INPUTS] };
    let mut it = Collector { out };
    let (types, firsts) = (pair.types, pair.firsts);
    // Template numbers are hashed into features, so changing one requires new weights.
    it.add(1, &[types]);
    it.add(2, &[types, firsts]);
    it.add(3, &[pair.subject_type()]);
    it.add(4, &[pair.object_type()]);
    names(&mut it, &pair);
    counts(&mut it, &pair, things);
    for word in &context.genus {
        if firsts != 0 {
            it.add(30, &[*word, firsts]);
            it.add(31, &[*word, firsts, types]);
        }
        it.add(32, &[*word, types]);
    }
    it.add(40, &[bucket(pair.together.len())]);
    for (rank, (a, b)) in pair.together.iter().take(MAX_TOGETHER).enumerate() {
        between(&mut it, &pair, (*a, *b), rank == 0);
    }
    let apart = bucket(distance(scene, things));
    it.add(41, &[apart, types]);
    it.add(42, &[apart, types, firsts]);
    for (role, thing) in [(0, pair.subject), (1, pair.object)] {
        if pair.together.is_empty()
            && let Some(place) = thing.places.first()
        {
            around(&mut it, &pair, place, 50 + role);
        }
        for place in thing.places.iter().take(MAX_PLACES) {
            neighbors(&mut it, &pair, place, 60 + role * 10);
        }
    }
    out.sort_unstable();
    out.dedup();
    inputs_of(&pair, things)
}

fn names(it: &mut Collector<'_>, pair: &Pair<'_, '_>) {
    let (s, o) = (pair.subject, pair.object);
    let (ts, to) = (pair.subject_type(), pair.object_type());
    it.add(5, &[s.whole]);
    it.add(6, &[o.whole]);
    it.add(7, &[s.whole, to]);
    it.add(8, &[o.whole, ts]);
    it.add(9, &[s.last, to]);
    it.add(10, &[o.last, ts]);
    it.add(11, &[s.first, to]);
    it.add(12, &[o.first, ts]);
    it.add(13, &[s.last, o.last]);
    it.add(14, &[s.whole, o.whole]);
    it.add(15, &[u64::from(s.last == o.last), u64::from(s.first == o.first), pair.types]);
    it.add(16, &[bucket(s.n_words), bucket(o.n_words), pair.types]);
}

fn counts(it: &mut Collector<'_>, pair: &Pair<'_, '_>, things: (usize, usize)) {
    let types = pair.types;
    it.add(20, &[bucket(pair.subject.places.len()), types]);
    it.add(21, &[bucket(pair.object.places.len()), types]);
    it.add(22, &[bucket(things.0), types]);
    it.add(23, &[bucket(things.1), types]);
    it.add(24, &[u64::from(things.0 < things.1), types]);
    let sentence = |thing: &Thing| bucket(thing.places.first().map_or(0, |place| place.sentence));
    it.add(25, &[sentence(pair.subject), sentence(pair.object), types]);
}

/// Adds the words between two names of a sentence, and beside them.
fn between(it: &mut Collector<'_>, pair: &Pair<'_, '_>, places: (Place, Place), is_closest: bool) {
    let (a, b) = places;
    let types = pair.types;
    let is_ahead = u64::from(a.from < b.from);
    let (left, right) = if a.from < b.from { (a, b) } else { (b, a) };
    let (mut words, mut last_thing, mut n_names) = (Vec::new(), None, 0);
    for at in left.to..right.from {
        // A name of several words is a single word here: its type.
        let thing = pair.scene.thing_of(at);
        if thing.is_none() || thing != last_thing {
            n_names += usize::from(thing.is_some());
            words.extend(pair.word(at));
        }
        last_thing = thing;
    }
    let place = is_ahead << 1 | u64::from(is_closest);
    it.add(80, &[bucket(right.from.saturating_sub(left.to)), place, types]);
    it.add(81, &[bucket(n_names), place, types]);
    if words.len() <= MAX_BETWEEN {
        for word in &words {
            it.add(82, &[*word, is_ahead]);
            it.add(83, &[*word, is_ahead, types]);
        }
        for two in words.windows(2) {
            if let [first, second] = two {
                it.add(84, &[is_ahead, *first, *second]);
                it.add(85, &[is_ahead, *first, *second, types]);
            }
        }
    }
    if words.len() <= MAX_PHRASE {
        let mut phrase = vec![is_ahead];
        phrase.extend(&words);
        it.add(86, &phrase);
        phrase.push(types);
        it.add(87, &phrase);
    }
    let beside = [
        pair.word_before(left.from, 1),
        pair.word_before(left.from, 2),
        pair.word(right.to),
        pair.word(right.to + 1),
        words.first().copied(),
        words.last().copied(),
    ];
    for (template, word) in (88..).zip(beside) {
        if let Some(word) = word {
            it.add(template, &[word, is_ahead, types]);
        }
    }
}

/// Returns the ranges of the words around a place, left and right of it, within its sentence.
fn words_around(scene: &Scene<'_>, place: (usize, usize), reach: usize) -> [(usize, usize); 2] {
    let sentence = scene.sentences.iter().find(|(range, _)| range.contains(&place.0));
    let Some((range, _)) = sentence else { return [(0, 0); 2] };
    let from = place.0.saturating_sub(reach).max(range.start);
    [(from, place.0), (place.1, (place.1 + reach).min(range.end))]
}

fn around(it: &mut Collector<'_>, pair: &Pair<'_, '_>, place: &Place, template: u64) {
    for (from, to) in words_around(pair.scene, (place.from, place.to), AROUND.1) {
        for word in (from..to).filter_map(|at| pair.word(at)) {
            it.add(template, &[word, pair.types]);
        }
    }
}

/// Adds the words beside a place.
fn neighbors(it: &mut Collector<'_>, pair: &Pair<'_, '_>, place: &Place, template: u64) {
    let (one, two) = (pair.word_before(place.from, 2), pair.word_before(place.from, 1));
    let beside = [two, one, pair.word(place.to), pair.word(place.to + 1)];
    for (template, word) in (template..).zip(beside) {
        if let Some(word) = word {
            it.add(template, &[word, pair.types]);
        }
    }
    if let (Some(one), Some(two)) = (one, two) {
        it.add(template + 4, &[one, two, pair.types]);
    }
}

fn inputs_of(pair: &Pair<'_, '_>, things: (usize, usize)) -> [Input; N_INPUTS] {
    let closest = pair.together.first();
    let between = closest.map_or(Input::None, |(a, b)| {
        let (left, right) = if a.from < b.from { (a, b) } else { (b, a) };
        let is_read = right.from.saturating_sub(left.to) <= MAX_BETWEEN;
        if is_read { Input::Between(left.to, right.from) } else { Input::None }
    });
    let first = |thing: &Thing| thing.places.first().copied();
    let subject = closest.map_or_else(|| first(pair.subject), |(a, _)| Some(*a));
    let object = closest.map_or_else(|| first(pair.object), |(_, b)| Some(*b));
    let around = |is_object, place: Option<Place>| {
        place.map_or(Input::None, |place| Input::Around(is_object, place.from, place.to))
    };
    [
        Input::Name(false, things.0),
        Input::Name(true, things.1),
        between,
        Input::Lead,
        around(false, subject),
        around(true, object),
    ]
}

/// Returns the text of an input.
pub fn text_of(scene: &Scene<'_>, input: Input) -> String {
    match input {
        Input::None => String::new(),
        Input::Name(_, thing) => {
            scene.things.get(thing).map_or(String::new(), |it| it.name.clone())
        }
        Input::Between(from, to) => scene.piece(from, to).to_string(),
        Input::Lead => {
            let range = scene.sentences.first().map_or(0..0, |(range, _)| range.clone());
            scene.piece(range.start, range.end.min(range.start + MAX_LEAD)).to_string()
        }
        Input::Around(_, from, to) => {
            let [before, after] = words_around(scene, (from, to), AROUND.0);
            format!("{} {}", scene.piece(before.0, before.1), scene.piece(after.0, after.1))
        }
    }
}

/// True when things of these types may be related: neither is a version, a step, code or a page, and at least one is
/// of a kind that the training sets cover.
pub(super) fn may_relate(types: (EntityType, EntityType)) -> bool {
    use EntityType::{
        Date, Document, Event, Identifier, Location, Organization, Person, Step, Version,
    };
    let is_out = |it| matches!(it, Version | Step | Identifier | Document);
    let is_named = |it| matches!(it, Person | Organization | Location | Event | Date);
    !is_out(types.0) && !is_out(types.1) && (is_named(types.0) || is_named(types.1))
}
