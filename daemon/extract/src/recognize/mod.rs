//! Recognize: finds the places in a document that name something.
//!
//! In: a document. Out: [`Recognized`]: sentences, the names that the document states for itself,
//! mentions in order of place, and candidate terms for the gazetteer.
//! Invariants: a function of the document and the gazetteer alone. Mentions are sorted and never
//! overlap; a name has a letter or digit and at most `MAX_SURFACE_BYTES` bytes, a document at most
//! `MAX_MENTIONS` mentions. If recognizers disagree, the most trusted wins, then the longest mention, then the
//! earliest. If the user states a document's names (`given.rs`), they replace the recognized ones.
//! Time is linear in the text, except for sorting the mentions.

pub mod gazetteer;
pub mod given;
pub mod known;
pub mod mine;
pub mod own;
pub mod pattern;
pub mod stated;
pub mod statistical;
pub mod tagger;
mod titled;

mod border;
mod context;
mod coreference;
mod imperative;
pub mod lexicon;
mod naming;
mod overlap;
pub(crate) mod people;
mod place;
mod runs;
mod token;
pub mod typing;
pub mod words;

use std::sync::Arc;

use arc_swap::ArcSwap;
use notes::parse::RelationKind;

pub use gazetteer::{Gazetteer, GazetteerTerm};
pub use mine::{TermCount, select};

use crate::chunk::sentences_of;
pub use context::defined_as;
use known::KnownRecognizer;
#[cfg(test)]
use model::document::testing;
use model::document::{Document, GivenName, Mention, Reading, Recognized, RecognizerKind};
use model::terms::{Norm, Span};
use model::{DocFault, PartStage};
pub(crate) use naming::{INITIALS, are_defined, are_initials};
use own::OwnPatterns;
use pattern::PatternRecognizer;
pub use pattern::reads_about;
use stated::StatedRecognizer;
pub use stated::shown_heading;
use statistical::StatisticalRecognizer;
use tagger::TaggerRecognizer;

/// One way of finding mentions.
pub trait Recognizer: Send + Sync {
    /// The trust it has when recognizers disagree.
    fn kind(&self) -> RecognizerKind;

    /// Adds the mentions it finds, in any order; [`Mention::place`] is filled later. A step may
    /// overlap other mentions.
    fn recognize(&self, doc: &Document, sentences: &[Span<Norm>], out: &mut Vec<Mention>);
}

/// The stage that finds mentions.
pub struct RecognizeStage {
    max_words: usize,
    gazetteer: Arc<ArcSwap<Gazetteer>>,
    others: Vec<Box<dyn Recognizer>>,
    own: OwnPatterns,
    model: Option<Arc<TaggerRecognizer>>,
    judges: bool,
}

impl RecognizeStage {
    /// Makes a stage that loads the gazetteer for each document, so a swap takes effect with the
    /// next document.
    pub fn new(settings: &config::settings::Recognize, gazetteer: Arc<ArcSwap<Gazetteer>>) -> Self {
        let max_words = settings.gazetteer.max_words;
        let others: Vec<Box<dyn Recognizer>> = vec![
            Box::new(StatedRecognizer),
            Box::new(PatternRecognizer),
            Box::new(KnownRecognizer),
            Box::new(StatisticalRecognizer),
        ];
        let own = OwnPatterns::of(settings);
        RecognizeStage { max_words, gazetteer, others, own, model: None, judges: true }
    }

    /// Skips `typing`, so that mentions are as its training needs them.
    pub fn without_judgement(mut self) -> Self {
        self.judges = false;
        self
    }

    /// Sets the model that the user chose, if any.
    pub fn with_model(mut self, model: Option<Arc<TaggerRecognizer>>) -> Self {
        self.model = model;
        self
    }
}

impl PartStage for RecognizeStage {
    const NAME: &'static str = "recognize";
    type Part = Recognized;

    fn part_of(&mut self, doc: &Document) -> Result<Recognized, DocFault> {
        let gazetteer = self.gazetteer.load_full();
        let sentences = sentences_of(doc);
        let mut found = Vec::new();
        // Before anything is mined, a document is read only for its terms; it comes back for its
        // mentions.
        let is_mined = gazetteer.version() != Gazetteer::UNMINED;
        if is_mined {
            gazetteer.recognize(doc, &sentences, &mut found);
            for recognizer in &self.others {
                recognizer.recognize(doc, &sentences, &mut found);
            }
            if let Some(model) = &self.model {
                model.overrule(doc, &sentences, &mut found);
            }
        }
        let own = if is_mined { self.own.find(doc) } else { Vec::new() };
        own::drop_parts(&own, &mut found);
        found.extend(own.iter().cloned());
        let mut mentions = match is_mined.then_some(doc.given.as_ref()).flatten() {
            Some(given) => given_mentions(doc, given, found),
            // A model that the user chose knows better than our classifier.
            None => mentions_of(doc, &sentences, found, self.judges && self.model.is_none()),
        };
        own::keep_types(&own, &mut mentions);
        // A name without a letter or digit cannot be looked up.
        let is_name =
            |name: &str| name.chars().any(char::is_alphanumeric) && !words::is_token(name);
        mentions.retain(|mention| is_name(&mention.name));
        let anaphors = match mentions.is_empty() {
            true => Vec::new(),
            false => coreference::find(doc, &sentences, &mentions),
        };
        let stated = stated::names_of(doc);
        let terms = match doc.head.reading {
            Reading::Whole => mine::terms_of(doc, &sentences, self.max_words),
            Reading::Stored(_) => Vec::new(),
        };
        let gazetteer_version = gazetteer.version();
        Ok(Recognized { sentences, stated, mentions, anaphors, terms, gazetteer_version })
    }

    fn place(doc: &mut Document) -> &mut Recognized {
        &mut doc.found
    }
}

/// Turns what the recognizers found into mentions.
fn mentions_of(
    doc: &Document,
    sentences: &[Span<Norm>],
    mut found: Vec<Mention>,
    judges: bool,
) -> Vec<Mention> {
    drop_types(doc, &mut found);
    naming::drop_tags(doc, &mut found);
    titled::drop_unproved(doc, &mut found);
    let mut mentions = overlap::resolve(&doc.text, found);
    imperative::trim(doc, &mut mentions);
    place::fill(doc, &mut mentions);
    context::correct(doc, &mut mentions);
    if judges {
        typing::judge(doc, &mut mentions);
    }
    people::settle(doc, &mut mentions);
    coreference::lengthen(doc, &mut mentions);
    naming::fill(doc, sentences, &mut mentions);
    mentions
}

/// Drops mentions that are only the type of a relation: `depends_on` in `- depends_on [[Vault]]` is not an identifier.
fn drop_types(doc: &Document, found: &mut Vec<Mention>) {
    let Some(stated) = &doc.note else { return };
    let typed = stated.note.relations.iter().filter(|it| it.kind == RelationKind::Typed);
    let mut types: Vec<(usize, usize)> = typed
        .filter_map(|it| {
            let link = stated.note.links.get(it.link)?;
            Some((it.place.span.start, link.place.span.start))
        })
        .collect();
    // A relation with several targets occurs once for each; only the text before the first target
    // is its type.
    types.sort_unstable();
    types.dedup_by_key(|(start, _)| *start);
    if types.is_empty() {
        return;
    }
    found.retain(|mention| {
        let place = doc.map.to_raw(mention.span);
        let after = types.partition_point(|(start, _)| *start <= place.start());
        let within = after.checked_sub(1).and_then(|at| types.get(at));
        within.is_none_or(|(_, end)| place.end() > *end)
    });
}

/// Returns the mentions that the user states: their types are final, and no place is added.
fn given_mentions(doc: &Document, given: &[GivenName], found: Vec<Mention>) -> Vec<Mention> {
    let mut mentions = given::replace(&doc.text, given, found);
    place::fill(doc, &mut mentions);
    coreference::lengthen(doc, &mut mentions);
    mentions.retain(|mention| mention.recognizer != RecognizerKind::Coreference);
    for mention in &mut mentions {
        // Another name may decide who is meant, but not the type.
        let name = given.binary_search_by_key(&mention.span, |name| name.span);
        if let Some(name) = name.ok().and_then(|at| given.get(at)) {
            mention.entity_type = name.entity_type;
        }
    }
    mentions
}

#[cfg(test)]
mod tests;
