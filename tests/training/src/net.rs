//! Net: learns the weights of `extract::relate::learned::Net` by Adagrad, and writes its file.

use anyhow::{Context as _, Result, ensure};
use extract::relate::learned::{Gate, N_DIMENSIONS, N_INPUTS, NO_ROW, SCALE};

use crate::labels::PREDICATES;
use crate::pairs::Example;

/// SplitMix64.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// From 0 to 1.
    fn unit(&mut self) -> f32 {
        (self.next() >> 40) as f32 / (1u64 << 24) as f32
    }

    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, (self.next() % (i as u64 + 1)) as usize);
        }
    }
}

/// How it is trained: steps of Adagrad, of texts apart, and the share of features and hidden numbers left out.
#[derive(Clone, Copy)]
pub(crate) struct Rates {
    pub(crate) step: f32,
    pub(crate) text_step: f32,
    pub(crate) drop_features: f32,
    pub(crate) drop_hidden: f32,
}

/// Weights and what Adagrad remembers of their gradients.
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

    /// Steps down a row's gradient times `factor`.
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

/// What is trained.
pub(crate) struct Net {
    hidden: usize,
    rows: Weights,
    bias: Weights,
    projections: Weights,
    top: Weights,
    top_bias: Weights,
}

impl Net {
    pub(crate) fn new(n_features: usize, hidden: usize, outputs: usize) -> Self {
        let mut random = Random(7);
        let mut around = |n: usize, width: f32| {
            let values = (0..n).map(|_| (random.unit() - 0.5) * 2.0 * width).collect();
            Weights::new(values)
        };
        Net {
            hidden,
            rows: around(n_features * hidden, 0.05),
            projections: around(N_INPUTS * N_DIMENSIONS * hidden, 0.05),
            top: around(hidden * outputs, (1.0 / hidden as f32).sqrt()),
            bias: Weights::new(vec![0.1; hidden]),
            // Few pairs are related.
            top_bias: Weights::new(vec![-3.0; outputs]),
        }
    }

    fn hidden(&self, features: &[u32], example: &Example) -> (Vec<f32>, f32) {
        let mut sum = vec![0.0; self.hidden];
        let scale = SCALE / (features.len().max(1) as f32).sqrt();
        for feature in features {
            add(&mut sum, self.rows.row(*feature as usize, self.hidden), 1.0);
        }
        for (sum, bias) in sum.iter_mut().zip(&self.bias.values) {
            *sum = *sum * scale + bias;
        }
        for (slot, text) in example.texts.iter().enumerate() {
            for (dimension, number) in text.iter().enumerate() {
                let row = self.projections.row(slot * N_DIMENSIONS + dimension, self.hidden);
                add(&mut sum, row, *number);
            }
        }
        sum.iter_mut().for_each(|it| *it = it.max(0.0));
        (sum, scale)
    }

    fn outputs(&self, hidden: &[f32]) -> Vec<f32> {
        let rows = self.top.values.chunks_exact(self.hidden).zip(&self.top_bias.values);
        rows.map(|(row, bias)| {
            let z = row.iter().zip(hidden).map(|(a, b)| a * b).sum::<f32>() + bias;
            1.0 / (1.0 + (-z).exp())
        })
        .collect()
    }

    /// The score of each predicate.
    pub(crate) fn scores(&self, example: &Example) -> Vec<f32> {
        self.outputs(&self.hidden(&example.features, example).0)
    }

    /// One step of cross-entropy, each predicate for itself.
    pub(crate) fn learn(&mut self, example: &Example, rates: Rates, random: &mut Random) {
        let features: Vec<u32> = example
            .features
            .iter()
            .copied()
            .filter(|_| random.unit() >= rates.drop_features)
            .collect();
        let (mut hidden, scale) = self.hidden(&features, example);
        let kept = 1.0 / (1.0 - rates.drop_hidden);
        let mut mask = || if random.unit() < rates.drop_hidden { 0.0 } else { kept };
        let mask: Vec<f32> = hidden.iter().map(|_| mask()).collect();
        hidden.iter_mut().zip(&mask).for_each(|(it, mask)| *it *= mask);
        let mut back = vec![0.0; self.hidden];
        for (label, score) in self.outputs(&hidden).into_iter().enumerate() {
            let is_wanted = example.labels.contains(&label);
            let error = (score - f32::from(u8::from(is_wanted))) * example.weight;
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
        for (slot, text) in example.texts.iter().enumerate() {
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

    /// The file, as `extract`'s `learned/net.rs` describes it.
    pub(crate) fn file(
        &self,
        gate: &Gate,
        calibration: (f32, f32),
        kept: &[bool],
    ) -> Result<Vec<u8>> {
        let rows: Vec<usize> = (0..kept.len()).filter(|at| kept.get(*at) == Some(&true)).collect();
        ensure!(rows.len() < usize::from(NO_ROW), "{} features; raise `least`", rows.len());
        let mut out = b"KGR1".to_vec();
        for number in [self.hidden, PREDICATES.len(), rows.len()] {
            out.extend(u32::try_from(number).context("a small number")?.to_le_bytes());
        }
        PREDICATES.iter().for_each(|it| out.extend(format!("{it}\n").bytes()));
        out.push(b'\n');
        out.extend(gate.as_bytes());
        floats(&mut out, &[calibration.0, calibration.1]);
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
            floats(&mut out, &[scale]);
            bytes.extend(row.iter().map(|it| (it / scale).round() as i8 as u8));
        }
        out.extend(bytes);
        for weights in [&self.bias, &self.projections, &self.top, &self.top_bias] {
            floats(&mut out, &weights.values);
        }
        Ok(out)
    }
}

fn add(sum: &mut [f32], row: &[f32], factor: f32) {
    for (sum, it) in sum.iter_mut().zip(row) {
        *sum += it * factor;
    }
}

fn floats(out: &mut Vec<u8>, values: &[f32]) {
    values.iter().for_each(|it| out.extend(it.to_le_bytes()));
}
