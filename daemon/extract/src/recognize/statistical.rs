//! Statistical: names that the English model finds in running text.
//!
//! In: a document in the deep pass. Out: mentions of the least trusted kind.
//! Invariants: reads English sentences only, never code, tables or headings, where a model of
//! running text goes wrong; a mention is within one line. Linear.
//! Not here: the type of a name over all documents (`link/vote.rs`), dependencies (`relate/`).

use std::sync::Arc;

use super::{Recognizer, lexicon, words};
use language::Pipeline;
use model::parcel::{
    Block, BlockKind, Inline, InlineKind, Mention, NormalDoc, Pass, PlaceFeatures, RecognizerKind,
};
use model::terms::{Confidence, EntityType, Norm, Span, is_latin};

/// Confidence of a person, organization or place: right for about four of five in running text.
const SURE: f32 = 0.6;
/// Confidence of the types that the model confuses most.
const UNSURE: f32 = 0.45;

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

    fn recognize(&self, doc: &NormalDoc, _: &[Span<Norm>], out: &mut Vec<Mention>) {
        if doc.head.pass != Pass::Deep {
            return;
        }
        let pipeline = Pipeline::shared();
        let is_code = |inline: &&Inline| inline.kind == InlineKind::Code;
        let code: Vec<Span<Norm>> = doc.inlines.iter().filter(is_code).map(|it| it.span).collect();
        for run in runs_of(doc) {
            read(&pipeline, doc, run, &code, out);
        }
    }
}

/// Returns stretches of neighboring blocks of English running text.
fn runs_of(doc: &NormalDoc) -> Vec<Span<Norm>> {
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

fn read(
    pipeline: &Arc<Pipeline>,
    doc: &NormalDoc,
    run: Span<Norm>,
    code: &[Span<Norm>],
    out: &mut Vec<Mention>,
) {
    let text = run.of(&doc.text);
    let tokens = pipeline.tokens(text);
    for entity in pipeline.entities(&tokens, &[]) {
        let Some((entity_type, score)) = type_of(entity.label) else { continue };
        let ends = (tokens.get(entity.start as usize), tokens.get(entity.end as usize - 1));
        let (Some(first), Some(last)) = ends else { continue };
        let found = trimmed(text, first.start as usize, last.end as usize);
        let Some((start, end)) = found else { continue };
        let surface = text.get(start..end).unwrap_or_default();
        let span: Span<Norm> = Span::new(run.start() + start, run.start() + end);
        // In `Add Request` with a type in code font, the model takes both words for one name.
        let after = code.partition_point(|it| it.end() <= span.start());
        let has_code = code.get(after).is_some_and(|it| it.start() < span.end());
        if !is_name(surface) || has_code || !is_proved(doc, span) {
            continue;
        }
        out.push(Mention {
            span,
            name: surface.to_string(),
            entity_type,
            recognizer: RecognizerKind::Statistical,
            score: Confidence::new(score),
            place: PlaceFeatures { is_type_guessed: true, ..PlaceFeatures::default() },
        });
    }
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
    let bare = kept.trim_end_matches(|c| !is_part(c) && !matches!(c, '+' | '#'));
    // The last point of `U.S.` belongs to it.
    let is_abbreviated = kept.get(bare.len()..).is_some_and(|rest| rest.starts_with('.'))
        && bare.rsplit(' ').next().is_some_and(|word| word.contains('.'));
    let mut kept = kept.get(..bare.len() + usize::from(is_abbreviated)).unwrap_or(bare);
    for ending in ["'s", "’s"] {
        kept = kept.strip_suffix(ending).unwrap_or(kept);
    }
    // `Senders SHOULD`: the words of requirements are in capitals but are not part of a name.
    while let Some((name, word)) = kept.rsplit_once(' ')
        && REQUIREMENTS.contains(&word)
    {
        kept = name.trim_end();
    }
    let from = kept.as_ptr() as usize - text.as_ptr() as usize;
    (!kept.is_empty()).then_some((from, from + kept.len()))
}

/// Returns whether the text is written like a name, with a capital and only letters of the model's
/// script. `DANGEROUS` is emphasis, `a.com/b` an address.
fn is_name(surface: &str) -> bool {
    let has_capital = surface.chars().any(char::is_uppercase);
    let is_foreign = surface.chars().any(|c| c.is_alphabetic() && !is_latin(c));
    let is_emphasis =
        surface.len() > MAX_ACRONYM_BYTES && surface.bytes().all(|b| b.is_ascii_uppercase());
    let is_address = surface.contains('/') && surface.contains('.');
    has_capital && !(is_foreign || is_emphasis || is_address) && !is_numbered(surface)
}

/// Returns whether a name is credible. Several ordinary words are one if they are a whole link, if
/// the last gives the kind (`Open Data Institute`), or if all are capitalized inside a sentence; at
/// its start one capital proves nothing.
fn is_proved(doc: &NormalDoc, span: Span<Norm>) -> bool {
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
