//! Own: names by the patterns of the user (`recognize.patterns`, S4's `extract.regex`).
//!
//! In: the settings; a document. Out: one mention for each match, of the type that the pattern states.
//! Invariants: patterns are few, short and compiled to a bounded size, and match in linear time; a match is a name of
//! at most [`MAX_BYTES`] bytes in one line, or none.

use regex::{Regex, RegexBuilder};
use rustc_hash::FxHashMap;

use model::document::{Document, Mention, PlaceFeatures, RecognizerKind};
use model::terms::{Confidence, EntityType, Span};

/// Most patterns, and most bytes of one as it is written, and compiled.
const MAX_PATTERNS: usize = 64;
const MAX_PATTERN_BYTES: usize = 500;
const MAX_COMPILED_BYTES: usize = 1 << 20;

/// Longest name.
const MAX_BYTES: usize = 100;

/// Whoever writes a pattern knows the form of a name better than the forms that are built in.
const SCORE: f32 = 0.99;

/// Why a pattern cannot be used.
#[derive(Debug, thiserror::Error)]
#[error(
    "`recognize.patterns` has `{pattern}`: {why}\n\
     hint: give a type and a regular expression, such as `Identifier \\bTCK-\\d+\\b`"
)]
pub struct PatternError {
    pattern: String,
    why: String,
}

/// The patterns of the user.
#[derive(Debug, Default)]
pub struct OwnPatterns(Vec<(EntityType, Regex)>);

impl OwnPatterns {
    /// Compiles the patterns of the settings.
    ///
    /// # Errors
    /// The first pattern that cannot be used, and why.
    pub fn of(settings: &config::settings::Recognize) -> Result<OwnPatterns, PatternError> {
        let compiled = settings.patterns.iter().enumerate().map(|(at, pattern)| {
            let failed = |why: &str| PatternError {
                pattern: pattern.chars().take(MAX_PATTERN_BYTES).collect(),
                why: why.to_string(),
            };
            if at >= MAX_PATTERNS || pattern.len() > MAX_PATTERN_BYTES {
                return Err(failed("at most 64 patterns of 500 bytes each are read"));
            }
            let parts = pattern.trim().split_once(char::is_whitespace);
            let (entity_type, form) = parts.ok_or_else(|| failed("it has no expression"))?;
            let entity_type = EntityType::parse(entity_type);
            let entity_type = entity_type.ok_or_else(|| failed("its first word is no type"))?;
            let form = RegexBuilder::new(form.trim()).size_limit(MAX_COMPILED_BYTES).build();
            let form = form.map_err(|error| failed(&error.to_string()))?;
            if form.is_match("") {
                return Err(failed("it matches an empty text"));
            }
            Ok((entity_type, form))
        });
        Ok(OwnPatterns(compiled.collect::<Result<_, _>>()?))
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

    fn patterns(patterns: &[&str]) -> Result<OwnPatterns, PatternError> {
        let patterns = patterns.iter().map(|it| it.to_string()).collect();
        OwnPatterns::of(&Recognize { patterns, ..Recognize::default() })
    }

    #[test]
    fn a_match_is_a_name_of_the_stated_type() {
        let own = patterns(&[r"Identifier \bTCK-\d{2,5}\b", r"product (?i)\bmodel [a-z]\d\b"]);
        let doc = Document {
            text: "Pump Model x3 broke: see TCK-411 and TCK-9.".into(),
            ..Document::default()
        };
        let found = own.expect("sound patterns").find(&doc);
        let found: Vec<_> = found.iter().map(|it| (it.entity_type, it.name.as_str())).collect();
        let expected = [(EntityType::Identifier, "TCK-411"), (EntityType::Product, "Model x3")];
        assert_eq!(found, expected);
    }

    #[test]
    fn what_is_no_pattern_is_refused_with_the_reason() {
        for (pattern, why) in [
            ("Identifier", "no expression"),
            ("Gadget x+", "no type"),
            ("Identifier (x", "unclosed group"),
            ("Identifier x*", "empty text"),
            (r"Identifier (\w{1000}){1000}", "size"),
        ] {
            let error = patterns(&[pattern]).expect_err("refused").to_string();
            assert!(error.contains(why), "{pattern}: {error}");
        }
        assert!(patterns(&["Identifier x"; 65]).is_err());
    }
}
