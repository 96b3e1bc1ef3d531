//! Cover: updates which parts of a document's chunks are indexed.
//!
//! In: a document whose text, chunks and prints are written. Out: its rows in the text index and among the vectors,
//! for the parts that no other place covers.
//! Invariants: a paragraph that another place covers is left out wherever it is in a chunk, except for the words that
//! only it has; headings, rows and code of a chunk are left out when an equal chunk covers them. Everything left out
//! here is complete at another place, since only paragraphs cover paragraphs, and only an earlier equal chunk covers
//! everything else. A document that is covered completely is still found by its title, unless an earlier one has the
//! same.

use std::ops::Range;

use rusqlite::{Connection, OptionalExtension, Transaction, params};
use rustc_hash::{FxHashMap, FxHashSet};

use super::alike::root_of;
use super::place::first_copy;
use super::{Texts, mark};
use crate::store::StoreError;
use crate::store::commit::{IndexedContext, Late};
use model::document::{LONG_TITLE, may_be_english};
use model::print::{Compared, PrintKind, count_words};

/// A window keeps its vector while at least one in this many of its words is indexed here.
const OWN_SHARE: usize = 4;

/// Value of a chunk's `own` if none of it is indexed.
const NOTHING: i64 = 0;

/// The parts of a document that other places cover.
#[derive(Debug, Default)]
struct Covered {
    text: String,
    /// In order, without overlap.
    left_out: Vec<Range<usize>>,
    /// Every paragraph with a print, in order: each is covered or not by itself.
    paragraphs: Vec<Range<usize>>,
    /// Starts of chunks that an equal chunk covers.
    chunks: FxHashSet<usize>,
    /// True when an earlier document has the same title.
    is_titled_elsewhere: bool,
}

/// Which part of a chunk is indexed.
#[derive(Debug, PartialEq)]
enum Shown {
    Whole,
    Part(String),
    Nothing,
}

impl Shown {
    /// The value of the chunk's `own`: null for the whole, else a hash of what is indexed.
    fn own(&self) -> Option<i64> {
        match self {
            Shown::Whole => None,
            // The lowest bit is set, so it is never `NOTHING`.
            Shown::Part(body) => {
                Some((xxhash_rust::xxh3::xxh3_64(body.as_bytes()) >> 1) as i64 | 1)
            }
            Shown::Nothing => Some(NOTHING),
        }
    }
}

/// A chunk's row.
struct ChunkRow {
    id: i64,
    idx: i64,
    span: Range<usize>,
    section: String,
    headings: Option<String>,
    own: Option<i64>,
    is_english: bool,
}

/// Updates the chunks of a document; costs two queries if no other place covers anything.
pub(super) fn apply(tx: &Transaction<'_>, doc: i64, late: &mut Late) -> Result<(), StoreError> {
    let covered = Covered::read(tx, doc)?;
    let was_partial: bool = tx
        .prepare_cached(
            "SELECT EXISTS (SELECT 1 FROM chunks WHERE doc_id = ?1 AND own IS NOT NULL)",
        )?
        .query_row([doc], |row| row.get(0))?;
    // Also when nothing is covered any more, chunks that were partial must become whole.
    if covered.is_none() && !was_partial {
        return Ok(());
    }
    let mut covered = covered.unwrap_or_default();
    let Some((context, text)) = context_of(tx, doc)? else { return Ok(()) };
    covered.text = text;
    for chunk in chunks_of(tx, doc)? {
        let shown = covered.shown(&chunk.span, chunk.idx == 0);
        // The text index is rewritten only if the indexed part changed.
        if shown.own() != chunk.own {
            show(tx, &chunk, &shown, &covered.text, &context, late)?;
        }
        if shown != Shown::Whole || chunk.own.is_some() {
            settle_windows(tx, &chunk, &covered, late)?;
        }
    }
    Ok(())
}

impl Covered {
    /// Reads what other places cover; `None` if nothing is.
    fn read(tx: &Transaction<'_>, doc: i64) -> Result<Option<Covered>, StoreError> {
        let copied = copied_texts(tx, doc)?;
        let has_roots: bool = tx
            .prepare_cached(
                "SELECT EXISTS (SELECT 1 FROM prints p JOIN alike a ON a.text = p.text WHERE p.doc_id = ?1)",
            )?
            .query_row([doc], |row| row.get(0))?;
        if copied.is_empty() && !has_roots {
            return Ok(None);
        }
        let mut covered = Covered::default();
        let mut roots = Roots { tx, doc, texts: Texts::new(tx), kept: None };
        let mut statement = tx.prepare_cached(
            "SELECT kind, start, end, text FROM prints WHERE doc_id = ?1 ORDER BY start, kind",
        )?;
        let mut rows = statement.query([doc])?;
        while let Some(row) = rows.next()? {
            let (kind, start, end, text): (i64, i64, i64, i64) =
                (row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?);
            let is_elsewhere = copied.get(&text).is_some_and(|home| *home != (doc, start));
            let span = start as usize..end as usize;
            // A title only decides about a document that is covered completely.
            if kind == PrintKind::Title as i64 {
                covered.is_titled_elsewhere = is_elsewhere;
            } else if kind == PrintKind::Chunk as i64 {
                if is_elsewhere {
                    covered.chunks.insert(span.start);
                }
            } else {
                covered.paragraphs.push(span.clone());
                let left_out =
                    if is_elsewhere { vec![span] } else { roots.left_out(text, span)? };
                covered.left_out.extend(left_out);
            }
        }
        let leaves_something = !covered.left_out.is_empty() || !covered.chunks.is_empty();
        Ok(leaves_something.then_some(covered))
    }

    /// Returns the ranges of `span` that are indexed here. Of a copied chunk only paragraphs can be.
    fn own_ranges(&self, span: &Range<usize>, is_copied: bool) -> Vec<Range<usize>> {
        let whole = vec![span.clone()];
        let open = if is_copied { overlaps(&self.paragraphs, span) } else { whole };
        open.iter().flat_map(|range| without(range, &self.left_out)).collect()
    }

    fn shown(&self, span: &Range<usize>, is_first: bool) -> Shown {
        let ranges = self.own_ranges(span, self.chunks.contains(&span.start));
        if ranges == [span.clone()] {
            return Shown::Whole;
        }
        let pieces = ranges.into_iter().filter_map(|range| self.text.get(range));
        // Punctuation between two covered paragraphs is not worth a row.
        let pieces = pieces.filter(|piece| piece.chars().any(char::is_alphanumeric));
        let body = pieces.map(str::trim).collect::<Vec<_>>().join("\n");
        // The first chunk stays without a body: the title must find the document.
        if body.is_empty() && (!is_first || self.is_titled_elsewhere) {
            return Shown::Nothing;
        }
        Shown::Part(body)
    }

    /// Returns whether too little of a window is indexed here for it to keep its vector.
    fn is_aside(&self, window: &Range<usize>, is_copied: bool) -> bool {
        let words = |range: Range<usize>| self.text.get(range).map_or(0, count_words);
        let own: usize = self.own_ranges(window, is_copied).into_iter().map(words).sum();
        let all = words(window.clone());
        own < all && own * OWN_SHARE < all
    }
}

/// Looks up the parts of near copies that their root lacks. Caches the last root: copies of one page have the same.
struct Roots<'a> {
    tx: &'a Transaction<'a>,
    doc: i64,
    texts: Texts<'a>,
    kept: Option<(i64, Option<Compared>)>,
}

impl Roots<'_> {
    /// Returns the parts of a paragraph that its root covers.
    fn left_out(&mut self, text: i64, span: Range<usize>) -> Result<Vec<Range<usize>>, StoreError> {
        let Some(root) = root_of(self.tx, text)? else { return Ok(Vec::new()) };
        if self.kept.as_ref().is_none_or(|(kept, _)| *kept != root) {
            let words = self.texts.words_of(root)?;
            self.kept = Some((root, words.map(|words| Compared::of(&words))));
        }
        let Some((_, Some(compared))) = &self.kept else {
            // The root was removed, and its successor is not decided yet.
            mark(self.tx, self.doc)?;
            return Ok(Vec::new());
        };
        let words = self.texts.words_of(text)?.unwrap_or_default();
        let missing = compared.missing_from(&words);
        let shifted = missing.iter().map(|range| span.start + range.start..span.start + range.end);
        Ok(without(&span, &shifted.collect::<Vec<_>>()))
    }
}

/// The texts of a document that have several places, with their homes.
fn copied_texts(tx: &Transaction<'_>, doc: i64) -> Result<FxHashMap<i64, (i64, i64)>, StoreError> {
    let mut statement = tx.prepare_cached("SELECT DISTINCT text FROM copies WHERE doc_id = ?1")?;
    let texts: Vec<i64> =
        statement.query_map([doc], |row| row.get(0))?.collect::<Result<_, _>>()?;
    let mut out = FxHashMap::default();
    for text in texts {
        out.extend(first_copy(tx, text)?.map(|home| (text, home)));
    }
    Ok(out)
}

/// The parts of `span` inside `ranges`, which are in order.
fn overlaps(ranges: &[Range<usize>], span: &Range<usize>) -> Vec<Range<usize>> {
    let first = ranges.partition_point(|range| range.end <= span.start);
    let inside = ranges.iter().skip(first).take_while(|range| range.start < span.end);
    inside.map(|range| range.start.max(span.start)..range.end.min(span.end)).collect()
}

/// The parts of `span` outside `ranges`, which are in order.
fn without(span: &Range<usize>, ranges: &[Range<usize>]) -> Vec<Range<usize>> {
    let mut out = Vec::new();
    let mut at = span.start;
    for range in overlaps(ranges, span) {
        if at < range.start {
            out.push(at..range.start);
        }
        at = range.end;
    }
    if at < span.end {
        out.push(at..span.end);
    }
    out
}

fn context_of(db: &Connection, doc: i64) -> Result<Option<(IndexedContext, String)>, StoreError> {
    let row: Option<(String, String, String)> = db
        .prepare_cached("SELECT title, meta, text FROM docs WHERE id = ?1")?
        .query_row([doc], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
        .optional()?;
    let Some((title, meta, text)) = row else { return Ok(None) };
    let meta: serde_json::Value = serde_json::from_str(&meta).unwrap_or_default();
    let list = |key: &str| -> Vec<String> {
        let values = meta.get(key).and_then(|list| list.as_array()).into_iter().flatten();
        values.filter_map(|value| value.as_str().map(String::from)).collect()
    };
    let long = meta.get("extra").and_then(|extra| extra.get(LONG_TITLE)).and_then(|it| it.as_str());
    let titles = list("aliases").into_iter().chain(long.map(String::from)).collect();
    Ok(Some((IndexedContext { title, titles, tags: list("tags") }, text)))
}

fn chunks_of(db: &Connection, doc: i64) -> Result<Vec<ChunkRow>, StoreError> {
    let mut statement = db.prepare_cached(
        "SELECT id, idx, start, end, section, headings, own, language FROM chunks WHERE doc_id = ?1 ORDER BY idx",
    )?;
    let rows = statement.query_map([doc], |row| {
        let span = row.get::<_, i64>(2)? as usize..row.get::<_, i64>(3)? as usize;
        Ok(ChunkRow {
            id: row.get(0)?,
            idx: row.get(1)?,
            span,
            section: row.get(4)?,
            headings: row.get(5)?,
            own: row.get(6)?,
            is_english: may_be_english(&row.get::<_, String>(7)?),
        })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Replaces the row of a chunk in the text index.
fn show(
    tx: &Transaction<'_>,
    chunk: &ChunkRow,
    shown: &Shown,
    text: &str,
    context: &IndexedContext,
    late: &mut Late,
) -> Result<(), StoreError> {
    if chunk.own != Some(NOTHING) {
        late.delete_text(chunk.id);
    }
    let body = match shown {
        Shown::Whole => text.get(chunk.span.clone()).map(String::from),
        Shown::Part(body) => Some(body.clone()),
        Shown::Nothing => None,
    };
    if let Some(body) = body {
        // `headings` is stored only if there are more than `section` shows.
        let headings =
            chunk.headings.clone().unwrap_or_else(|| chunk.section.replace(" › ", " / "));
        let (title, headings, body) = context.row(headings, body);
        late.insert_text(chunk.id, title, headings, body, chunk.is_english);
    }
    tx.prepare_cached("UPDATE chunks SET own = ?2 WHERE id = ?1")?
        .execute(params![chunk.id, shown.own()])?;
    Ok(())
}

/// Moves the vectors of covered windows to `aside`, and restores those of windows that are indexed here again.
fn settle_windows(
    tx: &Transaction<'_>,
    chunk: &ChunkRow,
    covered: &Covered,
    late: &mut Late,
) -> Result<(), StoreError> {
    let is_copied = covered.chunks.contains(&chunk.span.start);
    let mut statement = tx.prepare_cached(
        "SELECT id, start, end, aside FROM chunk_vec_map WHERE chunk_id = ?1 ORDER BY id",
    )?;
    let rows = statement.query_map([chunk.id], |row| {
        let span = row.get::<_, i64>(1)? as usize..row.get::<_, i64>(2)? as usize;
        Ok((row.get::<_, i64>(0)?, span, row.get::<_, Option<Vec<u8>>>(3)?))
    })?;
    let rows: Vec<(i64, Range<usize>, Option<Vec<u8>>)> = rows.collect::<Result<_, _>>()?;
    let mut set = tx.prepare_cached("UPDATE chunk_vec_map SET aside = ?2 WHERE id = ?1")?;
    for (id, span, aside) in rows {
        match (covered.is_aside(&span, is_copied), aside) {
            (true, None) => {
                // A vector of this transaction is not in the table yet.
                let vector = match late.take_vector(id) {
                    Some(vector) => Some(vector),
                    None => {
                        late.delete_vector(id);
                        stored_vector(tx, id)?
                    }
                };
                // An empty blob: aside, without a vector.
                set.execute(params![id, vector.unwrap_or_default()])?;
            }
            (false, Some(vector)) => {
                set.execute(params![id, Option::<Vec<u8>>::None])?;
                late.insert_vector(id, vector);
            }
            _ => {}
        }
    }
    Ok(())
}

fn stored_vector(db: &Connection, id: i64) -> Result<Option<Vec<u8>>, StoreError> {
    Ok(db
        .prepare_cached("SELECT embedding FROM chunk_vec WHERE rowid = ?1")?
        .query_row([id], |row| row.get(0))
        .optional()?)
}

#[cfg(test)]
mod tests {
    use super::{overlaps, without};

    #[test]
    fn ranges_are_cut_out_and_cut_to_size() {
        let ranges = [2..4, 4..6, 9..12];
        assert_eq!(without(&(0..10), &ranges), [0..2, 6..9]);
        assert!(without(&(2..6), &ranges).is_empty());
        assert_eq!(overlaps(&ranges, &(3..10)), [3..4, 4..6, 9..10]);
        assert!(overlaps(&ranges, &(6..9)).is_empty());
    }
}
