//! Leaf: a page of FTS5's index, and the walk over lists that start on it and continue on later pages.
//!
//! Layout of a page: offset of its first row id that belongs to a word of an earlier page (2 bytes, 0 if none);
//! offset of the footer (2 bytes); words, each with its rows; the footer, with the offset of each word. A row: its id
//! (in full for the first of a page and of a word, else the difference to the one before), twice the length of its
//! position list in bytes, the position list, which may continue on the next page.

use std::cmp::Ordering;

use super::{MAX_POSITIONS, Unread, Visit};

/// One page.
#[derive(Debug, Default)]
pub(super) struct Leaf {
    bytes: Vec<u8>,
    /// Where the words end and the footer starts.
    end: usize,
    /// Read position in the footer.
    footer: usize,
    /// Offset of the next word; `end` when there is none.
    next_word: usize,
}

impl Leaf {
    /// Parses the header of a page and keeps a copy of its bytes.
    pub(super) fn load(&mut self, block: &[u8]) -> Result<(), Unread> {
        self.bytes.clear();
        self.bytes.extend_from_slice(block);
        // Bytes 2 and 3: where the footer starts. The header itself has 4 bytes.
        self.end = self.header(2).filter(|end| (4..=block.len()).contains(end)).ok_or(BAD_PAGE)?;
        (self.footer, self.next_word) = (self.end, 0);
        self.pass_word();
        Ok(())
    }

    fn header(&self, at: usize) -> Option<usize> {
        let bytes = self.bytes.get(at..at + 2)?;
        Some(usize::from(u16::from_be_bytes(bytes.try_into().ok()?)))
    }

    /// Offset of the first row id on this page that belongs to a word of an earlier page.
    fn first_row(&self) -> Option<usize> {
        self.header(0).filter(|at| (4..self.end).contains(at))
    }

    /// Moves `next_word` to the word after, as the footer says: offsets there are differences.
    fn pass_word(&mut self) {
        let mut at = self.footer;
        self.next_word = match number(&self.bytes, &mut at) {
            Some(more) if self.footer < self.bytes.len() => {
                self.next_word.saturating_add(more as usize).min(self.end)
            }
            _ => self.end,
        };
        self.footer = at;
    }

    fn number(&self, at: &mut usize) -> Result<u64, Unread> {
        number(self.bytes.get(..self.end).unwrap_or_default(), at).ok_or(BAD_PAGE)
    }
}

const BAD_PAGE: Unread = Unread::Shape("a page");

/// Passes the words that equal `key`, or start with it, and their rows to `visit`. `next` loads the next page.
pub(super) fn walk(
    next: &mut impl FnMut(&mut Leaf) -> Result<bool, Unread>,
    key: &[u8],
    is_prefix: bool,
    visit: &mut Visit<'_>,
) -> Result<(), Unread> {
    let mut leaf = Leaf::default();
    let mut search = Search { key, n_same: 0, word: Vec::new(), is_found: false };
    while next(&mut leaf)? {
        let mut is_first = true;
        while leaf.next_word < leaf.end {
            let mut at = leaf.next_word;
            leaf.pass_word();
            // The first word of a page is written in full, without a shared prefix.
            let n_kept = if is_first { None } else { Some(leaf.number(&mut at)? as usize) };
            let n_new = leaf.number(&mut at)? as usize;
            let end = at.checked_add(n_new).filter(|end| *end <= leaf.end).ok_or(BAD_PAGE)?;
            let order = search.meet(n_kept, leaf.bytes.get(at..end).ok_or(BAD_PAGE)?);
            is_first = false;
            match order {
                Ordering::Less => continue,
                Ordering::Greater => return Ok(()),
                Ordering::Equal => {}
            }
            if !is_prefix && search.word.len() > key.len() {
                return Ok(());
            }
            // Without the byte that marks the main index.
            let word = search.word.get(1..).unwrap_or_default();
            if !visit(word, None) {
                return Ok(());
            }
            let is_same_page = rows(next, &mut leaf, end, word, visit)?;
            if !is_prefix {
                return Ok(());
            }
            // The list ended on a later page, whose first word is written in full.
            is_first = !is_same_page;
        }
        if !is_prefix {
            // The index of words leads to the only page where this word can start.
            return Ok(());
        }
    }
    Ok(())
}

/// Finds the words that start with a key, among words in order. Most are skipped by comparing prefix lengths alone.
struct Search<'k> {
    key: &'k [u8],
    /// Bytes that the last word before the key has in common with it.
    n_same: usize,
    /// The current word, once one was found.
    word: Vec<u8>,
    is_found: bool,
}

impl Search<'_> {
    /// Compares the next word with the words that start with the key. `n_kept`: length of the prefix it shares with
    /// the word before; `None` where it is written in full.
    fn meet(&mut self, n_kept: Option<usize>, new: &[u8]) -> Ordering {
        if !self.is_found {
            // The word before is less than the key and differs from it after `n_same` bytes. A word that shares more
            // with it differs from the key at the same place: still less. One that shares fewer differs earlier from
            // the word before, and words are ascending, so it is greater than the key.
            match n_kept.map(|n| n.cmp(&self.n_same)) {
                Some(Ordering::Greater) => return Ordering::Less,
                Some(Ordering::Less) => return Ordering::Greater,
                _ => {}
            }
            // The shared prefix equals that of the key, so it is copied from there.
            self.word.clear();
            self.word.extend_from_slice(self.key.get(..n_kept.unwrap_or(0)).unwrap_or_default());
        }
        self.word.truncate(n_kept.unwrap_or(0));
        self.word.extend_from_slice(new);
        if self.word.starts_with(self.key) {
            self.is_found = true;
            return Ordering::Equal;
        }
        self.n_same = self.word.iter().zip(self.key).take_while(|(a, b)| a == b).count();
        self.word.as_slice().cmp(self.key)
    }
}

/// Passes the rows of one word to `visit`, starting at its list. Returns false if another page is loaded afterwards.
fn rows(
    next: &mut impl FnMut(&mut Leaf) -> Result<bool, Unread>,
    leaf: &mut Leaf,
    start: usize,
    word: &[u8],
    visit: &mut Visit<'_>,
) -> Result<bool, Unread> {
    let (mut at, mut id, mut in_full, mut is_same) = (start, 0i64, true, true);
    let mut split: Vec<u8> = Vec::new();
    loop {
        if at >= leaf.next_word {
            // The next word follows on this page, or the segment ends, or the list ended with the page before.
            if leaf.next_word < leaf.end || !next(leaf)? {
                return Ok(is_same);
            }
            is_same = false;
            match leaf.first_row() {
                Some(first) => (at, in_full) = (first, true),
                None => return Ok(is_same),
            }
        }
        let number = leaf.number(&mut at)? as i64;
        id = if in_full { number } else { id.wrapping_add(number) };
        in_full = false;
        // The size is doubled: the lowest bit marks a deletion, which cannot be read here.
        let size = leaf.number(&mut at)?;
        if size & 1 == 1 {
            return Err(Unread::Shape("a row that takes another back"));
        }
        let mut n_left = (size / 2) as usize;
        if n_left > MAX_POSITIONS {
            return Err(BAD_PAGE);
        }
        if at + n_left <= leaf.end {
            let positions = leaf.bytes.get(at..at + n_left).ok_or(BAD_PAGE)?;
            at += n_left;
            if n_left > 0 && !visit(word, Some((id, positions))) {
                return Ok(is_same);
            }
            continue;
        }
        // The position list continues on the next page, right after its header of 4 bytes. The first row id there is
        // in full again.
        split.clear();
        while n_left > 0 {
            let here = leaf.bytes.get(at..leaf.end.min(at + n_left)).ok_or(BAD_PAGE)?;
            split.extend_from_slice(here);
            (n_left, at) = (n_left - here.len(), at + here.len());
            if n_left > 0 {
                if !next(leaf)? {
                    return Err(BAD_PAGE);
                }
                (at, in_full, is_same) = (4, true, false);
            }
        }
        if !visit(word, Some((id, &split))) {
            return Ok(is_same);
        }
        // After a split list, a row of the same word must start exactly where the header says.
        if !is_same && at < leaf.next_word && leaf.first_row() != Some(at) {
            return Err(BAD_PAGE);
        }
    }
}

/// Reads a SQLite varint: seven bits a byte, high ones first, the ninth byte whole. `None` at the end of `bytes`.
pub(super) fn number(bytes: &[u8], at: &mut usize) -> Option<u64> {
    let mut value = 0;
    for i in 0..9 {
        let byte = u64::from(*bytes.get(*at)?);
        *at += 1;
        if i == 8 {
            return Some((value << 8) | byte);
        }
        value = (value << 7) | (byte & 0x7f);
        if byte < 0x80 {
            return Some(value);
        }
    }
    None
}

/// Writes a SQLite varint below 2⁵⁶.
pub(super) fn put_number(value: u64, out: &mut Vec<u8>) {
    let n_more = (1..8).filter(|i| value >> (7 * i) > 0).count();
    for i in (0..=n_more).rev() {
        let bits = (value >> (7 * i)) as u8 & 0x7f;
        out.push(if i > 0 { bits | 0x80 } else { bits });
    }
}
