//! Define: what a document says about what a thing is.
//!
//! In: sentences and the outline. Out: `defines`, subject the document, object the defined name; the words are the
//! sentence, or the entry of a glossary.
//! Invariants: a definition is an entry of a glossary (`recognize/pattern/definition.rs`); a sentence whose subject is
//! the name and whose verb the vocabulary lists (`is a`, `means`; a row of weight 0 makes it a remark); the first
//! sentence with the name as its subject on its own page; or an apposition
//! (`X, a …`). A name alone before a colon, in a heading or before another verb is none. Linear.

use super::cues::{Cue, CueKind, Cues};
use super::depend::MAX_SENTENCE_BYTES;
use super::page::Page;
use super::{Statement, Statements};
use crate::recognize::pattern::entries;
use crate::recognize::words::{is_function_word, is_ordinary};
use language::Pipeline;
use model::document::{BlockKind, Party, Pass};
use model::terms::{EntityType, Norm, Span, norm_of};

/// Begins the pattern of a definition.
pub const DEFINITION: &str = "definition:";
/// Confidence of what a thing's own page or section says about it: that it is something, else what it does.
const OWN_CONFIDENCE: f32 = 0.95;
const OPENING_CONFIDENCE: f32 = 0.55;
/// Confidence of an entry of a glossary, announced or by its form.
const GLOSSARY_CONFIDENCE: f32 = 0.9;
const ENTRY_CONFIDENCE: f32 = 0.7;
const APPOSITION_CONFIDENCE: f32 = 0.55;
const PLURAL_CONFIDENCE: f32 = 0.55;
/// What is left of a confidence where the sentence does not open a paragraph.
const WITHIN: f32 = 0.97;
/// Most tokens between a noun and the next member of its list.
const MAX_REACH: usize = 40;
/// Most heads above a name that are looked at.
const MAX_DEPTH: usize = 20;
/// Fewest words of a definition after its verb.
const MIN_WORDS: usize = 1;
/// Beginnings of an apposition.
const APPOSED: [&str; 4] = [", a ", ", an ", " (a ", " (an "];
/// Words that show that the word before them is no verb: `X deployments are …`.
const FINITE: [&str; 12] =
    ["is", "are", "was", "were", "has", "have", "can", "may", "must", "will", "should", "would"];
/// Most words between an article or `are` and its noun.
const MAX_MODIFIERS: usize = 4;

/// Adds the definitions.
pub(super) fn relate(page: &Page<'_>, out: &mut Statements) {
    glossaries(page, out);
    // The last section whose thing its text has defined.
    let mut opened = None;
    let mut candidates = Vec::new();
    page.for_each_sentence(|sentence, things, block_idx| {
        let Some(block) = page.blocks().get(block_idx) else { return };
        if matches!(block.kind, BlockKind::TableRow { .. } | BlockKind::Code { .. }) {
            return;
        }
        let opens = sentence.start() == block.span.start() && block.kind == BlockKind::Paragraph;
        // A pronoun may stand for something else.
        let is_name = |idx: &u32| page.doc.found.mentions.len() > *idx as usize;
        // What a list completes says only part of it.
        let is_cut = sentence.of(page.text).trim_end().ends_with(':');
        let first = things.first().copied().filter(|idx| is_name(idx) && !is_cut);
        if let Some(first) = first
            && let Some(after) = subject(page, sentence, first)
        {
            let is_own = opens
                && opened != Some(block.section)
                && is_about_section(page, block.section, first);
            let found = match cue_after(page.cues(), after) {
                Some(cue) => (cue.weight > 0.0).then_some((cue.pattern, cue.weight)),
                None if are_kinds(after) => Some(("definition:are", PLURAL_CONFIDENCE)),
                None => (is_own
                    && page.is_own(first)
                    && does(after, page.surface(first))
                    && !is_ordinary(page.surface(first)))
                .then_some(("definition:opening", OPENING_CONFIDENCE)),
            };
            if let Some((pattern, confidence)) = found {
                if is_own {
                    opened = Some(block.section);
                }
                let is_named = pattern != "definition:opening";
                let confidence = if is_own && is_named { OWN_CONFIDENCE } else { confidence };
                // What stands within a paragraph is often a remark.
                let confidence = if opens { confidence } else { confidence * WITHIN };
                define(out, sentence, first, (pattern, confidence));
            }
        }
        let is_apposed = |idx: &u32| {
            let after = page.mention(*idx).and_then(|it| page.text.get(it.span.end()..));
            after.is_some_and(|after| APPOSED.iter().any(|sign| after.starts_with(sign)))
        };
        let apposed = things.iter().copied().filter(|idx| is_name(idx) && is_apposed(idx));
        let apposed: Vec<u32> = apposed.collect();
        if !apposed.is_empty() && sentence.len() <= MAX_SENTENCE_BYTES {
            candidates.push((sentence, apposed));
        }
    });
    if page.doc.head.pass == Pass::Deep && !candidates.is_empty() {
        appositions(page, &candidates, out);
    }
}

/// Adds the entries of glossaries whose terms are names.
fn glossaries(page: &Page<'_>, out: &mut Statements) {
    for entry in entries(page.doc) {
        let mentions = &page.doc.found.mentions;
        let idx = mentions.partition_point(|m| m.span.start() < entry.term.start());
        let Some(mention) = mentions.get(idx).filter(|m| m.span.start() == entry.term.start())
        else {
            continue;
        };
        let rest = page.text.get(mention.span.end()..entry.term.end());
        let is_whole = rest.is_some_and(|it| it.is_empty() || it.starts_with(" ("));
        let is_term = mention.entity_type != EntityType::Person && page.is_thing(idx as u32);
        if !is_whole || !is_term {
            continue;
        }
        let (pattern, confidence) = match (entry.is_announced, entry.is_row) {
            (true, _) => ("definition:glossary", GLOSSARY_CONFIDENCE),
            (false, false) => ("definition:list", ENTRY_CONFIDENCE),
            (false, true) => ("definition:table", ENTRY_CONFIDENCE),
        };
        let start = if entry.is_row { entry.meaning.start() } else { entry.term.start() };
        define(out, Span::new(start, entry.meaning.end()), idx as u32, (pattern, confidence));
    }
}

/// Returns the words after a name that its sentence begins with: after an article, and before the noun that says what
/// a name in code is (``The `up` metric``), words in parentheses, or other names (`X, also known as Y,`).
fn subject<'p>(page: &Page<'p>, sentence: Span<Norm>, idx: u32) -> Option<&'p str> {
    let mention = page.mention(idx)?;
    let before = page.text.get(sentence.start()..mention.span.start())?;
    if !matches!(before.trim(), "" | "A" | "An" | "The" | "a" | "an" | "the") {
        return None;
    }
    let mut after = page.text.get(mention.span.end()..sentence.end())?;
    if let Some((_, rest)) = after.strip_prefix(" (").and_then(|it| it.split_once(')')) {
        after = rest;
    }
    if let Some((_, rest)) = after.strip_prefix(", ").and_then(|it| it.split_once(','))
        && cue_after(page.cues(), rest).is_some()
    {
        after = rest;
    }
    let noun = after.strip_prefix(' ').and_then(|it| it.split(' ').next()).unwrap_or("");
    let is_noun = (mention.place.in_code || page.is_own(idx))
        && !noun.is_empty()
        && !is_function_word(noun)
        && !noun.ends_with('s');
    if is_noun && noun.chars().all(char::is_alphabetic) {
        after = after.get(1 + noun.len()..)?;
    }
    Some(after)
}

/// Returns the longest definition cue that follows a name, if at least [`MIN_WORDS`] words follow the cue.
fn cue_after<'v>(cues: &'v Cues, after: &str) -> Option<&'v Cue> {
    let after = after.strip_prefix(' ')?;
    let follows = |cue: &&Cue| {
        let rest = after.strip_prefix(cue.words).filter(|rest| rest.starts_with([' ', ',']));
        rest.is_some_and(|rest| rest.split_whitespace().count() >= MIN_WORDS || cue.weight == 0.0)
    };
    cues.of_kind(CueKind::Definition).filter(follows).max_by_key(|cue| cue.words.len())
}

/// Returns whether a plural follows `are`: `are anonymous functions`, not `are attached to metrics`.
fn are_kinds(after: &str) -> bool {
    let Some(rest) = after.strip_prefix(" are ") else { return false };
    let mut words = rest.split(' ').take(MAX_MODIFIERS).take_while(|it| !is_function_word(it));
    let is_plural = |word: &str| {
        let word = word.trim_end_matches([',', '.', ';', ':']);
        word.ends_with('s') && !["ss", "us", "is", "ways"].iter().any(|end| word.ends_with(end))
    };
    let is_participle =
        rest.split(' ').next().is_some_and(|it| it.ends_with("ed") || it.ends_with("ing"));
    !is_participle && words.any(is_plural)
}

/// Returns whether a verb in the third person follows a name, after a plural any verb, or what it is used for.
fn does(after: &str, name: &str) -> bool {
    let mut words = after.split(' ').skip(1);
    let (word, next) = (words.next().unwrap_or(""), words.next().unwrap_or(""));
    if matches!(word, "is" | "are") {
        let is_for = words.next().is_some_and(|it| matches!(it, "to" | "for"));
        return next.ends_with("ed") && is_for;
    }
    let is_form = (word.ends_with('s') && !word.ends_with("ss"))
        || (name.ends_with('s') && !word.ends_with("ed"));
    let is_word = word.len() > 1 && word.chars().all(char::is_lowercase);
    after.starts_with(' ')
        && is_word
        && is_form
        && !is_function_word(word)
        && !FINITE.contains(&next)
        && words.next().is_some()
}

/// Returns whether a name is what its section is about: the name of the heading, or of the page.
fn is_about_section(page: &Page<'_>, section: Option<u32>, idx: u32) -> bool {
    let heading = section.and_then(|it| page.blocks().get(it as usize));
    match heading.map(|it| &it.kind) {
        None | Some(BlockKind::Heading(1)) => page.is_own(idx),
        _ => heading.is_some_and(|it| norm_of(it.span.of(page.text)) == norm_of(page.surface(idx))),
    }
}

/// Adds the appositions among names that an article and a noun follow, by the grammar of their sentences: `In Alpha, a
/// user …` has none.
fn appositions(page: &Page<'_>, candidates: &[(Span<Norm>, Vec<u32>)], out: &mut Statements) {
    let mut text = String::new();
    let starts: Vec<usize> = (candidates.iter())
        .map(|(sentence, _)| {
            let start = text.len();
            text.extend([sentence.of(page.text), "\n\n"]);
            start
        })
        .collect();
    let pipeline = Pipeline::shared();
    let tokens = pipeline.tokens(&text);
    let parse = pipeline.parse(&tokens);
    let head_of = |i: usize| parse.heads.get(i).map_or(i, |head| *head as usize);
    let label = |i: usize| parse.labels.get(i).copied().unwrap_or("");
    let each = candidates.iter().zip(starts);
    let each =
        each.flat_map(|((sentence, all), start)| all.iter().map(move |it| (sentence, it, start)));
    for (sentence, idx, start) in each {
        let Some(mention) = page.mention(*idx) else { continue };
        let at = |place: usize| (start + place - sentence.start()) as u32;
        let first = tokens.partition_point(|it| it.start < at(mention.span.start()));
        let sign = tokens.partition_point(|it| it.start < at(mention.span.end()));
        // The article comes after the sign; its head is the noun, whose head is the name.
        let noun = head_of(sign + 1);
        let name = head_of(noun);
        if label(noun) != "appos" || !(first..sign).contains(&name) {
            continue;
        }
        // `an Alpha, a Beta` are two things, `Alpha, a Beta, or a Gamma` three.
        let is_article =
            |it: &usize| tokens.get(*it).is_some_and(|it| matches!(it.surface(&text), "a" | "an"));
        let is_one_of_many = (first.saturating_sub(MAX_MODIFIERS)..first)
            .any(|it| is_article(&it) && head_of(it) == name);
        let mut behind = noun..tokens.len().min(noun + MAX_REACH);
        let is_joined = behind.any(|it| head_of(it) == noun && label(it) == "conj");
        // `To Alpha, a user …`: what the name belongs to comes later.
        let mut above = std::iter::successors(Some(name), |it| Some(head_of(*it))).take(MAX_DEPTH);
        let is_fronted = above.any(|it| head_of(it) > noun && !label(it).starts_with("nsubj"));
        if !is_one_of_many && !is_joined && !is_fronted {
            define(out, *sentence, *idx, ("definition:apposition", APPOSITION_CONFIDENCE));
        }
    }
}

fn define(out: &mut Statements, span: Span<Norm>, mention: u32, how: (&'static str, f32)) {
    let (pattern, confidence) = how;
    let (subject, object) = (Party::Document, Party::Mention(mention));
    out.add(span, Statement { subject, predicate: "defines", object, pattern, confidence });
}
