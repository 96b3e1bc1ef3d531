//! Statistical: names that the English model finds in running text.
//!
//! In: a document in the deep pass. Out: mentions of the least trusted kind.
//! Invariants: reads English sentences only, never code, tables or headings, where a model of
//! running text goes wrong; a mention is within one line. Linear. The model sees only the words
//! around capitals, because no mention is without one.

use std::ops::Range;

use super::border::Borders;
use super::{Recognizer, lexicon, words};
use language::{Entity, Pipeline, Stretch, Token};
use model::document::{
    Block, BlockKind, Document, Inline, InlineKind, Mention, Pass, PlaceFeatures, RecognizerKind,
};
use model::terms::{Confidence, EntityType, Norm, Span, is_latin};

/// Confidence of a person, organization or place: right for about four of five in running text.
const SURE: f32 = 0.6;
/// Confidence of the types that the model confuses most.
const UNSURE: f32 = 0.45;

/// Tokens before and after a capital among which a name with it begins and ends: articles before it,
/// words in lower case behind it.
const BEFORE: usize = 3;
const AFTER: usize = 5;

/// Tokens between the capitals of one name: `Bank of the West`.
const BETWEEN: usize = 3;

/// The words of requirements (RFC 2119), which standards write in capitals.
const REQUIREMENTS: [&str; 8] =
    ["MUST", "SHALL", "SHOULD", "MAY", "NOT", "REQUIRED", "RECOMMENDED", "OPTIONAL"];

/// Longest word in capitals that may be a name, in bytes.
const MAX_ACRONYM_BYTES: usize = 8;

/// What documents number: `Table 3` is not a name.
const NUMBERED: [&str; 9] =
    ["algorithm", "equation", "example", "exhibit", "fig", "figure", "listing", "step", "table"];

/// Finds names with the built-in pipeline.
#[derive(Debug, Default)]
pub struct StatisticalRecognizer;

impl Recognizer for StatisticalRecognizer {
    fn kind(&self) -> RecognizerKind {
        RecognizerKind::Statistical
    }

    fn recognize(&self, doc: &Document, _: &[Span<Norm>], out: &mut Vec<Mention>) {
        if doc.head.pass != Pass::Deep {
            return;
        }
        let pipeline = Pipeline::shared();
        let is_code = |inline: &&Inline| inline.kind == InlineKind::Code;
        let code: Vec<Span<Norm>> = doc.inlines.iter().filter(is_code).map(|it| it.span).collect();
        let runs: Vec<(Span<Norm>, Vec<Token>)> =
            runs_of(doc).into_iter().map(|run| (run, pipeline.tokens(run.of(&doc.text)))).collect();
        let borders = Borders::of(doc);
        let mut read = Vec::new();
        for (run, tokens) in &runs {
            let ranges = ranges_near_capitals(doc, *run, tokens);
            read.extend(
                ranges.into_iter().map(|range| (*run, Stretch { tokens, starts: &[], range })),
            );
        }
        let (of, stretches): (Vec<Span<Norm>>, Vec<Stretch<'_>>) = read.into_iter().unzip();
        let found = pipeline.entities_in(&stretches);
        for ((run, stretch), entities) in of.into_iter().zip(&stretches).zip(found) {
            for entity in entities {
                out.extend(mentions_of(doc, run, stretch.tokens, &entity, &borders, &code));
            }
        }
    }
}

/// Returns stretches of neighboring blocks of English running text.
fn runs_of(doc: &Document) -> Vec<Span<Norm>> {
    let mut runs: Vec<Span<Norm>> = Vec::new();
    let mut is_open = false;
    for block in &doc.blocks {
        let is_read = is_running_text(block) && doc.is_english_at(block.span.start());
        match runs.last_mut().filter(|_| is_open && is_read) {
            Some(run) => *run = Span::new(run.start(), block.span.end()),
            None if is_read => runs.push(block.span),
            None => {}
        }
        is_open = is_read;
    }
    runs
}

/// Returns whether a block contains sentences. Headings are titles: every word may be capitalized
/// there.
fn is_running_text(block: &Block) -> bool {
    matches!(block.kind, BlockKind::Paragraph | BlockKind::ListItem { .. } | BlockKind::Quote)
}

/// Returns the tokens around the capitals that may belong to a name, in order and disjoint. An
/// ordinary word may only if it is near another capital or in a link: see `is_proved`.
fn ranges_near_capitals(doc: &Document, run: Span<Norm>, tokens: &[Token]) -> Vec<Range<usize>> {
    let text = run.of(&doc.text);
    let has_capital = |at: &usize| {
        tokens.get(*at).is_some_and(|it| it.surface(text).contains(char::is_uppercase))
    };
    let capitals: Vec<usize> = (0..tokens.len()).filter(has_capital).collect();
    let is_near = |one: Option<&usize>, other: usize| {
        one.is_some_and(|one| one.abs_diff(other) <= BETWEEN + 1)
    };
    let is_linked = |token: &Token| {
        let start = run.start() + token.start as usize;
        let after = doc.links.partition_point(|it| it.span.end() <= start);
        doc.links.get(after).is_some_and(|it| it.span.start() <= start)
    };
    let mut ranges: Vec<Range<usize>> = Vec::new();
    for (nth, &at) in capitals.iter().enumerate() {
        let Some(token) = tokens.get(at) else { continue };
        let is_beside = is_near(capitals.get(nth + 1), at)
            || is_near(nth.checked_sub(1).and_then(|nth| capitals.get(nth)), at);
        if !is_beside && words::all_ordinary(token.surface(text)) && !is_linked(token) {
            continue;
        }
        let (start, end) = (at.saturating_sub(BEFORE), (at + 1 + AFTER).min(tokens.len()));
        match ranges.last_mut().filter(|last| last.end >= start) {
            Some(last) => last.end = end,
            None => ranges.push(start..end),
        }
    }
    ranges
}

/// Returns the mentions in what the model took for a name, between the borders in it, as far as they are credible.
fn mentions_of(
    doc: &Document,
    run: Span<Norm>,
    tokens: &[Token],
    entity: &Entity,
    borders: &Borders,
    code: &[Span<Norm>],
) -> Vec<Mention> {
    let (Some(first), Some(last)) =
        (tokens.get(entity.start as usize), tokens.get(entity.end as usize - 1))
    else {
        return Vec::new();
    };
    let whole: Span<Norm> =
        Span::new(run.start() + first.start as usize, run.start() + last.end as usize);
    let parts = borders.parts(whole).filter_map(|part| {
        let (entity_type, score) = type_of(entity.label)?;
        let (start, end) = trimmed(&doc.text, part.start(), part.end())?;
        let span: Span<Norm> = Span::new(start, end);
        let surface = span.of(&doc.text);
        // In `Add Request` with a type in code font, the model takes both words for one name.
        let after = code.partition_point(|it| it.end() <= span.start());
        let has_code = code.get(after).is_some_and(|it| it.start() < span.end());
        (is_name(surface) && !has_code && is_proved(doc, span)).then(|| Mention {
            span,
            name: surface.to_string(),
            entity_type,
            recognizer: RecognizerKind::Statistical,
            score: Confidence::new(score),
            place: PlaceFeatures { is_type_guessed: true, ..PlaceFeatures::default() },
        })
    });
    parts.collect()
}

/// Maps an OntoNotes label to our type. Numbers, amounts, times of day, peoples and languages are
/// not names; dates are found by their form.
fn type_of(label: &str) -> Option<(EntityType, f32)> {
    Some(match label {
        "PERSON" => (EntityType::Person, SURE),
        "ORG" => (EntityType::Organization, SURE),
        "GPE" | "LOC" | "FAC" => (EntityType::Location, SURE),
        "PRODUCT" => (EntityType::Product, UNSURE),
        "EVENT" => (EntityType::Event, UNSURE),
        "WORK_OF_ART" => (EntityType::Concept, UNSURE),
        "LAW" => (EntityType::Standard, UNSURE),
        _ => return None,
    })
}

/// Returns the span without article, possessive and signs at its ends, within its first line.
fn trimmed(text: &str, start: usize, end: usize) -> Option<(usize, usize)> {
    let surface = text.get(start..end)?;
    let surface = surface.split('\n').find(|line| !line.trim().is_empty())?;
    let is_part = |c: char| c.is_alphanumeric();
    let mut kept = surface.trim_start_matches(|c| !is_part(c));
    for article in ["the ", "The ", "a ", "A ", "an ", "An "] {
        kept = kept.strip_prefix(article).unwrap_or(kept);
    }
    // `Create a Google Group`, `Adopt the Code of Conduct`: an article begins the name.
    for article in [" a ", " an ", " the "] {
        let is_inner = |before: &str| article == " the " && before.contains(' ');
        let cut = kept.rsplit_once(article).filter(|(before, _)| !is_inner(before));
        kept = cut.map_or(kept, |(_, rest)| rest);
    }
    let bare = kept.trim_end_matches(|c| !is_part(c) && !matches!(c, '+' | '#'));
    // The last point of `U.S.` belongs to it.
    let is_abbreviated = kept.get(bare.len()..).is_some_and(|rest| rest.starts_with('.'))
        && bare.rsplit(' ').next().is_some_and(|word| word.contains('.'));
    let mut kept = kept.get(..bare.len() + usize::from(is_abbreviated)).unwrap_or(bare);
    for ending in ["'s", "’s"] {
        kept = kept.strip_suffix(ending).unwrap_or(kept);
    }
    // `Senders SHOULD`: the words of requirements are in capitals but are not part of a name, nor is the `and` before
    // the next one.
    while let Some((name, word)) = kept.rsplit_once(' ')
        && (REQUIREMENTS.contains(&word) || words::is_function_word(word))
    {
        kept = name.trim_end();
    }
    let from = kept.as_ptr() as usize - text.as_ptr() as usize;
    (!kept.is_empty()).then_some((from, from + kept.len()))
}

/// Returns whether the text is written like a name, with a capital and only letters of the model's
/// script. `DANGEROUS` is emphasis, `API/SDK` is two things.
fn is_name(surface: &str) -> bool {
    let has_capital = surface.chars().any(char::is_uppercase);
    let is_foreign = surface.chars().any(|c| c.is_alphabetic() && !is_latin(c));
    let is_emphasis =
        surface.len() > MAX_ACRONYM_BYTES && surface.bytes().all(|b| b.is_ascii_uppercase());
    has_capital && !(is_foreign || is_emphasis || surface.contains('/')) && !is_numbered(surface)
}

/// Returns whether a name is credible. Several ordinary words are one if they are a whole link, if
/// the last gives the kind (`Open Data Institute`), or if all are capitalized inside a sentence; at
/// its start one capital proves nothing.
fn is_proved(doc: &Document, span: Span<Norm>) -> bool {
    let surface = span.of(&doc.text);
    if !words::all_ordinary(surface) {
        return true;
    }
    let Some((_, last)) = surface.rsplit_once(' ') else { return false };
    let before = doc.text.get(..span.start()).unwrap_or("").trim_end_matches(' ');
    let is_mid = before.ends_with(|c: char| c.is_alphanumeric() || c == ',');
    let has_capitals = surface.split(' ').all(|word| word.starts_with(char::is_uppercase));
    let is_plain = surface.chars().all(|c| c.is_alphanumeric() || c == ' ');
    let link = doc.links.binary_search_by_key(&span.start(), |it| it.span.start()).ok();
    let is_link = link.and_then(|at| doc.links.get(at)).is_some_and(|it| it.span == span);
    is_link || lexicon::is_suffix(last) || (is_mid && has_capitals && is_plain)
}

/// Returns whether the text is a number of something, like `Listing 15-12`.
fn is_numbered(surface: &str) -> bool {
    let Some((first, rest)) = surface.split_once(' ') else { return false };
    let first = first.trim_end_matches(['s', '.']).to_lowercase();
    NUMBERED.contains(&first.as_str()) && rest.starts_with(|c: char| c.is_ascii_digit())
}

#[cfg(test)]
mod tests;
