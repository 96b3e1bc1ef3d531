//! Depend: relations that the grammar of a sentence states: `X, a tool built on Y, does not use Z`.
//!
//! In: the sentences of a document that hold two things. Out: statements; denied ones as `not …`.
//! Invariants: only those whose words could state something, or from which templates made statements, are parsed, all
//! in one call; subject and object are names (or nouns of their class) connected by the words of a frame; the evidence
//! reaches from the first of these words to the last; questions, conditions, wishes and suppositions state nothing.
//! Linear in sentences; a sentence costs its tokens and mentions.

mod frames;
mod object;
mod refute;
mod subject;
mod tree;
mod truth;
mod words;

use std::ops::Range;

use super::page::Page;
use super::{Statement, Statements};
pub(super) use frames::Frames;
use frames::{Frame, Voice};
use language::{Parse, Pipeline, Token};
use model::document::Party;
use model::terms::{Norm, Span};
use object::{Phrase, phrases_of};
use refute::Refuted;
use subject::{Subject, named_by, subjects_of};
use tree::Tree;
use truth::{Truth, truth_of};
pub(super) use words::is_class_noun;

/// Longest sentence that is parsed, in bytes; longer ones are usually lists and dumps.
pub(super) const MAX_SENTENCE_BYTES: usize = 1_500;
/// Separates the sentences in the text that is parsed; never mistaken for a space inside a sentence.
const BORDER: &str = "\n\n";

/// A sentence, with its place in the text that is parsed.
struct Line {
    /// First byte in that text.
    start: usize,
    sentence: Span<Norm>,
    /// The things named in it.
    things: Vec<u32>,
}

/// Adds the statements that the grammar of the sentences makes.
pub(super) fn relate(page: &Page<'_>, out: &mut Statements) {
    // Before anything is added: only statements of the templates are judged.
    let mut refuted = Refuted::of(out);
    let (mut text, mut lines) = (String::new(), Vec::new());
    page.for_each_sentence(|sentence, things, _| {
        let is_parsed = sentence.len() <= MAX_SENTENCE_BYTES
            && (may_state(page, sentence, things) || refuted.judges(sentence));
        if is_parsed {
            lines.push(Line { start: text.len(), sentence, things: things.to_vec() });
            text.push_str(sentence.of(page.text));
            text.push_str(BORDER);
        }
    });
    if lines.is_empty() {
        return;
    }
    let pipeline = Pipeline::shared();
    let tokens = pipeline.tokens(&text);
    let parse = pipeline.parse(&tokens);
    for line in &lines {
        read_line(page, (&text, &tokens, &parse), line, out, &mut refuted);
    }
    refuted.apply(out);
}

/// True if a sentence names two different things and has the words of a frame: otherwise its grammar states nothing,
/// and parsing it, the costliest step of all, would be in vain.
fn may_state(page: &Page<'_>, sentence: Span<Norm>, things: &[u32]) -> bool {
    let mut names = things.iter().filter(|idx| page.is_name(**idx)).map(|idx| page.name_of(*idx));
    let differ = names.next().is_some_and(|first| names.any(|name| name != first));
    differ && page.vocabulary.frames.may_occur_in(sentence.of(page.text))
}

fn read_line(
    page: &Page<'_>,
    parsed: (&str, &[Token], &Parse),
    line: &Line,
    out: &mut Statements,
    refuted: &mut Refuted,
) {
    let (text, tokens, parse) = parsed;
    let end = line.start + line.sentence.len();
    let from = tokens.partition_point(|token| (token.start as usize) < line.start);
    let to = tokens.partition_point(|token| (token.end as usize) <= end);
    let here = |span: Span<Norm>| {
        let shift = |at: usize| at - line.sentence.start() + line.start;
        shift(span.start())..shift(span.end())
    };
    let mentions: Vec<(Range<usize>, u32)> =
        line.things.iter().filter_map(|idx| Some((here(page.mention(*idx)?.span), *idx))).collect();
    let Some(tree) = Tree::new(text, tokens, parse, from..to, &mentions) else { return };
    let reader = Reader { page, tree: &tree, line };
    let n_before = out.all.len();
    for i in (0..tree.len()).filter(|i| tree.mention(*i).is_some()) {
        reader.name(i, out);
    }
    refuted.judge(&reader, &out.all, n_before);
}

/// One sentence with its parse.
struct Reader<'r> {
    page: &'r Page<'r>,
    tree: &'r Tree<'r>,
    line: &'r Line,
}

impl Reader<'_> {
    /// Adds what the shortest phrase of the vocabulary that ends at token `i`, the head of a name, states.
    fn name(&self, i: usize, out: &mut Statements) {
        for phrase in &phrases_of(self.tree, i) {
            if let Some(frame) = self.page.vocabulary.frames.get(phrase.voice, &phrase.stems) {
                let (subjects, truth) = self.clause_of(phrase);
                for subject in subjects {
                    self.state(subject, i, frame, phrase, truth, out);
                }
                return;
            }
        }
    }

    /// Returns the subjects of the word at a phrase's end, and whether its clause is stated.
    fn clause_of(&self, phrase: &Phrase) -> (Vec<Subject>, Truth) {
        let (tree, anchor) = (self.tree, phrase.anchor);
        let is_clause =
            tree.is_verb(anchor) && !matches!(tree.label(anchor), "acomp" | "amod" | "attr");
        // A participle that only describes a noun (`the used library`) has no clause; its noun is handled below.
        if is_clause {
            return (subjects_of(tree, anchor), truth_of(tree, anchor));
        }
        let head = tree.head(anchor);
        match tree.label(anchor) {
            "attr" | "acomp" | "oprd" => (subjects_of(tree, head), truth_of(tree, head)),
            // After `the founder of X, a part of Y`, it is open which of the two nouns is meant.
            "appos" if tree.label(head) == "pobj" => (Vec::new(), Truth::Open),
            "appos" | "amod" => (named_by(tree, head), Truth::Stated(1.0)),
            // `a part of X and of Y`, `an alternative to X and part of Y`.
            "conj" if matches!(tree.label(head), "attr" | "acomp") => {
                let verb = tree.head(head);
                (subjects_of(tree, verb), truth_of(tree, verb))
            }
            // `The owner of X is Y`.
            "nsubj" if tree.stem(head) == "be" => {
                let names = tree.child(head, &["attr"]).map(|it| named_by(tree, it));
                (names.unwrap_or_default(), truth_of(tree, head))
            }
            _ => (Vec::new(), Truth::Open),
        }
    }

    fn state(
        &self,
        subject: Subject,
        object: usize,
        frame: &Frame,
        phrase: &Phrase,
        truth: Truth,
        out: &mut Statements,
    ) {
        let is_other = |at| self.tree.is_narrowed(at) || self.tree.is_one_of_many(at);
        let is_stated = !is_other(subject.token) && (phrase.is_denied || !is_other(object));
        let Some(mention) = self.tree.mention(object).filter(|_| is_stated) else { return };
        let (clause_denied, factor) = match truth {
            Truth::Open => return,
            Truth::Stated(factor) => (false, factor),
            Truth::Denied(factor) => (true, factor),
        };
        let is_denied = clause_denied || phrase.is_denied || subject.is_denied;
        let is_same = self.page.name_of(subject.mention) == self.page.name_of(mention);
        let predicate = self.page.vocabulary.predicate(frame.predicate);
        let (Some(predicate), false) = (predicate, is_same) else { return };
        // `On Linux, Podman runs …` says where, not what of.
        let is_fronted = object < subject.token && phrase.voice == Voice::Active;
        if is_fronted {
            return;
        }
        // A semicolon or a colon separates two statements, even where the parser connects them.
        let between = subject.token.min(object) + 1..subject.token.max(object);
        let is_parted = between.into_iter().any(|i| matches!(self.tree.word(i), ";" | ":"));
        let Some(span) = self.span(subject, object, phrase).filter(|_| !is_parted) else {
            return;
        };
        let (from, to) = (Party::Mention(subject.mention), Party::Mention(mention));
        let (from, to) = if frame.is_backward { (to, from) } else { (from, to) };
        let confidence = frame.weight * factor * phrase.factor * subject.factor;
        let statement = Statement {
            subject: from,
            predicate: if is_denied { predicate.denied } else { predicate.name },
            object: to,
            pattern: frame.pattern,
            confidence,
        };
        out.add(span, statement);
    }

    /// Returns the words that make the statement, in the document: from the first of subject, verb and object to the
    /// last.
    fn span(&self, subject: Subject, object: usize, phrase: &Phrase) -> Option<Span<Norm>> {
        let of_mention = |token: usize| Some(self.page.mention(self.tree.named(token)?)?.span);
        let of_token = |token: usize| {
            let span = self.tree.span(token);
            let shift = |at: usize| {
                at.checked_sub(self.line.start).map(|at| at + self.line.sentence.start())
            };
            Some(Span::new(shift(span.start)?, shift(span.end)?))
        };
        let spans = [
            of_mention(subject.token)?,
            of_token(subject.token)?,
            of_mention(object)?,
            of_token(phrase.anchor)?,
        ];
        let start = spans.iter().map(|span| span.start()).min()?;
        let end = spans.iter().map(|span| span.end()).max()?;
        Some(Span::new(start, end))
    }
}

#[cfg(test)]
mod tests;
