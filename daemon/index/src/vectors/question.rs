//! Question: a question's vector, prepared for scans over rows of one form.
//!
//! For rows of signs, it is rounded to a few bits a component, so that its product with a row can be counted in whole
//! words (`sys::sign_sums`).

use rustc_hash::FxHashSet;

use super::rows::{Form, floats, length, length_of_floats};
use super::turn::{WORD, turn};
use model::terms::Tick;
use sys::N_PLANES;

/// Largest number of [`N_PLANES`] bits in two's complement.
const LARGEST: f32 = ((1 << (N_PLANES - 1)) - 1) as f32;

/// A question and the view it is put to.
pub(super) struct Asked<'a> {
    pub question: Question<'a>,
    pub length: f32,
    /// The commit that the reader sees.
    pub tick: Tick,
    /// The only rows wanted; `None` for all.
    pub among: Option<&'a FxHashSet<i64>>,
}

/// The vector in the form of the rows.
pub(super) enum Question<'a> {
    Int8(&'a [i8]),
    Float32(Vec<f32>),
    Bit(BySigns<'a>),
}

/// The vector for rows of signs.
pub(super) struct BySigns<'a> {
    /// The original components.
    pub exact: &'a [i8],
    /// Rotated and rounded, one plane of bits after the other.
    pub planes: Vec<u64>,
    /// Words of a plane.
    pub n_words: usize,
    /// The sum of the rounded numbers.
    total: i32,
    /// The value of a rounded 1.
    step: f32,
}

impl<'a> Asked<'a> {
    /// Prepares `components`, as vectors of the space are stored.
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

    /// Returns the number of components.
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
        // Plane `p` has bit `p` of every component, as two's complement: 64 components are then one word.
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

    /// Returns the product with signs of ±1, given the sum of the components whose sign is +1: the others are the
    /// total less that sum.
    pub(super) fn value(&self, sum_of_plus: i32) -> f32 {
        (2 * sum_of_plus - self.total) as f32 * self.step
    }
}
