//! Object: the phrase that leads from a name up to the verb, participle or noun that says something about it.
//!
//! In: a token that names something. Out: for each such phrase, the word at its end and the stems on the way, in the
//! form of frames.
//! Invariants: a name joined to another by `and` takes the other's path; a name that only modifies another noun has
//! none, unless that noun is its class (`the Kafka cluster`); at most `MAX_STEPS` steps.

use super::frames::Voice;
use super::tree::Tree;
use super::words::{is_in, is_participle, stem_of};

/// Most steps from a name to its verb.
const MAX_STEPS: usize = 12;
/// Factors: a further name in a list, a name in apposition, an example.
const SHARED: f32 = 0.97;
const APPOSED: f32 = 0.9;
const EXAMPLE: f32 = 0.9;

/// A path from a name to the word that says something about it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Phrase {
    /// The verb, participle, noun or adjective at its end.
    pub(super) anchor: usize,
    /// Stems from there to the name, separated by blanks.
    pub(super) stems: String,
    pub(super) voice: Voice,
    pub(super) factor: f32,
    /// `uses A, not B`; `uses no B`.
    pub(super) is_denied: bool,
}

/// The state of a walk up the tree.
struct Walk<'t, 'p> {
    tree: &'t Tree<'p>,
    at: usize,
    /// Stems passed so far, from the name upward.
    stems: Vec<String>,
    factor: f32,
    is_denied: bool,
}

/// Returns the phrases that lead up from a name to a word that may state something, the shortest first.
pub(super) fn phrases_of(tree: &Tree<'_>, name: usize) -> Vec<Phrase> {
    let mut walk = Walk { tree, at: name, stems: Vec::new(), factor: 1.0, is_denied: false };
    let mut found = Vec::new();
    walk.is_denied = walk.has_no();
    for _ in 0..MAX_STEPS {
        match walk.step(&mut found) {
            Some(next) => walk.at = next,
            None => break,
        }
    }
    found
}

impl Walk<'_, '_> {
    /// Goes one step up and adds the phrases that may end here; returns the next token, or `None` at the end.
    fn step(&mut self, found: &mut Vec<Phrase>) -> Option<usize> {
        let (tree, at) = (self.tree, self.at);
        let head = tree.head(at);
        if head == at {
            return None;
        }
        match tree.label(at) {
            // Conjuncts, appositions and modifiers are part of the name's own phrase, so only before a preposition.
            "conj" if self.stems.is_empty() => self.joined(head),
            "appos" if self.stems.is_empty() && tree.is_noun(head) => {
                self.factor *= APPOSED;
                Some(head)
            }
            "compound" | "nmod" | "amod" | "poss" if self.stems.is_empty() => {
                let is_class = tree.mention(at).is_some() && tree.named(head) == tree.mention(at);
                is_class.then_some(head)
            }
            "dobj" | "oprd" | "dative" | "attr" if tree.is_verb(head) => {
                self.end_at_verb(head, found);
                None
            }
            "pobj" => self.preposition(head, found),
            _ => None,
        }
    }

    /// `A, B and C`: takes the path of the first one, unless a word between them excludes the others (`A except B`).
    fn joined(&mut self, head: usize) -> Option<usize> {
        let tree = self.tree;
        let between = || (head + 1..self.at).map(|i| tree.word(i));
        if !tree.is_noun(head)
            || between().any(|word| is_in("or than except without excluding instead rather", word))
        {
            return None;
        }
        // `A uses B and C needs D`, where the parser takes C for a second object of `uses`.
        if matches!(tree.tag(self.at + 1), "VBZ" | "VBP" | "MD") {
            return None;
        }
        self.is_denied |= between().any(|word| is_in("not", word));
        self.factor *= SHARED;
        Some(head)
    }

    fn preposition(&mut self, preposition: usize, found: &mut Vec<Phrase>) -> Option<usize> {
        let tree = self.tree;
        let over = tree.head(preposition);
        if over == preposition
            || !matches!(tree.label(preposition), "prep" | "agent" | "dative" | "prt")
        {
            return None;
        }
        if self.stems.is_empty() && tree.is_noun(over) && self.is_example(preposition) {
            self.factor *= EXAMPLE;
            return Some(over);
        }
        self.stems.push(tree.stem(preposition));
        if tree.is_verb(over) && !self.is_nominal(over) {
            self.end_at_verb(over, found);
            return None;
        }
        match tree.tag(over) {
            // `out of`, `because of`: both stems belong to the phrase.
            "IN" | "TO" | "RP" => self.preposition(over, found),
            tag if tag.starts_with("JJ") || tag.starts_with("VB") => {
                self.end(over, Voice::Nominal, found);
                // An adjective may be a participle that was tagged wrongly (`related to`); `relative to` is not one.
                if is_participle(&tree.word(over).to_lowercase()) {
                    self.end(over, Voice::Passive, found);
                }
                None
            }
            tag if tag.starts_with("NN") && tree.mention(over).is_none() => {
                self.end(over, Voice::Nominal, found);
                self.stems.push(tree.stem(over));
                self.is_denied |=
                    tree.child(over, &["det"]).is_some_and(|det| is_in("no", tree.word(det)));
                Some(over)
            }
            _ => None,
        }
    }

    /// True for a participle that the parser labels as an adjective: `is related to`.
    fn is_nominal(&self, word: usize) -> bool {
        matches!(self.tree.label(word), "acomp" | "amod")
    }

    /// `tools such as A`, `tools like A`, `tools, including A`.
    fn is_example(&self, preposition: usize) -> bool {
        let tree = self.tree;
        let word = tree.word(preposition);
        let has_such = preposition.checked_sub(1).is_some_and(|i| is_in("such", tree.word(i)));
        (is_in("as", word) && has_such) || is_in("like including", word)
    }

    fn end_at_verb(&self, verb: usize, found: &mut Vec<Phrase>) {
        self.end(verb, voice_of(self.tree, verb), found);
    }

    fn end(&self, anchor: usize, voice: Voice, found: &mut Vec<Phrase>) {
        let mut stems = vec![self.tree.stem(anchor)];
        if let Some(particle) = self.tree.child(anchor, &["prt"]) {
            stems.push(stem_of(self.tree.word(particle)));
        }
        stems.extend(self.stems.iter().rev().cloned());
        let (factor, is_denied) = (self.factor, self.is_denied);
        found.push(Phrase { anchor, stems: stems.join(" "), voice, factor, is_denied });
    }

    fn has_no(&self) -> bool {
        let det = self.tree.child(self.at, &["det", "neg"]);
        det.is_some_and(|det| is_in("no not neither", self.tree.word(det)))
    }
}

/// Returns the voice of a verb, from its children, its tag and its place.
pub(super) fn voice_of(tree: &Tree<'_>, verb: usize) -> Voice {
    if tree.child(verb, &["nsubjpass", "auxpass", "csubjpass", "agent"]).is_some() {
        return Voice::Passive;
    }
    // Without children that say so, a participle is passive after a noun (`X, owned by Y`) or as a sentence of its
    // own.
    let has_own = tree.child(verb, &["nsubj", "aux"]).is_some();
    if has_own || !matches!(tree.tag(verb), "VBN" | "VBD") {
        return Voice::Active;
    }
    let head = tree.head(verb);
    match tree.label(verb) {
        "acl" | "amod" | "acomp" => Voice::Passive,
        "advcl" | "ROOT" | "dep" if tree.tag(verb) == "VBN" => Voice::Passive,
        "conj" if tree.is_verb(head) && head < verb && tree.tag(verb) == "VBN" => {
            voice_of(tree, head)
        }
        _ => Voice::Active,
    }
}
