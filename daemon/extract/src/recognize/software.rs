//! Software: whether a name whose form does not say what it is names a program, from its letters and the words around
//! it: `aligned with BLAST 2.2`, but `expression of MCP`.
//!
//! In: a document's mentions, their types corrected. Out: the same: some are a `Technology` now, others no software. A
//! logistic regression over hashed features; `tests/training` trains it, `daemon/models/software/CARD.md` describes it.
//! Invariants: judges only types that say little, were guessed, or name software; never names that readers know
//! (`known.rs`) or whose own words say what they are (`lexicon.rs`), nor what a document states, defines or writes as
//! code. Looks at a bounded number of bytes, so time is linear.
//! Not here: the vote over all mentions of a name (`link/vote.rs`), cues that tell a kind by themselves (`context.rs`).

use std::sync::LazyLock;

use xxhash_rust::xxh3::xxh3_64;

use super::{known, lexicon};
use model::parcel::{Mention, NormalDoc, RecognizerKind};
use model::terms::EntityType;

/// Weights are one byte each, for so many hashed features.
pub const N_FEATURES: usize = 1 << 16;

/// Scale and bias, then the weights.
static BUILTIN: &[u8] = include_bytes!("../../../models/software/software.bin");
static WEIGHTS: LazyLock<Weights> =
    LazyLock::new(|| Weights::read(BUILTIN).expect("the weights in the program are whole"));

/// From this probability on, a name counts as software: with the vote over a folder, F1 on papers that nothing was
/// trained on is level from .25 to .5, and recall on posts of programmers falls above .3.
const LEAST: f32 = 0.3;
/// What a model took for an organization becomes software from here on. Persons and places that look like software are
/// mostly still persons and places on other prose, so these are left alone.
const WAS_ORGANIZATION: f32 = 0.6;
/// Bytes and words that are read on each side, within the line.
const REACH: usize = 100;
const MAX_WORDS: usize = 8;

/// The weights of the regression.
pub struct Weights {
    scale: f32,
    bias: f32,
    weights: &'static [u8],
}

impl Weights {
    fn read(bytes: &'static [u8]) -> Option<Self> {
        let (scale, rest) = bytes.split_first_chunk()?;
        let (bias, weights) = rest.split_first_chunk()?;
        let (scale, bias) = (f32::from_le_bytes(*scale), f32::from_le_bytes(*bias));
        (weights.len() == N_FEATURES).then_some(Weights { scale, bias, weights })
    }

    fn probability(&self, features: &[u32]) -> f32 {
        let weight = |feature: &u32| self.weights.get(*feature as usize).map_or(0, |b| *b as i8);
        let sum: i32 = features.iter().map(|it| i32::from(weight(it))).sum();
        1.0 / (1.0 + (-self.bias - self.scale * sum as f32).exp())
    }
}

/// Judges the mentions.
pub(super) fn judge(doc: &NormalDoc, mentions: &mut [Mention]) {
    let mut features = Vec::new();
    for mention in mentions.iter_mut().filter(|it| is_open(it)) {
        features_of(&doc.text, mention, &mut features);
        let probability = WEIGHTS.probability(&features);
        mention.place.is_unlike_software = probability < LEAST;
        match mention.entity_type {
            it if it.is_software() && probability < LEAST => {
                mention.entity_type = EntityType::Concept
            }
            EntityType::Concept if probability >= LEAST => settle(mention),
            EntityType::Organization if probability >= WAS_ORGANIZATION => settle(mention),
            _ => {}
        }
    }
}

fn settle(mention: &mut Mention) {
    mention.entity_type = EntityType::Technology;
    mention.place.is_type_guessed = false;
}

/// True where form and cues leave open whether a mention names software.
pub fn is_open(mention: &Mention) -> bool {
    let is_trusted = match mention.recognizer {
        RecognizerKind::Stated | RecognizerKind::Coreference | RecognizerKind::Given => true,
        RecognizerKind::Gazetteer => mention.entity_type.is_telling(),
        RecognizerKind::Pattern | RecognizerKind::Statistical => false,
    };
    let is_general = mention.recognizer == RecognizerKind::Pattern
        && mention.entity_type == EntityType::Concept
        && !mention.name.contains(char::is_uppercase);
    let place = mention.place;
    let is_exact = matches!(
        mention.entity_type,
        EntityType::Date
            | EntityType::Version
            | EntityType::Step
            | EntityType::Identifier
            | EntityType::Standard
            | EntityType::Api
    );
    let says_little = mention.entity_type == EntityType::Concept
        || place.is_type_guessed
        || mention.entity_type.is_software();
    let is_final = place.is_entity_given || place.is_defined || place.in_code;
    let is_said_by_name = || known::is_known(&mention.name) || says_itself(&mention.name);
    says_little && !(is_trusted || is_general || is_exact || is_final || is_said_by_name())
}

/// True where a word of the name says what it is: `Signing Service`, `OrdersGateway`.
fn says_itself(name: &str) -> bool {
    lexicon::type_of(name).is_telling()
        || !name.contains(' ') && lexicon::type_of_camel(name).is_telling()
}

/// The hashed features of a mention, ascending, each once.
pub fn features_of(text: &str, mention: &Mention, out: &mut Vec<u32>) {
    out.clear();
    let (start, end) = (mention.span.start(), mention.span.end());
    let surface = text.get(start..end).unwrap_or("");
    let before = text.get(..start).unwrap_or("");
    let before = tail(before.rsplit('\n').next().unwrap_or(""));
    let after = head(text.get(end..).unwrap_or("").split('\n').next().unwrap_or(""));
    let mut left: Vec<&str> = words_of(before).collect();
    left.reverse();
    left.truncate(MAX_WORDS);
    let right: Vec<&str> = words_of(after).take(MAX_WORDS).collect();
    let left: Vec<String> = left.into_iter().map(plain).collect();
    let right: Vec<String> = right.into_iter().map(plain).collect();
    let at = |words: &[String], i: usize| words.get(i).map_or("", String::as_str).to_string();

    let mut add = |role: &str, one: &str, other: &str| {
        let key = [role, one, other].join("\0");
        out.push((xxh3_64(key.as_bytes()) % N_FEATURES as u64) as u32);
    };
    for (i, (l, r)) in [("l0", "r0"), ("l1", "r1"), ("l2", "r2")].into_iter().enumerate() {
        add(l, &at(&left, i), "");
        add(r, &at(&right, i), "");
    }
    add("ll", &at(&left, 1), &at(&left, 0));
    add("rr", &at(&right, 0), &at(&right, 1));
    add("lr", &at(&left, 0), &at(&right, 0));
    left.iter().chain(&right).for_each(|word| add("near", word, ""));

    let own: Vec<&str> = words_of(surface).collect();
    let last = own.last().filter(|_| own.len() > 1).copied().unwrap_or("");
    let lower = surface.to_lowercase();
    let start = lower.char_indices().nth(3).map_or(lower.len(), |(at, _)| at);
    let tail = lower.char_indices().nth_back(2).map_or(0, |(at, _)| at);
    add("shape", &shape_of(surface), "");
    add("length", ["0", "1", "2", "3", "4"].get(own.len()).copied().unwrap_or("4"), "");
    add("last", &last.to_lowercase(), "");
    add("begins", lower.get(..start).unwrap_or(""), "");
    add("ends", lower.get(tail..).unwrap_or(""), "");
    let source = match (mention.recognizer, mention.place.is_type_guessed) {
        (RecognizerKind::Statistical, true) => "model",
        (RecognizerKind::Statistical, false) => "model, cued",
        (_, true) => "form, guessed",
        (_, false) => "form",
    };
    add("type", mention.entity_type.as_str(), source);
    out.sort_unstable();
    out.dedup();
}

/// Runs of letters and digits, and single signs.
fn words_of(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        rest = rest.trim_start();
        let first = rest.chars().next()?;
        let n_bytes = match first.is_alphanumeric() {
            true => rest.find(|c: char| !c.is_alphanumeric()).unwrap_or(rest.len()),
            false => first.len_utf8(),
        };
        let (word, after) = rest.split_at(n_bytes);
        rest = after;
        Some(word)
    })
}

/// A word as a feature: numbers are one, names and acronyms are one each, other words in small letters.
fn plain(word: &str) -> String {
    let is_long = word.chars().nth(1).is_some();
    let letters = || word.chars().filter(|c| c.is_alphabetic());
    if word.bytes().all(|b| b.is_ascii_digit()) {
        "0".to_string()
    } else if is_long && letters().next().is_some() && letters().all(char::is_uppercase) {
        "AA".to_string()
    } else if is_long && word.starts_with(char::is_uppercase) {
        "Aa".to_string()
    } else {
        word.to_lowercase()
    }
}

/// Capitals, small letters and digits, each run as one sign: `EphA4` is `AaA0`.
fn shape_of(surface: &str) -> String {
    const LONGEST: usize = 6;
    let mut shape = String::new();
    for c in surface.chars() {
        let sign = match c {
            _ if c.is_uppercase() => 'A',
            _ if c.is_lowercase() => 'a',
            _ if c.is_numeric() => '0',
            other => other,
        };
        if shape.len() >= LONGEST {
            break;
        }
        if !sign.is_alphanumeric() || !shape.ends_with(sign) {
            shape.push(sign);
        }
    }
    shape
}

/// At most [`REACH`] bytes from the start, at a character boundary.
fn head(text: &str) -> &str {
    text.get(..text.floor_char_boundary(REACH)).unwrap_or("")
}

/// At most [`REACH`] bytes from the end, at a character boundary.
fn tail(text: &str) -> &str {
    text.get(text.ceil_char_boundary(text.len().saturating_sub(REACH))..).unwrap_or("")
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::parcel::{PlaceFeatures, testing};
    use model::terms::{Confidence, Span};

    fn judged(text: &str, name: &str, entity_type: EntityType) -> EntityType {
        let doc = testing::doc(text);
        let start = doc.text.find(name).expect("the name stands there");
        let mut mentions = [Mention {
            span: Span::new(start, start + name.len()),
            name: name.to_string(),
            entity_type,
            recognizer: RecognizerKind::Pattern,
            score: Confidence::new(0.75),
            place: PlaceFeatures::default(),
        }];
        judge(&doc, &mut mentions);
        let [mention] = mentions;
        mention.entity_type
    }

    #[test]
    fn the_words_around_a_name_of_open_kind_tell_software_from_the_rest() {
        use EntityType::{Concept, Organization, Technology};
        let rows = [
            (
                "Reads were aligned using TopMapper version 2.1 (Zork Inc).",
                "TopMapper",
                Concept,
                Technology,
            ),
            ("Cells were stained for EphB7 and kept at low levels.", "EphB7", Technology, Concept),
            ("The expression of EphB7 in mice was low.", "EphB7", Concept, Concept),
            // What readers know, and what says itself what it is, stays.
            ("The expression of Postgres in mice was low.", "Postgres", Technology, Technology),
            (
                "The Signing Service was kept at low levels.",
                "Signing Service",
                Technology,
                Technology,
            ),
            ("She joined Zorvik in May.", "Zorvik", Organization, Organization),
        ];
        for (text, name, before, after) in rows {
            assert_eq!(judged(text, name, before), after, "{text}");
        }
    }

    #[test]
    fn any_place_is_read_without_harm() {
        let doc = testing::doc("Ünï EphB7");
        for (start, end) in [(0, 0), (0, 3), (6, 11), (11, 11)] {
            let mention = Mention {
                span: Span::new(start, end),
                name: "x".to_string(),
                entity_type: EntityType::Concept,
                recognizer: RecognizerKind::Pattern,
                score: Confidence::new(0.75),
                place: PlaceFeatures::default(),
            };
            let mut features = Vec::new();
            features_of(&doc.text, &mention, &mut features);
            assert!(features.is_sorted_by(|a, b| a < b));
            assert!(features.iter().all(|it| (*it as usize) < N_FEATURES));
        }
    }
}
