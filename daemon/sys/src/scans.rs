//! Scans: the products of one vector of floats, or of four-bit numbers, with many rows, with the widest instructions
//! of the machine, as `dots.rs` does for int8.
//!
//! `unsafe` is only used to call a function after its instructions were detected.

/// Bits of a component of a question in [`sign_sums`]; in two's complement, the last one counts negative.
pub const N_PLANES: usize = 4;

/// Partial sums of a float product: the same number on every machine, so that the rounding, and so the result, is
/// equal.
const LANES: usize = 16;

/// Sets each of `out` to the dot product of `query` with one of `rows`, which follow one another and are as long as
/// `query`. Rows beyond the end of either are skipped.
pub fn float_dots(query: &[f32], rows: &[f32], out: &mut [f32]) {
    #[cfg(target_arch = "x86_64")]
    {
        if std::arch::is_x86_feature_detected!("avx512f") {
            // SAFETY: these instructions were just detected.
            return unsafe { float_dots_avx512(query, rows, out) };
        }
        if std::arch::is_x86_feature_detected!("avx2") {
            // SAFETY: these instructions were just detected.
            return unsafe { float_dots_avx2(query, rows, out) };
        }
    }
    float_dots_anywhere(query, rows, out);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn float_dots_avx512(query: &[f32], rows: &[f32], out: &mut [f32]) {
    float_dots_anywhere(query, rows, out);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn float_dots_avx2(query: &[f32], rows: &[f32], out: &mut [f32]) {
    float_dots_anywhere(query, rows, out);
}

#[inline(always)]
fn float_dots_anywhere(query: &[f32], rows: &[f32], out: &mut [f32]) {
    if query.is_empty() {
        return out.fill(0.0);
    }
    let (query_lanes, query_rest) = query.as_chunks::<LANES>();
    for (out, row) in out.iter_mut().zip(rows.chunks_exact(query.len())) {
        let (row_lanes, row_rest) = row.as_chunks::<LANES>();
        let mut sums = [0.0f32; LANES];
        for (a, b) in query_lanes.iter().zip(row_lanes) {
            for i in 0..LANES {
                sums[i] += a[i] * b[i];
            }
        }
        let rest: f32 = query_rest.iter().zip(row_rest).map(|(a, b)| a * b).sum();
        *out = sums.iter().sum::<f32>() + rest;
    }
}

/// Sets each of `out` to the sum of those of the question's numbers whose bit is set in one of `rows`, each `n_words`
/// words of bits. `planes` holds the numbers bit by bit, [`N_PLANES`] times `n_words` words, in two's complement.
/// Rows beyond the end of either are skipped.
pub fn sign_sums(planes: &[u64], n_words: usize, rows: &[u64], out: &mut [i32]) {
    #[cfg(target_arch = "x86_64")]
    {
        if std::arch::is_x86_feature_detected!("avx512vpopcntdq")
            && std::arch::is_x86_feature_detected!("avx512vl")
        {
            // SAFETY: these instructions were just detected.
            return unsafe { sign_sums_avx512(planes, n_words, rows, out) };
        }
        if std::arch::is_x86_feature_detected!("popcnt") {
            // SAFETY: this instruction was just detected.
            return unsafe { sign_sums_popcnt(planes, n_words, rows, out) };
        }
    }
    sign_sums_anywhere(planes, n_words, rows, out);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512vl,avx512vpopcntdq,popcnt")]
fn sign_sums_avx512(planes: &[u64], n_words: usize, rows: &[u64], out: &mut [i32]) {
    sign_sums_anywhere(planes, n_words, rows, out);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "popcnt")]
fn sign_sums_popcnt(planes: &[u64], n_words: usize, rows: &[u64], out: &mut [i32]) {
    sign_sums_anywhere(planes, n_words, rows, out);
}

/// Dispatches on the length: loops of a known length are unrolled, and the usual lengths of models are listed here.
#[inline(always)]
fn sign_sums_anywhere(planes: &[u64], n_words: usize, rows: &[u64], out: &mut [i32]) {
    match n_words {
        0 => out.fill(0),
        2 => sign_sums_of::<2>(planes, rows, out),
        4 => sign_sums_of::<4>(planes, rows, out),
        6 => sign_sums_of::<6>(planes, rows, out),
        8 => sign_sums_of::<8>(planes, rows, out),
        12 => sign_sums_of::<12>(planes, rows, out),
        n_words => {
            for (out, row) in out.iter_mut().zip(rows.chunks_exact(n_words)) {
                let counts = planes.chunks_exact(n_words).map(|plane| count(plane, row));
                *out = worth(counts);
            }
        }
    }
}

#[inline(always)]
fn sign_sums_of<const W: usize>(planes: &[u64], rows: &[u64], out: &mut [i32]) {
    let Some(planes) = planes.as_chunks::<W>().0.first_chunk::<N_PLANES>() else { return };
    for (out, row) in out.iter_mut().zip(rows.as_chunks::<W>().0) {
        *out = worth(planes.iter().map(|plane| count(plane, row)));
    }
}

#[inline(always)]
fn count(plane: &[u64], row: &[u64]) -> i32 {
    plane.iter().zip(row).map(|(a, b)| (a & b).count_ones() as i32).sum()
}

/// Adds up the bit counts of all planes, each worth twice the one before, the last one negative.
#[inline(always)]
fn worth(counts: impl Iterator<Item = i32>) -> i32 {
    let weigh = |(i, n): (usize, i32)| if i + 1 == N_PLANES { -(n << i) } else { n << i };
    counts.take(N_PLANES).enumerate().map(weigh).sum()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_machine_gets_the_same_sums(
            n_words in prop::sample::select(vec![0_usize, 1, 2, 3, 4, 6, 8, 12]),
            seed in any::<u64>(),
        ) {
            let mut state = seed | 1;
            let mut next = || {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                state
            };
            let numbers: Vec<i32> = (0..n_words * 64).map(|_| (next() >> 40) as i32 % 16 - 8).collect();
            let mut planes = vec![0_u64; n_words * N_PLANES];
            for (i, number) in numbers.iter().enumerate() {
                for plane in (0..N_PLANES).filter(|plane| number >> plane & 1 == 1) {
                    planes[plane * n_words + i / 64] |= 1 << (i % 64);
                }
            }
            let rows: Vec<u64> = (0..n_words * 5).map(|_| next()).collect();
            let has_bit = |row: usize, i: usize| rows[row * n_words + i / 64] >> (i % 64) & 1 == 1;
            let plain: Vec<i32> = (0..5)
                .map(|row| (0..numbers.len()).filter(|i| has_bit(row, *i)).map(|i| numbers[i]).sum())
                .collect();
            let (mut widest, mut portable) = ([7; 5], [7; 5]);
            sign_sums(&planes, n_words, &rows, &mut widest);
            sign_sums_anywhere(&planes, n_words, &rows, &mut portable);
            prop_assert_eq!(&widest[..], &plain[..]);
            prop_assert_eq!(&portable[..], &plain[..]);
        }

        #[test]
        fn products_of_floats_are_the_same_everywhere(
            query in prop::collection::vec(-1.0f32..1.0, 0..60),
            seed in any::<u32>(),
        ) {
            let component = |i: usize| ((i as u32).wrapping_mul(seed | 1) >> 8) as f32 / 1e7 - 0.8;
            let rows: Vec<f32> = (0..query.len() * 3).map(component).collect();
            let (mut widest, mut portable) = ([7.0; 3], [7.0; 3]);
            float_dots(&query, &rows, &mut widest);
            float_dots_anywhere(&query, &rows, &mut portable);
            prop_assert_eq!(widest, portable);
            for (row, dot) in portable.iter().enumerate() {
                let rows = rows.iter().skip(row * query.len());
                let plain: f64 = query.iter().zip(rows).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum();
                prop_assert!((plain - f64::from(*dot)).abs() < 1e-4, "{plain} {dot}");
            }
        }
    }
}
