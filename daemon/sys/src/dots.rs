//! Dots: the dot products of one int8 vector with many, with the widest instructions of the machine.
//!
//! Plain loops that the compiler turns into vector instructions, compiled once for each kind of machine; they are as
//! fast as a library of hand-written kernels (`tests/benches/RESULTS.md`, vectors). `unsafe` is only used to call a
//! function after its instructions were detected.

/// Sets each of `out` to the dot product of `query` with one of `rows`, which follow one another and are as long as
/// `query`. Rows beyond the end of either are skipped.
pub fn dots(query: &[i8], rows: &[i8], out: &mut [i32]) {
    #[cfg(target_arch = "x86_64")]
    {
        if std::arch::is_x86_feature_detected!("avx512bw")
            && std::arch::is_x86_feature_detected!("avx512vl")
            && std::arch::is_x86_feature_detected!("avx512vnni")
        {
            // SAFETY: these instructions were just detected.
            return unsafe { dots_avx512(query, rows, out) };
        }
        if std::arch::is_x86_feature_detected!("avx2") {
            // SAFETY: these instructions were just detected.
            return unsafe { dots_avx2(query, rows, out) };
        }
    }
    dots_of_any_length(query, rows, out);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vnni")]
fn dots_avx512(query: &[i8], rows: &[i8], out: &mut [i32]) {
    dots_of_any_length(query, rows, out);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn dots_avx2(query: &[i8], rows: &[i8], out: &mut [i32]) {
    dots_of_any_length(query, rows, out);
}

/// Dispatches on the length: loops of a known length are unrolled, and the usual lengths of models are listed here.
#[inline(always)]
fn dots_of_any_length(query: &[i8], rows: &[i8], out: &mut [i32]) {
    match query.len() {
        0 => out.fill(0),
        128 => dots_of_length::<128>(query, rows, out),
        256 => dots_of_length::<256>(query, rows, out),
        384 => dots_of_length::<384>(query, rows, out),
        512 => dots_of_length::<512>(query, rows, out),
        768 => dots_of_length::<768>(query, rows, out),
        length => {
            for (out, row) in out.iter_mut().zip(rows.chunks_exact(length)) {
                *out = query.iter().zip(row).map(|(a, b)| product(*a, *b)).sum();
            }
        }
    }
}

#[inline(always)]
fn dots_of_length<const N: usize>(query: &[i8], rows: &[i8], out: &mut [i32]) {
    let Some(query) = query.first_chunk::<N>() else { return };
    for (out, row) in out.iter_mut().zip(rows.as_chunks::<N>().0) {
        let mut sum = 0;
        for i in 0..N {
            sum += product(query[i], row[i]);
        }
        *out = sum;
    }
}

#[inline(always)]
fn product(a: i8, b: i8) -> i32 {
    // The product of two int8 fits an int16, which the compiler turns into a multiply-add of pairs.
    i32::from(i16::from(a) * i16::from(b))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{dots, dots_of_any_length};

    proptest! {
        #[test]
        fn every_machine_gets_the_same_products(
            length in prop::sample::select(vec![0_usize, 1, 3, 100, 128, 256, 384]),
            seed in any::<u64>(),
        ) {
            let mut state = seed | 1;
            let mut next = || {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                state as i8
            };
            let query: Vec<i8> = (0..length).map(|_| next()).collect();
            let rows: Vec<i8> = (0..length * 5).map(|_| next()).collect();
            let plain: Vec<i32> = (0..5)
                .map(|row| (0..length).map(|i| i32::from(query[i]) * i32::from(rows[row * length + i])).sum())
                .collect();
            let (mut widest, mut portable) = ([7; 5], [7; 5]);
            dots(&query, &rows, &mut widest);
            dots_of_any_length(&query, &rows, &mut portable);
            prop_assert_eq!(&widest[..], &plain[..]);
            prop_assert_eq!(&portable[..], &plain[..]);
        }
    }
}
