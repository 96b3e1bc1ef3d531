//! Term: general terms that a document introduces or repeats: `called a _function pointer_`,
//! `spawned thread`.
//!
//! In: a document and its words. Out: one mention for each place of such a term, named by its
//! singular.
//! Invariants: a term is introduced if it is marked (emphasis, bold, a link) and the words beside
//! it name or define it, or if several plain words are emphasized. It is repeated if it occurs
//! alone between function words (`the spawned thread of`) several times. An ordinary word is a term
//! only in the document that introduces it. Linear.
//! Measured on `corpus/real` (tuning half): readers take three of four repeated terms for terms,
//! and four of five introduced ones.

use std::sync::LazyLock;

use rustc_hash::FxHashMap;

use super::proof::mention;
use crate::recognize::token::{Shape, View, Words};
use crate::recognize::words::{self, WordSet, word_set};
use model::document::{BlockKind, Document, InlineKind, Mention};
use model::terms::{EntityType, Norm, NormKey, Span, norm_of};

const SCORE: f32 = 0.6;
/// Longest term, in words and in bytes.
const MAX_WORDS: usize = 3;
const MAX_BYTES: usize = 40;
/// Shortest word of a repeated term, in bytes.
const MIN_WORD_BYTES: usize = 3;
/// Uses that make a group of words a term.
const MIN_USES: u32 = 2;

/// Words that precede the mark of an introduced term, articles skipped.
const INTRODUCING: [&str; 7] =
    ["called", "named", "known as", "termed", "dubbed", "referred to as", "call this"];
/// Words that follow it.
const DEFINING: [&str; 8] = [
    " is a ",
    " is an ",
    " is any ",
    " are a ",
    " is the ",
    " means ",
    " refers to ",
    " stands for ",
];

/// Words that precede a noun group.
static BEFORE: WordSet = LazyLock::new(|| {
    word_set(
        "a an the this each every any another its their our your of with for in by from on into \
         between as via without about through",
    )
});
/// Words that only give a thing's place, number or quality in the text.
static GENERAL: WordSet = LazyLock::new(|| {
    word_set(
        "actual additional appropriate bad best big blank blog certain clear common complete \
         correct current default different earlier entire exact example existing extra final \
         first following full general given good great handful important individual initial \
         interesting kind large last later least little long lot main many minimal more most \
         multiple new next nice number obvious old only original other own particular possible \
         previous proper real relevant right same second separate set several short similar \
         simple single small sort special specific successful sufficient third time two three \
         four five unique usual various way whole wide wrong",
    )
});

/// Adds the places of the document's terms.
pub(super) fn find(doc: &Document, words: &Words<'_>, out: &mut Vec<Mention>) {
    let mut terms: FxHashMap<NormKey, &str> = FxHashMap::default();
    let introduced = introduced(doc).into_iter().map(|span| singular(span.of(&doc.text)));
    for term in introduced.chain(repeated(doc, words)) {
        terms.entry(norm_of(term)).or_insert(term);
    }
    if terms.is_empty() {
        return;
    }
    for (block_idx, block) in doc.blocks.iter().enumerate() {
        if !matches!(block.kind, BlockKind::Code { .. }) {
            places(words.of_block(block_idx), &terms, out);
        }
    }
}

/// Returns the places where a document introduces terms: marks first, then links.
pub(in crate::recognize) fn introduced(doc: &Document) -> Vec<Span<Norm>> {
    let inlines = doc.inlines.iter().filter(|it| it.kind != InlineKind::Code);
    let marks = inlines.map(|it| (it.span, it.kind == InlineKind::Emphasis));
    let links = doc.links.iter().map(|it| (it.span, false));
    let mut out = Vec::new();
    for (span, is_emphasis) in marks.chain(links) {
        let text = span.of(&doc.text);
        let trimmed = text.trim_end_matches([',', '.', ':', ';']);
        let span: Span<Norm> = Span::new(span.start(), span.start() + trimmed.len());
        if !is_phrase(trimmed) || !doc.is_english_at(span.start()) {
            continue;
        }
        let is_several = trimmed.contains(' ');
        if is_introduced(&doc.text, span) || (is_emphasis && is_several && is_quiet(trimmed)) {
            out.push(span);
        }
    }
    out
}

/// Returns whether the text is a few plain words, none of them a function word.
fn is_phrase(text: &str) -> bool {
    let is_word = |word: &str| {
        !words::is_function_word(word) && word.chars().all(|c| c.is_alphabetic() || c == '-')
    };
    (MIN_WORD_BYTES..=MAX_BYTES).contains(&text.len())
        && text.split(' ').count() <= MAX_WORDS
        && text.split(' ').all(is_word)
        && text.starts_with(char::is_alphabetic)
}

fn is_quiet(text: &str) -> bool {
    !text.chars().skip(1).any(char::is_uppercase) && !text.split(' ').any(|it| it.ends_with("ly"))
}

/// Returns whether the words beside a mark name or define something.
pub(in crate::recognize) fn is_introduced(text: &str, span: Span<Norm>) -> bool {
    let before = text.get(..span.start()).unwrap_or("").trim_end_matches([' ', '“', '"', '(']);
    let before =
        [" a", " an", " the"].iter().find_map(|it| before.strip_suffix(it)).unwrap_or(before);
    let after = text.get(span.end()..).unwrap_or("");
    INTRODUCING.iter().any(|it| before.ends_with(it))
        || DEFINING.iter().any(|it| after.starts_with(it))
}

/// Returns the groups of words that a document uses several times as nouns, in the singular,
/// ordered by norm.
fn repeated<'w>(doc: &Document, words: &'w Words<'_>) -> Vec<&'w str> {
    let mut uses: FxHashMap<NormKey, Uses<'w>> = FxHashMap::default();
    for (block_idx, block) in doc.blocks.iter().enumerate() {
        let is_text = !matches!(
            block.kind,
            BlockKind::Code { .. } | BlockKind::Heading(_) | BlockKind::TableRow { .. }
        );
        if is_text && doc.is_english_at(block.span.start()) {
            groups(words.of_block(block_idx), |group| {
                let term = singular(group);
                let uses = uses.entry(norm_of(term)).or_insert(Uses { term, ..Uses::default() });
                uses.n += 1;
                uses.has_plural |= term.len() < group.len();
                uses.has_singular |= term.len() == group.len();
            });
        }
    }
    let mut terms: Vec<(NormKey, &str)> = uses
        .into_iter()
        .filter(|(_, uses)| uses.is_term())
        .map(|(norm, uses)| (norm, uses.term))
        .collect();
    terms.sort_unstable();
    terms.into_iter().map(|(_, term)| term).collect()
}

/// How a document uses a group of words.
#[derive(Debug, Default)]
struct Uses<'w> {
    term: &'w str,
    n: u32,
    has_singular: bool,
    has_plural: bool,
}

impl Uses<'_> {
    /// Returns whether the group is a term. A single word must be countable (`a closure`,
    /// `closures`) and not ordinary.
    fn is_term(&self) -> bool {
        let is_counted = self.has_singular && self.has_plural && !words::is_ordinary(self.term);
        self.n >= MIN_USES && (self.term.contains([' ', '-']) || is_counted)
    }
}

/// Calls `take` for each run of lowercase words between function words, after an article or
/// preposition.
fn groups<'w>(view: View<'w>, mut take: impl FnMut(&'w str)) {
    let is_part = |i: usize| {
        view.shape(i).is_quiet()
            && !view.shape(i).has(Shape::CODE)
            && !words::is_function_word(view.word(i))
    };
    let mut i = 0;
    while i < view.words.len() {
        if !is_part(i) {
            i += 1;
            continue;
        }
        let from = i;
        while matches!(view.gap(i), Some(" " | "-"))
            && is_part(i + 1)
            && !view.shape(i + 1).has(Shape::PARTED)
        {
            i += 1;
        }
        let is_led = from
            .checked_sub(1)
            .is_some_and(|before| view.gap_is(before, " ") && BEFORE.contains(view.word(before)));
        // A run that continues with capitals or code is part of a longer name.
        let goes_on = matches!(view.gap(i), Some(" " | "-" | "’" | "'"))
            && !words::is_function_word(view.word(i + 1));
        if is_led && !goes_on && is_group(view, from, i) {
            take(view.run(from, i));
        }
        i += 1;
    }
}

fn is_group(view: View<'_>, from: usize, to: usize) -> bool {
    let is_noun = |i: usize| {
        let word = view.word(i);
        let is_modifier = i > from && ["ed", "ly"].iter().any(|end| word.ends_with(end));
        word.len() >= MIN_WORD_BYTES && !is_modifier
    };
    (1..=MAX_WORDS).contains(&(to + 1 - from))
        && !GENERAL.contains(view.word(from))
        && !is_quality(view.word(to))
        && !view.word(from).ends_with("ly")
        && (from..=to).all(is_noun)
        && view.run(from, to).len() <= MAX_BYTES
}

/// Returns whether a word states a quality of the noun before it: `a command similar to`, `the tree
/// incomplete`.
fn is_quality(word: &str) -> bool {
    let positive = ["in", "un"].iter().find_map(|it| word.strip_prefix(it)).unwrap_or(word);
    GENERAL.contains(word) || GENERAL.contains(positive)
}

/// Adds the places of terms in a block, the longest term first.
fn places(view: View<'_>, terms: &FxHashMap<NormKey, &str>, out: &mut Vec<Mention>) {
    let mut i = 0;
    while i < view.words.len() {
        let to = (i..(i + MAX_WORDS).min(view.words.len())).rev().find_map(|to| {
            let is_joined = (i..to).all(|at| matches!(view.gap(at), Some(" " | "-")));
            let surface = view.run(i, to);
            let term = is_joined.then(|| terms.get(&norm_of(singular(surface)))).flatten()?;
            may_be(view, i, to).then_some((to, surface, *term))
        });
        let Some((to, surface, term)) = to else {
            i += 1;
            continue;
        };
        if let Some(word) = view.words.get(i) {
            let start = word.start as usize;
            let span = Span::new(start, start + surface.len());
            out.push(mention(span, &term.to_lowercase(), EntityType::Concept, SCORE));
        }
        i = to + 1;
    }
}

/// Returns whether a run may be a term: not inside a compound or code, and without a capital that
/// makes it a name.
fn may_be(view: View<'_>, from: usize, to: usize) -> bool {
    let is_plain = |i: usize| {
        let shape = view.shape(i);
        !shape.has(Shape::CODE)
            && (shape.is_quiet()
                || (!shape.has(Shape::HUMP) && !shape.is_caps() && shape.has(Shape::CAPITAL)))
    };
    let is_name =
        from == to && view.shape(from).has(Shape::CAPITAL) && !view.shape(from).has(Shape::FIRST);
    let is_glued = view.is_glued(from, to) || matches!(view.gap(to), Some("-" | "_" | "/"));
    let is_after =
        from.checked_sub(1).is_some_and(|at| matches!(view.gap(at), Some("-" | "_" | "/")));
    (from..=to).all(is_plain) && !is_name && !is_glued && !is_after
}

/// Returns the term without the `s` of a plural.
pub(in crate::recognize) fn singular(term: &str) -> &str {
    let is_kept = |ending: &&str| term.ends_with(*ending);
    if term.len() <= MIN_WORD_BYTES || ["ss", "us", "is", "ies", "ous"].iter().any(is_kept) {
        return term;
    }
    let longer = ["sses", "xes", "ches", "shes", "zzes", "tuses"];
    match longer.iter().any(is_kept) {
        true => term.strip_suffix("es").unwrap_or(term),
        false => term.strip_suffix('s').unwrap_or(term),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_of_quality_ends_no_term() {
        for (word, expected) in [("similar", true), ("incomplete", true), ("index", false)] {
            assert_eq!(is_quality(word), expected, "{word}");
        }
    }
}
