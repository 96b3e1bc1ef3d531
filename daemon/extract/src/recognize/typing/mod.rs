//! Typing: what kind of thing a mention names, by a classifier of our own.
//!
//! In: a document's mentions, with types that `context.rs` corrected. Out: the same mentions with
//! the types of the classifier, each with a certainty calibrated on texts it was not trained on.
//! Invariants: a function of the document and the committed weights; never judges names that
//! readers know (`known.rs`) or whose own words give the type (`lexicon.rs`), nor what a document
//! states or defines. Reads a bounded number of bytes, so time is linear.
//!
//! The file, little-endian: magic `KGT1`; u32 hidden, rows; f32 temperature; the layers (`net.rs` of this crate).

mod features;

pub use features::{Context, N_FEATURES, N_INPUTS, see, sides};
use features::{see_around, see_name};

use std::sync::LazyLock;

use rustc_hash::FxHashMap;

use super::{known, lexicon};
use crate::net::{File, Layers, RowSum, Shape, unit_vector, vectors};
use model::document::{Document, Mention, PlaceFeatures, RecognizerKind};
use model::terms::EntityType;

const MAGIC: &[u8] = b"KGT1";
static BUILTIN: &[u8] = include_bytes!("../../../../models/types/types.bin");
static WEIGHTS: LazyLock<Weights> =
    LazyLock::new(|| Weights::read(BUILTIN).expect("the committed weights are tested to load"));

/// The types a mention may have; one more output means that it is not a name.
pub const KINDS: [EntityType; 9] = [
    EntityType::Person,
    EntityType::Organization,
    EntityType::Location,
    EntityType::Technology,
    EntityType::Api,
    EntityType::Concept,
    EntityType::Standard,
    EntityType::Event,
    EntityType::Document,
];

struct Weights {
    temperature: f32,
    layers: Layers,
}

impl Weights {
    fn read(file: &'static [u8]) -> Option<Self> {
        let mut file = File(file);
        (file.take(MAGIC.len())? == MAGIC).then_some(())?;
        let (hidden, n_rows) = (file.number()?, file.number()?);
        let [temperature] = *file.floats(1)?.first_chunk()?;
        let outputs = KINDS.len() + 1;
        let (n_features, n_inputs) = (N_FEATURES, N_INPUTS);
        let shape = Shape { n_features, n_rows, n_inputs, hidden, outputs };
        Some(Weights { temperature, layers: Layers::read(&mut file, shape)? })
    }

    /// Returns the most likely kind of a name, with its probability.
    fn best(&self, hidden: &[f32]) -> Option<(EntityType, f32)> {
        let outputs = self.layers.outputs(hidden).zip(KINDS);
        let powers: Vec<_> =
            outputs.map(|(it, kind)| ((it / self.temperature).exp(), kind)).collect();
        let sum: f32 = powers.iter().map(|it| it.0).sum();
        let best = powers.iter().max_by(|a, b| a.0.total_cmp(&b.0))?;
        Some((best.1, best.0 / sum))
    }
}

/// Most places that are judged of mentions that only the words around them tell apart. Further ones get these
/// judgements in turn, so that the votes keep their shares.
const MOST_JUDGED: usize = 3;

/// What mentions of one name, surface, type, recognizer and kind of place have in common.
struct NamePart {
    features: Vec<u32>,
    sum: RowSum,
    projected: Vec<f32>,
}

impl NamePart {
    /// `None` if such mentions are not judged.
    fn of(doc: &Document, mention: &Mention, context: &Context) -> Option<Self> {
        if !is_open(mention) || is_named_by_type(mention) {
            return None;
        }
        let mut features = Vec::new();
        see_name(doc, mention, context, &mut features);
        let sum = WEIGHTS.layers.sum(&features);
        let projected = projected(0, mention.span.of(&doc.text));
        Some(NamePart { features, sum, projected })
    }
}

fn projected(slot: usize, text: &str) -> Vec<f32> {
    WEIGHTS.layers.project(slot, &unit_vector(vectors(), text))
}

/// Sets the types of the mentions that are open.
pub(super) fn judge(doc: &Document, mentions: &mut [Mention]) {
    let context = Context::of(doc, mentions);
    // A name occurs again and again, the words around it hardly ever.
    let mut names = FxHashMap::default();
    let mut features = Vec::new();
    let mut judge = |mention: &Mention, name: &NamePart| -> Option<(EntityType, f32)> {
        let [before, after] = see_around(doc, mention, &mut features);
        features.retain(|it| name.features.binary_search(it).is_err());
        let around = WEIGHTS.layers.sum(&features);
        let mut hidden = WEIGHTS.layers.hidden_of(&[&name.sum, &around]);
        for part in [&name.projected, &projected(1, &before), &projected(2, &after)] {
            hidden.iter_mut().zip(part).for_each(|(sum, it)| *sum += it);
        }
        WEIGHTS.best(&hidden)
    };
    let mut judgements = Vec::with_capacity(mentions.len());
    for mention in mentions.iter() {
        let surface = mention.span.of(&doc.text);
        let alike =
            (&mention.name, surface, mention.entity_type, mention.recognizer, mention.place);
        let (name, judged, n) = names
            .entry(alike)
            .or_insert_with(|| (NamePart::of(doc, mention, &context), Vec::new(), 0));
        let Some(name) = name else {
            judgements.push(None);
            continue;
        };
        if judged.len() < MOST_JUDGED {
            judged.push(judge(mention, name));
        }
        judgements.push(judged.get(*n % MOST_JUDGED).copied().flatten());
        *n += 1;
    }
    drop(names);
    for (mention, judgement) in mentions.iter_mut().zip(judgements) {
        if let Some((kind, likely)) = judgement {
            settle(mention, kind, likely);
        }
    }
}

/// Sets the mention's type to the kind, unless its type is a finer one of that kind.
fn settle(mention: &mut Mention, kind: EntityType, likely: f32) {
    let is_finer = match kind {
        EntityType::Technology => mention.entity_type.is_software(),
        EntityType::Api => mention.entity_type == EntityType::Identifier,
        _ => false,
    };
    if !is_finer {
        mention.entity_type = kind;
    }
    mention.place.is_type_guessed = false;
    let parts = (likely * f32::from(PlaceFeatures::CERTAIN + 1)) as u8;
    mention.place.certainty = parts.clamp(1, PlaceFeatures::CERTAIN);
}

/// Returns whether a word of the name gives the type: `Signing Service`.
fn is_named_by_type(mention: &Mention) -> bool {
    lexicon::type_of(&mention.name).is_specific()
}

/// Returns whether form, cues and authors leave the type of a mention open.
pub fn is_open(mention: &Mention) -> bool {
    let is_exact =
        matches!(mention.entity_type, EntityType::Date | EntityType::Version | EntityType::Step);
    let is_trusted = match mention.recognizer {
        RecognizerKind::Stated | RecognizerKind::Coreference | RecognizerKind::Given => true,
        // The author stated this type. A page's title, by contrast, says little about what the name
        // means.
        RecognizerKind::Gazetteer => mention.entity_type.is_specific(),
        RecognizerKind::Pattern | RecognizerKind::Statistical => false,
    };
    let is_final = mention.place.is_entity_given || mention.place.is_defined;
    !(is_exact || is_trusted || is_final || known::is_known(&mention.name))
}

#[cfg(test)]
mod tests;
