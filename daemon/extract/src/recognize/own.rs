//! Own: names by the patterns of the user (`recognize.patterns`, S4's `extract.regex`).
//!
//! In: the settings; a document. Out: one mention for each match, of the type that the pattern states.
//! Invariants: patterns are bounded (`config::patterns`); a match is a name of at most [`MAX_BYTES`] bytes in one line,
//! or none.

use config::patterns::compile;
use regex::Regex;
use rustc_hash::FxHashMap;

use model::document::{Document, Mention, PlaceFeatures, RecognizerKind};
use model::terms::{Confidence, EntityType, Span};

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
}

impl OwnPatterns {
    /// Returns the names of a document that fit a pattern.
    pub(super) fn find(&self, doc: &Document) -> Vec<Mention> {
        let mut out = Vec::new();
        for (entity_type, form) in &self.0 {
            let found = form.find_iter(&doc.text);
            let names = found.filter(|it| it.len() <= MAX_BYTES && !it.as_str().contains('\n'));
            out.extend(names.map(|it| Mention {
                span: Span::new(it.start(), it.end()),
                name: it.as_str().trim().to_string(),
                entity_type: *entity_type,
                recognizer: RecognizerKind::Pattern,
                score: Confidence::new(SCORE),
                place: PlaceFeatures::default(),
            }));
        }
        out
    }
}

/// Gives names the types that their patterns state, whatever else was judged.
pub(super) fn keep_types(own: &[Mention], mentions: &mut [Mention]) {
    let place = |it: &Mention| (it.span.start(), it.span.end());
    let types: FxHashMap<_, _> = own.iter().map(|it| (place(it), it.entity_type)).collect();
    for mention in mentions.iter_mut() {
        mention.entity_type = types.get(&place(mention)).copied().unwrap_or(mention.entity_type);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use config::settings::Recognize;

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
        let expected = [(EntityType::Identifier, "TCK-411"), (EntityType::Product, "Model x3")];
        assert_eq!(found, expected);
    }
}
