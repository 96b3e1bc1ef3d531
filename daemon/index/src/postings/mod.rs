//! Postings: which chunks contain a word, how often and where, read from FTS5's own index, and BM25 over them.
//!
//! In: a read transaction. Out: the chunks that contain a word or phrase; the best by BM25; the score of any chunk.
//! FTS5's `bm25()` visits every chunk that contains any word of a question and, for each word, all of its chunks a
//! second time; at 100,000 chunks that was most of a question's time. Here each list is read once from the pages that
//! FTS5 stores (SQLite keeps the format compatible; its source, `fts5_index.c`, describes it), and only chunks that
//! may be among the best are scored exactly (`bm25.rs`).
//! Invariants: nothing is cached between questions, so an answer belongs to its reader's commit; scores equal those
//! of `bm25()` (`tests.rs` compares them); an unknown layout fails with [`Unread`], and the caller asks FTS5 itself.

mod bm25;
mod leaf;
mod segment;
#[cfg(test)]
mod tests;

pub use bm25::Scorer;
use leaf::Leaf;
use rusqlite::{Connection, OptionalExtension};
use segment::{Structure, WordSegment};

use crate::words::Phrase;

/// Weights of the columns of the text index.
pub const FIELDS: [f64; 3] = [2.0, 1.5, 1.0];

/// Longest position list that is accepted, bytes; anything longer is a damaged page.
const MAX_POSITIONS: usize = 1 << 26;

/// Why a list could not be read.
#[derive(Debug, thiserror::Error)]
pub enum Unread {
    /// SQLite failed.
    #[error(transparent)]
    Sql(#[from] rusqlite::Error),
    /// The layout is unknown; names the part.
    #[error("the text index has an unsupported layout: {0}")]
    Shape(&'static str),
}

/// A chunk that contains a word or phrase.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Posting {
    /// Row of the chunk.
    pub id: i64,
    /// Number of occurrences, each weighted by its column.
    pub frequency: f32,
    /// Lower bound of the chunk's length, words.
    pub least: u32,
}

/// The text index as one read transaction sees it.
pub struct Postings<'db> {
    db: &'db Connection,
    structure: Structure,
}

/// The rows of a word with their position lists.
#[derive(Debug, Default)]
struct PhrasePlaces {
    /// Row, and the range of its position list in `bytes`.
    rows: Vec<(i64, usize, usize)>,
    bytes: Vec<u8>,
}

impl<'db> Postings<'db> {
    /// Reads the structure of the index.
    pub(crate) fn open(db: &'db Connection) -> Result<Self, Unread> {
        Ok(Postings { db, structure: Structure::read(db)? })
    }

    /// Returns the number of chunks in the index.
    pub fn n_rows(&self) -> u64 {
        self.structure.n_rows
    }

    /// Returns the words of an average chunk.
    pub fn mean_words(&self) -> f64 {
        self.structure.n_words as f64 / self.structure.n_rows.max(1) as f64
    }

    /// Returns the chunks that contain a phrase, by row.
    pub fn of(&self, phrase: &Phrase) -> Result<Vec<Posting>, Unread> {
        let Some((last, others)) = phrase.words.split_last() else { return Ok(Vec::new()) };
        // One word, the usual case, needs no copy of its positions.
        if others.is_empty() && !phrase.is_prefix {
            return self.of_word(last);
        }
        let mut places = match others.split_first() {
            None => return self.places(last, true)?.postings(),
            Some((first, _)) => self.places(first, false)?,
        };
        // Each further word must follow the first at its distance. Only the last word may be a prefix.
        for (at, word) in phrase.words.iter().enumerate().skip(1) {
            let is_prefix = phrase.is_prefix && at + 1 == phrase.words.len();
            places = places.followed_by(&self.places(word, is_prefix)?, at)?;
        }
        places.postings()
    }

    /// Returns the words of the index that start with `beginning`, each once, in order, at most `most`.
    pub fn words_with(&self, beginning: &str, most: usize) -> Result<Vec<String>, Unread> {
        let mut found: Vec<String> = Vec::new();
        for segment in &self.structure.segments {
            let mut n = 0;
            self.visit(segment, beginning, true, &mut |word, row| {
                // Returning false at the first row skips the rows of a word.
                if row.is_some() || n == most {
                    return false;
                }
                n += 1;
                found.push(String::from_utf8_lossy(word).into_owned());
                true
            })?;
        }
        found.sort_unstable();
        found.dedup();
        found.truncate(most);
        Ok(found)
    }

    /// Shows every word of the index with some chunks that hold it, and how many: once a part of the index, so that the
    /// numbers of one word are to be added.
    pub fn each_word(&self, show: &mut dyn FnMut(&[u8], u32)) -> Result<(), Unread> {
        for segment in &self.structure.segments {
            let (mut open, mut n) = (Vec::new(), 0);
            self.visit(segment, "", true, &mut |word, row| {
                match row {
                    Some((id, _)) => n += u32::from(!segment.is_gone(id)),
                    None => {
                        if n > 0 {
                            show(&open, std::mem::take(&mut n));
                        }
                        open.clear();
                        open.extend_from_slice(word);
                    }
                }
                true
            })?;
            if n > 0 {
                show(&open, n);
            }
        }
        Ok(())
    }

    /// The usual case, without a copy of the places.
    fn of_word(&self, word: &str) -> Result<Vec<Posting>, Unread> {
        let mut found: Vec<Posting> = Vec::new();
        let mut trouble = None;
        for segment in &self.structure.segments {
            self.visit(segment, word, false, &mut |_, row| {
                let Some((id, places)) = row else { return true };
                match summed(places) {
                    Some((frequency, least)) if !segment.is_gone(id) => {
                        found.push(Posting { id, frequency, least })
                    }
                    Some(_) => {}
                    None => trouble = Some(Unread::Shape("positions")),
                }
                true
            })?;
        }
        // Each segment is in order of rows; together they are not.
        found.sort_by_key(|posting| posting.id);
        trouble.map_or(Ok(found), Err)
    }

    fn places(&self, word: &str, is_prefix: bool) -> Result<PhrasePlaces, Unread> {
        let mut found = PhrasePlaces::default();
        for segment in &self.structure.segments {
            self.visit(segment, word, is_prefix, &mut |_, row| {
                if let Some((id, places)) = row
                    && !segment.is_gone(id)
                {
                    let start = found.bytes.len();
                    found.bytes.extend_from_slice(places);
                    found.rows.push((id, start, found.bytes.len()));
                }
                true
            })?;
        }
        found.rows.sort_by_key(|(id, ..)| *id);
        Ok(found)
    }

    /// Calls `visit` for each matching word (with no row), then for each of its rows in order with the position list.
    /// Ends early when it returns false.
    fn visit(
        &self,
        segment: &WordSegment,
        word: &str,
        is_prefix: bool,
        visit: &mut Visit<'_>,
    ) -> Result<(), Unread> {
        let mut key = vec![MAIN];
        key.extend_from_slice(word.as_bytes());
        let page: Option<i64> = self
            .db
            .prepare_cached(
                "SELECT pgno FROM chunk_fts_idx WHERE segid = ?1 AND term <= ?2 ORDER BY term DESC LIMIT 1",
            )?
            .query_row((segment.id, &key), |row| row.get(0))
            .optional()?;
        // The lowest bit of `pgno` flags a further index of the page; the number is above it. Without a row, the word
        // can only be on the first page.
        let first = page.map_or(1, |page| page >> 1).max(segment.first);
        let mut statement = self.db.prepare_cached(
            "SELECT block FROM chunk_fts_data WHERE id BETWEEN ?1 AND ?2 ORDER BY id",
        )?;
        let mut rows = statement.query((segment.row(first), segment.row(segment.last)))?;
        let mut next = |leaf: &mut Leaf| -> Result<bool, Unread> {
            let Some(row) = rows.next()? else { return Ok(false) };
            leaf.load(row.get_ref(0)?.as_blob().map_err(|_| Unread::Shape("a page"))?)?;
            Ok(true)
        };
        leaf::walk(&mut next, &key, is_prefix, visit)
    }
}

/// First byte of every word of the main index; FTS5 keeps prefix indexes under other bytes.
const MAIN: u8 = b'0';

/// The callback of [`Postings::visit`].
type Visit<'v> = dyn FnMut(&[u8], Option<(i64, &[u8])>) -> bool + 'v;

impl PhrasePlaces {
    fn postings(&self) -> Result<Vec<Posting>, Unread> {
        let mut found: Vec<Posting> = Vec::with_capacity(self.rows.len());
        for (id, start, end) in &self.rows {
            let places = self.bytes.get(*start..*end).unwrap_or_default();
            let (frequency, least) = summed(places).ok_or(Unread::Shape("positions"))?;
            match found.last_mut() {
                // Two words with the same prefix in one chunk.
                Some(last) if last.id == *id => {
                    last.frequency += frequency;
                    last.least = last.least.max(least);
                }
                _ => found.push(Posting { id: *id, frequency, least }),
            }
        }
        Ok(found)
    }

    /// The positions of this phrase that have one of `others` exactly `distance` words later.
    fn followed_by(&self, others: &PhrasePlaces, distance: usize) -> Result<PhrasePlaces, Unread> {
        let mut found = PhrasePlaces::default();
        let (mut here, mut there) = (Vec::new(), Vec::new());
        let mut theirs = others.rows.iter().peekable();
        for (id, start, end) in &self.rows {
            there.clear();
            while let Some((other, start, end)) = theirs.next_if(|(other, ..)| other <= id) {
                if other == id {
                    positions(others.bytes.get(*start..*end).unwrap_or_default(), &mut there)?;
                }
            }
            if there.is_empty() {
                continue;
            }
            // A prefix may match several words, whose lists are not in order of position.
            there.sort_unstable();
            here.clear();
            positions(self.bytes.get(*start..*end).unwrap_or_default(), &mut here)?;
            here.retain(|at| there.binary_search(&(at + distance as u64)).is_ok());
            if !here.is_empty() {
                let start = found.bytes.len();
                put(&here, &mut found.bytes);
                found.rows.push((*id, start, found.bytes.len()));
            }
        }
        Ok(found)
    }
}

/// A position is `column << COLUMN_SHIFT | place`.
const COLUMN_SHIFT: u32 = 40;

/// Decodes a position list: a 1 and a column number start a column, any other value is 2 more than the distance to
/// the position before.
fn positions(bytes: &[u8], out: &mut Vec<u64>) -> Result<(), Unread> {
    let (mut at, mut column, mut place) = (0, 0u64, 0u64);
    while at < bytes.len() {
        let value = leaf::number(bytes, &mut at).ok_or(Unread::Shape("positions"))?;
        match value.checked_sub(2) {
            Some(delta) => {
                place += delta;
                out.push((column << COLUMN_SHIFT) | place);
            }
            None => {
                column = leaf::number(bytes, &mut at).ok_or(Unread::Shape("positions"))?;
                place = 0;
            }
        }
    }
    Ok(())
}

/// Encodes positions as `positions` decodes them.
fn put(positions: &[u64], out: &mut Vec<u8>) {
    let (mut column, mut before) = (0, 0);
    for position in positions {
        let place = position & ((1 << COLUMN_SHIFT) - 1);
        if position >> COLUMN_SHIFT != column {
            column = position >> COLUMN_SHIFT;
            out.push(1);
            leaf::put_number(column, out);
            before = 0;
        }
        leaf::put_number(place - before + 2, out);
        before = place;
    }
}

/// Returns how often a word occurs in a chunk, weighted by column, and the least length that its positions imply.
/// `None` for a damaged list.
fn summed(bytes: &[u8]) -> Option<(f32, u32)> {
    let (mut at, mut column, mut place, mut n) = (0, 0, 0u64, 0u32);
    let (mut frequency, mut least) = (0.0, 0u64);
    while at < bytes.len() {
        // The usual case: a value below 128 is its own byte.
        let value = match bytes.get(at) {
            Some(byte) if *byte < 0x80 => {
                at += 1;
                u64::from(*byte)
            }
            _ => leaf::number(bytes, &mut at)?,
        };
        if value >= 2 {
            place += value - 2;
            n += 1;
            continue;
        }
        // A column with its last occurrence at `place` has at least `place + 1` words.
        least += place + u64::from(n > 0);
        frequency += FIELDS.get(column)? * f64::from(n);
        column = leaf::number(bytes, &mut at)? as usize;
        (place, n) = (0, 0);
    }
    least += place + u64::from(n > 0);
    frequency += FIELDS.get(column)? * f64::from(n);
    Some((frequency as f32, u32::try_from(least).unwrap_or(u32::MAX)))
}
