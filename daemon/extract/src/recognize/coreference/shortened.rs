//! Shortened names: `Babbage` or `Charles` after `Charles Babbage`, `Quillgate` after `Quillgate Systems GmbH`.
//!
//! In: a document's mentions. Out: a mention that is a part of an earlier, longer name gets that
//! name; such parts that no recognizer found become mentions.
//! Invariants: only people and organizations have short names; a part that two different names
//! share stands for neither; a name that an author linked or a note states stays as it is.

use rustc_hash::FxHashMap;

use crate::recognize::{lexicon, words};
use model::document::{BlockKind, Document, Mention, PlaceFeatures, RecognizerKind};
use model::terms::{Confidence, EntityType, Span};

const SCORE: f32 = 0.55;
/// Shortest part that may stand for a name, in bytes.
const MIN_PART_BYTES: usize = 3;

/// The full name behind a part, and the place from which the part stands for it.
struct Bearer {
    name: String,
    entity_type: EntityType,
    /// Where the full name first occurs.
    from: usize,
    /// Whether another name has the same part.
    is_shared: bool,
    /// Whether its type is no judgement: general knowledge of the part counts for less.
    is_sure: bool,
}

/// Replaces shortened names by full ones. Mentions stay in order of place.
pub(in crate::recognize) fn lengthen(doc: &Document, mentions: &mut Vec<Mention>) {
    let bearers = bearers_of(mentions);
    if bearers.is_empty() {
        return;
    }
    for mention in mentions.iter_mut().filter(|m| may_be_short(m)) {
        if let Some(bearer) = bearers.get(mention.name.as_str())
            && bearer.fits(mention)
        {
            mention.name.clone_from(&bearer.name);
            mention.entity_type = bearer.entity_type;
        }
    }
    let mut added = unclaimed(doc, mentions, &bearers);
    mentions.append(&mut added);
    mentions.sort_unstable_by_key(|m| m.span);
}

impl Bearer {
    fn fits(&self, mention: &Mention) -> bool {
        let is_kind = !mention.entity_type.is_specific()
            || mention.entity_type == self.entity_type
            || mention.place.is_type_guessed
            || self.is_sure;
        !self.is_shared && self.from < mention.span.start() && is_kind
    }
}

fn may_be_short(mention: &Mention) -> bool {
    !matches!(mention.recognizer, RecognizerKind::Stated | RecognizerKind::Gazetteer)
        && !mention.name.contains(' ')
        && !mention.place.in_code
        && !mention.place.is_entity_given
}

/// Returns the parts that people are called by, and organizations' names without their kind.
fn bearers_of(mentions: &[Mention]) -> FxHashMap<String, Bearer> {
    let mut bearers: FxHashMap<String, Bearer> = FxHashMap::default();
    for mention in mentions {
        for part in parts_of(mention) {
            let bearer = bearers.entry(part.to_string()).or_insert_with(|| Bearer {
                name: mention.name.clone(),
                entity_type: mention.entity_type,
                from: mention.span.start(),
                is_shared: false,
                is_sure: false,
            });
            let place = mention.place;
            bearer.is_sure |= !place.is_type_guessed && place.certainty == 0;
            bearer.is_shared |= bearer.name != mention.name;
        }
    }
    bearers
}

fn parts_of(mention: &Mention) -> Vec<&str> {
    let words: Vec<&str> = mention.name.split(' ').collect();
    let (Some(first), Some(last)) = (words.first(), words.last()) else { return Vec::new() };
    let parts = match mention.entity_type {
        EntityType::Person if (2..=4).contains(&words.len()) => vec![*first, *last],
        // `Edge Team` is not Edge, nor is `Observability Working Group` Observability.
        EntityType::Organization if !lexicon::is_legal_form(last) => Vec::new(),
        EntityType::Organization if words.len() == 2 => vec![*first],
        EntityType::Organization if words.len() == 3 => {
            // `Quillgate Systems GmbH` is Quillgate; `Trust Quillgate GmbH` is not Trust.
            if words.get(1).is_some_and(|word| words::is_ordinary(word)) {
                vec![*first]
            } else {
                Vec::new()
            }
        }
        _ => Vec::new(),
    };
    parts.into_iter().filter(|part| is_part(part)).collect()
}

fn is_part(part: &str) -> bool {
    part.len() >= MIN_PART_BYTES
        && part.starts_with(char::is_uppercase)
        && part.chars().all(|c| c.is_alphabetic() || matches!(c, '-' | '\'' | '’'))
        && !words::is_ordinary(part)
}

/// Returns mentions for capitalized words that are such a part, follow the full name, and belong to
/// no other mention.
fn unclaimed(
    doc: &Document,
    mentions: &[Mention],
    bearers: &FxHashMap<String, Bearer>,
) -> Vec<Mention> {
    let mut added = Vec::new();
    let mut next = 0;
    for block in doc.blocks.iter().filter(|b| !matches!(b.kind, BlockKind::Code { .. })) {
        for (start, word) in capitalized(block.span.of(&doc.text), block.span.start()) {
            let end = start + word.len();
            while mentions.get(next).is_some_and(|m| m.span.end() <= start) {
                next += 1;
            }
            // A step may contain names, so it does not claim the place.
            let around = mentions.get(next..).unwrap_or(&[]).iter().take(4);
            let is_claimed = around
                .filter(|m| m.entity_type != EntityType::Step)
                .any(|m| m.span.start() < end && start < m.span.end());
            let bearer = bearers.get(word).filter(|b| !b.is_shared && b.from < start);
            if let Some(bearer) = bearer.filter(|_| !is_claimed) {
                added.push(Mention {
                    span: Span::new(start, end),
                    name: bearer.name.clone(),
                    entity_type: bearer.entity_type,
                    recognizer: RecognizerKind::Coreference,
                    score: Confidence::new(SCORE),
                    place: PlaceFeatures { is_type_guessed: true, ..PlaceFeatures::default() },
                });
            }
        }
    }
    added
}

/// Yields the capitalized words of a text with their places.
fn capitalized(text: &str, offset: usize) -> impl Iterator<Item = (usize, &str)> {
    let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '\'' | '’');
    text.split(move |c: char| !is_word(c)).filter(|word| word.starts_with(char::is_uppercase)).map(
        move |word| {
            let start = offset + (word.as_ptr() as usize - text.as_ptr() as usize);
            let bare = word.strip_suffix("'s").or_else(|| word.strip_suffix("’s")).unwrap_or(word);
            (start, bare.trim_end_matches(['\'', '’', '-']))
        },
    )
}
