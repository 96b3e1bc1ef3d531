//! Rows: the components of some vectors, one vector after the other, in the form of their space.
//!
//! In: vectors as stored. Out: the product of each with a question.
//! `Int8` and `Float32` hold them unchanged. `Bit` holds the sign of each component after a fixed rotation
//! (`turn.rs`), from which the product is estimated, and the vectors themselves in a file (`apart.rs`), for the few
//! whose product is computed exactly.
//! Invariants: an added row keeps its place and its components; if the file cannot be written, the vectors stay in
//! memory.

use std::sync::Arc;

use super::apart::{Apart, Block};
use super::question::Question;
use super::segment::FULL;
use super::turn::{WORD, turn, turned_width};

/// The form in which the vectors of a space are held in memory.
#[derive(Debug, Clone, Default)]
pub enum Form {
    /// A byte per component, as stored.
    #[default]
    Int8,
    /// Four bytes per component, as stored.
    Float32,
    /// A bit per component; the bytes, as stored, are in this file.
    Bit(Arc<Apart>),
}

impl Form {
    /// Returns the components of a vector that is stored in `n_bytes`.
    pub(super) fn width(&self, n_bytes: usize) -> usize {
        match self {
            Form::Float32 => n_bytes / size_of::<f32>(),
            Form::Int8 | Form::Bit(_) => n_bytes,
        }
    }

    /// Returns the bytes in which a vector of `width` components is stored.
    pub(super) fn n_bytes(&self, width: usize) -> usize {
        match self {
            Form::Float32 => width * size_of::<f32>(),
            Form::Int8 | Form::Bit(_) => width,
        }
    }
}

/// The components.
#[derive(Debug)]
pub(super) enum Rows {
    Int8(Vec<i8>),
    Float32(Vec<f32>),
    Bit(Signs),
}

/// Signs, and the original vectors.
#[derive(Debug)]
pub(super) struct Signs {
    words: Vec<u64>,
    stored: Stored,
    apart: Arc<Apart>,
}

#[derive(Debug)]
enum Stored {
    /// While rows are added.
    Memory(Vec<i8>),
    File(Block),
}

/// Buffers that are reused from scan to scan.
#[derive(Default)]
pub(super) struct Workbench {
    sums: Vec<i32>,
    /// One number per row.
    pub values: Vec<f32>,
}

impl Rows {
    pub(super) fn with_room(form: &Form, width: usize) -> Self {
        match form {
            Form::Int8 => Rows::Int8(Vec::with_capacity(FULL * width)),
            Form::Float32 => Rows::Float32(Vec::with_capacity(FULL * width)),
            Form::Bit(apart) => Rows::Bit(Signs {
                words: Vec::with_capacity(FULL * turned_width(width) / WORD),
                stored: Stored::Memory(Vec::with_capacity(FULL * width)),
                apart: apart.clone(),
            }),
        }
    }

    /// Adds a vector as stored. Returns the divisor that makes a value of [`Rows::values`] a cosine, besides the
    /// question's length.
    pub(super) fn push(&mut self, bytes: &[u8]) -> f32 {
        let signed = || bytes.iter().map(|byte| byte.cast_signed());
        match self {
            Rows::Int8(components) => {
                components.extend(signed());
                length(signed())
            }
            Rows::Float32(components) => {
                let first = components.len();
                components.extend(floats(bytes));
                length_of_floats(components.get(first..).unwrap_or_default())
            }
            Rows::Bit(signs) => {
                if let Stored::Memory(components) = &mut signs.stored {
                    components.extend(signed());
                }
                let mut turned: Vec<f32> = signed().map(f32::from).collect();
                turn(&mut turned);
                let word = |some: &[f32]| {
                    let bit = |(i, it): (usize, &f32)| u64::from(*it >= 0.0) << i;
                    some.iter().enumerate().map(bit).sum::<u64>()
                };
                signs.words.extend(turned.chunks(WORD).map(word));
                // A vector x is estimated from its signs as x·q ≈ |x|² / Σ|xᵢ| · (sign(x)·q), which is exact for q =
                // x. Hence cos = (sign(x)·q) / (Σ|xᵢ| / |x|) / |q|.
                let spread: f32 = turned.iter().map(|it| it.abs()).sum();
                // Zeros get an infinite divisor, so that their cosine is 0.
                if spread > 0.0 { spread / length(signed()) } else { f32::INFINITY }
            }
        }
    }

    /// Copies a row of `other`; returns false if it cannot be read.
    pub(super) fn take_over(&mut self, other: &Rows, row: usize, width: usize) -> bool {
        match (self, other) {
            (Rows::Int8(to), Rows::Int8(from)) => copy(to, from, row, width),
            (Rows::Float32(to), Rows::Float32(from)) => copy(to, from, row, width),
            (Rows::Bit(to), Rows::Bit(from)) => {
                let Stored::Memory(stored) = &mut to.stored else { return false };
                let Some(bytes) = from.read(row, width) else { return false };
                stored.extend(bytes);
                copy(&mut to.words, &from.words, row, turned_width(width) / WORD)
            }
            _ => false,
        }
    }

    /// Moves what scans do not need to the file; no row may be added afterwards.
    pub(super) fn seal(&mut self) {
        let Rows::Bit(signs) = self else { return };
        let Stored::Memory(components) = &signs.stored else { return };
        let bytes: Vec<u8> = components.iter().map(|it| it.cast_unsigned()).collect();
        match signs.apart.put(&bytes) {
            Ok(block) => signs.stored = Stored::File(block),
            Err(error) => tracing::warn!(%error, "vectors stay in memory"),
        }
    }

    /// Computes each row's product with the question, exactly or as an estimate, into `bench.values`.
    pub(super) fn values(&self, question: &Question<'_>, n_rows: usize, bench: &mut Workbench) {
        let Workbench { sums, values } = bench;
        sums.clear();
        values.clear();
        match (self, question) {
            (Rows::Int8(components), Question::Int8(asked)) => {
                sums.resize(n_rows, 0);
                sys::dots(asked, components, sums);
                values.extend(sums.iter().map(|sum| *sum as f32));
            }
            (Rows::Float32(components), Question::Float32(asked)) => {
                values.resize(n_rows, 0.0);
                sys::float_dots(asked, components, values);
            }
            (Rows::Bit(signs), Question::Bit(asked)) => {
                sums.resize(n_rows, 0);
                sys::sign_sums(&asked.planes, asked.n_words, &signs.words, sums);
                values.extend(sums.iter().map(|sum| asked.value(*sum)));
            }
            // A question is always of the rows' form.
            _ => {}
        }
    }

    /// Returns the exact product of a row with the question, and the row's length; `None` if it cannot be read.
    pub(super) fn exact(
        &self,
        question: &Question<'_>,
        row: usize,
        width: usize,
    ) -> Option<(f32, f32)> {
        let places = row * width..(row + 1) * width;
        match (self, question) {
            (Rows::Int8(components), Question::Int8(asked)) => {
                Some(product(asked, components.get(places)?))
            }
            (Rows::Bit(signs), Question::Bit(asked)) => {
                Some(product(asked.exact, &signs.read(row, width)?))
            }
            (Rows::Float32(components), Question::Float32(asked)) => {
                let (components, mut dot) = (components.get(places)?, [0.0]);
                sys::float_dots(asked, components, &mut dot);
                Some((dot.iter().sum(), length_of_floats(components)))
            }
            _ => None,
        }
    }

    /// Adds a row, scaled to length 1, to `sum`; returns false if it cannot be read.
    pub(super) fn add_to(&self, sum: &mut [f32], row: usize, width: usize) -> bool {
        let places = row * width..(row + 1) * width;
        let components: Option<Vec<f32>> = match self {
            Rows::Int8(all) => {
                all.get(places).map(|it| it.iter().copied().map(f32::from).collect())
            }
            Rows::Float32(all) => all.get(places).map(<[f32]>::to_vec),
            Rows::Bit(signs) => {
                signs.read(row, width).map(|it| it.into_iter().map(f32::from).collect())
            }
        };
        let Some(components) = components else { return false };
        let length = length_of_floats(&components);
        sum.iter_mut().zip(components).for_each(|(sum, it)| *sum += it / length);
        true
    }

    /// Returns the memory they take, bytes.
    pub(super) fn n_bytes(&self) -> usize {
        match self {
            Rows::Int8(components) => components.capacity(),
            Rows::Float32(components) => components.capacity() * size_of::<f32>(),
            Rows::Bit(signs) => {
                let stored = match &signs.stored {
                    Stored::Memory(components) => components.capacity(),
                    Stored::File(_) => 0,
                };
                signs.words.capacity() * size_of::<u64>() + stored
            }
        }
    }
}

impl Signs {
    /// Returns the original components of a row.
    fn read(&self, row: usize, width: usize) -> Option<Vec<i8>> {
        match &self.stored {
            Stored::Memory(components) => {
                components.get(row * width..(row + 1) * width).map(<[i8]>::to_vec)
            }
            Stored::File(block) => {
                let mut bytes = vec![0; width];
                let read = block.read(row * width, &mut bytes);
                let why = |error: &std::io::Error| tracing::warn!(%error, "a vector is not read");
                read.inspect_err(why).ok()?;
                Some(bytes.into_iter().map(u8::cast_signed).collect())
            }
        }
    }
}

fn copy<T: Copy>(to: &mut Vec<T>, from: &[T], row: usize, width: usize) -> bool {
    let found = from.get(row * width..(row + 1) * width);
    to.extend_from_slice(found.unwrap_or_default());
    found.is_some()
}

fn product(asked: &[i8], components: &[i8]) -> (f32, f32) {
    let mut dot = [0];
    sys::dots(asked, components, &mut dot);
    (dot.iter().sum::<i32>() as f32, length(components.iter().copied()))
}

/// Returns the length of an int8 vector; infinite for zeros, so that its cosine with any other is 0.
pub(super) fn length(components: impl Iterator<Item = i8>) -> f32 {
    let squared: i32 = components.map(|x| i32::from(x) * i32::from(x)).sum();
    if squared == 0 { f32::INFINITY } else { (squared as f32).sqrt() }
}

/// As [`length`], for floats.
pub(super) fn length_of_floats(components: &[f32]) -> f32 {
    let squared: f32 = components.iter().map(|x| x * x).sum();
    if squared > 0.0 { squared.sqrt() } else { f32::INFINITY }
}

/// Decodes little-endian numbers.
pub(super) fn floats(bytes: &[u8]) -> impl Iterator<Item = f32> {
    bytes.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes))
}
