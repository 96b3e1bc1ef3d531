//! Alias: names that a document uses for other names.
//!
//! In: its mentions with their norms. Out: one [`AliasUse`] for each pair, ordered. An alias is initials (for the name
//! they are defined with, or for the only earlier name that has them); a handle (for the name in its row, `people.rs`);
//! a part of a person's name, or a company's name without `Inc.` (for the only whole name before it).
//! Invariants: a function of the document alone; a target is a name of the same document, and, except for handles, has
//! more words than its alias, so chains of aliases end; an ambiguous short form is not an alias. The name
//! that a document states for itself (`kms.md`) is never an alias: the longer name becomes an alias of it.
//! Time: linear in the mentions, except for names that share a first or last word, or their initials.

use std::collections::{BTreeMap, BTreeSet};

use crate::recognize::lexicon::is_legal_form;
use crate::recognize::{INITIALS, are_defined, are_initials, people};
use model::document::{AliasSource, AliasUse, Document, RecognizerKind};
use model::terms::{EntityType, tokens_of};

/// Fewest initials that stand for a name without being defined: two are often those of something else.
const MIN_UNDEFINED: usize = 3;

/// One norm as the document first writes it.
struct WrittenForm<'a> {
    norm: &'a str,
    surface: &'a str,
    words: Vec<String>,
    /// Every type its mentions have here, except concept and document, which any name may get.
    types: BTreeSet<EntityType>,
    at: usize,
}

/// Returns the names that the document uses for other names, one row a pair.
pub fn aliases_of(doc: &Document, mention_norms: &[String]) -> Vec<AliasUse> {
    let mut out: BTreeSet<(String, String, AliasSource)> = BTreeSet::new();
    defined(doc, mention_norms, &mut out);
    for row in people::rows(doc, &doc.found.mentions) {
        let (norm, name) = (model::terms::norm_of(row.handle), mention_norms.get(row.name));
        let target = name.filter(|target| **target != norm);
        out.extend(target.map(|target| (norm, target.clone(), AliasSource::Handle)));
    }
    shortened(&forms_of(doc, mention_norms), &mut out);
    let own: BTreeSet<String> =
        doc.found.stated.iter().map(|name| model::terms::norm_of(&name.surface)).collect();
    // A document's own name is the target, not the alias: reverse such pairs.
    let turned = |(norm, target, source): (String, String, AliasSource)| match own.contains(&norm)
        && !own.contains(&target)
    {
        true => (target, norm, source),
        false => (norm, target, source),
    };
    let out: BTreeSet<_> = out.into_iter().map(turned).collect();
    // One row a pair, with its most trusted source: the set is ordered, and the source is its last field.
    let mut aliases: Vec<AliasUse> = Vec::with_capacity(out.len());
    for (norm, target, source) in out {
        let is_known = aliases.last().is_some_and(|it| (&it.norm, &it.target) == (&norm, &target));
        if !is_known {
            aliases.push(AliasUse { norm, target, source });
        }
    }
    aliases
}

/// `Key Management Service (KMS)` and `KMS (Key Management Service)`.
fn defined(
    doc: &Document,
    mention_norms: &[String],
    out: &mut BTreeSet<(String, String, AliasSource)>,
) {
    let text = &doc.text;
    let pairs = doc.found.mentions.windows(2).zip(mention_norms.windows(2));
    for (mentions, norms) in pairs {
        let ([a, b], [a_norm, b_norm]) = (mentions, norms) else { continue };
        let is_given = a.place.is_entity_given || b.place.is_entity_given;
        if is_given || !are_defined(text, a.span, b.span) {
            continue;
        }
        for (short, long) in [((b, b_norm), (a, a_norm)), ((a, a_norm), (b, b_norm))] {
            if are_initials(short.0.span.of(text), long.0.span.of(text)) {
                out.insert((short.1.clone(), long.1.clone(), AliasSource::Defined));
            }
        }
    }
}

fn forms_of<'a>(doc: &'a Document, mention_norms: &'a [String]) -> Vec<WrittenForm<'a>> {
    let mut forms: BTreeMap<&str, WrittenForm<'a>> = BTreeMap::new();
    for (mention, norm) in doc.found.mentions.iter().zip(mention_norms) {
        let place = mention.place;
        if mention.recognizer == RecognizerKind::Stated || place.in_code || place.is_entity_given {
            continue;
        }
        let surface = mention.span.of(&doc.text);
        let form = forms.entry(norm).or_insert_with(|| WrittenForm {
            norm,
            surface,
            words: words_of(surface),
            types: BTreeSet::new(),
            at: mention.span.start(),
        });
        form.at = form.at.min(mention.span.start());
        if !matches!(mention.entity_type, EntityType::Concept | EntityType::Document) {
            form.types.insert(mention.entity_type);
        }
    }
    forms.into_values().collect()
}

fn words_of(surface: &str) -> Vec<String> {
    let words = surface.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words
        .map(str::to_lowercase)
        .filter(|word| !matches!(word.as_str(), "the" | "a" | "an"))
        .collect()
}

/// Adds parts of names, and initials, that can belong to only one whole name before them.
fn shortened(forms: &[WrittenForm<'_>], out: &mut BTreeSet<(String, String, AliasSource)>) {
    let mut by_word: BTreeMap<&str, Vec<&WrittenForm<'_>>> = BTreeMap::new();
    let mut by_initial: BTreeMap<char, Vec<&WrittenForm<'_>>> = BTreeMap::new();
    // Indexed by first and last word and by initial: comparing all pairs would be quadratic in the names.
    for form in forms.iter().filter(|form| form.words.len() > 1) {
        let ends: BTreeSet<&String> =
            form.words.first().into_iter().chain(form.words.last()).collect();
        ends.into_iter().for_each(|word| by_word.entry(word).or_default().push(form));
        let first = form.surface.chars().next().into_iter().flat_map(char::to_uppercase).next();
        first.into_iter().for_each(|first| by_initial.entry(first).or_default().push(form));
    }
    for short in forms {
        let is_caps = short.surface.chars().all(|c| c.is_ascii_uppercase() || c == '.');
        let first = short.surface.chars().next();
        let wholes: Vec<&&WrittenForm<'_>> = if is_caps && INITIALS.contains(&short.surface.len()) {
            let candidates = first.and_then(|first| by_initial.get(&first)).into_iter().flatten();
            candidates
                .filter(|_| short.surface.len() >= MIN_UNDEFINED)
                .filter(|long| agree(short, long) && are_initials(short.surface, long.surface))
                .collect()
        } else {
            let ends = short.words.first().into_iter().chain(short.words.last());
            let ends: BTreeSet<&String> = ends.collect();
            let candidates =
                ends.into_iter().filter_map(|word| by_word.get(word.as_str())).flatten();
            let mut found: Vec<&&WrittenForm<'_>> =
                candidates.filter(|long| is_part(short, long)).collect();
            found.sort_by_key(|form| form.norm);
            found.dedup_by_key(|form| form.norm);
            found
        };
        // Exactly one candidate, and it comes first in the text: writers introduce the whole name before a short
        // form.
        if let [long] = wholes.as_slice()
            && long.at < short.at
            && long.norm != short.norm
        {
            out.insert((short.norm.into(), long.norm.into(), AliasSource::Shortened));
        }
    }
}

/// True when the two have a type in common, or the types of one are unknown.
fn agree(short: &WrittenForm<'_>, long: &WrittenForm<'_>) -> bool {
    short.types.is_empty() || long.types.is_empty() || !short.types.is_disjoint(&long.types)
}

/// True when `short` may be a shorter form of `long`.
fn is_part(short: &WrittenForm<'_>, long: &WrittenForm<'_>) -> bool {
    if short.words.is_empty() || short.words.len() >= long.words.len() || !agree(short, long) {
        return false;
    }
    let is_person = long.types.iter().eq([&EntityType::Person]);
    let is_organization = long.types.contains(&EntityType::Organization);
    let begins = long.words.starts_with(&short.words);
    let rest = long.words.get(short.words.len()..).unwrap_or_default();
    match () {
        () if is_person => {
            // In a text about Elizabeth II, `Elizabeth` is as often somebody else.
            let is_regnal = rest.iter().all(|word| word.bytes().all(|b| b"ivx".contains(&b)));
            is_capitalized(short.surface)
                && (long.words.ends_with(&short.words) || (begins && !is_regnal))
        }
        () if is_organization => begins && rest.iter().all(|word| is_legal_form(word)),
        () => false,
    }
}

fn is_capitalized(surface: &str) -> bool {
    surface.chars().any(char::is_uppercase) && !tokens_of(surface).is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::LinkStage;
    use expect_test::{Expect, expect};
    use model::PartStage;
    use model::document::{Mention, PlaceFeatures, StatedName, StatedSource, testing};
    use model::terms::{Confidence, Span};
    use std::fmt::Write;

    /// `{P:Ada Moreno}` marks a person, `{O:…}` an organization, `{C:…}` a concept.
    fn check(marked: &str, expect: Expect) {
        check_as("", marked, expect);
    }

    /// The same in a document that states this name of its own.
    fn check_as(own: &str, marked: &str, expect: Expect) {
        let mut text = String::new();
        let mut found = Vec::new();
        for piece in marked.split('{') {
            let Some((name, rest)) = piece.split_once('}') else {
                text.push_str(piece);
                continue;
            };
            let (kind, surface) = name.split_once(':').expect("a type");
            let start = text.len();
            text.push_str(surface);
            found.push((kind.to_string(), start, text.len()));
            text.push_str(rest);
        }
        let mut doc = testing::doc(&text);
        let mentions = found.into_iter().map(|(kind, start, end)| Mention {
            span: Span::new(start, end),
            name: text[start..end].to_string(),
            entity_type: match kind.as_str() {
                "P" => EntityType::Person,
                "O" => EntityType::Organization,
                _ => EntityType::Concept,
            },
            recognizer: RecognizerKind::Statistical,
            score: Confidence::new(0.8),
            place: PlaceFeatures::default(),
        });
        doc.found.mentions = mentions.collect();
        if !own.is_empty() {
            let source = StatedSource::Title;
            doc.found.stated = vec![StatedName { surface: own.into(), source }];
        }
        let mut out = String::new();
        for alias in LinkStage.part_of(&doc).expect("linked").aliases {
            writeln!(out, "{} = {} ({:?})", alias.norm, alias.target, alias.source).expect("text");
        }
        expect.assert_eq(&out);
    }

    #[test]
    fn a_part_of_a_persons_name_stands_for_the_only_whole_one_before_it() {
        check(
            "{P:Charles Babbage} met {P:Ada}. {P:Babbage} spoke.",
            expect!["babbage = charlesbabbage (Shortened)\n"],
        );
        check("{P:Babbage} met {P:Charles Babbage}.", expect![""]);
        check(
            "{P:Sam Porter}, {P:Ann Porter} and {P:Porter}; {P:Sam}.",
            expect!["sam = samporter (Shortened)\n"],
        );
        check("{P:Elizabeth II} met {P:Elizabeth}.", expect![""]);
        check("{C:Billing Portal} and {C:Portal}.", expect![""]);
    }

    #[test]
    fn initials_stand_for_the_name_that_has_them() {
        check(
            "The {C:Key Management Service} ({C:KMS}) is up.",
            expect!["kms = keymanagementservice (Defined)\n"],
        );
        check(
            "{C:KMS} ({C:Key Management Service}) is up.",
            expect!["kms = keymanagementservice (Defined)\n"],
        );
        check(
            "The {O:Federal Bureau of Investigation} came; the {O:FBI} left.",
            expect!["fbi = federalbureauofinvestigation (Shortened)\n"],
        );
        check("{O:Key Mail Service}, {O:Key Management Service}: {O:KMS}.", expect![""]);
        check("A {C:top contributor} and the {C:TC}.", expect![""]);
    }

    #[test]
    fn a_document_called_by_the_short_form_is_what_the_long_one_means() {
        let kms = "The {C:Key Management Service} ({C:KMS}) is up.";
        check_as("kms", kms, expect!["keymanagementservice = kms (Defined)\n"]);
        check_as("Key Management Service", kms, expect!["kms = keymanagementservice (Defined)\n"]);
        check_as(
            "babbage",
            "{P:Charles Babbage} met {P:Ada}. {P:Babbage} spoke.",
            expect!["charlesbabbage = babbage (Shortened)\n"],
        );
    }

    #[test]
    fn a_legal_form_may_be_left_out() {
        check("{O:Acme Corp.} and {O:Acme}.", expect!["acme = acmecorp (Shortened)\n"]);
        check("{O:Acme Bank} and {O:Acme}.", expect![""]);
    }
}
