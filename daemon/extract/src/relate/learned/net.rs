//! Net: the trained classifier: embedding rows of the features and projected vectors of texts, one hidden layer, one
//! output for each predicate.
//!
//! In: the committed weights, and the features of a pair. Out: the most likely predicate from subject to object.
//! Invariants: equal input gives equal output on every machine of one architecture; per pair, only its sums are
//! allocated.
//!
//! The file, little-endian: magic `KGR1`; u32 hidden, outputs, rows; the predicates, a line of text each, ended by a
//! blank one; the gate, [`Gate::BYTES`]; f32 slope and shift of the calibration; the layers (`net.rs` of this crate).

use std::sync::LazyLock;

use model::terms::EntityType;
use rustc_hash::FxHashMap;

use crate::net::{File, Layers, Shape, unit_vector, vectors};

use super::features::{Input, N_FEATURES, N_INPUTS, may_relate, text_of};
use super::scene::Scene;

const MAGIC: &[u8] = b"KGR1";

static BUILTIN: &[u8] = include_bytes!("../../../../models/relations/relations.bin");

/// Which kinds of pairs are classified, by types, sentences apart, and whether one is the scene's first thing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gate(Vec<u8>);

impl Gate {
    /// Sixteen types twice, four distances, first or not: one bit each.
    pub const BYTES: usize = 16 * 16 * 4 * 2 / 8;

    /// Makes a gate that no kind passes.
    pub fn closed() -> Self {
        Gate(vec![0; Gate::BYTES])
    }

    /// Returns the number of a kind of pair; `None` for types that are never related.
    pub fn kind(types: (EntityType, EntityType), apart: usize, has_first: bool) -> Option<usize> {
        if !may_relate(types) {
            return None;
        }
        let types = (types.0 as usize) << 4 | types.1 as usize;
        Some((types << 2 | apart.min(3)) << 1 | usize::from(has_first))
    }

    /// Opens the gate for a kind.
    pub fn open(&mut self, kind: usize) {
        if let Some(byte) = self.0.get_mut(kind / 8) {
            *byte |= 1 << (kind % 8);
        }
    }

    /// Returns whether the gate is open for a kind.
    pub fn is_open(&self, kind: usize) -> bool {
        self.0.get(kind / 8).is_some_and(|byte| byte >> (kind % 8) & 1 == 1)
    }

    /// Returns the bytes as they are in the file.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

/// The weights.
pub struct Net {
    predicates: Vec<&'static str>,
    gate: Gate,
    calibration: (f32, f32),
    layers: Layers,
}

impl std::fmt::Debug for Net {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Net").field("predicates", &self.predicates).finish_non_exhaustive()
    }
}

impl Net {
    /// The committed weights, read at the first call.
    pub fn shared() -> &'static Net {
        static SHARED: LazyLock<Net> =
            LazyLock::new(|| Net::read(BUILTIN).expect("the committed weights are tested to load"));
        &SHARED
    }

    /// Reads weights; `None` when the file is not of this format.
    pub fn read(file: &'static [u8]) -> Option<Self> {
        let mut file = File(file);
        // In the order of the file; see the module's documentation.
        (file.take(MAGIC.len())? == MAGIC).then_some(())?;
        let (hidden, outputs, n_rows) = (file.number()?, file.number()?, file.number()?);
        let mut predicates = Vec::new();
        while let Some(line) = file.line().filter(|line| !line.is_empty()) {
            predicates.push(line);
        }
        (predicates.len() == outputs).then_some(())?;
        let gate = Gate(file.take(Gate::BYTES)?.to_vec());
        let [slope, shift] = *file.floats(2)?.first_chunk()?;
        let shape = Shape { n_features: N_FEATURES, n_rows, n_inputs: N_INPUTS, hidden, outputs };
        let layers = Layers::read(&mut file, shape)?;
        Some(Net { predicates, gate, calibration: (slope, shift), layers })
    }

    /// The predicates, in the order of the outputs.
    pub fn predicates(&self) -> &[&'static str] {
        &self.predicates
    }

    /// Returns whether pairs of a kind are classified.
    pub fn is_likely(&self, kind: usize) -> bool {
        self.gate.is_open(kind)
    }

    /// Returns the calibrated probability that a relation of this score is right (Platt scaling).
    pub fn confidence(&self, score: f32) -> f32 {
        let odds = (score / (1.0 - score).max(1e-6)).max(1e-6).ln();
        1.0 / (1.0 + (-(self.calibration.0 * odds + self.calibration.1)).exp())
    }

    /// Returns the most likely predicate and its score.
    pub fn best(
        &self,
        features: &[u32],
        inputs: &[Input; N_INPUTS],
        scene: &mut Projected<'_>,
    ) -> Option<(&'static str, f32)> {
        let mut sum = self.layers.hidden(features);
        for (slot, input) in inputs.iter().enumerate() {
            for (sum, part) in sum.iter_mut().zip(scene.of(self, slot, *input)) {
                *sum += part;
            }
        }
        let outputs = self.layers.outputs(&sum);
        let best = self.predicates.iter().zip(outputs).max_by(|a, b| a.1.total_cmp(&b.1))?;
        Some((best.0, 1.0 / (1.0 + (-best.1).exp())))
    }
}

/// Projections of a scene's texts, cached: pairs of a scene share most of them.
pub struct Projected<'a> {
    scene: &'a Scene<'a>,
    known: FxHashMap<Input, Vec<f32>>,
}

impl<'a> Projected<'a> {
    /// Makes an empty cache for a scene.
    pub fn of_scene(scene: &'a Scene<'a>) -> Self {
        Projected { scene, known: FxHashMap::default() }
    }

    fn of(&mut self, net: &Net, slot: usize, input: Input) -> &[f32] {
        let made =
            || net.layers.project(slot, &unit_vector(vectors(), &text_of(self.scene, input)));
        self.known.entry(input).or_insert_with(made)
    }
}
