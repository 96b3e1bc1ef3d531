//! Refute: statements that the words between names suggest, but the grammar of the sentence does not support.
//!
//! In: the statements that templates made from a sentence, its tree, what grammar found there. Out: which of them to
//! drop, and which to make less sure.
//! Invariants: only statements of sentences that were parsed are judged; what grammar confirms stays as it is.

use rustc_hash::FxHashMap;

use super::object::phrases_of;
use super::truth::Truth;
use super::{Reader, Statements};
use crate::relate::vocabulary::DENIED;
use model::document::{Evidence, Party};
use model::terms::{Confidence, Norm, Span};

/// Factor for a template's statement that grammar neither confirms nor refutes.
const UNCONFIRMED: f32 = 0.85;
const TEMPLATE: &str = "sentence:";
/// Two names of one thing, the second in parentheses: not judged, since no verb connects them.
const ABBREVIATION: &str = "sentence:abbreviation";
const SUBJECTS: [&str; 4] = ["nsubj", "nsubjpass", "csubj", "csubjpass"];

/// The templates' statements by sentence, and the verdicts on them.
pub(super) struct Refuted {
    of: FxHashMap<Span<Norm>, Vec<usize>>,
    /// Factor for each statement's confidence; 0 for one to be dropped.
    kept: Vec<f32>,
}

impl Refuted {
    /// Collects the statements that templates made between two mentions.
    pub(super) fn of(out: &Statements) -> Self {
        let mut of: FxHashMap<Span<Norm>, Vec<usize>> = FxHashMap::default();
        let is_mention = |party| matches!(party, Party::Mention(_));
        for (i, e) in out.all.iter().enumerate() {
            let is_template = e.pattern.starts_with(TEMPLATE) && e.pattern != ABBREVIATION;
            if is_template && is_mention(e.subject) && is_mention(e.object) {
                of.entry(e.span).or_default().push(i);
            }
        }
        Refuted { of, kept: vec![1.0; out.all.len()] }
    }

    /// True if templates made statements from the sentence.
    pub(super) fn judges(&self, sentence: Span<Norm>) -> bool {
        self.of.contains_key(&sentence)
    }

    /// Judges the templates' statements of a sentence. Statements from `n_before` on are those of grammar.
    pub(super) fn judge(&mut self, reader: &Reader<'_>, all: &[Evidence], n_before: usize) {
        let Some(statements) = self.of.get(&reader.line.sentence) else { return };
        let grammar = all.get(n_before..).unwrap_or(&[]);
        for i in statements {
            let (Some(e), Some(kept)) = (all.get(*i), self.kept.get_mut(*i)) else { continue };
            let key = |e: &Evidence| (e.subject, e.predicate, e.object);
            let denies = |it: &Evidence| {
                (it.subject, it.object) == (e.subject, e.object)
                    && it.predicate.strip_prefix(DENIED) == Some(e.predicate)
            };
            if grammar.iter().any(denies) {
                *kept = 0.0;
                continue;
            }
            if grammar.iter().any(|it| key(it) == key(e)) {
                continue;
            }
            *kept = if is_refuted(reader, e) { 0.0 } else { UNCONFIRMED };
        }
    }

    /// Applies the factors, and drops what was refuted.
    pub(super) fn apply(self, out: &mut Statements) {
        for (e, kept) in out.all.iter_mut().zip(&self.kept) {
            e.confidence = Confidence::new(e.confidence.get() * kept);
        }
        // Statements added since `of` have no verdict and are kept.
        let mut kept = self.kept.into_iter();
        out.all.retain(|_| kept.next().is_none_or(|kept| kept > 0.0));
    }
}

/// True when one of the names only modifies another noun, or the clause that would state the relation has another
/// subject or is not stated.
fn is_refuted(reader: &Reader<'_>, e: &Evidence) -> bool {
    let token_of = |party| match party {
        Party::Mention(idx) => {
            (0..reader.tree.len()).find(|i| reader.tree.mention(*i) == Some(idx))
        }
        Party::Document | Party::Link(_) => None,
    };
    let (Some(a), Some(b)) = (token_of(e.subject), token_of(e.object)) else { return false };
    if [a, b].into_iter().any(|it| is_modifier(reader, it) || reader.tree.is_narrowed(it)) {
        return true;
    }
    let (first, second) = (a.min(b), a.max(b));
    clause_refutes(reader, second, first, e.predicate)
}

/// True for a name that only modifies a noun: `the Kafka driver` is not Kafka.
fn is_modifier(reader: &Reader<'_>, token: usize) -> bool {
    let tree = reader.tree;
    let head = tree.head(token);
    let is_inner = matches!(tree.label(token), "compound" | "nmod" | "poss" | "amod" | "npadvmod");
    is_inner && head != token && tree.is_noun(head) && tree.named(head) != tree.mention(token)
}

/// True when the clause around `name` that would state the relation has a subject other than `other`, or is not stated.
fn clause_refutes(reader: &Reader<'_>, name: usize, other: usize, predicate: &str) -> bool {
    let tree = reader.tree;
    for phrase in phrases_of(tree, name) {
        let frame = reader.page.vocabulary.frames.get(phrase.voice, &phrase.stems);
        if frame.is_none_or(|frame| frame.predicate != predicate) {
            continue;
        }
        let (subjects, truth) = reader.clause_of(&phrase);
        if !matches!(truth, Truth::Stated(_)) {
            return true;
        }
        let verb =
            if tree.is_verb(phrase.anchor) { phrase.anchor } else { tree.head(phrase.anchor) };
        let has_own = tree.child(verb, &SUBJECTS).is_some();
        return has_own
            && subjects.iter().all(|subject| Some(subject.mention) != tree.mention(other));
    }
    false
}
