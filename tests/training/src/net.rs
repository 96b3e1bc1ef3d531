//! Net: trains the weights of `extract::net::Layers` with Adagrad, and writes them.

use std::sync::Arc;

use anyhow::{Result, ensure};
use extract::net::{N_DIMENSIONS, NO_ROW, SCALE, Shape};

/// The random generator SplitMix64.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Returns a number from 0 to 1.
    fn unit(&mut self) -> f32 {
        (self.next() >> 40) as f32 / (1u64 << 24) as f32
    }

    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, (self.next() % (i as u64 + 1)) as usize);
        }
    }
}

/// Parameters of training: Adagrad's learning rates, in general and for texts, and the dropout of features and of the
/// hidden layer.
#[derive(Clone, Copy)]
pub(crate) struct Rates {
    pub(crate) step: f32,
    pub(crate) text_step: f32,
    pub(crate) drop_features: f32,
    pub(crate) drop_hidden: f32,
}

/// Weights, and the sums of squared gradients that Adagrad keeps.
struct Weights {
    values: Vec<f32>,
    seen: Vec<f32>,
}

impl Weights {
    fn new(values: Vec<f32>) -> Self {
        Weights { seen: vec![1e-4; values.len()], values }
    }

    fn row(&self, number: usize, width: usize) -> &[f32] {
        self.values.get(number * width..(number + 1) * width).unwrap_or_default()
    }

    /// Updates a row by its gradient times `factor`.
    fn step(&mut self, number: usize, gradient: &[f32], factor: f32, step: f32) {
        let range = number * gradient.len()..(number + 1) * gradient.len();
        let (Some(values), Some(seen)) =
            (self.values.get_mut(range.clone()), self.seen.get_mut(range))
        else {
            return;
        };
        for ((value, seen), gradient) in values.iter_mut().zip(seen).zip(gradient) {
            let d = gradient * factor;
            *seen += d * d;
            *value -= step * d / seen.sqrt();
        }
    }
}

/// The input of one example: its features, sorted, and the vectors of its texts, empty if there is no such text.
#[derive(Clone, Copy)]
pub(crate) struct Seen<'a> {
    pub(crate) features: &'a [u32],
    pub(crate) texts: &'a [Arc<Vec<f32>>],
}

/// A network in training.
pub(crate) struct Net {
    hidden: usize,
    rows: Weights,
    bias: Weights,
    projections: Weights,
    top: Weights,
    top_bias: Weights,
}

impl Net {
    /// Creates a network with random weights. `bias` is the initial bias of all outputs; `shape.n_rows` is ignored.
    pub(crate) fn new(shape: Shape, bias: f32) -> Self {
        let Shape { n_features, n_inputs, hidden, outputs, .. } = shape;
        let mut random = Random(7);
        let mut around = |n: usize, width: f32| {
            let values = (0..n).map(|_| (random.unit() - 0.5) * 2.0 * width).collect();
            Weights::new(values)
        };
        Net {
            hidden,
            rows: around(n_features * hidden, 0.05),
            projections: around(n_inputs * N_DIMENSIONS * hidden, 0.05),
            top: around(hidden * outputs, (1.0 / hidden as f32).sqrt()),
            bias: Weights::new(vec![0.1; hidden]),
            top_bias: Weights::new(vec![bias; outputs]),
        }
    }

    fn hidden(&self, seen: Seen<'_>) -> (Vec<f32>, f32) {
        let mut sum = vec![0.0; self.hidden];
        let scale = SCALE / (seen.features.len().max(1) as f32).sqrt();
        for feature in seen.features {
            add(&mut sum, self.rows.row(*feature as usize, self.hidden), 1.0);
        }
        for (sum, bias) in sum.iter_mut().zip(&self.bias.values) {
            *sum = *sum * scale + bias;
        }
        for (slot, text) in seen.texts.iter().enumerate() {
            for (dimension, number) in text.iter().enumerate() {
                let row = self.projections.row(slot * N_DIMENSIONS + dimension, self.hidden);
                add(&mut sum, row, *number);
            }
        }
        sum.iter_mut().for_each(|it| *it = it.max(0.0));
        (sum, scale)
    }

    fn top(&self, hidden: &[f32]) -> Vec<f32> {
        let rows = self.top.values.chunks_exact(self.hidden).zip(&self.top_bias.values);
        rows.map(|(row, bias)| row.iter().zip(hidden).map(|(a, b)| a * b).sum::<f32>() + bias)
            .collect()
    }

    /// Returns the outputs, before any activation.
    pub(crate) fn outputs(&self, seen: Seen<'_>) -> Vec<f32> {
        self.top(&self.hidden(seen).0)
    }

    /// Does one step of training; `errors` returns the gradient of the loss at the outputs.
    pub(crate) fn learn(
        &mut self,
        seen: Seen<'_>,
        rates: Rates,
        random: &mut Random,
        errors: impl FnOnce(&[f32]) -> Vec<f32>,
    ) {
        let is_kept = |_: &u32| random.unit() >= rates.drop_features;
        let features: Vec<u32> = seen.features.iter().copied().filter(is_kept).collect();
        let (mut hidden, scale) = self.hidden(Seen { features: &features, ..seen });
        let kept = 1.0 / (1.0 - rates.drop_hidden);
        let mut mask = || if random.unit() < rates.drop_hidden { 0.0 } else { kept };
        let mask: Vec<f32> = hidden.iter().map(|_| mask()).collect();
        hidden.iter_mut().zip(&mask).for_each(|(it, mask)| *it *= mask);
        let mut back = vec![0.0; self.hidden];
        for (label, error) in errors(&self.top(&hidden)).into_iter().enumerate() {
            if error.abs() < 1e-4 {
                continue;
            }
            add(&mut back, self.top.row(label, self.hidden), error);
            self.top.step(label, &hidden, error, rates.step);
            self.top_bias.step(label, &[error], 1.0, rates.step);
        }
        for ((back, mask), hidden) in back.iter_mut().zip(&mask).zip(&hidden) {
            *back = if *hidden > 0.0 { *back * mask } else { 0.0 };
        }
        if back.iter().all(|it| it.abs() < 1e-6) {
            return;
        }
        self.bias.step(0, &back, 1.0, rates.step);
        for (slot, text) in seen.texts.iter().enumerate() {
            for (dimension, number) in text.iter().enumerate() {
                self.projections.step(
                    slot * N_DIMENSIONS + dimension,
                    &back,
                    *number,
                    rates.text_step,
                );
            }
        }
        for feature in features {
            self.rows.step(feature as usize, &back, scale, rates.step);
        }
    }

    /// Appends the layers to a file, with rows only for the features in `kept`.
    pub(crate) fn write(&self, kept: &[bool], out: &mut Vec<u8>) -> Result<()> {
        let rows = rows_of(kept);
        ensure!(rows.len() < usize::from(NO_ROW), "{} features; raise `least`", rows.len());
        let mut numbers = vec![NO_ROW; kept.len()];
        for (number, feature) in rows.iter().enumerate() {
            if let Some(it) = numbers.get_mut(*feature) {
                *it = number as u16;
            }
        }
        numbers.iter().for_each(|it| out.extend(it.to_le_bytes()));
        let mut bytes = Vec::new();
        for feature in rows {
            let row = self.rows.row(feature, self.hidden);
            let scale = row.iter().fold(1e-9f32, |most, it| most.max(it.abs())) / 127.0;
            floats(out, &[scale]);
            bytes.extend(row.iter().map(|it| (it / scale).round() as i8 as u8));
        }
        out.extend(bytes);
        for weights in [&self.bias, &self.projections, &self.top, &self.top_bias] {
            floats(out, &weights.values);
        }
        Ok(())
    }
}

/// Returns the features that get a row.
pub(crate) fn rows_of(kept: &[bool]) -> Vec<usize> {
    (0..kept.len()).filter(|at| kept.get(*at) == Some(&true)).collect()
}

/// Returns for each feature whether it occurs often enough.
pub(crate) fn frequent<'a>(
    n_features: usize,
    examples: impl Iterator<Item = &'a [u32]>,
    least: u32,
) -> Vec<bool> {
    let mut counts = vec![0u32; n_features];
    for feature in examples.flatten() {
        if let Some(count) = counts.get_mut(*feature as usize) {
            *count += 1;
        }
    }
    counts.into_iter().map(|n| n >= least).collect()
}

fn add(sum: &mut [f32], row: &[f32], factor: f32) {
    for (sum, it) in sum.iter_mut().zip(row) {
        *sum += it * factor;
    }
}

pub(crate) fn floats(out: &mut Vec<u8>, values: &[f32]) {
    values.iter().for_each(|it| out.extend(it.to_le_bytes()));
}
