//! Subject: the subjects of a verb, participle or noun.
//!
//! In: a token of a sentence. Out: mentions, each with a factor for how sure it is.
//! Invariants: each of several joined subjects is returned; a relative pronoun is replaced by its antecedent; a verb
//! without a subject takes that of the verb it depends on; at most `MAX_SUBJECTS`, at most `MAX_CLIMB` steps.

use super::tree::Tree;
use super::truth::{Truth, truth_of};
use super::words::is_in;

/// Most subjects of one verb; longer rows are usually lists.
pub(super) const MAX_SUBJECTS: usize = 8;
/// Most steps from a verb to its subject.
const MAX_CLIMB: usize = 6;
/// Factor of a subject shared with another verb.
const SHARED: f32 = 0.95;
const SUBJECTS: [&str; 2] = ["nsubj", "nsubjpass"];

/// One subject.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Subject {
    pub(super) mention: u32,
    pub(super) token: usize,
    pub(super) factor: f32,
    /// `Neither A nor B uses …`.
    pub(super) is_denied: bool,
}

/// Returns the subjects of a verb.
pub(super) fn subjects_of(tree: &Tree<'_>, verb: usize) -> Vec<Subject> {
    let mut found = of_verb(tree, verb, MAX_CLIMB);
    found.truncate(MAX_SUBJECTS);
    found
}

/// Returns the mentions that a noun phrase names.
pub(super) fn named_by(tree: &Tree<'_>, noun: usize) -> Vec<Subject> {
    let mut found = of_noun(tree, noun, MAX_CLIMB);
    found.truncate(MAX_SUBJECTS);
    found
}

fn of_verb(tree: &Tree<'_>, verb: usize, left: usize) -> Vec<Subject> {
    let Some(left) = left.checked_sub(1) else { return Vec::new() };
    let head = tree.head(verb);
    let label = tree.label(verb);
    if let Some(own) = tree.child(verb, &SUBJECTS) {
        let is_relative =
            matches!(tree.tag(own), "WDT" | "WP") || is_in("that which who", tree.word(own));
        return match (is_relative, label) {
            (false, _) => of_noun(tree, own, left),
            (true, "relcl") => before(of_noun(tree, head, left), verb),
            // `…, which uses A and that needs B`.
            (true, "conj") if tree.label(head) == "relcl" => of_noun(tree, tree.head(head), left),
            (true, _) => Vec::new(),
        };
    }
    // No subject of its own: climb to the verb or noun that shares one.
    let is_participle = matches!(tree.tag(verb), "VBG" | "VBN" | "VBD");
    match label {
        "conj" if tree.is_verb(head) => weaker(of_verb(tree, head, left), SHARED),
        // After `the driver of X, built on Y`, it is open which of the two nouns is meant.
        "acl" if is_participle && tree.label(head) != "pobj" => {
            before(of_noun(tree, head, left), verb)
        }
        // `X, built on Y, runs`; `X fails using Y` says nothing of the two.
        "advcl" if tree.tag(verb) == "VBN" && tree.child(verb, &["mark"]).is_none() => {
            weaker(of_verb(tree, head, left), SHARED)
        }
        "xcomp" if tree.is_verb(head) => of_verb(tree, head, left),
        "pcomp" if tree.is_verb(tree.head(head)) => of_verb(tree, tree.head(head), left),
        _ => Vec::new(),
    }
}

/// Keeps the subjects before a clause: `A, which uses B, and C` says nothing about C.
fn before(mut subjects: Vec<Subject>, verb: usize) -> Vec<Subject> {
    subjects.retain(|subject| subject.token < verb);
    subjects
}

fn of_noun(tree: &Tree<'_>, noun: usize, left: usize) -> Vec<Subject> {
    let Some(left) = left.checked_sub(1) else { return Vec::new() };
    let has = |words: &str| tree.children(noun).iter().any(|child| is_in(words, tree.word(*child)));
    // `no service uses Kafka` says nothing about a service.
    if tree.child(noun, &["det"]).is_some_and(|det| is_in("no", tree.word(det))) {
        return Vec::new();
    }
    let mut found = Vec::new();
    if let Some(mention) = tree.named(noun) {
        found.push(Subject { mention, token: noun, factor: 1.0, is_denied: has("neither") });
    } else {
        found = of_description(tree, noun, left);
    }
    let is_alternative = has("or");
    for next in tree.children(noun).iter().copied().filter(|child| tree.label(*child) == "conj") {
        if tree.is_noun(next) && found.len() < MAX_SUBJECTS {
            let mut more = of_conjunct(tree, next, left);
            if has("neither") {
                more.iter_mut().for_each(|subject| subject.is_denied = true);
            }
            found.extend(more);
        }
    }
    // Of `A or B uses C`, nothing is stated of either.
    if is_alternative { Vec::new() } else { found }
}

/// Returns a further noun of a list and those after it, if it names something itself.
fn of_conjunct(tree: &Tree<'_>, noun: usize, left: usize) -> Vec<Subject> {
    let is_row = tree.named(noun).is_some() || tree.child(noun, &["conj"]).is_some();
    if is_row && tree.label(noun) == "conj" { of_noun(tree, noun, left) } else { Vec::new() }
}

/// Returns what a common noun describes: `X is a tool that …`, `X, a tool that …`, `the tool, X, …`.
fn of_description(tree: &Tree<'_>, noun: usize, left: usize) -> Vec<Subject> {
    let head = tree.head(noun);
    match tree.label(noun) {
        "attr" => match truth_of(tree, head) {
            Truth::Stated(factor) => weaker(of_verb(tree, head, left), SHARED * factor),
            Truth::Denied(_) | Truth::Open => Vec::new(),
        },
        "appos" => named(tree, head),
        _ => tree.child(noun, &["appos"]).map(|it| named(tree, it)).unwrap_or_default(),
    }
}

fn named(tree: &Tree<'_>, noun: usize) -> Vec<Subject> {
    let mention = tree.named(noun);
    let subject = |mention| Subject { mention, token: noun, factor: SHARED, is_denied: false };
    mention.map(subject).into_iter().collect()
}

fn weaker(mut subjects: Vec<Subject>, factor: f32) -> Vec<Subject> {
    subjects.iter_mut().for_each(|subject| subject.factor *= factor);
    subjects
}
