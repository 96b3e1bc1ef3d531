//! `WordSegment`: a part of FTS5's index, with the rows that were deleted since it was written.
//!
//! The layout is that of SQLite's `fts5_index.c`.

use rusqlite::{Connection, OptionalExtension};

use super::Unread;
use super::leaf::number;

/// Rows of `chunk_fts_data` with the averages and with the list of segments.
const AVERAGES: i64 = 1;
const STRUCTURE: i64 = 10;

/// Marks a list of segments that also counts deletions (FTS5 tables with `contentless_delete`).
const WITH_DELETIONS: [u8; 4] = [0xff, 0, 0, 1];

/// Bits of a page's row id below the segment number.
const PAGE_BITS: u32 = 37;

/// Pages of deletions have the segment number plus this.
const DELETIONS: i64 = 1 << 16;

const BAD: Unread = Unread::Shape("the list of segments");

/// The structure of the whole index.
#[derive(Debug)]
pub(super) struct Structure {
    pub n_rows: u64,
    /// Words in all rows and columns.
    pub n_words: u64,
    pub segments: Vec<WordSegment>,
}

/// Pages with words in order.
#[derive(Debug)]
pub(super) struct WordSegment {
    pub id: i64,
    /// First and last page.
    pub first: i64,
    pub last: i64,
    /// Hash tables with the deleted rows.
    gone: Vec<Vec<u8>>,
}

impl Structure {
    pub(super) fn read(db: &Connection) -> Result<Self, Unread> {
        // The number of rows, then the words of each column.
        let averages = block(db, AVERAGES)?.unwrap_or_default();
        let mut at = 0;
        let n_rows = number(&averages, &mut at).unwrap_or(0);
        let mut n_words = 0;
        while at < averages.len() {
            n_words += number(&averages, &mut at).ok_or(BAD)?;
        }
        // Bytes 0 to 3 are a cookie of FTS5's, which nothing here needs.
        let bytes = block(db, STRUCTURE)?.ok_or(BAD)?;
        if bytes.get(4..8) != Some(&WITH_DELETIONS) {
            return Err(BAD);
        }
        let mut at = 8;
        let mut next = || number(&bytes, &mut at).ok_or(BAD);
        let (n_levels, _n_segments, _n_writes) = (next()?, next()?, next()?);
        let mut segments = Vec::new();
        for _ in 0..n_levels {
            let (_n_merging, n_of_level) = (next()?, next()?);
            for _ in 0..n_of_level {
                let (id, first, last) = (next()? as i64, next()? as i64, next()? as i64);
                let (_from, _to, n_gone, _n_gone_rows, _n_rows) =
                    (next()?, next()?, next()?, next()?, next()?);
                // A segment that was merged into another has no pages left.
                if first > 0 {
                    segments.push(WordSegment { id, first, last, gone: gone(db, id, n_gone)? });
                }
            }
        }
        Ok(Structure { n_rows, n_words, segments })
    }
}

fn gone(db: &Connection, segment: i64, n_pages: u64) -> Result<Vec<Vec<u8>>, Unread> {
    let row = |page: u64| ((segment + DELETIONS) << PAGE_BITS) + page as i64;
    (0..n_pages).map(|page| Ok(block(db, row(page))?.unwrap_or_default())).collect()
}

fn block(db: &Connection, id: i64) -> Result<Option<Vec<u8>>, Unread> {
    let mut statement = db.prepare_cached("SELECT block FROM chunk_fts_data WHERE id = ?1")?;
    Ok(statement.query_row([id], |row| row.get(0)).optional()?)
}

impl WordSegment {
    /// Returns the row id of a page.
    pub(super) fn row(&self, page: i64) -> i64 {
        (self.id << PAGE_BITS) + page
    }

    /// Returns whether a row was deleted after this segment was written.
    pub(super) fn is_gone(&self, id: i64) -> bool {
        let n_pages = self.gone.len() as u64;
        if n_pages == 0 {
            return false;
        }
        let id = id as u64;
        // An open-addressing hash table: the id chooses the page, then the slot; an empty slot ends the search.
        let page = self.gone.get((id % n_pages) as usize).map_or(&[][..], Vec::as_slice);
        if id == 0 {
            // An empty slot is 0, so row 0 has a flag in the header.
            return page.get(1) == Some(&1);
        }
        // A header of 8 bytes; its first one is the width of a slot.
        let width = if page.first() == Some(&4) { 4 } else { 8 };
        let Some((_, slots)) = page.split_at_checked(8) else { return false };
        let n_slots = (slots.len() / width) as u64;
        if n_slots == 0 {
            return false;
        }
        let first = (id / n_pages) % n_slots;
        for i in 0..n_slots {
            let at = ((first + i) % n_slots) as usize * width;
            let slot = slots.get(at..at + width).unwrap_or_default();
            match slot.iter().fold(0, |value, byte| (value << 8) | u64::from(*byte)) {
                0 => return false,
                found if found == id => return true,
                _ => {}
            }
        }
        false
    }
}
