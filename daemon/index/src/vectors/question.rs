//! Question: a question's vector, prepared for scans over rows of a form.
//!
//! Of signs it is rounded to a few bits a component, so that a row's product with it is counted in whole words
//! (`sys::sign_sums`).

use rustc_hash::FxHashSet;

use super::rows::{Form, floats, length, length_of_floats};
use super::turn::{WORD, turn};
use model::terms::Tick;
use sys::N_PLANES;

/// Largest number of [`N_PLANES`] bits in two's complement.
const LARGEST: f32 = ((1 << (N_PLANES - 1)) - 1) as f32;

/// A question and its asker.
pub(super) struct Asked<'a> {
    pub question: Question<'a>,
    pub length: f32,
    /// The commit that the asker sees.
    pub tick: Tick,
    /// The only rows wanted; all when none.
    pub among: Option<&'a FxHashSet<i64>>,
}

/// The vector.
pub(super) enum Question<'a> {
    Int8(&'a [i8]),
    Float32(Vec<f32>),
    Bit(BySigns<'a>),
}

/// The vector for rows of signs.
pub(super) struct BySigns<'a> {
    /// As it is.
    pub exact: &'a [i8],
    /// Turned and rounded, bit by bit.
    pub planes: Vec<u64>,
    /// Words of a plane.
    pub n_words: usize,
    /// The sum of the rounded numbers.
    total: i32,
    /// What a rounded number of 1 is worth.
    step: f32,
}

impl<'a> Asked<'a> {
    /// `components` as the vectors of the space are kept.
    pub(super) fn new(
        components: &'a [i8],
        form: &Form,
        tick: Tick,
        among: Option<&'a FxHashSet<i64>>,
    ) -> Self {
        let (question, length) = match form {
            Form::Int8 => (Question::Int8(components), length(components.iter().copied())),
            Form::Bit(_) => {
                (Question::Bit(BySigns::of(components)), length(components.iter().copied()))
            }
            Form::Float32 => {
                let bytes: Vec<u8> = components.iter().map(|it| it.cast_unsigned()).collect();
                let numbers: Vec<f32> = floats(&bytes).collect();
                let length = length_of_floats(&numbers);
                (Question::Float32(numbers), length)
            }
        };
        Asked { question, length, tick, among }
    }

    /// Components.
    pub(super) fn width(&self) -> usize {
        match &self.question {
            Question::Int8(components) => components.len(),
            Question::Float32(components) => components.len(),
            Question::Bit(signs) => signs.exact.len(),
        }
    }
}

impl<'a> BySigns<'a> {
    fn of(exact: &'a [i8]) -> Self {
        let mut turned: Vec<f32> = exact.iter().map(|it| f32::from(*it)).collect();
        turn(&mut turned);
        let most = turned.iter().fold(0.0f32, |most, it| most.max(it.abs()));
        let step = if most > 0.0 { most / LARGEST } else { 1.0 };
        let n_words = turned.len() / WORD;
        let (mut planes, mut total) = (vec![0_u64; n_words * N_PLANES], 0);
        for (i, component) in turned.iter().enumerate() {
            let rounded = (component / step).round() as i32;
            total += rounded;
            for plane in (0..N_PLANES).filter(|plane| rounded >> plane & 1 == 1) {
                if let Some(word) = planes.get_mut(plane * n_words + i / WORD) {
                    *word |= 1 << (i % WORD);
                }
            }
        }
        BySigns { exact, planes, n_words, total, step }
    }

    /// The product with signs of ±1, from the sum where they are +1.
    pub(super) fn value(&self, sum_of_plus: i32) -> f32 {
        (2 * sum_of_plus - self.total) as f32 * self.step
    }
}
