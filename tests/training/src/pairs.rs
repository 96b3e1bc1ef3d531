//! Pairs: runs the daemon's stages over samples; the result is each pair of names in a scene with its features and
//! labels.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use anyhow::{Result, anyhow};
use arc_swap::ArcSwap;
use config::settings::Settings;
use embed::{StaticModel, WordPiece};
use extract::chunk::Chunker;
use extract::link::LinkStage;
use extract::net::unit_vector;
use extract::recognize::{Gazetteer, RecognizeStage};
use extract::relate::learned::{Context, N_INPUTS, Scene, kind_of, scenes_of, see, text_of};
use formats::Normalizer;
use model::Stage as _;
use model::parcel::{LinkedDoc, Mention, MentionedDoc, Pass, RecognizerKind, SourceDoc};
use model::terms::{Confidence, ContentHash, EntityType, RelPath, Span};

use crate::net::{Net, Seen};
use crate::sets::Sample;

/// A pair of things, in one direction.
pub(crate) struct Example {
    /// Numbers of its features, sorted.
    pub(crate) features: Vec<u32>,
    /// Vectors of the pair's texts; empty if there is no such text.
    pub(crate) texts: [Arc<Vec<f32>>; N_INPUTS],
    /// Numbers of the predicates that the pair has.
    pub(crate) labels: Vec<usize>,
    pub(crate) weight: f32,
    /// The number of the sample, and of the two things in it. Things that the sample does not have get numbers of their
    /// own.
    pub(crate) place: (usize, usize, usize),
    /// The kind of pair, as the gate numbers it.
    pub(crate) kind: Option<usize>,
    /// Whether all relations between the sample's things are annotated.
    pub(crate) is_complete: bool,
}

impl Example {
    pub(crate) fn seen(&self) -> Seen<'_> {
        Seen { features: &self.features, texts: &self.texts }
    }

    /// Returns the gradient of the cross-entropy at the outputs; each predicate is a decision of its own.
    pub(crate) fn errors(&self, outputs: &[f32]) -> Vec<f32> {
        let error = |(label, output): (usize, &f32)| {
            let is_wanted = self.labels.contains(&label);
            (sigmoid(*output) - f32::from(u8::from(is_wanted))) * self.weight
        };
        outputs.iter().enumerate().map(error).collect()
    }

    /// Returns the score of each predicate.
    pub(crate) fn scores(&self, net: &Net) -> Vec<f32> {
        net.outputs(self.seen()).into_iter().map(sigmoid).collect()
    }

    /// Drops the features that are not in `kept`.
    pub(crate) fn keep(&mut self, kept: &[bool]) {
        self.features.retain(|it| kept.get(*it as usize).copied().unwrap_or(false));
    }
}

fn sigmoid(output: f32) -> f32 {
    1.0 / (1.0 + (-output).exp())
}

/// The daemon's stages, without mined terms.
pub(crate) struct Reader {
    normalizer: Normalizer,
    chunker: Chunker,
    recognize: RecognizeStage,
    model: StaticModel,
    vectors: HashMap<String, Arc<Vec<f32>>>,
}

impl Reader {
    /// Creates a reader whose recognizer does not judge the kinds of names.
    pub(crate) fn without_judgement() -> Self {
        let reader = Reader::new();
        Reader { recognize: reader.recognize.without_judgement(), ..reader }
    }

    pub(crate) fn new() -> Self {
        let settings = Settings::default();
        let gazetteer = Arc::new(ArcSwap::from_pointee(Gazetteer::build(1, std::iter::empty())));
        Reader {
            normalizer: Normalizer::new(&settings.watch, &settings.privacy),
            chunker: Chunker::new(&settings.chunk, &settings.embed, WordPiece::builtin()),
            recognize: RecognizeStage::new(&settings.recognize, gazetteer),
            model: StaticModel::builtin(WordPiece::builtin()),
            vectors: HashMap::new(),
        }
    }

    /// Returns the pairs of the samples, in the order of the samples.
    pub(crate) fn examples(&mut self, samples: &[Sample]) -> Result<Vec<Example>> {
        let mut out = Vec::new();
        for (number, sample) in samples.iter().enumerate() {
            let mut mentioned = self.mentioned(&sample.text)?;
            if !sample.is_complete {
                put_given(&mut mentioned, sample);
            }
            let linked = LinkStage.run(mentioned).map_err(|fault| anyhow!("{fault:?}"))?;
            self.pairs(sample, number, &linked, &mut out);
        }
        Ok(out)
    }

    pub(crate) fn mentioned(&mut self, text: &str) -> Result<MentionedDoc> {
        let source = SourceDoc {
            path: RelPath::new("page.md"),
            bytes: Arc::from(text.as_bytes()),
            hash: ContentHash::of(text.as_bytes()),
            mtime_ms: 0,
            pass: Pass::Deep,
            reading: Default::default(),
        };
        let fault = |fault| anyhow!("{fault:?}");
        let doc = self.normalizer.run(source).map_err(fault)?;
        let doc = self.chunker.run(doc).map_err(fault)?;
        self.recognize.run(doc).map_err(fault)
    }

    fn vector(&mut self, text: String) -> Arc<Vec<f32>> {
        let model = &self.model;
        let made = |text: &String| Arc::new(unit_vector(model, text));
        Arc::clone(self.vectors.entry(text).or_insert_with_key(made))
    }

    fn pairs(
        &mut self,
        sample: &Sample,
        number: usize,
        linked: &LinkedDoc,
        out: &mut Vec<Example>,
    ) {
        let mut relations: BTreeMap<(usize, usize), Vec<usize>> = BTreeMap::new();
        for (subject, object, label) in &sample.relations {
            relations.entry((*subject, *object)).or_default().push(*label);
        }
        for scene in scenes_of(linked) {
            let context = Context::of(&scene);
            let gold: Vec<usize> = (0..scene.n_things())
                .map(|thing| gold_of(&scene, thing, linked, sample).unwrap_or(1_000_000 + thing))
                .collect();
            for (s, subject) in gold.iter().enumerate() {
                for (o, object) in gold.iter().enumerate() {
                    let is_given = sample.is_complete || (*subject < 2 && *object < 2);
                    if s == o || subject == object || !is_given {
                        continue;
                    }
                    let labels = relations.get(&(*subject, *object)).cloned().unwrap_or_default();
                    let mut features = Vec::new();
                    let inputs = see(&scene, &context, (s, o), &mut features);
                    let texts = inputs.map(|it| self.vector(text_of(&scene, it)));
                    let is_negative = labels.is_empty();
                    let weight = if is_negative { sample.negative_weight } else { 1.0 };
                    out.push(Example {
                        features,
                        texts,
                        labels,
                        weight: weight * sample.weight,
                        place: (number, *subject, *object),
                        kind: kind_of(&scene, (s, o)),
                        is_complete: sample.is_complete,
                    });
                }
            }
        }
    }
}

/// Replaces the mentions that were found by the annotated ones, which keep the types of those they overlap.
fn put_given(doc: &mut MentionedDoc, sample: &Sample) {
    let raw = |at: usize| doc.doc.map.to_raw(Span::new(at, at + 1)).start();
    let places: Vec<usize> = (0..doc.doc.text.len()).map(raw).collect();
    for (start, end) in sample.things.iter().flatten() {
        let at = |raw: usize| places.partition_point(|it| *it < raw);
        let span = Span::new(at(*start), at(*end));
        let Some(name) = doc.doc.text.get(span.start()..span.end()) else { continue };
        let name = name.to_string();
        let overlaps = |m: &Mention| m.span.start() < span.end() && span.start() < m.span.end();
        let found = doc.mentions.iter().find(|mention| overlaps(mention));
        let entity_type = found.map_or(EntityType::Concept, |mention| mention.entity_type);
        doc.mentions.retain(|mention| !overlaps(mention));
        let (recognizer, score) = (RecognizerKind::Statistical, Confidence::new(0.8));
        let place = Default::default();
        doc.mentions.push(Mention { span, name, entity_type, recognizer, score, place });
    }
    doc.mentions.sort_by_key(|mention| mention.span);
    // Their antecedents may have moved.
    doc.anaphors.clear();
}

/// Returns the sample's thing that overlaps the most mentions of a thing; an equal span counts twice.
fn gold_of(scene: &Scene<'_>, thing: usize, linked: &LinkedDoc, sample: &Sample) -> Option<usize> {
    let mut votes: BTreeMap<usize, usize> = BTreeMap::new();
    for mention in scene.mentions(thing) {
        let Some(mention) = linked.doc.mentions.get(mention as usize) else { continue };
        let raw = linked.doc.doc.map.to_raw(mention.span);
        for (number, spans) in sample.things.iter().enumerate() {
            for (start, end) in spans {
                if raw.start() < *end && *start < raw.end() {
                    let is_equal = (raw.start(), raw.end()) == (*start, *end);
                    *votes.entry(number).or_default() += 1 + usize::from(is_equal);
                }
            }
        }
    }
    votes
        .into_iter()
        .max_by_key(|(number, votes)| (*votes, std::cmp::Reverse(*number)))
        .map(|it| it.0)
}
