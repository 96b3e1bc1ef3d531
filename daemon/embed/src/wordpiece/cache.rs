//! Cache: maps a word's raw bytes to its pieces, in fixed memory.
//!
//! In: a word's raw bytes, as a key that contains all of them. Out: the pieces found for it before.
//! Invariants: memory is fixed; a lookup costs one slot, whatever was looked up before (two words of one slot replace
//! each other, so no input can make it slow); equal keys mean equal words, so results are exact.

/// Number of slots, a power of two; 48 bytes each. In 3.7 MB of documentation the 8,192 most frequent of 17,600 words
/// are 98 % of all; half as many slots or four times as many were slower (misses; cache of the processor).
const N_SLOTS: usize = 1 << 13;

/// Most pieces kept for one word; words with more are split each time.
const MAX_PIECES: usize = 7;

/// Longest word kept, bytes: two `u128` without the byte for the length.
const MAX_WORD_BYTES: usize = 31;

/// A complete word of at most 31 bytes: its bytes, zeros, and its length in the last byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct WordKey {
    low: u128,
    high: u128,
}

impl WordKey {
    /// Returns the key of `text[start..end]`; `None` if it is too long or empty.
    #[inline]
    pub(super) fn of(text: &[u8], start: usize, end: usize) -> Option<WordKey> {
        let len = end.checked_sub(start)?;
        if len == 0 || len > MAX_WORD_BYTES {
            return None;
        }
        let length = (len as u128) << 120;
        // Reading whole blocks and masking is several times faster than copying `len` bytes.
        if let Some(low) = text.get(start..start + 16).filter(|_| len < 16) {
            return Some(WordKey { low: block(low) & mask(len), high: length });
        }
        let mut bytes = [0u8; 32];
        bytes[..len].copy_from_slice(text.get(start..end)?);
        Some(WordKey { low: block(&bytes[..16]), high: block(&bytes[16..]) | length })
    }
}

fn block(bytes: &[u8]) -> u128 {
    let mut block = [0u8; 16];
    block.copy_from_slice(bytes);
    u128::from_le_bytes(block)
}

/// Returns ones for the first `len` bytes of a block, `len` from 1 to 15.
fn mask(len: usize) -> u128 {
    u128::MAX >> (128 - 8 * len)
}

#[derive(Debug, Clone, Copy, Default)]
struct Slot {
    key: WordKey,
    n_pieces: u16,
    pieces: [u16; MAX_PIECES],
}

/// Words and their pieces. A slot with a key of zero is empty: every key contains a length.
#[derive(Debug)]
pub(super) struct WordCache {
    slots: Box<[Slot]>,
}

impl Default for WordCache {
    fn default() -> Self {
        WordCache { slots: vec![Slot::default(); N_SLOTS].into_boxed_slice() }
    }
}

impl WordCache {
    /// Returns the slot of a key.
    #[inline]
    pub(super) fn slot_of(key: WordKey) -> usize {
        // The golden ratio as a 64-bit fraction; multiplicative hashing, whose best bits are the high ones.
        const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
        let fold = |block: u128| (block as u64) ^ ((block >> 64) as u64).rotate_left(29);
        let mixed = (fold(key.low) ^ fold(key.high).rotate_left(17)).wrapping_mul(ODD);
        ((mixed ^ (mixed >> 32)).wrapping_mul(ODD) >> (64 - N_SLOTS.trailing_zeros())) as usize
    }

    /// Returns whether the slot holds this word.
    #[inline]
    pub(super) fn holds(&self, slot: usize, key: WordKey) -> bool {
        self.slots[slot].key == key
    }

    /// Returns the pieces in a slot.
    #[inline]
    pub(super) fn pieces(&self, slot: usize) -> &[u16] {
        let Slot { n_pieces, pieces, .. } = &self.slots[slot];
        &pieces[..usize::from(*n_pieces).min(MAX_PIECES)]
    }

    /// Stores a word, replacing the slot's content; returns false if it has too many pieces.
    pub(super) fn put(&mut self, slot: usize, key: WordKey, pieces: &[u16]) -> bool {
        if pieces.len() > MAX_PIECES {
            return false;
        }
        let entry = &mut self.slots[slot];
        entry.key = key;
        entry.n_pieces = pieces.len() as u16;
        entry.pieces[..pieces.len()].copy_from_slice(pieces);
        true
    }
}
