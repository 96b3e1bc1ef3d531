//! Anaphors: `it`, `its`, `she`, `they`, `the service`, each with the earlier name it refers to.
//!
//! In: a document, its sentences and mentions. Out: [`Anaphor`]s in order of place.
//! Invariants: the antecedent is an earlier mention in the same section, or the antecedent of an
//! earlier anaphor there. An `it` that announces a clause (`it is clear that`) or is an object
//! (`stops it`) refers to nothing.

use std::sync::LazyLock;

use super::score::Scope;
use crate::recognize::lexicon;
use crate::recognize::words::{WordSet, word_set};
use model::document::{Anaphor, BlockKind, Document, Mention};
use model::terms::{Confidence, EntityType, Norm, Span};

/// Words after `it is` that announce a clause.
static ANNOUNCING: WordSet = LazyLock::new(|| {
    word_set(
        "important possible impossible necessary clear likely unlikely hard easy difficult best \
         better good recommended useful helpful worth time common rare true false safe not also \
         often usually always never obvious customary enough",
    )
});
/// Verbs after `it` that announce a clause, or the weather.
static IMPERSONAL: WordSet = LazyLock::new(|| {
    word_set(
        "seems appears turns takes took follows happens rains depends makes helps means matters",
    )
});
/// Words that begin a clause, so that a following `it` is its subject.
static CLAUSE_STARTS: WordSet = LazyLock::new(|| {
    word_set(
        "and but or because if when while whether since so where after before until although \
         though once that",
    )
});

/// Words that may follow a noun at the end of its phrase: verbs here, other words in
/// [`ENDS_PHRASE`].
static VERBS: WordSet = LazyLock::new(|| {
    word_set(
        "is was are were has had have does did do can could will would may might must should \
         uses used runs ran reads writes stores keeps sends calls needs requires depends \
         belongs lives supports provides handles owns creates returns",
    )
});
static ENDS_PHRASE: WordSet = LazyLock::new(|| {
    word_set(
        "then also still now only itself and or but to in on at for with by from as when while \
         which that until before after",
    )
});

/// The kind of thing a word may refer to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wants {
    /// `he` or `she`; the two never refer to the same person.
    Person {
        is_she: bool,
    },
    Thing,
    Group,
    /// `the service`: a name of the noun's type, if the noun has one, or a name that ends in the
    /// noun.
    Described(Option<EntityType>),
}

/// A word or phrase of a sentence that may refer back.
pub(super) struct Found<'a> {
    pub(super) span: Span<Norm>,
    pub(super) wants: Wants,
    /// The noun of a description: `service`.
    pub(super) noun: Option<&'a str>,
    pub(super) is_first: bool,
}

/// Finds the anaphors of a document.
pub(in crate::recognize) fn find(
    doc: &Document,
    sentences: &[Span<Norm>],
    mentions: &[Mention],
) -> Vec<Anaphor> {
    let mut scope = Scope::new(doc, sentences, mentions);
    for (idx, sentence) in sentences.iter().enumerate() {
        let block = scope.enter(idx);
        let is_heading = block.is_some_and(|b| matches!(b.kind, BlockKind::Heading(_)));
        if is_heading || !doc.is_english_at(sentence.start()) {
            continue;
        }
        for found in words_of(doc, *sentence) {
            let claims = |m: &Mention| {
                m.span.start() < found.span.end() && found.span.start() < m.span.end()
            };
            let at = mentions.partition_point(|m| m.span.end() <= found.span.start());
            if mentions.get(at).is_some_and(|m| claims(m) && m.entity_type != EntityType::Step) {
                continue;
            }
            if let Some((antecedent, score)) = scope.antecedent(&found) {
                let score = Confidence::new(score);
                scope.refer(Anaphor { span: found.span, antecedent, score }, &found);
            }
        }
    }
    scope.into_anaphors()
}

fn words_of<'a>(doc: &'a Document, sentence: Span<Norm>) -> Vec<Found<'a>> {
    let text = sentence.of(&doc.text);
    let mut out = Vec::new();
    let mut words = text
        .split(|c: char| !c.is_alphanumeric() && c != '\'' && c != '’')
        .filter(|w| !w.is_empty())
        .peekable();
    let mut before: Option<&str> = None;
    while let Some(word) = words.next() {
        let start = word.as_ptr() as usize - text.as_ptr() as usize;
        let next = words.peek().copied().unwrap_or("");
        let is_first = before.is_none();
        // `it` and `they` count as subjects at the start of a clause; elsewhere they are objects.
        let is_subject = || {
            before.is_none_or(|word| {
                let is_after_comma = text.get(..start).is_some_and(|it| it.ends_with(", "));
                is_after_comma || CLAUSE_STARTS.contains(word)
            })
        };
        let wants = match lower_of(word).as_str() {
            "he" | "his" | "him" => Some(Wants::Person { is_she: false }),
            "she" | "her" => Some(Wants::Person { is_she: true }),
            "their" => Some(Wants::Group),
            "they" if is_subject() => Some(Wants::Group),
            "its" => Some(Wants::Thing),
            "it" if is_subject() && !is_impersonal(text, start + word.len()) => Some(Wants::Thing),
            _ => None,
        };
        let span =
            |from: usize, to: usize| Span::new(sentence.start() + from, sentence.start() + to);
        if let Some(wants) = wants {
            out.push(Found { span: span(start, start + word.len()), wants, noun: None, is_first });
        } else if matches!(word, "the" | "The" | "this" | "This")
            && next.starts_with(char::is_lowercase)
        {
            let end = next.as_ptr() as usize - text.as_ptr() as usize + next.len();
            if ends_phrase(text.get(end..).unwrap_or("")) {
                let wants = Wants::Described(lexicon::type_of_noun(next));
                out.push(Found { span: span(start, end), wants, noun: Some(next), is_first });
            }
        }
        before = Some(word);
    }
    out
}

/// Returns a word in lowercase if it may be a pronoun, otherwise an empty string. Most words need
/// no copy.
fn lower_of(word: &str) -> String {
    let begins_so = word.starts_with(['i', 'I', 'h', 'H', 't', 'T', 's', 'S']);
    if word.len() <= 5 && begins_so { word.to_lowercase() } else { String::new() }
}

/// Returns whether the phrase ends with the noun: `the service mesh` is not a service.
fn ends_phrase(rest: &str) -> bool {
    let Some(rest) = rest.strip_prefix(' ') else { return !rest.starts_with(['-', '_', '/']) };
    let word = first_word(rest);
    word.is_empty() || is_verb_like(&word) || ENDS_PHRASE.contains(word.as_str())
}

/// Returns whether a verb follows directly, so that the text before is a subject.
pub(super) fn is_before_verb(rest: &str) -> bool {
    rest.strip_prefix(' ').is_some_and(|rest| is_verb_like(&first_word(rest)))
}

fn first_word(rest: &str) -> String {
    rest.split(|c: char| !c.is_alphanumeric()).next().unwrap_or("").to_lowercase()
}

fn is_verb_like(word: &str) -> bool {
    word.ends_with("ed") || VERBS.contains(word)
}

/// Returns whether the `it` before `end` announces a clause: `it is important to`, `it seems`.
fn is_impersonal(text: &str, end: usize) -> bool {
    let rest = text.get(end..).unwrap_or("").to_lowercase();
    let mut words = rest.split(|c: char| !c.is_alphanumeric()).filter(|w| !w.is_empty());
    let first = words.next().unwrap_or("");
    match first {
        "is" | "was" | "s" | "be" | "would" | "will" | "may" | "might" => {
            let next = words.next().unwrap_or("");
            let next = if next == "be" { words.next().unwrap_or("") } else { next };
            ANNOUNCING.contains(next)
        }
        word => IMPERSONAL.contains(word),
    }
}
