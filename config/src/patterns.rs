//! Patterns: names of the user's own by their form (`recognize.patterns`, S4's `extract.regex`).
//!
//! In: the entries of the setting, a type and a regular expression each. Out: both, compiled; or what is wrong with the
//! first entry that cannot be used.
//! Invariants: patterns are few, short, compiled to a bounded size, match in linear time, and match no empty text.

use regex::{Regex, RegexBuilder};

/// Most patterns, and most bytes of one as it is written, and compiled.
const MAX_PATTERNS: usize = 64;
const MAX_PATTERN_BYTES: usize = 500;
const MAX_COMPILED_BYTES: usize = 1 << 20;

/// The types of things as users see them, in the order of `model::terms::EntityType`, and other names that are taken.
pub const TYPES: [(&str, &[&str]); 16] = [
    ("Person", &["people", "per"]),
    ("Organization", &["org", "company", "team"]),
    ("Location", &["gpe", "place", "loc"]),
    ("Product", &[]),
    ("Service", &[]),
    ("Technology", &["tool", "tech", "library"]),
    ("API", &[]),
    ("Project", &[]),
    ("Concept", &[]),
    ("Standard", &["regulation"]),
    ("Version", &[]),
    ("Date", &[]),
    ("Event", &["incident"]),
    ("Identifier", &["id"]),
    ("Document", &["note"]),
    ("Step", &[]),
];

/// Returns the place in [`TYPES`] of a type that a user wrote, ignoring case.
pub fn type_at(text: &str) -> Option<usize> {
    let lower = text.trim().to_lowercase();
    TYPES
        .iter()
        .position(|(name, others)| name.to_lowercase() == lower || others.contains(&&*lower))
}

/// Compiles the entries of the setting; each type is a place in [`TYPES`].
///
/// # Errors
/// What is wrong with the first entry that cannot be used.
pub fn compile(entries: &[String]) -> Result<Vec<(usize, Regex)>, String> {
    entries.iter().enumerate().map(|(at, entry)| compile_one(at, entry)).collect()
}

fn compile_one(at: usize, entry: &str) -> Result<(usize, Regex), String> {
    let failed = |why: String| {
        let shown: String = entry.chars().take(MAX_PATTERN_BYTES).collect();
        let form = r"an entry is a type and a regular expression: `Identifier \bTCK-\d+\b`";
        format!("has `{shown}`: {why}; {form}")
    };
    if at >= MAX_PATTERNS || entry.len() > MAX_PATTERN_BYTES {
        let most = "patterns of 500 bytes each are read";
        return Err(failed(format!("at most {MAX_PATTERNS} {most}")));
    }
    let parts = entry.trim().split_once(char::is_whitespace);
    let (of_type, form) = parts.ok_or_else(|| failed("it has no expression".into()))?;
    let types = || TYPES.map(|it| it.0).join(", ");
    let place = type_at(of_type)
        .ok_or_else(|| failed(format!("`{of_type}` is no type; types are {}", types())))?;
    let form = RegexBuilder::new(form.trim()).size_limit(MAX_COMPILED_BYTES).build();
    // The last line says what is wrong; those before it point to the place, which needs a font of fixed width.
    let why =
        |error: regex::Error| error.to_string().lines().last().unwrap_or_default().to_string();
    let form = form.map_err(|error| failed(why(error).trim_start_matches("error: ").into()))?;
    match form.is_match("") {
        true => Err(failed("it matches an empty text".into())),
        false => Ok((place, form)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_pattern_is_refused_with_the_reason() {
        for (entry, why) in [
            ("Identifier", "no expression"),
            ("Gadget x+", "`Gadget` is no type; types are Person, Organization, "),
            ("Identifier (x", ": unclosed group; an entry is a type"),
            ("Identifier x*", "empty text"),
            (r"Identifier (\w{1000}){1000}", "size"),
        ] {
            let error = compile(&[entry.to_string()]).expect_err("refused");
            assert!(error.contains(why), "{entry}: {error}");
            assert!(!error.contains('\n'), "{error}");
        }
        assert!(compile(&vec!["Identifier x".to_string(); 65]).is_err());
    }
}
