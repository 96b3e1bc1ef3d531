//! Sums: weighted sums of rows, the layers of small classifiers, with the widest instructions of the machine, as
//! `dots.rs` does for products.
//!
//! Each output is summed by itself, row after row, so the result is the same on every machine. `unsafe` is only used to
//! call a function after its instructions were detected.

/// Outputs that are summed at once at least; any beyond a multiple of it are summed one by one.
pub const SUMS_AT_ONCE: usize = 16;

/// Adds to each of `out` its number in each of `rows`, times the row's weight. The rows follow one another and are as
/// long as `out`; rows and weights beyond the end of the other are skipped.
pub fn add_rows(weights: &[f32], rows: &[f32], out: &mut [f32]) {
    #[cfg(target_arch = "x86_64")]
    {
        if std::arch::is_x86_feature_detected!("avx512f") {
            // SAFETY: these instructions were just detected.
            return unsafe { add_rows_avx512(weights, rows, out) };
        }
        if std::arch::is_x86_feature_detected!("avx2") {
            // SAFETY: these instructions were just detected.
            return unsafe { add_rows_avx2(weights, rows, out) };
        }
    }
    add_rows_anywhere(weights, rows, out);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn add_rows_avx512(weights: &[f32], rows: &[f32], out: &mut [f32]) {
    add_rows_anywhere(weights, rows, out);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn add_rows_avx2(weights: &[f32], rows: &[f32], out: &mut [f32]) {
    add_rows_anywhere(weights, rows, out);
}

#[inline(always)]
fn add_rows_anywhere(weights: &[f32], rows: &[f32], out: &mut [f32]) {
    let rows = rows.chunks_exact(out.len().max(1));
    add(weights.iter().copied().zip(rows), out, |number| *number);
}

/// As [`add_rows`], for rows of int8 that lie anywhere, each with its weight. Rows of another length than `out` are
/// skipped.
pub fn add_byte_rows(rows: &[(f32, &[u8])], out: &mut [f32]) {
    #[cfg(target_arch = "x86_64")]
    {
        if std::arch::is_x86_feature_detected!("avx512f") {
            // SAFETY: these instructions were just detected.
            return unsafe { add_byte_rows_avx512(rows, out) };
        }
        if std::arch::is_x86_feature_detected!("avx2") {
            // SAFETY: these instructions were just detected.
            return unsafe { add_byte_rows_avx2(rows, out) };
        }
    }
    add_byte_rows_anywhere(rows, out);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn add_byte_rows_avx512(rows: &[(f32, &[u8])], out: &mut [f32]) {
    add_byte_rows_anywhere(rows, out);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn add_byte_rows_avx2(rows: &[(f32, &[u8])], out: &mut [f32]) {
    add_byte_rows_anywhere(rows, out);
}

#[inline(always)]
fn add_byte_rows_anywhere(rows: &[(f32, &[u8])], out: &mut [f32]) {
    let length = out.len();
    let rows = rows.iter().filter(|(_, row)| row.len() == length);
    add(rows.map(|(weight, row)| (*weight, *row)), out, |byte| f32::from(*byte as i8));
}

/// Sums 64 outputs at once, which fill half of the registers of AVX2, then fewer, then one by one.
#[inline(always)]
fn add<'a, T: 'a>(
    rows: impl Iterator<Item = (f32, &'a [T])> + Clone,
    out: &mut [f32],
    number: impl Fn(&T) -> f32 + Copy,
) {
    let mut at = 0;
    while at < out.len() {
        at += match out.len() - at {
            64.. => add_block::<64, T>(rows.clone(), at, out, number),
            32.. => add_block::<32, T>(rows.clone(), at, out, number),
            SUMS_AT_ONCE.. => add_block::<SUMS_AT_ONCE, T>(rows.clone(), at, out, number),
            _ => add_block::<1, T>(rows.clone(), at, out, number),
        };
    }
}

/// Adds to `N` outputs from `at` on; returns `N`.
#[inline(always)]
fn add_block<'a, const N: usize, T: 'a>(
    rows: impl Iterator<Item = (f32, &'a [T])>,
    at: usize,
    out: &mut [f32],
    number: impl Fn(&T) -> f32,
) -> usize {
    if let Some(out) = out.get_mut(at..).and_then(|it| it.first_chunk_mut::<N>()) {
        let mut sums = *out;
        for (weight, row) in rows {
            let Some(row) = row.get(at..).and_then(|it| it.first_chunk::<N>()) else { continue };
            for i in 0..N {
                sums[i] += weight * number(&row[i]);
            }
        }
        *out = sums;
    }
    N
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_machine_gets_the_same_sums(
            n_outputs in prop::sample::select(vec![0_usize, 1, 17, 48, 64, 65, 130]),
            weights in prop::collection::vec(-2.0f32..2.0, 0..9),
            seed in any::<u32>(),
        ) {
            let byte = |i: usize| ((i as u32).wrapping_mul(seed | 1) >> 11) as u8;
            let bytes: Vec<u8> = (0..n_outputs * weights.len()).map(byte).collect();
            let floats: Vec<f32> = bytes.iter().map(|it| f32::from(*it as i8)).collect();
            let chosen: Vec<(f32, &[u8])> =
                weights.iter().copied().zip(bytes.chunks_exact(n_outputs.max(1))).collect();
            let plain: Vec<f32> = (0..n_outputs)
                .map(|i| chosen.iter().fold(1.0, |sum, (weight, row)| sum + weight * f32::from(row[i] as i8)))
                .collect();
            let mut sums = vec![vec![1.0; n_outputs]; 4];
            let [a, b, c, d] = &mut sums[..] else { unreachable!() };
            add_rows(&weights, &floats, a);
            add_rows_anywhere(&weights, &floats, b);
            add_byte_rows(&chosen, c);
            add_byte_rows_anywhere(&chosen, d);
            for sums in sums {
                prop_assert_eq!(&sums, &plain);
            }
        }
    }
}
