//! Names: how two surfaces are compared, and the types of things they name.

use config::patterns::{TYPES, type_at};
use unicode_normalization::UnicodeNormalization;

/// A surface reduced to what identifies it: lowercase letters and digits, with `+ # .` kept inside a name, so that
/// `C`, `C++` and `C#` differ and `signing-service`, `SigningService`, `Signing Service` are equal.
pub type Norm = String;

/// Returns the norm of a surface (S4 §7, extended to Unicode): folded as names are ([`names::fold`]), with
/// compatibility forms (NFKC), without anything but letters, digits and inner `+ # .`, since texts write one name with
/// and without blanks, hyphens and marks. Empty if nothing is left.
pub fn norm_of(surface: &str) -> Norm {
    // Most names are ASCII, which needs no decomposition.
    if surface.is_ascii() {
        return ascii_norm(surface.as_bytes());
    }
    let visible = surface.chars().filter(|c| !names::is_ignorable(*c));
    let folded: String = visible.nfkc().map(names::fold_case).collect();
    let chars: Vec<char> = folded.chars().collect();
    let mut out = String::with_capacity(folded.len());
    for (i, &c) in chars.iter().enumerate() {
        let is_of_name = |p: char| p.is_alphanumeric() || is_tail(p);
        // As in `ascii_norm`: the character before is itself part of the name.
        let after_name = out.chars().next_back().is_some_and(is_of_name)
            && i.checked_sub(1).and_then(|p| chars.get(p)).is_some_and(|&p| is_of_name(p));
        let before_name = chars.get(i + 1).is_some_and(|n| n.is_alphanumeric());
        if c.is_alphanumeric()
            || (is_tail(c) && after_name && !before_name)
            || (c == '.' && after_name && before_name)
        {
            out.push(c);
        }
    }
    out
}

fn ascii_norm(bytes: &[u8]) -> Norm {
    let mut out = String::with_capacity(bytes.len());
    for (i, &b) in bytes.iter().enumerate() {
        let c = b.to_ascii_lowercase() as char;
        if b.is_ascii_alphanumeric() {
            out.push(c);
            continue;
        }
        let last = out.as_bytes().last().copied().unwrap_or(b' ');
        let after_name = last.is_ascii_alphanumeric() || is_tail(last as char);
        let before_name = bytes.get(i + 1).is_some_and(u8::is_ascii_alphanumeric);
        if (is_tail(c) && after_name && !before_name && directly_after(bytes, i))
            || (c == '.' && after_name && before_name && directly_after(bytes, i))
        {
            out.push(c);
        }
    }
    out
}

/// Returns true for `+` and `#`, which belong to a name only at its end (C++, F#).
fn is_tail(c: char) -> bool {
    c == '+' || c == '#'
}

/// Returns whether the byte before `i` is itself part of the name, so that `a . b` keeps no dot.
fn directly_after(bytes: &[u8], i: usize) -> bool {
    i.checked_sub(1)
        .and_then(|p| bytes.get(p))
        .is_some_and(|&p| p.is_ascii_alphanumeric() || is_tail(p as char))
}

/// Returns the lowercase words of a surface: split at anything but letters and digits, and at camelCase humps
/// (`KeyRotationJob` → key, rotation, job). Used for token overlap.
pub fn tokens_of(surface: &str) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    let mut word = String::new();
    let chars: Vec<char> = surface.chars().collect();
    for (i, &c) in chars.iter().enumerate() {
        if !c.is_alphanumeric() {
            flush(&mut word, &mut out);
            continue;
        }
        let previous = i.checked_sub(1).and_then(|p| chars.get(p)).copied().unwrap_or(' ');
        let next_is_lower = chars.get(i + 1).is_some_and(|n| n.is_lowercase());
        // A capital after a lowercase letter, or the last capital of an acronym before a word (`HTTPServer`).
        let hump = c.is_uppercase()
            && (previous.is_lowercase() || (previous.is_uppercase() && next_is_lower));
        if hump {
            flush(&mut word, &mut out);
        }
        word.extend(c.to_lowercase());
    }
    flush(&mut word, &mut out);
    out
}

fn flush(word: &mut String, out: &mut Vec<String>) {
    if !word.is_empty() {
        out.push(std::mem::take(word));
    }
}

/// The type of a thing. Voted over mentions; an attribute of an entity, never part of its key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum EntityType {
    Person,
    Organization,
    Location,
    Product,
    Service,
    Technology,
    Api,
    Project,
    Concept,
    Standard,
    Version,
    Date,
    Event,
    Identifier,
    Document,
    Step,
}

impl EntityType {
    /// Every type, in declaration order; the index of a type here is its code in the store.
    pub const ALL: [EntityType; 16] = [
        EntityType::Person,
        EntityType::Organization,
        EntityType::Location,
        EntityType::Product,
        EntityType::Service,
        EntityType::Technology,
        EntityType::Api,
        EntityType::Project,
        EntityType::Concept,
        EntityType::Standard,
        EntityType::Version,
        EntityType::Date,
        EntityType::Event,
        EntityType::Identifier,
        EntityType::Document,
        EntityType::Step,
    ];

    /// Returns false for the types that say little: anything may be called a concept.
    pub fn is_specific(self) -> bool {
        !matches!(self, EntityType::Concept | EntityType::Document)
    }

    /// Returns true for the kinds of software that people name.
    pub fn is_software(self) -> bool {
        use EntityType::{Product, Project, Service, Technology};
        matches!(self, Product | Project | Service | Technology)
    }

    /// Returns false for a step: a sentence of a procedure, shown only as what precedes or follows another.
    pub fn is_thing(self) -> bool {
        self != EntityType::Step
    }

    /// Returns the name that users see and write.
    pub fn as_str(self) -> &'static str {
        TYPES[self as usize].0
    }

    /// Parses a type that a user wrote, ignoring case; accepts a few common synonyms.
    pub fn parse(text: &str) -> Option<Self> {
        type_at(text).map(|at| Self::ALL[at])
    }

    /// Returns the number stored for this type.
    pub fn code(self) -> i64 {
        Self::ALL.iter().position(|t| *t == self).unwrap_or(0) as i64
    }

    /// Returns the number stored for this type of a name or an entity: below zero where it is too unsure to be shown,
    /// and below [`Self::HIDDEN`] where the entity is, because its words are of general meaning.
    pub fn voted_code(self, is_sure: bool, names_a_thing: bool) -> i64 {
        match (names_a_thing, is_sure) {
            (true, true) => self.code(),
            (true, false) => !self.code(),
            (false, _) => Self::HIDDEN + !self.code(),
        }
    }

    const HIDDEN: i64 = -100;

    /// Returns whether the words of a name or an entity with this stored number are more than of general meaning.
    pub fn is_named(code: i64) -> bool {
        code >= Self::HIDDEN
    }

    /// Returns whether answers show an entity with this stored number as a thing.
    pub fn is_shown(code: i64) -> bool {
        Self::is_named(code) && Self::from_code(code).is_thing()
    }

    /// Returns what answers show for a stored number: nothing for a type that is too unsure.
    pub fn shown(code: i64) -> &'static str {
        if code < 0 { "" } else { Self::from_code(code).as_str() }
    }

    /// Decodes [`EntityType::code`] and [`EntityType::voted_code`]; an unknown number is a concept.
    pub fn from_code(code: i64) -> EntityType {
        let code = if code < Self::HIDDEN { code - Self::HIDDEN } else { code };
        usize::try_from(code.max(!code))
            .ok()
            .and_then(|i| Self::ALL.get(i).copied())
            .unwrap_or(EntityType::Concept)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variants_of_a_name_share_a_norm() {
        for surface in [
            "Signing Service",
            "signing-service",
            "SigningService",
            "signing_service",
            "Signing  Service",
        ] {
            assert_eq!(norm_of(surface), "signingservice", "{surface}");
        }
    }

    #[test]
    fn signs_that_tell_names_apart_are_kept() {
        let rows = [
            ("C", "c"),
            ("C++", "c++"),
            ("C#", "c#"),
            ("Node.js", "node.js"),
            ("v2.3.1", "v2.3.1"),
            ("end.", "end"),
            ("#tag", "tag"),
            ("a . b", "ab"),
            ("é . b", "éb"),
            ("é +", "é"),
            ("É++", "é++"),
            ("Zürich", "zürich"),
            ("ﬁle", "file"),
            ("ISPARTA ısparta İ", "ispartaispartai"),
            ("ΟΔΟΣ\u{200b}", "οδοσ"),
            ("…", ""),
        ];
        for (surface, norm) in rows {
            assert_eq!(norm_of(surface), norm, "{surface}");
        }
    }

    #[test]
    fn words_split_at_humps_and_signs() {
        let rows: [(&str, &[&str]); 4] = [
            ("KeyRotationJob", &["key", "rotation", "job"]),
            ("HTTPServer v2", &["http", "server", "v2"]),
            ("rotate_keys", &["rotate", "keys"]),
            ("ISO 27001", &["iso", "27001"]),
        ];
        for (surface, words) in rows {
            assert_eq!(tokens_of(surface), words, "{surface}");
        }
    }

    #[test]
    fn every_type_reads_back() {
        for t in EntityType::ALL {
            assert_eq!(EntityType::parse(t.as_str()), Some(t));
            assert_eq!(EntityType::from_code(t.code()), t);
            for (is_sure, shown) in [(true, t.as_str()), (false, "")] {
                assert_eq!(EntityType::from_code(t.voted_code(is_sure, true)), t);
                assert_eq!(EntityType::shown(t.voted_code(is_sure, true)), shown);
                let hidden = t.voted_code(is_sure, false);
                assert_eq!(
                    (EntityType::from_code(hidden), EntityType::is_shown(hidden)),
                    (t, false)
                );
            }
        }
    }
}
