//! Proof: collects hits until the whole document is read, then keeps those the document confirms.
//!
//! In: hits, in order of place. Out: mentions.
//! Invariants: surfaces are compared by a hash of the name, which for an acronym omits the plural
//! `s`; linear.

use std::hash::{Hash, Hasher};

use rustc_hash::{FxHashMap, FxHasher};

use super::Hit;
use crate::recognize::token::{View, Words};
use model::document::{Mention, PlaceFeatures, RecognizerKind};
use model::terms::{Confidence, EntityType, Span};

/// The proof that a hit needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Proof {
    /// None.
    Firm,
    /// The same surface outside headings.
    OutsideHeading,
    /// The same surface a second time, not only in headings, or a definition in the document.
    Twice,
    /// The same surface inside a sentence.
    MidSentence,
    /// The same surface twice inside sentences, and nowhere in lowercase.
    Proper,
    /// Like `Proper`, but this place is no evidence, because its sentence begins here.
    ProperAtStart,
}

struct Find {
    mention: Mention,
    proof: Proof,
    key: u64,
}

/// What the document shows about a surface.
#[derive(Default)]
struct Seen {
    n: u32,
    n_outside_headings: u32,
    n_mid_sentence: u32,
    is_defined: bool,
    in_small_letters: bool,
}

/// All hits of one document.
pub(super) struct Finds<'a> {
    text: &'a str,
    /// True while a heading is read.
    pub(super) is_heading: bool,
    /// Whether a capital marks a name: not in German, where every noun has one.
    pub(super) capitals_name: bool,
    finds: Vec<Find>,
    seen: FxHashMap<u64, Seen>,
    /// Hash of the lowercase form → hash of the surface, for surfaces that need `Proof::Proper`.
    small: FxHashMap<u64, u64>,
}

impl<'a> Finds<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        let (seen, small) = (FxHashMap::default(), FxHashMap::default());
        Finds { text, is_heading: false, capitals_name: true, finds: Vec::new(), seen, small }
    }

    /// Adds a hit.
    pub(super) fn push(&mut self, view: View<'_>, hit: Hit) {
        let surface = view.run(hit.from, hit.to);
        let (Some(first), false) = (view.words.get(hit.from), surface.is_empty()) else { return };
        let start = first.start as usize;
        let name = hit.name.unwrap_or_else(|| plain(surface));
        let key = hash_of(&name);
        let seen = self.seen.entry(key).or_default();
        seen.n += 1;
        seen.n_outside_headings += u32::from(!self.is_heading);
        let is_evidence = !matches!(hit.proof, Proof::MidSentence | Proof::ProperAtStart);
        seen.n_mid_sentence += u32::from(is_evidence && !self.is_heading);
        if matches!(hit.proof, Proof::Proper | Proof::ProperAtStart) {
            self.small.insert(hash_of(&name.to_lowercase()), key);
        }
        let mention = Mention {
            span: Span::new(start, start + surface.len()),
            name,
            entity_type: hit.entity_type,
            recognizer: RecognizerKind::Pattern,
            score: Confidence::new(hit.score),
            place: PlaceFeatures::default(),
        };
        self.finds.push(Find { mention, proof: hit.proof, key });
    }

    /// Records that the document explains an acronym.
    pub(super) fn define(&mut self, acronym: &str) {
        self.seen.entry(hash_of(acronym)).or_default().is_defined = true;
    }

    /// Returns the confirmed hits as mentions.
    pub(super) fn settle(mut self, words: &Words<'_>, out: &mut Vec<Mention>) {
        if !self.small.is_empty() {
            for word in words.all().iter().filter(|word| word.shape.is_quiet()) {
                let surface = self.text.get(word.start as usize..word.end as usize).unwrap_or("");
                let seen = self.small.get(&hash_of(surface)).and_then(|key| self.seen.get_mut(key));
                if let Some(seen) = seen {
                    seen.in_small_letters = true;
                }
            }
        }
        let Finds { finds, seen, .. } = self;
        let is_proven = |find: &Find| seen.get(&find.key).is_some_and(|s| s.bears_out(find.proof));
        out.extend(finds.into_iter().filter(is_proven).map(|find| find.mention));
    }
}

impl Seen {
    fn bears_out(&self, proof: Proof) -> bool {
        match proof {
            Proof::Firm => true,
            Proof::OutsideHeading => self.n_outside_headings > 0,
            Proof::Twice => self.is_defined || (self.n > 1 && self.n_outside_headings > 0),
            Proof::MidSentence => self.n_mid_sentence > 0,
            Proof::Proper | Proof::ProperAtStart => {
                self.n_mid_sentence > 1 && !self.in_small_letters
            }
        }
    }
}

/// Returns a surface on one line.
fn plain(surface: &str) -> String {
    surface.replace('\n', " ")
}

fn hash_of(text: &str) -> u64 {
    let mut hasher = FxHasher::default();
    text.hash(&mut hasher);
    hasher.finish()
}

/// Makes a mention for a whole block or span, outside the pass over words.
pub(super) fn mention(
    span: Span<model::terms::Norm>,
    name: &str,
    entity_type: EntityType,
    score: f32,
) -> Mention {
    Mention {
        span,
        name: plain(name),
        entity_type,
        recognizer: RecognizerKind::Pattern,
        score: Confidence::new(score),
        place: PlaceFeatures::default(),
    }
}
