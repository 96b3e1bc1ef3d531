//! Truth: whether a clause is stated, denied, or neither, judged by negation, modality, tense, conditions and the
//! clauses around it.
//!
//! In: a verb of a sentence. Out: a [`Truth`].
//! Invariants: what is asked, supposed, wanted, planned, possible, conditional or over is never stated; a denial holds
//! only if its clause is asserted. At most `MAX_CLIMB` clauses up.

use super::tree::Tree;
use super::words::is_in;

/// Whether a clause is stated.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Truth {
    /// Stated; the factor is below 1 for what was so, is reported, or is said in passing.
    Stated(f32),
    /// Denied.
    Denied(f32),
    /// Neither.
    Open,
}

/// Most clauses that are read, from the inside out.
const MAX_CLIMB: usize = 8;

/// Factor for an adverbial clause: `Using Kafka, Alpha …`.
const ADVERBIAL: f32 = 0.85;
/// Factor for what somebody reports: `the docs say that …`.
const REPORTED: f32 = 0.9;
/// Factor for what was once so and may still be.
const PAST: f32 = 0.85;

const REPORTS: &str = "say state note mean show know explain report announce confirm remember recall see mention \
    imply indicate describe guarantee find write add tell claim argue assum";
const CONTINUES: &str =
    "continu keep tend begin start choos decid help serv happen be seem appear need";
const SUPPOSALS: &str = "suppose imagine assume let say consider";
const CONDITIONS: &str = "if unless whether until lest";

/// Returns whether the clause of a verb is stated.
pub(super) fn truth_of(tree: &Tree<'_>, verb: usize) -> Truth {
    climb(tree, verb, MAX_CLIMB)
}

// The clause's own words and those around it are independent; either can make it open.
fn climb(tree: &Tree<'_>, verb: usize, left: usize) -> Truth {
    let Some((is_denied, factor)) = own(tree, verb) else { return Truth::Open };
    let Some(around) = around(tree, verb, left) else { return Truth::Open };
    if is_denied { Truth::Denied(factor * around) } else { Truth::Stated(factor * around) }
}

/// Reads the clause's own words: whether it is denied, and a factor for how sure it is; `None` when it is not stated.
fn own(tree: &Tree<'_>, verb: usize) -> Option<(bool, f32)> {
    let (mut is_denied, mut is_possible, mut has_past) = (false, false, tree.tag(verb) == "VBD");
    for child in tree.children(verb).iter().copied() {
        let word = tree.word(child).to_lowercase();
        let word = word.as_str();
        match tree.label(child) {
            "neg" => is_denied = true,
            "advmod" | "npadvmod" => match word {
                "never" => is_denied = true,
                "longer" | "more" if has_no(tree, child) => is_denied = true,
                "formerly" | "previously" | "once" | "hardly" | "rarely" | "seldom" | "barely"
                | "perhaps" | "possibly" | "maybe" | "potentially" | "probably" | "likely" => {
                    return None;
                }
                _ => {}
            },
            "aux" | "auxpass" if tree.tag(child) == "MD" => is_possible = true,
            "aux" | "auxpass" => has_past |= matches!(word, "was" | "were" | "had"),
            "advcl" if is_condition(tree, child) => return None,
            _ => {}
        }
    }
    // What may, should or will be so is not stated; `cannot` denies.
    (is_denied || !is_possible).then_some((is_denied, if has_past { PAST } else { 1.0 }))
}

fn has_no(tree: &Tree<'_>, adverb: usize) -> bool {
    tree.children(adverb).iter().any(|child| is_in("no not n't any", tree.word(*child)))
}

/// True for a clause that begins with a word such as `if`.
fn is_condition(tree: &Tree<'_>, verb: usize) -> bool {
    let mut children = tree.children(verb).iter();
    children
        .any(|c| matches!(tree.label(*c), "mark" | "advmod") && is_in(CONDITIONS, tree.word(*c)))
}

/// Returns the factor that the surrounding clauses give; `None` when they do not state it.
fn around(tree: &Tree<'_>, verb: usize, left: usize) -> Option<f32> {
    let left = left.checked_sub(1)?;
    if is_condition(tree, verb) {
        return None;
    }
    let head = tree.head(verb);
    let is_bare = |tag: &str| matches!(tag, "VB" | "VBN" | "VBG");
    match tree.label(verb) {
        "ROOT" => (!is_supposal(tree)).then_some(1.0),
        "conj" if tree.is_verb(head) => {
            let has_own = tree.child(verb, &["aux", "auxpass", "nsubj", "nsubjpass"]).is_some();
            // `does not use A or depend on B`: the negation of the first holds for both.
            if is_bare(tree.tag(verb)) && !has_own {
                return stated(climb(tree, head, left));
            }
            around(tree, head, left)
        }
        // A relative clause is asserted whatever the main clause says: `we may drop X, which uses Y`.
        "relcl" => Some(1.0),
        // `a plan to use X` is an intention, `a service using X` a statement.
        "acl" => (tree.tag(verb) != "VB").then_some(1.0),
        "advcl" => (tree.tag(verb) == "VBN").then_some(ADVERBIAL),
        "ccomp" => reported(tree, verb, head, left),
        "parataxis" => Some(ADVERBIAL),
        "xcomp" => {
            let goes_on = is_in(CONTINUES, &tree.stem(head));
            stated(climb(tree, head, left)).filter(|_| goes_on).map(|factor| factor * REPORTED)
        }
        "pcomp" => {
            let is_means = is_in("by", tree.word(head)) && tree.is_verb(tree.head(head));
            let outer = is_means.then(|| stated(climb(tree, tree.head(head), left))).flatten();
            outer.map(|factor| factor * ADVERBIAL)
        }
        _ => None,
    }
}

/// `The docs say that A uses B`; also `A uses B, C uses D`, where the parser takes the first clause for an object of
/// the second verb.
fn reported(tree: &Tree<'_>, verb: usize, head: usize, left: usize) -> Option<f32> {
    if !tree.is_verb(head) {
        return None;
    }
    let is_spliced = verb < head && tree.child(verb, &["mark"]).is_none();
    if !is_spliced && !is_in(REPORTS, &tree.stem(head)) {
        return None;
    }
    stated(climb(tree, head, left)).map(|factor| factor * REPORTED)
}

fn stated(truth: Truth) -> Option<f32> {
    match truth {
        Truth::Stated(factor) => Some(factor),
        Truth::Denied(_) | Truth::Open => None,
    }
}

/// True for a sentence that begins with `Suppose` or `Imagine`, or whose root is a condition.
fn is_supposal(tree: &Tree<'_>) -> bool {
    let first = (0..tree.len()).find(|i| tree.label(*i) != "punct" && tree.tag(*i) != "_SP");
    first.is_some_and(|first| {
        let is_imperative = tree.label(first) == "ROOT" || tree.label(first) == "ccomp";
        is_in(CONDITIONS, tree.word(first)) && tree.label(first) == "ROOT"
            || (is_imperative && is_in(SUPPOSALS, tree.word(first)))
    })
}
