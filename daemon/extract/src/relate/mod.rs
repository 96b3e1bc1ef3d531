//! Relate: finds the relations that a document states.
//!
//! In: a document with its names. Out: one `Evidence` for each statement, in order of place. Sources, each a file:
//! words between names (`sentence.rs`), the grammar of sentences (`depend/`, in the deep pass), sections of lists
//! (`section.rs`), `Key: value` lines and tables (`fields.rs`), ordered steps (`steps.rs`), definitions
//! (`define.rs`), kinds (`kinds.rs`), explained items (`items.rs`), titles (`title.rs`), links (`links.rs`). The words
//! for each relation are data: `vocabulary.rs`.
//! Invariants: a function of the document alone; every statement holds its words and its pattern; no two of the same
//! kind of source have the same subject, predicate, object and span; a statement that something is *not* so has a
//! predicate that begins `not ` and is never a relation; linear in text and mentions, except for sorting.

mod cues;
mod define;
mod depend;
mod fields;
mod gap;
mod items;
mod kinds;
mod links;
mod page;
mod section;
mod sentence;
mod steps;
mod title;
mod vocabulary;

use model::{DocFault, PartStage};
use std::sync::Arc;

use crate::recognize::words::is_ordinary;
pub use define::DEFINITION;
use model::document::{Document, Evidence, Party, Pass};
use model::terms::{Confidence, Norm, Span};
use page::Page;
pub use vocabulary::{DENIED, Vocabulary, VocabularyError};

/// The relate stage. It keeps no state between documents.
#[derive(Debug)]
pub struct RelateStage {
    vocabulary: Arc<Vocabulary>,
}

impl RelateStage {
    /// Makes a stage that finds the relations of this vocabulary.
    pub fn new(vocabulary: Arc<Vocabulary>) -> Self {
        RelateStage { vocabulary }
    }
}

impl Default for RelateStage {
    fn default() -> Self {
        RelateStage::new(Vocabulary::builtin())
    }
}

impl PartStage for RelateStage {
    const NAME: &'static str = "relate";
    type Part = Vec<Evidence>;

    fn part_of(&mut self, doc: &Document) -> Result<Vec<Evidence>, DocFault> {
        Ok(evidence_of(doc, &self.vocabulary))
    }

    fn place(doc: &mut Document) -> &mut Vec<Evidence> {
        &mut doc.evidence
    }
}

/// Relations between documents. For others, it is the words of a link to a path that name the party, not the document.
const OF_DOCUMENTS: [&str; 3] = ["links_to", "cites", "refers_to"];

/// Relations of the thing that a page is about, not of the page.
const OF_THINGS: [&str; 5] = ["uses", "depends_on", "part_of", "owned_by", "located_in"];

/// Lowest confidence of a statement that words of a sentence make: what is less likely than not is not stated.
const LEAST: f32 = 0.55;

/// Returns everything a document states, in order of place.
fn evidence_of(doc: &Document, vocabulary: &Vocabulary) -> Vec<Evidence> {
    if doc.found.mentions.is_empty() && doc.links.is_empty() {
        // A statement needs a second party besides the document.
        return Vec::new();
    }
    let stand_ins = page::stand_ins(doc);
    let page = Page::new(doc, &stand_ins, vocabulary);
    let mut statements = Statements::default();
    // `depend` judges what `sentence` found, and `links` skips what `section` cites, so they come later.
    section::relate(&page, &mut statements);
    fields::relate(&page, &mut statements);
    sentence::relate(&page, &mut statements);
    if doc.head.pass == Pass::Deep {
        depend::relate(&page, &mut statements);
    }
    define::relate(&page, &mut statements);
    kinds::relate(&page, &mut statements);
    items::relate(&page, &mut statements);
    steps::relate(&page, &mut statements);
    title::relate(&page, &mut statements);
    links::relate(&page, &mut statements);
    statements.finish(&page)
}

/// A statement to be added: subject, predicate, object, pattern and confidence.
struct Statement {
    subject: Party,
    predicate: &'static str,
    object: Party,
    pattern: &'static str,
    confidence: f32,
}

/// The statements found so far.
#[derive(Default)]
struct Statements {
    all: Vec<Evidence>,
}

impl Statements {
    /// Adds a statement made by the words at `span`, unless it relates something to itself.
    fn add(&mut self, span: Span<Norm>, statement: Statement) {
        let Statement { subject, predicate, object, pattern, confidence } = statement;
        if subject != object {
            let confidence = Confidence::new(confidence);
            let is_referring = false;
            let evidence =
                Evidence { subject, predicate, object, span, pattern, confidence, is_referring };
            self.all.push(evidence);
        }
    }

    /// Returns the objects of the document's statements with this predicate, sorted.
    fn of_document(&self, predicate: &str) -> Vec<Party> {
        let is_it = |e: &&Evidence| e.subject == Party::Document && e.predicate == predicate;
        let mut objects: Vec<Party> = self.all.iter().filter(is_it).map(|e| e.object).collect();
        objects.sort_unstable();
        objects
    }

    /// Returns the statements whose parties have allowed types, in order of place. Of equal ones from sources of one
    /// kind, keeps the one with the highest confidence.
    fn finish(mut self, page: &Page<'_>) -> Vec<Evidence> {
        let type_of = |party| match party {
            Party::Mention(idx) => page.mention(idx).map(|m| m.entity_type),
            Party::Link(_) => Some(model::terms::EntityType::Document),
            Party::Document => None,
        };
        // Replace pronouns first: the checks below are about what they stand for.
        for e in &mut self.all {
            let (subject, object) = (page.settled(e.subject), page.settled(e.object));
            e.is_referring |= (subject.0, object.0) != (e.subject, e.object);
            (e.subject, e.object) = (subject.0, object.0);
            e.confidence = Confidence::new(e.confidence.get() * subject.1 * object.1);
        }
        // A pronoun may have turned out to be the other party.
        self.all.retain(|e| e.subject != e.object);
        self.all.retain(|e| !is_of_sentence(e) || is_between_names(page, e));
        // `Components` under the title `Overview` are not parts of an overview.
        let is_nameless = is_ordinary(&page.doc.title);
        self.all.retain(|e| {
            let is_of_page = e.subject == Party::Document || e.object == Party::Document;
            let is_of_thing = OF_THINGS.contains(&e.predicate) && e.pattern != links::TYPED;
            !(is_nameless && is_of_page && is_of_thing)
        });
        self.all.retain(|e| {
            let name = e.predicate.strip_prefix(DENIED).unwrap_or(e.predicate);
            e.pattern == links::TYPED
                || page.vocabulary.allows(name, e.pattern, type_of(e.subject), type_of(e.object))
        });
        // The highest confidence comes first within each key, so `dedup_by` below keeps it; the pattern breaks ties.
        self.all.sort_by(|a, b| {
            let key = |e: &Evidence| (e.span, e.subject, e.object, e.predicate, is_parsed(e));
            key(a)
                .cmp(&key(b))
                .then_with(|| b.confidence.get().total_cmp(&a.confidence.get()))
                .then_with(|| a.pattern.cmp(b.pattern))
        });
        self.all.dedup_by(|later, first| {
            let key = |e: &Evidence| (e.span, e.subject, e.object, e.predicate, is_parsed(e));
            key(later) == key(first)
        });
        self.all
    }
}

/// True for grammar, which is a source of its own: its statement does not replace one that templates made there.
fn is_parsed(evidence: &Evidence) -> bool {
    evidence.pattern.starts_with("depend:")
}

/// True for a statement that words of a sentence make about two things; what a document defines is one thing.
fn is_of_sentence(evidence: &Evidence) -> bool {
    let is_worded =
        ["sentence:", "depend:", "kind:"].iter().any(|it| evidence.pattern.starts_with(it));
    is_worded && evidence.predicate != "same_as" && evidence.subject != Party::Document
}

/// True for a likely statement between two names; a kind may be a common noun of several words: `employee` says little.
fn is_between_names(page: &Page<'_>, evidence: &Evidence) -> bool {
    let is_kind = |party| {
        evidence.predicate == "is_a"
            && matches!(party, Party::Mention(idx) if page.surface(idx).contains([' ', '-']))
    };
    let is_name = |party| {
        matches!(party, Party::Document)
            || matches!(party, Party::Mention(idx) if page.is_name(idx))
    };
    evidence.confidence.get() >= LEAST
        && is_name(evidence.subject)
        && (is_kind(evidence.object) || is_name(evidence.object))
}

#[cfg(test)]
mod tests;
