//! Relate: finds what a document says about how its names hang together.
//!
//! In: a `LinkedDoc`. Out: a `RelatedDoc` with one `Evidence` for each statement, in order of place.
//! Sources, each a file: sentences (`sentence.rs`), sections of lists (`section.rs`), `Key: value` lines
//! and tables (`fields.rs`), ordered steps (`steps.rs`), definitions (`define.rs`), titles (`title.rs`),
//! links (`links.rs`).
//! Invariants: of the document alone; every statement names its words and its pattern; no two have the same
//! subject, predicate, object and span; linear in text and mentions, but for sorting.
//! Not here: which entities the mentions denote, and how statements add up to relations (the store).

mod cues;
mod define;
mod fields;
mod gap;
mod links;
mod page;
mod section;
mod sentence;
mod steps;
mod title;

use crate::belt::{DocFault, Stage};
use crate::pipeline::parcel::{Evidence, LinkedDoc, Party, RelatedDoc};
use crate::terms::{Confidence, Norm, Span};
use page::Page;

/// The stage. It keeps nothing between documents.
#[derive(Debug, Default)]
pub struct RelateStage;

impl Stage for RelateStage {
    const NAME: &'static str = "relate";
    type In = LinkedDoc;
    type Out = RelatedDoc;

    fn run(&mut self, input: LinkedDoc) -> Result<RelatedDoc, DocFault> {
        let evidence = evidence_of(&input);
        Ok(RelatedDoc { doc: input, evidence })
    }
}

/// Everything a document states, in order of place.
fn evidence_of(doc: &LinkedDoc) -> Vec<Evidence> {
    let page = Page::new(doc);
    let mut statements = Statements::default();
    section::relate(&page, &mut statements);
    fields::relate(&page, &mut statements);
    sentence::relate(&page, &mut statements);
    define::relate(&page, &mut statements);
    steps::relate(&page, &mut statements);
    title::relate(&page, &mut statements);
    links::relate(&page, &mut statements);
    statements.finish()
}

/// A statement to be added: who, what, whom, by which pattern, how sure.
struct Statement {
    subject: Party,
    predicate: &'static str,
    object: Party,
    pattern: &'static str,
    confidence: f32,
}

/// What has been found so far.
#[derive(Default)]
struct Statements {
    all: Vec<Evidence>,
}

impl Statements {
    /// Adds a statement made by the words at `span`. Nothing relates to itself.
    fn add(&mut self, span: Span<Norm>, statement: Statement) {
        let Statement { subject, predicate, object, pattern, confidence } = statement;
        if subject != object {
            let confidence = Confidence::new(confidence);
            self.all.push(Evidence { subject, predicate, object, span, pattern, confidence });
        }
    }

    /// The objects that some statement already gives the document under this predicate, sorted.
    fn of_document(&self, predicate: &str) -> Vec<Party> {
        let is_it = |e: &&Evidence| e.subject == Party::Document && e.predicate == predicate;
        let mut objects: Vec<Party> = self.all.iter().filter(is_it).map(|e| e.object).collect();
        objects.sort_unstable();
        objects
    }

    /// The statements in order of place, the surest of equal ones kept.
    fn finish(mut self) -> Vec<Evidence> {
        self.all.sort_by(|a, b| {
            let key = |e: &Evidence| (e.span, e.subject, e.object, e.predicate);
            key(a)
                .cmp(&key(b))
                .then_with(|| b.confidence.get().total_cmp(&a.confidence.get()))
                .then_with(|| a.pattern.cmp(b.pattern))
        });
        self.all.dedup_by(|later, first| {
            let key = |e: &Evidence| (e.span, e.subject, e.object, e.predicate);
            key(later) == key(first)
        });
        self.all
    }
}

#[cfg(test)]
mod tests;
