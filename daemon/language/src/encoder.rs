//! Encoder: a vector of 96 numbers for each token, from its features and its neighbors' (spaCy's token-to-vector
//! layers).
//!
//! In: windows of tokens. Out: one row for each token of a window. Hash tables map each feature to a row; a
//! maxout layer mixes the features of a word; four more layers see three neighbors each and add to the row. The first
//! layer's output depends on the word alone, so it is cached.
//! Invariants: the same tokens give the same rows, whatever windows are requested together (equal up to rounding: the
//! kernel may add in another order); buffers are bounded by [`TILE_ROWS`].

use std::ops::Range;

use rustc_hash::FxHashMap;

use super::Token;
use super::data::{LoadError, Shipped, pieces_first};
use super::matrix::{Matrix, add};

/// Numbers in a token's vector.
pub(super) const WIDTH: usize = 96;

/// Tokens encoded at once: few enough for a layer's buffers to stay in a core's L2 cache, enough for a wide product.
pub(super) const TILE_TOKENS: usize = 256;

/// Layers that see neighbors; also how many tokens on either side a vector depends on, and how many rows of zeros
/// surround a text.
const DEPTH: usize = 4;

/// Rows encoded at once: those of [`TILE_TOKENS`] and of the tokens around them.
const TILE_ROWS: usize = TILE_TOKENS + 2 * DEPTH;

/// Pieces of a maxout layer: each output is the maximum of so many linear ones.
const PIECES: usize = 3;

/// Rows that are summed for a feature's id.
const N_HASHES: usize = 4;

/// Words whose first layer is cached; .8 MB.
const MAX_CACHED_WORDS: usize = 2048;

/// Added to a variance to avoid division by zero; the value is thinc's.
const EPSILON: f32 = 1e-8;

/// Ids of norm, prefix, suffix and shape; for syntax, also whether a blank follows and whether it is white space.
type Features = [u64; 6];

type Row = [f32; WIDTH];

/// A table whose rows are found by hashing, as f16 numbers in the binary.
#[derive(Debug)]
struct HashTable {
    halves: &'static [[u8; 2]],
    seed: u64,
}

/// A maxout layer with the normalization after it. Its outputs are in the order [pieces, units].
#[derive(Debug)]
struct Layer {
    matrix: Matrix,
    gain: Vec<f32>,
    offset: Vec<f32>,
}

/// Some tokens of a text.
#[derive(Debug, Clone)]
pub(super) struct Window<'a> {
    /// All tokens of the text.
    pub(super) tokens: &'a [Token],
    /// Those that are requested, at most [`TILE_TOKENS`].
    pub(super) range: Range<usize>,
}

impl<'a> Window<'a> {
    /// Returns how many rows it takes to encode the window.
    fn n_rows(&self) -> usize {
        self.range.len() + 2 * DEPTH
    }

    /// Returns the tokens that the rows of the window depend on, and how many of them precede it.
    fn surroundings(&self) -> (&'a [Token], usize) {
        let Range { start, end } = self.range;
        let first = start.saturating_sub(DEPTH);
        let last = (end + DEPTH).min(self.tokens.len());
        (self.tokens.get(first..last).unwrap_or_default(), start - first)
    }
}

/// Returns how many of the first windows can be encoded at once, at least 1.
pub(super) fn n_at_once(windows: &[Window<'_>]) -> usize {
    let mut n_rows = 0;
    let fits = windows.iter().take_while(|window| {
        n_rows += window.n_rows();
        n_rows <= TILE_ROWS
    });
    fits.count().max(1)
}

#[derive(Debug)]
pub(super) struct Encoder {
    tables: Vec<HashTable>,
    mixer: Layer,
    convolutions: Vec<Layer>,
}

/// The caches and buffers that one thread needs for one encoder.
#[derive(Debug, Default)]
pub(super) struct EncoderBench {
    places: FxHashMap<Features, u32>,
    words: Vec<Row>,
    /// Rows of the tile and of the tokens around it.
    rows: Vec<f32>,
    products: Vec<f32>,
    embedded: Vec<f32>,
    /// Buffer for the scores that the caller computes from the rows.
    pub(super) scores: Vec<f32>,
}

impl Encoder {
    pub(super) fn new(shipped: &Shipped, name: &str, seeds: &[u64]) -> Result<Self, LoadError> {
        let table = |(i, seed): (usize, &u64)| -> Result<HashTable, LoadError> {
            Ok(HashTable { halves: shipped.halves(&format!("{name}.embed.{i}.E"))?, seed: *seed })
        };
        let layer = |i: usize, n_in: usize| -> Result<Layer, LoadError> {
            let n_out = WIDTH * PIECES;
            let rows = shipped.numbers(&format!("{name}.maxout.{i}.W"), n_out * n_in)?;
            let bias = shipped.numbers(&format!("{name}.maxout.{i}.b"), n_out)?;
            let rows = pieces_first(&rows, PIECES, n_in);
            let matrix = Matrix::from_rows(n_in, &rows, pieces_first(&bias, PIECES, 1));
            let gain = shipped.numbers(&format!("{name}.ln.{i}.G"), WIDTH)?;
            Ok(Layer { matrix, gain, offset: shipped.numbers(&format!("{name}.ln.{i}.b"), WIDTH)? })
        };
        Ok(Encoder {
            tables: seeds.iter().enumerate().map(table).collect::<Result<_, _>>()?,
            mixer: layer(0, WIDTH * seeds.len())?,
            convolutions: (1..=DEPTH).map(|i| layer(i, WIDTH * 3)).collect::<Result<_, _>>()?,
        })
    }

    /// Returns the rows of the windows' tokens, one after another. They depend on the tokens around each window, too.
    /// Many short windows in one call cost far less than a call for each: a product copies its weights first.
    pub(super) fn encode<'a>(
        &self,
        windows: &[Window<'_>],
        bench: &'a mut EncoderBench,
    ) -> &'a [f32] {
        self.gather(windows, bench);
        let EncoderBench { rows, products, .. } = bench;
        for layer in &self.convolutions {
            // Rows are contiguous, so the window of three neighbors is 288 numbers from its first row on: no copy is
            // needed.
            let n_rows = (rows.len() / WIDTH).saturating_sub(2);
            layer.matrix.times(rows, n_rows, WIDTH, products);
            let mut normal = [0.0; WIDTH];
            for (i, product) in products.chunks_exact(WIDTH * PIECES).enumerate() {
                layer.finish(product, &mut normal);
                // The window's middle moves to where the window began, so each layer leaves two rows fewer.
                let start = i * WIDTH;
                rows.copy_within(start + WIDTH..start + 2 * WIDTH, start);
                rows.get_mut(start..start + WIDTH).into_iter().for_each(|row| add(row, &normal));
            }
            rows.truncate(n_rows * WIDTH);
        }
        // Rows between two windows mixed tokens of both; they are dropped.
        let (mut from, mut to) = (0, 0);
        for window in windows {
            let n = window.range.len() * WIDTH;
            rows.copy_within(from..from + n, to);
            (from, to) = (from + window.n_rows() * WIDTH, to + n);
        }
        rows.truncate(to);
        rows
    }

    /// Sets `rows` to the first layer's output for each window and [`DEPTH`] tokens on either side; zeros outside the
    /// text.
    fn gather(&self, windows: &[Window<'_>], bench: &mut EncoderBench) {
        // Clear before adding: all words of these windows must be in the cache at once.
        let n_known: usize = windows.iter().map(|window| window.surroundings().0.len()).sum();
        if bench.words.len() + n_known > MAX_CACHED_WORDS {
            bench.places.clear();
            bench.words.clear();
        }
        self.learn(windows.iter().flat_map(|window| window.surroundings().0), bench);
        bench.rows.clear();
        for window in windows {
            let end = bench.rows.len() + window.n_rows() * WIDTH;
            let (tokens, n_before) = window.surroundings();
            bench.rows.resize(bench.rows.len() + (DEPTH - n_before) * WIDTH, 0.0);
            for token in tokens {
                let place = bench.places.get(&features(token, self.tables.len()));
                let row = place.and_then(|place| bench.words.get(*place as usize));
                bench.rows.extend_from_slice(row.unwrap_or(&[0.0; WIDTH]));
            }
            bench.rows.resize(end, 0.0);
        }
    }

    /// Computes the first layer for the words that are not cached, in one product.
    fn learn<'t>(&self, tokens: impl Iterator<Item = &'t Token>, bench: &mut EncoderBench) {
        bench.embedded.clear();
        let n_before = bench.words.len();
        let mut n_new = 0;
        for token in tokens {
            let features = features(token, self.tables.len());
            let fresh = (n_before + n_new) as u32;
            // The entry is new exactly if it got the next free index.
            if *bench.places.entry(features).or_insert(fresh) == fresh {
                n_new += 1;
                for (table, id) in self.tables.iter().zip(features) {
                    bench.embedded.extend_from_slice(&table.row(id));
                }
            }
        }
        let stride = self.mixer.matrix.n_in;
        self.mixer.matrix.times(&bench.embedded, n_new, stride, &mut bench.products);
        for product in bench.products.chunks_exact(WIDTH * PIECES) {
            let mut row = [0.0; WIDTH];
            self.mixer.finish(product, &mut row);
            bench.words.push(row);
        }
    }
}

/// Returns the keys for the first `n` tables; the rest are zeros, so that words that differ only in unused keys share
/// a cache entry.
fn features(token: &Token, n: usize) -> Features {
    let lexeme = &token.lexeme;
    let (is_followed, is_space) = (token.has_blank_after.into(), lexeme.is_space.into());
    let all = [lexeme.norm, lexeme.prefix, lexeme.suffix, lexeme.shape, is_followed, is_space];
    std::array::from_fn(|i| if i < n { all.get(i).copied().unwrap_or(0) } else { 0 })
}

impl Layer {
    /// Returns the maximum of each output's pieces, normalized to mean 0 and variance 1, then scaled and shifted.
    fn finish(&self, product: &[f32], normal: &mut Row) {
        let (first, rest) = product.split_at(WIDTH);
        let (second, third) = rest.split_at(WIDTH);
        let (bias, rest) = self.matrix.bias.split_at(WIDTH);
        let (second_bias, third_bias) = rest.split_at(WIDTH);
        for (out, (value, bias)) in normal.iter_mut().zip(first.iter().zip(bias)) {
            *out = value + bias;
        }
        for (piece, bias) in [(second, second_bias), (third, third_bias)] {
            for (out, (value, bias)) in normal.iter_mut().zip(piece.iter().zip(bias)) {
                let value = value + bias;
                *out = if value > *out { value } else { *out };
            }
        }
        let mean = sum(normal, |value| value) / WIDTH as f32;
        let variance = sum(normal, |value| (value - mean) * (value - mean)) / WIDTH as f32;
        let factor = 1.0 / (variance + EPSILON).sqrt();
        for (out, (gain, offset)) in normal.iter_mut().zip(self.gain.iter().zip(&self.offset)) {
            *out = (*out - mean) * factor * gain + offset;
        }
    }
}

/// Returns the sum over a row, in eight lanes, so that the compiler can use vector instructions.
fn sum(row: &Row, of: impl Fn(f32) -> f32) -> f32 {
    let mut lanes = [0.0f32; 8];
    for eight in row.as_chunks::<8>().0 {
        lanes.iter_mut().zip(eight).for_each(|(lane, value)| *lane += of(*value));
    }
    lanes.iter().sum()
}

impl HashTable {
    /// Returns the sum of the rows that an id is hashed to.
    fn row(&self, id: u64) -> Row {
        let mut sum = [0.0; WIDTH];
        let n_rows = (self.halves.len() / WIDTH).max(1);
        for hash in hashes(id, self.seed) {
            let start = hash as usize % n_rows * WIDTH;
            let row = self.halves.get(start..start + WIDTH).unwrap_or_default();
            sum.iter_mut().zip(row).for_each(|(sum, &half)| *sum += half_to_f32(half));
        }
        sum
    }
}

/// Converts an IEEE 754 half, little-endian and finite. The exponent is corrected by a multiplication, which is exact
/// for subnormal numbers, too.
fn half_to_f32(bytes: [u8; 2]) -> f32 {
    /// 2 to the power of 112, the difference of the two formats' biases (127 - 15).
    const SCALE: f32 = f32::from_bits((127 + 112) << 23);
    let bits = u32::from(u16::from_le_bytes(bytes));
    // Without the sign bit, both formats are exponent, then mantissa: 13 is the difference of their mantissas'
    // lengths.
    let magnitude = f32::from_bits((bits & 0x7fff) << 13) * SCALE;
    f32::from_bits(magnitude.to_bits() | (bits & 0x8000) << 16)
}

/// MurmurHash 3 (x64, 128 bits) of an id's eight bytes, as four 32-bit numbers.
fn hashes(id: u64, seed: u64) -> [u32; N_HASHES] {
    const N_BYTES: u64 = 8;
    let mixed =
        id.wrapping_mul(0x87c3_7b91_1142_53d5).rotate_left(31).wrapping_mul(0x4cf5_ad43_2745_937f);
    let (mut low, mut high) = (mixed ^ seed ^ N_BYTES, seed ^ N_BYTES);
    low = low.wrapping_add(high);
    high = high.wrapping_add(low);
    (low, high) = (avalanche(low), avalanche(high));
    low = low.wrapping_add(high);
    high = high.wrapping_add(low);
    [low as u32, (low >> 32) as u32, high as u32, (high >> 32) as u32]
}

fn avalanche(mut hash: u64) -> u64 {
    hash = (hash ^ hash >> 33).wrapping_mul(0xff51_afd7_ed55_8ccd);
    hash = (hash ^ hash >> 33).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    hash ^ hash >> 33
}

#[cfg(test)]
mod tests {
    use super::half_to_f32;

    #[test]
    fn halves_are_read_exactly() {
        let expected = [
            (0x0000, 0.0),
            (0x8000, -0.0),
            (0x0001, 2f32.powi(-24)),
            (0x83ff, -1023.0 * 2f32.powi(-24)),
            (0x0400, 2f32.powi(-14)),
            (0x3c00, 1.0),
            (0xc500, -5.0),
            (0x7bff, 65504.0),
        ];
        for (bits, value) in expected {
            let half = half_to_f32(u16::to_le_bytes(bits));
            assert_eq!(half.to_bits(), f32::to_bits(value), "{bits:#x}");
        }
    }
}
