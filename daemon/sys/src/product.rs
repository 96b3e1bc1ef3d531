//! Product: a matrix product on one core, with the widest instructions of the machine.
//!
//! The crate's kernel takes pointers and strides; here they are checked against the slices they come from.

/// Rows of `width` numbers that start every `stride` numbers of `values`. They may overlap.
#[derive(Debug, Clone, Copy)]
pub struct Rows<'a> {
    /// All numbers.
    pub values: &'a [f32],
    /// Number of rows.
    pub n_rows: usize,
    /// Numbers per row.
    pub width: usize,
    /// Distance from one row's first number to the next row's.
    pub stride: usize,
}

/// Sets `out` [rows, outputs] to the products of each row with `weights` [width, outputs]. Does nothing if the sizes
/// do not match.
pub fn product(rows: &Rows<'_>, weights: &[f32], out: &mut [f32]) {
    let Rows { values, n_rows, width, stride } = *rows;
    if n_rows == 0 || width == 0 {
        return;
    }
    let n_out = weights.len() / width;
    let last = (n_rows - 1).checked_mul(stride).and_then(|first| first.checked_add(width));
    let is_inside = last.is_some_and(|last| last <= values.len());
    let is_whole = n_out * width == weights.len() && n_out.checked_mul(n_rows) == Some(out.len());
    let (Ok(row_step), Ok(out_step)) = (isize::try_from(stride), isize::try_from(n_out)) else {
        return;
    };
    debug_assert!(is_inside && is_whole, "{n_rows} x {width} by {n_out} into {}", out.len());
    if !is_inside || !is_whole {
        return;
    }
    // SAFETY: the kernel reads rows i < n_rows at i * stride + k with k < width, all below `values.len()`; weights at
    // k * n_out + j with j < n_out, all below `weights.len()`; and writes i * n_out + j, all below `out.len()`. `out`
    // is borrowed alone, so it overlaps neither.
    unsafe {
        matrixmultiply::sgemm(
            n_rows,
            width,
            n_out,
            1.0,
            values.as_ptr(),
            row_step,
            1,
            weights.as_ptr(),
            out_step,
            1,
            0.0,
            out.as_mut_ptr(),
            out_step,
            1,
        );
    }
}

/// Sets `out` [rows, others] to the products of each row with each of the others, which have the same width. Does
/// nothing if the sizes do not match.
pub fn products(rows: &Rows<'_>, others: &Rows<'_>, out: &mut [f32]) {
    let is_inside = |it: &Rows<'_>| {
        let last = it.n_rows.checked_sub(1).and_then(|last| last.checked_mul(it.stride));
        last.and_then(|first| first.checked_add(it.width)).is_some_and(|end| end <= it.values.len())
    };
    let width = rows.width;
    let fits = is_inside(rows) && is_inside(others) && others.width == width && width > 0;
    let is_whole = rows.n_rows.checked_mul(others.n_rows) == Some(out.len());
    let steps = [rows.stride, others.stride, others.n_rows].map(isize::try_from);
    let [Ok(row_step), Ok(other_step), Ok(out_step)] = steps else { return };
    if !fits || !is_whole {
        return;
    }
    // SAFETY: the kernel reads rows i < n_rows at i * stride + k with k < width of both, all below their
    // `values.len()`; and writes i * others.n_rows + j with j < others.n_rows, all below `out.len()`. `out` is borrowed
    // alone, so it overlaps neither.
    // The steps of `others` are exchanged: the kernel reads them as columns, that is transposed.
    unsafe {
        matrixmultiply::sgemm(
            rows.n_rows,
            width,
            others.n_rows,
            1.0,
            rows.values.as_ptr(),
            row_step,
            1,
            others.values.as_ptr(),
            1,
            other_step,
            0.0,
            out.as_mut_ptr(),
            out_step,
            1,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::{Rows, product, products};

    #[test]
    fn rows_are_multiplied_with_rows() {
        let rows = |values, n_rows| Rows { values, n_rows, width: 2, stride: 2 };
        let (one, other) = ([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [1.0, 0.0, 10.0, 1.0]);
        let mut out = [0.0; 6];
        products(&rows(&one, 3), &rows(&other, 2), &mut out);
        assert_eq!(out, [1.0, 12.0, 3.0, 34.0, 5.0, 56.0]);
        let mut unfit = [7.0; 5];
        products(&rows(&one, 3), &rows(&other, 2), &mut unfit);
        products(&rows(&one, 4), &rows(&other, 2), &mut [0.0; 8]);
        assert_eq!(unfit, [7.0; 5]);
    }

    #[test]
    fn rows_that_overlap_are_multiplied_like_any_others() {
        let values: Vec<f32> = (0..6).map(|i| i as f32).collect();
        let weights = [1.0, 0.0, 10.0, 1.0, 100.0, 0.0];
        let mut out = [0.0; 4];
        product(&Rows { values: &values, n_rows: 2, width: 3, stride: 2 }, &weights, &mut out);
        assert_eq!(out, [210.0, 1.0, 432.0, 3.0]);
    }
}
