//! Known: names that most readers of technical text know (`config/known_names.tsv`): languages,
//! programs, formats, methods, places, organizations.
//!
//! In: a document. Out: typed mentions, trusted like those of patterns: what the folder itself
//! states takes precedence.
//! Invariants: each row of the table is a name with a type (checked by a test); linear.

use std::sync::LazyLock;

use aho_corasick::AhoCorasick;
use rustc_hash::FxHashSet;

use super::Recognizer;
use super::gazetteer::{CaseRule, Gazetteer, GazetteerTerm};
use model::document::{BlockKind, Document, Mention, PlaceFeatures, RecognizerKind};
use model::terms::{Confidence, EntityType, Norm, Span, norm_of};

const TABLE: &str = include_str!("../../../../config/known_names.tsv");
const SCORE: f32 = 0.75;

/// Names that differ only in signs, which a norm drops.
const SIGNED: [&str; 7] = ["C++", "C#", "F#", ".NET", "c++", "c#", ".net"];

static KNOWN: LazyLock<Gazetteer> = LazyLock::new(build);
static BY_SIGNS: LazyLock<AhoCorasick> =
    LazyLock::new(|| AhoCorasick::new(SIGNED).expect("seven short patterns make an automaton"));

/// One name of the table.
struct Row {
    surface: &'static str,
    entity_type: EntityType,
    /// The mark that the table puts on it.
    mark: Option<char>,
}

/// Finds the names of the table.
#[derive(Debug, Default)]
pub struct KnownRecognizer;

impl Recognizer for KnownRecognizer {
    fn kind(&self) -> RecognizerKind {
        RecognizerKind::Pattern
    }

    fn recognize(&self, doc: &Document, sentences: &[Span<Norm>], out: &mut Vec<Mention>) {
        let before = out.len();
        KNOWN.recognize(doc, sentences, out);
        // `linked in` is not LinkedIn.
        let is_parted = |m: &Mention| {
            let surface = m.span.of(&doc.text);
            surface.contains(' ') && !m.name.contains(' ') && !surface.contains(char::is_uppercase)
        };
        let mut idx = 0;
        out.retain(|m| {
            idx += 1;
            idx <= before || !is_parted(m)
        });
        for mention in out.iter_mut().skip(before) {
            mention.recognizer = RecognizerKind::Pattern;
            mention.score = Confidence::new(SCORE);
        }
        for block in doc.blocks.iter().filter(|b| !matches!(b.kind, BlockKind::Code { .. })) {
            by_signs(doc, block.span, out);
        }
    }
}

/// Returns whether a name is in the table or a well-known technology.
pub(super) fn is_known(name: &str) -> bool {
    static NORMS: LazyLock<FxHashSet<String>> =
        LazyLock::new(|| rows().map(|row| norm_of(row.surface)).collect());
    let norm = norm_of(name);
    super::lexicon::is_technology(&norm) || NORMS.contains(&norm)
}

fn by_signs(doc: &Document, block: Span<Norm>, out: &mut Vec<Mention>) {
    let text = block.of(&doc.text);
    let is_word = |b: Option<&u8>| b.is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'_');
    for found in BY_SIGNS.find_iter(text) {
        let bytes = text.as_bytes();
        let before = found.start().checked_sub(1).and_then(|at| bytes.get(at));
        if is_word(before) || is_word(bytes.get(found.end())) || before == Some(&b'.') {
            continue;
        }
        let name = SIGNED.get(found.pattern().as_usize()).copied().unwrap_or_default();
        out.push(Mention {
            span: Span::new(block.start() + found.start(), block.start() + found.end()),
            name: name.to_uppercase(),
            entity_type: EntityType::Technology,
            recognizer: RecognizerKind::Pattern,
            score: Confidence::new(SCORE),
            place: PlaceFeatures::default(),
        });
    }
}

fn rows() -> impl Iterator<Item = Row> {
    let lines = TABLE.lines().filter(|line| !line.starts_with('#'));
    let cells = lines.filter_map(|line| {
        let (kind, names) = line.split_once('\t')?;
        Some((EntityType::parse(kind)?, names))
    });
    cells.flat_map(|(entity_type, names)| {
        names.split(", ").map(move |name| {
            let surface = name.trim_end_matches(['*', '~']);
            let mark = name.chars().last().filter(|c| matches!(c, '*' | '~'));
            Row { surface, entity_type, mark }
        })
    })
}

fn build() -> Gazetteer {
    let marked = |wanted: char| -> FxHashSet<&'static str> {
        rows().filter(|row| row.mark == Some(wanted)).map(|row| row.surface).collect()
    };
    let (ordinary, any_case) = (marked('*'), marked('~'));
    let is_signed = |row: &Row| SIGNED.contains(&row.surface) || row.surface == "F#";
    let terms = rows().filter(|row| !is_signed(row)).map(|row| GazetteerTerm {
        surface: row.surface.to_string(),
        norm: norm_of(row.surface),
        entity_type: row.entity_type,
    });
    Gazetteer::build_by(0, terms, |term| {
        let surface = term.surface.as_str();
        let is_caps = surface.len() <= 4 && !surface.bytes().any(|b| b.is_ascii_lowercase());
        let is_shy = ordinary.contains(surface) || (is_caps && !any_case.contains(surface));
        if is_shy { CaseRule::Exact } else { CaseRule::Folded }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::document::testing;

    fn found(lines: &str) -> Vec<String> {
        let doc = testing::doc(lines);
        let mut out = Vec::new();
        KnownRecognizer.recognize(&doc, &testing::sentences_of(&doc), &mut out);
        out.sort_by_key(|m| m.span);
        out.iter().map(|m| format!("{} {}", m.entity_type.as_str(), m.span.of(&doc.text))).collect()
    }

    #[test]
    fn every_row_is_a_name_of_a_type_and_stands_once() {
        let mut seen = std::collections::BTreeSet::new();
        for line in TABLE.lines().filter(|line| !line.starts_with('#')) {
            let (kind, _) = line.split_once('\t').expect("a tab after the type");
            assert!(EntityType::parse(kind).is_some(), "{kind}");
        }
        for row in rows() {
            assert!(row.surface.chars().any(char::is_alphanumeric), "{}", row.surface);
            assert_eq!(row.surface.trim(), row.surface);
            assert!(
                seen.insert(norm_of(row.surface) + signs(row.surface)),
                "{} twice",
                row.surface
            );
        }
    }

    fn signs(surface: &str) -> &str {
        surface.trim_start_matches(|c: char| c.is_alphanumeric())
    }

    #[test]
    fn known_names_are_found_as_people_write_them() {
        let rows = [
            ("We moved from mysql to PostgreSQL.", "Technology mysql, Technology PostgreSQL"),
            (
                "Parse the xml with C# on .NET, not C++.",
                "Technology xml, Technology C#, Technology .NET, Technology C++",
            ),
            (
                "Machine learning needs hidden Markov models.",
                "Concept Machine learning, Concept hidden Markov models",
            ),
            ("Express the rust in our excel sheet.", ""),
            ("We wrote it in Rust and Go.", "Technology Rust"),
            (
                "Visual Studio Code and Visual Studio",
                "Product Visual Studio Code, Product Visual Studio",
            ),
            ("~ import numpy in C++", ""),
            ("It is linked in, unlike LinkedIn.", "Product LinkedIn"),
        ];
        for (text, names) in rows {
            assert_eq!(found(text).join(", "), names, "{text}");
        }
    }
}
