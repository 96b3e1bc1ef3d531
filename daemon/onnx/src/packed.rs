//! Packed: a matrix in blocks of 4-bit numbers with one scale per block (`Q4_0`).
//!
//! In: `NAME.q`, bytes of `[rows, columns / 2]`, and `NAME.d`, 16-bit floats of `[rows, columns / 32]`. Out: its rows
//! as 32-bit floats. In block `b` of a row, byte `j` holds column `32 b + j` in its low half and `32 b + 16 + j` in its
//! high half; a number is (half - 8) times the scale of its block.

use safetensors::Dtype;
use safetensors::tensor::TensorView;

use crate::weights::half_to_f32;

/// Columns per block.
const BLOCK: usize = 32;

/// A packed matrix.
pub(crate) struct Packed<'a> {
    halves: &'a [u8],
    scales: &'a [u8],
    n_rows: usize,
    n_columns: usize,
}

impl<'a> Packed<'a> {
    /// Takes the two tensors of a matrix; returns none if they do not fit each other.
    pub(crate) fn of(halves: &TensorView<'a>, scales: &TensorView<'a>) -> Option<Self> {
        let &[n_rows, n_bytes] = halves.shape() else { return None };
        let n_columns = n_bytes * 2;
        let is_sound = halves.dtype() == Dtype::U8
            && scales.dtype() == Dtype::F16
            && n_columns > 0
            && n_columns.is_multiple_of(BLOCK)
            && scales.shape() == [n_rows, n_columns / BLOCK];
        let (halves, scales) = (halves.data(), scales.data());
        is_sound.then_some(Packed { halves, scales, n_rows, n_columns })
    }

    pub(crate) fn shape(&self) -> [usize; 2] {
        [self.n_rows, self.n_columns]
    }

    /// Returns the rows in order.
    pub(crate) fn rows(&self) -> impl Iterator<Item = Vec<f32>> + use<'a> {
        let scales = self.scales.chunks_exact(self.n_columns / BLOCK * size_of::<u16>());
        self.halves.chunks_exact(self.n_columns / 2).zip(scales).map(|(halves, scales)| {
            let mut row = Vec::with_capacity(halves.len() * 2);
            for (block, scale) in halves.chunks_exact(BLOCK / 2).zip(scales.as_chunks().0) {
                let scale = half_to_f32(*scale);
                let number = |half: u8| (f32::from(half) - 8.0) * scale;
                row.extend(block.iter().map(|byte| number(byte & 0xf)));
                row.extend(block.iter().map(|byte| number(byte >> 4)));
            }
            row
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_by_eye() {
        let halves: Vec<u8> = (0..16).map(|j| j | (15 - j) << 4).collect();
        let scales = [0x00, 0x38]; // 0.5
        let view = |dtype, shape: &[usize], data| {
            TensorView::new(dtype, shape.to_vec(), data).expect("sound")
        };
        let packed =
            Packed::of(&view(Dtype::U8, &[1, 16], &halves), &view(Dtype::F16, &[1, 1], &scales))
                .expect("sound");
        let row = packed.rows().next().expect("a row");
        assert_eq!((row[0], row[15], row[16], row[31]), (-4.0, 3.5, 3.5, -4.0));
        assert_eq!((packed.shape(), packed.rows().count()), ([1, 32], 1));
        // Scales of another matrix.
        let other = [0; 4];
        assert!(
            Packed::of(&view(Dtype::U8, &[1, 16], &halves), &view(Dtype::F16, &[2, 1], &other))
                .is_none()
        );
    }
}
