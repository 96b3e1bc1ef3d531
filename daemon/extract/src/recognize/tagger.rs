//! Tagger: names that the user's token-classification model finds (`recognize.model`).
//!
//! In: the folder of an ONNX model; a document in the deep pass, and its sentences. Out: its
//! mentions.
//! Invariants: a function of the document and the folder alone. A model that cannot be used is an
//! error at the start; a model that fails on a text costs that text's statistical names, not the
//! document. Memory does not grow with the document.

pub mod trial;

use std::fs::File;
use std::io::{self, Read};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use onnx::{ModelError, Tagged, Tagger};
use xxhash_rust::xxh3::Xxh3;

use super::Recognizer;
use model::document::{Document, Mention, Pass, PlaceFeatures, RecognizerKind};
use model::terms::{Confidence, EntityType, Norm, Span};

/// Longest text given to the model at once, in bytes: its tokens need a hundred times that for a
/// moment. A longer text without a sentence end is data.
const MAX_RUN_BYTES: usize = 20_000;

/// A token-classification model, whatever computes it.
pub trait TextTagger: Send + Sync {
    /// Names of its classes, without `B-` and the like.
    fn classes(&self) -> &[String];
    /// Returns the names in a text of at most a few kilobytes, in order of place.
    ///
    /// # Errors
    /// A message, if it fails on this text.
    fn tag(&self, text: &str) -> Result<Vec<Tagged>, String>;
}

impl TextTagger for Tagger {
    fn classes(&self) -> &[String] {
        Tagger::classes(self)
    }

    fn tag(&self, text: &str) -> Result<Vec<Tagged>, String> {
        Tagger::tag(self, text).map_err(|error| error.to_string())
    }
}

/// Finds names with a model.
pub struct TaggerRecognizer {
    tagger: Box<dyn TextTagger>,
    /// For each class of the model, our type; `None` for classes that are not names.
    types: Vec<Option<EntityType>>,
    digest: String,
    has_failed: AtomicBool,
}

/// Why the configured model cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TaggerError {
    /// The model is at fault.
    #[error("`recognize.model` cannot be used: {0}")]
    Model(#[from] ModelError),
    /// The folder is at fault.
    #[error(
        "`recognize.model` cannot be used: `{}` cannot be read: {source}\nhint: give the absolute path of a folder \
         with `model.onnx`, `tokenizer.json` and `config.json`",
        path.display()
    )]
    Folder {
        /// The folder, or a file in it.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The process that tried it first rejected it.
    #[error("`recognize.model` cannot be used: {why}")]
    Trial {
        /// The folder.
        path: PathBuf,
        /// Why, with a hint.
        why: String,
    },
}

impl TaggerRecognizer {
    /// Opens the model like [`TaggerRecognizer::open`], after another process has tried it. The
    /// daemon uses this at its start.
    ///
    /// # Errors
    /// When the folder or the model in it cannot be used.
    pub fn open_tried(
        settings: &config::settings::Recognize,
    ) -> Result<Option<Arc<Self>>, TaggerError> {
        if !settings.model.is_empty() {
            trial::hold(Path::new(&settings.model))?;
        }
        Self::open(settings)
    }

    /// Loads the model that the settings name, if any. Reads its files twice: a large model takes
    /// seconds.
    ///
    /// # Errors
    /// When the folder or the model in it cannot be used.
    pub fn open(settings: &config::settings::Recognize) -> Result<Option<Arc<Self>>, TaggerError> {
        if settings.model.is_empty() {
            return Ok(None);
        }
        let folder = Path::new(&settings.model);
        let digest = digest_of(folder)?;
        let tagger = Tagger::load(folder)?;
        Ok(Some(Arc::new(TaggerRecognizer::new(Box::new(tagger), digest))))
    }

    /// Wraps any model; `digest` must change whenever the model does.
    pub fn new(tagger: Box<dyn TextTagger>, digest: String) -> Self {
        let types = tagger.classes().iter().map(|class| type_of(class)).collect();
        TaggerRecognizer { tagger, types, digest, has_failed: AtomicBool::default() }
    }

    /// Returns the hash of the model's files. It is part of the index's fingerprint, so another
    /// model needs another index.
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// Adds the model's mentions and drops overlapping ones of the built-in model, since the user
    /// chose this one.
    pub(super) fn overrule(
        &self,
        doc: &Document,
        sentences: &[Span<Norm>],
        found: &mut Vec<Mention>,
    ) {
        let mut mentions = Vec::new();
        self.recognize(doc, sentences, &mut mentions);
        // The model returns its mentions in order of place and without overlaps.
        let is_named = |span: Span<Norm>| {
            let at = mentions.partition_point(|mention| mention.span.end() <= span.start());
            mentions.get(at).is_some_and(|mention| mention.span.start() < span.end())
        };
        found.retain(|it| it.recognizer != RecognizerKind::Statistical || !is_named(it.span));
        found.append(&mut mentions);
    }

    fn tag(&self, doc: &Document, run: Range<usize>, out: &mut Vec<Mention>) {
        let text = doc.text.get(run.clone()).unwrap_or_default();
        let names = self.tagger.tag(text).unwrap_or_else(|error| {
            // Logged once: a model that fails on one text may fail on thousands.
            if !self.has_failed.swap(true, Ordering::Relaxed) {
                tracing::warn!(%error, "the model of `recognize.model` failed on a text, whose names are missing");
            }
            Vec::new()
        });
        for name in names {
            let Some(&Some(entity_type)) = self.types.get(name.class) else { continue };
            let span = Span::new(run.start + name.span.start, run.start + name.span.end);
            out.push(Mention {
                span,
                name: span.of(&doc.text).to_string(),
                entity_type,
                recognizer: RecognizerKind::Statistical,
                score: Confidence::new(name.probability),
                place: PlaceFeatures::default(),
            });
        }
    }
}

impl Recognizer for TaggerRecognizer {
    fn kind(&self) -> RecognizerKind {
        RecognizerKind::Statistical
    }

    fn recognize(&self, doc: &Document, sentences: &[Span<Norm>], out: &mut Vec<Mention>) {
        if doc.head.pass == Pass::Deep {
            runs_of(&doc.text, sentences).into_iter().for_each(|run| self.tag(doc, run, out));
        }
    }
}

/// Joins sentences that only white space separates, because a model reads a name better in context.
/// A run has at most `MAX_RUN_BYTES`; longer sentences are skipped.
fn runs_of(text: &str, sentences: &[Span<Norm>]) -> Vec<Range<usize>> {
    let mut runs: Vec<Range<usize>> = Vec::new();
    for sentence in sentences.iter().filter(|sentence| sentence.len() <= MAX_RUN_BYTES) {
        let follows = |run: &&mut Range<usize>| {
            let gap = text.get(run.end..sentence.start());
            gap.is_some_and(|gap| gap.trim().is_empty())
                && sentence.end() - run.start <= MAX_RUN_BYTES
        };
        match runs.last_mut().filter(follows) {
            Some(run) => run.end = sentence.end(),
            None => runs.push(sentence.range()),
        }
    }
    runs
}

/// Maps a model's class to our type, by the class names of the usual training sets (CoNLL-2003,
/// OntoNotes 5, WNUT-17, Few-NERD, SoMeSci, StackOverflow NER). Times, amounts and the like are not
/// names and give `None`. Unlisted classes are concepts.
fn type_of(class: &str) -> Option<EntityType> {
    let class: String =
        class.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_uppercase).collect();
    Some(match class.as_str() {
        "PER" | "PERSON" | "PEOPLE" | "RESEARCHER" | "POLITICIAN" | "SCIENTIST" | "WRITER"
        | "ARTIST" | "MUSICALARTIST" | "USERNAME" => EntityType::Person,
        "ORG" | "ORGANIZATION" | "ORGANISATION" | "CORPORATION" | "COMPANY" | "GROUP"
        | "UNIVERSITY" | "BAND" | "POLITICALPARTY" | "WEBSITE" => EntityType::Organization,
        "LOC" | "LOCATION" | "GPE" | "FAC" | "FACILITY" | "BUILDING" | "COUNTRY" | "CITY" => {
            EntityType::Location
        }
        "PROD" | "PRODUCT" | "DEVICE" | "VEH" | "VEHICLE" | "WEA" => EntityType::Product,
        "SERVICE" => EntityType::Service,
        "SOFTWARE"
        | "APPLICATION"
        | "APP"
        | "LIBRARY"
        | "FRAMEWORK"
        | "TECHNOLOGY"
        | "TOOL"
        | "PROGRAMLANG"
        | "PROGRAMMINGLANGUAGE"
        | "OPERATINGSYSTEM"
        | "PROGRAMMINGENVIRONMENT"
        | "PLUGIN"
        | "DATABASE" => EntityType::Technology,
        "API" | "FUNCTION" | "LIBRARYFUNCTION" | "CLASS" | "LIBRARYCLASS" => EntityType::Api,
        "PROJECT" => EntityType::Project,
        "LAW" | "STANDARD" | "LICENSE" | "LICENCE" => EntityType::Standard,
        "VERSION" => EntityType::Version,
        "EVENT" | "EVE" | "CONFERENCE" | "ELECTION" => EntityType::Event,
        "DATE" | "TIME" | "CARDINAL" | "ORDINAL" | "QUANTITY" | "PERCENT" | "MONEY" | "NUMBER"
        | "DURATION" => {
            return None;
        }
        _ => EntityType::Concept,
    })
}

/// Returns the hash of the names and contents of the files in a folder.
///
/// # Errors
/// Which of them could not be read.
pub fn digest_of(folder: &Path) -> Result<String, TaggerError> {
    let of = |path: &Path| {
        let path = path.to_path_buf();
        move |source| TaggerError::Folder { path, source }
    };
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(of(folder))? {
        let path = entry.map_err(of(folder))?.path();
        if path.is_file() {
            paths.push(path);
        }
    }
    paths.sort_unstable();
    let (mut hash, mut buffer) = (Xxh3::new(), vec![0; 1 << 16]);
    for path in &paths {
        hash.update(path.file_name().unwrap_or_default().as_encoded_bytes());
        hash.update(b"\0");
        let mut file = File::open(path).map_err(of(path))?;
        loop {
            let n_read = file.read(&mut buffer).map_err(of(path))?;
            hash.update(buffer.get(..n_read).unwrap_or_default());
            if n_read == 0 {
                break;
            }
        }
    }
    Ok(format!("{:032x}", hash.digest128()))
}

#[cfg(test)]
mod tests;
