//! Net: the trained classifier: embedding rows of the features and projected vectors of texts, one hidden layer, one
//! output for each predicate.
//!
//! In: the committed weights, and the features of a pair. Out: the most likely predicate from subject to object.
//! Invariants: equal input gives equal output on every machine of one architecture; per pair, only its sums are
//! allocated.
//! Not here: training (`tests/training`), and which pairs are classified.
//!
//! The file, little-endian: magic `KGR1`; u32 hidden, outputs, rows; the predicates, one a line, ended by an empty
//! line; the gate, [`Gate::BYTES`]; f32 slope and shift of the calibration; for each feature the u16 number of its
//! row, 65535 for none; for each row its f32 scale; the i8 rows; f32 hidden biases, projections, outputs, output
//! biases.

use std::sync::LazyLock;

use embed::{StaticModel, WordPiece};
use model::terms::EntityType;
use rustc_hash::FxHashMap;

use super::features::{Input, N_FEATURES, N_INPUTS, may_relate, text_of};
use super::scene::Scene;

/// Dimensions of a text's vector.
pub const N_DIMENSIONS: usize = 256;
/// Factor for the sum of the rows, which is then divided by the root of their number.
pub const SCALE: f32 = 4.0;
/// Row number of a feature without a row.
pub const NO_ROW: u16 = u16::MAX;
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
    hidden: usize,
    predicates: Vec<&'static str>,
    gate: Gate,
    calibration: (f32, f32),
    row_of: Vec<u16>,
    scales: Vec<f32>,
    rows: &'static [u8],
    bias: Vec<f32>,
    projections: Vec<f32>,
    top: Vec<f32>,
    top_bias: Vec<f32>,
    vectors: StaticModel,
}

impl std::fmt::Debug for Net {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Net").field("predicates", &self.predicates).finish_non_exhaustive()
    }
}

/// Reads a file from its start; every method returns `None` at its end.
struct File(&'static [u8]);

impl File {
    fn take(&mut self, n: usize) -> Option<&'static [u8]> {
        let (head, rest) = self.0.split_at_checked(n)?;
        self.0 = rest;
        Some(head)
    }

    fn number(&mut self) -> Option<usize> {
        Some(u32::from_le_bytes(*self.take(4)?.first_chunk()?) as usize)
    }

    fn floats(&mut self, n: usize) -> Option<Vec<f32>> {
        let (words, _) = self.take(n.checked_mul(4)?)?.as_chunks();
        Some(words.iter().map(|it| f32::from_le_bytes(*it)).collect())
    }

    fn line(&mut self) -> Option<&'static str> {
        let end = self.0.iter().position(|byte| *byte == b'\n')?;
        let line = std::str::from_utf8(self.take(end)?).ok()?;
        self.take(1)?;
        Some(line)
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
        let (words, _) = file.take(2 * N_FEATURES)?.as_chunks();
        let row_of = words.iter().map(|it| u16::from_le_bytes(*it)).collect();
        let scales = file.floats(n_rows)?;
        let rows = file.take(n_rows.checked_mul(hidden)?)?;
        let bias = file.floats(hidden)?;
        let projections = file.floats(N_INPUTS * N_DIMENSIONS * hidden)?;
        let (top, top_bias) = (file.floats(hidden * outputs)?, file.floats(outputs)?);
        let vectors = StaticModel::builtin(WordPiece::builtin());
        let calibration = (slope, shift);
        Some(Net {
            hidden,
            predicates,
            gate,
            calibration,
            row_of,
            scales,
            rows,
            bias,
            projections,
            top,
            top_bias,
            vectors,
        })
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
        // The hidden layer: the sum of the features' quantized rows, scaled by the root of their number so that its
        // size does not depend on how many features a pair has.
        let mut sum = vec![0.0; self.hidden];
        let mut n_rows = 0;
        for feature in features {
            let number = *self.row_of.get(*feature as usize)?;
            // `NO_ROW` points beyond the rows, so such a feature is skipped below.
            let at = usize::from(number) * self.hidden;
            let (Some(row), Some(scale)) =
                (self.rows.get(at..at + self.hidden), self.scales.get(usize::from(number)))
            else {
                continue;
            };
            n_rows += 1;
            for (sum, byte) in sum.iter_mut().zip(row) {
                *sum += scale * f32::from(*byte as i8);
            }
        }
        let scale = SCALE / (n_rows.max(1) as f32).sqrt();
        for (sum, bias) in sum.iter_mut().zip(&self.bias) {
            *sum = *sum * scale + bias;
        }
        for (slot, input) in inputs.iter().enumerate() {
            for (sum, part) in sum.iter_mut().zip(scene.of(self, slot, *input)) {
                *sum += part;
            }
        }
        // ReLU (`max(0.0)`), then a linear output for each predicate; `chunks_exact` gives each predicate its
        // weights.
        let outputs = self.top.chunks_exact(self.hidden).zip(&self.top_bias).map(|(row, bias)| {
            row.iter().zip(&sum).map(|(weight, sum)| weight * sum.max(0.0)).sum::<f32>() + bias
        });
        let best = self.predicates.iter().zip(outputs).max_by(|a, b| a.1.total_cmp(&b.1))?;
        Some((best.0, 1.0 / (1.0 + (-best.1).exp())))
    }

    /// Returns a text's contribution to the hidden layer in a slot.
    fn project(&self, slot: usize, text: &str) -> Vec<f32> {
        let mut out = vec![0.0; self.hidden];
        let rows = self.projections.chunks_exact(self.hidden).skip(slot * N_DIMENSIONS);
        for (number, row) in unit_vector(&self.vectors, text).iter().zip(rows) {
            for (out, weight) in out.iter_mut().zip(row) {
                *out += number * weight;
            }
        }
        out
    }
}

/// Returns the static vector of a text, of length 1; empty for a text without known words.
pub fn unit_vector(vectors: &StaticModel, text: &str) -> Vec<f32> {
    if text.trim().is_empty() {
        return Vec::new();
    }
    let mut sum = vectors.unrounded(text);
    let length = sum.iter().map(|it| it * it).sum::<f32>().sqrt();
    if length < 1e-6 {
        return Vec::new();
    }
    sum.iter_mut().for_each(|it| *it /= length);
    sum
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
        // The slot is not part of the key: an input occurs in one slot only, and `None` is empty in each.
        let made = || net.project(slot, &text_of(self.scene, input));
        self.known.entry(input).or_insert_with(made)
    }
}
