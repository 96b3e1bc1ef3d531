//! Turn: a fixed rotation, after which every component of a vector says about as much as any other.
//!
//! In: vectors. Out: the same, rotated, padded with zeros to whole words of bits. Lengths and angles stay.
//! A model's components differ much in size, and a sign says little about a large one. After the rotation, which
//! flips some signs and adds and subtracts in pairs (a Hadamard transform), a sign says as much about each: J. Gao,
//! C. Long: RaBitQ (2024).
//! Invariants: the same on every machine and at every start.

/// Bits of a word.
pub(super) const WORD: usize = 64;

/// Number of times that signs are flipped and components mixed.
const ROUNDS: usize = 2;

/// Returns the number of components after the rotation: a multiple of [`WORD`].
pub(super) fn turned_width(width: usize) -> usize {
    width.next_multiple_of(WORD)
}

/// Pads `vector` with zeros and rotates it.
pub(super) fn turn(vector: &mut Vec<f32>) {
    vector.resize(turned_width(vector.len()), 0.0);
    let n = vector.len();
    // A Hadamard transform needs a power of two: this is the largest one that divides `n`.
    let block = n & n.wrapping_neg();
    for round in 0..ROUNDS {
        flip(vector, round as u64);
        vector.chunks_exact_mut(block.max(1)).for_each(mix);
        // Several blocks are mixed with each other in the next round.
        if block < n {
            deal(vector, n / block);
        }
    }
}

/// Flips the signs of about half of the components; which half depends on the round.
fn flip(vector: &mut [f32], round: u64) {
    for (word, some) in vector.chunks_mut(WORD).enumerate() {
        // The mixing function of SplitMix64 over round and word: a fixed pattern that looks random.
        let mut bits =
            (round << 32 | word as u64).wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^= bits >> 31;
        for (i, component) in some.iter_mut().enumerate() {
            if bits >> i & 1 == 1 {
                *component = -*component;
            }
        }
    }
}

/// The Hadamard transform in place, scaled so that the length stays.
fn mix(block: &mut [f32]) {
    let mut half = 1;
    while half < block.len() {
        for pair in block.chunks_exact_mut(half * 2) {
            let (left, right) = pair.split_at_mut(half);
            for (a, b) in left.iter_mut().zip(right) {
                (*a, *b) = (*a + *b, *a - *b);
            }
        }
        half *= 2;
    }
    let factor = 1.0 / (block.len() as f32).sqrt();
    block.iter_mut().for_each(|component| *component *= factor);
}

/// Deals the components out like cards, so that each block of the next round has some of every block.
fn deal(vector: &mut Vec<f32>, n_hands: usize) {
    let dealt = (0..n_hands).flat_map(|hand| vector.iter().skip(hand).step_by(n_hands).copied());
    *vector = dealt.collect();
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn dot(a: &[f32], b: &[f32]) -> f32 {
        a.iter().zip(b).map(|(a, b)| a * b).sum()
    }

    proptest! {
        #[test]
        fn angles_and_lengths_stay(
            width in prop::sample::select(vec![1_usize, 3, 64, 100, 256, 384]),
            seed in any::<u32>(),
        ) {
            let make = |salt: u32| -> Vec<f32> {
                let number = |i| ((i as u32 ^ salt).wrapping_mul(seed | 1) >> 16) as f32 / 65_536.0 - 0.5;
                (0..width).map(number).collect()
            };
            let (a, b) = (make(0), make(77));
            let (mut turned_a, mut turned_b) = (a.clone(), b.clone());
            turn(&mut turned_a);
            turn(&mut turned_b);
            prop_assert_eq!(turned_a.len() % WORD, 0);
            prop_assert!((dot(&a, &b) - dot(&turned_a, &turned_b)).abs() < 1e-3);
            prop_assert!((dot(&a, &a) - dot(&turned_a, &turned_a)).abs() < 1e-3);
        }
    }

    #[test]
    fn one_large_component_is_spread_over_all() {
        for width in [256, 384] {
            let mut vector = vec![0.0; width];
            vector[5] = 1.0;
            turn(&mut vector);
            let largest = vector.iter().fold(0.0f32, |most, it| most.max(it.abs()));
            assert!(largest < 0.3, "{width}: {largest}");
        }
    }
}
