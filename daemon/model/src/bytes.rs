//! Bytes: checks over many bytes at once.
//!
//! In: bytes. Out: a count, or whether all of them qualify. The loops visit every byte and add up in bytes, because
//! the compiler turns that into SIMD: each runs over whole documents.

/// Returns how many bytes satisfy `is_such`.
pub fn count(bytes: &[u8], is_such: impl Fn(u8) -> bool) -> usize {
    // Chunks of 255 bytes, so that a sum of ones fits a byte.
    let count = |chunk: &[u8]| chunk.iter().map(|byte| u8::from(is_such(*byte))).sum::<u8>();
    bytes.chunks(usize::from(u8::MAX)).map(|chunk| usize::from(count(chunk))).sum()
}

/// Returns whether the only white space is single spaces, as in nearly every line of prose.
pub fn has_single_spaces(bytes: &[u8]) -> bool {
    // Bitwise operators instead of early exits, for SIMD.
    let others = bytes.iter().fold(0, |all, byte| all | u8::from(*byte < b' '));
    let next = bytes.get(1..).unwrap_or(&[]);
    let is_space = |byte: u8| u8::from(byte == b' ');
    let doubles = bytes.iter().zip(next).fold(0, |all, (a, b)| all | (is_space(*a) & is_space(*b)));
    others | doubles == 0
}
