//! Own: names by patterns: those of the user (`recognize.patterns`, S4's `extract.regex`), and those in
//! `name_patterns.tsv`.
//!
//! In: the settings; a document. Out: one mention for each match, of the type that the pattern states; a group of the
//! pattern is the name.
//! Invariants: patterns are bounded (`config::patterns`); a match is a name of at most [`MAX_BYTES`] bytes in one line,
//! or none; built-in patterns find nothing in code.

use std::sync::LazyLock;

use config::patterns::compile;
use regex::Regex;
use rustc_hash::FxHashMap;

use super::lexicon;
use model::document::{BlockKind, Document, Mention, PlaceFeatures, RecognizerKind};
use model::terms::{Confidence, EntityType, Span};

/// The patterns that every project has.
static BUILTIN: LazyLock<OwnPatterns> = LazyLock::new(|| {
    let rows = include_str!("../../../../config/name_patterns.tsv").lines();
    let rows = rows.filter(|row| !row.starts_with('#')).filter_map(|row| row.split_once('\t'));
    let compiled = rows.filter_map(|(entity_type, form)| {
        Some((EntityType::parse(entity_type)?, Regex::new(form).ok()?))
    });
    OwnPatterns(compiled.collect())
});

/// Longest name.
const MAX_BYTES: usize = 100;

/// Whoever writes a pattern knows the form of a name better than the forms that are built in.
const SCORE: f32 = 0.99;

/// The patterns of the user.
#[derive(Debug, Default)]
pub struct OwnPatterns(Vec<(EntityType, Regex)>);

impl OwnPatterns {
    /// Returns the patterns of the settings, which were checked when these were loaded.
    pub fn of(settings: &config::settings::Recognize) -> OwnPatterns {
        let compiled = compile(&settings.patterns).unwrap_or_default();
        let typed = compiled.into_iter().map(|(at, form)| (EntityType::ALL[at], form));
        OwnPatterns(typed.collect())
    }

    /// Returns the names of a document that fit a pattern, or a built-in one.
    pub(super) fn find(&self, doc: &Document) -> Vec<Mention> {
        let mut out = Vec::new();
        self.find_in(&doc.text, 0, &mut out);
        for block in doc.blocks.iter().filter(|it| !matches!(it.kind, BlockKind::Code { .. })) {
            BUILTIN.find_in(block.span.of(&doc.text), block.span.start(), &mut out);
        }
        out.sort_by_key(|it| it.span);
        out
    }

    fn find_in(&self, text: &str, start: usize, out: &mut Vec<Mention>) {
        for (entity_type, form) in &self.0 {
            let found = form.captures_iter(text).filter_map(|it| it.get(1).or(it.get(0)));
            let names = found.filter(|it| it.len() <= MAX_BYTES && !it.as_str().contains('\n'));
            out.extend(names.map(|it| Mention {
                span: Span::new(start + it.start(), start + it.end()),
                name: it.as_str().trim().to_string(),
                // Teams and lists have addresses, too.
                entity_type: match lexicon::type_of(it.as_str()) {
                    kind if *entity_type == EntityType::Person && kind.is_specific() => kind,
                    _ => *entity_type,
                },
                recognizer: RecognizerKind::Pattern,
                score: Confidence::new(SCORE),
                place: PlaceFeatures::default(),
            }));
        }
    }
}

/// Drops what others found of a name that fits a pattern: `DIN EN` in `DIN EN 1090`. Longer names stay.
pub(super) fn drop_parts(own: &[Mention], found: &mut Vec<Mention>) {
    found.retain(|it| {
        let first = own.partition_point(|own| own.span.end() <= it.span.start());
        let own = own.get(first).filter(|own| own.span.start() < it.span.end());
        own.is_none_or(|own| it.span.contains(own.span))
    });
}

/// Gives names the types that their patterns state, whatever else was judged.
pub(super) fn keep_types(own: &[Mention], mentions: &mut [Mention]) {
    let place = |it: &Mention| (it.span.start(), it.span.end());
    let types: FxHashMap<_, _> = own.iter().map(|it| (place(it), it.entity_type)).collect();
    for mention in mentions.iter_mut() {
        if let Some(entity_type) = types.get(&place(mention)) {
            mention.entity_type = *entity_type;
            mention.place.is_type_guessed = false;
            mention.place.certainty = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recognize::RecognizeStage;
    use arc_swap::ArcSwap;
    use config::settings::Recognize;
    use model::Stage;
    use model::document::testing;
    use std::sync::Arc;

    #[test]
    fn a_match_is_a_name_of_the_stated_type() {
        let patterns = [r"Identifier \bTCK-\d{2,5}\b", r"product (?i)\bmodel [a-z]\d\b"];
        let patterns = patterns.map(String::from).to_vec();
        let own = OwnPatterns::of(&Recognize { patterns, ..Recognize::default() });
        let doc = Document {
            text: "Pump Model x3 broke: see TCK-411 and TCK-9.".into(),
            ..Document::default()
        };
        let found = own.find(&doc);
        let found: Vec<_> = found.iter().map(|it| (it.entity_type, it.name.as_str())).collect();
        let expected = [(EntityType::Product, "Model x3"), (EntityType::Identifier, "TCK-411")];
        assert_eq!(found, expected);
    }

    #[test]
    fn standards_acts_and_people_before_addresses_have_their_forms() {
        let names = |text: &str| {
            let doc = testing::doc(text);
            let found = OwnPatterns::default().find(&doc).into_iter();
            found.map(|it| format!("{} {}", it.entity_type.as_str(), it.name)).collect::<Vec<_>>()
        };
        let rows = include_str!("../../../../config/name_patterns.tsv").lines();
        assert_eq!(BUILTIN.0.len(), rows.filter(|row| !row.starts_with('#')).count());
        for standard in [
            "RFC 7519",
            "RFC7519",
            "ISO 27001",
            "ISO/IEC 27001:2022",
            "PEP 8",
            "IEEE 802.11ax",
            "FIPS 140-3",
            "NIST SP 800-53",
            "DIN EN 1090",
            "EN 50128",
            "DIN EN ISO 13849-1",
            "EN 1090-2",
            "DIN SPEC 91379",
            "ETSI EN 303 645",
            "ASTM A36/A36M",
            "ASME B31.3",
            "JIS B 7502",
            "GB/T 7714",
            "VDI 2067",
            "ÖNORM B 1801",
            "ITU-T X.509",
            "MIL-STD-810H",
            "UL 94",
            "21 CFR Part 11",
            "GDPR Art. 17",
            "Art. 6 DSGVO",
            "Regulation (EU) 2016/679",
            "Directive 2014/65/EU",
            "Verordnung (EU) Nr. 575/2013",
            "Commission Implementing Regulation (EU) 2021/2341",
        ] {
            let found = names(&format!("It complies with {standard}, they said."));
            assert_eq!(found, [format!("Standard {standard}")]);
        }
        for (text, people) in [
            ("From: Thomas Schneider <a@x.org>", &["Person Thomas Schneider"][..]),
            (
                "To: JOHN SMITHERS <a@x.org>, 田中花子 <b@x.org>",
                &["Person JOHN SMITHERS", "Person 田中花子"],
            ),
            ("To: Support Team <team@x.org>", &["Organization Support Team"]),
            ("Ask at the desk <a@x.org>. EN 7, the API 2, Port 8080, an ISO image, DIN A4", &[]),
        ] {
            assert_eq!(names(text), people, "{text}");
        }
    }

    #[test]
    fn the_type_of_a_form_is_sure_whatever_a_judge_says() {
        let doc = testing::doc("Ports said that DIN EN 1090-2 applies. So did the Harbor Board.");
        let none: [crate::recognize::GazetteerTerm; 0] = [];
        let gazetteer = crate::recognize::Gazetteer::build(1, none.into_iter());
        let gazetteer = Arc::new(ArcSwap::from_pointee(gazetteer));
        let doc = RecognizeStage::new(&Recognize::default(), gazetteer).run(doc).expect("read");
        let mention = doc.found.mentions.iter().find(|it| it.name == "DIN EN 1090-2");
        let mention = mention.expect("the standard is a name");
        assert_eq!(mention.entity_type, EntityType::Standard);
        assert!(!mention.place.is_type_guessed && mention.place.certainty == 0);
    }
}
